"""What an encoder is good for: a table of tasks, metrics, probes, fine-tuning, and the papers' protocols.

| question | call |
|---|---|
| what is in the vectors, without changing the encoder? | `linear_probe`, `knn_probe` |
| how well does it do a task after fine-tuning? | `fine_tune(…).evaluate(rows)` |
| do texts that mean the same lie closer than random ones? | `similar_against_random` |
| does it name a hidden word? | `fill_rate` |
| which method is better, and is that more than luck? | `run(protocols.CMLM, data, encoder)` → `.differences("FT")` |
| is it better than counting words on the same rows? | `baseline(protocols.CMLM, data)` |
| how does that change with noise, or the batch size? | `run(protocols.SCL_NOISE[0.3], data, encoder, paraphraser=…)` |
| does it find answers, and know when there are none? | `squad.run(data.load("squad_v2"), encoder)` |
| how well does a masked LM do when asked in words? | `run(protocols.COCO_LM_PROMPTS, mnli, encoder, {"prompt": …})` |
| what do the tests say that researchers know? | `standard.sts`, `standard.blimp`, `standard.evaluate` |
| is an answer about a picture right? | `soft_accuracy`, `nlvr2_scores` |
| could it be given without looking? | `question_only`, `picture_only` |
| does what was learnt on one task help on another? | `run(protocols.SCL_TRANSFER, yelp, tuned.objective)` |

`examples/` has more: the search of a paper's grid, transfer between tasks, GLUE's submission files, tasks of mteb.
"""

from contrast_kit.tasks import (
    answers,
    priors,
    prompting,
    protocols,
    scoreboard,
    squad,
    standard,
)
from contrast_kit.tasks.fine_tuning import FineTuned, fine_tune, predict
from contrast_kit.tasks.metrics import (
    METRICS,
    accuracy,
    f1,
    glue_average,
    mcc,
    pearson,
    spearman,
)
from contrast_kit.tasks.pairs import PairCosines, hard_pairs, similar_against_random
from contrast_kit.tasks.priors import (
    count_words,
    picture_only,
    picture_vectors,
    question_only,
)
from contrast_kit.tasks.probes import (
    encoder_hash,
    fill_rate,
    knn_probe,
    linear_probe,
    weights_hash,
)
from contrast_kit.tasks.prompt import Prompt
from contrast_kit.tasks.protocol import PIPELINES, Pipeline, Protocol
from contrast_kit.tasks.results import Results, interval
from contrast_kit.tasks.runs import baseline, run
from contrast_kit.tasks.span import Span
from contrast_kit.tasks.splits import draw, hold_out, split_hash
from contrast_kit.tasks.table import TASKS, Task, TaskData, get_task, load, score
from contrast_kit.tasks.vision import (
    nlvr2_scores,
    soft_accuracies,
    soft_accuracy,
)

__all__ = [
    "METRICS",
    "PIPELINES",
    "TASKS",
    "FineTuned",
    "PairCosines",
    "Pipeline",
    "Prompt",
    "Protocol",
    "Results",
    "Span",
    "Task",
    "TaskData",
    "accuracy",
    "answers",
    "baseline",
    "count_words",
    "draw",
    "encoder_hash",
    "f1",
    "fill_rate",
    "fine_tune",
    "get_task",
    "glue_average",
    "hard_pairs",
    "hold_out",
    "interval",
    "knn_probe",
    "linear_probe",
    "load",
    "mcc",
    "nlvr2_scores",
    "pearson",
    "picture_only",
    "picture_vectors",
    "predict",
    "priors",
    "prompting",
    "protocols",
    "question_only",
    "run",
    "score",
    "scoreboard",
    "similar_against_random",
    "soft_accuracies",
    "soft_accuracy",
    "spearman",
    "split_hash",
    "squad",
    "standard",
    "weights_hash",
]
