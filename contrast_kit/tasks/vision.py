"""How answers about pictures are scored: VQA's soft accuracy, NLVR2's consistency."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

ARTICLES = frozenset(("a", "an", "the"))
NUMBERS = "zero one two three four five six seven eight nine ten"
DIGITS = {word: str(number) for number, word in enumerate(NUMBERS.split())} | {
    "none": "0"
}
_CONTRACTIONS = (
    "ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd how's i'm i've "
    "isn't it'd let's mightn't might've mustn't must've needn't o'clock oughtn't she's should've shouldn't that's "
    "there's they'd they're they've wasn't we've weren't what's when's where'd where's who'd who's why's won't "
    "would've wouldn't y'all you'd you're you've"
)
CONTRACTIONS = {word.replace("'", ""): word for word in _CONTRACTIONS.split()}
"""Contractions by their spelling without apostrophe, where that is no word of its own ("its", "well", "were")."""


def normalise_answer(answer: str) -> str:
    """An answer as VQA compares it: lower case, no articles, digits for number words, apostrophes in contractions.

    The rules are those of VQA's evaluation page: a full stop goes unless it is a decimal point; other punctuation
    becomes a space, except apostrophes and colons, which stay, and a comma between digits, which goes.

    >>> [normalise_answer(answer) for answer in ("The Two dogs!", "1,000.", "dont know", "2.5", "3-4")]
    ['2 dogs', '1000', "don't know", '2.5', '3 4']
    """
    text = re.sub(r"(?<=\d),(?=\d)", "", answer.lower())
    text = re.sub(r"(?<!\d)\.|\.(?!\d)", "", text)
    text = re.sub(r"[^\w\s':.]|_", " ", text)
    words = [DIGITS.get(word, word) for word in text.split() if word not in ARTICLES]
    return " ".join(CONTRACTIONS.get(word, word) for word in words)


def soft_accuracies(
    predicted: Sequence[str], answers: Sequence[Sequence[str]]
) -> np.ndarray:
    """How right each answer is according to the people who were asked, [N] from 0 to 1.

    VQA (Antol et al. 2015): an answer is right where three *other* people gave it. So each person is left out in turn,
    and the accuracy is the mean over these subsets of min(n / 3, 1), n counted among the nine others. That is less
    than min(n / 3, 1) among all ten: an answer of three people has 0.9, not 1.

    Args:
        predicted: N answers, as text.
        answers: for each question the answers of several people, ten in VQA.

    >>> soft_accuracies(["red"] * 5, [["red"] * n + ["blue"] * (10 - n) for n in range(5)]).round(2).tolist()
    [0.0, 0.3, 0.6, 0.9, 1.0]
    """
    scores = []
    for answer, given in zip(predicted, answers, strict=True):
        counts = Counter(map(normalise_answer, given))
        n, people = counts[normalise_answer(answer)], len(given)
        # n of the subsets leave out one of those who gave this answer, the others someone else
        scores.append((n * min((n - 1) / 3, 1) + (people - n) * min(n / 3, 1)) / people)
    return np.array(scores, dtype=float)


def soft_accuracy(predicted: Sequence[str], answers: Sequence[Sequence[str]]) -> float:
    """VQA's accuracy: the mean of `soft_accuracies`. Not what LXMERT trains on (`data.answer_scores`).

    >>> soft_accuracy(["red", "2"], [["red"] * 10, ["three"] * 8 + ["two"] * 2])
    0.8
    """
    return float(soft_accuracies(predicted, answers).mean())


def nlvr2_scores(
    predicted: Sequence[int], labels: Sequence[int], identifiers: Sequence[str]
) -> dict[str, float]:
    """NLVR2's accuracy, and its consistency: the share of sentences that are right on *all* their pairs of pictures.

    The pairs of one sentence have identifiers that differ only in the third field, `split-set-pair-sentence`. With four
    pairs guessing is consistent on 1 sentence of 16.

    >>> nlvr2_scores([1, 0, 1, 1], [1, 0, 1, 0], ["dev-0-0-0", "dev-0-1-0", "dev-7-0-0", "dev-7-1-0"])
    {'accuracy': 0.75, 'consistency': 0.5}
    """
    from pandas import Series

    right = Series(np.asarray(predicted) == np.asarray(labels))
    parts = (identifier.split("-") for identifier in identifiers)
    sentences = [f"{split}-{group}-{number}" for split, group, _, number in parts]
    consistent = right.groupby(sentences).all()
    return {"accuracy": float(right.mean()), "consistency": float(consistent.mean())}
