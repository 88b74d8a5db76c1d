"""How vectors lie on the sphere: one number for closeness, evenness, the cone, the directions in use, and classes."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from contrast_kit import checks, fast
from contrast_kit.geometry.pairs import unit, unit_pairs
from contrast_kit.losses.contrast import dot_products


def alignment(a: Tensor, b: Tensor, alpha: float = 2) -> Tensor:
    """How far apart the two vectors of a positive pair lie, on average: 0 is best.

    Wang & Isola 2020, section 4.1.1: L_align = E ‖f(x) − f(y)‖₂^α over positive pairs (x, y), with f
    on the unit sphere. For α = 2 it equals 2 − 2·(mean cosine of the pairs), so it lies in [0, 4].

    `a` and `b` are [N, D]; row i of one belongs to row i of the other. The result is a number (0-d
    tensor) through which gradients flow. Nothing is compared across pairs, hence no denominator, and an
    encoder that maps everything to one point scores a perfect 0: read it together with `uniformity`.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> a = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> b = torch.tensor([[3.0, 0.0], [0.0, -1.0]])  # same direction; opposite direction
    >>> geometry.alignment(a, b)
    tensor(2.)
    """
    a, b = unit_pairs(a, b)
    distance = torch.linalg.vector_norm(a - b, dim=1)  # [N, D] -> [N]
    # A power below 1 has no slope at distance 0; those pairs add nothing, so they are left out of the sum.
    return distance[distance > 0].pow(alpha).sum() / len(distance)


def uniformity(x: Tensor, t: float = 2, *, block: int = 1024) -> Tensor:
    """How evenly the vectors fill the sphere: 0 when all coincide, more negative the more evenly spread.

    Wang & Isola 2020, section 4.1.2: L_uniform = log E exp(−t‖f(x) − f(y)‖²), the mean taken over the
    N(N−1)/2 *distinct* pairs: a vector is never paired with itself. With t = 2 it lies in [−8, 0]; the even
    spread in high dimension comes close to −4, and only two opposite points reach −8.

    `x` is [N, D] with N ≥ 2; the result is a number (0-d tensor) through which gradients flow. It is the same
    as `torch.pdist(x).pow(2).mul(-t).exp().mean().log()` on unit vectors. Above `block` vectors it is summed in tiles
    of `block` columns (`contrast_kit.fast`): memory is O(N·D), in the backward pass as well; no exp can overflow; and
    the gradient can be taken once, not twice. Where x is traced (`torch.compile`, `torch.func`, the device "meta")
    there are no tiles, and memory is O(N²).

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))  # an antipodal pair: −2·2²
    tensor(-8.)
    >>> geometry.uniformity(torch.eye(4))  # all at a right angle: −2·(√2)²
    tensor(-4.)
    """
    x = unit(x, "x")
    n = len(x)
    if n <= block or checks.is_traced(x):
        cosines = dot_products(x, x).clamp(-1, 1)  # [N, N]
        distinct = torch.ones_like(cosines, dtype=torch.bool).triu(diagonal=1)  # i < j
        # Masks, not indexing: x may have no values.
        terms = (2 * t * (cosines - 1)).masked_fill(~distinct, -math.inf)
        log_sum = torch.logsumexp(terms.flatten(), dim=0)  # [N, N] -> []
    else:  # on the sphere -t|u - v|^2 = 2t cos - 2t: the sum under the contrast, at tau = 1/(2t)
        # Each pair came twice.
        log_sum = fast.pair_log_sum_exp(x, 1 / (2 * t), tile=block) - 2 * t - math.log(2)
    return log_sum - math.log(math.comb(n, 2))


def anisotropy(x: Tensor) -> Tensor:
    """How narrow the cone is in which the vectors lie: the mean cosine of all distinct pairs.

    Ethayarajh 2019, section 3.4 (his baseline for random words). Near 0: directions cancel out; 1: all
    point the same way; −1/(N−1) at the least. It equals `random_pair_cosines(x).mean()`, but comes
    from (‖Σ u_i‖² − N) / (N(N−1)), in O(N·D). `x` [N, D], N ≥ 2 -> a number (0-d tensor).

    It only sees the mean direction: two opposite clusters score like an even spread, which `uniformity` and
    `effective_rank` tell apart.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.anisotropy(torch.eye(3))
    tensor(0.)
    """
    x = unit(x, "x")
    n = len(x)
    # The squared lengths are summed as they came out: N itself would leave their rounding in the result.
    squared_sum = x.sum(dim=0).square().sum()  # [N, D] -> [D] -> []
    return (squared_sum - x.square().sum()) / (n * (n - 1))


def effective_rank(x: Tensor) -> Tensor:
    """How many directions the vectors really use: between 1 and min(N, D).

    Roy & Vetterli 2007: erank = exp(H(p)), H the entropy of p_i = σ_i / Σ_k σ_k and σ the singular values of
    the [N, D] matrix; here of its l2-normalised rows. As in the paper the rows are **not** centred: in a
    narrow cone the mean direction then takes most of the weight and the rank is low.

    `x` [N, D] -> a number (0-d tensor).

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.effective_rank(torch.eye(3)).round(decimals=4)
    tensor(3.)
    >>> geometry.effective_rank(torch.tensor([[1.0, 1.0], [2.0, 2.0]])).round(decimals=4)
    tensor(1.)
    """
    sigma = torch.linalg.svdvals(unit(x, "x"))  # [N, D] -> [min(N, D)]
    return torch.special.entr(sigma / sigma.sum()).sum().exp()


def noise_sensitivity(clean: Tensor, noisy: Tensor) -> Tensor:
    """How far noise moves a text, in units of how far apart texts are: 0 not at all, 1 as far as another text.

    E‖u_i − û_i‖² / E‖u_i − u_j‖², i ≠ j, of unit vectors u_i = `clean`[i] and û_i = `noisy`[i]; the same as
    (1 − mean cosine of the pairs) / (1 − mean cosine of random pairs). What CAPT (2.1) means by representations
    "covariant with the noise", as a number.

    1 − cosine alone would not be fair: in a narrow cone, where all cosines are near 1, every noise looks small, and a
    space that is stretched looks sensitive. Dividing by the distance between texts cancels the scale: shrinking all
    differences towards a common direction leaves the ratio as it is. (`separation` with `random_pair_cosines` asks a
    neighbouring question: how often the order is right.)

    `clean`, `noisy` [N, D], row i of both the same text, N ≥ 2 -> a number (0-d tensor) in [0, ∞). O(N·D). Raises a
    ValueError when all clean vectors point the same way: then there is no unit to measure in.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> clean = torch.eye(3)
    >>> geometry.noise_sensitivity(clean, clean), geometry.noise_sensitivity(clean, clean.roll(1, 0))
    (tensor(0.), tensor(1.))
    >>> geometry.noise_sensitivity(clean + 9, clean.roll(1, 0) + 9).round(decimals=4)  # in a cone: the same
    tensor(1.)
    """
    checks.pair(clean, noisy, "clean", "noisy")
    between = distance_between(clean)
    # Half the squared distance is 1 − cosine, but keeps its digits where the two are close.
    # [N, D] -> [N]
    distances = (exact_unit(clean) - exact_unit(noisy)).square().sum(dim=1)
    return (distances.mean() / 2 / between).to(checks.precise(clean, noisy))


class ClassCosines(NamedTuple):
    """Mean cosines of pairs of vectors: `within`, both of one class; `between`, of two classes."""

    within: Tensor
    between: Tensor


def class_cosines(x: Tensor, labels: Tensor) -> ClassCosines:
    """The mean cosine of all pairs within a class, and of all pairs across classes.

    Every pair counts alike, never a vector with itself; so large classes weigh more. Computed from sums of vectors, in
    O(N·D + C·D): no pair is ever formed. For the distributions behind the two means use `random_pair_cosines` and its
    `groups`.

    `x` [N, D], `labels` [N] integers -> two numbers (0-d tensors) in [−1, 1]; NaN where nothing lies within a class, or
    nothing between.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> geometry.class_cosines(x, torch.tensor([0, 0, 1, 1]))
    ClassCosines(within=tensor(0.), between=tensor(0.))
    >>> geometry.class_cosines(x, torch.tensor([0, 0, 1, 2]))
    ClassCosines(within=tensor(1.), between=tensor(-0.2000))
    """
    u = exact_unit(x)  # a float32 sum of a million vectors loses the width of a cone
    labels = checks.classes(labels, len(u), u.device, "labels")
    label = labels.unique(return_inverse=True)[1]  # [N], in 0 … C−1
    counts = torch.bincount(label)  # [C]
    # [N, D] -> [C, D]
    sums = u.new_zeros(len(counts), u.shape[1]).index_add_(0, label, u)
    own = u.square().sum()  # the pairs (i, i), as they came out: N up to rounding
    inside = (counts * (counts - 1)).sum()
    outside = len(u) * (len(u) - 1) - inside
    squares = sums.square().sum()  # Σ_c ‖Σ_{i in c} u_i‖²
    within = (squares - own) / inside
    between = (sums.sum(dim=0).square().sum() - squares) / outside
    dtype = checks.precise(x)
    return ClassCosines(within.clamp(-1, 1).to(dtype), between.clamp(-1, 1).to(dtype))


def class_spread(x: Tensor, labels: Tensor) -> Tensor:
    """How wide a class is, in units of how far apart classes are: 0 if each is a point, 1 if the labels say nothing.

    (1 − mean cosine within classes) / (1 − mean cosine between classes): the mean squared distance of two texts of one
    class over that of two texts of different classes. What "more compact clustering of examples with the same label"
    (SCL, 5.2) claims, as a number that a cone or a stretched space cannot fake: shrinking all differences towards a
    common direction leaves it as it is. `noise_sensitivity` is the same with the copies of a text as the class.

    It says how tight classes are, not how well they can be told apart: a few texts on the wrong side, or one class in
    two heaps, cost it much and a classifier little. So read it beside an accuracy, on texts that were not trained on:
    with enough weights, classes of any labels, even random ones, can be made tight on the training texts.

    `x` [N, D], `labels` [N] integers -> a number (0-d tensor) in [0, ∞). Raises a ValueError when all
    vectors point the same way.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> geometry.class_spread(x, torch.tensor([0, 0, 1, 1])), geometry.class_spread(x, torch.tensor([0, 1, 0, 1]))
    (tensor(0.), tensor(2.))
    """
    distance_between(x)
    within, between = class_cosines(x.double() if x.device.type != "mps" else x, labels)
    return ((1 - within) / (1 - between)).to(checks.precise(x))


def exact_unit(x: Tensor) -> Tensor:
    """The rows of `x` [N, D] on the unit sphere in float64: in a narrow cone 1 − cosine needs its last digits.

    A Mac's GPU has no float64, so vectors there keep float32.
    """
    return unit(x if x.device.type == "mps" else x.double(), "x")


def distance_between(x: Tensor) -> Tensor:
    """1 − mean cosine of the rows of `x`: the unit in which others measure. ValueError: all point the same way."""
    u = exact_unit(x)
    gap = 1 - anisotropy(u)
    # An error of eps in the entries of x leaves eps² in 1 − cosine.
    kinds = checks.precise(x), u.dtype
    entries, computed = (torch.finfo(kind).eps for kind in kinds)
    if gap <= max((8 * entries) ** 2, 8 * computed):
        raise ValueError(
            "All vectors point the same way, so there is no distance between them to measure in."
        )
    return gap
