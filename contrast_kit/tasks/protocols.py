"""How each paper turns many runs into one number: protocols as data.

A protocol says how many rows are drawn, how often, with which seeds, what is selected by and tested on, how long to
train, and what is reported. The named ones are the papers' own; `dataclasses.replace` makes another of them, such as
one with the learning rate and the few epochs that a tiny encoder wants:

>>> from dataclasses import replace
>>> from contrast_kit.tasks import protocols
>>> quick = replace(protocols.CMLM, sizes=(20,), epochs={20: 10}, lr=5e-4)
>>> quick.runs, quick.report
(15, 'mean')
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from contrast_kit.papers.settings import CMLM_FINE_TUNING_EPOCHS, CMLM_POST_EPOCHS


@dataclass(frozen=True)
class Protocol:
    """One way to compare methods. Numbers that a paper does not print are marked as ours."""

    name: str
    sizes: tuple[int | None, ...] = (20, 100, 1000)
    """Labelled training rows; None is all of them."""
    draws: int = 5
    """How many training sets are drawn at each size."""
    seeds: tuple[int, ...] = (31, 42, 53)
    """Each draw is trained once with each of these."""
    stratified: bool = False
    """Whether draws keep the proportions of the classes; so do the parts, where validation rows are divided here."""
    per_class: bool = False
    """Whether a draw has the same number of each class."""
    validation: int = 500
    """Rows to select by, or as many as possible."""
    test: Literal["rest", "half", "validation"] = "rest"
    """Where the test rows come from; see `hold_out`."""
    most_test: Mapping[str, int] = field(default_factory=dict)
    """Upper limits on the test rows, by task."""
    report: Literal["mean", "top", "median", "best"] = "mean"
    """The number that is reported of the runs: the mean of all; of the `top` ones by validation; the median; the single
    best by validation."""
    top: int = 3
    """How many runs "top" keeps."""
    epochs: Mapping[int | None, float] = field(default_factory=dict)
    """Fine-tuning epochs by size."""
    lr: float = 1e-5
    """Of fine-tuning."""
    batch_size: int = 16
    """Of fine-tuning."""
    warmup: float = 0.06
    """Of both stages."""
    evaluate_every: int = 100
    """Updates between two evaluations on the validation rows."""
    post_epochs: Mapping[int | None, float] = field(default_factory=dict)
    """Post-training epochs by size."""
    post_lr: float = 1e-5
    """Of post-training."""
    post_batch_size: int = 8
    """Of post-training."""
    temperature: float | None = None
    """Add paraphrases of the drawn rows, sampled at this temperature, to the training rows (SCL 4.2): noise. None
    adds nothing. `run` then wants a paraphraser."""
    copies: int = 3
    """How many paraphrases of each row are added. SCL: 1:3."""
    split_seed: int = 0
    """Of the held-out rows and of the draws: one for all methods, so that their runs can be compared in pairs."""
    search: Mapping[str, tuple] = field(default_factory=dict)
    """The grid that the paper searched, as a fact; nothing here searches by itself."""

    def __post_init__(self):
        if self.draws < 1 or not self.seeds or not self.sizes:
            raise ValueError("A protocol needs at least one size, one draw and one seed.")
        if self.report not in ("mean", "top", "median", "best"):
            raise ValueError(f"report must be 'mean', 'top', 'median' or 'best', not {self.report!r}.")
        if self.report in ("top", "best") and self.validation == 0:
            raise ValueError("Without validation rows there is nothing to pick runs by.")
        if self.temperature is not None and not self.temperature >= 0:
            raise ValueError(f"temperature must be None or 0 or more, not {self.temperature}.")
        if self.copies < 1:
            raise ValueError(f"copies must be 1 or more, not {self.copies}: temperature=None adds none.")

    @property
    def runs(self) -> int:
        """Runs of one method on one task at one size."""
        return self.draws * len(self.seeds)

    def training(self, n: int | None) -> dict[str, Any]:
        """The settings of fine-tuning at size `n`, as `fine_tune` takes them."""
        names = ("lr", "batch_size", "warmup", "evaluate_every")
        return {"epochs": _at(self.epochs, n, "epochs"), **{name: getattr(self, name) for name in names}}

    def post_training(self, n: int | None) -> dict[str, Any]:
        """The settings of post-training at size `n`, as `fit` takes them."""
        epochs = _at(self.post_epochs, n, "post_epochs")
        return {
            "epochs": epochs,
            "lr": self.post_lr,
            "batch_size": self.post_batch_size,
            "warmup": self.warmup,
        }


def _at(table: Mapping[int | None, float], n: int | None, name: str) -> float:
    if n not in table:
        raise ValueError(
            f"This protocol does not say {name} at size {n}: dataclasses.replace(protocol, {name}={{{n}: …}})."
        )
    return table[n]


@dataclass(frozen=True)
class Sweep:
    """One protocol several times, with one field changed: an ablation, as data. `tasks.sweep` runs it.

    >>> from contrast_kit.tasks import protocols
    >>> [p.batch_size for p in protocols.SCL_BATCH_SIZE.protocols.values()]
    [16, 64, 256]
    """

    base: Protocol
    by: str
    """The field that changes."""
    values: tuple
    """What it becomes, in turn."""

    def __post_init__(self):
        if not hasattr(self.base, self.by):
            raise ValueError(f"A protocol has no field {self.by!r} to be swept.")
        if len(set(self.values)) < len(self.values) or not self.values:
            raise ValueError("A sweep needs values, and no value twice.")

    @property
    def name(self) -> str:
        """The protocol's name and what is swept."""
        return f"{self.base.name} by {self.by}"

    @property
    def protocols(self) -> dict[Any, Protocol]:
        """The protocol of each value."""
        return {value: replace(self.base, **{self.by: value}) for value in self.values}


CMLM = Protocol(
    "CMLM few-shot",
    sizes=(20, 100, 1000),
    draws=5,
    seeds=(31, 42, 53),
    validation=500,
    test="rest",
    most_test={"qqp": 2000},
    report="mean",
    epochs=CMLM_FINE_TUNING_EPOCHS,
    lr=1e-5,
    batch_size=16,
    warmup=0.0,
    evaluate_every=100,
    post_epochs=CMLM_POST_EPOCHS,
    post_lr=1e-5,
    post_batch_size=8,
    search={"alpha": (0.01, 0.1, 0.3, 0.5, 0.7, 1.0), "p_c": (0.1, 0.3, 0.5, 0.7, 0.9)},
)
"""CMLM, sections 4.1 to 4.5: 5 draws × 3 seeds = 15 runs, mean and standard deviation of all. "With replacement" is
read as: two draws may share rows. Validation rows: 500, or half of the original ones where there are fewer (RTE, MRPC).
No warm-up is printed; the authors' flags have 0."""

CMLM_FULL = Protocol(
    "CMLM full size",
    sizes=(None,),
    draws=1,
    seeds=(31, 42, 53),
    most_test={"qqp": 2000},
    report="mean",
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
    sizes=(20, 100, 1000),
    draws=10,
    seeds=(0,),
    stratified=True,
    validation=500,
    test="half",
    report="top",
    top=3,
    epochs=CMLM_FINE_TUNING_EPOCHS,
    lr=1e-5,
    batch_size=16,
)
"""SCL, section 4.1: 10 stratified draws, mean and deviation of the *top 3 by validation*: a number that flatters every
method, the more so the more its draws differ, and whose deviation is that of three picked runs. Epochs and warm-up are
not printed: the epochs are CMLM's, the warm-up is RoBERTa's."""

SCL_FULL = Protocol(
    "SCL full data",
    sizes=(None,),
    draws=1,
    seeds=tuple(range(10)),
    stratified=True,
    test="half",
    report="best",
    epochs={None: 10},
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
"""SCL, section 5.4: start from the model fine-tuned on SST-2 (`SCL_FULL`; `tasks.transfer` does both), 20 rows of each
class of Amazon-2 or Yelp-2. The epochs are ours, between those of 20 and of 100 rows."""

SCL_NOISE = Sweep(replace(SCL_FEW_SHOT, name="SCL noise", sizes=(100,)), "temperature", (None, 0.3, 0.5, 0.7, 0.9))
"""SCL, section 5.3: 100 labelled rows and three back-translations of each at temperature T; None is "Original". Nothing
about the epochs is printed: they are those of 100 rows, so that an augmented run takes four times as many updates."""

SCL_BATCH_SIZE = Sweep(replace(SCL_FULL, name="SCL batch size"), "batch_size", (16, 64, 256))
"""SCL, table 3: all rows. Epochs and learning rate stay, as far as the paper says: a larger batch means fewer updates.
The batch is that of the contrast (`chunk_size` where it does not fit); accumulation would add no positives."""

COCO_LM = Protocol(
    "COCO-LM GLUE",
    sizes=(None,),
    draws=1,
    seeds=(0, 1, 2, 3, 4),
    validation=0,
    test="validation",
    report="median",
    epochs={None: 3},
    lr=2e-5,
    batch_size=32,
    search={
        "small tasks": ("epochs 2, 3, 5, 10", "batch 16, 32", "warmup 6 %, 10 %", "lr 2e-5 … 5e-5"),
        "large tasks": ("epochs 2, 3, 5", "batch 32", "warmup 6 %", "lr 1e-5 … 4e-5"),
    },
)
"""COCO-LM, section 4 and appendix: development set, *median* of 5 seeds, after a search (tables 7 and 8) of which one
point in the middle stands here. The seeds' numbers are ours."""

CAPT = Protocol(
    "CAPT GLUE",
    sizes=(None,),
    draws=1,
    seeds=(0, 1, 2, 3, 4),
    validation=0,
    test="validation",
    report="median",
    epochs={None: 10},
    lr=1e-5,
    batch_size=32,
)
"""CAPT, section 3: development set, 5 seeds. Its text says median, the header of its table "averaged"; this is the
text. Epochs, rate and batch are RoBERTa's settings, which it adopts. The seeds' numbers are ours."""

PROTOCOLS: dict[str, Protocol] = {
    "cmlm": CMLM,
    "cmlm_full": CMLM_FULL,
    "scl_few_shot": SCL_FEW_SHOT,
    "scl_full": SCL_FULL,
    "scl_transfer": SCL_TRANSFER,
    "coco_lm": COCO_LM,
    "capt": CAPT,
}
"""All protocols by name."""

SWEEPS: dict[str, Sweep] = {"scl_noise": SCL_NOISE, "scl_batch_size": SCL_BATCH_SIZE}
"""All sweeps by name."""
