"""How each paper turns many runs into one number: protocols as data.

A protocol says how many rows are drawn, how often, with which seeds, which rows select and which test, how long to
train, and what is reported. The named ones are the papers' own; `dataclasses.replace` makes another from them, such as
one with the learning rate and the few epochs that a tiny encoder needs:

>>> from dataclasses import replace
>>> from contrast_kit.tasks import protocols
>>> quick = replace(protocols.CMLM, sizes=(20,), epochs={20: 10}, lr=5e-4)
>>> quick.draws * len(quick.seeds), quick.report
(15, 'mean')
"""

from dataclasses import replace

from contrast_kit.data.papers import (
    CAPT_FINE_TUNING,
    CAPT_SEARCH,
    CMLM_FINE_TUNING_EPOCHS,
    CMLM_POST_EPOCHS,
    CMLM_SEARCH,
    COCO_LM_FINE_TUNING,
    COCO_LM_SEARCH,
    LM_BFF,
)
from contrast_kit.tasks.protocol import ANY, Protocol, Sweep

SCL_SEARCH = {
    "lam": (
        0.1,
        0.3,
        0.5,
        0.7,
        0.9,
        1.0,
    ),
    "tau": (0.1, 0.3, 0.5, 0.7),
}
"""Ours: SCL tunes λ for each task and calls τ adjustable; its first edition (arXiv, November 2020), the one meant
wherever the kit names its tables, prints no grid. (A later one may print this: remembered, not checked.)"""

CMLM = Protocol(
    "CMLM few-shot",
    most_test={"qqp": 2000},
    epochs=CMLM_FINE_TUNING_EPOCHS,
    warmup=0.0,
    post_epochs=CMLM_POST_EPOCHS,
    mismatched=True,
    search={ANY: CMLM_SEARCH},
)
"""CMLM, sections 4.1 to 4.5: 5 draws × 3 seeds = 15 runs, mean and standard deviation of all. "With replacement" is
read as: two draws may share rows. Validation rows: 500, or half of the original ones where there are fewer (RTE, MRPC).
Not printed: the warm-up (0 in the authors' flags); how MNLI-MM is selected (here by the matched rows, so that all
mismatched ones can test); the head (here one linear map); the deviation's denominator (here n - 1)."""

CMLM_FULL = Protocol(
    "CMLM full size",
    sizes=(None,),
    draws=1,
    most_test={"qqp": 2000},
    epochs={None: 3},
    lr=3e-5,
    warmup=0.0,
    post_epochs={None: 3},
    post_lr=3e-5,
)
"""CMLM, section 4.7: all rows, 3 epochs of each stage at 3e-5, mean of 3 seeds. That these are the seeds of the
few-shot runs is our reading."""

SCL_FEW_SHOT = Protocol(
    "SCL few-shot",
    draws=10,
    seeds=(0,),
    stratified=True,
    test="half",
    report="top",
    metrics={"cola": "accuracy"},
    epochs=CMLM_FINE_TUNING_EPOCHS,
    search={ANY: SCL_SEARCH},
)
"""SCL, section 4.1: 10 stratified draws, mean and deviation of the *top 3 by validation*: a number that flatters every
method, the more so the more its draws differ, and whose deviation is that of three picked runs. It selects by accuracy,
and reads as if it reports it for CoLA too. Not printed: the epochs (here CMLM's), the warm-up (here RoBERTa's), the
seeds of a draw (here one) and the grids of λ and τ (here ours)."""

SCL_FULL = Protocol(
    "SCL full data",
    sizes=(None,),
    draws=1,
    seeds=tuple(range(10)),
    stratified=True,
    test="half",
    report="best",
    metrics={"cola": "accuracy"},
    epochs={None: 10},
    search={ANY: SCL_SEARCH},
)
"""SCL, section 4.1: all rows, 10 seeds, the test score of the one best by validation. The epochs are RoBERTa's."""

SCL_TRANSFER = Protocol(
    "SCL transfer",
    sizes=(40,),
    draws=10,
    seeds=(0,),
    stratified=True,
    per_class=True,
    test="half",
    report="top",
    epochs={40: 200},
)
"""SCL, section 5.4: start from the model fine-tuned on SST-2 (`SCL_FULL`), 20 rows of each class of Amazon-2 or Yelp-2;
`examples/transfer.py` does both. The epochs are ours, between those of 20 and of 100 rows."""

SCL_NOISE = Sweep(
    replace(
        SCL_FEW_SHOT,
        name="SCL noise",
        sizes=(100,),
    ),
    "temperature",
    (None, 0.3, 0.5, 0.7, 0.9),
)
"""SCL, section 5.3: 100 labelled rows and three back-translations of each at temperature T; None is "Original". Nothing
about the epochs is printed: they are those of 100 rows, so that an augmented run takes four times as many updates."""

SCL_BATCH_SIZE = Sweep(
    replace(SCL_FULL, name="SCL batch size"),
    "batch_size",
    (16, 64, 256),
)
"""SCL, table 3: all rows. Epochs and learning rate stay the same, as far as the paper says: a larger batch means fewer
updates. The batch is that of the contrast (set `chunk_size` where it does not fit); accumulation would add no
positives."""

COCO_LM = Protocol(
    "COCO-LM GLUE",
    sizes=(None,),
    draws=1,
    seeds=(0, 1, 2, 3, 4),
    validation=0,
    test="validation",
    report="median",
    mismatched=True,
    epochs={None: 3},
    lr=2e-5,
    batch_size=32,
    fine_tuning=COCO_LM_FINE_TUNING,
    head="tanh",
    search=COCO_LM_SEARCH["base"],
)
"""COCO-LM, section 4 and appendix B: development set, *median* of 5 seeds, after a search for each task (table 7, on
the rows that are reported); here stands one point from the middle of that grid. The seeds' numbers are ours; the head,
which is not printed, is that of the library that COCO-LM builds on. `SQUAD` is its other half, and `COCO_LM_LARGE` has
table 7's other column of rates."""

COCO_LM_LARGE = replace(
    COCO_LM, name="COCO-LM GLUE, large++", lr=1e-5, search=COCO_LM_SEARCH["large++"]
)
"""As `COCO_LM`, with the rates that table 7 prints for large++."""

SQUAD = replace(
    COCO_LM,
    name="COCO-LM SQuAD 2.0",
    epochs={None: 2},
    lr=3e-5,
    head=None,
    mismatched=False,
)
"""COCO-LM, tables 1 and 8: SQuAD 2.0's development set, EM and F1, median of 5 seeds, after a search:
`tasks.squad.run` runs this protocol, `examples/search_a_grid.py` table 8's grid."""

MNLI_FRACTIONS = Sweep(
    replace(COCO_LM, name="COCO-LM few-label MNLI", report="mean"),
    "fraction",
    (0.01, 0.1, 0.2, 1.0),
)
"""COCO-LM, figure 7 (c) and (d): MNLI, matched and mismatched, with a share of its labels; five runs each, their mean,
lowest and highest (`Results.summary`). The figure's axis is not printed: these are the shares that its text names. How
the share was drawn is not said either; here it is drawn at random, one subset for all five runs."""

CAPT = Protocol(
    "CAPT GLUE",
    sizes=(None,),
    draws=1,
    seeds=(0, 1, 2, 3, 4),
    validation=0,
    test="validation",
    report="median",
    metrics={"stsb": "pearson"},
    epochs={None: 10},
    batch_size=32,
    fine_tuning=CAPT_FINE_TUNING,
    head="tanh",
    search={ANY: CAPT_SEARCH},
)
"""CAPT, section 3: development set, 5 seeds. Its text says median, the header of its table "averaged"; this follows the
text. Epochs, rate, batch and the rest are RoBERTa's settings, which it adopts; so is the MLP on [CLS] ("extra
multi-layer perceptrons"): dense, tanh, linear. The seeds' numbers are ours."""

LM_BFF_MNLI = Protocol(
    "LM-BFF",
    sizes=(None,),
    draws=1,
    seeds=LM_BFF["seeds"],
    shots=LM_BFF["shots"],
    test="validation",
    ddof=0,
    mismatched=True,
    steps=LM_BFF["steps"],
    lr=LM_BFF["lr"][0],
    batch_size=LM_BFF["batch_size"][0],
    warmup=0.0,
    evaluate_every=LM_BFF["evaluate_every"],
    fine_tuning=LM_BFF["fine_tuning"],
    choose={"lr": LM_BFF["lr"], "batch_size": LM_BFF["batch_size"]},
)
"""LM-BFF (Gao, Fisch & Chen 2021), section 3.3: 16 rows of each class to train on and 16 to select by, five splits by
its seeds; for each split a grid, whose best point is chosen by those 16; tested on GLUE's validation rows; mean and
*population* deviation. Run it by
`tasks.run(protocols.LM_BFF_MNLI, mnli, encoder, {"prompt": tasks.prompting.MNLI.pipeline(), "FT": Pipeline()})`.
Its filter of demonstrations by similarity is left out, as it is by default in its scripts."""

COCO_LM_PROMPTS = replace(
    LM_BFF_MNLI,
    name="COCO-LM prompts",
    lr=LM_BFF["coco_lm_lr"][0],
    choose={"lr": LM_BFF["coco_lm_lr"], "batch_size": LM_BFF["batch_size"]},
)
"""COCO-LM, table 4: LM-BFF's protocol, with the learning rates {3e-6, 4e-6, 5e-6}."""

GLUE_TEST = Protocol(
    "GLUE test",
    sizes=(None,),
    draws=1,
    seeds=tuple(range(10)),
    test="validation",
    report="best",
    epochs={None: 10},
)
"""For GLUE's secret test rows (`examples/glue_submission.py`): all training rows, ten seeds, the one best on all
validation rows, as under COCO-LM's table 2, which also searches its grid. Epochs, rate and batch are RoBERTa's."""
