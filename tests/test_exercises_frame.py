"""What the reader sees of a verdict, which line of theirs a crash names, and what is remembered of their tries."""

import html
import json
import re

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter

from contrast_kit import exercises
from contrast_kit.exercises import _answer, _verdict, judge
from contrast_kit.masking import Masked


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file in which tries are kept, and no memory of earlier ones."""
    monkeypatch.setattr(_verdict, "_HERE", {})
    monkeypatch.setenv("CONTRAST_KIT_PROGRESS", str(tmp_path / "tries.json"))
    return tmp_path / "tries.json"


class TestVerdict:
    def test_the_words_are_the_same_in_html_and_in_text(self):
        for answer in (lambda m, c: c * (1 - m), lambda m, c: m * c, lambda m, c: None):
            verdict = judge("01.rate", answer)
            bundle = verdict._repr_mimebundle_()
            words = html.unescape(re.sub(r"<[^>]+>", "", bundle["text/html"]))
            assert bundle["text/plain"] == str(verdict)
            assert DisplayFormatter().format(verdict)[0] == bundle  # what a notebook stores
            assert words == re.sub(r"\*(\S[^*]*\S)\*", r"\1", str(verdict)), words

    def test_what_a_reader_wrote_is_no_html(self):
        def answer(p_m, p_c):
            raise ValueError("<script>alert(1)</script>")

        page = judge("01.rate", answer)._repr_mimebundle_()["text/html"]
        assert "<script>" not in page and "&lt;script&gt;" in page

    def test_it_is_printed_outside_of_notebooks_and_displayed_in_them(
        self, capsys, monkeypatch, kept
    ):
        exercises.check("01.rate", None)
        stored = (
            "· 01.rate: not yet answered. Fill in the function above, then run this cell again.\n"
        )
        assert capsys.readouterr().out == stored
        shown = []
        monkeypatch.setattr(_verdict, "in_notebook", lambda: True)
        monkeypatch.setattr("IPython.display.display", shown.append)
        exercises.check("01.rate", None)
        assert capsys.readouterr().out == "" and shown[0].right is None


class TestCrash:
    def test_the_line_of_the_readers_own_cell_is_named(self, tmp_path):
        cell = tmp_path / "cell.py"
        cell.write_text(
            "import math\n\n\ndef answer(p_m, p_c):\n    free = 1 - p_m\n    return math.log(free - 1)\n"
        )
        scope = {}
        exec(compile(cell.read_text(), str(cell), "exec"), scope)
        text = judge("01.rate", scope["answer"]).text
        assert (
            "in line 6 of its cell, `return math.log(free - 1)`. ValueError: " in text
            and text.endswith(".")
        )

    def test_an_error_deep_in_a_library_is_told_at_the_readers_line(self):
        def answer(p_m, p_c):
            return torch.nn.functional.cross_entropy(p_m, p_c)  # the line that is named

        text = judge("01.rate", answer).text
        assert "the line that is named" in text and "torch/" not in text and "\n" not in text

    def test_a_function_that_cannot_be_called_so(self):
        text = judge("01.rate", lambda p: p).text
        assert "could not call your function" in text and "positional argument" in text

    def test_an_error_without_words(self):
        assert _answer.crash(KeyError()).endswith("KeyError: no more is said.")


class TestArguments:
    def test_what_an_answer_changes_in_place_is_its_own(self):
        tensor = torch.zeros(2)
        array = np.zeros(2)
        words = [[1], (2, [3])]
        masked = Masked(torch.zeros(1, 1), torch.zeros(1, 1))

        def spoil(tensor, array, words, masked):
            tensor += 1
            array += 1
            words[0].append(2)
            words[1][1].clear()
            masked.input_ids.fill_(7)
            return isinstance(masked, Masked)

        assert _answer.Answer(spoil)(tensor, array, words, masked) is True
        assert (
            tensor.sum() == 0
            and array.sum() == 0
            and words == [[1], (2, [3])]
            and masked.input_ids.sum() == 0
        )

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

    @pytest.mark.parametrize(
        "answer", [lambda m, c: [].append(m), print, lambda m, c: None if m > 0 else c]
    )
    def test_what_ran_and_returned_none_is_told_so(self, answer, capsys):
        verdict = judge("01.rate", answer)
        assert verdict.right is False and "ran, but returned None" in verdict.text


class TestProgress:
    def test_done_stays_done_and_is_read_by_another_kernel(self, kept, monkeypatch, capsys):
        exercises.check("01.rate", lambda m, c: m)
        exercises.check("01.twice", lambda p: p * p)
        exercises.check("01.labels", None)
        assert json.loads(kept.read_text()) == {"01.rate": False, "01.twice": True}
        monkeypatch.setattr(_verdict, "_HERE", {})  # the next kernel
        exercises.check("01.twice", lambda p: p)
        exercises.check("01.rate", lambda m, c: c * (1 - m))
        states = exercises.progress().states
        assert (
            states["01.rate"] is True and states["01.twice"] is True and states["01.labels"] is None
        )
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
        assert bundle["text/plain"] == str(table) and bundle["text/html"].count("<tr>") == len(
            lines
        )
        assert sum(line.count("✓") + line.count("✗") + line.count("·") for line in lines) == len(
            exercises.names()
        )

    def test_nothing_is_lost_where_the_file_cannot_be_written(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(_verdict, "_HERE", {})
        monkeypatch.setenv(
            "CONTRAST_KIT_PROGRESS", str(tmp_path / "no" / "such" / "folder" / "tries.json")
        )
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
        monkeypatch.setattr(_verdict, "_HERE", {})
        monkeypatch.chdir(tmp_path)
        exercises.check("01.twice", lambda p: p * p)
        assert list(tmp_path.iterdir()) == [] and exercises.progress().states["01.twice"] is None
        monkeypatch.setattr(_verdict, "in_notebook", lambda: True)
        exercises.check("01.twice", lambda p: p * p)
        assert [file.name for file in tmp_path.iterdir()] == [".exercises.json"]
        monkeypatch.setenv("CONTRAST_KIT_PROGRESS", "")
        assert _verdict.place() is None
