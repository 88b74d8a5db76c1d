"""What the reader sees of a verdict, which line of theirs a crash names, and what is remembered of their tries."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from contrast_kit.exercises import _answer, _verdict, check, judge, names, progress
from contrast_kit.masking import Masked


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file in which tries are kept."""
    monkeypatch.setenv("CONTRAST_KIT_PROGRESS", str(tmp_path / "tries.json"))
    return tmp_path / "tries.json"


def guess(B):
    return math.log(B)


class TestCrash:
    def test_the_line_of_the_readers_own_cell_is_named(self, tmp_path):
        cell = tmp_path / "cell.py"
        cell.write_text("import math\n\ndef answer(B):\n    return math.log(-B)\n")
        scope = {}
        exec(compile(cell.read_text(), str(cell), "exec"), scope)
        text = judge("00.guess", scope["answer"]).text
        assert "in line 4 of its cell, `return math.log(-B)`. ValueError: " in text

    def test_an_error_deep_in_a_library_is_told_at_the_readers_line(self):
        def answer(B):
            return torch.nn.functional.cross_entropy(B, B)  # the line that is named

        text = judge("00.guess", answer).text
        assert (
            "the line that is named" in text and "torch/" not in text and "\n" not in text
        )

    def test_a_function_that_cannot_be_called_so(self):
        text = judge("00.guess", lambda: 0).text
        assert "could not call your function" in text and "positional argument" in text


class TestArguments:
    def test_what_an_answer_changes_in_place_is_its_own(self):
        masked = Masked(torch.zeros(1, 1), torch.zeros(1, 1))
        given = (torch.zeros(2), np.zeros(2), [[0], (0, [0])], masked)

        def spoil(tensor, array, words, masked):
            tensor += 1
            array += 1
            words[0].append(2)
            words[1][1].clear()
            masked.input_ids.fill_(7)
            return isinstance(masked, Masked)

        before = repr(given)
        assert _answer.Answer(spoil)(*given) is True and repr(given) == before

    def test_gradients_reach_the_leaf_whose_copy_it_was_given(self):
        leaf = torch.ones(3, requires_grad=True)
        _answer.Answer(lambda x: (x.mul_(2) ** 2).sum())(leaf).backward()
        assert leaf.grad.tolist() == [8.0, 8.0, 8.0]


class TestProgress:
    def test_done_stays_done_and_is_read_by_another_kernel(self, kept):
        check("02.row", lambda scores, right: 0)
        check("00.guess", guess)
        check("01.labels", None)
        assert json.loads(kept.read_text()) == {"02.row": False, "00.guess": True}
        check("00.guess", lambda B: B)
        check("02.row", lambda scores, right: -scores.log_softmax(0)[right])
        states = progress()
        assert states["02.row"] and states["00.guess"] and states["01.labels"] is None
        assert sorted(states) == names()

    def test_all_exercises_are_listed_by_notebook(self, kept):
        check("00.guess", guess)
        check("02.row", lambda scores, right: 0)
        first, *lines = str(progress()).split("\n")
        assert first.startswith(f"1 of {len(names())} exercises done ✓, 1 tried ✗, ")
        (line,) = [line for line in lines if line.startswith("00: ")]
        assert "✓ guess" in line and "· by_hand" in line
        assert sum(len(re.findall("[✓✗·]", line)) for line in lines) == len(names())

    @pytest.mark.parametrize("broken", ["", "[1]", "{"])
    def test_a_broken_file_counts_as_none(self, kept, broken):
        kept.write_text(broken)
        assert progress()["00.guess"] is None
        check("00.guess", guess)
        assert json.loads(kept.read_text()) == {"00.guess": True}

    def test_outside_of_notebooks_nothing_is_kept(self, kept, monkeypatch):
        monkeypatch.delenv("CONTRAST_KIT_PROGRESS")
        monkeypatch.chdir(kept.parent)
        check("00.guess", guess)
        assert list(kept.parent.iterdir()) == [] and progress()["00.guess"] is None
        kernel = SimpleNamespace(kernel=None)
        monkeypatch.setattr("IPython.get_ipython", lambda: kernel)
        check("00.guess", guess)
        assert [file.name for file in kept.parent.iterdir()] == [".exercises.json"]
        monkeypatch.setenv("CONTRAST_KIT_PROGRESS", "")
        assert _verdict.place() is None
