"""What every method is: views, local losses, and one contrast over the whole batch.

An `Objective` says these three things and nothing about training. The trainer knows only this file: a contrastive batch
larger than memory, several processes and the log of each part are handled once, in `training.gradient`.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from contrast_kit import checks, losses, masking
from contrast_kit._util import seeded
from contrast_kit.checks import known_fields
from contrast_kit.data import papers
from contrast_kit.encoder.encoder import Encoder, View

Vectors = dict[str, dict[str, Tensor]]
"""Sequence vectors by the name of their view, then by the name of the head that made them: `vectors["T0"]["h"]`."""

ExampleInfo = dict[str, Tensor]
"""What is known of each example, one number each, [B]: its `text_id`, and its `label` where the data has one."""


class Encoded(NamedTuple):
    """What one view, or a chunk of it, becomes.

    `vectors`: sequence vectors [B, D] by name, for the contrast; empty where the view takes no part in it. `sums`:
    local losses, each *summed* over its terms; `Objective.term_counts` says how many terms there are.
    """

    vectors: dict[str, Tensor]
    sums: dict[str, Tensor]


class Objective(nn.Module):
    """A training objective. Subclass it and define `Config`, `weights` and `views`, and of `vectors`, `contrast`,
    `local_sums` and `term_counts` what it has; `fit` can then train it.

    Four rules let the trainer cut a batch freely:

    * `views` draws all noise, without gradient. Each view has the batch's examples in the batch's order. `generator` is
      of the batch's device: `torch.rand(ids.shape, generator=generator, device=ids.device)`.
    * `vectors` and `local_sums` work example by example: a projector there sees a chunk at a time, so no BatchNorm.
    * `contrast` sees all sequence vectors of the batch; it may have weights of its own, such as a learned temperature.
    * A local loss is a sum, and `term_counts` counts its terms from the view alone. The trainer divides the sum over
      the whole batch by the count over the whole batch: a token mean stays one however the batch is cut.

    Args:
        encoder: trained in place.
        config: a frozen dataclass, the class's own `Config`; by default with its default values.
        seed: of the heads' initial weights.
        changes: single fields of the config: `CMLM(encoder, contrast_weight=0.1)`.

    Raises a TypeError for a setting that the config does not have, and suggests the one that was meant.

    Example: a contrast of two dropout passes, complete; `fit` trains it, also in chunks and on several processes.

        >>> from dataclasses import dataclass
        >>> import contrast_kit as ck
        >>> @dataclass(frozen=True)
        ... class TwiceConfig:
        ...     tau: float = 0.05
        >>> class Twice(ck.objectives.Objective):
        ...     Config = TwiceConfig
        ...     weights = {"contrast": 1.0}
        ...
        ...     def views(self, batch, generator=None):
        ...         return {"a": batch, "b": batch}
        ...     def vectors(self, name, hidden, view):
        ...         return {"h": self.encoder.pool(hidden, view)}  # [B, T, D] -> [B, D]
        ...     def contrast(self, vectors, facts):
        ...         return {"contrast": ck.losses.nt_xent(vectors["a"]["h"], vectors["b"]["h"], self.config.tau)}
        ...     def negatives(self, facts):
        ...         return 2 * len(facts["text_id"]) - 2  # what `ck.plan` says of it
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> ck.fit(Twice(encoder, tau=0.1), texts, steps=2, batch_size=4, progress=False).steps
        2
    """

    Config: type
    in_tables: str = ""
    """What the tables of `papers` call the method."""
    contrastive: bool = True
    """False: no contrast; the trainer then cuts a batch without encoding anything twice."""

    def __init__(
        self, encoder: Encoder, config: Any = None, *, seed: int = 0, **changes: Any
    ):
        super().__init__()
        known_fields(self.Config, changes, type(self).__name__)
        self.encoder = encoder
        self.config = (
            self.Config(**changes) if config is None else replace(config, **changes)
        )
        with seeded(seed):
            self.build()
        for part in self.children():
            if part is not encoder:
                part.to(next(encoder.parameters()).dtype)

    @classmethod
    def paper_training(cls, setting: str | int) -> dict[str, Any]:
        """How the paper trained it, as settings of `fit`: `fit(objective, texts, **CAPT.paper_training("small"))`.

        Raises ValueError for a setting that the paper does not print, and names those it prints.

        Example:
            >>> import contrast_kit as ck
            >>> ck.Training(**ck.objectives.CMLM.paper_training(100))  # section 4.3, post-training on 100 texts
            Training(steps=None, epochs=50, batch_size=8, ...)
        """
        return papers.training(cls.in_tables or cls.__name__, setting)

    def build(self) -> None:
        """Make the heads that the method needs besides the encoder. Most need none."""

    def check_data(self, labels: Tensor | None) -> None:
        """Raise for labels [N] that the method cannot train on: `fit` calls it once, before the first step."""

    def views(
        self, batch: View, generator: torch.Generator | None = None
    ) -> dict[str, View]:
        """Noisy copies of a batch, by name. No gradient. With several processes, each calls it for the whole batch."""
        raise NotImplementedError(
            f"{type(self).__name__} must say which views of a batch it takes."
        )

    def encode(self, name: str, view: View) -> Encoded:
        """Sequence vectors and summed local losses of the view called `name`, or of any chunk of its examples: what
        `vectors`, then `local_sums`, make of its `states`. Override those three, or this."""
        hidden = self.states(name, view)
        vectors = self.vectors(name, hidden, view) if self.contrasted(name) else {}
        return Encoded(vectors, self.local_sums(name, hidden, view))

    def states(self, name: str, view: View) -> Any:
        """What `vectors` and `local_sums` are made from: by default the encoder's last states, [B, T, D]."""
        return self.encoder(view)

    def vectors(self, name: str, hidden: Any, view: View) -> dict[str, Tensor]:
        """The sequence vectors [B, D] of a view that takes part in the contrast, by name, from its `states`."""
        return {}

    def local_sums(self, name: str, hidden: Any, view: View) -> dict[str, Tensor]:
        """The local losses of a view by name, each summed over its terms, from its `states`."""
        return {}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        """How many terms each local loss of this view sums, by name, as scalar tensors. No local loss: `{}`."""
        return {}

    def contrasted(self, name: str) -> bool:
        """Whether the vectors of this view take part in the contrast; a view that does not is encoded only once."""
        return self.contrastive

    def facts(self, batch: View, views: dict[str, View]) -> ExampleInfo:
        """What the contrast knows of each example: the entries of the batch with one number per example. A method
        overrides it for what is known only once the views are drawn, such as a swapped caption."""
        return {key: value for key, value in batch.items() if value.ndim == 1}

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """Losses that need every vector of the batch at once, by name. No contrast: `{}`.

        `vectors`: [B, D] each, over the whole batch, all chunks and processes. `facts`: [B] each, in the same order:
        `text_id`, equal for equal texts, and `label` where there is one. With `precision="bf16"` vectors are bfloat16.
        """
        return {}

    def negatives(self, facts: ExampleInfo) -> float | None:
        """How many negatives an anchor meets in a batch with these facts, on average; None: none; NaN: unknown."""
        return float("nan") if self.contrastive else None

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each part in the loss. A part without a weight is a diagnostic: logged, not trained."""
        raise NotImplementedError(
            f"{type(self).__name__} must define the weights of its parts."
        )

    def set_progress(self, step: int, total: int) -> None:
        """Called before step 0, 1, … of `total` optimizer steps, for whatever changes along a run, such as CAPT's τ, or
        follows the weights, such as an averaged copy of the encoder."""

    def after_step(self, vectors: Vectors, facts: ExampleInfo) -> None:
        """Called after the optimizer's step, without gradient, for each batch of the step with its detached vectors
        (`gradient` returns them): for what remembers, as CAPT's queue. Your own loop must call these two itself."""

    def forward(
        self, batch: View, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """The loss of one batch and its parts by name, whole and in one graph: the definition, to read and to test."""
        with torch.no_grad():
            views = draw_views(self, batch, generator)
        counts = count_terms(self, [views])
        vectors: Vectors = {}
        sums: dict[str, Tensor] = {}
        for name, view in views.items():
            encoded = self.encode(name, view)
            add(sums, encoded.sums)
            if encoded.vectors:
                vectors[name] = encoded.vectors
        parts = {name: total / counts[name] for name, total in sums.items()}
        if self.contrastive:
            parts |= self.contrast(vectors, self.facts(batch, views))
        return {"loss": self.total(parts), **parts}

    def total(self, parts: dict[str, Tensor]) -> Tensor:
        """The weighted sum of the parts; `gradient` calls it with some of them at a time, so do not override it."""
        return sum(
            self.weights[name] * part
            for name, part in parts.items()
            if name in self.weights
        )


def draw_views(
    objective: Objective, batch: View, generator: torch.Generator | None
) -> dict[str, View]:
    """The views of a batch, checked: each has the batch's examples, and the batch itself is as it was.

    Chunks are cut by row, and what stands in the batch is what the words are compared with.
    """
    versions = {key: value._version for key, value in batch.items()}
    with checks.drawing_on_its_device():
        views = objective.views(batch, generator)
    name = type(objective).__name__
    for view_name, view in views.items():
        for key, value in view.items():
            if len(value) != size_of(batch):
                raise ValueError(
                    f"{name}.views gives {key} of shape {list(value.shape)} in view {view_name!r}, and the batch has "
                    f"{size_of(batch)} texts: a view has one row for each."
                )
    for key, version in versions.items():
        if batch[key]._version != version:
            raise ValueError(
                f"{name}.views changes {key} of the batch itself: change a copy, made with clone()."
            )
    return views


def count_terms(objective: Objective, drawn: list[dict[str, View]]) -> dict[str, Tensor]:
    """How many terms each local loss has in the views of all batches; at least 1, as 0 / 1 is 0 and 0 / 0 is NaN."""
    counts: dict[str, Tensor] = {}
    for views in drawn:
        for name, view in views.items():
            add(counts, objective.term_counts(name, view))
    return {name: count.clamp(min=1) for name, count in counts.items()}


def words_at(
    encoder: Encoder, hidden: Tensor, where: Tensor, share: float | None = None
) -> tuple[Any, Any]:
    """Word scores [M, V] at the M positions where `where` [B, T] is True, from the states [B, T, D]; and the positions.

    The positions take the `labels` of a loss there, or the `rows` of anything, [B, T, …] → [M, …]. `share` says how
    many to expect of all.
    """
    positions = encoder.strategy.positions(where, share)
    rows = positions.rows(hidden)  # [B, T, D] → [M, D]
    return encoder.word_scores(rows), positions  # [M, D] → [M, V]


def random_mask(
    objective: Objective, batch: View, generator: torch.Generator | None
) -> View:
    """T^0 of CMLM eq. 3: a dynamic random mask drawn anew at every call, with the `targets` to recover."""
    config, ids = objective.config, batch["input_ids"]
    options = dict(split=config.split, generator=generator, words=batch.get("words"))
    masked = masking.dynamic_random_mask(
        ids,
        masking.allowed(batch),
        config.p_m,
        **options,
        **objective.encoder.vocabulary,
    )
    return masking.masked_view(batch, masked)


def mlm_sum(encoder: Encoder, hidden: Tensor, view: View, mean: str = "tokens") -> Tensor:
    """The masked-LM loss of a view, summed over its selected positions: Σ_i -log p(target_i | h_i) (`losses.mlm`).

    `encoder` gives the word scores of `hidden`, its last states [B, T, D]; the view holds `selected` and `targets`, [B,
    T] each. `mean` is `"tokens"`, or `"sequences"`: summed over the means of the texts, so each text counts once.
    """
    if not encoder.projection:
        raise ValueError(
            "COCO-LM or All-Token MLM took the projection from this encoder's word scores: give a masked LM an encoder "
            "of its own, or this one saved and opened again."
        )
    scores, positions = words_at(encoder, hidden, view["selected"])
    labels = positions.labels(view["targets"])  # [B, T] → [M]
    if mean == "tokens":
        return losses.mlm(scores, labels, reduction="sum")
    texts = torch.arange(len(hidden), device=hidden.device)[:, None]  # [B, 1]
    rows = positions.rows(texts.expand_as(view["selected"]))  # [B, T] → [M]
    return losses.mlm(scores, labels, reduction="sum_per_seq", rows=rows)


def mlm_count(view: View, mean: str = "tokens") -> Tensor:
    """How many terms `mlm_sum` adds up: selected tokens, or sequences with at least one."""
    selected = view["selected"]  # [B, T]
    return selected.sum() if mean == "tokens" else selected.any(1).sum()


def duplicates(facts: ExampleInfo, ignored: bool) -> Tensor | None:
    """The `text_id` of each example, [B], by which a contrast ignores duplicates; None where they are not ignored."""
    return facts["text_id"] if ignored else None


def others(
    facts: ExampleInfo, ignore_duplicates: bool = False, by: str = "text_id"
) -> float:
    """How many other examples an example meets in a batch; with `ignore_duplicates` only those of another id.

    Example:
        >>> import torch
        >>> from contrast_kit.objectives.base import others
        >>> facts = {"text_id": torch.tensor([0, 1, 1, 2])}
        >>> others(facts), others(facts, ignore_duplicates=True)  # (3 + 2 + 2 + 3) / 4
        (3.0, 2.5)
    """
    counts = torch.unique(facts[by], return_counts=True)[1].double()
    n = counts.sum()
    return float(n - (counts.square().sum() / n if ignore_duplicates else 1))


def add(total: dict[str, Tensor], more: dict[str, Tensor]) -> None:
    """Add `more` to the dict `total` in place, name by name."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def size_of(view: View) -> int:
    """How many examples a view or a batch has."""
    return len(next(iter(view.values())))


def texts_of(view: View) -> Tensor:
    """The same as a tensor on the view's device, for `term_counts`."""
    first = next(iter(view.values()))
    return torch.full((), len(first), device=first.device)


def cut(view: View, chunk_size: int | None) -> list[View]:
    """A view as chunks of at most `chunk_size` examples."""
    length = size_of(view)
    size = chunk_size or length
    return [rows_of(view, slice(start, start + size)) for start in range(0, length, size)]


def rows_of(view: View, rows: slice) -> View:
    """Some examples of a view."""
    return {key: value[rows] for key, value in view.items()}
