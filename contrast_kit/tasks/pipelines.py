"""The pipelines that a protocol compares: what an encoder is post-trained with, and what it is fine-tuned with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contrast_kit import arguments, checks
from contrast_kit._renamed import former_property
from contrast_kit.checks import shown
from contrast_kit.data.paraphrase import Paraphraser
from contrast_kit.objectives import CMLM, MLM, SCL, FineTune
from contrast_kit.tasks.fine_tuning import describe


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
    paraphraser: Paraphraser | None = None
    """Makes the two paraphrases of each text that post-training with `CSSL` contrasts."""

    @property
    def description(self) -> str:
        """The stages, with what differs from their defaults. `tasks.run` recognises its earlier runs by it."""
        last = "frozen probe" if self.frozen else repr(self.prompt) if self.prompt else describe(self.tune)
        stages = ([describe(self.post)] if self.post else []) + [last]
        more = f" with {self.unlabeled} further texts" if self.post and self.unlabeled else ""
        by = f" by {self.paraphraser!r}" if self.post and self.paraphraser else ""
        return " → ".join(stages) + by + more

    def __post_init__(self):
        for name in ("tune", "post"):
            maker = getattr(self, name)
            if not callable(maker) and (maker is not None or name == "tune"):
                raise TypeError(f"{name} makes an objective, as FineTune or MLM does, and {shown(maker)} does not.")
        if self.prompt is not None and not hasattr(self.prompt, "demonstrations"):
            raise TypeError(f"prompt is a prompting.Template, not {shown(self.prompt)}.")
        checks.count("unlabeled", self.unlabeled, "a number of further texts", least=0)
        checks.switch("frozen", self.frozen)
        if self.paraphraser is not None:
            arguments.of_kind("paraphraser", self.paraphraser, Callable, "a Paraphraser: data.paraphrase.Toyshop()")
        if self.frozen and self.prompt is not None:
            raise ValueError("A frozen encoder is probed and a prompted one is tuned: give frozen or prompt, not both.")

    words = former_property("words", "description")


PIPELINES: dict[str, Pipeline] = {
    "FT": Pipeline(),
    "SCL": Pipeline(tune=SCL),
    "TAPT": Pipeline(post=MLM),
    "CMLM": Pipeline(post=CMLM),
    "probe": Pipeline(frozen=True),
}
"""The rows of CMLM's table 1 by name, and the frozen encoder. CSSL is left out, since it needs a paraphraser:
`Pipeline(post=CSSL, paraphraser=BackTranslation())`."""


def pipelines_by_name(methods: Mapping[str, Pipeline] | Sequence[str]) -> dict[str, Pipeline]:
    """A mapping as it is, or names looked up in `PIPELINES`."""
    if isinstance(methods, Mapping):
        pipelines = dict(methods)
    else:
        names = [methods] if isinstance(methods, str) else arguments.strings("methods", methods, "names of pipelines")
        pipelines = {name: pipeline_of(name) for name in names}
    if not pipelines:
        raise ValueError("methods is empty: give at least one, such as 'FT'.")
    for name, pipeline in pipelines.items():
        arguments.string("A key of methods", name, "the name of a pipeline")
        arguments.of_kind(f"methods[{name!r}]", pipeline, Pipeline, "a Pipeline")
    return pipelines


def pipeline_of(method: Pipeline | str) -> Pipeline:
    """A pipeline as it is, or one of `PIPELINES` by its name."""
    if isinstance(method, str) and method not in PIPELINES:
        raise ValueError(
            f"No pipeline is called {method!r}; there are {', '.join(PIPELINES)}, or give {{'name': Pipeline(…)}}."
        )
    arguments.of_kind("method", method, Pipeline | str, "the name of a pipeline, or a Pipeline")
    return PIPELINES[method] if isinstance(method, str) else method


def check_head(pipeline: Pipeline, call: str) -> None:
    """Refuse a pipeline that fine-tunes no head of its own."""
    if pipeline.frozen or pipeline.prompt is not None:
        raise ValueError(f"{call} fine-tunes a head: give a pipeline without frozen and prompt.")
