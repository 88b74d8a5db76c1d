"""Cosines of given and of random pairs, and how well the two can be told apart."""

import math
import random
from numbers import Integral

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.geometry.pairs import cosine_blocks, unit, unit_pairs


def pair_cosines(a: Tensor, b: Tensor) -> Tensor:
    """The cosine of each given pair: row i of `a` with row i of `b`.

    `a`, `b` [N, D] -> [N], each in [−1, 1]. The similar pairs of COCO-LM figures 1 and 5; for the random
    pairs beside them use `random_pair_cosines`, and for their distance in one number `separation`.
    Raises a ValueError for vectors that are zero, not finite or do not pair up.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.pair_cosines(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[5.0, 0.0], [0.0, -1.0]]))
    tensor([ 1., -1.])
    """
    return _row_cosines(*unit_pairs(a, b))


def triplet_accuracy(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The share of rows whose positive lies closer to the anchor than the negative does, by the cosine.

    Each [N, D] -> a number (0-d tensor). Ties count half: 0.5 is a coin, and below 0.5 the space prefers the negatives.
    With negatives that share more words than the positives (`toyshop.triples`) it asks whether meaning
    or wording counts. Raises a ValueError for vectors that are zero, not finite or do not pair up.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> a = torch.eye(2)
    >>> geometry.triplet_accuracy(a, positive=torch.tensor([[1.0, 0.1], [1.0, 0.5]]), negative=torch.ones(2, 2))
    tensor(0.5000)
    """
    with_positive = _row_cosines(*unit_pairs(anchor, positive, "anchor", "positive"))  # [N, D] -> [N]
    with_negative = _row_cosines(*unit_pairs(anchor, negative, "anchor", "negative"))
    return ((with_positive > with_negative).float() + (with_positive == with_negative).float() / 2).mean()


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
    x = unit(x, "x", at_least=2)
    if groups is not None:
        groups = checks.integers(groups, len(x), x.device, "groups")
    if n is not None:
        return _sampled_cosines(x, n, groups, seed)
    rows = []
    for cosines, wanted, i in cosine_blocks(x, block):
        if groups is not None:
            wanted = wanted & (groups[i : i + len(wanted), None] != groups[None, i:])  # [R, C]
        rows.append(cosines[wanted])  # [R, C] -> [pairs of this block], row by row
    cosines = torch.cat(rows)
    if not len(cosines):
        raise ValueError("All vectors belong to one group, so no random pair is left; give more than one group.")
    return cosines


def separation(similar: Tensor, random: Tensor, *, measure: str = "auc") -> Tensor:
    """How well the cosine tells similar pairs from random pairs: one number for COCO-LM figures 1 and 5.

    * `"auc"` (default): the probability that a similar pair has a higher cosine than a random pair, ties
      counted half. 0.5 is no separation, 1 is complete. It depends on the *order* of cosines alone: a narrow
      cone (all cosines near 0.9) and a wide space are judged alike, and no stretching of the scale helps.
      The plain difference of means would reward a space only for being wide.
    * `"d_prime"`: (mean similar − mean random) / √((var similar + var random)/2), the gap in standard
      deviations. It goes on growing where the AUC is already 1, but assumes two bell-shaped distributions.

    `similar` [P], `random` [Q] cosines, from `pair_cosines` and `random_pair_cosines` -> a number (0-d
    tensor). Neither number says why pairs are close: a random encoder scores high on pairs that share words,
    so always compare with one. Raises a ValueError for empty or non-finite input, and for a d′ of fewer than two
    numbers on a side or of two constant sides.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> geometry.separation(torch.tensor([0.9, 0.5]), torch.tensor([0.5, 0.1]))  # 3 wins, 1 tie of 4
    tensor(0.8750)
    >>> geometry.separation(torch.tensor([0.9, 0.7]), torch.tensor([0.1, -0.1]), measure="d_prime")
    tensor(5.6569)
    """
    similar, random = _finite_list(similar, "similar"), _finite_list(random, "random")
    checks.choice("measure", measure, ("auc", "d_prime"))
    if measure == "auc":
        ordered = random.sort().values
        below = torch.searchsorted(ordered, similar, right=False)  # [P] random pairs strictly below
        not_above = torch.searchsorted(ordered, similar, right=True)  # [P] random pairs below or equal
        return ((below + not_above).double().mean() / (2 * len(ordered))).to(similar.dtype)
    if min(len(similar), len(random)) < 2:
        raise ValueError("d′ needs a variance, so at least two similar and two random pairs.")
    if similar.min() == similar.max() and random.min() == random.max():  # their variance may be rounding, not 0
        raise ValueError('All cosines are equal within both sets, so d′ would divide by 0; take measure="auc".')
    return (similar.mean() - random.mean()) / ((similar.var() + random.var()) / 2).sqrt()


def _row_cosines(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1).clamp(-1, 1)  # [N, D] -> [N]; rounding may step over 1


def _finite_list(x: Tensor, name: str) -> Tensor:
    """`x` as a non-empty list [P] of finite numbers."""
    x = checks.floats(x, name)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"{name} must be a non-empty list [P] of cosines, not {list(x.shape)}.")
    if not torch.isfinite(x).all():
        raise checks.NotFiniteError(f"{name} holds NaN or infinity; look for the step that made them.")
    return x


def _sampled_cosines(x: Tensor, n: int, groups: Tensor | None, seed: int) -> Tensor:
    available = math.comb(len(x), 2)
    if groups is not None:
        available -= sum(math.comb(int(size), 2) for size in groups.unique(return_counts=True)[1])
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= available:
        raise ValueError(f"n must lie between 1 and the {available:,} random pairs there are, not {checks.shown(n)}.")
    checks.seed(seed)
    generator = torch.Generator().manual_seed(int(seed))  # on the CPU, so that every device draws the same pairs
    ids = None if groups is None else groups.cpu()
    if available < math.comb(len(x), 2) // 8:  # nearly all pairs are positives: drawn blindly, few would be kept
        i, j = _draw_by_number(ids, n, available, seed).to(x.device)
    else:
        draw = _draw_by_permuting if 2 * n > available else _draw_by_rejecting
        i, j = draw(len(x), n, ids, generator).to(x.device)  # [2, P]
    # In pieces: all the rows of a million pairs at once would need gigabytes.
    pieces = [(x[p] * x[q]).sum(dim=1) for p, q in zip(i.split(65_536), j.split(65_536), strict=True)]
    return torch.cat(pieces).clamp(-1, 1)


def _draw_by_number(ids: Tensor, n: int, available: int, seed: int) -> Tensor:
    """Sorted by group, a row is paired with every row behind its group. So the pairs have numbers, and n are drawn."""
    order = ids.argsort(stable=True)  # [N]
    behind = torch.searchsorted(ids[order].contiguous(), ids[order], right=True)  # [N], the first row of a later group
    ends = (len(ids) - behind).cumsum(0)  # [N], how many pairs there are up to this row
    numbers = torch.tensor(random.Random(int(seed)).sample(range(available), n))  # [P]
    row = torch.searchsorted(ends, numbers, right=True)
    return order[torch.stack([row, len(ids) - (ends[row] - numbers)])]


def _draw_by_permuting(size: int, n: int, ids: Tensor | None, generator: torch.Generator) -> Tensor:
    pairs = torch.triu_indices(size, size, offset=1)  # [2, N(N-1)/2]
    if ids is not None:
        pairs = pairs[:, ids[pairs[0]] != ids[pairs[1]]]
    return pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:n]]


def _draw_by_rejecting(size: int, n: int, ids: Tensor | None, generator: torch.Generator) -> Tensor:
    """For at most half of the pairs: draw two rows, drop them if they form no pair or came before, repeat."""
    codes = torch.empty(0, dtype=torch.long)
    while len(codes) < n:
        i, j = torch.randint(size, (2, 2 * n), generator=generator)
        fine = i != j if ids is None else (i != j) & (ids[i] != ids[j])
        low, high = torch.minimum(i, j)[fine], torch.maximum(i, j)[fine]
        codes = torch.cat([codes, low * size + high]).unique()
    codes = codes[torch.randperm(len(codes), generator=generator)[:n]]  # unique() sorted them
    return torch.stack([codes // size, codes % size])
