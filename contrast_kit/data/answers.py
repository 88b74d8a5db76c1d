"""Answers to questions as numbers: which answers there are, and how much each is worth by ten people's votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from contrast_kit import arguments, checks

PER_VOTE = 0.3
"""LXMERT's target for an answer is 0, 0.3, 0.6, 0.9, then 1, for 0, 1, 2, 3, then more people who gave it."""


def answer_list(answers: Iterable[Any], least: int = 1) -> list[str]:
    """The distinct answers of a training split, the most frequent first; rarer than `least` are left out.

    `answers` holds a string, or a list of strings (VQA's ten), for each question. Each person counts: an answer that
    two people give to one question was given twice.

    >>> answer_list([["red", "red", "scarlet"], "two", "red"], least=2)
    ['red']
    """
    answers = arguments.listed("answers", answers, "answers, one for each question")
    checks.count("least", least, "how many people must have given an answer", least=0)
    votes = Counter(answer for row, given in enumerate(answers) for answer in _given(given, row))
    chosen = [answer for answer, n in votes.most_common() if n >= least]
    if not chosen:
        raise ValueError(f"No answer was given {least} times, so there is nothing to choose from: lower `least`.")
    return chosen


def answer_scores(answers: Sequence[Any], names: Sequence[str]) -> Tensor:
    """What each answer is worth for each question, [N, A] from 0 to 1: the soft labels that LXMERT trains on.

    Of ten people's answers one vote is worth 0.3, two 0.6, three 0.9, more 1. A single answer (a string) is worth 1.
    None, a row without a question, is all 0. An answer outside `names` is worth nothing to anyone. This is how to
    *train*; how to *score* is `tasks.soft_accuracy`.

    Raises:
        ValueError, TypeError: an answer that is not text, such as -1 for "none"; names that come twice.

    >>> answer_scores([["red"] * 7 + ["scarlet"] * 2 + ["pink"], "two", None], ["red", "two", "scarlet"])
    tensor([[1.0000, 0.0000, 0.6000],
            [0.0000, 1.0000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    answers = arguments.listed("answers", answers, "answers, one for each question")
    names = [] if isinstance(names, str) else arguments.strings("names", names, "answers")
    if len(set(names)) != len(names) or not names:
        raise ValueError("The list of answers must hold each answer once; data.answer_list(rows['answers']) makes it.")
    index = {name: at for at, name in enumerate(names)}
    scores = torch.zeros(len(answers), len(names))  # [N, A]
    for row, given in enumerate(answers):
        each = 1.0 if isinstance(given, str) else PER_VOTE
        for answer, n in Counter(_given(given, row)).items():
            if answer in index:
                scores[row, index[answer]] = min(1.0, each * n)
    return scores


def _given(given: Any, row: int) -> list[str]:
    answers = [] if given is None else [given] if isinstance(given, str) else given
    if not isinstance(answers, Sequence) or not all(isinstance(answer, str) for answer in answers):
        shown = checks.shown(given)
        raise TypeError(f"The answer of row {row} is {shown}, not text: give a string, a list of strings, or None.")
    return list(answers)
