"""Real English prose that is on every machine: the documentation inside the installed Python libraries.

The sources are parsed, never imported, and nothing of them is copied into this project: the sentences lie in
the user's cache folder. What comes out depends on what is installed, so numbers differ a little between
machines.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit.data.cache import cached
from contrast_kit.data.docstring_prose import docstring_sentences
from contrast_kit.data.gc_paused import gc_paused

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
    ("tests", "test", "testing", "_testing", "test_utils", "__pycache__", "site-packages", "dist-packages")
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
    if pairs:
        table = _neighbours(table)
    columns = ["sentence1", "sentence2"] if pairs else ["text"]
    features = Features({**{column: Value("string") for column in columns}, "topic": topics})
    splits = {}
    for split in _SPLITS:
        part = table[table["split"] == split]
        values = {column: part[column].tolist() for column in columns}
        splits[split] = Dataset.from_dict(
            {**values, "topic": topics.str2int(part["topic"].tolist())}, features=features
        )
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

    seen: set[str] = set()
    rows = []
    number = 0
    with gc_paused():
        for topic, file in tqdm(list(sources), "reading docstrings", unit=" files", disable=not progress):
            for docstring in _docstrings(file):
                sentences = docstring_sentences(docstring)
                number += 1
                for place, sentence in enumerate(sentences):
                    key = sentence.lower()
                    if key not in seen:
                        seen.add(key)
                        rows.append((sentence, topic, number, place, _split(sentences[0])))
    return DataFrame(rows, columns=["text", "topic", "docstring", "place", "split"])


def installed_sources() -> Iterator[tuple[str, Path]]:
    """Yield the Python files of the installed libraries and of Python's own library, each with its topic."""
    roots = [Path(sysconfig.get_path("stdlib")), *map(Path, _library_folders())]
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED)
            inside = Path(folder).relative_to(root).parts
            if not inside and root != roots[0]:
                continue  # modules that stand alone in site-packages are too small to be a topic
            topic = "python" if root == roots[0] else inside[0].lstrip("_")
            for name in sorted(files):
                file = Path(folder, name)
                if name.endswith(".py") and not name.startswith("test_") and file.stat().st_size <= _LARGEST_FILE:
                    yield topic, file


def _library_folders() -> list[str]:
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


def _versions() -> list[str]:
    """What is read, by name and version; not this project, nor what else a process happens to find on its path."""
    found = {f"{each.name} {each.version}" for each in metadata.distributions(path=_library_folders())}
    return sorted(each for each in found if not each.replace("_", "-").startswith("contrast-kit "))


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
            if docstring := ast.get_docstring(node):
                yield docstring
            pending += reversed(node.body)
        elif isinstance(node, ast.If | ast.Try):
            pending += reversed(node.body)


def _split(sentence: str) -> str:
    """Choose a split by the sentence itself: it stays there when other libraries are installed."""
    share = int.from_bytes(hashlib.blake2b(sentence.lower().encode(), digest_size=8).digest()) / 2**64
    for split, size in _SPLITS.items():
        share -= size
        if share < 0:
            return split
    return split


def _neighbours(table: DataFrame) -> DataFrame:
    """Pair the first sentence of each docstring with the second, where neither was met elsewhere before."""
    first = table[table["place"] == 0]
    second = table.loc[table["place"] == 1, ["docstring", "text"]]
    return first.merge(second, on="docstring", suffixes=("", "2")).rename(
        columns={"text": "sentence1", "text2": "sentence2"}
    )


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
