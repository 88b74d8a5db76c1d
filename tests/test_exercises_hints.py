"""Mistakes as readers make them, written by other means than in the checkers: each gets the hint that names it."""

import math
import random
from bisect import bisect_left, bisect_right
from statistics import mean, stdev, variance

import numpy as np
import pytest
import torch
from scipy.stats import binom, rankdata, t
from torch.nn.functional import binary_cross_entropy, cross_entropy, normalize

from contrast_kit import geometry, losses, masking
from contrast_kit.exercises import judge

INF = torch.inf
RIGHT, MISTAKES = [], []


def right(name, *answers):
    RIGHT.extend((name, answer) for answer in answers)


def wrong(name, *answers):
    MISTAKES.extend((name, answer, words) for answer, words in answers)


# ---- 01: masking


def fate(first=0.8, second=0.9, order=("mask", "random", "keep"), top=1.0):
    def answer(u, p):
        if u >= p * top:
            return "free"
        return order[0] if u < first * p else order[1] if u < second * p else order[2]

    return answer


right("01.one_draw", fate())
wrong(
    "01.one_draw",
    (lambda u, p: "masked", "Return one of"),
    (lambda u, p: "mask" if u < 0.8 else "random" if u < 0.9 else "keep", "Multiply the cuts"),
    (fate(top=1.2), "u < p"),
    (fate(second=0.82), "remaining"),
    (fate(order=("mask", "keep", "random")), "exchanged"),
    (fate(first=0.7), "the interval says"),
    (
        lambda u, p: "free" if u >= p else random.choices(["mask", "random", "keep"], [8, 1, 1])[0],
        "only draw",
    ),
)
wrong(
    "01.labels",
    (
        lambda ids, masked, mask_id: ids.masked_fill_(masked.selected, mask_id)[masked.selected],
        "overwritten",
    ),
    (lambda ids, masked, mask_id: ids, "selected places only"),
    (lambda ids, masked, mask_id: ids[~masked.selected], "Expected the"),
)


def second_view(
    hidden=None, ids_of=None, rate=lambda p: p, split=(0.8, 0.1, 0.1), own_maskable=None, seed=None
):
    """The right answer, with one thing done another way."""

    def answer(ids, maskable, first, p_c, vocabulary, generator):
        selected = first.selected if hidden is None else hidden(first, vocabulary["mask_id"])
        start = ids if ids_of is None else ids_of(first)
        allowed = maskable if own_maskable is None else own_maskable(maskable)
        generator = generator if seed is None else torch.Generator().manual_seed(seed)
        return masking.complementary_random_mask(
            start, allowed, selected, rate(p_c), split=split, generator=generator, **vocabulary
        )

    return answer


def from_scratch(ids, maskable, first, p_c, vocabulary, generator):
    selected = (torch.rand(ids.shape, generator=generator) < p_c) & maskable & ~first.selected
    kind = torch.rand(ids.shape, generator=generator)
    words = torch.randint(5, vocabulary["vocab_size"], ids.shape, generator=generator)
    view = torch.where(selected & (kind < 0.8), vocabulary["mask_id"], ids)
    return masking.Masked(torch.where(selected & (kind >= 0.9), words, view), selected)


def unseeded(ids, maskable, first, p_c, vocabulary, generator):
    return masking.dynamic_random_mask(ids, maskable & ~first.selected, p_c, **vocabulary)


def drawn_then_taken_away(ids, maskable, first, p_c, vocabulary, generator):
    view = masking.dynamic_random_mask(ids, maskable, p_c, generator=generator, **vocabulary)
    return masking.Masked(view.input_ids, view.selected & ~first.selected)


right("01.complement", second_view(), from_scratch)
wrong(
    "01.complement",
    (
        second_view(hidden=lambda first, mask_id: first.input_ids == mask_id),
        "[MASK]s of view 0 only",
    ),
    (second_view(hidden=lambda first, mask_id: first.selected & False), "selected in both views"),
    (second_view(ids_of=lambda first: first.input_ids), "original ids"),
    (second_view(rate=lambda p: 1.0), "p_c = 1"),
    (second_view(rate=lambda p: p / 0.85), "*given* free"),
    (second_view(own_maskable=lambda m: m | True), "[CLS] or [SEP]"),
    (second_view(seed=5), "pass the generator on"),
    (second_view(split=(0.8, 0.2, 0)), "0.21 a random word, and 0.00 were kept; the 80/10/10"),
    (second_view(split=(0.8, 0, 0.2)), "0.00 a random word, and 0.21 were kept; the 80/10/10"),
    (lambda ids, *rest: ids, "Masked(input_ids, selected)"),
    (unseeded, "does not come from the generator"),
    (drawn_then_taken_away, "not in its selected"),
)


# ---- 02: losses


def scores_of(a, b, tau=1.0):
    x = normalize(torch.cat([a, b]), dim=1)
    return x @ x.T / tau


def partner(a, b):
    return torch.arange(2 * len(a)).roll(len(a))


def nt_xent(a, b, tau):
    return cross_entropy(scores_of(a, b, tau).fill_diagonal_(-INF), partner(a, b))


def positive(factor):
    """The positive `factor` times more below the line."""

    def answer(a, b, tau):
        e = scores_of(a, b, tau).exp().fill_diagonal_(0)
        own = e[torch.arange(len(e)), partner(a, b)]
        return -torch.log(own / (e.sum(1) + factor * own)).mean()

    return answer


def with_columns(columns):
    return lambda a, b, tau: cross_entropy(
        scores_of(a, b, tau).fill_diagonal_(-INF), columns(2 * len(a))
    )


def in_place(a, b, tau):
    for x in (a, b):
        x /= x.norm(dim=1, keepdim=True)
    scores = torch.cat([a, b]) @ torch.cat([a, b]).T / tau
    return cross_entropy(scores.fill_diagonal_(-INF), partner(a, b))


right("02.row", lambda s, r: -s.log_softmax(0)[r], lambda s, r: (s.logsumexp(0) - s[r]).item())
wrong(
    "02.row",
    (lambda s, r: (s.exp().sum() - s[r].exp()).log() - s[r], "not in the denominator"),
    (lambda s, r: (s.exp().sum() + s[r].exp()).log() - s[r], "denominator twice"),
    (lambda s, r: -s.log_softmax(0), "one number"),
    (lambda s, r: -(s[r].exp() / s.exp().sum()).log(), "for the scores 2000 and 1990 it gives nan"),
    (lambda s, r: -s.softmax(0)[r].log(), "for the scores 2000 and 0 it gives inf, not 2000"),
)
right("02.nt_xent", nt_xent, in_place, lambda a, b, tau: losses.nt_xent(a.float(), b.float(), tau))
wrong(
    "02.nt_xent",
    (lambda a, b, tau: cross_entropy(scores_of(a, b, tau), partner(a, b)), "among its candidates"),
    (
        lambda a, b, tau: cross_entropy(scores_of(a, b, tau).fill_diagonal_(0), partner(a, b)),
        "e^0 = 1",
    ),
    (positive(1), "denominator twice"),
    (positive(-1), "not in the denominator"),
    (
        lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="none").chunk(2)[0].mean(),
        "only: view b",
    ),
    (lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="none"), "shape [10]"),
    (lambda a, b, tau: torch.tensor(torch.nan), "loss is nan"),
    (with_columns(lambda n: torch.arange(n)), "Your loss is inf: the right column of some row"),
    (with_columns(lambda n: torch.arange(n) ^ 1), "Where does the partner of row i stand"),
    (lambda a, b, tau: nt_xent(a, b, tau).item(), "no gradient comes back"),
    (lambda a, b, tau: nt_xent(a, b.detach(), tau), "no gradient reaches b"),
)


def sup_con(x, labels, tau, below=lambda i, k, labels: k != i, outside=None, share=1, reduce=sum):
    """Eq. 3 as a loop, with room for mistakes: who is below the line, the log outside, the number that divides."""
    x, terms = normalize(x, dim=1), []
    for i in range(len(x)):
        positives = [j for j in range(len(x)) if j != i and labels[j] == labels[i]]
        Z = sum(torch.exp(x[i] @ x[k] / tau) for k in range(len(x)) if below(i, k, labels))
        p = [torch.exp(x[i] @ x[j] / tau) / Z for j in positives]
        if outside and p:
            terms.append(-torch.log(sum(p) / (len(p) if outside == "mean" else 1)))
        elif p:
            terms.append(-sum(torch.log(q) for q in p) / (len(p) + share - 1 if share else 1))
    return reduce(terms)


def pairwise(x, labels, tau, reduce=sum):
    x, terms = normalize(x, dim=1), []
    for i in range(len(x)):
        positives = [j for j in range(len(x)) if j != i and labels[j] == labels[i]]
        enemies = sum(torch.exp(x[i] @ x[k] / tau) for k in range(len(x)) if labels[k] != labels[i])
        e = [torch.exp(x[i] @ x[j] / tau) for j in positives]
        if e:
            terms.append(-sum(torch.log(e_j / (e_j + enemies)) for e_j in e) / len(e))
    return reduce(terms)


def mean_of(terms):
    return sum(terms) / len(terms)


def mean_valid(x, labels, tau, guarded=True, **kw):
    if guarded and len(labels.unique()) == len(labels):
        return 0 * x.sum()
    return sup_con(x, labels, tau, reduce=mean_of, **kw)


def nan_gradient(x, labels, tau):
    itself = torch.eye(len(x), dtype=torch.bool)
    others = (
        losses.cosine_matrix(x) / tau
    ).exp() * ~itself  # 0 on the diagonal, whose log has an infinite slope
    positives = (labels[:, None] == labels) & ~itself
    log_p = (others.log() - others.sum(1, keepdim=True).log()).masked_fill(~positives, 0)
    count = positives.sum(1)
    return -(log_p.sum(1) / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)


right("02.sup_con", sup_con, losses.sup_con)
wrong(
    "02.sup_con",
    (lambda *case: sup_con(*case, outside="sum"), "outside the sum"),
    (lambda *case: sup_con(*case, outside="mean"), "outside the mean"),
    (lambda *case: sup_con(*case, below=lambda i, k, y: True), "1[i ≠ k]"),
    (lambda *case: sup_con(*case, below=lambda i, k, y: y[i] != y[k]), "belong to"),
    (pairwise, "left the denominator"),
    (lambda *case: sup_con(*case, share=2), "not N_y"),
    (lambda *case: sup_con(*case, share=0), "N_y − 1 positives"),
    (lambda x, y, tau: sup_con(x, y, tau**2), "τ twice"),
    (lambda x, y, tau: sup_con(x, y, 1.0), "τ is missing"),
    (lambda *case: losses.sup_con(*case, reduction="mean"), "sum over the N"),
    (lambda *case: losses.sup_con(*case) * math.nan, "NaN"),
)
right("07.sup_con", mean_valid, lambda *case: losses.sup_con(*case, reduction="mean_valid"))
wrong(
    "07.sup_con",
    (losses.sup_con, "sum, eq. 3 as printed"),
    (lambda *case: losses.sup_con(*case, reduction="mean"), "divide by N"),
    (lambda *case: mean_valid(*case, below=lambda i, k, y: True), "its own denominator"),
    (lambda *case: mean_valid(*case, below=lambda i, k, y: y[i] != y[k]), "positives too"),
    (lambda *case: pairwise(*case, reduce=mean_of), "other* positives"),
    (lambda *case: mean_valid(*case, outside="mean"), "logarithm"),
    (lambda x, y, tau: mean_valid(x, y, 1 / tau), "do not multiply"),
    (lambda x, y, tau: mean_valid(x, y, tau) * (y != y[0]).any(), "one class only"),
    (lambda *case: mean_valid(*case) / (len(case[1].unique()) < 7), "no two labels agree"),
    (nan_gradient, "gradient is NaN"),
)

TERMS = {"info_nce": 32, "nt_xent": 63, "nt_xent with a queue": 163, "sup_con": 63, "simsiam": 0}
right("02.denominators", TERMS, lambda: TERMS)
wrong(
    "02.denominators",
    (TERMS | {"info_nce": 31}, "B, not B - 1"),
    (TERMS | {"nt_xent with a queue": 100}, "in addition"),
    (TERMS | {"simsiam": 1}, "no denominator"),
    (TERMS | {"nt_xent": 7}, "count the coloured cells"),
    (TERMS | {"nt_xent": None}, "still None"),
    ({"nt_xent": 63}, "keep the names"),
    ([32, 63], "Fill in the dict"),
)


def left_out(ids):
    both, itself = ids.repeat(2), torch.eye(2 * len(ids), dtype=torch.bool)
    return itself | ((both[:, None] == both[None, :]) & ~itself.roll(len(ids), 0))


right("02b.left_out", left_out, lambda ids: left_out(ids).int())
wrong(
    "02b.left_out",
    (lambda ids: ids[:, None] == ids[None, :], "not [B, B]"),
    (lambda ids: ids, "has shape [4]"),
)


# ---- 03 to 06


right("03.uniformity", lambda x: (-2 * torch.pdist(normalize(x)) ** 2).exp().mean().log())
wrong("03.effective_rank", (lambda s: (-1000 * s).sum().log(), "Not finite"))


def log_p(h, x, ids):
    return (h @ x.T).log_softmax(1)[torch.arange(len(ids)), ids]


right(
    "04.token_loss",
    lambda h, x, ids: cross_entropy(h @ x.T, ids).item(),
    lambda h, x, ids: np.float32(cross_entropy(h @ x.T, ids)),
    lambda h, x, ids: (
        sum(-math.log(torch.softmax(x @ h[i], 0)[ids[i]]) for i in range(len(ids))) / len(ids)
    ),
)
wrong(
    "04.token_loss",
    (lambda *case: -log_p(*case), "one loss a position"),
    (lambda *case: -log_p(*case).exp().mean().log(), "other way round"),
    (lambda h, x, ids: -(h * x[ids]).sum(1).mean(), "numerator"),
)
wrong("04.sequence_mean", (lambda terms, rows: (8 + terms[1:5].mean() + terms[5]) / 3, "Shuffled"))
wrong("04.floor", (lambda c: -(c / c.sum() * (c / c.sum()).log()).sum(), "drop zero"))
for kind in (tuple, list, torch.tensor, np.array):
    right("04.never", lambda p, epochs, kind=kind: kind([(1 - p) ** epochs, 1 - p]))
wrong(
    "04.never",
    (lambda p, epochs: {"dynamic": p, "static": p}, "two numbers"),
    (lambda p, epochs: (1 - (1 - p) ** epochs, p), "at least once"),
    (lambda p, epochs: (p**epochs, p), "*every*"),
    (lambda p, epochs: (max(0.0, 1 - epochs * p), 1 - p), "multiply"),
    (lambda p, epochs: ((1 - p) ** epochs, p), "Dynamic is right"),
)


def crossed(z0, h0, z1, h1):
    return torch.cosine_similarity(z0, h1, dim=1) + torch.cosine_similarity(z1, h0, dim=1)


right(
    "05.simsiam",
    lambda z0, h0, z1, h1: torch.exp(-crossed(z0, h0.detach(), z1, h1.detach()) / 2).mean(),
)
wrong(
    "05.simsiam",
    (lambda *v: torch.exp(-crossed(*v) / 2).mean(), "a gradient flows into h0"),
    (lambda *v: torch.exp(-crossed(*v) / 2).mean().item(), "Detach only h"),
)
wrong(
    "05.info_nce",
    (
        lambda a, b, tau: cross_entropy(
            losses.cosine_matrix(a, b).fill_diagonal_(-INF), torch.arange(6)
        ),
        "must stay",
    ),
    (lambda a, b, tau: losses.info_nce(a, b.detach(), tau), "no gradient reaches h1"),
)
right("06.labels", lambda x, y, m: torch.eq(x, y).long())
wrong(
    "06.labels",
    (lambda x, y, m: 2 * (x == y) - 1, "True or False, or 1 or 0"),
    (lambda x, y, m: x[m], "shape [3]"),
)
wrong("06.p_lm", (lambda z, c, x: losses.cosine_matrix(z, z[:5]), "Not all rows sum to 1"))
wrong(
    "06.corrective_lm",
    (lambda *v: losses.corrective_lm(*v, variant="authors_code"), "released code"),
    (
        lambda *v: losses.all_token_lm(*v),
        "flows into copying: detach it. Detach only the copy scores",
    ),
    (lambda z, *v: losses.corrective_lm(z.detach(), *v) + 0 * z.sum(), "not the gradient"),
)
right("07.lam", lambda λ, N: λ / (λ + N * (1 - λ)))
wrong("07.lam", (lambda λ, N: λ / (λ + N * (1 - λ)) if λ not in (0, 1) else 0.5, "λ = 0 must stay"))


# ---- 08: CAPT


def eq_5(s, s_hat, i, tau):
    """The sum as it is printed."""
    e = lambda c: torch.exp(s[i] @ c / tau)  # noqa: E731
    rest = [j for j in range(len(s)) if j != i]
    Z = sum(e(c) for c in s_hat) + sum(e(s[j]) for j in rest)
    total = (
        sum(e(s[j]) * s[j] + e(s_hat[j]) * s_hat[j] for j in rest) + (e(s_hat[i]) - Z) * s_hat[i]
    )
    return total / (tau * Z)


def through_the_norm(s, s_hat, i, tau):
    leaf = s[i].clone().requires_grad_()
    logits = torch.cat([s_hat, s[:i], s[i + 1 :]]) @ normalize(leaf, dim=0) / tau
    return torch.autograd.grad(logits.logsumexp(0) - logits[i], leaf)[0]


def eq_4(s, s_hat, i, tau):
    leaf = s.clone().requires_grad_()
    return torch.autograd.grad(losses.nt_xent(leaf, s_hat, tau, reduction="sum"), leaf)[0][i]


right("08.gradient", eq_5)
wrong(
    "08.gradient",
    (through_the_norm, "ℓ2"),
    (eq_4, "gradient of eq. 4"),
    (lambda s, h, i, tau: losses.nt_xent_anchor_gradient(s, h, tau), "one vector"),
    (lambda s, h, i, tau: s[i], "its share of Z"),
)
right("08.sensitivity", geometry.noise_sensitivity)
wrong(
    "08.sensitivity",
    (lambda c, x: 1 - geometry.pair_cosines(c, x).mean(), "unit is missing"),
    (
        lambda c, x: geometry.pair_cosines(c, x).mean() / geometry.random_pair_cosines(c).mean(),
        "quotient of cosines",
    ),
    (lambda c, x: (c - x).square().sum(1).mean() / torch.pdist(c).square().mean(), "its length"),
)
wrong(
    "08.push",
    (lambda queue, new, capacity: queue + new, "oldest must leave"),
    (lambda queue, new, capacity: 3, "a list"),
    (lambda queue, new, capacity: [], "should be [2, 3, 4, 5], not []"),
    (lambda queue, new, capacity: queue.extend(new), "ran, but returned None"),
)


# ---- 09 and 10: statistics


def won(similar, others):
    return sum((s > r) + 0.5 * (s == r) for s in similar for r in others)


def by_ranks(similar, others, start=1, less=lambda n: n * (n + 1) / 2):
    n, m = len(similar), len(others)
    return ((rankdata([*similar, *others])[:n] + start - 1).sum() - less(n)) / (n * m)


def by_bisection(similar, others):
    others = sorted(others)
    below = sum(bisect_left(others, s) + bisect_right(others, s) for s in similar)
    return below / 2 / len(similar) / len(others)


right("09.auc", by_ranks, by_bisection)
wrong(
    "09.auc",
    (lambda s, r: won(s, r) / len(s) / len(r), "comparisons for 300 and 300 pairs"),
    (lambda s, r: by_ranks([0.9, 0.2, 0.5, 0.4, 0.25, 0.05], [0.5, 0.3, 0.1]), "not for 300"),
    (lambda s, r: by_ranks(s, r, less=lambda n: 0), "over *similar* pairs"),
    (lambda s, r: by_ranks(s, r, start=0), "off by one"),
    (lambda s, r: by_ranks(s, r, less=lambda n: n * (n - 1) / 2), "off by one"),
)


def needed(a, b, level=0.975, freedom=6):
    return t.ppf(level, freedom) * ((variance(a) + variance(b)) / 2) ** 0.5 * (2 / len(a)) ** 0.5


right("09.needed", needed)
wrong(
    "09.needed",
    (lambda a, b: needed(a, b, 0.95), "at each end"),
    (lambda a, b: needed(a, b, freedom=3), "degrees of freedom"),
    (lambda a, b: t.ppf(0.975, 6) * (np.var([a, b], axis=1).mean() * 2 / 4) ** 0.5, "n - 1"),
    (lambda a, b: t.ppf(0.975, 6) * (stdev(a) + stdev(b)) / 2 * 0.5**0.5, "Average the variances"),
    (lambda a, b: abs(mean(a) - mean(b)), "difference itself"),
)
right("09.shift", {"uniformity", "alignment"})
wrong(
    "09.shift",
    ("uniformity", 'Give a set of names, {"uniformity"}'),
    ({"auc", "alignment", "uniformity"}, "change any order"),
    ({"alignment"}, "uniformity is made of distances"),
    ({"noise"}, "no 'noise'"),
)


def half(runs):
    return t.ppf(0.975, len(runs) - 1) * runs.mean(1).std(ddof=1) / len(runs) ** 0.5


right("10.half_width", half)
wrong(
    "10.half_width",
    (lambda r: t.ppf(0.975, 14) * r.std(ddof=1) / 15**0.5, "15 observations"),
    (lambda r: t.ppf(0.975, 4) * r.mean(1).std() / 5**0.5, "ddof"),
    (lambda r: t.ppf(0.975, 4) * r.mean(0).std(ddof=1) / 5**0.5, "axes"),
    (
        lambda r: t.ppf(0.975, 4) * r.mean(1).std(ddof=1) / 5**0.5,
        "Right for five draws, but for eight",
    ),
    (lambda r: (r.mean() - half(r), r.mean() + half(r)), "yours has shape [2]"),
)
right("10b.luck", lambda k, n: binom.sf(k - 1, n, 0.05))


# ---- 11 to 13


def cached(encode, contrast, x, size, *, grad=False, factor=1.0, times=1, drop=0):
    with torch.set_grad_enabled(grad):
        vectors = torch.cat([encode(chunk) for chunk in x.split(size if not grad else len(x))])
    vectors = vectors.detach().requires_grad_()
    contrast(vectors).backward()
    pieces = list(zip(x.split(size), vectors.grad.split(size), strict=True))
    for chunk, gradient in pieces[drop:]:
        for _ in range(times):
            encode(chunk).backward(gradient * factor)
    return True


def by_chunks(encode, contrast, x, size):
    for chunk in x.split(size):
        contrast(encode(chunk)).backward()


def one_graph(encode, contrast, x, size):
    contrast(torch.cat([encode(chunk) for chunk in x.split(size)])).backward()


def detached_one_by_one(encode, contrast, x, size):
    """No no_grad, but no graph outlives its chunk either; and nothing is returned."""
    vectors = torch.cat([encode(chunk).detach() for chunk in x.split(size)]).requires_grad_()
    contrast(vectors).backward()
    for chunk, gradient in zip(x.split(size), vectors.grad.split(size), strict=True):
        (encode(chunk) * gradient).sum().backward()


right("11.cached", cached, detached_one_by_one)
wrong(
    "11.cached",
    (lambda *args: True, "No gradient"),
    (lambda *args: cached(*args, grad=True), "graph of 7 rows"),
    (by_chunks, "that is accumulation"),
    (one_graph, "the graphs of 7 rows were kept at once"),
    (lambda *args: cached(*args, times=2), "Twice"),
    (lambda *args: cached(*args, factor=1 / 3), "do not average"),
    (lambda *args: cached(*args, drop=1), "Are all chunks there"),
)


def in_pieces(pieces, rescale=1.0, start=-INF):
    largest, total = torch.tensor(start), torch.tensor(0.0)
    for piece in pieces:
        new = torch.maximum(largest, piece.max())
        factor = ((largest - new) * rescale).exp() if rescale else 1.0
        total = (total * factor if total else total) + (piece - new).exp().sum()
        largest = new
    return largest + total.log()


right(
    "11.in_pieces",
    in_pieces,
    lambda pieces: torch.stack([p.logsumexp(0) for p in pieces]).logsumexp(0),
)
wrong(
    "11.in_pieces",
    (lambda pieces: sum(p.exp().sum() for p in pieces).log(), "e^480 is infinite"),
    (lambda pieces: in_pieces(pieces, rescale=0), "multiply the old sum"),
    (lambda pieces: in_pieces(pieces, rescale=-1), "the old sum grew"),
    (lambda pieces: in_pieces(pieces, start=0.0), "near -800"),
    (lambda pieces: torch.cat(pieces).logsumexp(0), "6 scores stood in one tensor"),
)
wrong("12.effective", (lambda p: (-(p * p.log()).sum()).exp(), "NaN"))


def cosines(query, vectors):
    return normalize(vectors) @ normalize(query, dim=0)


right(
    "12.search",
    lambda query, vectors, k: cosines(query, vectors).argsort(descending=True)[:k].tolist(),
)
wrong(
    "12.search",
    (lambda q, v, k: (v @ q).topk(k).indices, "Long vectors"),
    (lambda q, v, k: cosines(q, v).topk(k), "return the indices"),
    (lambda q, v, k: cosines(q, v).topk(3).indices, "[2] for k = 2; yours has shape [3]"),
)


def one_by_one(n):
    """As the definition has it: each of ten people left out."""
    people = [1] * n + [0] * (10 - n)
    return sum(min(sum(people[:i] + people[i + 1 :]) / 3, 1) for i in range(10)) / 10


def softplus(logits, scores):
    return (torch.nn.functional.softplus(logits) - scores * logits).sum(1).mean()


right("13.vqa_accuracy", one_by_one)
right("13.soft_answers", softplus)
wrong(
    "13.soft_answers",
    (
        lambda z, s: binary_cross_entropy(z.sigmoid(), s, reduction="none").sum(1).mean(),
        "it gives 130, not 1300",
    ),
    (lambda z, s: softplus(z, s).item(), "no gradient comes back"),
    (lambda z, s: softplus(z.detach(), s) + 0 * z.sum(), "not the gradient"),
)
right(
    "13.consistency",
    lambda r, s: 1 - len({name for ok, name in zip(r, s, strict=True) if not ok}) / len(set(s)),
)


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_of_any_form_pass(name, answer):
    assert judge(name, answer).right, judge(name, answer)


@pytest.mark.parametrize(("name", "answer", "words"), MISTAKES)
def test_each_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text


def test_the_dict_of_the_notebook_is_no_answer_yet():
    assert judge("02.denominators", dict.fromkeys(TERMS)).right is None


def test_no_verdict_has_the_quantile_that_is_asked_for():
    for answer in (lambda runs: 0.5, lambda runs: 1.96 * runs.mean(1).std(ddof=1) / 5**0.5):
        assert (
            "2.78" not in judge("10.half_width", answer).text
            and "ppf" not in judge("10.half_width", answer).text
        )
