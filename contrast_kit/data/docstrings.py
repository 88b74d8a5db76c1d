"""Real English prose that is on every machine: the documentation inside the installed Python libraries.

The sources are parsed, never imported, and nothing of them is copied into this project: the sentences lie in
the user's cache folder. What comes out depends on what is installed, so numbers differ a little between
machines. From a docstring to its English sentences: code, sections on parameters and markup are left out.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit.data.cache import cached
from contrast_kit.data.prose import split_sentences

if TYPE_CHECKING:
    from datasets import DatasetDict
    from pandas import DataFrame

_FORM = 3  # increase it when the harvest changes, so that no one reads an old cache
_SPLITS = {"train": 0.9, "validation": 0.05, "test": 0.05}
_SMALLEST_TOPIC = 200  # sentences; a topic with fewer can be neither learnt nor measured
_CODE_PER_QUOTES = 2_000  # characters; a file with more is nearly all code: a quarter of the time, 8 % of the prose
_LARGEST_FILE = 600_000  # bytes; what is larger was written by a program
_SKIPPED = frozenset(
    # tests; copies of other libraries; folders that hold one text in hundreds of variants; this project
    (
        "tests",
        "test",
        "testing",
        "_testing",
        "test_utils",
        "__pycache__",
        "site-packages",
        "dist-packages",
    )
    + ("_vendor", "vendor", "vendored", "_vendored", "externals", "lib2to3", "idlelib")
    + ("models", "_generated", "sync_api", "async_api", "torchgen", "_inductor", "contrast_kit")
)


def load(pairs: bool = False, progress: bool = True) -> DatasetDict:
    """Load the docstrings: splits train, validation and test, with the columns `text` and `topic`.

    `topic` is the library (a `ClassLabel`). With `pairs`, a row is the first sentence of a docstring and the
    one after it, `sentence1` and `sentence2`: two texts about one thing, a natural positive pair. Splits are
    made by docstring, by a hash of its first sentence; no sentence stands in two of them, pairs or not.

    The first call reads the installed libraries (about 20 seconds, with a progress bar) and keeps the result
    in the user's cache folder, or the one that `CONTRAST_KIT_CACHE` names; later calls are instant, until
    another version of a library is installed. Use it as `data.load("docstrings")` and
    `data.load("docstrings/pairs")`.
    """
    from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

    table = _table(progress)
    topics = ClassLabel(names=sorted(table["topic"].unique()))
    columns = ["text"]
    if pairs:
        table = _neighbours(table)
        columns = ["sentence1", "sentence2"]
    features = Features({**{column: Value("string") for column in columns}, "topic": topics})
    splits = {}
    for split in _SPLITS:
        part = table[table["split"] == split]
        values = {column: part[column].tolist() for column in columns}
        values["topic"] = topics.str2int(part["topic"].tolist())
        splits[split] = Dataset.from_dict(values, features=features)
    return DatasetDict(splits)


def harvest(sources: Iterable[tuple[str, Path]], progress: bool = True) -> DataFrame:
    """Read the docstrings of `sources` (topic and Python file) into a table of distinct sentences.

    Columns: `text`, `topic`, `docstring` (its number), `place` (of the sentence in it) and `split`. A
    sentence that was met before, in whatever case, is left out. A file that is not Python of this version, or
    nearly all code, is passed over.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data.docstrings import harvest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "shop.py")
    ...     _ = file.write_text("def f():\\n    '''Find the price of a toy. It is given in cents.'''")
    ...     harvest([("shop", file)], progress=False)[["topic", "text"]].values.tolist()
    [['shop', 'Find the price of a toy.'], ['shop', 'It is given in cents.']]
    """
    from pandas import DataFrame
    from tqdm.auto import tqdm

    known: set[str] = set()
    rows = []
    number = 0
    gc.disable()  # else it would walk through all objects of torch again and again
    try:
        for topic, file in tqdm(
            list(sources), "reading docstrings", unit=" files", disable=not progress
        ):
            for docstring in _docstrings(file):
                sentences = docstring_sentences(docstring)
                number += 1
                for place, sentence in enumerate(sentences):
                    if sentence.lower() not in known:
                        known.add(sentence.lower())
                        rows.append((sentence, topic, number, place, _split(sentences[0])))
    finally:
        gc.enable()
    return DataFrame(rows, columns=["text", "topic", "docstring", "place", "split"])


def installed_sources() -> Iterator[tuple[str, Path]]:
    """Yield the Python files of the installed libraries and of Python's own library, each with its topic."""
    python = Path(sysconfig.get_path("stdlib"))
    for root in [python, *map(Path, _library_folders())]:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED)
            inside = Path(folder).relative_to(root).parts
            if not inside and root != python:
                continue  # modules that stand alone in site-packages are too small to be a topic
            topic = "python" if root == python else inside[0].lstrip("_")
            for name in sorted(files):
                file = Path(folder, name)
                if (
                    name.endswith(".py")
                    and not name.startswith("test_")
                    and file.stat().st_size <= _LARGEST_FILE
                ):
                    yield topic, file


def _library_folders() -> list[str]:
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


def _versions() -> list[str]:
    """What is read, by name and version; not this project, nor what else a process happens to find on its path."""
    libraries = {
        f"{each.name} {each.version}" for each in metadata.distributions(path=_library_folders())
    }
    return sorted(
        each for each in libraries if not each.replace("_", "-").startswith("contrast-kit ")
    )


def _docstrings(file: Path) -> Iterator[str]:
    try:
        source = file.read_text("utf-8")
        if (source.count('"""') + source.count("'''")) * _CODE_PER_QUOTES < len(source):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's invalid escapes
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
            pending += reversed(node.body)
        elif isinstance(node, ast.If | ast.Try):
            pending += reversed(node.body)


def _split(sentence: str) -> str:
    """Choose a split by the sentence itself: it stays there when other libraries are installed."""
    share = (
        int.from_bytes(hashlib.blake2b(sentence.lower().encode(), digest_size=8).digest()) / 2**64
    )
    for split, size in _SPLITS.items():
        share -= size
        if share < 0:
            return split
    return split


def _neighbours(table: DataFrame) -> DataFrame:
    """Pair the first sentence of each docstring with the second, where neither was met elsewhere before."""
    first = table[table["place"] == 0]
    second = table.loc[table["place"] == 1, ["docstring", "text"]]
    pairs = first.merge(second, on="docstring", suffixes=("", "2"))
    return pairs.rename(columns={"text": "sentence1", "text2": "sentence2"})


def _table(progress: bool) -> DataFrame:
    """Read the table from the cache; harvest it where it is not there."""
    import pandas

    installed = repr((_FORM, sys.version, sys.prefix, _versions()))
    key = hashlib.blake2b(installed.encode(), digest_size=8).hexdigest()
    return cached(
        f"docstrings-{key}.parquet",
        make=lambda: _harvested(progress),
        read=pandas.read_parquet,
        write=lambda table, path: table.to_parquet(path),
    )


def _harvested(progress: bool) -> DataFrame:
    table = harvest(installed_sources(), progress)
    sizes = table["topic"].value_counts()
    table = table[table["topic"].isin(sizes.index[sizes >= _SMALLEST_TOPIC])].reset_index(drop=True)
    if table.empty:
        raise FileNotFoundError("The installed libraries hold no sources to read docstrings from.")
    return table


# From a docstring to its sentences

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

    >>> from contrast_kit.data.docstrings import docstring_sentences
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

    >>> from contrast_kit.data.docstrings import is_prose
    >>> is_prose("Two tensors are equal if all their elements are.")
    True
    >>> is_prose("x = f(y) for all y in the list.")
    False
    """
    if not sentence[0].isupper() or sentence[-1] not in ".?!" or _ODD.search(sentence):
        return False
    words = _WORD.findall(sentence)
    if (
        not 5 <= len(words) <= 60
        or sentence.count("(") != sentence.count(")")
        or sentence.count('"') % 2
    ):
        return False
    if sum(map(len, words)) + len(words) < 0.88 * len(sentence) or _NOTICE.search(sentence):
        return False
    if (
        len(_CAMEL.findall(sentence)) > 2
        or len(_SHOUT.findall(sentence)) > 1
        or len(_NUMBER.findall(sentence)) > 3
    ):
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
        heading = (
            bool(line)
            and not line[0].isspace()
            and (underlined or _HEADING.match(line) is not None)
        )
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
