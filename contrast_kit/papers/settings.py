"""The papers' printed training settings: data alone, in the names of `Training`, each number with its source.

`training(method, setting)` gives a dict for `ck.Training(**…)` or `fit(objective, texts, **…)`. What a paper does not
print has no value here and stays at `Training`'s default; where a value is somebody else's, its comment says whose.
"""

from collections.abc import Mapping
from typing import Any

from contrast_kit import arguments

# CMLM, section 4.3: epochs by the number of texts. Its 350, 100, 10 are for fine-tuning, 200, 50, 5 for post-training.
CMLM_POST_EPOCHS = {20: 200, 100: 50, 1000: 5}
CMLM_FINE_TUNING_EPOCHS = {20: 350, 100: 100, 1000: 10}

# Section 4.3: AdamW at 1e-5 for both stages, batches of 8 and of 16. Section 4.7, full size: 3 epochs at 3e-5, the rest
# as in 4.3. The paper prints no warm-up; the authors' flags have 0.
_CMLM_POST = {
    **{str(n): dict(epochs=e, batch_size=8, lr=1e-5, warmup=0.0) for n, e in CMLM_POST_EPOCHS.items()},
    "full size": dict(epochs=3, batch_size=8, lr=3e-5, warmup=0.0),
}
_CMLM_FINE_TUNING = {
    **{str(n): dict(epochs=e, batch_size=16, lr=1e-5, warmup=0.0) for n, e in CMLM_FINE_TUNING_EPOCHS.items()},
    "full size": dict(epochs=3, batch_size=16, lr=3e-5, warmup=0.0),
}

# COCO-LM, table 6. Printed the same for all three: batch, length, Adam's betas and epsilon, clip norm, weight decay.
# Warm-up is printed as 10K steps.
_COCO_LM = dict(batch_size=2048, betas=(0.9, 0.98), eps=1e-6, clip=2.0, weight_decay=0.01, max_length=512)
_COCO_LM_SETTINGS: dict[str, dict[str, Any]] = {
    "base": dict(steps=125_000, lr=5e-4, warmup=10_000 / 125_000) | _COCO_LM,
    "base++": dict(steps=1_950_000, lr=2e-4, warmup=10_000 / 1_950_000) | _COCO_LM,
    "large++": dict(steps=1_950_000, lr=1e-4, warmup=10_000 / 1_950_000) | _COCO_LM,
}

# CAPT, table 4. "2k" and "8k" are read as powers of two, as in RoBERTa. Warm-up is printed as 10k and 30k steps. The
# table prints no clipping and no length: none and 512 are RoBERTa's, whose settings the large model adopts.
_CAPT = dict(decay="linear", weight_decay=0.01, betas=(0.9, 0.98), eps=1e-6, clip=None, max_length=512)

# LXMERT's released code, whose settings for the tasks CAPT takes over (4.2). Its optimizer has BERT's betas.
_LXMERT = dict(decay="linear", betas=(0.9, 0.999))
_LXMERT_TASKS = {
    task: dict(epochs=4, batch_size=32, lr=lr, warmup=0.1, clip=5.0) | _LXMERT
    for task, lr in {"vqa": 5e-5, "gqa": 1e-5, "nlvr2": 5e-5}.items()
}

TRAINING: dict[str, dict[str, dict[str, Any]]] = {
    "CMLM": _CMLM_POST,
    # CMLM trains its baselines TAPT and CSSL beside its own method and prints no other numbers for them.
    "CSSL": _CMLM_POST,
    # COCO-LM, section 4 and appendix B: its own RoBERTa and ELECTRA have "exactly the same" settings; TAPT is MLM.
    "MLM": {"base": _COCO_LM_SETTINGS["base"]} | _CMLM_POST,
    "ELECTRA": {"base": _COCO_LM_SETTINGS["base"]},
    "All-Token MLM": {"base": _COCO_LM_SETTINGS["base"]},  # table 3, "All-Token LM Only"
    "COCO-LM": _COCO_LM_SETTINGS,
    "CAPT": {
        "small": dict(steps=200_000, batch_size=2048, lr=5e-4, warmup=10_000 / 200_000) | _CAPT,
        "large": dict(steps=500_000, batch_size=8192, lr=6e-4, warmup=30_000 / 500_000) | _CAPT,
    },
    # CAPT, section 4.1: "peak learning rate 1e-4 paired with linear warmup and decay"; neither steps nor warm-up.
    "CAPT for pairs": {"pre-training": dict(batch_size=512, lr=1e-4, decay="linear")},
    "LXMERT": {"pre-training": dict(epochs=20, batch_size=256, lr=1e-4, warmup=0.05, clip=1.0) | _LXMERT},
    "answers": {task: _LXMERT_TASKS[task] for task in ("vqa", "gqa")},
    "two pictures": {"nlvr2": _LXMERT_TASKS["nlvr2"]},
    # SCL, section 4.1: Adam (here AdamW) at 1e-5, batches of 16, at every size. It prints neither epochs nor warm-up.
    "SCL": {name: dict(batch_size=16, lr=1e-5) for name in ("few-shot", "full data")},
    "FT": _CMLM_FINE_TUNING,
    "SimCSE": {},  # not one of the four papers
}
"""Settings by method, then by the name of the setting: a number of texts, or a size of model."""

# CMLM, section 4.3: the grid of which α = 0.5 and p_c = 0.7 were best on the development sets.
CMLM_SEARCH = {"contrast_weight": (0.01, 0.1, 0.3, 0.5, 0.7, 1.0), "p_c": (0.1, 0.3, 0.5, 0.7, 0.9)}

# COCO-LM, tables 7 and 8: the same for GLUE and SQuAD. "Clip Norm -" is read as none.
COCO_LM_FINE_TUNING: dict[str, Any] = dict(
    decay="linear", max_length=512, eps=1e-6, betas=(0.9, 0.98), clip=None, weight_decay=0.01
)
_SMALL_TASKS, _LARGE_TASKS = ("cola", "rte", "mrpc", "stsb"), ("mnli", "qqp", "qnli", "sst2")
_SMALL = dict(epochs=(2, 3, 5, 10), batch_size=(16, 32), warmup=(0.06, 0.1))
_LARGE = dict(epochs=(2, 3, 5), batch_size=(32,), warmup=(0.06,))
_SQUAD = dict(epochs=(2, 3), batch_size=(16, 32), warmup=(0.06, 0.1))
_RATES = {  # (small tasks and SQuAD, large tasks)
    "base": ((2e-5, 3e-5, 4e-5, 5e-5), (1e-5, 2e-5, 3e-5, 4e-5)),
    "large++": ((7e-6, 1e-5, 2e-5, 3e-5), (5e-6, 7e-6, 1e-5, 2e-5)),
}
COCO_LM_SEARCH: dict[str, dict[str, dict[str, tuple]]] = {
    model: dict.fromkeys(_SMALL_TASKS, _SMALL | {"lr": small})
    | dict.fromkeys(_LARGE_TASKS, _LARGE | {"lr": large})
    | {"squad": _SQUAD | {"lr": small}}
    for model, (small, large) in _RATES.items()
}
"""What COCO-LM searched for each task, by the size of model: tables 7 and 8. Those of base also hold for base++."""

# CAPT, section 3.2, "the same settings and hyper-parameters as those of RoBERTa". Those are in RoBERTa's recipes for
# GLUE: 10 epochs, 6 % warm-up, rate and batch searched, 512 tokens, no clipping, weight decay 0.1.
CAPT_FINE_TUNING: dict[str, Any] = dict(
    decay="linear", max_length=512, eps=1e-6, betas=(0.9, 0.98), clip=None, weight_decay=0.1
)
CAPT_SEARCH = {"lr": (1e-5, 2e-5, 3e-5), "batch_size": (16, 32)}

LM_BFF: dict[str, Any] = dict(
    shots=16,
    seeds=(13, 21, 42, 87, 100),
    steps=1000,
    evaluate_every=100,
    lr=(1e-5, 2e-5, 5e-5),
    batch_size=(2, 4, 8),
    coco_lm_lr=(3e-6, 4e-6, 5e-6),
    # The defaults of the library that its authors used (transformers 3.4).
    fine_tuning=dict(decay="linear", weight_decay=0.0, clip=1.0, eps=1e-8, betas=(0.9, 0.999)),
)
"""LM-BFF, section 3.3 and its scripts, which COCO-LM's table 4 follows with other learning rates (section 5.3)."""

COCO_LM_MODELS: dict[str, dict[str, Any]] = {
    "base": dict(shape="base", auxiliary_layers=4, buckets=32, max_distance=128),
    "base++": dict(shape="base", auxiliary_layers=4, buckets=64, max_distance=128),
    "large++": dict(shape="large", auxiliary_layers=6, buckets=128, max_distance=256),
}
"""COCO-LM's models. Shapes and auxiliary layers: section 4, "Pretraining Settings" and "Model Architecture". Buckets of
the relative positions and their largest distance: table 6."""

COCO_LM_TABLE_3: dict[str, dict[str, Any]] = {
    "COCO-LM": {},
    "RTD Only": dict(task="rtd", contrast_weight=None),
    "CLM Only": dict(contrast_weight=None),
    "SCL + RTD": dict(task="rtd"),
    "w. ELECTRA's Auxiliary": dict(auxiliary="narrow"),
    "w. Random Replacements": dict(auxiliary="random"),
    "All-Token LM Only": dict(task="all_token"),
    "CLM w/o. Copy": dict(task="plain_lm"),
    "CLM w/o. Stop-grad": dict(stop_gradient=False),
}
"""COCO-LM's table 3, row by row, as changes of `COCOLMConfig`: `COCOLM(encoder, **COCO_LM_TABLE_3["CLM Only"])`.

Two rows are not a matter of the config alone. "w/o. Rel-Pos" is an encoder built without relative positions. "w.
Converged Auxiliary" needs a trained one: `COCOLM(encoder, converged=trained)`. The paper does not say whether the rows
under "CLM Setup" keep the contrast (here they do), nor how "CLM w/o. Copy" names words (here by a softmax at M alone),
nor whether ELECTRA's auxiliary model has relative positions and samples with dropout (here neither)."""


def training(method: str, setting: str | int) -> dict[str, Any]:
    """How a paper trained a method, as settings of `Training`; a new dict, free to change.

    Args:
        method: a key of `TRAINING`.
        setting: one of its settings: `"base"`, `"large"`, `"full size"`; `100` or `"100"` for a number of texts.

    Raises:
        ValueError: for a method or setting that no paper here prints; the message names those that are printed.

    >>> from contrast_kit.papers import settings
    >>> settings.training("CMLM", 100)
    {'epochs': 50, 'batch_size': 8, 'lr': 1e-05, 'warmup': 0.0, 'group_by_length': False}
    >>> settings.training("CAPT", "base")
    Traceback (most recent call last):
    ValueError: There is no setting 'base' of CAPT; there are small, large.
    """
    # COCO-LM, section 3.3: a batch is "a random set". No paper here groups texts by their length, as `Training` does.
    return dict(_chosen(TRAINING, method, setting), group_by_length=False)


def coco_lm_model(setting: str) -> dict[str, Any]:
    """The model of a setting of COCO-LM: a row of `COCO_LM_MODELS`. Errors as for `training`."""
    return dict(_chosen({"COCO-LM": COCO_LM_MODELS}, "COCO-LM", setting))


def _chosen(table: Mapping[str, Mapping[str, dict[str, Any]]], method: str, setting: str | int) -> dict[str, Any]:
    arguments.known(method, table, "method", "with printed settings")
    settings = table[method]
    if not settings:
        raise ValueError(f"None of the papers here prints how {method} is trained.")
    arguments.known(str(setting), settings, "setting", f"of {method}")
    return settings[str(setting)]
