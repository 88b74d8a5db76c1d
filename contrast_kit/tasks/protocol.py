"""What a protocol is: how many runs become one number. A pipeline: what runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from contrast_kit.checks import Settings
from contrast_kit.objectives import CMLM, MLM, SCL, FineTune

ANY = "any task"
"""The key of a grid for all tasks that have none of their own."""


@dataclass(frozen=True)
class Protocol(Settings):
    """One way to compare methods; the defaults are CMLM's. Numbers that a paper does not print are marked as ours."""

    name: str
    sizes: tuple[int | None, ...] = (20, 100, 1000)
    """Labelled training rows; None is all of them."""
    draws: int = 5
    """How many training sets are drawn at each size. All rows, or a `fraction`, are drawn once, unless `temperature`
    adds other paraphrases in each draw: the same rows again would be the same runs."""
    first_draw: int = 0
    """The number of the first draw. A search on draws 30 to 34 leaves draws 0 to 29 to the runs, and the held-out rows,
    which `split_seed` divides, are the same: no test row of a run has chosen anything."""
    seeds: tuple[int, ...] = (31, 42, 53)
    """Each draw is trained once with each of these."""
    stratified: bool = False
    """Whether draws keep the proportions of the classes; where validation rows are divided, so do the parts."""
    per_class: bool = False
    """Whether a draw has the same number of each class."""
    validation: int = 500
    """Rows to select by, or as many as possible."""
    test: Literal["rest", "half", "validation"] = "rest"
    """Where the test rows come from; see `hold_out`."""
    most_test: Mapping[str, int] = field(default_factory=dict)
    """Upper limits on the test rows, by task."""
    report: Literal["mean", "top", "median", "best"] = "mean"
    """The number that is reported for the runs: the mean of all; the mean of the `top` ones by validation; the median;
    the single best by validation."""
    top: int = 3
    """How many runs "top" keeps."""
    ddof: int = 1
    """The deviation beside the reported number divides by runs - ddof; 0 gives the population's."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """The metric that selects and is reported, by task, where it is not the task's first."""
    mismatched: bool = False
    """Whether MNLI is also tested on all its mismatched rows, with the weights that the matched rows selected."""
    fraction: float | None = None
    """Train on this share of the training rows, drawn once for all seeds; None leaves it to `sizes`."""
    shots: int | None = None
    """Instead of draws: this many rows of each class to train on and as many others to select by, both from the
    training rows and drawn by each *seed* as LM-BFF draws them (`splits.shots`). `test` says what is tested on."""
    epochs: Mapping[int | None, float] = field(default_factory=dict)
    """Fine-tuning epochs by size. An epoch is every row once."""
    steps: int | None = None
    """Fine-tuning updates, instead of epochs."""
    lr: float = 1e-5
    """Learning rate of fine-tuning."""
    batch_size: int = 16
    """Batch size of fine-tuning."""
    warmup: float = 0.06
    """Share of the updates that warm up, in both stages."""
    group_by_length: bool = False
    """Whether rows of like length share a batch, in both stages. No paper prints that; among few rows the same ones
    would meet in every epoch, so that a contrast would see few others."""
    evaluate_every: int = 100
    """Updates between two evaluations on the validation rows."""
    fine_tuning: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of fine-tuning, as `Training` names them: clip, max_length, weight_decay, …"""
    head: Literal["linear", "tanh"] | None = None
    """The head for fine-tuning (`FineTuneConfig.head`), where the pipeline names none; None is the default one."""
    post_epochs: Mapping[int | None, float] = field(default_factory=dict)
    """Post-training epochs by size."""
    post_lr: float = 1e-5
    """Learning rate of post-training."""
    post_batch_size: int = 8
    """Batch size of post-training."""
    temperature: float | None = None
    """Add paraphrases of the drawn rows, sampled at this temperature, to the training rows (SCL 4.2): noise. None
    adds nothing. `run` then needs a paraphraser."""
    copies: int = 3
    """How many paraphrases of each row are added. SCL: 1:3."""
    split_seed: int = 0
    """Seed of the held-out rows and of the draws: one for all methods, so that their runs can be compared in pairs."""
    search: Mapping[str, Mapping[str, tuple]] = field(default_factory=dict)
    """The grid that the paper searched: by task (or `ANY`), then by what is searched, a field of the protocol or of the
    method's config: one point for all runs. `examples/search_a_grid.py` runs it."""
    choose: Mapping[str, tuple] = field(default_factory=dict)
    """A grid within each run: it trains once at each point, keeps the best by validation and tests only that one."""

    def training(self, n: int | None) -> dict[str, Any]:
        """The settings of fine-tuning at size `n`, as `fine_tune` takes them."""
        length = {"steps": self.steps} if self.steps else {"epochs": self.epochs[n]}
        names = ("lr", "batch_size", "warmup", "evaluate_every", "group_by_length")
        return (
            length
            | {name: getattr(self, name) for name in names}
            | dict(self.fine_tuning)
        )

    def post_training(self, n: int | None) -> dict[str, Any]:
        """The settings of post-training at size `n`, as `fit` takes them."""
        settings = dict(epochs=self.post_epochs[n], lr=self.post_lr, warmup=self.warmup)
        return settings | dict(
            batch_size=self.post_batch_size, group_by_length=self.group_by_length
        )

    def grid_for(self, task: str) -> dict[str, tuple]:
        """The grid that the paper searched for a task; empty where none is printed."""
        return dict(self.search.get(task, self.search.get(ANY, {})))


@dataclass(frozen=True)
class Pipeline:
    """The way from an encoder to a task: post-training, or none, and then fine-tuning.

    >>> from functools import partial
    >>> from contrast_kit.objectives import CMLM
    >>> Pipeline(post=partial(CMLM, contrast_weight=0.1)).description
    'CMLM(contrast_weight=0.1) → FineTune'
    """

    tune: Any = FineTune
    """Makes the fine-tuning objective: `FineTune`, `SCL`, `partial(SCL, lam=0.9)`."""
    post: Any = None
    """Makes the post-training objective from an encoder: `MLM` (then it is TAPT), `CMLM`, `partial(CMLM, K=2)`."""
    unlabeled: int = 0
    """Further training texts, without their labels, for post-training (CMLM, section 4.8)."""
    frozen: bool = False
    """Leave the encoder as it is (after post-training, if any) and read the label off its vectors: `linear_probe`,
    with a strength chosen by cross-validation on the training rows. `tune` is then unused."""
    prompt: Any = None
    """A `prompting.Template`: ask the masked LM instead of learning a head. `tune` is then unused."""
    paraphraser: Callable | None = None
    """Makes the two paraphrases of each text that post-training with `CSSL` contrasts."""

    @property
    def description(self) -> str:
        """The stages, with what differs from their defaults. `tasks.run` recognises its earlier runs by it."""
        last = repr(self.prompt) if self.prompt else describe(self.tune)
        if self.frozen:
            last = "frozen probe"
        if not self.post:
            return last
        first = describe(self.post)
        if self.paraphraser:
            first += f" by {self.paraphraser!r}"
        if self.unlabeled:
            first += f" with {self.unlabeled} further texts"
        return f"{first} → {last}"


def describe(method: Any) -> str:
    """The name of what makes an objective: `SCL`, or `SCL(lam=0.9)` for a partial."""
    if isinstance(method, partial):
        options = [f"{key}={value}" for key, value in sorted(method.keywords.items())]
        return f"{describe(method.func)}({', '.join([*map(str, method.args), *options])})"
    return getattr(method, "__name__", type(method).__name__)


PIPELINES: dict[str, Pipeline] = {
    "FT": Pipeline(),
    "SCL": Pipeline(tune=SCL),
    "TAPT": Pipeline(post=MLM),
    "CMLM": Pipeline(post=CMLM),
    "probe": Pipeline(frozen=True),
}
"""The rows of CMLM's table 1 by name, and the frozen encoder. CSSL is left out, since it needs a paraphraser:
`Pipeline(post=CSSL, paraphraser=BackTranslation())`."""
