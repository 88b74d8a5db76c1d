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
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit._util import progress_bar
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
_FOLDERS = [*dict.fromkeys(map(sysconfig.get_path, ("purelib", "platlib")))]
_RULES = tomllib.loads(Path(__file__).with_name("docstrings.toml").read_text("utf-8"))
_SKIPPED, _FUNCTION_WORDS = (
    set(_RULES[key].split()) for key in ("skipped", "function_words")
)
_IS = {name: re.compile(pattern) for name, pattern in _RULES["patterns"].items()}
_INLINE = [(re.compile(rule["markup"]), rule["words"]) for rule in _RULES["inline"]]


def load(pairs: bool = False) -> DatasetDict:
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

    table = _table()
    topics = ClassLabel(names=sorted(table["topic"].unique()))
    columns = ["text"]
    if pairs:
        table = _neighbours(table)
        columns = ["sentence1", "sentence2"]
    table["topic"] = topics.str2int(table["topic"].tolist())
    features = Features({**dict.fromkeys(columns, Value("string")), "topic": topics})
    splits = {}
    for split in _SPLITS:
        part = table.loc[table["split"] == split, list(features)]
        splits[split] = Dataset.from_dict(part.to_dict("list"), features=features)
    return DatasetDict(splits)


def harvest(sources: Iterable[tuple[str, Path]]) -> DataFrame:
    """Read the docstrings of `sources` (topic and Python file) into a table of distinct sentences.

    Columns: `text`, `topic`, `docstring` (its number), `place` (of the sentence in it) and `split`. A
    sentence that was met before, in whatever case, is left out. A file that is not Python of this version, or
    nearly all code, is passed over.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data.docstrings import harvest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "shop.py")
    ...     _ = file.write_text("def f():\\n    '''Find the price of a toy. It is given in cents.'''")
    ...     harvest([("shop", file)])[["topic", "text"]].values.tolist()
    [['shop', 'Find the price of a toy.'], ['shop', 'It is given in cents.']]
    """
    from pandas import DataFrame

    bar = progress_bar(list(sources), "reading docstrings", unit=" files")
    known: set[str] = set()
    rows = []
    number = 0
    gc.disable()  # else it would walk through all objects of torch again and again
    try:
        for topic, file in bar:
            for docstring in _docstrings(file):
                sentences = docstring_sentences(docstring)
                number += 1
                for place, sentence in enumerate(sentences):
                    if sentence.lower() not in known:
                        known.add(sentence.lower())
                        rows.append(
                            (sentence, topic, number, place, _split(sentences[0]))
                        )
    finally:
        gc.enable()
    return DataFrame(rows, columns=["text", "topic", "docstring", "place", "split"])


def installed_sources() -> Iterator[tuple[str, Path]]:
    """Yield the Python files of the installed libraries and of Python's own library, each with its topic."""
    python = Path(sysconfig.get_path("stdlib"))
    for root in [python, *map(Path, _FOLDERS)]:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED)
            inside = Path(folder).relative_to(root).parts
            if not inside and root != python:
                continue  # modules that stand alone in site-packages are too small to be a topic
            topic = "python" if root == python else inside[0].lstrip("_")
            for name in sorted(files):
                file = Path(folder, name)
                if name.startswith("test_") or not name.endswith(".py"):
                    continue
                if file.stat().st_size <= _LARGEST_FILE:
                    yield topic, file


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
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            yield ast.get_docstring(node) or ""
            pending += reversed(node.body)
        elif isinstance(node, ast.If | ast.Try):
            pending += reversed(node.body)


def _split(sentence: str) -> str:
    """Choose a split by the sentence itself: it stays there when other libraries are installed."""
    digest = hashlib.blake2b(sentence.lower().encode(), digest_size=8).digest()
    share = int.from_bytes(digest) / 2**64
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


def _table() -> DataFrame:
    """Read the table from the cache; harvest it where it is not there."""
    import pandas

    libraries = metadata.distributions(path=_FOLDERS)
    versions = sorted({f"{each.name} {each.version}" for each in libraries})
    installed = repr((_FORM, sys.version, sys.prefix, versions))
    key = hashlib.blake2b(installed.encode(), digest_size=8).hexdigest()
    return cached(
        f"docstrings-{key}.parquet",
        make=_harvested,
        read=pandas.read_parquet,
        write=lambda table, path: table.to_parquet(path),
    )


def _harvested() -> DataFrame:
    table = harvest(installed_sources())
    sizes = table["topic"].value_counts()
    table = table[table["topic"].isin(sizes.index[sizes >= _SMALLEST_TOPIC])]
    if table.empty:
        raise FileNotFoundError(
            "The installed libraries hold no sources to read docstrings from."
        )
    return table.reset_index(drop=True)


# From a docstring to its sentences


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
        sentences += [
            sentence for sentence in split_sentences(paragraph) if is_prose(sentence)
        ]
    return sentences


def is_prose(sentence: str) -> bool:
    """Tell whether `sentence` reads as one whole English sentence of 5 to 60 words.

    >>> from contrast_kit.data.docstrings import is_prose
    >>> is_prose("Two tensors are equal if all their elements are.")
    True
    >>> is_prose("x = f(y) for all y in the list.")
    False
    """
    if (
        not sentence[0].isupper()
        or sentence[-1] not in ".?!"
        or _IS["odd"].search(sentence)
    ):
        return False
    words = _IS["word"].findall(sentence)
    if not 5 <= len(words) <= 60 or sum(map(len, words)) + len(words) < 0.88 * len(
        sentence
    ):
        return False
    if sentence.count("(") != sentence.count(")") or sentence.count('"') % 2:
        return False
    if _IS["notice"].search(sentence):
        return False
    most = {"camel": 2, "shout": 1, "number": 3}
    if any(len(_IS[kind].findall(sentence)) > most[kind] for kind in most):
        return False
    letters = sum(len(word) == 1 and word not in "aAI" for word in words)
    small_words = sum(word.lower() in _FUNCTION_WORDS for word in words)
    return letters <= 1 and small_words >= max(1, len(words) // 8)


def _paragraphs(docstring: str) -> Iterator[str]:
    """Yield the paragraphs at the margin, joined to one line each, outside lists of parameters and code."""
    paragraph: list[str] = []
    in_list = in_fence = False
    for line, following in pairwise([*docstring.split("\n"), "", ""]):
        in_fence ^= line.lstrip().startswith(("```", "~~~"))
        margin = line[:1].strip()  # nothing, in an empty line and in an indented one
        underlined = bool(_IS["underline"].match(following))
        heading = margin and (underlined or _IS["heading"].match(line))
        if heading:
            # under an underlined heading a list stands at the margin; under "Args:" it is indented anyway
            in_list = underlined and _IS["list_heading"].match(line.strip())
        kinds = [
            kind
            for kind in ("underline", "code", "field", "bullet")
            if _IS[kind].match(line)
        ]
        if margin and not (heading or in_list or in_fence or kinds):
            paragraph.append(line)
            continue
        if paragraph and paragraph[0]:
            yield " ".join(paragraph)
        # the lines that follow a bullet or a field without a gap belong to it
        ended = not line.strip() or heading or "underline" in kinds
        paragraph = [] if ended else [""]
