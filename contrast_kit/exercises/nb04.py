"""The exercises of notebook 04, masked language modelling, and the usual mistakes."""

import math
from collections.abc import Callable, Iterable
from numbers import Real

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import LOG_OF_MEAN, MEAN_OF_P, near


def _number(value: object) -> bool:
    return isinstance(value, Real) or (isinstance(value, Tensor | np.ndarray) and math.prod(value.shape) == 1)


def _pair(value: Iterable) -> tuple[float, float] | None:
    """Two numbers out of any sequence, a tensor or an array too; None for anything else."""
    try:
        a, b = (float(x) for x in value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return a, b


@exercise("04.token_loss", right="One word against the whole vocabulary, averaged over the masked positions.")
def token_loss(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str | None:
    """The MLM loss of hidden states h [M, D], word vectors x [V, D] and the original ids [M]."""
    draw = torch.Generator().manual_seed(0)
    h, x = torch.randn(6, 4, generator=draw), torch.randn(9, 4, generator=draw)
    original = torch.tensor([2, 7, 7, 0, 5, 8])
    scores = h @ x.T  # [M, V]
    log_p = scores.log_softmax(dim=1)[torch.arange(6), original]  # [M]
    given = answer(h, x, original)
    if isinstance(given, Tensor) and given.shape == original.shape:
        return "That is one loss a position, [M]. The loss of the batch is their mean: one number."
    if not _number(given):
        return "Return one number: the mean over the M positions."
    if near(given, -log_p.mean()):
        return None
    units = F.normalize(h, dim=1) @ F.normalize(x, dim=1).T
    in_batch = h @ x[original].T  # [M, M]
    for wrong, hint in (
        (log_p.mean(), "The minus is missing: a loss is -log p, and log p is below 0."),
        (-log_p.sum(), "That is the sum over the positions. A batch with more masks would weigh more: take the mean."),
        (-log_p.exp().mean(), MEAN_OF_P),
        (log_p.exp().mean(), "That is the mean of p, the probability. The loss is minus its logarithm."),
        (-log_p.exp().mean().log(), LOG_OF_MEAN),
        (
            F.cross_entropy(scores.softmax(1), original),
            "`cross_entropy` takes the softmax itself: give it the scores, not probabilities.",
        ),
        (
            -scores.log_softmax(0)[torch.arange(6), original].mean(),
            "Your softmax runs over dim=0, the positions. At each position the probabilities of all words sum to 1.",
        ),
        (-scores[torch.arange(6), original].mean(), "Only the numerator: without the sum over V, scores just grow."),
        (
            F.cross_entropy(in_batch, torch.arange(6)),
            "Your denominator has the words of this batch only: an in-batch contrast. MLM sums over all V words.",
        ),
        (
            F.cross_entropy(units, original),
            "You normalised the vectors. MLM scores are inner products x·h: no cosine, no temperature.",
        ),
        (-log_p.mean() / math.log(2), "That is in bits. The kit's losses are in nats: the natural logarithm."),
    ):  # fmt: skip
        if near(given, wrong):
            return hint
    told = f"Expected {-log_p.mean():.4f} in our test, got {float(given):.4f}."
    return f"{told} Who competes at one position, which of them is right there, and what is -log p of that one?"


@exercise("04.sequence_mean", right="Each text counts once, however many of its words were hidden.")
def sequence_mean(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """Eq. 6 as printed: from the loss of each masked position, terms [M], and its text, rows [M]."""
    terms = torch.tensor([8.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    rows = torch.tensor([0, 2, 2, 2, 2, 4])  # texts 1 and 3 had nothing selected
    means = [8.0, 2.5, 5.0]
    given = answer(terms.clone(), rows.clone())
    if not _number(given):
        return "Return one number: the mean over texts of each text's own mean."
    if math.isnan(float(given)):
        return "NaN: a text without a masked position has the mean 0/0. It says nothing; leave it out."
    for wrong, hint in (
        (terms.mean(), "That is the token mean: the text with four masks counts four times as much as the others."),
        (sum(means), "The means of the texts are right; now their mean, not their sum."),
        (sum(means) / 5, "You divide by all texts. Those without a masked position have no mean: leave them out."),
        (terms.sum() / 3, "You divide the sum of all terms by the number of texts: first the mean *within* each text."),
        (terms.sum() / 5, "You divide the sum of all terms by the number of texts: first the mean *within* each text."),
    ):  # fmt: skip
        if near(given, wrong):
            return hint
    if near(given, sum(means) / 3):
        # Rows in another order, and ids that do not begin at 0.
        order = torch.tensor([3, 0, 5, 1, 4, 2])
        again = answer(terms[order], rows[order] + 7)
        if not _number(again) or not near(again, sum(means) / 3):
            return "Right while texts come in order, from 0. Shuffled, or with other numbers, they give another value."
        return None
    told = f"For terms {terms.tolist()} in texts {rows.tolist()}"
    return f"{told} expected {sum(means) / 3:.4f}, got {float(given):.4f}."


@exercise("04.floor", right="No model that ignores the sentence can do better on average.")
def floor(answer: Callable[[Tensor], Tensor]) -> str | None:
    """The loss of the best model that knows only how often each word occurs; counts [V] may hold zeros."""
    counts = torch.tensor([50.0, 30.0, 15.0, 5.0])
    p = counts / counts.sum()
    entropy = -(p * p.log()).sum()
    given = answer(counts.clone())
    if not _number(given):
        return "Return one number: the average of -log p(word) over all words of the text."
    for wrong, hint in (
        (-entropy, "The minus is missing: log p is below 0, an entropy is not."),
        (entropy / math.log(2), "That is in bits; the loss is in nats, with the natural logarithm."),
        (math.log(4), "That is log V, the loss of a model that does not even know the frequencies."),
        (entropy.exp(), "That is the perplexity, exp of what was asked for."),
        (-p.log().mean(), "Each word of the *vocabulary* counts the same in your mean: weigh by p."),
        (-(counts * counts.log()).sum(), "Divide the counts by their sum first: p is a share."),
        (-(counts * p.log()).sum(), "That is the total over all words of the text; the loss is per word: weigh by p."),
        (-p.max().log(), "That is the loss at the commonest word. Average over all, each as often as it occurs."),
    ):  # fmt: skip
        if near(given, wrong):
            return hint
    if not near(given, entropy):
        return f"For counts {counts.tolist()} expected {entropy:.4f}, got {float(given):.4f}: -sum of p log p."
    with_zero = answer(torch.tensor([50.0, 0.0, 30.0, 15.0, 5.0]))
    if not _number(with_zero) or not near(with_zero, entropy):
        return "With a word that never occurs it gives another value: 0 · log 0 counts as 0, so drop zero counts first."
    return None


@exercise("04.never", right="Dynamic masks soon reach every word; static ones never reach more than in epoch one.")
def never(answer: Callable[[float, int], tuple[float, float]]) -> str | None:
    """The share of words never selected in E epochs at rate p: (dynamic masks, static masks)."""
    cases = [(0.15, 10), (0.4, 3)]
    given = [_pair(answer(p, epochs)) for p, epochs in cases]
    if None in given:
        return "Return two numbers: (share with dynamic masks, share with static masks)."
    dynamic, static = zip(*filter(None, given), strict=True)

    def fits(values: tuple, formula: Callable[[float, int], float]) -> bool:
        return all(near(value, formula(*case)) for value, case in zip(values, cases, strict=True))

    truth: Callable[[float, int], float] = lambda p, epochs: (1 - p) ** epochs  # noqa: E731
    once: Callable[[float, int], float] = lambda p, epochs: 1 - p  # noqa: E731
    if fits(dynamic, truth) and fits(static, once):
        return None
    if fits(dynamic, once) and fits(static, truth):
        return "The two are exchanged: (dynamic, static)."
    if fits(dynamic, lambda p, epochs: 1 - (1 - p) ** epochs):
        return "Dynamic: that is the share selected at least once. Asked: never."
    if fits(dynamic, lambda p, epochs: p**epochs):
        return "Dynamic: p to the power of E is the share selected in *every* epoch. Asked: in none."
    if fits(dynamic, lambda p, epochs: 1 - epochs * p) or fits(dynamic, lambda p, epochs: max(0, 1 - epochs * p)):
        return "Dynamic: probabilities of independent draws multiply; adding them up goes below 0 for many epochs."
    if fits(dynamic, truth) and fits(static, truth):
        return "Static: the masks of epoch 1 come again in every epoch, so nothing new is selected after it."
    if fits(dynamic, truth):
        return "Dynamic is right. Static: what was not selected in epoch 1 is never selected."
    return "Dynamic: not selected in the first epoch, *and* not in the second, *and* so on: what is the product?"
