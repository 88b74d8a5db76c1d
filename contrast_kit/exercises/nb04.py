"""The exercises of notebook 04, masked language modelling, and the usual mistakes."""

from math import log

import torch
from torch.nn.functional import cross_entropy, normalize

from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import draw, equals, shape_of


@table(
    "04.token_loss",
    cases=[
        (draw(6, 4).float(), draw(9, 4, seed=1).float(), torch.tensor([2, 7, 7, 0, 5, 8]))
    ],
)
def token_loss(h, x, original):
    """The MLM loss of hidden states h [M, D], word vectors x [V, D] and the original ids [M]."""
    positions = torch.arange(len(h))
    scores = h @ x.T  # [M, V]
    log_p = scores.log_softmax(1)[positions, original]  # [M]
    right = -log_p.mean()
    return right, {
        "That is one loss a position, [M]. The loss of the batch is their mean: one number.": lambda value: (
            shape_of(value) == [len(h)]
        ),
        "The minus is missing: a loss is -log p, and log p is below 0.": -right,
        "That is the sum over the positions. A batch with more masks would weigh more: take the mean.": -log_p.sum(),
        (
            "That is the mean of -p. The loss is -log p: it punishes a confident mistake "
            "without limit."
        ): -log_p.exp().mean(),
        "That is the mean of p, the probability. The loss is minus its logarithm.": log_p.exp().mean(),
        "First the log of each row's p, then the mean; not the other way round.": -log_p.exp()
        .mean()
        .log(),
        "`cross_entropy` takes the softmax itself: give it the scores, not probabilities.": cross_entropy(
            scores.softmax(1), original
        ),
        (
            "Your softmax runs over dim=0, the positions. At each position the probabilities of all words "
            "sum to 1."
        ): -scores.log_softmax(0)[positions, original].mean(),
        "Only the numerator: without the sum over V, scores just grow.": -scores[
            positions, original
        ].mean(),
        (
            "Your denominator has the words of this batch only: an in-batch contrast. MLM sums over all "
            "V words."
        ): cross_entropy(h @ x[original].T, positions),
        "You normalised the vectors. MLM scores are inner products x·h: no cosine, no temperature.": cross_entropy(
            normalize(h) @ normalize(x).T, original
        ),
        "That is in bits. The kit's losses are in nats: the natural logarithm.": right
        / log(2),
    }


TERMS = torch.tensor([8.0, 1.0, 2.0, 3.0, 4.0, 5.0])
TEXTS = torch.tensor([0, 2, 2, 2, 2, 4])  # texts 1 and 3 had nothing selected
ORDER = torch.tensor([3, 0, 5, 1, 4, 2])


@table(
    "04.sequence_mean", cases=[(TERMS, TEXTS)], further=[(TERMS[ORDER], TEXTS[ORDER] + 7)]
)
def sequence_mean(terms, rows):
    """Eq. 6 as printed: from the loss of each masked position, terms [M], and its text, rows [M]."""
    means = torch.stack([terms[rows == row].mean() for row in rows.unique()])
    right = means.mean()
    return right, {
        "NaN: a text without a masked position has the mean 0/0. It says nothing; leave it out.": torch.nan,
        "That is the token mean: the text with four masks counts four times as much as the others.": terms.mean(),
        "The means of the texts are right; now their mean, not their sum.": means.sum(),
        "You divide by all texts. Those without a masked position have no mean: leave them out.": means.sum()
        / 5,
        "You divide the sum of all terms by the number of texts: first the mean *within* each text.": [
            terms.sum() / 3,
            terms.sum() / 5,
        ],
    }


@table(
    "04.floor",
    cases=[(torch.tensor([50.0, 30.0, 15.0, 5.0]),)],
    further=[(torch.tensor([50.0, 0.0, 30.0, 15.0, 5.0]),)],
)
def floor(counts):
    """The loss of the best model that knows only how often each word occurs; counts [V] may hold zeros."""
    p = counts / counts.sum()
    entropy = torch.special.entr(p).sum()
    return entropy, {
        "The minus is missing: log p is below 0, an entropy is not.": -entropy,
        "That is in bits; the loss is in nats, with the natural logarithm.": entropy
        / log(2),
        "That is log V, the loss of a model that does not even know the frequencies.": log(
            len(counts)
        ),
        "That is the perplexity, exp of what was asked for.": entropy.exp(),
        "Each word of the *vocabulary* counts the same in your mean: weigh by p.": -p.log().mean(),
        "Divide the counts by their sum first: p is a share.": torch.special.entr(
            counts
        ).sum(),
        "That is the total over all words of the text; the loss is per word: weigh by p.": entropy
        * counts.sum(),
        "That is the loss at the commonest word. Average over all, each as often as it occurs.": -p.max().log(),
    }


@table("04.never", cases=[(0.15, 10), (0.4, 3)])
def never(p, epochs):
    """The share of words never selected in E epochs at rate p: (dynamic masks, static masks)."""
    dynamic = (1 - p) ** epochs
    static = 1 - p

    def first_is(*shares):
        return lambda value: any(equals(value[0], share) for share in shares)

    return (dynamic, static), {
        "Return two numbers: (share with dynamic masks, share with static masks).": lambda value: (
            shape_of(value) != [2]
        ),
        "The two are exchanged: (dynamic, static).": (static, dynamic),
        "Dynamic: that is the share selected at least once. Asked: never.": first_is(
            1 - dynamic
        ),
        "Dynamic: p to the power of E is the share selected in *every* epoch. Asked: in none.": first_is(
            p**epochs
        ),
        (
            "Dynamic: probabilities of independent draws multiply; adding them up goes below 0 for "
            "many epochs."
        ): first_is(1 - epochs * p, max(0, 1 - epochs * p)),
        "Static: the masks of epoch 1 come again in every epoch, so nothing new is selected after it.": (
            dynamic,
            dynamic,
        ),
        "Dynamic is right. Static: what was not selected in epoch 1 is never selected.": first_is(
            dynamic
        ),
    }
