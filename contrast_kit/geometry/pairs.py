"""Cosines of given and of random pairs, and how well the two can be told apart.

Letters: N vectors, D width, P pairs, R rows of a block, C columns.
"""

import math

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.losses.contrast import dot_products


def pair_cosines(a: Tensor, b: Tensor) -> Tensor:
    """The cosine of each given pair: row i of `a` with row i of `b`.

    `a`, `b` [N, D] -> [N], each in [−1, 1]. The similar pairs of COCO-LM figures 1 and 5; for the random
    pairs beside them use `random_pair_cosines`, and for their distance in one number `separation`.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.pair_cosines(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[5.0, 0.0], [0.0, -1.0]]))
    tensor([ 1., -1.])
    """
    a, b = unit_pairs(a, b)
    return (a * b).sum(dim=1).clamp(-1, 1)  # [N, D] -> [N]; rounding may step over 1


def triplet_accuracy(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The share of rows whose positive lies closer to the anchor than the negative does, by the cosine.

    Each [N, D] -> a number (0-d tensor). Ties count half: 0.5 is guessing; below it the space prefers the negatives.
    With negatives that share more words than the positives (`toyshop.triples`) it asks whether meaning
    or wording counts.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> a = torch.eye(2)
    >>> geometry.triplet_accuracy(a, positive=torch.tensor([[1.0, 0.1], [1.0, 0.5]]), negative=torch.ones(2, 2))
    tensor(0.5000)
    """
    # [N, D] -> [N]
    near, far = pair_cosines(anchor, positive), pair_cosines(anchor, negative)
    return ((near > far).float() + (near == far).float() / 2).mean()


def random_pair_cosines(
    x: Tensor,
    n: int | None = None,
    *,
    groups: Tensor | None = None,
    seed: int = 0,
) -> Tensor:
    """The cosines of random pairs of distinct vectors: what "unrelated" looks like in this space.

    COCO-LM, figures 1 and 5 (random sequence pairs). `x` is [N, D] with N ≥ 2.

    * `n=None`: all N(N−1)/2 pairs i < j, in the order of `torch.pdist`; never a vector with itself. Memory is O(N²).
    * `n=k`: k distinct pairs drawn without replacement; `seed` fixes which, the same on every device.
    * `groups` [N] integers: two vectors with the same number are positives of each other (views of one
      text, a sentence and its paraphrase), and such pairs are left out.

    Returns [P] cosines in [−1, 1].
    Raises a ValueError when fewer than `n` pairs exist.
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
    x = unit(x, "x")
    if groups is None:
        groups = torch.arange(len(x), device=x.device)
    groups = checks.integers(groups, len(x), x.device, "groups")
    if n is not None:
        return _sampled_cosines(x, n, groups, seed)
    first, second = pairs_across(groups)  # [2, P]
    return dot_products(x, x)[first, second].clamp(-1, 1)  # [N, D] -> [N, N] -> [P]


def separation(similar: Tensor, random: Tensor) -> Tensor:
    """How well the cosine tells similar pairs from random pairs: one number for COCO-LM figures 1 and 5, the AUC.

    The probability that a similar pair has a higher cosine than a random pair, ties counted half: 0.5 is no separation,
    1 is complete. It depends on the *order* of cosines alone: a narrow cone (all cosines near 0.9) and a wide space
    are judged alike, and no stretching of the scale helps. The plain difference of means would reward a space only for
    being wide.

    `similar` [P], `random` [Q] cosines, from `pair_cosines` and `random_pair_cosines` -> a number (0-d
    tensor). It does not say why pairs are close: an untrained encoder scores high on pairs that share words, so always
    compare with one.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.separation(torch.tensor([0.9, 0.5]), torch.tensor([0.5, 0.1]))  # 3 wins, 1 tie of 4
    tensor(0.8750)
    """
    similar, random = checks.floats(similar, "similar"), checks.floats(random, "random")
    checks.finite(similar.sum() + random.sum(), "The sum of cosines")
    ordered = random.sort().values
    # How many random pairs lie strictly below each similar one, and how many below or level with it, [P] each.
    below = torch.searchsorted(ordered, similar, right=False)
    not_above = torch.searchsorted(ordered, similar, right=True)
    return ((below + not_above).double().mean() / (2 * len(ordered))).to(similar.dtype)


def unit(x: Tensor, name: str) -> Tensor:
    """The rows of `x` [N, D] on the unit sphere."""
    x = checks.floats(x, name)
    largest = x.detach().abs().amax(dim=-1, keepdim=True)  # [N, D] -> [N, 1]
    # Squares of very large or small entries would leave the range of floats. A row of zeros stays, to be refused.
    return checks.normalise(x / largest.masked_fill(largest == 0, 1.0), name)


def unit_pairs(
    a: Tensor, b: Tensor, a_name: str = "a", b_name: str = "b"
) -> tuple[Tensor, Tensor]:
    """The rows of `a` and `b`, [N, D] each, on the unit sphere and in one dtype; an error calls them by these names."""
    checks.pair(a, b, a_name, b_name)
    dtype = checks.precise(a, b)
    return unit(a.to(dtype), a_name), unit(b.to(dtype), b_name)


def pairs_across(groups: Tensor) -> Tensor:
    """All pairs i < j of vectors of different groups [N], as row numbers [2, P], in the order of `torch.pdist`."""
    size = len(groups)
    pairs = torch.triu_indices(size, size, offset=1, device=groups.device)
    return pairs[:, groups[pairs[0]] != groups[pairs[1]]]


def _sampled_cosines(x, n, groups, seed):
    sizes = groups.unique(return_counts=True)[1]
    available = math.comb(len(x), 2) - int((sizes * (sizes - 1) // 2).sum())
    if not 1 <= n <= available:
        raise ValueError(
            f"n must lie between 1 and the {available:,} random pairs there are, not {n}."
        )
    # On the CPU, so that every device draws the same pairs.
    generator = torch.Generator().manual_seed(int(seed))
    draw = _draw_by_rejecting
    if 2 * n > available:  # most draws would be dropped
        draw = _draw_by_permuting
    i, j = draw(n, groups.cpu(), generator).to(x.device)  # [2, P]
    # In pieces: all the rows of a million pairs at once would need gigabytes.
    pieces = zip(i.split(65_536), j.split(65_536), strict=True)
    return torch.cat([(x[p] * x[q]).sum(dim=1) for p, q in pieces]).clamp(-1, 1)


def _draw_by_permuting(n, groups, generator):
    pairs = pairs_across(groups)
    return pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:n]]


def _draw_by_rejecting(n, groups, generator):
    """For at most half of the pairs: draw two rows, drop them if they form no pair or came before, repeat."""
    size = len(groups)
    codes = torch.empty(0, dtype=torch.long)
    while len(codes) < n:
        i, j = torch.randint(size, (2, 2 * n), generator=generator)
        fine = groups[i] != groups[j]
        low, high = torch.minimum(i, j)[fine], torch.maximum(i, j)[fine]
        codes = torch.cat([codes, low * size + high]).unique()
    # `unique` had sorted them.
    codes = codes[torch.randperm(len(codes), generator=generator)[:n]]
    return torch.stack([codes // size, codes % size])
