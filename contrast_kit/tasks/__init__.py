"""What an encoder is good for: a table of tasks, metrics, probes, fine-tuning, and the papers' protocols.

| question | call |
|---|---|
| what is in the vectors, without changing the encoder? | `probe`, `linear_probe`, `knn_probe`, `zero_shot_sts` |
| how well does it do a task after fine-tuning? | `fine_tune(…).evaluate(rows)` |
| which method is better, and is that more than luck? | `run(protocols.CMLM, data, encoder)` → `.differences("FT")` |
| how does that change with noise, or the batch size? | `sweep(protocols.SCL_NOISE, data, encoder, paraphraser=…)` |
| is an answer about a picture right? | `soft_accuracy`, `gqa_scores`, `nlvr2_scores` |
| could it be given without looking? | `question_only`, `picture_only` |
| does what was learnt on one task help on another? | `transfer(sst2, [amazon, yelp], encoder)` |
"""

from contrast_kit._renamed import former_names
from contrast_kit.tasks import prompting, protocols, scoreboard
from contrast_kit.tasks.fine_tuning import FineTuned, fine_tune, predict, weights_hash
from contrast_kit.tasks.grid import run
from contrast_kit.tasks.metrics import METRICS, accuracy, f1, glue_average, mcc, pearson, score, spearman
from contrast_kit.tasks.pipelines import PIPELINES, Pipeline
from contrast_kit.tasks.priors import picture_only, picture_vectors, question_only
from contrast_kit.tasks.probes import knn_probe, linear_probe, probe, zero_shot_sts
from contrast_kit.tasks.protocols import PROTOCOLS, SWEEPS, Protocol, Sweep
from contrast_kit.tasks.results import Results
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, split_hash
from contrast_kit.tasks.sweeps import SweepResults, sweep, transfer
from contrast_kit.tasks.table import TASKS, Task, TaskData, get_task, load
from contrast_kit.tasks.vision import (
    by_type,
    gqa_scores,
    nlvr2_scores,
    normalise_answer,
    soft_accuracies,
    soft_accuracy,
)

__all__ = [
    "METRICS",
    "PIPELINES",
    "PROTOCOLS",
    "SWEEPS",
    "TASKS",
    "FineTuned",
    "HeldOut",
    "Pipeline",
    "Protocol",
    "Results",
    "Sweep",
    "SweepResults",
    "Task",
    "TaskData",
    "accuracy",
    "by_type",
    "draw",
    "f1",
    "fine_tune",
    "get_task",
    "glue_average",
    "gqa_scores",
    "hold_out",
    "knn_probe",
    "linear_probe",
    "load",
    "mcc",
    "nlvr2_scores",
    "normalise_answer",
    "pearson",
    "picture_only",
    "picture_vectors",
    "predict",
    "probe",
    "prompting",
    "protocols",
    "question_only",
    "run",
    "score",
    "scoreboard",
    "soft_accuracies",
    "soft_accuracy",
    "spearman",
    "split_hash",
    "sweep",
    "transfer",
    "weights_hash",
    "zero_shot_sts",
]

__getattr__ = former_names(
    __name__,
    {"METHODS": "PIPELINES", "Method": "Pipeline", "Swept": "SweepResults", "Tuned": "FineTuned", "find": "get_task"},
)
