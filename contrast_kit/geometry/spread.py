"""How vectors lie on the sphere: one number for closeness, evenness, the cone, and the directions in use."""

import math

import torch
from torch import Tensor

from contrast_kit import checks, fast
from contrast_kit.geometry.pairs import check_block, cosine_block, exact_unit, is_one_point, unit, unit_pairs


def alignment(a: Tensor, b: Tensor, alpha: float = 2) -> Tensor:
    """How far apart the two vectors of a positive pair lie, on average: 0 is best.

    Wang & Isola 2020, section 4.1.1: L_align = E ‖f(x) − f(y)‖₂^α over positive pairs (x, y), with f
    on the unit sphere. For α = 2 it equals 2 − 2·(mean cosine of the pairs), so it lies in [0, 4].

    `a` and `b` are [N, D]; row i of one belongs to row i of the other. The result is a number (0-d
    tensor) through which gradients flow. Nothing is compared across pairs, hence no denominator, and an
    encoder that maps everything to one point scores a perfect 0: read it together with `uniformity`.

    Raises a ValueError for vectors that are zero, not finite or do not pair up.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> a = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> b = torch.tensor([[3.0, 0.0], [0.0, -1.0]])  # same direction; opposite direction
    >>> geometry.alignment(a, b)
    tensor(2.)
    """
    if not (checks.is_number(alpha) and 0 < alpha < 1e18):
        raise ValueError(f"alpha is the power of the distance and must be above 0, not {checks.shown(alpha)}.")
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
    Raises a ValueError for fewer than two vectors, or for vectors that are zero or not finite.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))  # an antipodal pair: −2·2²
    tensor(-8.)
    >>> geometry.uniformity(torch.eye(4))  # all at a right angle: −2·(√2)²
    tensor(-4.)
    """
    if not (checks.is_number(t) and 0 < t < 1e18):
        raise ValueError(f"t is the sharpness of the kernel and must be above 0, not {checks.shown(t)}.")
    check_block(block)
    x = unit(x, "x", at_least=2)
    n = len(x)
    if n <= block or checks.is_traced(x):
        cosines, distinct = cosine_block(x, 0, n)  # [N, N], and its pairs i < j
        terms = (2 * t * (cosines - 1)).masked_fill(~distinct, -math.inf)  # masks, not indexing: x may have no values
        log_sum = torch.logsumexp(terms.flatten(), dim=0)  # [N, N] -> []
    else:  # on the sphere -t|u - v|^2 = 2t cos - 2t: the sum under the contrast, at tau = 1/(2t)
        log_sum = fast.pair_log_sum_exp(x, 1 / (2 * t), tile=block) - 2 * t - math.log(2)  # each pair came twice
    return log_sum - math.log(math.comb(n, 2))


def anisotropy(x: Tensor) -> Tensor:
    """How narrow the cone is in which the vectors lie: the mean cosine of all distinct pairs.

    Ethayarajh 2019, section 3.4 (his baseline for random words). Near 0: directions cancel out; 1: all
    point the same way; −1/(N−1) at the least. It equals `random_pair_cosines(x).mean()`, but comes
    from (‖Σ u_i‖² − N) / (N(N−1)), in O(N·D). `x` [N, D], N ≥ 2 -> a number (0-d tensor).

    It only sees the mean direction: two opposite clusters score like an even spread, which `uniformity` and
    `effective_rank` tell apart. Raises a ValueError for bad vectors or fewer than two.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.anisotropy(torch.eye(3))
    tensor(0.)
    """
    x = unit(x, "x", at_least=2)
    n = len(x)
    # The squared lengths are summed as they came out: N itself would leave their rounding in the result.
    return (x.sum(dim=0).square().sum() - x.square().sum()) / (n * (n - 1))  # [N, D] -> [D] -> []


def effective_rank(x: Tensor, *, center: bool = False) -> Tensor:
    """How many directions the vectors really use: between 1 and min(N, D).

    Roy & Vetterli 2007: erank = exp(H(p)), H the entropy of p_i = σ_i / Σ_k σ_k and σ the singular values of
    the [N, D] matrix; here of its l2-normalised rows. As in the paper the rows are **not** centred: in a
    narrow cone the mean direction then takes most of the weight and the rank is low. `center=True` takes
    the mean away after normalising and asks how many directions the *differences* between texts use.

    `x` [N, D] -> a number (0-d tensor). Raises a ValueError for bad vectors, and with `center` when all
    vectors point the same way, because nothing is left to rank.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.effective_rank(torch.eye(3)).round(decimals=4)
    tensor(3.)
    >>> geometry.effective_rank(torch.tensor([[1.0, 1.0], [2.0, 2.0]])).round(decimals=4)
    tensor(1.)
    """
    checks.switch("center", center)
    x = unit(x, "x", at_least=2 if center else 1)
    if center:
        x = x - x.mean(dim=0)
    sigma = torch.linalg.svdvals(x)  # [N, D] -> [min(N, D)]
    noise = 8 * torch.finfo(x.dtype).eps * math.sqrt(len(x))
    if sigma[0] <= noise:
        raise ValueError("All vectors point the same way, so no rank is left once their mean is taken away.")
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
    ValueError for bad vectors, or when all clean vectors point the same way: then there is no unit to measure in.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> clean = torch.eye(3)
    >>> geometry.noise_sensitivity(clean, clean), geometry.noise_sensitivity(clean, clean.roll(1, 0))
    (tensor(0.), tensor(1.))
    >>> geometry.noise_sensitivity(clean + 9, clean.roll(1, 0) + 9).round(decimals=4)  # in a cone: the same
    tensor(1.)
    """
    (clean, dtype), (noisy, other) = exact_unit(clean, "clean", at_least=2), exact_unit(noisy, "noisy")
    checks.pair(clean, noisy, "clean", "noisy")
    between = 1 - anisotropy(clean)
    if is_one_point(between, clean, dtype):
        raise ValueError(
            "All clean vectors point the same way, so there is no distance between texts to measure noise in."
        )
    # Half the squared distance is 1 − cosine, but keeps its digits where the two are close.
    ratio = (clean - noisy).square().sum(dim=1).mean() / 2 / between  # [N, D] -> [N] -> []
    return ratio.to(torch.promote_types(dtype, other))
