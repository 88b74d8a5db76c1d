"""Sequence-level losses: which vectors are pulled together, and which are pushed apart.

Letters: B examples, N vectors, D width, Q queue. The three losses with negatives are one idea: the cross-entropy of
picking an anchor's positive out of its candidates by cosine. They differ in who is a candidate and who is a positive:

| loss       | anchors    | candidates of an anchor       | positives of an anchor      | denominator terms |
|------------|------------|-------------------------------|-----------------------------|-------------------|
| `info_nce` | view 0, B  | the other view, H negatives   | its own partner             | B + H             |
| `nt_xent`  | both, 2B   | both views but itself, queue  | its own partner             | 2B - 1 + Q        |
| `sup_con`  | all N      | all but itself                | all others with its label   | N - 1             |
| `simsiam`  | both       | none: no negatives            | its own partner             | no denominator    |

`info_nce` is in `one_direction`, `simsiam` in `no_negatives`. This file is the definition: one matrix of cosines. From
384 × 384 cosines on, the queue's included, `fast.contrast` computes the same numbers in tiles: while you change an
equation here, set `fast.TILED_FROM = math.inf`. `implementation`: "auto", by size; "plain", the matrix, also for a
gradient of the gradient; "tiled"; "bf16", tiles of vectors rounded to bfloat16.
"""

from contextlib import nullcontext

import torch
from torch import Tensor

from contrast_kit import fast
from contrast_kit._warn import warn
from contrast_kit.checks import classes, integers, normalise, pair, reduce, temperature, vectors


def nt_xent(
    a: Tensor,
    b: Tensor,
    tau: float,
    *,
    queue: Tensor | None = None,
    ids: Tensor | None = None,
    queue_ids: Tensor | None = None,
    reduction: str = "mean",
    implementation: str = "auto",
) -> Tensor:
    """Pick each vector's partner out of all other vectors of both views: contrast in both directions.

    COCO-LM, eq. 3, for (X, X+) in both orders:

        L_SCL = -E( cos(s, s+)/tau - log( exp(cos(s, s+)/tau) + sum_{X- in B-} exp(cos(s, s-)/tau) ) )

    CAPT, eq. 2-4, is the same with s_i and shat_i, as a *sum* over the 2n anchors (`reduction="sum"`):

        L(x_i) = -log( exp(s_i.shat_i/tau) / ( sum_j exp(s_i.shat_j/tau) + sum_{j!=i} exp(s_i.s_j/tau) ) )

    SCL, eq. 4, is the same again (its indices are misprinted; read: 2N anchors, each with its partner).

    In the denominator of s_i: 2B - 1 terms, every vector of both views except s_i itself, the positive included, and
    then the Q vectors of the queue. Identical vectors give log(2B - 1 + Q); partners equal and all others orthogonal
    give log(1 + (2B - 2 + Q) e^{-1/tau}).

    Args:
        a: vectors of one view, [B, D].
        b: vectors of the other, [B, D]; row i is the positive of row i of a. Both are normalised here.
        tau: the temperature, > 0. COCO-LM: 1; CAPT: between 0.55 and 0.05 (`schedules.inverted_triangle`).
        queue: [Q, D], vectors of *earlier* steps: further negatives, constants without gradient (CAPT 2.2). Push the
            batch's own vectors after the loss, or each positive stands in the denominator a second time, as a negative.
            Pass only rows that are filled; Q may be 0.
        ids: [B], which text each row comes from. Two rows with one id that are not partners are false negatives, and
            are left out of each other's denominator. Without ids nothing is left out, as in the papers.
        queue_ids: [Q], the same for the queue, for a small corpus whose texts come round again.
        reduction: "mean" over the 2B anchors, "sum" (CAPT, eq. 4), or "none": [2B], a's rows first.
        implementation: one matrix or tiles, see the top of this file.

    Returns:
        A number >= 0, in float32 or float64. One example without a queue has no negative: 0, with a warning.

    Raises:
        TypeError, ValueError: wrong kind or shape, tau <= 0, a row of zeros, or queue_ids without ids.
        NotFiniteError: NaN or infinity in a row.

    See also:
        `info_nce`: half of these negatives, one direction. `sup_con` with a label for each text is this loss.

    Example:
        >>> import torch
        >>> nt_xent(torch.ones(4, 3), torch.ones(4, 3), tau=1.0)  # all vectors equal: log(2B - 1)
        tensor(1.9459)
        >>> a, b = torch.eye(3, 8), torch.eye(3, 8)
        >>> far = torch.eye(8)[5:]                                # 3 more directions, from earlier steps
        >>> nt_xent(a, b, tau=0.5), nt_xent(a, b, tau=0.5, queue=far)
        (tensor(0.4327), tensor(0.6665))
    """
    temperature(tau)
    pair(a, b, "a", "b")
    n, queue = 2 * len(a), more_rows(queue, a, "queue").detach()  # [Q, D]
    warn_alone(n + len(queue) == 2, "nt_xent")
    ids = candidate_ids(ids, queue_ids, a, len(queue), views=2)
    if fast.wanted(implementation, n * (n + len(queue)), a):
        return reduce(fast.nt_xent(a, b, queue, tau, ids, implementation), reduction)

    x = torch.cat([normalise(a, "a"), normalise(b, "b")])  # [2B, D]
    similarity = dot_products(x, torch.cat([x, queue.to(x)])) / tau  # [2B, 2B + Q]
    itself = torch.eye(n, n + len(queue), dtype=torch.bool, device=x.device)
    positive = itself.roll(n // 2, dims=0)  # row i: True at its partner, B rows further on
    excluded = itself | (same_text(positive, ids) & ~positive)
    return reduce(pick_positives(similarity, positive, excluded), reduction)


def sup_con(x: Tensor, labels: Tensor, tau: float, *, reduction: str = "sum", implementation: str = "auto") -> Tensor:
    """Pick the vectors with the anchor's label out of all other vectors: contrast between classes.

    SCL, eq. 3:

        L_SCL = sum_i -1/(N_{y_i} - 1) sum_j 1[i != j] 1[y_i = y_j] log p_ij
        p_ij  = exp(Phi(x_i).Phi(x_j)/tau) / sum_k 1[i != k] exp(Phi(x_i).Phi(x_k)/tau)

    The logarithm stands inside the sum over positives. In the denominator: N - 1 terms, all vectors but the anchor
    itself, *with* the other positives. So the loss of an anchor with P positives cannot fall below log P, and equal
    vectors of one class give log(N - 1). An anchor whose label occurs once has no positive: its term is 0.

    Args:
        x: vectors [N, D] of one batch; normalised here ("l2 normalization of the encoded embedding").
        labels: [N] integers.
        tau: the temperature, > 0; "adjustable" in the paper, which prints no value.
        reduction: "sum" over anchors is eq. 3. "mean" divides by N, as the cross-entropy beside it does (eq. 2), so a
            lambda that was tuned for one is wrong for the other. "mean_valid" divides by the number of anchors that
            have a positive. "none": [N].
        implementation: one matrix or tiles, see the top of this file.

    Returns:
        A number >= 0, in float32 or float64; 0 where no two labels agree (a trailing batch of one, say).

    Raises:
        TypeError, ValueError: wrong kind or shape, labels of another length or below 0 (unlabeled), tau <= 0, zeros.
        NotFiniteError: NaN or infinity in a row.

    See also:
        `nt_xent`, where the only other vector with an anchor's label is its own second view.

    Example:
        >>> import torch
        >>> x = torch.eye(4)
        >>> sup_con(x, torch.tensor([0, 0, 1, 1]), tau=0.5)       # orthogonal: 4 anchors, log 3 each
        tensor(4.3944)
        >>> y = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])  # each class on one point
        >>> sup_con(y, torch.tensor([0, 0, 1, 1]), tau=0.5, reduction="mean")
        tensor(0.2395)
    """
    temperature(tau)
    labels = classes(labels, len(vectors(x, "x")), x.device, "labels")
    if fast.wanted(implementation, len(x) ** 2, x):
        per_anchor, valid = fast.sup_con(x, labels, tau, implementation)
    else:
        x = normalise(x, "x")
        itself = torch.eye(len(x), dtype=torch.bool, device=x.device)
        positive = same_text(itself, labels) & ~itself  # [N, N]
        excluded = itself if len(x) > 1 else ~itself  # a lone vector: the softmax of nothing would be NaN
        per_anchor, valid = pick_positives(dot_products(x, x) / tau, positive, excluded), positive.any(dim=1)
    if reduction == "mean_valid":
        return reduce(per_anchor, "mean", count=valid.sum())
    return reduce(per_anchor, reduction, others=("mean_valid",))


def pick_positives(similarity: Tensor, positive: Tensor, excluded: Tensor) -> Tensor:
    """-log of the softmax over each row's candidates, averaged over the row's positives: [N, M] -> [N].

    `similarity` is cosine / tau. `excluded` entries are not candidates: -inf adds exactly e^-inf = 0 to the
    denominator. A row without positives gives 0. All contrastive losses with negatives come through here.
    """
    log_p = similarity.masked_fill(excluded, -torch.inf).log_softmax(dim=1)  # [N, M]
    # masked_fill, not multiplication: -inf * 0 is NaN, in the value and in the gradient.
    total = log_p.masked_fill(~positive, 0.0).sum(dim=1)  # [N, M] -> [N]
    return -total / positive.sum(dim=1).clamp(min=1)


def dot_products(x: Tensor, y: Tensor) -> Tensor:
    """x y^T in the wider of the two dtypes; autocast would take this product in half precision."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    with torch.autocast(x.device.type, enabled=False) if not x.is_meta else nullcontext():
        return x.to(dtype) @ y.to(dtype).T  # [N, D] x [D, M] -> [N, M]


def more_rows(rows: Tensor | None, x: Tensor, name: str) -> Tensor:
    """More candidates than the batch has, as unit rows as wide as x: [Q, D]. Unfilled rows are refused."""
    rows = x[:0] if rows is None else rows
    shape = list(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__
    if len(shape) != 2 or shape[1] != x.shape[1]:
        raise ValueError(f"{name} must be [Q, {x.shape[1]}], as wide as the vectors of the batch, got {shape}.")
    return normalise(rows, name) if len(rows) else rows


def same_text(like: Tensor, ids: Tensor | None) -> Tensor:
    """Bool [N, M], shaped as `like`: True where the ids of row and column agree. The rows are the first N of M."""
    return torch.zeros_like(like) if ids is None else ids[: len(like), None] == ids[None, :]


def candidate_ids(ids: Tensor | None, queue_ids: Tensor | None, x: Tensor, q: int, views: int = 1) -> Tensor | None:
    """The text of each candidate: [B], as x has rows, for each view, then [Q]; None if no ids were given."""
    if ids is None:
        if queue_ids is not None:
            raise ValueError("queue_ids need ids to be compared with: pass the ids of the batch too.")
        return None
    ids = integers(ids, len(x), x.device, "ids").long()
    unknown = (ids.min() - 1).expand(q)  # [Q]: an id that no text has
    return torch.cat([*views * [ids], unknown if queue_ids is None else integers(queue_ids, q, x.device, "queue_ids")])


def warn_alone(alone: bool, loss: str) -> None:
    """Warn that a contrast of one example without a queue teaches nothing."""
    if alone:
        warn(
            f"{loss} has one example and so no negatives: the loss is 0 and teaches nothing. "
            "Use a larger batch (gradient accumulation adds no negatives).",
        )
