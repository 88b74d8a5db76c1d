"""One table for a saved encoder: GLUE probes, similarity, minimal pairs and geometry, each beside its controls."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import data, geometry
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.objectives.prompt import taught_without_words
from contrast_kit.tasks.probes import probe
from contrast_kit.tasks.standard.minimal_pairs import blimp, blimp_files
from contrast_kit.tasks.standard.similarity import random_twin, read_sts, sts, triples
from contrast_kit.tasks.table import Task, TaskData, first_rows, load, score

if TYPE_CHECKING:
    from pandas import DataFrame

PARTS = ("glue", "sts", "blimp", "geometry")
SIMILAR = 4.0
"""The score of STS-B from which two sentences count as a positive pair (Gao et al. 2021, appendix)."""

LEGEND = """\
Probes: logistic (for a score: ridge) regression on frozen vectors, as SentEval. STS: Spearman of
cosines × 100, without training. BLiMP: pseudo-log-likelihood, mean of phenomena. Geometry: Wang and
Isola 2020. “random weights” is the same build before any training. Made by `contrast_kit evaluate`."""


@dataclass(frozen=True)
class Report:
    """What `evaluate` measured. `print` shows the table; `card` is a section for a model card."""

    name: str
    table: "DataFrame"
    """One row per measurement: `part`, `measurement`, `data`, `value`, `random weights`, `baseline`, `baseline is`."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def __str__(self) -> str:
        table = self.table.to_string(index=False, float_format="%.2f")
        return "\n".join([f"Evaluation of {self.name}", "", table, *self.notes])

    def card(self) -> str:
        """The table as a section in Markdown, to paste into a model card."""
        columns = [name for name in self.table.columns if name != "part"]
        lines = ["## Evaluation", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        for row in self.table[columns].itertuples(index=False):
            cells = [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
            lines.append("| " + " | ".join("–" if cell == "nan" else cell for cell in cells) + " |")
        return "\n".join([*lines, "", LEGEND, *(f"\n{note}" for note in self.notes)]) + "\n"

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `evaluation.csv` and `evaluation.md` (the card) into a folder; returns both files."""
        folder = Path(folder).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        table, card = folder / "evaluation.csv", folder / "evaluation.md"
        self.table.to_csv(table, index=False)
        card.write_text(self.card(), encoding="utf-8")
        return table, card


def evaluate(
    name: str | Path | Encoder,
    source: str | Path | None = None,
    *,
    parts: Sequence[str] = PARTS,
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
        parts: of "glue", "sts", "blimp", "geometry".
        limit: rows of each split for probes, geometry and the toyshop's similarity; files of STS are read whole.
            pairs: minimal pairs of each phenomenon. None takes all.
        pooling: "first" or "mean"; by default what the folder says. An `Encoder` keeps its own.
        progress: show what is being measured.

    Returns:
        a `Report`.

    Raises:
        FileNotFoundError, ValueError: a folder that is not there or holds nothing to measure.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(ck.data.toyshop.corpus(50), vocab_size=300))
    >>> report = ck.tasks.standard.evaluate(encoder, parts=("geometry",), limit=50, progress=False)
    >>> report.table["measurement"].tolist()
    ['alignment', 'uniformity', 'anisotropy', 'effective rank']
    """
    from pandas import DataFrame

    folder = None if source is None else Path(source).expanduser()
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} with GLUE, STS or BLiMP in it.")
    shown, encoder = "an encoder", name
    if not isinstance(name, Encoder):
        shown, encoder = Path(name).name, Encoder.from_pretrained(name, pooling=pooling)
    evaluation = _Evaluation(encoder, folder, limit, pairs, progress)
    evaluation.head = has_word_head(name)
    measure = {
        "glue": evaluation.glue,
        "sts": evaluation.sts,
        "blimp": evaluation.blimp,
        "geometry": evaluation.geometry,
    }
    for part in parts:
        measure[part]()
    if not evaluation.rows:
        raise ValueError(
            f"{folder or 'The toyshop'} holds nothing to measure: {' '.join(evaluation.notes)}"
        )
    return Report(shown, DataFrame(evaluation.rows), tuple(evaluation.notes))


def has_word_head(name: str | Path | Encoder) -> bool:
    """Whether a folder says that it holds a trained vocabulary head; transformers makes a random one where none is.

    True where the folder does not say, and for names on the hub. An encoder knows whether it was taught without words.
    """
    if isinstance(name, Encoder):
        return not taught_without_words(name.model.config.to_dict())
    file, config = Path(name).expanduser() / "config.json", {}
    if file.is_file():
        config = json.loads(file.read_text(encoding="utf-8"))
    kinds = config.get("architectures") or ["MaskedLM"]
    return not taught_without_words(config) and any(
        "MaskedLM" in kind or "PreTraining" in kind for kind in kinds
    )


class _Evaluation:
    """One evaluation: what it measures with, and a method for each part."""

    head = True

    def __init__(
        self,
        encoder: Encoder,
        folder: Path | None,
        limit: int | None,
        pairs: int | None,
        progress: bool,
    ):
        self.both = (encoder, random_twin(encoder))
        self.folder, self.limit, self.pairs, self.progress = folder, limit, pairs, progress
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def add(
        self, part: str, measurement: str, source: str, values: Sequence[float], baseline: str
    ) -> None:
        """Add a row: `values` are those of the encoder, of random weights and of the named baseline."""
        row = {"part": part, "measurement": measurement, "data": source}
        row |= dict(zip(("value", "random weights", "baseline"), values, strict=True))
        self.rows.append(row | {"baseline is": baseline})
        if self.progress:
            print(f"{part}: {measurement} {values[0]:.2f}", flush=True)

    def glue(self) -> None:
        """Linear probes, × 100, beside one answer for all rows: the most frequent class, or the mean score."""
        found = self._tasks()
        if not found:
            self.notes.append("GLUE was left out: the folder holds none of its tasks.")
        for each in found:
            train, test = (first_rows(rows, self.limit) for rows in (each.train, each.validation))
            if not each.task.regression and len(set(train["label"])) < 2:
                self.notes.append(
                    f"{each.name} was left out: its first {len(train):,} rows are of one class."
                )
                continue
            chosen = TaskData(each.task, {"train": train, "validation": test}, each.name)
            metric = each.task.metrics[0]
            scores = [100 * probe(encoder, chosen)[metric] for encoder in self.both]
            scores.append(100 * _constant_score(each.task, train, test))
            baseline = "mean" if each.task.regression else "most frequent"
            self.add(
                "glue",
                f"{each.task.name} probe, {metric}",
                f"{each.name}, {len(test):,} rows",
                scores,
                baseline,
            )

    def sts(self) -> None:
        """Zero-shot similarity."""
        if self.folder is None:
            rows = load("toyshop/stsb").validation
            found = {"toyshop/stsb": {"": triples(first_rows(rows, self.limit))}}
        else:
            try:
                found = read_sts(self.folder)
            except FileNotFoundError:
                self.notes.append("STS was left out: the folder holds none of its tasks.")
                return
        table = sts(self.both[0], found).loc[["encoder", "random weights", "TF-IDF"]]
        for task, subsets in found.items():
            size = sum(len(rows) for rows in subsets.values())
            self.add(
                "sts", f"{task}, Spearman", f"{size:,} pairs, all", table[task].tolist(), "TF-IDF"
            )
        if len(found) > 1:
            self.add(
                "sts", "mean, Spearman", f"{len(found)} tasks", table["mean"].tolist(), "TF-IDF"
            )

    def blimp(self) -> None:
        """Minimal pairs, × 100."""
        if self.folder is None or not blimp_files(self.folder):
            self.notes.append("BLiMP was left out: no folder `blimp` with its files was given.")
            return
        if not self.head:
            self.notes.append("BLiMP was left out: this folder has no trained vocabulary head.")
            return
        options = dict(limit=self.pairs, progress=self.progress)
        ours, random = (blimp(encoder, self.folder, **options) for encoder in self.both)
        fields = ours["field"].str.replace(
            "/", "_"
        )  # the files have both "syntax_semantics" and "syntax/semantics"
        groups = {field: fields == field for field in sorted(set(fields) - {""})} | {
            "all": ours.index == "all"
        }
        for field, chosen in groups.items():
            values = [100 * table.loc[chosen, "accuracy"].mean() for table in (ours, random)]
            source = f"{ours.loc[chosen, 'pairs'].sum():,} pairs"
            self.add("blimp", f"BLiMP {field.replace('_', ' ')}", source, [*values, 50.0], "chance")

    def geometry(self) -> None:
        """Alignment of similar sentences, and how the space is used."""
        stsb = next((each for each in self._tasks() if each.task.name == "stsb"), None)
        if stsb is None:
            self.notes.append(
                "Geometry was left out: it is measured on STS-B, which the folder does not hold."
            )
            return
        pairs = triples(first_rows(stsb.validation, self.limit))
        similar = [row for row in pairs if row[2] >= SIMILAR]
        texts = list(dict.fromkeys(text for row in pairs for text in row[:2]))
        if len(similar) < 2:
            self.notes.append(
                f"Geometry was left out: fewer than two pairs score {SIMILAR} or more."
            )
            return
        ours, random = (_geometry(encoder, texts, similar) for encoder in self.both)
        for name, value in ours.items():
            self.add(
                "geometry",
                name,
                f"{stsb.name}, {len(texts):,} texts",
                [value, random[name], float("nan")],
                "–",
            )

    def _tasks(self) -> list[TaskData]:
        """The GLUE tasks that are there."""
        if self.folder is None:
            return [load(f"toyshop/{name}") for name in glue.TASKS if name in data.toyshop.tasks()]
        homes = [self.folder / task.folder for task in glue.TASKS.values()]
        homes = [home if home.is_dir() else self.folder / "glue_data" / home.name for home in homes]
        return [load(home) for home in homes if (home / "train.tsv").is_file()]


def _constant_score(task: Task, train: Any, test: Any) -> float:
    """The score of one answer for all rows: the most frequent class of the training rows, or their mean."""
    labels = np.asarray(train["label"])
    answer = labels.mean() if task.regression else np.bincount(labels).argmax()
    return score(task, np.full(len(test), answer), np.asarray(test["label"]))[task.metrics[0]]


def _geometry(
    encoder: Encoder, texts: list[str], similar: list[tuple[str, str, float]]
) -> dict[str, float]:
    vectors = encoder.encode(texts).float().cpu()  # [N, D]
    place = {text: row for row, text in enumerate(texts)}
    a, b = (vectors[[place[row[side]] for row in similar]] for side in (0, 1))  # [P, D] each
    return {
        "alignment": geometry.alignment(a, b).item(),
        "uniformity": geometry.uniformity(vectors).item(),
        "anisotropy": geometry.anisotropy(vectors).item(),
        "effective rank": geometry.effective_rank(vectors).item(),
    }
