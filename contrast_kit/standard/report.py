"""One table for a saved encoder: GLUE probes, similarity, minimal pairs and geometry, each beside its controls."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks, data, geometry, tasks
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.objectives.prompt import taught_without_words
from contrast_kit.standard.controls import random_twin
from contrast_kit.standard.minimal_pairs import blimp
from contrast_kit.standard.similarity import read_sts, sts
from contrast_kit.tasks.probes import first_rows

if TYPE_CHECKING:
    from pandas import DataFrame

PARTS = ("glue", "sts", "blimp", "geometry")
SIMILAR = 4.0
"""The score of STS-B from which two sentences count as a positive pair (Gao et al. 2021, appendix)."""


@dataclass(frozen=True)
class Report:
    """What `evaluate` found. `print` shows the table; `card` is a section for a model card."""

    name: str
    table: "DataFrame"
    """One row per measurement: `part`, `measurement`, `data`, `value`, `random weights`, `baseline`, `baseline is`."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def __str__(self) -> str:
        return "\n".join(
            [f"Evaluation of {self.name}", "", self.table.to_string(index=False, float_format="%.2f"), *self.notes]
        )

    def card(self) -> str:
        """The table as a section in Markdown, to paste into a model card."""
        columns = [name for name in self.table.columns if name != "part"]
        lines = ["## Evaluation", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        for _, row in self.table.iterrows():
            cells = [f"{row[c]:.2f}" if isinstance(row[c], float) else str(row[c]) for c in columns]
            lines.append("| " + " | ".join("–" if cell == "nan" else cell for cell in cells) + " |")
        lines += [
            "",
            "Probes: logistic (for a score: ridge) regression on frozen vectors, as SentEval. STS: Spearman of",
        ]
        lines += [
            "cosines × 100, without training. BLiMP: pseudo-log-likelihood, mean of phenomena. Geometry: Wang and"
        ]
        lines += [
            "Isola 2020. “random weights” is the same build before any training. Made by `contrast_kit evaluate`."
        ]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `evaluation.csv` and `evaluation.md` (the card) into a folder; returns both files."""
        folder = arguments.path("folder", folder, "where the report is written")
        folder.mkdir(parents=True, exist_ok=True)
        table, card = folder / "evaluation.csv", folder / "evaluation.md"
        self.table.to_csv(table, index=False)
        card.write_text(self.card(), encoding="utf-8")
        return table, card


def evaluate(
    name: str | Path,
    source: str | Path | None = None,
    *,
    parts: str | tuple[str, ...] = PARTS,
    limit: int | None = 2_000,
    pairs: int | None = 50,
    pooling: str | None = None,
    progress: bool = True,
) -> Report:
    """Measure any folder that transformers opens as a masked language model, or an encoder of this kit.

    Args:
        name: a folder, a name on the hub, or an `Encoder`.
        source: a folder with GLUE's tasks (or `glue_data`), SentEval's STS and `blimp`; whatever of these is there is
            measured. None: the toyshop's tasks, which are on every machine.
        parts: of "glue", "sts", "blimp", "geometry"; or one of them.
        limit: rows of each split, 10 or more, for probes, geometry and the toyshop's similarity; files of STS are read
            whole. pairs: minimal pairs of each phenomenon. None takes all.
        pooling: "first" or "mean"; by default what the folder says. An `Encoder` keeps its own.
        progress: show what is being measured.

    Returns:
        a `Report`.

    Raises:
        FileNotFoundError, ValueError: a folder that is not there or holds nothing to measure; what `Encoder` raises.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(ck.data.toyshop.corpus(50), vocab_size=300))
    >>> report = ck.standard.evaluate(encoder, parts=("geometry",), limit=50, progress=False)
    >>> report.table["measurement"].tolist()
    ['alignment', 'uniformity', 'anisotropy', 'effective rank']
    """
    from pandas import DataFrame

    parts = [parts] if isinstance(parts, str) else arguments.strings("parts", parts, "parts of the report")
    checks.switch("progress", progress)
    for part in parts:
        checks.choice("parts", part, PARTS)
    for option, value in (("limit", limit), ("pairs", pairs)):
        if value is not None:
            checks.count(option, value, "a number of rows", 10 if option == "limit" else 1)
    folder = None if source is None else arguments.path("source", source, "where the tasks are")
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} with GLUE, STS or BLiMP in it.")
    encoder = name if isinstance(name, Encoder) else Encoder.from_pretrained(name, pooling=pooling)
    run = _Evaluation(encoder, folder, limit, pairs, progress)
    run.head = has_word_head(name)
    for part in dict.fromkeys(parts):
        getattr(run, part)()
    if not run.rows:
        where, why = folder or "The toyshop", " ".join(run.notes) or "neither GLUE, STS nor BLiMP."
        raise ValueError(f"{where} holds nothing to measure: {why}")
    shown = "an encoder" if isinstance(name, Encoder) else Path(str(name)).name
    return Report(shown, DataFrame(run.rows), tuple(run.notes))


def has_word_head(name: str | Path | Encoder) -> bool:
    """Whether a folder says that it holds a trained vocabulary head; transformers makes a random one where none is.

    True where the folder does not say, and for names on the hub. An encoder knows whether it was taught without words.
    """
    if isinstance(name, Encoder):
        return not taught_without_words(name.model.config.to_dict())
    file = Path(name).expanduser() / "config.json"
    config = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    kinds = config.get("architectures") or ["MaskedLM"]
    return not taught_without_words(config) and any("MaskedLM" in kind or "PreTraining" in kind for kind in kinds)


class _Evaluation:
    """One evaluation: what it measures with, and a method for each part."""

    head = True

    def __init__(self, encoder: Encoder, folder: Path | None, limit: int | None, pairs: int | None, progress: bool):
        self.encoder, self.random, self.folder = encoder, random_twin(encoder), folder
        self.limit, self.pairs, self.progress = limit, pairs, progress
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def add(
        self, part: str, measurement: str, source: str, value: float, random: float, base: float, what: str
    ) -> None:
        values = {"value": value, "random weights": random, "baseline": base}
        self.rows.append({"part": part, "measurement": measurement, "data": source, **values, "baseline is": what})
        if self.progress:
            print(f"{part}: {measurement} {value:.2f}", flush=True)

    def glue(self) -> None:
        """Linear probes, × 100, beside one answer for all rows: the most frequent class, or the mean score."""
        if not (found := self._tasks()):
            self.notes.append("GLUE was left out: the folder holds none of its tasks.")
        for task in found:
            train, test = (first_rows(rows, self.limit) for rows in (task.train, task.validation))
            if not task.task.regression and len(set(train["label"])) < 2:
                self.notes.append(f"{task.name} was left out: its first {len(train):,} rows are of one class.")
                continue
            chosen = tasks.TaskData(task.task, {"train": train, "validation": test}, task.name)
            metric = task.task.metrics[0]
            scores = [100 * tasks.probe(each, chosen)[metric] for each in (self.encoder, self.random)]
            source, what = f"{task.name}, {len(test):,} rows", "mean" if task.task.regression else "most frequent"
            constant = 100 * _constant_score(task.task, train, test)
            self.add("glue", f"{task.task.name} probe, {metric}", source, *scores, constant, what)

    def sts(self) -> None:
        """Zero-shot similarity."""
        if self.folder is None:
            rows = tasks.load("toyshop/stsb").validation
            found = {"toyshop/stsb": {"": _triples(first_rows(rows, self.limit))}}
        else:
            try:
                found = read_sts(self.folder)
            except FileNotFoundError:
                self.notes.append("STS was left out: the folder holds none of its tasks.")
                return
        table = sts(self.encoder, found)
        for task in [*found, *(["mean"] if len(found) > 1 else [])]:
            values = table.loc[["encoder", "random weights", "TF-IDF"], task].tolist()
            size = sum(map(len, found.get(task, {}).values()))
            self.add(
                "sts", f"{task}, Spearman", f"{size:,} pairs, all" if size else f"{len(found)} tasks", *values, "TF-IDF"
            )

    def blimp(self) -> None:
        """Minimal pairs, × 100."""
        home = (
            None
            if self.folder is None
            else next((f for f in (self.folder / "blimp", self.folder) if any(f.glob("*.jsonl"))), None)
        )
        if home is None:
            self.notes.append("BLiMP was left out: no folder `blimp` with its files was given.")
            return
        if not self.head:
            self.notes.append("BLiMP was left out: this folder has no trained vocabulary head.")
            return
        options = dict(limit=self.pairs, progress=self.progress)
        ours, random = (blimp(each, home, **options) for each in (self.encoder, self.random))
        fields = ours["field"].str.replace("/", "_")  # the files have both "syntax_semantics" and "syntax/semantics"
        for field in [*sorted(set(fields) - {""}), "all"]:
            chosen = ours.index == "all" if field == "all" else fields == field
            values = [100 * table.loc[chosen, "accuracy"].mean() for table in (ours, random)]
            self.add(
                "blimp",
                f"BLiMP {field.replace('_', ' ')}",
                f"{ours.loc[chosen, 'pairs'].sum():,} pairs",
                *values,
                50.0,
                "chance",
            )

    def geometry(self) -> None:
        """Alignment of similar sentences, and how the space is used."""
        rows = next((task for task in self._tasks() if task.task.name == "stsb"), None)
        if rows is None:
            self.notes.append("Geometry was left out: it is measured on STS-B, which the folder does not hold.")
            return
        triples = _triples(first_rows(rows.validation, self.limit))
        similar = [row for row in triples if row[2] >= SIMILAR]
        texts = list(dict.fromkeys(text for row in triples for text in row[:2]))
        if len(similar) < 2:
            self.notes.append(f"Geometry was left out: fewer than two pairs score {SIMILAR} or more.")
            return
        found = [_geometry(each, texts, similar) for each in (self.encoder, self.random)]
        where = f"{rows.name}, {len(texts):,} texts"
        for measurement in found[0]:
            self.add("geometry", measurement, where, *(each[measurement] for each in found), float("nan"), "–")

    def _tasks(self) -> list[tasks.TaskData]:
        """The GLUE tasks that are there."""
        if self.folder is None:
            return [tasks.load(f"toyshop/{name}") for name in glue.TASKS if name in data.toyshop.tasks()]
        found = []
        for task in glue.TASKS.values():
            homes = (self.folder / task.folder, self.folder / "glue_data" / task.folder)
            found += [tasks.load(home) for home in homes if (home / "train.tsv").is_file()][:1]
        return found


def _triples(rows: Any) -> list[tuple[str, str, float]]:
    return list(zip(rows["sentence1"], rows["sentence2"], rows["label"], strict=True))


def _constant_score(task: tasks.Task, train: Any, test: Any) -> float:
    """The score of one answer for all rows: the most frequent class of the training rows, or their mean."""
    labels = np.asarray(train["label"])
    answer = labels.mean() if task.regression else np.bincount(labels).argmax()
    return tasks.score(task, np.full(len(test), answer), np.asarray(test["label"]))[task.metrics[0]]


def _geometry(encoder: Encoder, texts: list[str], similar: list[tuple[str, str, float]]) -> dict[str, float]:
    vectors = encoder.encode(texts).float().cpu()  # [N, D]
    place = {text: at for at, text in enumerate(texts)}
    a, b = (vectors[[place[row[side]] for row in similar]] for side in (0, 1))  # [P, D] each
    return {
        "alignment": geometry.alignment(a, b).item(),
        "uniformity": geometry.uniformity(vectors).item(),
        "anisotropy": geometry.anisotropy(vectors).item(),
        "effective rank": geometry.effective_rank(vectors).item(),
    }
