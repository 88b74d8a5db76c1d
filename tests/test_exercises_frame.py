"""What the reader sees of a verdict, which line of theirs a crash names, and what is remembered of their tries."""

import html
import json
import re

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter

from contrast_kit import exercises
from contrast_kit.exercises import _answer, _numbers, _record, _verdict, judge
from contrast_kit.masking import Masked


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file in which tries are kept, and no memory of earlier ones."""
    monkeypatch.setattr(_record, "_HERE", {})
    monkeypatch.setenv("CONTRAST_KIT_PROGRESS", str(tmp_path / "tries.json"))
    return tmp_path / "tries.json"


def luminance(colour):
    """Relative luminance of #rrggbb, as WCAG 2 defines it."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


class TestVerdict:
    def test_the_words_are_the_same_in_html_and_in_text(self):
        for answer in (lambda m, c: c * (1 - m), lambda m, c: m * c, lambda m, c: None):
            verdict = judge("01.rate", answer)
            bundle = verdict._repr_mimebundle_()
            shown = html.unescape(re.sub(r"<[^>]+>", "", bundle["text/html"]))
            assert bundle["text/plain"] == str(verdict)
            assert DisplayFormatter().format(verdict)[0] == bundle  # what a notebook stores
            assert shown == re.sub(r"\*(\S[^*]*\S)\*", r"\1", str(verdict)), shown

    @pytest.mark.parametrize("right", [True, False, None])
    def test_the_signs_stand_out_on_a_white_and_on_a_black_page(self, right):
        colour = luminance(_verdict.SIGNS[right][1])
        assert 1.05 / (colour + 0.05) >= 3 and (colour + 0.05) / (luminance("#111111") + 0.05) >= 3

    def test_what_a_reader_wrote_is_no_html(self):
        def answer(p_m, p_c):
            raise ValueError("<script>alert(1)</script>")

        page = judge("01.rate", answer)._repr_mimebundle_()["text/html"]
        assert "<script>" not in page and "&lt;script&gt;" in page

    def test_it_is_printed_outside_of_notebooks_and_displayed_in_them(self, capsys, monkeypatch, kept):
        exercises.check("01.rate", None)
        assert capsys.readouterr().out.startswith("· 01.rate: not yet answered")
        shown = []
        monkeypatch.setattr(_verdict, "in_notebook", lambda: True)
        monkeypatch.setattr("IPython.display.display", shown.append)
        exercises.check("01.rate", None)
        assert capsys.readouterr().out == "" and shown[0].right is None


class TestCrash:
    def test_the_line_of_the_readers_own_cell_is_named(self, tmp_path):
        cell = tmp_path / "cell.py"
        cell.write_text("import math\n\n\ndef answer(p_m, p_c):\n    free = 1 - p_m\n    return math.log(free - 1)\n")
        scope = {}
        exec(compile(cell.read_text(), str(cell), "exec"), scope)
        said = judge("01.rate", scope["answer"]).text
        assert "in line 6 of its cell, `return math.log(free - 1)`. ValueError: " in said and said.endswith(".")

    def test_an_error_deep_in_a_library_is_told_at_the_readers_line(self):
        def answer(p_m, p_c):
            return torch.nn.functional.cross_entropy(p_m, p_c)  # the line that is named

        said = judge("01.rate", answer).text
        assert "the line that is named" in said and "torch/" not in said and "\n" not in said

    def test_a_function_that_cannot_be_called_so(self):
        said = judge("01.rate", lambda p: p).text
        assert "could not call your function" in said and "positional argument" in said

    def test_an_error_without_words(self):
        def answer(p_m, p_c):
            raise RuntimeError

        assert judge("01.rate", answer).text.endswith("RuntimeError: no more is said.")
        assert _answer.crash(KeyError()).endswith("KeyError: no more is said.")


KINDS = [3, "text", [1], {}, object(), lambda *a, **k: "text", lambda *a, **k: object(), lambda *a, **k: 3, float]


class TestKinds:
    @pytest.mark.parametrize("answer", KINDS, ids=[str(i) for i in range(len(KINDS))])
    def test_no_verdict_quotes_what_python_says_of_a_kind(self, answer):
        for name in exercises.names():
            said = judge(name, answer).text
            assert not re.search(r"object (is|has|cannot)|not supported|not callable", said), (name, said)

    @pytest.mark.parametrize(("answer", "kind"), [(3, "an int"), ("0.5", "a str"), ([1], "a list")])
    def test_an_answer_that_should_be_a_function_is_told_so(self, answer, kind):
        assert judge("01.labels", answer).text == f"the exercise asks for a function, and you gave {kind}."

    def test_another_kind_of_value_is_named(self):
        said = judge("01.labels", lambda *asked: object()).text
        assert said.startswith("your function returned a value of type object, which does not fit")
        assert judge("09.shift", 3).text.startswith("an answer of type int does not fit. Which kind")


class TestArguments:
    def test_what_an_answer_changes_in_place_is_its_own(self):
        tensor, array, words = torch.zeros(2), np.zeros(2), [[1], (2, [3])]
        masked = Masked(torch.zeros(1, 1), torch.zeros(1, 1))

        def spoil(tensor, array, words, masked, *, named):
            tensor += 1
            array += 1
            words[0].append(2)
            words[1][1].clear()
            masked.input_ids.fill_(7)
            named += 1
            return isinstance(masked, Masked)

        assert _answer.Answer(spoil)(tensor, array, words, masked, named=tensor) is True
        assert tensor.sum() == 0 and array.sum() == 0 and words == [[1], (2, [3])] and masked.input_ids.sum() == 0

    def test_gradients_reach_the_leaf_whose_copy_it_was_given(self):
        leaf = torch.ones(3, requires_grad=True)
        _answer.Answer(lambda x: (x.mul_(2) ** 2).sum())(leaf).backward()
        assert leaf.grad.tolist() == [8.0, 8.0, 8.0]


class TestNone:
    def test_the_stub_is_no_answer(self):
        def stub(p_m, p_c):
            """What is asked."""
            return None  # your turn

        def empty(p_m, p_c):
            pass

        assert judge("01.rate", stub).right is None and judge("01.rate", empty).right is None

    @pytest.mark.parametrize("answer", [lambda m, c: [].append(m), print, lambda m, c: None if m > 0 else c])
    def test_what_ran_and_returned_none_is_told_so(self, answer, capsys):
        verdict = judge("01.rate", answer)
        assert verdict.right is False and "ran, but returned None" in verdict.text


class TestNumbers:
    """What the checkers share."""

    @pytest.mark.parametrize("said", [torch.ones(2), np.ones(2), [1, 2], (1, 2)])
    def test_many_numbers_are_told(self, said):
        assert _numbers.many(said, "the mean").startswith("Return one number, the mean; yours ")

    @pytest.mark.parametrize("said", [1, 2.0, torch.tensor(1.0), np.float64(1), "text"])
    def test_one_is_enough(self, said):
        assert _numbers.many(said, "the mean") is None

    def test_a_mistake_is_named_where_it_fits_at_every_point(self):
        tried = _numbers.Tried(lambda x: 4, (2,), (3,))
        assert tried.wrong(lambda x: x * x) == ((3,), 4)  # the first that fails, not the first
        assert tried.hint({lambda x: x + 2: "plus", lambda x: 4: "always"}) == "always"
        assert tried.hint({lambda x: x + 2: "plus"}) is None

    def test_gradients(self):
        right = lambda a, b, t: (a * b).sum() * t  # noqa: E731
        given = {"a": torch.ones(2), "b": torch.full((2,), 3.0)}

        def hint(loss):
            return _numbers.gradient(loss, given, 2.0, right=right)

        assert hint(right) is None
        assert "no gradient comes back" in hint(lambda a, b, t: right(a, b, t).item())
        assert "no gradient reaches b" in hint(lambda a, b, t: right(a, b.detach(), t))
        half = lambda a, b, t: right(a, (b + b.detach()) / 2, t)  # noqa: E731
        assert "not the gradient that reaches b" in hint(half)
        assert "NaN" in hint(lambda a, b, t: right(a, b, t) + 0 * (0 * a).sqrt().sum())
        assert [tensor.grad for tensor in given.values()] == [None, None]

    def test_shown(self):
        assert [_numbers.shown(x) for x in (2 / 3, torch.tensor(2), "a", torch.ones(2))] == [
            "0.6667", "2", "'a'", "tensor([1., 1.])",
        ]  # fmt: skip


class TestProgress:
    def test_done_stays_done_and_is_read_by_another_kernel(self, kept, monkeypatch, capsys):
        exercises.check("01.rate", lambda m, c: m)
        exercises.check("01.twice", lambda p: p * p)
        exercises.check("01.labels", None)
        assert json.loads(kept.read_text()) == {"01.rate": False, "01.twice": True}
        monkeypatch.setattr(_record, "_HERE", {})  # the next kernel
        exercises.check("01.twice", lambda p: p)
        exercises.check("01.rate", lambda m, c: c * (1 - m))
        states = exercises.progress().states
        assert states["01.rate"] is True and states["01.twice"] is True and states["01.labels"] is None
        assert sorted(states) == exercises.names()

    def test_all_exercises_are_listed_by_notebook(self, kept, capsys):
        exercises.check("01.twice", lambda p: p * p)
        exercises.check("02.weight", lambda hard, easy, tau: hard)
        table = exercises.progress()
        first, *lines = str(table).split("\n")
        assert first.startswith(f"1 of {len(exercises.names())} exercises done ✓, 1 tried ✗, ")
        (line,) = [line for line in lines if line.startswith("01 masking: ")]
        assert "✓ twice" in line and "· rate" in line
        bundle = table._repr_mimebundle_()
        assert DisplayFormatter().format(table)[0] == bundle
        assert bundle["text/plain"] == str(table) and bundle["text/html"].count("<tr>") == len(lines)
        assert sum(line.count("✓") + line.count("✗") + line.count("·") for line in lines) == len(exercises.names())

    def test_nothing_is_lost_where_the_file_cannot_be_written(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(_record, "_HERE", {})
        monkeypatch.setenv("CONTRAST_KIT_PROGRESS", str(tmp_path / "no" / "such" / "folder" / "tries.json"))
        exercises.check("01.twice", lambda p: p * p)
        assert exercises.progress().states["01.twice"] is True

    @pytest.mark.parametrize("broken", ["", "[1]", "{"])
    def test_a_broken_file_counts_as_none(self, kept, broken, capsys):
        kept.write_text(broken)
        assert exercises.progress().states["01.twice"] is None
        exercises.check("01.twice", lambda p: p * p)
        assert json.loads(kept.read_text()) == {"01.twice": True}

    def test_outside_of_notebooks_nothing_is_kept(self, tmp_path, monkeypatch, capsys):
        monkeypatch.delenv("CONTRAST_KIT_PROGRESS", raising=False)
        monkeypatch.setattr(_record, "_HERE", {})
        monkeypatch.chdir(tmp_path)
        exercises.check("01.twice", lambda p: p * p)
        assert list(tmp_path.iterdir()) == [] and exercises.progress().states["01.twice"] is None
        monkeypatch.setattr(_record, "in_notebook", lambda: True)
        exercises.check("01.twice", lambda p: p * p)
        assert [file.name for file in tmp_path.iterdir()] == [".exercises.json"]
        monkeypatch.setenv("CONTRAST_KIT_PROGRESS", "")
        assert _record.place() is None
