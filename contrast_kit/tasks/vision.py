"""How answers about pictures are scored: VQA's soft accuracy, GQA's five numbers, NLVR2's consistency."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.checks import shown
from contrast_kit.data.rows import column, column_names
from contrast_kit.tasks.metrics import as_numbers

ARTICLES = frozenset(("a", "an", "the"))
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DIGITS = {word: str(number) for number, word in enumerate(NUMBERS)} | {"none": "0"}
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
    if not isinstance(answer, str):
        raise TypeError(f"An answer is text, not {shown(answer)}; give the name of the class, not its number.")
    text = re.sub(r"(?<=\d),(?=\d)", "", answer.lower())
    text = re.sub(r"(?<!\d)\.|\.(?!\d)", "", text)
    text = re.sub(r"[^\w\s':.]|_", " ", text)
    words = [DIGITS.get(word, word) for word in text.split() if word not in ARTICLES]
    return " ".join(CONTRACTIONS.get(word, word) for word in words)


def soft_accuracies(predicted: Sequence[str], answers: Sequence[Sequence[str]]) -> np.ndarray:
    """How right each answer is according to the people who were asked, [N] from 0 to 1.

    VQA (Antol et al. 2015): an answer is right where three *other* people gave it. So each person is left out in turn,
    and the accuracy is the mean over these subsets of min(n / 3, 1), n counted among the nine others. That is less
    than min(n / 3, 1) among all ten: an answer of three people has 0.9, not 1.

    Args:
        predicted: N answers, as text.
        answers: for each question the answers of several people, ten in VQA.

    Raises:
        TypeError, ValueError: an answer that is not text; a different number of predictions; a question that fewer than
            two people answered.

    >>> soft_accuracies(["red"] * 5, [["red"] * n + ["blue"] * (10 - n) for n in range(5)]).round(2).tolist()
    [0.0, 0.3, 0.6, 0.9, 1.0]
    """
    predicted = arguments.listed("predicted", predicted, "answers")
    answers = arguments.listed("answers", answers, "the answers to each question")
    if len(predicted) != len(answers):
        raise ValueError(f"{len(predicted)} predictions do not go with the answers to {len(answers)} questions.")
    scores = np.zeros(len(predicted))
    for row, (one, given) in enumerate(zip(predicted, answers, strict=True)):
        given = arguments.strings(f"answers[{row}]", given, "what people answered")
        if len(given) < 2:
            raise ValueError(f"Question {row} needs the answers of at least two people, not {shown(given)}.")
        counts = Counter(map(normalise_answer, given))
        n, people = counts[normalise_answer(one)], len(given)
        # n of the subsets leave out one of those who gave this answer, the others someone else
        scores[row] = (n * min((n - 1) / 3, 1) + (people - n) * min(n / 3, 1)) / people
    return scores


def soft_accuracy(predicted: Sequence[str], answers: Sequence[Sequence[str]]) -> float:
    """VQA's accuracy: the mean of `soft_accuracies`. Not what LXMERT trains on (`data.answer_scores`).

    >>> soft_accuracy(["red", "2"], [["red"] * 10, ["three"] * 8 + ["two"] * 2])
    0.8
    """
    scores = soft_accuracies(predicted, answers)
    if not len(scores):
        raise ValueError("There are no answers to score.")
    return float(scores.mean())


def by_type(scores: Sequence[float], types: Sequence[str]) -> dict[str, float]:
    """The mean of scores for each type of answer or question, and of `all`: the form of a question gives its type away,
    so each type has its own prior, and one number for all hides which was learnt.

    >>> by_type([1.0, 0.0, 0.5], ["yes/no", "number", "yes/no"])
    {'all': 0.5, 'number': 0.0, 'yes/no': 0.75}
    """
    values = as_numbers(scores, "Scores").astype(float)
    names = np.array([str(name) for name in arguments.listed("types", types, "types")])
    if values.shape != names.shape or not len(names):
        raise ValueError(f"There must be a type for each score: {values.size} scores, {len(names)} types.")
    if not np.isfinite(values).all():
        raise ValueError("A score is not finite, so the mean would not be either.")
    if "all" in names:
        raise ValueError("A type is called 'all', as the mean of all types is: give it another name.")
    return {"all": float(values.mean())} | {str(name): float(values[names == name].mean()) for name in np.unique(names)}


def gqa_scores(rows: Any, predicted: Sequence[str]) -> dict[str, float]:
    """GQA's numbers (Hudson & Manning 2019, section 4.4), from 0 to 1 but for the last.

    | name | what | needs the column |
    |---|---|---|
    | accuracy | share of right answers | `answer` |
    | consistency | over questions answered *right*: mean share of right answers among those they entail | `entailed` |
    | validity | share of answers of the right kind: a colour, where a colour is asked | `valid` |
    | plausibility | share of answers that occur in the world: no train is pink | `plausible` |
    | distribution | χ² between given and true answers, mean over groups by size; lower is better | `group` |

    `rows` have those columns and `question_id` (the numbers in `entailed`); a number whose column is not there is left
    out. Raises ValueError for a different number of predictions, and, with `entailed`, for a question in it that is not
    among the rows, or for two of one `question_id`.

    >>> rows = [{"question_id": 0, "answer": "red", "entailed": [1], "valid": ["red", "blue"]},
    ...         {"question_id": 1, "answer": "yes", "entailed": [], "valid": ["yes", "no"]}]
    >>> gqa_scores(rows, ["red", "no"])
    {'accuracy': 0.5, 'consistency': 0.0, 'validity': 1.0}
    """
    names, truth = column_names(rows), arguments.strings("answer", column(rows, "answer"), "answers")
    predicted = arguments.strings("predicted", predicted, "answers")
    if len(predicted) != len(truth):
        raise ValueError(f"{len(predicted)} predictions do not go with {len(truth)} questions.")
    right = np.array([one == true for one, true in zip(predicted, truth, strict=True)], dtype=float)
    scores = {"accuracy": float(right.mean())}
    if "entailed" in names:
        scores["consistency"] = _consistency(right, column(rows, "question_id"), _lists(rows, "entailed"))
    for name, key in (("validity", "valid"), ("plausibility", "plausible")):
        if key in names:
            fits = [one in allowed for one, allowed in zip(predicted, _lists(rows, key), strict=True)]
            scores[name] = float(np.mean(fits))
    if "group" in names:
        scores["distribution"] = _distribution(predicted, truth, column(rows, "group"))
    return scores


def nlvr2_scores(predicted: Sequence[int], labels: Sequence[int], identifiers: Sequence[str]) -> dict[str, float]:
    """NLVR2's accuracy, and its consistency: the share of sentences that are right on *all* their pairs of pictures.

    The pairs of one sentence have identifiers that differ only in the third field, `split-set-pair-sentence`. With four
    pairs guessing is consistent on 1 sentence of 16. Raises ValueError for an identifier of another form, TypeError for
    labels that are neither 0, 1 nor bool: `bool("false")` is True.

    >>> nlvr2_scores([1, 0, 1, 1], [1, 0, 1, 0], ["dev-0-0-0", "dev-0-1-0", "dev-7-0-0", "dev-7-1-0"])
    {'accuracy': 0.75, 'consistency': 0.5}
    """
    predicted, labels = as_numbers(predicted, "Predictions"), as_numbers(labels, "Labels")
    identifiers = arguments.strings("identifiers", identifiers, "identifiers")
    if not predicted.shape == labels.shape == (len(identifiers),) or not identifiers:
        raise ValueError(
            f"Give a prediction, a label and an identifier for each pair, not {predicted.size}, {labels.size} and "
            f"{len(identifiers)}."
        )
    for values in (predicted, labels):
        if (other := values[~np.isin(values, (0, 1))]).size:
            raise TypeError(f"A prediction or label is 1 (true) or 0 (false), not {other[0]}.")
    right = (predicted == labels).tolist()
    sentences: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    for each, identifier in zip(right, identifiers, strict=True):
        sentences[_sentence(identifier)].append(each)
    return {
        "accuracy": float(np.mean(right)),
        "consistency": float(np.mean([all(pairs) for pairs in sentences.values()])),
    }


def _sentence(identifier: str) -> tuple[str, ...]:
    fields = identifier.split("-")
    if len(fields) != 4:
        said = shown(identifier)
        raise ValueError(f"An identifier of NLVR2 is split-set-pair-sentence, such as dev-850-0-1, not {said}.")
    return (*fields[:2], fields[3])


def _lists(rows: Any, name: str) -> list[list]:
    """A column with a list in each row; a string is refused, as it would be searched for substrings."""
    return [arguments.listed(f"{name} of row {row}", each, "its own") for row, each in enumerate(column(rows, name))]


def _consistency(right: np.ndarray, ids: Sequence[int], entailed: Sequence[Sequence[int]]) -> float:
    """As in `gqa_scores`; 0 where no question that entails others was answered right."""
    for number in (*ids, *(other for others in entailed for other in others)):
        if not isinstance(number, str | Integral):
            raise TypeError(f"A question_id is a number or a word, and so is what it entails, not {shown(number)}.")
    place = {number: at for at, number in enumerate(ids)}
    if twice := [number for number, n in Counter(ids).items() if n > 1]:
        raise ValueError(f"Two questions have the question_id {twice[0]}: number them anew, in entailed too.")
    shares = []
    for at, others in enumerate(entailed):
        if missing := [other for other in others if other not in place]:
            raise ValueError(
                f"Question {ids[at]} entails question {missing[0]}, which is not there: score all of them."
            )
        others = [other for other in others if other != ids[at]]  # as GQA's own count: a question entails itself
        if right[at] and others:
            shares.append(np.mean([right[place[other]] for other in others]))
    return float(np.mean(shares)) if shares else 0.0


def _distribution(predicted: Sequence[str], truth: Sequence[str], groups: Sequence[str]) -> float:
    """Σ over true answers of (given - true)² / true, counts within a group; the mean over groups, weighted by size."""
    counts: Mapping[str, tuple[Counter, Counter]] = defaultdict(lambda: (Counter(), Counter()))
    for one, true, group in zip(predicted, truth, groups, strict=True):
        counts[group][0][one] += 1
        counts[group][1][true] += 1
    sums = [
        (sum((given[answer] - n) ** 2 / n for answer, n in true.items()), true.total())
        for given, true in counts.values()
    ]
    return float(sum(score * size for score, size in sums) / sum(size for _, size in sums))
