"""Sequence-level losses: which vectors are pulled together, and which are pushed apart.

Letters: B examples, N vectors, D width, Q queue. The three losses with negatives are one idea: the cross-entropy of
picking an anchor's positive out of its candidates by cosine. They differ in who is a candidate and who is a positive:

| loss       | anchors    | candidates of an anchor       | positives of an anchor      | denominator terms |
|------------|------------|-------------------------------|-----------------------------|-------------------|
| `info_nce` | view 0, B  | the other view, H negatives   | its own partner             | B + H             |
| `nt_xent`  | both, 2B   | both views but itself, queue  | its own partner             | 2B - 1 + Q        |
| `sup_con`  | all N      | all but itself                | all others with its label   | N - 1             |
| `simsiam`  | both       | none: no negatives            | its own partner             | no denominator    |

This file is the definition: one matrix of cosines. From 384 × 384 cosines on, the queue's included, `fast` computes the
same numbers in tiles. While you change an equation here, or take a gradient of the gradient, work in `with
fast.plain():`.
"""

from contextlib import nullcontext

import torch
from torch import Tensor

from contrast_kit import fast
from contrast_kit._util import warn
from contrast_kit.checks import (
    classes,
    integers,
    is_traced,
    normalise,
    pair,
    reduce,
    temperature,
)


def info_nce(
    anchors: Tensor,
    candidates: Tensor,
    tau: float,
    *,
    negatives: Tensor | None = None,
    ids: Tensor | None = None,
    symmetric: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Pick each anchor's partner out of the other view's B vectors: contrast in one direction.

    CMLM, eq. 7, for one k:

        L_CL = -1/B sum_b log( e^{sim(H_b^k, H_b^0)/tau} / sum_{i=1..B} e^{sim(H_i^k, H_b^0)/tau} )

    The anchor is view 0. With K views, take the mean over k of `info_nce(h[0], h[k], tau)`. In the denominator stand B
    terms: the positive and the B-1 other rows of view k, not the anchor itself and not the other rows of view 0.
    Identical vectors give log B. The loss is not symmetric: exchanging the views transposes the matrix of cosines.

    Args:
        anchors: vectors of view 0, [B, D].
        candidates: vectors of view k, [B, D]; row b is the positive of anchor b. Both are normalised here.
        tau: the temperature, > 0. The paper does not print it; small values focus on the hardest negatives.
        negatives: [H, D], more candidates of all anchors, such as hard negatives; with gradient, unlike a queue.
        ids: [B], which text each row comes from. A candidate with the anchor's id that is not its partner is a false
            negative, and is left out of the denominator. Without ids nothing is left out, as in the paper.
        symmetric: the mean of both directions, as in CLIP; `negatives` are then candidates in both.
        reduction: "mean" over the B anchors (the paper), "sum", or "none": [B].

    Returns:
        A number >= 0, in float32 or float64; with one example there is no negative: 0, with a warning.

    See also:
        `nt_xent` takes the negatives from both views, in both directions. sentence-transformers calls this loss
        MultipleNegativesRankingLoss, with scale = 1/tau.

    Example:
        >>> import torch
        >>> info_nce(torch.eye(4), torch.eye(4), tau=0.5)         # partners equal, all others orthogonal
        tensor(0.3408)
        >>> torch.log1p(3 * torch.exp(torch.tensor(-1 / 0.5)))    # log(1 + (B-1) e^{-1/tau})
        tensor(0.3408)
        >>> info_nce(torch.eye(4), torch.eye(4), tau=0.5, negatives=torch.eye(4)[:1])  # as near as the first positive
        tensor(0.5440)
    """
    if symmetric:
        options = dict(negatives=negatives, ids=ids, reduction=reduction)
        there = info_nce(anchors, candidates, tau, **options)
        return (there + info_nce(candidates, anchors, tau, **options)) / 2
    temperature(tau)
    pair(anchors, candidates, "anchors", "candidates")
    b = len(anchors)
    negatives = unit_rows(negatives, anchors, "negatives")  # [H, D]
    warn_alone(b + len(negatives) == 1, "info_nce")
    ids = candidate_ids(ids, None, anchors, len(negatives))
    if b * (b + len(negatives)) >= fast.TILED_FROM and not is_traced(anchors):
        return reduce(fast.info_nce(anchors, candidates, negatives, tau, ids), reduction)

    anchors = normalise(anchors, "anchors")
    candidates = normalise(candidates, "candidates")
    candidates = torch.cat([candidates, negatives.to(candidates)])  # [B + H, D]
    # Row b: anchor b against view k.
    positive = torch.eye(b, len(candidates), dtype=torch.bool, device=anchors.device)
    excluded = same_text(positive, ids) & ~positive
    return reduce(
        pick_positives(dot_products(anchors, candidates) / tau, positive, excluded),
        reduction,
    )


def nt_xent(
    a: Tensor,
    b: Tensor,
    tau: float,
    *,
    queue: Tensor | None = None,
    ids: Tensor | None = None,
    queue_ids: Tensor | None = None,
    reduction: str = "mean",
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

    Returns:
        A number >= 0, in float32 or float64. One example without a queue has no negative: 0, with a warning.

    Raises:
        ValueError: tau <= 0, views of unlike size, a row of zeros, or queue_ids without ids.
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
    n = 2 * len(a)
    queue = unit_rows(queue, a, "queue").detach()  # [Q, D]
    warn_alone(n + len(queue) == 2, "nt_xent")
    ids = candidate_ids(ids, queue_ids, a, len(queue), views=2)
    if n * (n + len(queue)) >= fast.TILED_FROM and not is_traced(a):
        return reduce(fast.nt_xent(a, b, queue, tau, ids), reduction)

    x = torch.cat([normalise(a, "a"), normalise(b, "b")])  # [2B, D]
    similarity = dot_products(x, torch.cat([x, queue.to(x)])) / tau  # [2B, 2B + Q]
    itself = torch.eye(n, n + len(queue), dtype=torch.bool, device=x.device)
    # Row i: True at its partner, B rows further on.
    positive = itself.roll(n // 2, dims=0)
    excluded = itself | (same_text(positive, ids) & ~positive)
    return reduce(pick_positives(similarity, positive, excluded), reduction)


def sup_con(x: Tensor, labels: Tensor, tau: float, *, reduction: str = "mean") -> Tensor:
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
        reduction: "mean" over the N anchors, like the other losses and the cross-entropy of eq. 2. Eq. 3 prints the
            "sum", N times as much: a lambda that was tuned for one is wrong for the other. "mean_valid" divides by the
            number of anchors that have a positive. "none": [N].

    Returns:
        A number >= 0, in float32 or float64; 0 where no two labels agree (a trailing batch of one, say).

    Raises:
        ValueError: labels of another length or below 0 (unlabeled), tau <= 0, a row of zeros.
        NotFiniteError: NaN or infinity in a row.

    See also:
        `nt_xent`, where the only other vector with an anchor's label is its own second view.

    Example:
        >>> import torch
        >>> x = torch.eye(4)
        >>> sup_con(x, torch.tensor([0, 0, 1, 1]), tau=0.5)       # orthogonal: log 3
        tensor(1.0986)
        >>> y = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])  # each class on one point
        >>> sup_con(y, torch.tensor([0, 0, 1, 1]), tau=0.5)
        tensor(0.2395)
    """
    temperature(tau)
    labels = classes(labels, len(x), x.device, "labels")
    if len(x) ** 2 >= fast.TILED_FROM and not is_traced(x):
        per_anchor, valid = fast.sup_con(x, labels, tau)
    else:
        x = normalise(x, "x")
        itself = torch.eye(len(x), dtype=torch.bool, device=x.device)
        positive = (labels[:, None] == labels[None, :]) & ~itself  # [N, N]
        valid = positive.any(dim=1)
        # A lone vector: the softmax of nothing would be NaN.
        excluded = itself if len(x) > 1 else ~itself
        per_anchor = pick_positives(dot_products(x, x) / tau, positive, excluded)
    if reduction == "mean_valid":
        return reduce(per_anchor, "mean", count=valid.sum())
    return reduce(per_anchor, reduction, others=("mean_valid",))


def simsiam(
    z_a: Tensor,
    h_a: Tensor,
    z_b: Tensor,
    h_b: Tensor,
    *,
    stop_gradient: bool = True,
    reduction: str = "mean",
) -> Tensor:
    """Let each view's prediction point where the other view stands: contrast without negatives.

    CMLM, eq. 9 for one k, with eq. 11 inside:

        L_CL    = 1/B sum_b exp( -1/2 (D(z_b^k, h_b^0) + D(z_b^0, h_b^k)) )
        D(z, h) = sim(z, stopgrad(h))

    D is a *positive* cosine. The exponential, taken per example and before the mean, keeps the loss positive, like the
    two losses that it is added to or compared with.

    There is no denominator and no negative: an encoder that gives every text the same vector has the smallest loss
    there is. The stop-gradient on h and the predictor z = W2 gelu(W1 h) (eq. 10) on the other side keep training away
    from that; if either of them is missing, vectors collapse.

    Args:
        z_a: the predictor's output for view a, [B, D].
        h_a: the encoder's first-token vector for view a, [B, D]. No gradient flows into it from here.
        z_b, h_b: the same for view b.
        stop_gradient: False lets the gradient into h as well, to watch the collapse that this allows.
        reduction: "mean" over examples (the paper), "sum", or "none": [B].

    Returns:
        A number, float32 or float64, from 1/e = 0.3679 (all predictions right) to e (all opposite).

    See also:
        `info_nce`, the paper's other contrast (eq. 7), which needs a large batch. SimSiam's own paper minimises the
        mean of *negative* cosines, without the exponential.

    Example:
        >>> import torch
        >>> h = torch.tensor([[1.0, 0.0]])
        >>> simsiam(h, h, h, h), simsiam(-h, h, -h, h)
        (tensor(0.3679), tensor(2.7183))
    """
    pair(z_a, h_a, "z_a", "h_a")
    pair(z_a, z_b, "z_a", "z_b")
    pair(z_a, h_b, "z_a", "h_b")
    if stop_gradient:
        h_a, h_b = h_a.detach(), h_b.detach()
    # D(z^a, h^b), [B, D] -> [B].
    towards_b = (normalise(z_a, "z_a") * normalise(h_b, "h_b")).sum(dim=1)
    # D(z^b, h^a), [B].
    towards_a = (normalise(z_b, "z_b") * normalise(h_a, "h_a")).sum(dim=1)
    return reduce(torch.exp(-0.5 * (towards_b + towards_a)), reduction)


def cosine_matrix(x: Tensor, y: Tensor | None = None) -> Tensor:
    """Every cosine between a row of x and a row of y, in [-1, 1] up to rounding.

    CMLM, eq. 8: sim(H_i, H_j) = (h_i / ||h_i||) . (h_j / ||h_j||).

    Args:
        x: vectors [N, D]. y: vectors [M, D]; x itself if left out, and then the diagonal is 1.

    Returns:
        [N, M], float32 or float64, also under autocast: a cosine in bfloat16 has two decimal digits, and dividing by
        tau = 0.05 makes its error twenty times as large.

    Example:
        >>> import torch
        >>> cosine_matrix(torch.tensor([[1.0, 0.0], [0.0, 5.0]]), torch.tensor([[2.0, 0.0]]))
        tensor([[1.],
                [0.]])
    """
    x = normalise(x, "x")
    if y is None:
        return dot_products(x, x)
    return dot_products(x, normalise(y, "y"))


def nt_xent_anchor_gradient(
    a: Tensor, b: Tensor, tau: float, *, queue: Tensor | None = None
) -> Tensor:
    """The gradient of each anchor's own term of `nt_xent`: which way, and how hard, it is pushed.

    CAPT, eq. 5: 1/(tau Z) [ sum_{j != i} ( exp(s_i . s_j/tau) s_j + exp(s_i . shat_j/tau) shat_j ) + ( exp(s_i .
    shat_i/tau) - Z ) shat_i ], where Z is the denominator of eq. 2: 2B - 1 terms, and the Q of the queue. With
    p_c = exp(s_i . c/tau) / Z, the softmax over the candidates c, it reads

        ( sum_c p_c c  -  shat_i ) / tau :

    the candidates' mean, weighted by how much they are mistaken for the positive, minus the positive.

    It is not the gradient of the batch's loss, in three ways. It differentiates L(x_i) alone: in eq. 4, s_i also stands
    in the terms of the other 2B - 1 anchors. It holds the candidates constant. And it is taken before the Jacobian of
    the l2 norm, so it has a part along s_i, which normalising removes.

    Its length is at most 2/tau: at a small temperature a few hard negatives take all the weight, which is what CAPT's
    schedule (`schedules.inverted_triangle`) controls. The result: [B, D], float32 or float64, detached from any graph.

    Args:
        a: vectors of one view, [B, D], the anchors s_i. Both are normalised here.
        b: vectors of the other, [B, D]; row i is the positive of row i of a. For eq. 3's gradients, swap a and b.
        tau: the temperature, > 0. queue: [Q, D], further negatives.

    Example:
        >>> import torch
        >>> a = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> nt_xent_anchor_gradient(a, a, tau=1.0)  # partners agree: pushed away from the other text only
        tensor([[-0.4239,  0.4239],
                [ 0.4239, -0.4239]])
    """
    temperature(tau)
    pair(a, b, "a", "b")
    a, b = normalise(a.detach(), "a"), normalise(b.detach(), "b")
    # [2B + Q, D]
    candidates = torch.cat([b, a, unit_rows(queue, a, "queue").detach().to(a)])
    n = len(a)
    # s_i is column B + i.
    itself = torch.eye(n, len(candidates), dtype=torch.bool, device=a.device).roll(
        n, dims=1
    )
    # [B, 2B + Q]
    p = (dot_products(a, candidates) / tau).masked_fill(itself, -torch.inf).softmax(dim=1)
    # p @ candidates, in full precision under autocast too: [B, D].
    return (dot_products(p, candidates.T) - b) / tau


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
        return x.to(dtype) @ y.to(x.device, dtype).T  # [N, D] x [D, M] -> [N, M]


def unit_rows(rows: Tensor | None, x: Tensor, name: str) -> Tensor:
    """More candidates than the batch x has, on the unit sphere, [Q, D]; none are [0, D]. Unfilled rows are refused."""
    if rows is None or not len(rows):
        return x[:0]
    return normalise(rows, name)


def same_text(like: Tensor, ids: Tensor | None) -> Tensor:
    """Bool [N, M], shaped as `like`: True where the ids of row and column agree. The rows are the first N of M."""
    if ids is None:
        return torch.zeros_like(like)
    return ids[: len(like), None] == ids[None, :]


def candidate_ids(
    ids: Tensor | None, queue_ids: Tensor | None, x: Tensor, q: int, views: int = 1
) -> Tensor | None:
    """The text of each candidate: [B], as x has rows, for each view, then [Q]; None if no ids were given."""
    if ids is None:
        if queue_ids is not None:
            raise ValueError(
                "queue_ids need ids to be compared with: pass the ids of the batch too."
            )
        return None
    ids = integers(ids, len(x), x.device, "ids").long()
    if queue_ids is None:
        queue_ids = (ids.min() - 1).expand(q)  # [Q]: an id that no text has
    return torch.cat([*views * [ids], integers(queue_ids, q, x.device, "queue_ids")])


def warn_alone(alone: bool, loss: str) -> None:
    """Warn that a contrast of one example without a queue teaches nothing."""
    if alone:
        warn(
            f"{loss} has one example and so no negatives: the loss is 0 and teaches nothing. "
            "Use a larger batch (gradient accumulation adds no negatives).",
        )
