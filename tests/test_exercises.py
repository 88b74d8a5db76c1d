"""Every exercise: the right answer passes, each mistake of its table gets its hint, and no answer is no mistake."""

import math
import re

import pytest
import torch

from contrast_kit import exercises
from contrast_kit.exercises import _table, judge
from contrast_kit.exercises._frame import EXERCISES

NAMES = exercises.names()
TABLES = [name for name in NAMES if isinstance(EXERCISES[name].checker, _table.Table)]


def each(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", TABLES)
def test_the_right_answer_passes_and_each_mistake_gets_its_hint(name):
    table = EXERCISES[name].checker
    verdict = judge(name, lambda *case: table.rows(*case)[0])
    assert verdict.right or table.then, verdict
    mistakes = [list(table.rows(*case)[1].items()) for case in table.cases]
    assert len({tuple(hint for hint, _ in rows) for rows in mistakes}) in (1, len(mistakes))
    for i, (_, value) in enumerate(mistakes[0]):
        for j in range(len(each(value)) * (not callable(value))):
            values = [each(rows[i][1])[j] for rows in mistakes]
            pending = iter(values)
            verdict = judge(name, lambda *case, pending=pending: next(pending))
            hints = [
                _table.filled(rows[i][0], value)
                for rows, value in zip(mistakes, values, strict=True)
            ]
            assert verdict.right is False and verdict.text in hints, (hints[0], verdict.text)


@pytest.mark.parametrize("name", TABLES)
def test_another_value_is_told_which_question_to_ask(name):
    table = EXERCISES[name].checker
    verdict = judge(name, lambda *case: torch.full((2, 3, 5), 0.123))
    otherwise = [table.shape] * bool(table.shape) or [table.rows(*case)[2] for case in table.cases]
    hints = [_table.filled(hint, torch.full((2, 3, 5), 0.123)) for hint in otherwise]
    shapes = [hint for hint, value in table.rows(*table.cases[0])[1].items() if callable(value)]
    assert verdict.right is False and verdict.text in hints + shapes, verdict


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_no_mistake(name):
    for answer in (None, lambda *args: None):
        verdict = judge(name, answer)
        assert verdict.right is None and verdict.text.startswith(
            "not yet answered. Fill in the function above"
        )


KINDS = [
    3,
    "text",
    [1],
    {},
    object(),
    lambda *a: "text",
    lambda *a: object(),
    lambda *a: 3,
    lambda *a: [1],
    float,
]


@pytest.mark.parametrize("answer", KINDS, ids=[str(i) for i in range(len(KINDS))])
def test_no_verdict_quotes_what_python_says_of_a_kind(answer):
    for name in NAMES:
        text = judge(name, answer).text
        assert not re.search(r"object (is|has|cannot)|not supported|not callable", text), (
            name,
            text,
        )


def test_an_answer_of_another_kind_is_told_which_kind_is_asked_for():
    assert (
        judge("01.rate", 0.595).text
        == "Give a function of p_m and p_c, so that it can be tried with several."
    )
    assert judge("09.shift", 3).text.startswith("an answer of type int does not fit. Which kind")
    text = judge("01.labels", lambda *args: object()).text
    assert (
        text
        == "your function returned a value of type object. Which kind of value does the exercise ask for?"
    )


def test_unknown_names():
    with pytest.raises(
        ValueError, match="There is no exercise '01.complment'; did you mean '01.complement'"
    ):
        judge("01.complment", 1)
    assert len(exercises.names("01")) == 5 and all(
        name.startswith("01.") for name in exercises.names("01")
    )


def plus(a, b):
    mistakes = {
        "That is the product.": a * b,
        "Taken away.": [a - b, b - a],
        "Words.": lambda x: isinstance(x, str),
    }
    return a + b, mistakes, f"For {a} and {b} it gives {{value}}."


class TestTable:
    further = {"For 0 it gives {value}.": (0, 1)}
    table = _table.Table(plus, [(2, 2), (3, 4)], shape="One number, not {shape}.", further=further)

    @pytest.mark.parametrize(
        ("answer", "hint"),
        [
            (lambda a, b: a + b, None),
            (lambda a, b: a * b, "That is the product."),  # right for 2 and 2
            (lambda a, b: a - b, "Taken away."),
            (lambda a, b: b - a, "Taken away."),
            (lambda a, b: "four", "Words."),
            (lambda a, b: 4, "For 3 and 4 it gives 4."),
            (lambda a, b: 5, "For 2 and 2 it gives 5."),
            (lambda a, b: [a, b], "One number, not [2]."),
            (lambda a, b: a + b if a else 9, "For 0 it gives 9."),
            (4, "Give a function of a and b, so that it can be tried with several."),
        ],
    )
    def test_a_hint_is_given_where_it_fits_in_all_cases(self, answer, hint):
        assert self.table(answer) == hint

    def test_gradients(self):
        def right(a, b, t):
            return (a * b).sum() * t, {}, ""

        table = _table.Table(
            right, [(torch.ones(2), torch.full((2,), 3.0), 2.0)], leaves="a b", detached="Not b."
        )
        answers = {
            "no gradient comes back": lambda a, b, t: right(a, b, t)[0].item(),
            "no gradient reaches b": lambda a, b, t: right(a, b.detach(), t)[0],
            "not the gradient that reaches b": lambda a, b, t: right(a, (b + b.detach()) / 2, t)[0],
            "NaN": lambda a, b, t: right(a, b, t)[0] + 0 * (0 * a).sqrt().sum(),
        }
        assert table(lambda *case: right(*case)[0]) is None
        for words, answer in answers.items():
            assert words in table(answer) and table(answer).endswith(" Not b.")

        def stopped(a, b):
            return (a * b.detach()).sum(), {}, ""

        table = _table.Table(stopped, [(torch.ones(2), torch.ones(2))], leaves="a b")
        assert "a gradient flows into b" in table(lambda a, b: (a * b).sum())

    def test_numbers_are_equal_up_to_rounding_and_of_one_shape(self):
        assert _table.equals(1 / 3, torch.tensor(1 / 3)) and _table.equals(math.nan, math.nan)
        assert (
            not _table.equals([1.0], 1.0)
            and not _table.equals("1", 1)
            and not _table.equals(1.001, 1)
        )
        assert [_table.shown(x) for x in (2 / 3, torch.tensor(2), "a")] == ["0.6667", "2", "'a'"]
