"""What a protocol is: how many runs become one number. And a sweep: one protocol several times."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal

from contrast_kit import arguments, checks
from contrast_kit.tasks.metrics import METRICS
from contrast_kit.tasks.points import checked_grid
from contrast_kit.training import Training

ANY = "any task"
"""The key of a grid for all tasks that have none of their own."""


@dataclass(frozen=True)
class Protocol:
    """One way to compare methods. Numbers that a paper does not print are marked as ours."""

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
    method's config. `tasks.search` runs it: one point for all runs."""
    choose: Mapping[str, tuple] = field(default_factory=dict)
    """A grid within each run: it trains once at each point, keeps the best by validation and tests only that one."""

    def __post_init__(self):
        for name in ("sizes", "seeds"):
            object.__setattr__(self, name, tuple(arguments.listed(name, getattr(self, name), "whole numbers")))
        _check(self)
        if not self.seeds or not self.sizes:
            raise ValueError("A protocol needs at least one size, one draw and one seed.")
        if self.report in ("top", "best") and self.validation == 0:
            raise ValueError("Without validation rows there is nothing to pick runs by.")
        if self.choose and not (self.validation or self.shots):
            raise ValueError("Without validation rows there is nothing to choose a point of the grid by.")
        if self.shots is not None and self.draws != 1:
            raise ValueError("With shots the seeds draw the rows, so draws must be 1.")

    @property
    def runs(self) -> int:
        """Runs of one method on one task at one size that is drawn."""
        return self.draws * len(self.seeds)

    def training(self, n: int | None) -> dict[str, Any]:
        """The settings of fine-tuning at size `n`, as `fine_tune` takes them."""
        names = ("lr", "batch_size", "warmup", "evaluate_every")
        length = {"steps": self.steps} if self.steps else {"epochs": _at(self.epochs, n, "epochs")}
        return {**length, **{name: getattr(self, name) for name in names}, **self._batches, **self.fine_tuning}

    def post_training(self, n: int | None) -> dict[str, Any]:
        """The settings of post-training at size `n`, as `fit` takes them."""
        epochs = _at(self.post_epochs, n, "post_epochs")
        return {
            "epochs": epochs,
            "lr": self.post_lr,
            "batch_size": self.post_batch_size,
            "warmup": self.warmup,
            **self._batches,
        }

    @property
    def _batches(self) -> dict[str, bool]:
        """Empty where grouped, the default of `Training`: so runs stored when all were grouped can be continued."""
        return {} if self.group_by_length else {"group_by_length": False}

    def grid_for(self, task: str) -> dict[str, tuple]:
        """The grid that the paper searched for a task; empty where none is printed."""
        return dict(self.search.get(task, self.search.get(ANY, {})))


def _at(table: Mapping[int | None, float], n: int | None, name: str) -> float:
    if n not in table:
        raise ValueError(f"This protocol has no {name} for size {n}: dataclasses.replace(protocol, {name}={{{n}: …}}).")
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
        arguments.of_kind("base", self.base, Protocol, "a Protocol")
        if self.by not in [field.name for field in fields(Protocol)]:
            raise ValueError(f"A protocol has no field {checks.shown(self.by)} to be swept.")
        values = tuple(arguments.listed("values", self.values, "what the field becomes in turn"))
        for value in values:
            if not isinstance(value, Real | str | tuple | None):
                raise TypeError(f"A sweep's values are numbers, words, tuples or None, not {checks.shown(value)}.")
            replace(self.base, **{self.by: value})  # refuses what the field cannot be
        if not values or len(set(values)) < len(values):
            raise ValueError("A sweep needs values, and no value twice.")
        object.__setattr__(self, "values", values)

    @property
    def name(self) -> str:
        """The protocol's name and what is swept."""
        return f"{self.base.name} by {self.by}"

    @property
    def protocols(self) -> dict[Any, Protocol]:
        """The protocol of each value."""
        return {value: replace(self.base, **{self.by: value}) for value in self.values}


LEAST = {
    0: ("first_draw", "validation", "ddof", "split_seed"),
    1: ("draws", "top", "copies", "shots", "steps", "batch_size", "evaluate_every", "post_batch_size"),
}
"""The fields that count something, by the least that they may be; shots and steps may be None. `_check` sees to the
others, except those in `BY`."""
BY = {
    "task": ("most_test", "metrics", "search"),
    "size": ("epochs", "post_epochs"),
    "setting": ("fine_tuning", "choose"),
}
"""The fields that are dicts, by what their keys are. `_check_tables` says what their values may be."""


def _check(protocol: Protocol) -> None:
    """Check each field by itself."""
    arguments.string("name", protocol.name, "what the protocol is called")
    given = {field.name: getattr(protocol, field.name) for field in fields(protocol)}
    for least, names in LEAST.items():
        for name in names:
            if given[name] is not None or name not in ("shots", "steps"):
                checks.count(name, given[name], "a whole number", least)
    for size in protocol.sizes:
        if size is not None:
            checks.count("A size", size, "a number of rows, or None for all")
    for seed in protocol.seeds:
        checks.count("A seed", seed, "a number to draw by", least=0)
    for name in ("stratified", "per_class", "mismatched", "group_by_length"):
        checks.switch(name, given[name])
    checks.choice("test", protocol.test, ("rest", "half", "validation"))
    checks.choice("report", protocol.report, ("mean", "top", "median", "best"))
    checks.choice("head", protocol.head, ("linear", "tanh", None))
    for name in ("lr", "post_lr"):
        checks.number(name, given[name], "a learning rate", least=0)
    checks.number("warmup", protocol.warmup, "a share of the updates", 0, 1)
    temperature, fraction = protocol.temperature, protocol.fraction
    if temperature is not None and not (checks.is_number(temperature) and 0 <= temperature < 1e18):
        raise ValueError(f"temperature must be None or 0 or more, not {checks.shown(temperature)}.")
    if fraction is not None and not (checks.is_number(fraction) and 0 < fraction <= 1):
        said = checks.shown(fraction)
        raise ValueError(f"fraction is a share of the training rows, above 0 and at most 1, not {said}.")
    _check_tables(protocol)


def _check_tables(protocol: Protocol) -> None:
    """Check the fields that are dicts."""
    for by, names in BY.items():
        for name in names:
            arguments.mapping(name, getattr(protocol, name), f"by {by}")
    for most in protocol.most_test.values():
        checks.count("most_test", most, "a number of test rows for each task")
    for metric in protocol.metrics.values():
        arguments.known(metric, METRICS, "metric")
    for name in ("epochs", "post_epochs"):
        for epochs in getattr(protocol, name).values():
            checks.number(name, epochs, "a number of passes for each size", least=0)
    Training.of(dict(protocol.fine_tuning))
    for grid in (protocol.choose, *protocol.search.values()):
        checked_grid(grid)
