"""Mistakes as readers make them: each gets the hint that names it. What a table says of a mistake by its value alone is
proved in `test_exercises.py`; here stand other forms of right answers, further cases, gradients and checkers without a
table."""

import random
from bisect import bisect_left, bisect_right

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, t
from torch.nn.functional import cross_entropy, normalize

from contrast_kit import geometry, losses, masking, tasks
from contrast_kit.exercises import judge

INF = torch.inf
RIGHT, MISTAKES = [], []


def right(name, *answers):
    RIGHT.extend((name, answer) for answer in answers)


def wrong(name, *answers):
    MISTAKES.extend((name, answer, words) for answer, words in answers)


# ---- 00 and 01


def of_words(*words):
    return lambda texts: torch.tensor(
        [[w in t.lower().split() for w in words] for t in texts]
    )


wrong(
    "00.by_hand",
    (lambda texts: torch.ones(3), "[N, D]"),
    (of_words("two"), "zero vector"),
    (lambda texts: torch.ones(len(texts), 3), "50% are right"),
)


def fate(first=0.8, second=0.9, order=("mask", "random", "keep"), top=1.0):
    def answer(u, p):
        if u >= p * top:
            return "free"
        return order[(u >= first * p) + (u >= second * p)]

    return answer


def at_random(u, p):
    return "free" if u >= p else random.choices(["mask", "random", "keep"], [8, 1, 1])[0]


wrong(
    "01.guesser",
    (lambda corpus, holes: "the", "a word for each"),
    (lambda corpus, holes: ["the"] * len(holes), "7% are right"),
)
right("01.one_draw", fate())
wrong(
    "01.one_draw",
    (lambda u, p: "masked", "Return one of"),
    (lambda u, p: fate()(u, 1.0), "Multiply the cuts"),
    (fate(top=1.2), "u < p"),
    (fate(second=0.82), "remaining"),
    (fate(order=("mask", "keep", "random")), "exchanged"),
    (fate(first=0.7), "the interval says"),
    (at_random, "only draw"),
)
overwritten = lambda ids, masked, mask_id: ids.masked_fill_(masked.selected, mask_id)  # noqa: E731
wrong(
    "01.labels",
    (lambda ids, masked, m: overwritten(ids, masked, m)[masked.selected], "overwritten"),
    (lambda ids, masked, mask_id: ids, "selected places only"),
    (lambda ids, masked, mask_id: ids[~masked.selected], "Expected the"),
)


def second_view(**other):
    """The right answer, with one thing done another way."""

    def answer(ids, maskable, first, p_c, vocabulary, generator):
        arguments = dict(ids=ids, maskable=maskable, selected=first.selected, p=p_c)
        arguments |= vocabulary | {"generator": generator}
        for name, change in other.items():
            arguments[name] = change(first) if callable(change) else change
        return masking.complementary_random_mask(**arguments)

    return answer


def from_scratch(ids, maskable, first, p_c, vocabulary, generator):
    selected = (
        (torch.rand(ids.shape, generator=generator) < p_c) & maskable & ~first.selected
    )
    kind = torch.rand(ids.shape, generator=generator)
    words = torch.randint(5, vocabulary["vocab_size"], ids.shape, generator=generator)
    view = torch.where(selected & (kind < 0.8), vocabulary["mask_id"], ids)
    return masking.Masked(torch.where(selected & (kind >= 0.9), words, view), selected)


def drawn_then_taken_away(ids, maskable, first, p_c, vocabulary, generator):
    view = masking.dynamic_random_mask(
        ids, maskable, p_c, generator=generator, **vocabulary
    )
    return masking.Masked(view.input_ids, view.selected & ~first.selected)


right("01.complement", second_view(), from_scratch)
wrong(
    "01.complement",
    (second_view(selected=lambda first: first.input_ids == 4), "[MASK]s of view 0 only"),
    (
        second_view(selected=lambda first: first.selected & False),
        "selected in both views",
    ),
    (second_view(ids=lambda first: first.input_ids), "original ids"),
    (second_view(p=1.0), "p_c = 1"),
    (second_view(p=0.7 / 0.85), "*given* free"),
    (second_view(maskable=lambda first: first.input_ids > 0), "[CLS] or [SEP]"),
    (
        second_view(generator=lambda first: torch.Generator().manual_seed(5)),
        "pass the generator on",
    ),
    (
        second_view(split=(0.8, 0.2, 0)),
        "0.21 a random word, and 0.00 were kept; the 80/10/10",
    ),
    (
        second_view(split=(0.8, 0, 0.2)),
        "0.00 a random word, and 0.21 were kept; the 80/10/10",
    ),
    (second_view(generator=None), "does not come from the generator"),
    (lambda ids, *rest: ids, "Masked(input_ids, selected)"),
    (drawn_then_taken_away, "not in its selected"),
)


# ---- 02: losses


def nt_xent(a, b, tau, columns=None):
    x = normalize(torch.cat([a, b]), dim=1)
    partner = torch.arange(2 * len(a)).roll(len(a))
    scores = (x @ x.T / tau).fill_diagonal_(-INF)
    return cross_entropy(scores, partner if columns is None else columns)


def in_place(a, b, tau):
    for x in (a, b):
        x /= x.norm(dim=1, keepdim=True)
    return nt_xent(a, b, tau)


right(
    "02.row",
    lambda s, r: -s.log_softmax(0)[r],
    lambda s, r: (s.logsumexp(0) - s[r]).item(),
)
wrong(
    "02.row",
    (lambda s, r: -s.log_softmax(0), "one number"),
    (
        lambda s, r: -(s[r].exp() / s.exp().sum()).log(),
        "for the scores 2000 and 1990 it gives nan",
    ),
    (
        lambda s, r: -s.softmax(0)[r].log(),
        "for the scores 2000 and 0 it gives inf, not 2000",
    ),
)
right(
    "02.nt_xent",
    nt_xent,
    in_place,
    lambda a, b, tau: losses.nt_xent(a.float(), b.float(), tau),
)
wrong(
    "02.nt_xent",
    (lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="none"), "shape [10]"),
    (
        lambda *case: nt_xent(*case, torch.arange(10)),
        "loss is inf: the right column of some row",
    ),
    (
        lambda *case: nt_xent(*case, torch.arange(10) ^ 1),
        "Where does the partner of row i stand",
    ),
    (lambda a, b, tau: nt_xent(a, b, tau).item(), "no gradient comes back"),
    (lambda a, b, tau: nt_xent(a, b.detach(), tau), "no gradient reaches b"),
)


def sup_con(x, labels, tau, below=lambda i, k, labels: k != i, outside=None):
    """Eq. 3 as a loop, with room for mistakes: who is below the line, and the log outside."""
    x = normalize(x, dim=1)
    terms = []
    for i in range(len(x)):
        positives = [j for j in range(len(x)) if j != i and labels[j] == labels[i]]
        Z = sum(
            torch.exp(x[i] @ x[k] / tau) for k in range(len(x)) if below(i, k, labels)
        )
        p = [torch.exp(x[i] @ x[j] / tau) / Z for j in positives]
        if p and outside:
            terms.append(-torch.log(sum(p) / len(p)))
        elif p:
            terms.append(-sum(torch.log(q) for q in p) / len(p))
    return sum(terms)


def nan_gradient(x, labels, tau):
    itself = torch.eye(len(x), dtype=torch.bool)
    # 0 on the diagonal, whose log has an infinite slope
    others = (losses.cosine_matrix(x) / tau).exp() * ~itself
    positives = (labels[:, None] == labels) & ~itself
    log_p = (others.log() - others.sum(1, keepdim=True).log()).masked_fill(~positives, 0)
    count = positives.sum(1)
    return -(log_p.sum(1) / count.clamp(min=1)).sum()


right("02.sup_con", sup_con)
wrong(
    "02.sup_con",
    (lambda *case: sup_con(*case, below=lambda i, k, y: True), "denominator"),
    (lambda *case: sup_con(*case, below=lambda i, k, y: y[i] != y[k]), "ositives"),
    (lambda *case: sup_con(*case, outside=True), "log"),
    (nan_gradient, "gradient is NaN"),
)
wrong(
    "02.claim",
    ([0, 75, 200, 45, 110, 260], "kite and its partner are 45° apart"),
    ([0, 75, 200, 50, 115, 270], "not below 0.666"),
)
wrong("02.train", (lambda x, tau: x, "*against* the gradient"))


def network(layers):
    parts = [[torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)] for _ in range(layers)]
    return torch.nn.Sequential(*sum(parts, []))


wrong(
    "02b.deep",
    (lambda: network(6), "It collapsed: the spread is 0."),
    (lambda: network(5), "5 linear layers"),
)


# ---- 03 to 08


right("03.uniformity", lambda x: (-2 * torch.pdist(normalize(x)) ** 2).exp().mean().log())
wrong(
    "03.loss",
    (lambda a, b: geometry.uniformity(torch.cat([a, b])), "Partners stay apart"),
    (geometry.alignment, "not spread"),
)
wrong("03.words", (lambda s: torch.tensor([[len(x), 1.0] for x in s]), "The AUC is 0."))
right(
    "04.token_loss",
    lambda h, x, ids: np.float32(cross_entropy(h @ x.T, ids)),
    lambda h, x, ids: np.mean(
        [-torch.log_softmax(x @ h[i], 0)[ids[i]] for i in range(len(ids))]
    ),
)
wrong("04.token_loss", (lambda *case: -case[0][:, 0], "one loss a position"))
wrong("04.floor", (lambda c: -(c / c.sum() * (c / c.sum()).log()).sum(), "drop zero"))
right("04.first_bias", lambda counts: (counts + 1).log() - 9)
wrong(
    "04.first_bias",
    (lambda counts: counts[:2], "each of the 5 words"),
    (torch.log, "log 0"),
    (lambda counts: counts / counts.sum(), "in proportion"),
)


def crossed(z0, h0, z1, h1):
    return torch.cosine_similarity(z0, h1, dim=1) + torch.cosine_similarity(z1, h0, dim=1)


def simsiam(z0, h0, z1, h1):
    return torch.exp(-crossed(z0, h0.detach(), z1, h1.detach()) / 2).mean()


right("05.simsiam", simsiam)
wrong(
    "05.simsiam",
    (lambda *v: torch.exp(-crossed(*v) / 2).mean(), "a gradient flows into h0"),
    (lambda *v: simsiam(*v).item(), "Detach only h"),
)
wrong(
    "06.p_lm", (lambda z, c, x: losses.cosine_matrix(z, z[:5]), "Not all rows sum to 1")
)
wrong(
    "06.corrective_lm",
    (
        lambda *v: losses.all_token_lm(*v),
        "flows into copying: detach it. Detach only the copy",
    ),
    (
        lambda z, *v: losses.corrective_lm(z.detach(), *v) + 0 * z.sum(),
        "not the gradient",
    ),
)
right("07.lam", lambda λ, N: λ / (λ + N * (1 - λ)))
wrong(
    "07.lam",
    (lambda λ, N: λ / (λ + N * (1 - λ)) if λ not in (0, 1) else 0.5, "λ = 0 must stay"),
)


def eq_5(s, s_hat, i, tau):
    """The sum as it is printed."""
    rest = [j for j in range(len(s)) if j != i]
    terms = [(torch.exp(s[i] @ c / tau), c) for c in (*s_hat, *s[rest])]
    Z = sum(e for e, _ in terms)
    return (sum(e * c for e, c in terms) - Z * s_hat[i]) / (tau * Z)


def through_the_norm(s, s_hat, i, tau):
    leaf = s[i].clone().requires_grad_()
    logits = torch.cat([s_hat, s[:i], s[i + 1 :]]) @ normalize(leaf, dim=0) / tau
    return torch.autograd.grad(logits.logsumexp(0) - logits[i], leaf)[0]


right("08.gradient", eq_5)
wrong("08.gradient", (through_the_norm, "ℓ2"))
right("08.sensitivity", geometry.noise_sensitivity)


# ---- 09 and 10: statistics


def won(similar, others):
    wins = sum((s > r) + 0.5 * (s == r) for s in similar for r in others)
    return wins / len(similar) / len(others)


def by_ranks(similar, others):
    n = len(similar)
    m = len(others)
    return (rankdata([*similar, *others])[:n].sum() - n * (n + 1) / 2) / (n * m)


def by_bisection(similar, others):
    others = sorted(others)
    below = sum(bisect_left(others, s) + bisect_right(others, s) for s in similar)
    return below / 2 / len(similar) / len(others)


right("09.auc", by_ranks, by_bisection)
wrong(
    "09.auc",
    (won, "comparisons for 300 and 300 pairs"),
    (
        lambda s, r: by_ranks([0.9, 0.2, 0.5, 0.4, 0.25, 0.05], [0.5, 0.3, 0.1]),
        "not for 300",
    ),
)


def half(runs, n=None):
    n = n or len(runs)
    return t.ppf(0.975, n - 1) * runs.mean(1).std(ddof=1) / n**0.5


right("10.half_width", half)
wrong(
    "10.half_width",
    (lambda runs: half(runs, 5), "Right for five draws, but for eight"),
    (
        lambda runs: (runs.mean() - half(runs), runs.mean() + half(runs)),
        "yours has shape [2]",
    ),
)


def fragile(d, gone=0):
    return gone if tasks.interval(d)[0] <= 0 else fragile(sorted(d)[:-1], gone + 1)


right("10b.fragile", fragile)


# ---- 11 to 13


def cached(encode, contrast, x, size, *, grad=False, factor=1.0, times=1, drop=0):
    with torch.set_grad_enabled(grad):
        vectors = torch.cat(
            [encode(chunk) for chunk in x.split(size if not grad else len(x))]
        )
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
    vectors = torch.cat(
        [encode(chunk).detach() for chunk in x.split(size)]
    ).requires_grad_()
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


def in_pieces(pieces, start=-INF):
    largest = torch.tensor(start)
    total = torch.tensor(0.0)
    for piece in pieces:
        new = torch.maximum(largest, piece.max())
        total = total * (largest - new).exp() + (piece - new).exp().sum()
        largest = new
    return largest + total.log()


right("11.in_pieces", in_pieces)
wrong(
    "11.in_pieces",
    (lambda pieces: sum(p.exp().sum() for p in pieces).log(), "e^480 is infinite"),
    (lambda pieces: in_pieces(pieces, start=0.0), "near -800"),
    (lambda pieces: torch.cat(pieces).logsumexp(0), "6 scores stood in one tensor"),
)
wrong("12.effective", (lambda p: (-(p * p.log()).sum()).exp(), "NaN"))


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_of_any_form_pass(name, answer):
    assert judge(name, answer).right, judge(name, answer)


@pytest.mark.parametrize(("name", "answer", "words"), MISTAKES)
def test_each_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text


def test_no_verdict_has_the_quantile_that_is_asked_for():
    for answer in (
        lambda runs: 0.5,
        lambda runs: 1.96 * runs.mean(1).std(ddof=1) / 5**0.5,
    ):
        text = judge("10.half_width", answer).text
        assert "2.78" not in text and "ppf" not in text
