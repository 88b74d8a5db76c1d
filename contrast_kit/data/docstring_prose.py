"""From a docstring to the English sentences in it: code, sections on parameters and markup are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contrast_kit.data.prose import split_sentences

# Sections that are lists of names rather than prose, in numpy's, Google's and plain spelling.
_LISTS = (
    "parameters|other parameters|returns?|yields?|raises?|warns?|attributes|methods|see also|references|args"
    "|arguments|keyword args|keyword arguments|keywords|params|kwargs|options|shape|inputs?|outputs?|usage"
    "|signature|todo|authors?|properties|fields|members|examples?|caveats|versions?|copyright|license"
    "|call arguments|input shape|output shape|side effects|exceptions"
)
_LIST_HEADING = re.compile(rf"^(?:#+ |\*\*)?(?:{_LISTS})\b[\w ]*:{{0,2}}(?:\*\*)?$", re.IGNORECASE)
_UNDERLINE = re.compile(r"^\s*([=\-~^\"'`#*+])\1{2,}\s*$")
_HEADING = re.compile(r"^(?:#+ .*|[A-Z][\w ]{0,40}:{0,2})$")
_FIELD = re.compile(r"^\s*[:@][a-zA-Z]+\b[^:`]*:")
_BULLET = re.compile(r"^\s*(?:[-*+•] |\d+[.)] |\(?[a-z0-9]\) |\|)")
_CODE = re.compile(r"^\s*(?:>>>|\.\.\.|\$ |% |In \[|Out\[|```|~~~|\.\. )")

_INLINE = [  # markup → the words a reader sees
    (re.compile(r"\s?\[[\w#*-]{1,12}\]_"), ""),  # a footnote
    (re.compile(r":[\w:+-]+:`[!~]?([^`<]+?)\s*<[^`>]*>`"), r"\1"),  # :class:`words <target>`
    (re.compile(r":[\w:+-]+:`~(?:[^`]*\.)?([^`.]+)`"), r"\1"),  # :class:`~module.Name`
    (re.compile(r":[\w:+-]+:`!?([^`]+)`"), r"\1"),  # :class:`Name`
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?"), r"\1"),  # `words <https://…>`_
    (re.compile(r"\[`?([^\]`]+)`?\]\((?:[^)]*)\)"), r"\1"),  # [words](https://…)
    (re.compile(r"\[`~?([^\]`]+)`\]"), r"\1"),  # [`Name`]
    (re.compile(r"``?([^`]+?)``?_{0,2}"), r"\1"),  # ``code``, `word`_
    (re.compile(r"(?<!\w)\*\*([^*\s][^*]*)\*\*(?!\w)"), r"\1"),
    (re.compile(r"(?<!\w)[*_]([^*_\s][^*_]*)[*_](?!\w)"), r"\1"),
    (re.compile(r"\|(\w+)\|"), r"\1"),
    (re.compile(r"\\ "), ""),  # an escaped space, as in `word`\ s
]

_ODD = re.compile(  # what prose does not have: symbols, addresses, calls, dotted names, spaces before a stop
    r"[_=<>{}\\|@#`~^$\[\]*+/]|https?:|www\.|\(\)|::|\.\.|--|[a-z]\.[a-z]{2,}|\d\.\d+\.\d|\w:\w|\s[.,;:)]"
    r"|[^ -~’“”–—]"
)
_SHOUT = re.compile(r"\b[A-Z]{5,}\b")
_CAMEL = re.compile(r"\b(?:[a-z]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}[A-Z]*)\b")
_NUMBER = re.compile(r"\b\d[\d.,]*\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the a an of is are was were to in on and or for be been this that these those with not if by from as "
        "at it its when which will can may should must has have does do no all any each than then but into "
        "only so we you",
    )
)
_NOTICE = re.compile(
    r"copyright|licen[sc]ed?\b|all rights reserved|warrant|\bauthors?:|\bversionadded|deprecated since"
    r"|e-?mail|doctest"
    r"|\bpylint|\bnoqa|\btodo\b|\bfixme|redistribut|\bisbn\b|\bdoi\b|\bpp\. \d|\bvol\. |et al",
    re.IGNORECASE,
)


def docstring_sentences(docstring: str) -> list[str]:
    """Give the sentences of English prose in a docstring, in order, without code and markup.

    `docstring` must be cleaned of its indentation (as `inspect.cleandoc` does): what is indented counts as code. A
    sentence that is not plainly prose is left out whole, never repaired: it must begin with a capital, end with ".",
    "?" or "!" and hold mostly words.

    >>> from contrast_kit.data.docstring_prose import docstring_sentences
    >>> docstring_sentences('''Return the *largest* item of a list.
    ...
    ... The list is not changed, see :func:`~shop.smallest`.
    ...
    ... Parameters
    ... ----------
    ... items : list
    ...     The items to look at.
    ...
    ... >>> largest([1, 2])
    ... ''')
    ['Return the largest item of a list.', 'The list is not changed, see smallest.']
    """
    sentences = []
    for paragraph in _paragraphs(docstring):
        for pattern, words in _INLINE:
            paragraph = pattern.sub(words, paragraph)
        sentences += [sentence for sentence in split_sentences(paragraph) if is_prose(sentence)]
    return sentences


def is_prose(sentence: str) -> bool:
    """Tell whether `sentence` reads as one whole English sentence of 5 to 60 words.

    >>> from contrast_kit.data.docstring_prose import is_prose
    >>> is_prose("Two tensors are equal if all their elements are.")
    True
    >>> is_prose("x = f(y) for all y in the list.")
    False
    """
    if not sentence[0].isupper() or sentence[-1] not in ".?!" or _ODD.search(sentence):
        return False
    words = _WORD.findall(sentence)
    if not 5 <= len(words) <= 60 or sentence.count("(") != sentence.count(")") or sentence.count('"') % 2:
        return False
    if sum(map(len, words)) + len(words) < 0.88 * len(sentence) or _NOTICE.search(sentence):
        return False
    if len(_CAMEL.findall(sentence)) > 2 or len(_SHOUT.findall(sentence)) > 1 or len(_NUMBER.findall(sentence)) > 3:
        return False
    letters = sum(len(word) == 1 and word not in "aAI" for word in words)
    small_words = sum(word.lower() in _FUNCTION_WORDS for word in words)
    return letters <= 1 and small_words >= max(1, len(words) // 8)


def _paragraphs(docstring: str) -> Iterator[str]:
    """Yield the paragraphs at the margin, joined to one line each, outside lists of parameters and code."""
    paragraph: list[str] = []
    in_list = in_fence = False
    lines = docstring.split("\n")
    for at, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            in_fence = not in_fence
        underlined = at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1]) is not None
        heading = bool(line) and not line[0].isspace() and (underlined or _HEADING.match(line) is not None)
        if heading:
            # under an underlined heading a list stands at the margin; under "Args:" it is indented anyway
            in_list = underlined and _LIST_HEADING.match(line.strip()) is not None
        breaks = not line.strip() or heading or in_list or in_fence or line[0].isspace()
        if breaks or any(pattern.match(line) for pattern in (_UNDERLINE, _CODE, _FIELD, _BULLET)):
            yield from _joined(paragraph)
            # the lines that follow a bullet or a field without a gap belong to it
            paragraph = [] if not line.strip() or heading or _UNDERLINE.match(line) else [""]
            continue
        paragraph.append(line)
    yield from _joined(paragraph)


def _joined(paragraph: list[str]) -> Iterator[str]:
    if paragraph and paragraph[0]:
        yield " ".join(paragraph)
