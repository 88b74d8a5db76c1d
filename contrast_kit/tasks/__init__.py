"""What an encoder is good for: a table of tasks, metrics, probes, fine-tuning, and the papers' protocols.

| question | call |
|---|---|
| what is in the vectors, without changing the encoder? | `probe`, `linear_probe`, `knn_probe`, `zero_shot_sts` |
| how well does it do a task after fine-tuning? | `fine_tune(…).evaluate(rows)` |
| do texts that mean the same lie closer than random ones? | `similar_against_random` |
| does it name a hidden word? | `fill_rate` |
| which method is better, and is that more than luck? | `run(protocols.CMLM, data, encoder)` → `.differences("FT")` |
| is it better than counting words on the same rows? | `baseline(protocols.CMLM, data)` |
| how does that change with noise, or the batch size? | `sweep(protocols.SCL_NOISE, data, encoder, paraphraser=…)` |
| with which settings? | `search(protocols.COCO_LM, data, encoder, budget=8)` |
| does it find answers, and know when there are none? | `squad.run(data.load("squad_v2"), encoder)` |
| how well does a masked LM do when asked in words? | `run(protocols.COCO_LM_PROMPTS, mnli, encoder, {"prompt": …})` |
| what does GLUE's server say? | `write_submission("glue.zip", predict_test(best_of_seeds(encoder, data), data) | …)` |
| is an answer about a picture right? | `soft_accuracy`, `gqa_scores`, `nlvr2_scores` |
| could it be given without looking? | `question_only`, `picture_only` |
| does what was learnt on one task help on another? | `transfer(sst2, [amazon, yelp], encoder)` |
"""

from contrast_kit._renamed import former_names
from contrast_kit.tasks import answers, prompting, protocols, scoreboard, squad
from contrast_kit.tasks.baselines import baseline, count_words
from contrast_kit.tasks.filling import fill_rate
from contrast_kit.tasks.fine_tuning import FineTuned, fine_tune, predict
from contrast_kit.tasks.grid import run
from contrast_kit.tasks.metrics import METRICS, accuracy, f1, glue_average, macro_f1, mcc, pearson, spearman
from contrast_kit.tasks.pairs import PairCosines, hard_pairs, similar_against_random
from contrast_kit.tasks.pipelines import PIPELINES, Pipeline
from contrast_kit.tasks.priors import picture_only, picture_vectors, question_only
from contrast_kit.tasks.probes import knn_probe, linear_probe, probe, zero_shot_sts
from contrast_kit.tasks.protocol import Protocol, Sweep
from contrast_kit.tasks.protocols import PROTOCOLS, SWEEPS
from contrast_kit.tasks.results import Results
from contrast_kit.tasks.searching import Found, search
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, split_hash
from contrast_kit.tasks.submission import best_of_seeds, predict_test, write_submission
from contrast_kit.tasks.sweeps import SweepResults, sweep, transfer
from contrast_kit.tasks.table import TASKS, Task, TaskData, get_task, load, score
from contrast_kit.tasks.vectors import encoder_hash, vectors_of, weights_hash
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
    "Found",
    "HeldOut",
    "PairCosines",
    "Pipeline",
    "Protocol",
    "Results",
    "Sweep",
    "SweepResults",
    "Task",
    "TaskData",
    "accuracy",
    "answers",
    "baseline",
    "best_of_seeds",
    "by_type",
    "count_words",
    "draw",
    "encoder_hash",
    "f1",
    "fill_rate",
    "fine_tune",
    "get_task",
    "glue_average",
    "gqa_scores",
    "hard_pairs",
    "hold_out",
    "knn_probe",
    "linear_probe",
    "load",
    "macro_f1",
    "mcc",
    "nlvr2_scores",
    "normalise_answer",
    "pearson",
    "picture_only",
    "picture_vectors",
    "predict",
    "predict_test",
    "probe",
    "prompting",
    "protocols",
    "question_only",
    "run",
    "score",
    "scoreboard",
    "search",
    "similar_against_random",
    "soft_accuracies",
    "soft_accuracy",
    "spearman",
    "split_hash",
    "squad",
    "sweep",
    "vectors_of",
    "transfer",
    "weights_hash",
    "write_submission",
    "zero_shot_sts",
]

__getattr__ = former_names(
    __name__,
    {"METHODS": "PIPELINES", "Method": "Pipeline", "Swept": "SweepResults", "Tuned": "FineTuned", "find": "get_task"},
)
