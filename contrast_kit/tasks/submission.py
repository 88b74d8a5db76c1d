"""GLUE's secret test rows: the best of ten seeds by the validation rows, and the zip file that the server takes."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.data.drafts import draft_of
from contrast_kit.encoder import Encoder
from contrast_kit.tasks.fine_tuning import FineTuned, check_start, fine_tune
from contrast_kit.tasks.grid import Stopped, post_train
from contrast_kit.tasks.metrics import as_numbers
from contrast_kit.tasks.pipelines import Pipeline, check_head, pipeline_of
from contrast_kit.tasks.planned import refuse_overridden, refuse_unheeded, task_of, tune_of
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.protocols import GLUE_TEST
from contrast_kit.tasks.table import TASKS, TaskData


@dataclass(frozen=True)
class TestFile:
    """One file of a submission: its name, its task, how many rows the server expects."""

    __test__ = False  # not a test for pytest
    name: str
    task: str
    rows: int
    split: str = "test"


FILES: tuple[TestFile, ...] = (
    TestFile("CoLA.tsv", "cola", 1_063),
    TestFile("SST-2.tsv", "sst2", 1_821),
    TestFile("MRPC.tsv", "mrpc", 1_725),
    TestFile("STS-B.tsv", "stsb", 1_379),
    TestFile("QQP.tsv", "qqp", 390_965),
    TestFile("MNLI-m.tsv", "mnli", 9_796, "test_matched"),
    TestFile("MNLI-mm.tsv", "mnli", 9_847, "test_mismatched"),
    TestFile("QNLI.tsv", "qnli", 5_463),
    TestFile("RTE.tsv", "rte", 3_000),
    TestFile("WNLI.tsv", "wnli", 146),
    TestFile("AX.tsv", "mnli", 1_104, "ax"),
)
"""The eleven files of the official zip. AX, the diagnostic rows, is answered by the model of MNLI."""
AS_NUMBERS = ("cola", "sst2", "mrpc", "qqp", "wnli")
"""Tasks whose classes the server wants as 0 and 1; those of the others are written in words."""
FILL: dict[str, int | float] = {"wnli": 0, "mnli": 0, "stsb": 2.5}
"""What a file without predictions is filled with: WNLI's most frequent class ("not_entailment"), MNLI's class 0, and
the middle of STS-B's scale."""


def best_of_seeds(
    start: Encoder,
    data: TaskData,
    method: Pipeline | str = "FT",
    *,
    protocol: Protocol = GLUE_TEST,
    **settings: Any,
) -> FineTuned:
    """Train once with each seed of the protocol on all training rows; give back the model best on all validation rows.

    SCL, section 4.1: "pick the top model out of 10 seeds based on validation accuracy"; of equals the earlier seed. No
    test row is read. With ten seeds the validation score of the picked one is flattered.

    Args:
        start, data, method: as `run`.
        protocol: its seeds, metrics, head and settings of training.
        settings: as `run`.

    Raises:
        KeyboardInterrupt: for the stop button, so that no file is made from half of the seeds.
        ValueError: for a protocol that takes a share or shots of the rows, adds some, or chooses a point of a grid.
    """
    check_start(start)
    arguments.of_kind("data", data, TaskData, "what tasks.load gives")
    arguments.of_kind("protocol", protocol, Protocol, "one of tasks.protocols")
    pipeline = pipeline_of(method)
    check_head(pipeline, "best_of_seeds")
    refuse_overridden(protocol, settings)
    all_rows = "best_of_seeds trains once with each seed on all rows"
    refuse_unheeded(protocol, all_rows, "choose", "fraction", "shots", "temperature")
    task, best = task_of(protocol, data), None
    options = protocol.training(None) | settings
    tune = tune_of(protocol, pipeline)
    for seed in protocol.seeds:
        begin = start
        if pipeline.post is not None:
            post = protocol.post_training(None) | settings
            try:
                begin = post_train(start, pipeline, data.train, task=task, seed=seed, **post)
            except Stopped as stopped:
                raise KeyboardInterrupt from stopped
        tuned = fine_tune(begin, data.train, data.validation, task=task, method=tune, seed=seed, **options)
        if tuned.run.interrupted:
            raise KeyboardInterrupt
        if best is None or tuned.best[task.metrics[0]] > best.best[task.metrics[0]]:
            best = tuned
    return best


def predict_test(tuned: FineTuned, data: TaskData, ax: Any = None) -> dict[str, np.ndarray]:
    """Predictions of a task's test rows, by the names of their files: `{"RTE.tsv": [3000]}`; for MNLI both, and AX.

    Args:
        ax: the diagnostic rows, with MNLI's columns; without them AX is left out.

    Raises:
        ValueError: where the model was fine-tuned on another task.
    """
    arguments.of_kind("tuned", tuned, FineTuned, "what fine_tune or best_of_seeds gives")
    arguments.of_kind("data", data, TaskData, "what tasks.load gives")
    if tuned.task.name != data.task.name:
        raise ValueError(f"This model was fine-tuned on {tuned.task.name}: it cannot answer {data.task.name}.")
    found = {}
    for file in FILES:
        rows = ax if file.split == "ax" else data.splits.get(file.split)
        if file.task == data.task.name and rows is not None:
            found[file.name] = tuned.predict(rows)
    return found


def write_submission(
    path: str | Path, predictions: Mapping[str, Sequence[float]], *, fill: Sequence[str] = ("WNLI.tsv", "AX.tsv")
) -> Path:
    r"""Write GLUE's official zip: one file a task, `index ⇥ prediction`, labels as the server names them.

    Args:
        path: of the zip file.
        predictions: class integers (or scores) by file name, as `predict_test` gives them for each task, in the order
            of the test rows.
        fill: files that may be filled with one constant where there are no predictions: the papers leave out WNLI, and
            the server wants it all the same. Its score is then that of the constant.

    Returns:
        the path.

    Raises:
        ValueError: for a file that is missing or unknown, a wrong number of rows, a class that the task does not have,
            or a score that is not finite.

    >>> import tempfile, zipfile
    >>> from contrast_kit.tasks.submission import FILES, write_submission
    >>> made = {file.name: [0] * file.rows for file in FILES if file.name != "QQP.tsv"} | {"QQP.tsv": [1] * 390_965}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zipped = zipfile.ZipFile(write_submission(f"{folder}/glue.zip", made))
    ...     zipped.read("RTE.tsv")[:30], len(zipped.namelist())
    (b'index\tprediction\n0\tentailment\n', 11)
    """
    path, by_name = arguments.path("path", path, "the zip file"), {file.name: file for file in FILES}
    arguments.mapping("predictions", predictions, "of the predictions of each file")
    fill = arguments.strings("fill", fill, "names of files")
    if path.suffix != ".zip":
        raise ValueError(f"The server takes a zip file: the path must end in .zip, not in {path.suffix or 'nothing'}.")
    if unknown := [name for name in (*predictions, *fill) if name not in by_name]:
        raise ValueError(f"A submission has no file {unknown[0]!r}; there are {', '.join(by_name)}.")
    if lacking := [name for name in by_name if name not in predictions and name not in fill]:
        raise ValueError(f"The server wants all files, and there are no predictions for {', '.join(lacking)}.")
    texts = {}
    for name, file in by_name.items():
        values = predictions.get(name)
        texts[name] = file_text(file, [FILL.get(file.task, 0)] * file.rows if values is None else values)
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in texts.items():
            zipped.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # no date: the same bytes each time
    return path


def file_text(file: TestFile, predicted: Sequence[float]) -> str:
    """The text of one file of a submission; its errors are those of `write_submission`."""
    values = as_numbers(predicted, f"Predictions of {file.name}")
    if values.shape != (file.rows,):
        raise ValueError(f"{file.name} has {file.rows:,} rows, but the predictions have the shape {values.shape}.")
    task = TASKS[file.task]
    if task.regression:
        if not np.isfinite(values).all():
            raise ValueError(f"A prediction of {file.name} is not finite: the model that made it has diverged.")
        said = [f"{value:.3f}" for value in np.clip(values, 0, 5)]
    else:
        if not np.issubdtype(values.dtype, np.integer) or values.min() < 0 or values.max() >= task.classes:
            raise ValueError(f"{file.name} wants the classes 0 to {task.classes - 1}, as whole numbers.")
        names = [str(i) for i in range(task.classes)] if file.task in AS_NUMBERS else task.label_names
        said = [names[value] for value in values]
    return "index\tprediction\n" + "".join(f"{i}\t{label}\n" for i, label in enumerate(said))
