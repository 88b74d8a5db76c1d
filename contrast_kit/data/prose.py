"""Running text to sentences or paragraphs: novels, WikiText, any plain text file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from contrast_kit._util import choose

Unit = Literal["sentence", "paragraph", "line"]

# A full stop after one of these ends no sentence.
_ABBREVIATIONS = """mr mrs ms dr st prof rev hon capt col gen sir esq messrs jr sr vs etc eg ie cf al fig figs eq
    eqs sec ch vol no nos pp ed eds approx resp incl viz ca dept inc ltd co corp jan feb aug sept
    oct nov dec e.g i.e w.r.t a.k.a u.s u.k a.m p.m ph.d"""
_ENDS_NONE = frozenset(_ABBREVIATIONS.split())
_END = re.compile(
    r"""(?<![.!?…؟।])[.!?…؟।]++["'”’»)\]]*(?:\s["'”»](?=\s))?\s+(?=["'“‘„«¡¿(\[]*\s?(\w))"""  # a letter or digit
    r"""|[。！？]+[」』”’）]*\s*(?=\S())"""  # Chinese and Japanese leave no blank
)
_MARKS = " \"'“”‘’()"
_LAST_WORD = re.compile(r"((?:[^\W\d_]|\.)+)\.$")
_HEADING = re.compile(r"^\s*(=+ ).+( =+)\s*$")


def split_sentences(text: str) -> list[str]:
    """Split running text at full stops, question and exclamation marks that end a sentence.

    A stop after an abbreviation ("Mr.", "e.g.") or an initial ("J. Smith") ends none; nor does one before
    a lower-case letter. White space is folded. Simple rules, right in about 98 of 100 cases in edited
    English. Letters of other alphabets, "…", "¿", "«", the danda and the full stops of Chinese and Japanese count as
    well; the abbreviations are English.

    >>> from contrast_kit.data import split_sentences
    >>> split_sentences("Mr. Dashwood came in. He sat down!  \\"Is it late?\\" he asked.")
    ['Mr. Dashwood came in.', 'He sat down!', '"Is it late?" he asked.']
    """
    sentences, start = [], 0
    text = " ".join(text.split())
    for match in _END.finditer(text):
        if match[1] and match[1].islower():
            continue
        # no abbreviation is longer; a whole text would be searched at each stop
        near = max(start, match.start() - 20)
        word = _LAST_WORD.search(text, near, match.start() + 1)
        letters = word[1] if word else ""
        initial = len(letters) == 1 and letters.isupper() and letters != "I"
        if initial or letters.lower() in _ENDS_NONE:
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    return list(filter(None, [*sentences, text[start:].strip()]))


def units(text: str, unit: Unit = "sentence") -> Iterator[str]:
    """Cut a text file's content into sentences, paragraphs or lines, whichever way the file is laid out.

    Lines that were broken to a width ("hard-wrapped") are joined again to paragraphs; in other files each
    line is a paragraph. Lines without a letter are left out, and WikiText's heading lines (`= Title =`). Raises
    `ValueError` for another `unit`.

    >>> from contrast_kit.data.prose import units
    >>> list(units(" = Lobster = \\n It is a crustacean . It is blue . \\n\\n", unit="paragraph"))
    ['It is a crustacean . It is blue .']
    """
    lines = [line.rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    lines = ["" if _HEADING.match(line) else line for line in lines]
    layout = choose(
        {"sentence": _paragraphs, "paragraph": _paragraphs, "line": list},
        unit,
        "unit of text",
    )
    for paragraph in layout(lines):
        if not any(letter.isalpha() for letter in paragraph):
            continue
        if unit == "sentence":
            yield from split_sentences(paragraph)
        else:
            yield " ".join(paragraph.split())


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Join hard-wrapped lines: a paragraph ends before an empty or indented line, or after a short one."""
    width = _wrap_width(lines)
    if width is None:
        yield from lines
        return
    paragraph: list[str] = []
    for line in lines:
        if paragraph and (not line or line[0].isspace()):
            yield " ".join(paragraph)
            paragraph = []
        if not line:
            continue
        paragraph.append(line)
        if len(line) < 0.75 * width and _stops(line):
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


def _wrap_width(lines: Sequence[str]) -> int | None:
    """Give the width at which the lines were broken, or `None` where each line is a paragraph of its own.

    In wrapped text most lines end just below one width, and the next line goes on in small letters; lines that are
    sentences or paragraphs have any length, and begin with a capital letter even where none of them ends with a stop.
    """
    lengths = sorted(len(line) for line in lines if line.strip())
    if len(lengths) < 5:
        return None
    width = lengths[int(0.98 * (len(lengths) - 1))]
    near = sum(0.8 * width <= length <= width for length in lengths) / len(lengths)
    if width > 120 or near < 0.5:
        return None
    going_on = [
        after.strip(_MARKS)[:1]
        for before, after in pairwise(lines)
        if before and after and not _stops(before)
    ]
    return width if 4 * sum(map(str.isupper, going_on)) < 3 * len(going_on) else None


def _stops(line: str) -> bool:
    return line.rstrip(_MARKS).endswith((".", "!", "?", ":"))
