"""The methods that a protocol compares: what an encoder is post-trained with, and what it is fine-tuned with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contrast_kit.objectives import CMLM, MLM, SCL, FineTune
from contrast_kit.paraphrase import Paraphraser
from contrast_kit.tasks.fine_tuning import named


@dataclass(frozen=True)
class Method:
    """A way from an encoder to a task: what it is post-trained with, if at all, and what it is fine-tuned with.

    >>> from functools import partial
    >>> from contrast_kit.objectives import CMLM
    >>> Method(post=partial(CMLM, alpha=0.1)).words
    'CMLM(alpha=0.1) → FineTune'
    """

    tune: Any = FineTune
    """Makes the fine-tuning objective: `FineTune`, `SCL`, `partial(SCL, lam=0.9)`."""
    post: Any = None
    """Makes the post-training objective from an encoder: `MLM` (then it is TAPT), `CMLM`, `partial(CMLM, K=2)`."""
    unlabeled: int = 0
    """Further training texts, without their labels, for post-training (CMLM, section 4.8)."""
    paraphraser: Paraphraser | None = None
    """Makes the two wordings of each text that post-training with `CSSL` contrasts."""

    @property
    def words(self) -> str:
        """The method in words: its stages and what differs from their defaults."""
        stages = ([named(self.post)] if self.post else []) + [named(self.tune)]
        more = f" with {self.unlabeled} further texts" if self.post and self.unlabeled else ""
        by = f" by {self.paraphraser!r}" if self.post and self.paraphraser else ""
        return " → ".join(stages) + by + more


METHODS: dict[str, Method] = {
    "FT": Method(),
    "SCL": Method(tune=SCL),
    "TAPT": Method(post=MLM),
    "CMLM": Method(post=CMLM),
}
"""The rows of CMLM's table 1 by name, CSSL apart: that one needs somebody who translates, `Method(post=CSSL,
paraphraser=BackTranslation())`."""


def by_name(methods: Mapping[str, Method] | Sequence[str]) -> dict[str, Method]:
    """Methods by name: a mapping as it is, names looked up in `METHODS`."""
    if isinstance(methods, Mapping):
        return dict(methods)
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise ValueError(
                f"No method is called {name!r}; there are {', '.join(METHODS)}, or give {{'name': Method(…)}}."
            )
    return {name: METHODS[name] for name in names}
