"""Semantic textual similarity: SimCSE's table of seven tasks, with its aggregation named.

Spearman's correlation of cosines with human scores, times 100, without any training. STS12 to STS16 have several
subsets each, and papers differ in what they do with them (SimCSE, table B.1):

| `aggregation` | what | who |
|---|---|---|
| `"all"` | one correlation over the rows of all subsets together | SimCSE, Sentence-BERT |
| `"mean"` | the mean of the subsets' correlations | DeCLUTR |
| `"weighted"` | their mean, weighted by the number of rows | BERT-flow, BERT-whitening |

The same vectors give different numbers, so a table that does not name its aggregation cannot be compared.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contrast_kit import arguments, checks, data
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.geometry import pair_cosines
from contrast_kit.standard.controls import TfIdf, random_twin
from contrast_kit.tasks.metrics import spearman

if TYPE_CHECKING:
    from pandas import DataFrame

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
AGGREGATIONS = ("all", "mean", "weighted")
SICK = ("sentence_A", "sentence_B", "relatedness_score")

Rows = Sequence[tuple[str, str, float]]
"""First text, second text, score."""


def read_sts(folder: str | Path) -> dict[str, dict[str, Rows]]:
    """The tasks that a folder holds, each as subsets of rows, in SentEval's layout or GLUE's.

    `STS/STS12-en-test/STS.input.*.txt` beside `STS.gs.*.txt`, `STS/STSBenchmark/sts-test.csv`,
    `SICK/SICK_test_annotated.txt`; pairs without a score are left out, as in SentEval. Where the test set of STS-B has
    no scores, as in GLUE's folder `STS-B`, its validation rows are the task `"STS-B validation"`, which is a different
    number.

    Raises `FileNotFoundError` where none of them is there, `ValueError` for files that do not fit together, for a line
    that is not two texts and a score, and for a file without any.
    """
    folder = arguments.path("folder", folder, "where the tasks are")
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    roots = [root for root in (folder, folder / "STS", folder / "glue_data", folder / "sts") if root.is_dir()]
    found: dict[str, dict[str, Rows]] = {}
    for year in YEARS:
        for root in roots:
            if files := sorted((root / f"{year}-en-test").glob("STS.input.*.txt")):
                found[year] = {file.name[10:-4]: _year_rows(file) for file in files}
    for root in roots:
        if "STS-B" not in found and (home := root / "STSBenchmark").is_dir():
            found["STS-B"] = {"": _benchmark_rows(home / "sts-test.csv")}
        if (home := root / "STS-B").is_dir():
            splits = data.load(home)
            if not found.keys() & {"STS-B", "STS-B validation"}:
                found["STS-B validation"] = {"": _scored(splits["validation"])}
    for file in (root / "SICK" / "SICK_test_annotated.txt" for root in roots):
        if file.is_file() and "SICK-R" not in found:
            found["SICK-R"] = {"": _sick_rows(file)}
    if not found:
        raise FileNotFoundError(
            f"{folder} holds none of STS12-en-test … STS16-en-test, STSBenchmark, SICK, STS-B: name SentEval's folder "
            "data/downstream, or GLUE's."
        )
    for task, subsets in found.items():
        if empty := [f"{task} {subset}".strip() for subset, rows in subsets.items() if not rows]:
            raise ValueError(f"{empty[0]} in {folder} has no pair with a score: leave its file out, or get it again.")
    return found


def sts(
    encoder: Any,
    tasks: Mapping[str, Mapping[str, Rows] | Rows],
    *,
    aggregation: str = "all",
    controls: bool = True,
    batch_size: int = 64,
) -> "DataFrame":
    """Spearman × 100 of an encoder on STS tasks, one column each and their mean, with two controls that learnt nothing.

    Args:
        encoder: an `Encoder`, not changed; its own pooling counts. Or another model with `encode(texts, batch_size=)`,
            such as a `SentenceTransformer`.
        tasks: task → subset → rows, from `read_sts` or of one's own; rows without subsets count as one subset.
        aggregation: `"all"`, `"mean"` or `"weighted"`; the index of the table names it.
        controls: add the rows "random weights" (the same build; for an `Encoder` only) and "TF-IDF".
        batch_size: texts encoded at once.

    Returns:
        a DataFrame; "mean" is over the columns that are there, so it is SimCSE's "Avg." only with all seven.

    Raises:
        TypeError: for rows that are not triples of two texts and a score; says how to make them from a frame.

    >>> import contrast_kit as ck
    >>> texts = ["a red kite", "a small drum", "the kite is red"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), pooling="mean")
    >>> rows = [(texts[0], texts[2], 4.0), (texts[0], texts[1], 1.0), (texts[1], texts[1], 5.0)]
    >>> float(ck.standard.sts(encoder, {"mine": rows}).loc["TF-IDF", "mine"])
    100.0
    """
    from pandas import DataFrame

    checks.choice("aggregation", aggregation, AGGREGATIONS)
    checks.switch("controls", controls)
    if isinstance(encoder, str) or not hasattr(encoder, "encode"):
        raise TypeError(f"encoder is an Encoder, or another model that encodes texts, not {checks.shown(encoder)}.")
    wanted = _checked(tasks)
    contestants: dict[str, Any] = {"encoder": encoder}
    if controls:
        contestants |= {"random weights": random_twin(encoder)} if isinstance(encoder, Encoder) else {}
        contestants["TF-IDF"] = None
    table = {}
    for name, contestant in contestants.items():
        row = {}
        for task, subsets in wanted.items():
            texts = list(dict.fromkeys(text for rows in subsets.values() for pair in rows for text in pair[:2]))
            similarity = TfIdf(texts).cosines if contestant is None else _by_vectors(contestant, texts, batch_size)
            row[task] = _aggregated(subsets, similarity, aggregation)
        table[name] = row | {"mean": float(np.mean(list(row.values())))}
    found = DataFrame.from_dict(table, orient="index")
    found.index.name = f"Spearman × 100, {aggregation}"
    return found


def _checked(tasks: Any) -> dict[str, Mapping[str, Rows]]:
    """The tasks as subsets of rows; anything else is refused in one sentence."""
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"tasks is {{'mine': [(text, text, score), …]}}, or read_sts(folder), not {checks.shown(tasks)}."
        )
    if not tasks:
        raise ValueError("There is no task: give read_sts(folder), or {'mine': [(text, text, score), …]}.")
    found = {task: rows if isinstance(rows, Mapping) else {"": rows} for task, rows in tasks.items()}
    for task, subsets in found.items():
        if not subsets:
            raise ValueError(f"The task {task!r} has no rows: leave it out.")
        for rows in subsets.values():
            if not (isinstance(rows, list | tuple) and rows and all(map(_is_graded, rows))):
                raise TypeError(
                    f"The rows of {task!r} are a list of (text, text, score), not {checks.shown(rows)}: take [(row["
                    "'sentence1'], row['sentence2'], row['label']) for row in rows], and of a frame "
                    "frame[['sentence1', 'sentence2', 'label']].values.tolist()."
                )
    return found


def _is_graded(row: Any) -> bool:
    three = isinstance(row, list | tuple) and len(row) == 3
    return three and isinstance(row[0], str) and isinstance(row[1], str) and isinstance(row[2], Real)


def _aggregated(subsets: Mapping[str, Rows], similarity: Callable, aggregation: str) -> float:
    found, scores = [], []
    for rows in subsets.values():
        first, second, wanted = zip(*rows, strict=True)
        found.append(np.asarray(similarity(first, second), dtype=np.float64))
        scores.append(np.asarray(wanted, dtype=np.float64))
    if aggregation == "all":
        return 100 * spearman(np.concatenate(found), np.concatenate(scores))
    each = [spearman(*pair) for pair in zip(found, scores, strict=True)]
    weights = list(map(len, scores)) if aggregation == "weighted" else None
    return 100 * float(np.average(each, weights=weights))


def _by_vectors(encoder: Any, texts: list[str], batch_size: int) -> Callable:
    """The cosine of two of these texts, each encoded once."""
    vectors = torch.as_tensor(encoder.encode(texts, batch_size=batch_size)).float().cpu()  # [N, D]
    place = {text: at for at, text in enumerate(texts)}
    return lambda first, second: pair_cosines(*(vectors[[place[text] for text in side]] for side in (first, second)))


def _scored(rows: Any) -> Rows:
    table = zip(rows["sentence1"], rows["sentence2"], rows["label"], strict=True)
    return [row for row in table if row[2] != -1]


def _year_rows(file: Path) -> Rows:
    gold = file.with_name(file.name.replace("STS.input.", "STS.gs."))
    if not gold.is_file():
        raise FileNotFoundError(f"{file} has no scores beside it: {gold.name} is lacking.")
    pairs, scores = (each.read_text("utf-8").removesuffix("\n").split("\n") for each in (file, gold))
    if len(pairs) != len(scores):
        raise ValueError(f"{file} has {len(pairs)} pairs and {gold.name} {len(scores)} scores.")
    rows = [(*pair.split("\t")[:2], score.strip()) for pair, score in zip(pairs, scores, strict=True)]
    return [_graded(file, number, *row) for number, row in enumerate(rows, 1) if row[-1]]


def _benchmark_rows(file: Path) -> Rows:
    """The STS benchmark's own rows, where sources may follow the texts; or those of a table that names its columns."""
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}: get it again, or leave its folder out.")
    with file.open(encoding="utf-8-sig") as lines:
        first = next(lines, "").strip().replace('"', "")
    named = {"sentence1", "sentence2", "label"} <= set(re.split("[\t,]", first))
    return _scored(data.load(file)["test"] if named else glue.sts_rows(file))


def _sick_rows(file: Path) -> Rows:
    header, *lines = file.read_text("utf-8").rstrip("\n").split("\n")
    names = header.strip().split("\t")
    if lacking := [name for name in SICK if name not in names]:
        raise ValueError(f"{file} has no column {lacking[0]!r}; its first line names {', '.join(names)}.")
    rows = [dict(zip(names, line.strip().split("\t"), strict=False)) for line in lines]
    return [_graded(file, number, *(row[name] for name in SICK if name in row)) for number, row in enumerate(rows, 2)]


def _graded(file: Path, number: int, *row: str) -> tuple[str, str, float]:
    """Two texts and their score, from one line of a file."""
    with suppress(ValueError):
        first, second, score = row
        if np.isfinite(float(score)):
            return first, second, float(score)
    raise ValueError(f"Line {number} of {file} is not two texts and a score, but {checks.shown(row)}.")
