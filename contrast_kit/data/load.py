"""One call for every data set: `load(name)` makes it, reads it from disk, or gets it from the hub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit._util import choose, meant, warn
from contrast_kit.data import glue, hub
from contrast_kit.data.labels import number_splits
from contrast_kit.data.prose import Unit, units
from contrast_kit.data.rows import (
    column,
    column_names,
    given_columns,
    text_columns,
)

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

PROSE = frozenset({".txt", ".raw", ".tokens"})
TABLES = frozenset({".csv", ".tsv", ".parquet", ".json", ".jsonl"})
HUB_NAMES: dict[str, list[str]] = glue.TABLES["hub"]
_SPLITS: dict[str, str] = glue.TABLES["splits"]
# A number, a sentence, or four words: no name of a column.
_VALUE = re.compile(r"[-+]?\d+(\.\d+)?|.*[.?!]|\s*(\S+\s+){3,}\S+\s*", re.DOTALL)


def load(
    name: str | Path,
    *,
    folder: str | Path | None = None,
    config: str | None = None,
    unit: Unit = "sentence",
    quoted: bool = False,
    label: str = "label",
    labels: Sequence[str] | None = None,
) -> DatasetDict:
    """Load a data set by name, path or hub id, as splits with the columns and label integers of `nyu-mll/glue`.

    | `name` | what |
    |---|---|
    | `"toyshop/sst2"`, `"toyshop/text"`, `"othershop/…"` | made by a grammar; GLUE's tasks, except WNLI |
    | `"scenes/captions"`, `"scenes/vqa"`, … | language on drawn shelves; `data.scenes.pictures()` are their regions |
    | `"docstrings"`, `"docstrings/pairs"` | prose in the installed libraries; see `data.docstrings` |
    | `"glue/sst2"` with `folder=` | GLUE's own files: the folder `SST-2`, or the one that holds it |
    | a path | a GLUE folder, one that `save_to_disk` wrote, or text, CSV, TSV, Parquet, JSON: a file or a folder |
    | `"glue/sst2"`, `"wikitext"`, any hub id | from the hub through `datasets`, with `config=` where it has several |

    The first line of a table names its columns. A .csv has commas and quotes; a .tsv has tabs, and a quote in it is a
    letter. The kit's own names (toyshop, othershop, scenes, docstrings) come before a folder of that name, read
    as "./toyshop"; what is on disk comes before the hub. Where neither has it, the answer comes in seconds.

    Args:
        name: see above. Of a folder, a file with the word `valid`, `val`, `dev` or `eval` in its name becomes the split
            `validation`, one with `test` (`test (1).csv`) becomes `test`, any other `train`.
        folder: where GLUE's files are.
        config: which configuration of a data set on the hub.
        unit: of running text: cut into "sentence", "paragraph" or "line".
        quoted: whether quotes enclose fields of a .tsv that hold tabs or line ends, as pandas writes them.
        label: the column of the labels, which becomes `label`.
        labels: the names of all classes, in the order of their integers. Without it names become the integers that
            GLUE gives them, other names alphabetical ones (`data.labels`); with `labels=()` they stay names.

    Raises `FileNotFoundError` for a path that is not there or a hub that cannot be reached (naming what works
    without it), `ValueError` for rows of unlike length and for labels that do not fit `labels`.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "story.txt").write_text("It was late. No one came.")
    ...     load(pathlib.Path(folder, "story.txt"))["train"]["text"][:]
    ['It was late.', 'No one came.']
    """
    family, _, task = str(name).partition("/")
    path = Path(name if folder is None else folder).expanduser()
    if folder is None and family in ("toyshop", "othershop", "scenes", "docstrings"):
        splits = _made_here(family, task)
    elif family == "glue" and (folder is not None or not path.exists()):
        splits = _glue(choose(glue.TASKS, task, "GLUE task"), folder)
    elif path.exists():
        splits = _local(path, unit, quoted)
    elif (
        folder is not None or path.is_absolute() or path.suffix.lower() in PROSE | TABLES
    ):
        raise FileNotFoundError(f"There is no file or folder {path}.")
    else:
        long_name, *known = HUB_NAMES.get(str(name), [str(name)])
        splits = _from_hub(long_name, config or next(iter(known), None))
    return number_splits(splits, label, labels, hint="/".join(path.absolute().parts[-2:]))


def sentences(
    dataset: Any, columns: str | Sequence[str] | None = None, distinct: bool = True
) -> list[str]:
    """Collect the text of a split as plain strings: to train a tokenizer on, or to post-train on without labels.

    `dataset` is a `datasets.Dataset`, a list of dicts or of strings. Of a pair both texts are taken. Empty texts are
    left out, and repeated ones too, unless `distinct=False`. Raises `ValueError` where no column holds text.

    >>> from contrast_kit.data import sentences
    >>> sentences([{"sentence1": "A dog.", "sentence2": "A cat."}, {"sentence1": "A dog.", "sentence2": ""}])
    ['A dog.', 'A cat.']
    """
    if not len(dataset):
        return []
    names = given_columns(columns) or text_columns(column_names(dataset))
    rows = zip(*(column(dataset, name) for name in names), strict=True)
    texts = [text for row in rows for text in row if text and text.strip()]
    if distinct:
        return list(dict.fromkeys(texts))
    return texts


def _made_here(family: str, task: str) -> DatasetDict:
    from datasets import Dataset, DatasetDict

    from contrast_kit.data import docstrings, scenes, toyshop

    if family == "docstrings":
        parts = {"": False, "pairs": True}
        return docstrings.load(pairs=choose(parts, task, "part of the docstrings"))
    features = None
    if task in glue.TASKS:
        features = glue.TASKS[task].features()
    if family == "scenes":
        rows = {split: scenes.rows(task, split) for split in scenes.SPLITS}
    else:
        rows = {
            split: toyshop.rows(task, split, family) for split in toyshop.splits(task)
        }
    return DatasetDict(
        {split: Dataset.from_list(rows[split], features=features) for split in rows}
    )


def _glue(task: glue.GlueTask, folder: str | Path | None) -> DatasetDict:
    if folder is not None:
        return glue.read_folder(task, folder)
    return glue.without_trailing_blanks(_from_hub("nyu-mll/glue", task.name), task)


# Files


def _local(path: Path, unit: Unit, quoted: bool) -> DatasetDict:
    """What a file or a folder holds."""
    from datasets import DatasetDict, concatenate_datasets, load_from_disk

    if (path / "dataset_dict.json").is_file():
        return load_from_disk(path)
    if (path / "state.json").is_file():
        return DatasetDict({"train": load_from_disk(path)})
    folder = path if path.is_dir() else path.parent
    task = glue.task_of_folder(folder)
    if task and (path == folder or path.name in task.files.values()):
        splits = glue.read_folder(task, folder)
        for split in list(splits):
            if path.name not in (folder.name, task.files[split]):
                del splits[split]
        return splits
    parts = {}
    for split, files in files_of(path).items():
        if files[0].suffix.lower() in PROSE:
            parts[split] = _prose(files, unit)
            continue
        tables = [_table(file, quoted) for file in files]
        for file, rows in zip(files, tables, strict=True):
            if rows.features != tables[0].features:
                raise ValueError(
                    f"{files[0]} and {file} have other columns, or other kinds of values in them: make them alike, or "
                    "load them one by one."
                )
        parts[split] = concatenate_datasets(tables)
    return DatasetDict(parts)


def files_of(path: Path) -> dict[str, list[Path]]:
    """The file, or those of a folder that belong together, by split; a warning names the files that are left out."""
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if readable(file)]
    # notes beside the data are not data
    chosen = [file for file in files if file.suffix.lower() in TABLES] or files
    kinds = {file.suffix.lower() for file in chosen}
    if not kinds or (len(kinds) > 1 and not kinds <= PROSE):
        raise ValueError(
            f"{path} holds files of {len(kinds)} kinds ({', '.join(sorted(kinds))}), not of one of "
            f"{' '.join(sorted(PROSE | TABLES))}: load files by their names."
        )
    left = [file.name for file in files if file not in chosen]
    if left:
        warn(
            f"Of {path} only the {'/'.join(sorted(kinds))} files are read, not {', '.join(left)}."
        )
    splits: dict[str, list[Path]] = {}
    for file in chosen:
        splits.setdefault(named_split(file.name) or "train", []).append(file)
    return splits


def readable(file: Path) -> bool:
    """Whether a file, by its name, holds data: nothing hidden, no readme and no licence."""
    notes = file.stem.lower().startswith((".", "readme", "license"))
    return file.suffix.lower() in PROSE | TABLES and not notes


def named_split(name: str) -> str | None:
    """The split that a file is named after, or None: train, validation or test, and in MultiNLI which half.

    >>> named_split("multinli_1.0_dev_matched.jsonl"), named_split("test (1).csv"), named_split("emma.txt")
    ('validation_matched', 'test', None)
    """
    words = re.findall(r"[^\W\d_]+", name.lower())
    split = next((_SPLITS[word] for word in words if word in _SPLITS), None)
    half = [word for word in words if word in ("matched", "mismatched")]
    if split and half:
        return f"{split}_{half[0]}"
    return split


def _prose(files: Sequence[Path], unit: Unit) -> Dataset:
    from datasets import Dataset, Features, Value

    texts: list[str] = []
    for file in files:
        content = file.read_text("utf-8-sig")
        if "\0" in content or "\t" in content.split("\n")[0].strip():
            raise ValueError(
                f"{file} is no running text in UTF-8: write it anew or, if it is a table, call it .tsv."
            )
        texts += units(content, unit)
    return Dataset.from_dict({"text": texts}, Features(text=Value("string")))


def _table(file: Path, quoted: bool) -> Dataset:
    """One table as a dataset. Fields are numbers where all of a column are."""
    from datasets import Dataset
    from pyarrow import csv, parquet

    ending = file.suffix.lower()
    if ending == ".parquet":
        return Dataset(parquet.read_table(file))
    if ending in (".json", ".jsonl"):
        rows = _json_rows(file)
        # The first may lack its label.
        names = dict.fromkeys(name for row in rows for name in row)
        return Dataset.from_list([names | row for row in rows])
    if file.name.startswith("sts-"):
        return glue.sts_rows(file)
    quotes, text = quoted or ending == ".csv", file.read_text("utf-8-sig")
    if quotes and text.count('"') % 2:
        raise ValueError(
            f"A quote in {file} is never closed: all that follows would be one field."
        )
    headless = glue.TABLES["headless"].get(file.absolute().parent.name)
    table = csv.read_csv(
        BytesIO(text.encode()),
        csv.ReadOptions(column_names=headless, block_size=2**30),
        csv.ParseOptions(
            delimiter="," if ending == ".csv" else "\t",
            quote_char=quotes and '"',
            newlines_in_values=quotes,
        ),
        csv.ConvertOptions(null_values=[], true_values=[], false_values=[]),
    )
    if headless:
        rows = Dataset(table)
        return rows.map(lambda label: {"label": label - 1}, input_columns="label")
    table = table.rename_columns([name.strip() for name in table.column_names])
    if any(map(_VALUE.fullmatch, table.column_names)):
        raise ValueError(
            f"The first line of {file} names no columns, so its row would be lost: write a first line with the names "
            "of the columns, for example text, label, sentence1 and sentence2."
        )
    return Dataset(table)


def _json_rows(file: Path) -> list[dict[str, Any]]:
    """Read one JSON list, one object per line, or SQuAD's nested form (one row per question)."""
    text = file.read_text("utf-8-sig")
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        content = [json.loads(line) for line in text.split("\n") if line.strip()]
    if isinstance(content, dict):
        content = content.get("data", [content])
    if "paragraphs" in content[0]:
        return [row for article in content for row in _squad_rows(article)]
    return content


def _squad_rows(article: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for paragraph in article["paragraphs"]:
        for question in paragraph["qas"]:
            row = dict(id=question["id"], title=article.get("title", ""))
            row |= dict(context=paragraph["context"], question=question["question"])
            # not the plausible answers, of people who were misled
            answers = question.get("answers", [])
            keys = ("text", "answer_start")
            yield row | {
                "answers": {key: [answer[key] for answer in answers] for key in keys}
            }


# The hub


def _from_hub(name: str, config: str | None) -> DatasetDict:
    local = "'toyshop/text' or 'docstrings', or the files themselves with folder='…' (see data.load)"
    hint = meant(name, HUB_NAMES, 0.8)
    if hint.startswith("did"):
        local += f" ({hint})"
    hub.require(name, kind="dataset", local=local)
    from datasets import DatasetDict, load_dataset

    splits = load_dataset(name, config)
    return splits if isinstance(splits, dict) else DatasetDict({"train": splits})
