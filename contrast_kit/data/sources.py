"""One call for every data set: `load(name)` makes it, reads it from disk, or gets it from the hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments, checks
from contrast_kit._names import meant
from contrast_kit.data import hub
from contrast_kit.data.prose import Unit, units
from contrast_kit.data.rows import check_read, column, column_names, given_columns, text_columns

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

HUB_NAMES: dict[str, tuple[str, str | None]] = {
    "wikitext": ("Salesforce/wikitext", "wikitext-2-raw-v1"),
    "wikitext-2": ("Salesforce/wikitext", "wikitext-2-raw-v1"),
    "wikitext-103": ("Salesforce/wikitext", "wikitext-103-raw-v1"),
    "snli": ("stanfordnlp/snli", None),
    "multi_nli": ("nyu-mll/multi_nli", None),
    "squad": ("rajpurkar/squad", None),
    "squad_v2": ("rajpurkar/squad_v2", None),
    "amazon": ("fancyzhx/amazon_polarity", None),
    "yelp": ("fancyzhx/yelp_polarity", None),
}
"""Short names of data sets on the hub: the hub's name and the configuration."""

SHOPS = ("toyshop", "othershop")
RUNNING = ("unit", "headings")
"""The options of `load` that matter for running text alone."""


def load(
    name: str | Path,
    *,
    folder: str | Path | None = None,
    config: str | None = None,
    unit: Unit = "sentence",
    headings: bool = False,
    columns: Sequence[str] | None = None,
    quoted: bool | None = None,
    labels: Sequence[str] | None = None,
) -> DatasetDict:
    """Load a data set by name, path or hub id, as splits with the columns and label integers of `nyu-mll/glue`.

    | `name` | what |
    |---|---|
    | `"toyshop/sst2"`, `"toyshop/text"`, `"othershop/…"` | made here by a grammar; every GLUE task, any machine |
    | `"scenes/captions"`, `"scenes/vqa"`, … | language on drawn shelves; `data.scenes.pictures()` are their regions |
    | `"docstrings"`, `"docstrings/pairs"` | prose in the installed libraries; see `data.docstrings` |
    | `"glue/sst2"` with `folder=` | GLUE's own files: the folder `SST-2`, or the one that holds it |
    | a path | a GLUE folder, or text, CSV, TSV, Parquet, JSON; a file or a folder of such files |
    | `"glue/sst2"`, `"wikitext"`, any hub id | from the hub through `datasets`, with `config=` where it has several |

    The kit's own names (toyshop, othershop, scenes, docstrings) come before a folder of that name, which is read as
    "./toyshop"; what is on disk comes before the hub. Where neither has it, the answer comes in seconds. For running
    text and WikiText, `unit` is "sentence", "paragraph" or "line", and `headings` keeps heading lines. For
    tables, `columns` names the columns of a file whose first line does not (`data.tables` knows those of CoLA, STS-B,
    Amazon, Yelp and TextFooler), and `quoted` says whether quotes enclose fields: by default they do, but between
    tabs only where the lines are uneven and every quote has its pair. Names in a column `label` become the integers
    that GLUE gives them (`data.labels`), other names alphabetical ones, unless `labels` names all classes in the order
    of their integers; with `labels=()` the names stay.

    Raises `FileNotFoundError` for a path that is not there or a hub that cannot be reached (naming what works
    without it), `ValueError` for a name or a file that makes no sense, or an option that this source does not read.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "story.txt").write_text("It was late. No one came.")
    ...     load(pathlib.Path(folder, "story.txt"))["train"]["text"][:]
    ['It was late.', 'No one came.']
    """
    if not isinstance(name, str | Path):
        raise TypeError(f"load() takes a name or a path, not {checks.shown(name)}.")
    if not str(name).strip():
        raise ValueError("Which data? load() takes a name of data.available(), a file, a folder or a hub id, not ''.")
    family, _, task = str(name).partition("/")
    folder = None if folder is None else arguments.path("folder", folder, "where the files are")
    checks.switch("headings", headings)
    columns = given_columns(columns) or None
    labels = None if labels is None else arguments.listed("labels", labels, "names of classes")
    if quoted is not None:
        checks.switch("quoted", quoted)
    options = {"unit": unit, "headings": headings, "columns": columns, "quoted": quoted, "labels": labels}
    ours = family in (*SHOPS, "scenes") or str(name) in ("docstrings", "docstrings/pairs")
    if folder is None and ours:
        check_read(name, options | {"config": config})
        return _made_here(family, task)
    if family == "glue" and not (folder is None and Path(name).exists()):
        check_read(name, options | {"config": config})
        return _glue(task, folder)
    path = Path(folder if folder is not None else name).expanduser()
    if path.exists():
        check_read(name, {"config": config})
        return _local(path, options)
    if folder is not None or _looks_like_path(str(name)):
        raise FileNotFoundError(f"There is no file or folder {path}.")
    running = "wikitext" in str(name).lower()
    check_read(name, {option: value for option, value in options.items() if not (running and option in RUNNING)})
    dataset = _from_hub(*HUB_NAMES.get(str(name), (str(name), None)), config, name_given=str(name))
    return _cut(dataset, unit, headings) if running else dataset


def available() -> dict[str, str]:
    """Give the names that `load` knows, each with a line on what it is. Any hub id or path works as well.

    >>> from contrast_kit import data
    >>> data.available()["glue/rte"]
    'GLUE from the hub, or from a local folder: sentence1, sentence2 → entailment, not_entailment'
    """
    from contrast_kit.data import glue, scenes, toyshop

    names = {f"{shop}/{task}": "made here, on any machine" for shop in SHOPS for task in toyshop.tasks()}
    names |= {f"scenes/{task}": "language about drawn shelves, made here, on any machine" for task in scenes.tasks()}
    names["docstrings"] = "prose in the installed libraries: text, and the library as topic"
    names["docstrings/pairs"] = "the first two sentences of each docstring: sentence1, sentence2"
    for task in glue.TASKS.values():
        label = ", ".join(task.label_names) if task.label_names else "a score from 0 to 5"
        names[f"glue/{task.name}"] = f"GLUE from the hub, or from a local folder: {', '.join(task.columns)} → {label}"
    for short, (long, config) in HUB_NAMES.items():
        names[short] = f"{long} from the hub" + (f", {config}" if config else "")
    return names


def sentences(dataset: Any, columns: str | Sequence[str] | None = None, distinct: bool = True) -> list[str]:
    """Collect the text of a split as plain strings: to train a tokenizer on, or to post-train on without labels.

    `dataset` is a `datasets.Dataset`, a list of dicts or of strings. Of a pair both texts are taken. Empty texts are
    left out, and repeated ones too, unless `distinct=False`. Raises `ValueError` where no column holds text.

    >>> from contrast_kit.data import sentences
    >>> sentences([{"sentence1": "A dog.", "sentence2": "A cat."}, {"sentence1": "A dog.", "sentence2": ""}])
    ['A dog.', 'A cat.']
    """
    if getattr(dataset, "shape", None) != () and hasattr(dataset, "__len__") and not len(dataset):
        return []
    checks.switch("distinct", distinct)
    columns = given_columns(columns) or text_columns(column_names(dataset))
    values = [column(dataset, name) for name in columns]
    texts = arguments.strings("texts", [text for row in zip(*values, strict=True) for text in row if text], "texts")
    texts = [text for text in texts if text.strip()]
    return list(dict.fromkeys(texts)) if distinct else texts


def _made_here(family: str, task: str) -> DatasetDict:
    if family in SHOPS:
        return _shop(family, task)
    from contrast_kit.data import docstrings, scenes

    return scenes.load(task) if family == "scenes" else docstrings.load(pairs=task == "pairs")


def _shop(shop: str, task: str) -> DatasetDict:
    from datasets import Dataset, DatasetDict

    from contrast_kit.data import glue, toyshop

    features = glue.TASKS[task].features() if task in glue.TASKS else None
    splits = {}
    for split in toyshop.splits(task):
        rows = toyshop.rows(task, split, shop=shop)
        splits[split] = Dataset.from_list(rows, features=features)
    return DatasetDict(splits)


def _glue(task: str, folder: str | Path | None) -> DatasetDict:
    from contrast_kit.data import glue

    arguments.known(task, glue.TASKS, "GLUE task")
    if folder is not None:
        return glue.read_folder(glue.TASKS[task], folder)
    found = _from_hub("nyu-mll/glue", task, None, name_given=f"glue/{task}")
    return glue.without_trailing_blanks(found, glue.TASKS[task])


def _local(path: Path, options: dict[str, Any]) -> DatasetDict:
    from contrast_kit.data import files, glue

    task = glue.task_of_folder(path if path.is_dir() else path.parent)
    if task and path.is_dir():
        check_read(path, options)
        return glue.read_folder(task, path)
    if task and path.name in task.files.values() and options["columns"] is None:  # one file of a GLUE folder
        check_read(path, options)
        splits = glue.read_folder(task, path.parent)
        return type(splits)({split: splits[split] for split, file in task.files.items() if file == path.name})
    inside = [task.folder for task in glue.TASKS.values() if path.is_dir() and (path / task.folder).is_dir()]
    if inside:
        raise ValueError(f"{path} holds several tasks ({', '.join(inside)}); name one, as in {path / inside[0]}.")
    return files.read(path, **options)


def _looks_like_path(name: str) -> bool:
    from contrast_kit.data.files import ENDINGS

    rooted = name.startswith((".", "/", "~")) or "\\" in name or name[1:2] == ":"
    return rooted or name.count("/") > 1 or Path(name).suffix.lower() in ENDINGS


def _from_hub(name: str, known: str | None, config: str | None, name_given: str) -> DatasetDict:
    task = name_given.partition("/")[2] if name_given.startswith("glue/") else ""
    ours = f"'toyshop/{task}'" if task and task != "wnli" else "'toyshop/text' or 'docstrings'"
    local = f"{ours}, or the files themselves with folder='…' (see data.load)"
    hint = "" if (hint := meant(name_given, available(), 0.8)).startswith("there") else f" ({hint})"
    hub.require(name, kind="dataset", local=local + hint)
    from datasets import DatasetDict, load_dataset
    from datasets.exceptions import DatasetNotFoundError

    try:
        with _offline(not hub.reachable()):
            dataset = load_dataset(name, config or known)
    except DatasetNotFoundError as error:
        raise FileNotFoundError(
            f"{name_given!r} is no file or folder here, no name in data.available(){hint}, and no data set on the hub."
        ) from error
    return dataset if isinstance(dataset, dict) else DatasetDict({"train": dataset})


@contextmanager
def _offline(wanted: bool) -> Iterator[None]:
    """Let `datasets` use its cache without asking a hub that does not answer."""
    from datasets import config
    from huggingface_hub import constants

    before = config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    if wanted:
        config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before


def _cut(dataset: DatasetDict, unit: Unit, headings: bool) -> DatasetDict:
    """Cut WikiText's lines, as the hub has them, into sentences or paragraphs, as with local files."""
    from datasets import Dataset, DatasetDict

    def cut(split: Dataset) -> Dataset:
        lines = "\n".join(line.rstrip("\n") for line in split["text"][:])
        return Dataset.from_dict({"text": list(units(lines, unit, headings))})

    return DatasetDict({name: cut(split) for name, split in dataset.items()})
