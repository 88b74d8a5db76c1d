"""The exercises of notebook 04, masked language modelling, and the usual mistakes."""

from math import log

import torch
from torch.nn.functional import cross_entropy, normalize

from contrast_kit.exercises._frame import exercise, table
from contrast_kit.exercises._table import draw, shape_of


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


@exercise("04.first_bias")
def first_bias(answer):
    """A bias [V] with which a head that knows nothing else starts at the unigram entropy of counts [V]."""
    counts = torch.tensor([5000.0, 3000, 1500, 500, 0])
    bias = torch.as_tensor(answer(counts)).double()
    if bias.shape != counts.shape:
        return f"Return a number for each of the {len(counts)} words: [V]."
    if not bias.isfinite().all():
        return "A word that never occurred has log 0 = −∞, an infinite loss: count a little more for each."
    share = counts.double() / counts.sum()
    loss = -(share * bias.log_softmax(0)).sum()
    entropy = torch.special.entr(share).sum()
    if loss < entropy + 0.05:
        return None
    return f"The loss starts at {loss:.2f}, the entropy is {entropy:.2f}: let exp(bias) be in proportion to the counts."
