"""One table for a saved encoder: GLUE probes, similarity, minimal pairs and geometry, each beside its controls."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contrast_kit import data, geometry
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.tasks.probes import linear_probe
from contrast_kit.tasks.prompt import taught_without_words
from contrast_kit.tasks.standard.minimal_pairs import blimp, blimp_files
from contrast_kit.tasks.standard.similarity import (
    place,
    random_twin,
    read_sts,
    sts,
    triples,
)
from contrast_kit.tasks.table import TaskData, first_rows, load, score

if TYPE_CHECKING:
    from pandas import DataFrame

PARTS = ("glue", "sts", "blimp", "geometry")
SIMILAR = 4.0
"""The score of STS-B from which two sentences count as a positive pair (Gao et al. 2021, appendix)."""

COLUMNS = (
    "part",
    "measurement",
    "data",
    "value",
    "random weights",
    "baseline",
    "baseline is",
)
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
        return "\n".join(
            [
                f"Evaluation of {self.name}",
                "",
                table,
                *self.notes,
            ]
        )

    def card(self) -> str:
        """The table as a section in Markdown, to paste into a model card."""
        lines = [
            "## Evaluation",
            "",
            f"| {' | '.join(COLUMNS[1:])} |",
            "|---|---|---|---|---|---|",
        ]
        for row in self.table[list(COLUMNS[1:])].itertuples(index=False):
            cells = [
                f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row
            ]
            lines.append(f"| {' | '.join(cells)} |".replace(" nan ", " – "))
        lines += [
            "",
            LEGEND,
            *(f"\n{note}" for note in self.notes),
            "",
        ]
        return "\n".join(lines)

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
        raise FileNotFoundError(
            f"There is no folder {folder} with GLUE, STS or BLiMP in it."
        )
    shown, encoder = "an encoder", name
    if not isinstance(name, Encoder):
        shown, encoder = Path(name).name, Encoder.from_pretrained(name, pooling=pooling)
    both = (encoder, random_twin(encoder))
    measure = {
        "glue": partial(_glue, limit=limit),
        "sts": partial(_sts, limit=limit),
        "blimp": partial(
            _blimp,
            head=has_word_head(name),
            limit=pairs,
            progress=progress,
        ),
        "geometry": partial(_geometry, limit=limit),
    }
    rows, notes = [], []
    for part in parts:
        for row in measure[part](both, folder):
            if isinstance(row, str):
                notes.append(row)
                continue
            measurement, source, values, baseline = row
            cells = (part, measurement, source, *values, baseline)
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
            if progress:
                print(f"{part}: {measurement} {values[0]:.2f}", flush=True)
    if not rows:
        raise ValueError(
            f"{folder or 'The toyshop'} holds nothing to measure: {' '.join(notes)}"
        )
    return Report(shown, DataFrame(rows), tuple(notes))


def has_word_head(name: str | Path | Encoder) -> bool:
    """Whether a folder says that it holds a trained vocabulary head; transformers makes a random one where none is.

    True where the folder does not say, and for names on the hub. An encoder knows whether it was taught without words.
    """
    if isinstance(name, Encoder):
        return not taught_without_words(name.model.config.to_dict())
    file, config = Path(name).expanduser() / "config.json", {}
    if file.is_file():
        config = json.loads(file.read_text(encoding="utf-8"))
    kinds = " ".join(config.get("architectures") or ["MaskedLM"])
    trained = "MaskedLM" in kinds or "PreTraining" in kinds
    return trained and not taught_without_words(config)


# Each part yields its rows: the measurement, its data, the values of the encoder, of random weights and of a baseline,
# and what that baseline is. A string is a note of what is left out.
Rows = Iterator[str | tuple[str, str, Sequence[float], str]]
Both = tuple[Encoder, Encoder]
"""The encoder, and the same with random weights."""


def _glue(
    both: Both,
    folder: Path | None,
    limit: int | None,
) -> Rows:
    """Linear probes, × 100, beside one answer for all rows: the most frequent class, or the mean score."""
    found = _tasks(folder)
    if not found:
        yield "GLUE was left out: the folder holds none of its tasks."
    for each in found:
        task, metric = each.task, each.task.metrics[0]
        train, test = (first_rows(rows, limit) for rows in (each.train, each.validation))
        labels = np.asarray(train["label"])
        if not task.regression and len(set(labels)) < 2:
            yield f"{each.name} was left out: its first {len(train):,} rows are of one class."
            continue
        scores = [
            linear_probe(
                encoder,
                train,
                test,
                task=task,
            )[metric]
            for encoder in both
        ]
        answer, baseline = labels.mean(), "mean"
        if not task.regression:
            answer, baseline = np.bincount(labels).argmax(), "most frequent"
        scores.append(
            score(
                task,
                np.full(len(test), answer),
                test["label"][:],
            )[metric]
        )
        values = [100 * value for value in scores]
        yield (
            f"{task.name} probe, {metric}",
            f"{each.name}, {len(test):,} rows",
            values,
            baseline,
        )


def _sts(
    both: Both,
    folder: Path | None,
    limit: int | None,
) -> Rows:
    """Zero-shot similarity."""
    try:
        if folder is None:
            rows = first_rows(load("toyshop/stsb").validation, limit)
            found = {"toyshop/stsb": {"": triples(rows)}}
        else:
            found = read_sts(folder)
    except FileNotFoundError:
        yield "STS was left out: the folder holds none of its tasks."
        return
    table = sts(both[0], found)
    for task, subsets in found.items():
        size = sum(len(rows) for rows in subsets.values())
        yield f"{task}, Spearman", f"{size:,} pairs, all", table[task].tolist(), "TF-IDF"
    if len(found) > 1:
        yield "mean, Spearman", f"{len(found)} tasks", table["mean"].tolist(), "TF-IDF"


def _blimp(
    both: Both,
    folder: Path | None,
    head: bool,
    limit: int | None,
    progress: bool,
) -> Rows:
    """Minimal pairs, × 100."""
    if folder is None or not blimp_files(folder):
        yield "BLiMP was left out: no folder `blimp` with its files was given."
        return
    if not head:
        yield "BLiMP was left out: this folder has no trained vocabulary head."
        return
    tables = [
        blimp(
            encoder,
            folder,
            limit=limit,
            progress=progress,
        )
        for encoder in both
    ]
    # the files have both "syntax_semantics" and "syntax/semantics"
    fields = tables[0]["field"].str.replace("/", "_")
    fields["all"] = "all"
    for field in [*sorted(set(fields) - {"", "all"}), "all"]:
        values = [100 * table.loc[fields == field, "accuracy"].mean() for table in tables]
        pairs = f"{tables[0].loc[fields == field, 'pairs'].sum():,} pairs"
        yield f"BLiMP {field.replace('_', ' ')}", pairs, [*values, 50.0], "chance"


def _geometry(
    both: Both,
    folder: Path | None,
    limit: int | None,
) -> Rows:
    """Alignment of similar sentences, and how the space is used."""
    stsb = [each for each in _tasks(folder) if each.task.name == "stsb"]
    if not stsb:
        yield "Geometry was left out: it is measured on STS-B, which the folder does not hold."
        return
    pairs = triples(first_rows(stsb[0].validation, limit))
    similar = [row[:2] for row in pairs if row[2] >= SIMILAR]
    if len(similar) < 2:
        yield f"Geometry was left out: fewer than two pairs score {SIMILAR} or more."
        return
    texts = list(dict.fromkeys(text for row in pairs for text in row[:2]))
    place = {text: row for row, text in enumerate(texts)}
    sides = [[place[text] for text in side] for side in zip(*similar, strict=True)]
    values = []
    for encoder in both:
        x = encoder.encode(texts).float().cpu()  # [N, D]
        spread = (
            geometry.uniformity(x),
            geometry.anisotropy(x),
            geometry.effective_rank(x),
        )
        values.append([geometry.alignment(x[sides[0]], x[sides[1]]), *spread])
    names = ("alignment", "uniformity", "anisotropy", "effective rank")
    for name, ours, random in zip(names, *values, strict=True):
        measured = [
            ours.item(),
            random.item(),
            float("nan"),
        ]
        yield name, f"{stsb[0].name}, {len(texts):,} texts", measured, "–"


def _tasks(folder: Path | None) -> list[TaskData]:
    """The GLUE tasks that are there."""
    if folder is None:
        return [
            load(f"toyshop/{name}") for name in glue.TASKS if name in data.toyshop.tasks()
        ]
    homes = [place(folder, task.folder) for task in glue.TASKS.values()]
    return [load(home) for home in homes if (home / "train.tsv").is_file()]
