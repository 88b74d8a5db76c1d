"""The exercises of notebook 13, words and pictures, and the usual mistakes."""

from statistics import mean

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import apart, draw


@table("13.vqa_accuracy", cases=[(n,) for n in range(11)])
def vqa_accuracy(n):
    """The mean over the ten leave-one-out subsets of min(n / 3, 1)."""
    right = (n * min((n - 1) / 3, 1) + (10 - n) * min(n / 3, 1)) / 10
    return right, {
        "That is min(n/3, 1) among all ten. Leave each person out in turn and average.": min(
            n / 3, 1
        ),
        "Only n of the ten subsets lack one of the n; the others hold all n.": min(
            max(n - 1, 0) / 3, 1
        ),
        "All or nothing: fewer than three count for something, too.": float(n >= 3),
        "That is the majority. VQA's accuracy is soft: three others are enough.": float(
            n > 5
        ),
        "That is the share of the people; three others are enough for full marks.": n
        / 10,
        "A mean over the ten subsets: divide by 10.": 10 * right,
        "In each subset at most 1: the minimum is taken before the mean.": (
            n * (n - 1) + (10 - n) * n
        )
        / 30,
    }


# Rows 0 and 1 show one picture, but it is not said that the second text is true of row 0 as well. The text of picture 3
# is true of picture 9 too; not the other way round.
TRUE_OF = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]).bool()


@table("13.wrong_texts", cases=[(torch.tensor([7, 7, 3, 9]), TRUE_OF)])
def wrong_texts(image_id, true_of):
    """Which text may be drawn as a wrong one for which picture."""
    other = image_id[:, None] != image_id[None, :]
    right = other & ~true_of.T
    return right, {
        "true_of has the texts in its rows; you need the pictures there: transpose it.": other
        & ~true_of,
        "The text of another picture may be true of this one as well: true_of says so.": other,
        "Rows 0 and 1 show one picture: its other text is not wrong, though true_of does not know it.": ~true_of.T,
        "Rows 0 and 1 show one picture: its other text is not wrong.": apart(4),
        "That is the opposite: True where the text *may* be drawn as a wrong one.": [
            ~right,
            true_of.T,
        ],
    }


@table(
    "13.soft_answers",
    cases=[
        (
            draw(3, 4),
            torch.tensor([[1.0, 0.3, 0, 0], [0, 0.9, 0.6, 0], [0, 0, 0, 1.0]]).double(),
        )
    ],
    further=[
        (
            torch.tensor([[1000.0, -1000.0]]).double(),
            torch.tensor([[0.3, 0.6]]).double(),  # 0.7 · 1000 + 0.6 · 1000
        )
    ],
    leaves="logits",
)
def soft_answers(logits, scores):
    """The binary cross-entropy, summed over answers, a mean over questions."""
    right = ck.vision.soft_answers(logits, scores)
    answers = logits.shape[1]
    return right, {
        "A mean over answers too: it divides the gradient by A. Sum over the answers, mean over the questions.": right
        / answers,
        "That is the sum over questions as well; divide by B.": right * len(logits),
        "A softmax over one right answer; here each answer is its own yes or no.": cross_entropy(
            logits, scores.argmax(1)
        ),
        "A softmax makes answers compete; here each answer is its own yes or no.": cross_entropy(
            logits, scores
        ),
        "The scores are targets between 0 and 1, not rounded up.": binary_cross_entropy_with_logits(
            logits, scores.ceil()
        )
        * answers,
        "The sign: minus the log-probabilities.": -right,
        "The second half is missing: (1 − s) log(1 − σ(z)), or every answer may as well be yes.": -(
            scores * logits.sigmoid().log()
        )
        .sum(1)
        .mean(),
    }


YES = True
NO = False


@table(
    "13.consistency",
    cases=[
        ([YES, YES, NO, YES, YES, YES], ["a", "b", "a", "b", "c", "a"]),
        # Two pairs of x are wrong.
        (
            [NO, YES, NO, YES, YES, NO, YES],
            ["x", "y", "x", "z", "y", "z", "y"],
        ),
    ],
)
def consistency(right, sentences):
    """The share of sentences that are right on all their pairs."""
    pairs = {}
    for ok, sentence in zip(right, sentences, strict=True):
        pairs.setdefault(sentence, []).append(ok)
    n = len(pairs)

    def share(of_group):
        return sum(map(of_group, pairs.values())) / n

    consistent = share(all)
    return consistent, {
        "That is the accuracy: the share of pairs. Group them by sentence first.": mean(
            right
        ),
        "That counts the pairs of consistent sentences; count sentences.": share(
            lambda group: all(group) * len(group)
        )
        * n
        / len(right),
        "That is how many sentences are right; divide by the number of sentences.": consistent
        * n,
        "One right pair is not enough: all pairs of the sentence must be right.": share(
            any
        ),
        "That looks at the last pair of each sentence; all its pairs must be right.": share(
            lambda group: group[-1]
        ),
        "That is the mean accuracy of a sentence; consistency is all or nothing.": share(
            mean
        ),
        "That takes off one for each wrong pair; a sentence with two wrong pairs is one wrong sentence.": 1
        - right.count(NO) / n,
        "Divide by the number of different sentences, not of pairs.": consistent
        * n
        / len(right),
    }
