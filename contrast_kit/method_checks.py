"""What a user's own method or encoder brings along, put into form, or refused or warned of in one sentence.

`checks` does the same for tensors. Unchecked, a slip would cause a raw error deep in the trainer, or a wrong gradient.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from contrast_kit import checks
from contrast_kit._names import meant
from contrast_kit._warn import warn


def config_class(cls: type) -> None:
    """A class of methods needs a `Config`, a dataclass with its settings as fields."""
    name, given = cls.__name__, getattr(cls, "Config", None)
    if not (isinstance(given, type) and is_dataclass(given)):
        raise TypeError(
            f"{name} needs a Config, the dataclass of its settings: @dataclass(frozen=True) class {name}Config."
        )
    plain = {key: value for key, value in vars(given).items() if key[0] != "_" and not hasattr(value, "__get__")}
    seen, decorated = {field.name: field.default for field in fields(given)}, "__dataclass_fields__" in vars(given)
    if unseen := [key for key, value in plain.items() if (value is not seen[key] if key in seen else not decorated)]:
        raise TypeError(
            f"{given.__name__} has {unseen[0]}, which its dataclass does not see: put @dataclass(frozen=True) over "
            f"{given.__name__}, and a type behind the name, as in {unseen[0]}: float = …."
        )


def built_from(method: Any, encoder: Any, kind: type, config: Any) -> None:
    """A method is built around an encoder of that kind, with a config of its own class or none."""
    name, given = type(method).__name__, type(encoder).__name__
    if not isinstance(encoder, kind):
        suitable = "an Encoder, such as Encoder.tiny(tokenizer) or Encoder.from_pretrained(folder)"
        raise TypeError(f"{name} trains {suitable}, not {given}.")
    config_class(type(method))
    if config is not None and type(config) is not method.Config:
        raise TypeError(
            f"{name} takes a {method.Config.__name__}, not {type(config).__name__}: "
            f"write {name}(encoder, {name}.Config(…))."
        )


def known(method: Any, changes: Mapping[str, Any]) -> None:
    """Refuse a setting that the method's config does not have, and name the one that was meant."""
    names = [field.name for field in fields(method.Config)]
    if unknown := [change for change in changes if change not in names]:
        raise TypeError(f"{type(method).__name__} has no setting {unknown[0]!r}; {meant(unknown[0], names)}")


def switches(config: Any) -> None:
    """Refuse a field annotated as bool with another value, such as "no": Python takes any non-empty string as True."""
    for field in fields(config):
        if field.type in (bool, "bool"):
            checks.switch(field.name, getattr(config, field.name))


def is_encoder(part: Any) -> bool:
    """Whether a part of a method is an encoder, by what it can do."""
    return hasattr(part, "strategy") and hasattr(part, "use_packing")


def heads_alike(method: Any) -> None:
    """Bring a method's heads into the number format of its encoder, which may be in float64 or bfloat16."""
    for part in method.children():
        if part is not method.encoder:
            part.to(next(method.encoder.parameters()).dtype)


def warn_own_pooling(encoder: Any, known: Any) -> None:
    """Warn where an encoder that is saved has a `pool` of its own: no folder can say how it pools."""
    if type(encoder).pool is not known and not type(encoder).__module__.startswith("contrast_kit."):
        name = type(encoder).__name__
        warn(
            f"{name} has a pool of its own, which no folder can say: Encoder and SentenceTransformer will take "
            f"{encoder.pooling!r}, so open it with {name}.from_pretrained."
        )


class NotThereError(ValueError, KeyError):
    """A name is looked up that is not there."""

    __str__ = ValueError.__str__  # a KeyError would show the sentence in quotes


class Named(dict):
    """The vectors of a batch, by the name of their view or of their head."""

    def __missing__(self, name: str) -> Tensor:
        raise NotThereError(
            f"There are no vectors {name!r} here, but {listed(self)}. They are found by their view, then by their "
            "head, vectors['a']['h']: as `views` and `vectors` name them."
        )


class Facts(dict):
    """What is known of each example."""

    def __missing__(self, name: str) -> Tensor:
        raise NotThereError(
            f"Nothing says the {name!r} of each example, only {listed(self)}: train on data with that column, such as "
            "'label', or let `facts` of the method add it."
        )


class Counts(dict):
    """How many terms each local loss sums."""

    def __missing__(self, name: str) -> Tensor:
        raise NotThereError(
            f"local_sums gives {name!r}, and term_counts does not say how many terms it sums: name it there too."
        )


def entry(view: Mapping[str, Tensor], name: str) -> Tensor:
    """What a masked LM reads of a view: its `selected` or `targets`, [B, T]."""
    if name not in view:
        raise NotThereError(
            f"A masked LM reads {name!r} of a view, and this one has {listed(view)}: masking.masked_view makes a view "
            "with selected and targets, [B, T] each."
        )
    return view[name]


def listed(names: Mapping[str, object]) -> str:
    """The names that there are, for a sentence."""
    return ", ".join(map(repr, names)) or "none at all"


def by_name(method: Any, what: str, given: Any, taken: Collection[str] = ()) -> dict[str, Tensor]:
    """What a method's `vectors`, `local_sums`, `term_counts` or `contrast` returned: tensors by name.

    Parts of the loss have names of their own: not "loss", the sum of all, and none that is `taken` by a local loss.
    """
    whose = f"{type(method).__name__}.{what}"
    if not isinstance(given, Mapping):
        raise TypeError(f"{whose} gives tensors by name, {{'…': tensor}}, not {type(given).__name__}.")
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{whose} gives a tensor for {name!r}, not {type(value).__name__}: torch.tensor makes one.")
        if what in ("local_sums", "term_counts", "contrast") and value.numel() != 1:
            raise ValueError(f"{whose} gives one number for {name!r}, not numbers {list(value.shape)}: reduce them.")
        if what in ("local_sums", "contrast") and name in ("loss", *taken):
            other = "the weighted sum of all parts" if name == "loss" else "a local loss"
            raise ValueError(f"{whose} gives {name!r}, which is the name of {other}: give this part a name of its own.")
    return given


def facts(method: Any, batch: dict[str, Tensor], views: dict[str, dict[str, Tensor]]) -> dict[str, Tensor]:
    """`method.facts(batch, views)`, which names what it does not have."""
    given = by_name(method, "facts", method.facts(batch, views))
    return Facts(given) if type(given) is dict else given


def draw_views(method: Any, batch: dict[str, Tensor], generator: Any) -> dict[str, dict[str, Tensor]]:
    """`method.views(batch, generator)`, which leaves the batch as it is: what stands in it is the target of words.

    Each view holds the batch's examples in the batch's order, since chunks are cut by row.
    """
    before = {key: value._version for key, value in batch.items() if not value.is_inference()}
    given = method.views(batch, generator)
    whose, examples = f"{type(method).__name__}.views", len(next(iter(batch.values())))
    if changed := [key for key, version in before.items() if key in batch and batch[key]._version != version]:
        raise ValueError(
            f"{whose}, or a noise in it, changes {changed[0]} of the batch itself, which other views and the targets "
            "read: change a copy, made with clone()."
        )
    if not isinstance(given, Mapping) or not all(isinstance(view, Mapping) for view in given.values()):
        raise TypeError(
            f"{whose} gives views by name, {{'…': view}}, each a dict of tensors as the batch is "
            "(masking.masked_view makes one of a Masked)."
        )
    for name, view in given.items():
        for key, value in by_name(method, "views", view).items():
            if value.shape[:1] != (examples,):
                raise ValueError(
                    f"{whose} gives {key} of shape {list(value.shape)} in view {name!r}, and the batch has {examples} "
                    "texts: a view has one row for each; give each copy of a text a view of its own."
                )
        if "input_ids" in view:
            _check_mask(f"{whose} gives view {name!r}", view.get("attention_mask"))
    return given


def _check_mask(whose: str, mask: Tensor | None) -> None:
    """Raise where an encoder would not know which tokens to read, or has none to read."""
    if mask is None:
        raise ValueError(f"{whose} without attention_mask, [B, T], by which the encoder knows the real tokens.")
    if mask.dim() > 1 and checks.reads(mask) and not mask.any(1).all():
        raise ValueError(f"{whose} with a text of no token: leave it at least its special tokens.")


def rows(method: Any, name: str, vectors: dict[str, Tensor], view: dict[str, Tensor]) -> dict[str, Tensor]:
    """The vectors of a view, or of a chunk of it: one for each of its examples."""
    examples = len(next(iter(view.values())))
    for head, found in vectors.items():
        if found.shape[:1] != (examples,):
            raise ValueError(
                f"{type(method).__name__} gives the vectors {head!r} of view {name!r} in shape {list(found.shape)} for "
                f"{examples} texts: give one row for each; what looks at all of them at once belongs into `contrast`."
            )
    return Named(vectors)


def word_scores(encoder: Any, projection: bool, bias: bool = False) -> None:
    """Refuse an encoder whose word scores have lost the projection, or the bias, asked for."""
    head = encoder.model.get_output_embeddings()
    offset = getattr(head, "bias", None)  # LXMERT's model names no such head
    frozen = bias and offset is not None and head.weight.requires_grad and not offset.requires_grad
    lost = ["projection"] if projection and not encoder.projection else []
    lost += ["bias"] if frozen and not offset.any() else []
    if lost:
        raise ValueError(
            f"The word scores of this encoder have no {' and no '.join(lost)} any more: COCO-LM or All-Token MLM was "
            "built around it, or use_plain_head called. Take an encoder of its own, or this one saved and opened again."
        )


def warn_of_bias(encoder: Any) -> None:
    """Warn before the word bias that an encoder has learned is taken from it, where its projection stays."""
    bias = encoder.model.get_output_embeddings().bias
    if bias is not None and bias.any():
        warn("The word bias that this encoder has learned is taken from it: head_biases=True keeps it.")
