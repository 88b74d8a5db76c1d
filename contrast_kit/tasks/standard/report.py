"""One table for a saved encoder: GLUE probes, similarity, minimal pairs and geometry, each beside its controls."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contrast_kit import data, geometry
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.tasks.probes import linear_probe
from contrast_kit.tasks.prompt import has_word_head
from contrast_kit.tasks.standard.minimal_pairs import blimp, blimp_files
from contrast_kit.tasks.standard.similarity import random_twin, scored_pairs, sts
from contrast_kit.tasks.table import TaskData, first_rows, load, score

if TYPE_CHECKING:
    from pandas import DataFrame

PARTS = ("glue", "sts", "blimp", "geometry")
SIMILAR = 4.0
"""The score of STS-B from which two sentences count as a positive pair (Gao et al. 2021, appendix)."""

COLUMNS = "part, measurement, data, value, random weights, baseline, baseline is"


def evaluate(
    name: str | Path | Encoder,
    source: str | Path | None = None,
    *,
    parts: Sequence[str] = PARTS,
    limit: int | None = 2_000,
    pairs: int | None = 50,
    pooling: str | None = None,
    progress: bool = True,
) -> "DataFrame":
    """Measure any folder that transformers opens as a masked language model, or an encoder of this kit.

    Args:
        name: a folder, a name on the hub, or an `Encoder`.
        source: a folder with GLUE's tasks (or `glue_data`) and `blimp`; whatever of these is there is measured. None:
            the toyshop's tasks, which are on every machine.
        parts: of "glue", "sts", "blimp", "geometry"; the last but one needs a trained vocabulary head.
        limit: rows of each split of a task; None takes all.
        pairs: minimal pairs of each phenomenon; None takes all.
        pooling: "first" or "mean"; by default what the folder says. An `Encoder` keeps its own.
        progress: show what is being measured.

    Returns:
        one row per measurement: `part`, `measurement`, `data`, `value`, `random weights` (the same build before any
        training), `baseline`, `baseline is`.

    Raises:
        FileNotFoundError, ValueError: a folder that is not there or holds nothing to measure.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(ck.data.toyshop.corpus(50), vocab_size=300))
    >>> table = ck.tasks.standard.evaluate(encoder, parts=("geometry",), limit=50, progress=False)
    >>> table["measurement"].tolist()
    ['alignment', 'uniformity', 'anisotropy', 'effective rank']
    """
    from pandas import DataFrame

    folder = None if source is None else Path(source).expanduser()
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} with GLUE or BLiMP in it.")
    encoder = name
    if not isinstance(name, Encoder):
        encoder = Encoder.from_pretrained(name, pooling=pooling)
    both = (encoder, random_twin(encoder))
    measure = {
        "glue": partial(_glue, both, folder, limit),
        "sts": partial(_sts, both, folder, limit),
        "blimp": partial(_blimp, both, folder, pairs, progress),
        "geometry": partial(_geometry, both, folder, limit),
    }
    rows = []
    for part in parts:
        rows += [(part, *row) for row in measure[part]()]
        if progress:
            count = sum(row[0] == part for row in rows)
            print(f"{part}: {count} measurements", flush=True)
    if not rows:
        raise ValueError(
            f"{folder or 'The toyshop'} holds nothing to measure of {', '.join(parts)}; blimp also needs a trained "
            "vocabulary head."
        )
    return DataFrame(rows, columns=COLUMNS.split(", "))


Rows = Iterator[tuple[str, str, float, float, float, str]]
"""The measurement, its data, the values of the encoder, of random weights and of a baseline, and what that is."""
Both = tuple[Encoder, Encoder]
"""The encoder, and the same with random weights."""


def _glue(both: Both, folder: Path | None, limit: int | None) -> Rows:
    """Linear probes, × 100, beside one answer for all rows: the most frequent class, or the mean score."""
    for each in _tasks(folder):
        task, metric = each.task, each.task.metrics[0]
        train, test = (first_rows(rows, limit) for rows in (each.train, each.validation))
        probes = [linear_probe(encoder, train, test, task=task) for encoder in both]
        labels = np.asarray(train["label"])
        answer, baseline = labels.mean(), "mean"
        if not task.regression:
            answer, baseline = np.bincount(labels).argmax(), "most frequent"
        same = score(task, np.full(len(test), answer), test["label"][:])
        values = [100 * scores[metric] for scores in (*probes, same)]
        rows = f"{each.name}, {len(test):,} rows"
        yield f"{task.name} probe, {metric}", rows, *values, baseline


def _stsb(folder: Path | None, limit: int | None) -> Iterator[tuple[str, object]]:
    """The name of STS-B and its validation rows, where it is there."""
    for each in _tasks(folder):
        if each.task.name == "stsb":
            yield each.name, first_rows(each.validation, limit)


def _sts(both: Both, folder: Path | None, limit: int | None) -> Rows:
    """Zero-shot similarity, × 100."""
    for name, rows in _stsb(folder, limit):
        values = sts(both[0], rows).values()
        yield f"{name} validation, Spearman", f"{len(rows):,} pairs", *values, "TF-IDF"


def _blimp(both: Both, folder: Path | None, limit: int | None, progress: bool) -> Rows:
    """Minimal pairs, × 100."""
    if folder is None or not blimp_files(folder) or not has_word_head(both[0]):
        return
    how = dict(limit=limit, progress=progress)
    tables = [blimp(encoder, folder, **how) for encoder in both]
    # the files have both "syntax_semantics" and "syntax/semantics"
    fields = tables[0]["field"].str.replace("/", "_")
    fields["all"] = "all"
    for field in [*sorted(set(fields) - {"", "all"}), "all"]:
        values = [100 * table.loc[fields == field, "accuracy"].mean() for table in tables]
        pairs = f"{tables[0].loc[fields == field, 'pairs'].sum():,} pairs"
        yield f"BLiMP {field.replace('_', ' ')}", pairs, *values, 50.0, "chance"


def _geometry(both: Both, folder: Path | None, limit: int | None) -> Rows:
    """Alignment of similar sentences, and how the space is used."""
    for name, rows in _stsb(folder, limit):
        first, second, scores = scored_pairs(rows)
        texts = list(dict.fromkeys([*first, *second]))
        place = {text: row for row, text in enumerate(texts)}
        close = np.flatnonzero(scores >= SIMILAR)
        a, b = ([place[side[row]] for row in close] for side in (first, second))
        columns = []
        for encoder in both:
            x = encoder.encode(texts).float().cpu()  # [N, D]
            columns.append(
                {
                    "alignment": geometry.alignment(x[a], x[b]),
                    "uniformity": geometry.uniformity(x),
                    "anisotropy": geometry.anisotropy(x),
                    "effective rank": geometry.effective_rank(x),
                }
            )
        ours, random = columns
        size = f"{name}, {len(texts):,} texts"
        for measure, value in ours.items():
            yield measure, size, value.item(), random[measure].item(), float("nan"), "–"


def _tasks(folder: Path | None) -> list[TaskData]:
    """The GLUE tasks that are there."""
    if folder is None:
        here = data.toyshop.tasks()
        return [load(f"toyshop/{name}") for name in glue.TASKS if name in here]
    homes = [
        root / task.folder
        for task in glue.TASKS.values()
        for root in (folder, folder / "glue_data")
    ]
    return [load(home) for home in homes if (home / "train.tsv").is_file()]
