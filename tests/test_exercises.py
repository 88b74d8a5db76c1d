"""Every exercise: the right answer passes, each mistake of its table gets its hint, and no answer is no mistake."""

import math
import re

import pytest
import torch

from contrast_kit import exercises
from contrast_kit.exercises import _table, judge
from contrast_kit.exercises._frame import EXERCISES, WORDS

NAMES = exercises.names()
TABLES = {
    name: checker
    for name, (_, checker) in EXERCISES.items()
    if isinstance(checker, _table.Table)
}


def each(value):
    return value if isinstance(value, list) else [value]


def told(table, hint, values):
    """A hint as it is worded for one of the cases."""
    return [table.filled(hint, value, i) for i, value in enumerate(values)]


def replies(values):
    """An answer that gives these values, one after the other."""
    pending = iter(values)
    return lambda *case: next(pending)


@pytest.mark.parametrize("name", TABLES)
def test_the_right_answer_passes_and_each_mistake_gets_its_hint(name):
    table = TABLES[name]
    verdict = judge(name, lambda *case: table.rows(*case)[0])
    assert verdict.right or table.then, verdict
    mistakes = [table.rows(*case)[1] for case in table.cases]
    assert all(list(of_case) == list(mistakes[0]) for of_case in mistakes)
    for hint in mistakes[0]:
        of_cases = [of_case[hint] for of_case in mistakes]
        if not callable(of_cases[0]):
            for values in zip(*map(each, of_cases), strict=True):
                verdict = judge(name, replies(values))
                hints = told(table, hint, values)
                assert verdict.right is False and verdict.text in hints, (
                    hints[0],
                    verdict.text,
                )


@pytest.mark.parametrize("name", TABLES)
def test_another_value_is_told_which_question_to_ask(name):
    table = TABLES[name]
    values = [torch.full((2, 3, 5), 0.123) for _ in table.cases]
    verdict = judge(name, replies(values))
    hints = told(table, table.shape or table.otherwise, values)
    for hint, mistake in table.rows(*table.cases[0])[1].items():
        if callable(mistake):  # of a shape, mostly
            hints += told(table, hint, values)
    assert verdict.right is False and verdict.text in hints, verdict


def test_no_answer_is_no_mistake_and_words_are_kept_of_exercises_alone():
    for name in NAMES:
        for answer in (None, lambda *args: None):
            verdict = judge(name, answer)
            assert verdict.right is None
            assert verdict.text.startswith("not yet answered: it gives None")
    assert WORDS.keys() == {name for name in NAMES if not name.startswith("99.")}


KINDS = [3, "text", [1], {}, object(), float]
KINDS += [lambda *a, value=value: value for value in ("text", object(), 3, [1])]


@pytest.mark.parametrize("answer", KINDS, ids=map(str, range(len(KINDS))))
def test_no_verdict_quotes_what_python_says_of_a_kind(answer):
    for name in NAMES:
        text = judge(name, answer).text
        wrong = re.search(r"object (is|has|cannot)|not supported|not callable", text)
        assert not wrong, (name, text)


def test_an_answer_of_another_kind_is_told_which_kind_is_asked_for():
    asked = "does not fit. Which kind does the exercise ask for?"
    for name, answer, text in (
        (
            "00.guess",
            1.39,
            "Give a function of B, so that it can be tried with several.",
        ),
        (
            "01.labels",
            KINDS[-3],
            f"a value of type object {asked}",
        ),
    ):
        assert judge(name, answer).text == text


def test_unknown_names():
    with pytest.raises(
        ValueError, match="no exercise '01.complment'; did you mean '01.complement"
    ):
        judge("01.complment", 1)
    assert [name[:3] for name in exercises.names("01")] == ["01."] * 4


def plus(a, b):
    mistakes = {
        "That is the product.": a * b,
        "Taken away.": [a - b, b - a],
        "Words.": lambda x: isinstance(x, str),
    }
    return a + b, mistakes


class TestTable:
    table = _table.Table(
        plus,
        [(2, 2), (3, 4)],
        otherwise="For {a} and {b} it gives {value}.",
        shape="One number, not {shape}.",
        further=[(0, 1)],
        beyond=["For 0 it gives {value}."],
    )

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
            return (a * b).sum() * t, {}

        case = (torch.ones(2), torch.full((2,), 3.0), 2.0)
        table = _table.Table(right, [case], "", leaves="a b", detached="Not b.")
        answers = {
            "no gradient comes back": lambda a, b, t: right(a, b, t)[0].item(),
            "no gradient reaches b": lambda a, b, t: right(a, b.detach(), t)[0],
            "not the gradient that reaches b": lambda a, b, t: right(
                a, (b + b.detach()) / 2, t
            )[0],
            "NaN": lambda a, b, t: right(a, b, t)[0] + 0 * (0 * a).sqrt().sum(),
        }
        assert table(lambda *case: right(*case)[0]) is None
        for words, answer in answers.items():
            assert words in table(answer) and table(answer).endswith(" Not b.")

        def stopped(a, b):
            return (a * b.detach()).sum(), {}

        table = _table.Table(stopped, [case[:2]], "", leaves="a b")
        assert "a gradient flows into b" in table(lambda a, b: (a * b).sum())

    def test_numbers_are_equal_up_to_rounding_and_of_one_shape(self):
        equals = _table.equals
        assert equals(1 / 3, torch.tensor(1 / 3)) and equals(math.nan, math.nan)
        assert not any(equals(*pair) for pair in (([1.0], 1.0), ("1", 1), (1.001, 1)))
        assert [_table.number(x) for x in (2 / 3, torch.tensor(2), "a")] == [
            "0.6667",
            "2",
            "'a'",
        ]
