"""The zip file that GLUE's server takes: the best of ten seeds by the validation rows answers the secret test rows.

    python examples/glue_submission.py path/to/glue_data roberta-base glue.zip

SCL, section 4.1: "pick the top model out of 10 seeds based on validation accuracy". No test row is read. The server
wants eleven files; WNLI, which the papers leave out, and AX may be filled with one constant.
"""

import sys
import zipfile
from pathlib import Path

import numpy as np

import contrast_kit as ck
from contrast_kit.tasks import protocols
from contrast_kit.tasks.table import TASKS

FILES = {  # the name of each file: its task, the split that it answers, how many rows the server expects
    "CoLA.tsv": ("cola", "test", 1_063),
    "SST-2.tsv": ("sst2", "test", 1_821),
    "MRPC.tsv": ("mrpc", "test", 1_725),
    "STS-B.tsv": ("stsb", "test", 1_379),
    "QQP.tsv": ("qqp", "test", 390_965),
    "MNLI-m.tsv": ("mnli", "test_matched", 9_796),
    "MNLI-mm.tsv": ("mnli", "test_mismatched", 9_847),
    "QNLI.tsv": ("qnli", "test", 5_463),
    "RTE.tsv": ("rte", "test", 3_000),
    "WNLI.tsv": ("wnli", "test", 146),
    "AX.tsv": ("mnli", "ax", 1_104),
}
AS_NUMBERS = ("cola", "sst2", "mrpc", "qqp", "wnli")
"""Tasks whose classes the server wants as 0 and 1; those of the others are written in words."""
FILLED = {"WNLI.tsv": 0, "AX.tsv": 0}
"""What a file without predictions is filled with."""


def best_of_seeds(start, data, protocol=protocols.GLUE_TEST, **settings):
    """Train once with each seed on all training rows; the model best on all validation rows, of equals the earlier."""
    best = None
    for seed in protocol.seeds:
        options = protocol.training(None) | settings
        tuned = ck.tasks.fine_tune(start, data.train, data.validation, task=data.task, seed=seed, **options)
        if best is None or tuned.best[data.task.metrics[0]] > best.best[data.task.metrics[0]]:
            best = tuned
    return best


def predict_test(tuned, data):
    """Predictions of a task's test rows by the names of their files: for MNLI both, and AX."""
    wanted = {name: split for name, (task, split, _) in FILES.items() if task == data.task.name}
    return {name: tuned.predict(data.splits[split]) for name, split in wanted.items() if split in data.splits}


def write_submission(path, predictions):
    """Write the zip: one file a task, `index ⇥ prediction`, labels as the server names them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, (task, _, rows) in FILES.items():
            values = predictions.get(name)
            if values is None:
                values = [FILLED[name]] * rows
            if len(values) != rows:
                raise ValueError(f"{name} has {rows:,} rows, and there are {len(values):,} predictions.")
            answers = as_server_names_them(TASKS[task], values)
            lines = [f"{i}\t{answer}\n" for i, answer in enumerate(answers)]
            zipped.writestr(name, "index\tprediction\n" + "".join(lines))


def as_server_names_them(task, values):
    """Scores from 0 to 5, the numbers of classes, or their names."""
    if task.regression:
        return [f"{value:.3f}" for value in np.clip(values, 0, 5)]
    if task.name in AS_NUMBERS:
        return [str(int(value)) for value in values]
    return [task.label_names[value] for value in values]


def main(folder, model, path):
    start, predictions = ck.Encoder.from_pretrained(model), {}
    for task in dict.fromkeys(task for task, _, _ in FILES.values()):
        data = ck.tasks.load(f"glue/{task}", folder=Path(folder))
        if task != "wnli":
            predictions |= predict_test(best_of_seeds(start, data), data)
    write_submission(path, predictions)


if __name__ == "__main__":
    main(*sys.argv[1:])
