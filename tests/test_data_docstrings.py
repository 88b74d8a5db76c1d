"""Docstrings: only prose comes through, each sentence once, and no sentence in two splits."""

import pytest

from contrast_kit import data
from contrast_kit.data import docstrings
from contrast_kit.data.docstrings import docstring_sentences, is_prose

NUMPY_STYLE = """Compute the ``mean`` of all values along an axis.

The mean is taken over the *flattened* array by default, see :func:`~numpy.mean` [1]_.

    mean = total / count  # this block is code, not a sentence at all.

Parameters
----------
a : array
    The values to average over, of any shape you like.

Notes
-----
A value that is missing makes the whole result missing.

>>> mean([1, 2])
The output of an example is not prose that we want.

References
----------
.. [1] A book on the mean that should not be quoted here.
"""


def test_numpy_style():
    assert docstring_sentences(NUMPY_STYLE) == [
        "Compute the mean of all values along an axis.",
        "The mean is taken over the flattened array by default, see mean.",
        "A value that is missing makes the whole result missing.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x = f(y) for all y in the list.",
        "Call self.run() before you use it.",
        "see the list of all the names.",
        "All of these are given",
        "A b c d e f of the g.",
    ],
)
def test_what_is_no_prose(text):
    assert not is_prose(text)


def test_harvest_reads_every_level_and_takes_each_sentence_once(tmp_path):
    one, other, broken = (
        tmp_path / "one.py",
        tmp_path / "other.py",
        tmp_path / "broken.py",
    )
    one.write_text(
        '"""This module is about the shop. It has a second sentence."""\n'
        'class A:\n    """This class is about the shelf."""\n'
        '    def f(self):\n        """This method is about the toy."""\n'
        'if True:\n    async def g():\n        """This function waits for the customer."""\n'
        'NOT = """This string is no docstring of any thing."""\n'
    )
    other.write_text(
        'def f():\n    """THIS class is about the shelf. It holds all of the toys."""\n'
    )
    broken.write_text('def f(:\n    """This file is not Python at all."""\n')
    table = docstrings.harvest([("a", one), ("b", other), ("c", broken)])
    assert table[["text", "topic", "place"]].values.tolist() == [
        ["This module is about the shop.", "a", 0],
        ["It has a second sentence.", "a", 1],
        ["This class is about the shelf.", "a", 0],
        ["This method is about the toy.", "a", 0],
        ["This function waits for the customer.", "a", 0],
        ["It holds all of the toys.", "b", 1],
    ]
    assert (table.groupby("docstring")["split"].nunique() == 1).all()


@pytest.fixture(scope="module")
def installed():
    return data.load("docstrings"), data.load("docstrings/pairs")


@pytest.mark.full
def test_the_installed_libraries_give_fifty_thousand_sentences(installed):
    texts, pairs = installed
    sentences = [text for split in texts.values() for text in split["text"]]
    assert len(sentences) >= 50_000
    assert len({sentence.lower() for sentence in sentences}) == len(sentences)
    assert all(is_prose(sentence) for sentence in sentences)
    assert len(pairs["train"]) >= 5_000
    assert pairs["train"].column_names == ["sentence1", "sentence2", "topic"]
    assert {"python", "torch"} <= set(texts["train"].features["topic"].names)


@pytest.mark.full
def test_no_sentence_stands_in_two_splits_pairs_or_not(installed):
    texts, pairs = installed
    seen = {
        split: set(texts[split]["text"]) | set(data.sentences(pairs[split]))
        for split in texts
    }
    assert len(set().union(*seen.values())) == sum(map(len, seen.values()))


@pytest.mark.full
def test_a_neighbour_is_the_next_sentence_and_stands_in_the_same_split(
    tmp_path, monkeypatch
):
    source = tmp_path / "shop.py"
    said = [
        f"This function tells the price of shop {at}. It also has a shelf for each of the toys {at}. "
        f"The last of the sentences here is number {at}."
        for at in range(400)
    ]
    source.write_text(
        "\n".join(f'def f{at}():\n    """{text}"""' for at, text in enumerate(said))
    )
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(docstrings, "installed_sources", lambda: [("shop", source)])
    texts, pairs = docstrings.load(), data.load("docstrings/pairs")
    for split, rows in pairs.items():
        for row in rows:
            number = row["sentence1"].split()[-1].rstrip(".")
            assert (
                row["sentence2"] == f"It also has a shelf for each of the toys {number}."
            )
            assert {row["sentence1"], row["sentence2"]} <= set(texts[split]["text"])
    shares = [len(rows) / 1200 for rows in texts.values()]
    assert shares == pytest.approx([0.9, 0.05, 0.05], abs=0.04)
