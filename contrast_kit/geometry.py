"""Where the vectors lie: alignment, uniformity, cosines and ranks of a set of representations.

Vectors in, numbers out. Every measure puts the vectors on the unit sphere itself, so lengths never
count, and reduces in float32 or better, so half-precision vectors may come as they are.
Letters in the shape comments: N vectors, D width, R rows of a block, C columns, P pairs.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = [
    "alignment",
    "anisotropy",
    "effective_rank",
    "noise_sensitivity",
    "pair_cosines",
    "random_pair_cosines",
    "separation",
    "uniformity",
]


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
    if not alpha > 0:
        raise ValueError(f"alpha is the power of the distance and must be above 0, not {alpha}.")
    a, b = _unit_pairs(a, b)
    distance = torch.linalg.vector_norm(a - b, dim=1)  # [N, D] -> [N]
    # A power below 1 has no slope at distance 0; those pairs add nothing, so they are left out of the sum.
    return distance[distance > 0].pow(alpha).sum() / len(distance)


def uniformity(x: Tensor, t: float = 2, *, block: int = 1024) -> Tensor:
    """How evenly the vectors fill the sphere: 0 when all coincide, more negative the more evenly spread.

    Wang & Isola 2020, section 4.1.2: L_uniform = log E exp(−t‖f(x) − f(y)‖²), the mean taken over the
    N(N−1)/2 *distinct* pairs: a vector is never paired with itself. With t = 2 it lies in [−8, 0]; the even
    spread in high dimension comes close to −4, and only two opposite points reach −8.

    `x` is [N, D] with N ≥ 2; the result is a number (0-d tensor) through which gradients flow. It is the same
    as `torch.pdist(x).pow(2).mul(-t).exp().mean().log()` on unit vectors, but streamed in blocks of
    `block` rows: memory is O(N·D + block·N), in the backward pass as well, and no exp can overflow.
    Raises a ValueError for fewer than two vectors, or for vectors that are zero or not finite.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))  # an antipodal pair: −2·2²
    tensor(-8.)
    >>> geometry.uniformity(torch.eye(4))  # all at a right angle: −2·(√2)²
    tensor(-4.)
    """
    if not t > 0:
        raise ValueError(f"t is the sharpness of the kernel and must be above 0, not {t}.")
    x = _unit(x, "x", at_least=2)
    starts = _block_starts(len(x), block)
    recompute = x.requires_grad and torch.is_grad_enabled() and len(starts) > 1
    if recompute:  # keep no [R, N] block for the backward pass: make it again when it is needed
        parts = [
            checkpoint(_log_sum, x, i, block, t, use_reentrant=False, preserve_rng_state=False)
            for i in starts
        ]
    else:
        parts = [_log_sum(x, i, block, t) for i in starts]
    return torch.logsumexp(torch.stack(parts), dim=0) - math.log(_pairs(len(x)))  # [blocks] -> []


def pair_cosines(a: Tensor, b: Tensor) -> Tensor:
    """The cosine of each given pair: row i of `a` with row i of `b`.

    `a`, `b` [N, D] -> [N], each in [−1, 1]. The similar pairs of COCO-LM figures 1 and 5; for the random
    pairs beside them take `random_pair_cosines`, and for their distance in one number `separation`.
    Raises a ValueError for vectors that are zero, not finite or do not pair up.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.pair_cosines(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[5.0, 0.0], [0.0, -1.0]]))
    tensor([ 1., -1.])
    """
    a, b = _unit_pairs(a, b)
    return (a * b).sum(dim=1).clamp(-1, 1)  # [N, D] -> [N]; rounding may step over 1


def random_pair_cosines(
    x: Tensor, n: int | None = None, *, groups: Tensor | None = None, seed: int = 0, block: int = 1024
) -> Tensor:
    """The cosines of random pairs of distinct vectors: what "unrelated" looks like in this space.

    COCO-LM, figures 1 and 5 (random sequence pairs). `x` is [N, D] with N ≥ 2.

    * `n=None`: all N(N−1)/2 pairs i < j, in the order of `torch.pdist`; never a vector with itself.
    * `n=k`: k distinct pairs drawn without replacement; `seed` fixes which, the same on every device.
    * `groups` [N] integers: two vectors with the same number are positives of each other (views of one
      text, a sentence and its paraphrase), and such pairs are left out.

    Returns [P] cosines in [−1, 1]. Raises a ValueError for bad vectors, or when fewer than `n` pairs exist.
    `anisotropy` gives the mean over all pairs without listing them.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 3.0]])
    >>> geometry.random_pair_cosines(x)  # pairs 01 02 03 12 13 23
    tensor([ 0., -1.,  0.,  0.,  1.,  0.])
    >>> geometry.random_pair_cosines(x, groups=torch.tensor([0, 1, 2, 1]))  # 1 and 3 are one text
    tensor([ 0., -1.,  0.,  0.,  0.])
    >>> len(geometry.random_pair_cosines(x, n=3))
    3
    """
    x = _unit(x, "x", at_least=2)
    groups = _checked_groups(groups, x)
    if n is not None:
        return _sampled_cosines(x, n, groups, seed)
    rows = []
    for cosines, keep, i in _upper_blocks(x, block):
        if groups is not None:
            keep = keep & (groups[i : i + len(keep), None] != groups[None, i:])  # [R, C]
        rows.append(cosines[keep])  # [R, C] -> [pairs of this block], row by row
    cosines = torch.cat(rows)
    if not len(cosines):
        raise ValueError(
            "All vectors belong to one group, so no random pair is left; give more than one group."
        )
    return cosines


def anisotropy(x: Tensor) -> Tensor:
    """How narrow the cone is in which the vectors lie: the mean cosine of all distinct pairs.

    Ethayarajh 2019, section 3.3 (his baseline for random words). Near 0: directions cancel out; 1: all
    point the same way; −1/(N−1) at the least. It equals `random_pair_cosines(x).mean()`, but from
    (‖Σ u_i‖² − N) / (N(N−1)), in O(N·D). `x` [N, D], N ≥ 2 -> a number (0-d tensor).

    It only sees the mean direction: two opposite clusters score like an even spread, which `uniformity` and
    `effective_rank` tell apart. Raises a ValueError for bad vectors or fewer than two.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.anisotropy(torch.eye(3))
    tensor(0.)
    """
    x = _unit(x, "x", at_least=2)
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
    x = _unit(x, "x", at_least=2 if center else 1)
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
    clean, noisy = _unit_pairs(clean, noisy)
    between = 1 - anisotropy(clean)
    if between <= 8 * torch.finfo(clean.dtype).eps:
        raise ValueError(
            "All clean vectors point the same way, so there is no distance between texts to measure noise in."
        )
    # Half the squared distance is 1 − cosine, but keeps its digits where the two are close.
    return (clean - noisy).square().sum(dim=1).mean() / 2 / between  # [N, D] -> [N] -> []


def separation(similar: Tensor, random: Tensor, *, measure: str = "auc") -> Tensor:
    """How well the cosine tells similar pairs from random pairs: one number for COCO-LM figures 1 and 5.

    * `"auc"` (default): the probability that a similar pair has a higher cosine than a random pair, ties
      counted half. 0.5 is no separation, 1 is complete. It depends on the *order* of cosines alone: a narrow
      cone (all cosines near 0.9) and a wide space are judged alike, and no stretching of the scale helps.
      The plain difference of means would reward a space only for being wide.
    * `"d_prime"`: (mean similar − mean random) / √((var similar + var random)/2), the gap in standard
      deviations. It goes on growing where the AUC is already 1, but takes the two shapes to be bell-like.

    `similar` [P], `random` [Q] cosines, from `pair_cosines` and `random_pair_cosines` -> a number (0-d
    tensor). Neither number says why pairs are close: a random encoder scores high on pairs that share words,
    so always set one beside it. Raises a ValueError for empty, non-finite or (d′) constant input.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.separation(torch.tensor([0.9, 0.5]), torch.tensor([0.5, 0.1]))  # 3 wins, 1 tie of 4
    tensor(0.8750)
    >>> geometry.separation(torch.tensor([0.9, 0.7]), torch.tensor([0.1, -0.1]), measure="d_prime")
    tensor(5.6569)
    """
    similar, random = _cosine_list(similar, "similar"), _cosine_list(random, "random")
    if measure == "auc":
        ordered = random.sort().values
        below = torch.searchsorted(ordered, similar, right=False)  # [P] random pairs strictly below
        not_above = torch.searchsorted(ordered, similar, right=True)  # [P] random pairs below or equal
        return ((below + not_above).double().mean() / (2 * len(ordered))).to(similar.dtype)
    if measure != "d_prime":
        raise ValueError(f'measure is "auc" or "d_prime", not {measure!r}.')
    if min(len(similar), len(random)) < 2:
        raise ValueError("d′ needs a variance, so at least two similar and two random pairs.")
    spread = ((similar.var() + random.var()) / 2).sqrt()
    if spread == 0:
        raise ValueError(
            'All cosines are equal within both sets, so d′ would divide by 0; take measure="auc".'
        )
    return (similar.mean() - random.mean()) / spread


# --- what stands behind them ---


def _checked(x: Tensor, name: str) -> Tensor:
    """`x` as finite float32 or float64."""
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name} must be a torch tensor, not {type(x).__name__}; wrap it in torch.as_tensor(...)."
        )
    if not x.is_floating_point():
        raise ValueError(f"{name} must hold floating-point numbers, not {x.dtype}; call .float() on it.")
    if not torch.isfinite(x).all():
        raise ValueError(f"{name} holds NaN or infinite numbers; look for the step that made them.")
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _unit(x: Tensor, name: str, at_least: int = 1) -> Tensor:
    """The rows of `x` [N, D] on the unit sphere."""
    x = _checked(x, name)
    if x.ndim != 2 or not x.shape[1]:
        raise ValueError(f"{name} must be [N, D], one vector a row, not {list(x.shape)}.")
    if len(x) < at_least:
        raise ValueError(f"{name} holds {len(x)} vector(s), but this measure needs at least {at_least}.")
    largest = x.detach().abs().amax(dim=1, keepdim=True)  # [N, 1]
    if (largest == 0).any():
        row = int((largest == 0).nonzero()[0, 0])
        raise ValueError(f"{name} has a zero vector in row {row}, and a zero vector has no direction.")
    x = x / largest  # squares of very large or small entries would leave the range of floats
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


def _unit_pairs(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    a, b = _unit(a, "a"), _unit(b, "b")
    if a.shape != b.shape:
        raise ValueError(
            f"Row i of a pairs with row i of b, so shapes must agree: {list(a.shape)}, {list(b.shape)}."
        )
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _cosine_list(x: Tensor, name: str) -> Tensor:
    x = _checked(x, name)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"{name} must be a non-empty list [P] of cosines, not {list(x.shape)}.")
    return x


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _block_starts(n: int, block: int) -> range:
    if block < 1:
        raise ValueError(f"block is a number of rows and must be at least 1, not {block}.")
    return range(0, n - 1, block)  # the last row alone has no partner after it


def _upper_block(x: Tensor, i: int, block: int) -> tuple[Tensor, Tensor]:
    """Cosines of rows i … i+block with rows from i on, and which of them are pairs with first < second."""
    cosines = (x[i : i + block] @ x[i:].T).clamp(-1, 1)  # [R, D] @ [D, C] -> [R, C]
    keep = torch.ones_like(cosines, dtype=torch.bool).triu(diagonal=1)
    return cosines, keep


def _upper_blocks(x: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    for i in _block_starts(len(x), block):
        yield *_upper_block(x, i, block), i


def _log_sum(x: Tensor, i: int, block: int, t: float) -> Tensor:
    """log Σ exp(−t‖u−v‖²) over the pairs of one block; on the sphere ‖u−v‖² = 2 − 2·cos."""
    cosines, keep = _upper_block(x, i, block)
    return torch.logsumexp(
        (2 * t * (cosines - 1)).masked_fill(~keep, -torch.inf).flatten(), dim=0
    )  # [R·C] -> []


def _checked_groups(groups: Tensor | None, x: Tensor) -> Tensor | None:
    if groups is None:
        return None
    groups = torch.as_tensor(groups, device=x.device)
    if groups.shape != x.shape[:1] or groups.is_floating_point():
        raise ValueError(
            f"groups must be one integer a vector, [{len(x)}], not {groups.dtype} {list(groups.shape)}."
        )
    return groups


def _sampled_cosines(x: Tensor, n: int, groups: Tensor | None, seed: int) -> Tensor:
    available = _pairs(len(x))
    if groups is not None:
        available -= sum(_pairs(int(size)) for size in groups.unique(return_counts=True)[1])
    if not 1 <= n <= available:
        raise ValueError(f"n must lie between 1 and the {available:,} random pairs there are, not {n}.")
    generator = torch.Generator().manual_seed(seed)  # on the CPU, so that every device draws the same pairs
    ids = None if groups is None else groups.cpu()
    draw = _draw_by_permuting if 2 * n > available else _draw_by_rejecting
    i, j = draw(len(x), n, ids, generator).to(x.device)  # [2, P]
    # In pieces: all the rows of a million pairs at once would need gigabytes.
    pieces = [(x[p] * x[q]).sum(dim=1) for p, q in zip(i.split(65_536), j.split(65_536), strict=True)]
    return torch.cat(pieces).clamp(-1, 1)


def _draw_by_permuting(size: int, n: int, ids: Tensor | None, generator: torch.Generator) -> Tensor:
    pairs = torch.triu_indices(size, size, offset=1)  # [2, N(N-1)/2]
    if ids is not None:
        pairs = pairs[:, ids[pairs[0]] != ids[pairs[1]]]
    return pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:n]]


def _draw_by_rejecting(size: int, n: int, ids: Tensor | None, generator: torch.Generator) -> Tensor:
    """For at most half of the pairs: draw two rows, drop what is no pair or came before, go on."""
    codes = torch.empty(0, dtype=torch.long)
    while len(codes) < n:
        i, j = torch.randint(size, (2, 2 * n), generator=generator)
        fine = i != j if ids is None else (i != j) & (ids[i] != ids[j])
        low, high = torch.minimum(i, j)[fine], torch.maximum(i, j)[fine]
        codes = torch.cat([codes, low * size + high]).unique()
    codes = codes[torch.randperm(len(codes), generator=generator)[:n]]  # unique() sorted them
    return torch.stack([codes // size, codes % size])
