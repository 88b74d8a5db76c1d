"""No computation on padding: the real tokens of a batch stand in one row, and attention keeps the texts apart.

A batch [B, T] of texts of 8 to 64 tokens is nearly half padding, and everything but attention works on each token by
itself. So the real tokens are taken out, shortest text first, [N, D]; layers run on them; and attention takes texts
of like length at a time, filled up to the longest of them. On a GPU it is torch's attention for texts of various
lengths. In the end the states go back to their places.

The numbers are those of the padded batch, up to rounding; dropout draws others, on a CPU faster (`dropout`).

Letters: B examples, T tokens, N real tokens, R rows (N, or somewhat more), D width, H heads, d = D/H.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet.modeling_mpnet import MPNetModel

from contrast_kit.fast import compiled_by_shape
from contrast_kit.fast.dropout import quick_dropout
from contrast_kit.fast.shapes import ROUND, rounded_up

NAME = "contrast_kit_packed"

LONG = 256
"""Texts above this length go through the fused kernel on a CPU: it holds no [T, T], but is slower on shorter ones."""

ALIKE = 32
"""Texts whose lengths differ by less than this attend together: padding them costs less than further calls would.
Above `LONG`, and on a GPU, only texts of one length."""

RIGHT = (
    *("albert", "bert", "camembert", "data2vec-text", "electra", "ernie", "mobilebert", "roberta", "xlm-roberta"),
    *("mpnet", "contrast_kit_relative"),
)
"""Model types that are right when packed: embeddings that know their places, then a stack of post-norm layers whose
only mixing of tokens is attention. Others mix or place tokens elsewhere too, and would give other vectors."""


@dataclass(frozen=True)
class Group:
    """Texts that attend together, [texts, t] tokens, the short ones padded."""

    real: Tensor
    """bool [texts, t]."""
    places: Tensor | None
    """[n] long, where the n real tokens stand among all texts * t; None: there is no padding."""

    @classmethod
    def of(cls, lengths: list[int], device: torch.device) -> "Group":
        """A group of texts of these lengths, from short to long."""
        real = torch.arange(lengths[-1]) < torch.tensor(lengths)[:, None]  # [texts, t]
        places = None if lengths[0] == lengths[-1] else real.flatten().nonzero()[:, 0].to(device, non_blocking=True)
        return cls(real.to(device, non_blocking=True), places)

    @property
    def size(self) -> int:
        """n."""
        return self.real.numel() if self.places is None else len(self.places)

    def spread(self, x: Tensor) -> Tensor:
        """[n, H, d] → [texts, H, t, d], zeros at padding."""
        if self.places is not None:
            x = x.new_zeros(self.real.numel(), *x.shape[1:]).index_copy(0, self.places, x)
        return x.unflatten(0, self.real.shape).transpose(1, 2)

    def collect(self, x: Tensor) -> Tensor:
        """[texts, H, t, d] → [n, H, d]."""
        x = x.transpose(1, 2).flatten(0, 1)  # [texts * t, H, d]
        return x if self.places is None else x.index_select(0, self.places)


@dataclass(frozen=True)
class Layout:
    """Where the N real tokens of a batch come from, and which of them belong together."""

    shape: tuple[int, int]
    """(B, T)."""
    index: Tensor
    """[R] long, places in the flattened batch: texts from short to long, each in its order. R is N, or, where products
    are compiled by shape, a round number above it: the first token then fills it up, and is cut off in the end."""
    lengths: list[int]
    """Of the texts that have any token, from short to long."""

    @cached_property
    def groups(self) -> list[Group]:
        """The same texts, grouped by length; made when attention asks for them, which torch's own on a GPU does not."""
        starts, device = [], self.index.device
        for place, tokens in enumerate(self.lengths):
            alike = ALIKE if tokens <= LONG and device.type == "cpu" else 1
            if not starts or tokens - self.lengths[starts[-1]] >= alike:
                starts.append(place)
        return [Group.of(self.lengths[i:j], device) for i, j in zip(starts, [*starts[1:], None], strict=True)]

    @property
    def size(self) -> int:
        """N."""
        return sum(self.lengths)

    @classmethod
    def of(cls, attention_mask: Tensor, fill_up: bool = False) -> "Layout":
        """The layout of a padded batch, from its attention mask [B, T], with R a round number if asked to fill up.

        Waits for the device once.
        """
        real, (examples, length) = attention_mask.bool(), attention_mask.shape
        lengths = real.sum(1).tolist()
        order = sorted(range(examples), key=lengths.__getitem__)
        kept = [lengths[text] for text in order if lengths[text]]
        order = torch.tensor(order).to(real.device, non_blocking=True)  # [B]
        row, column = real[order].nonzero(as_tuple=True)  # [N] each
        places = order[row] * length + column  # [N]
        if fill_up:
            places = nn.functional.pad(places, (0, rounded_up(len(places), 4 * ROUND) - len(places)))
        return cls((examples, length), places, kept)

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, …] → [1, R, …], the shape of a batch of one long text."""
        return x.flatten(0, 1).index_select(0, self.index).unsqueeze(0)

    def unpack(self, x: Tensor) -> Tensor:
        """[1, R, …] → [B, T, …] with zeros at padding."""
        examples, length = self.shape
        places = x.new_zeros(examples * length, *x.shape[2:])
        return places.index_copy(0, self.index[: self.size], x[0, : self.size]).unflatten(0, self.shape)


class Packed:
    """How an encoder computes without padding; the strategy of `Encoder.use_packing`.

    Args:
        model: a transformers model, which can attend in packed batches from here on, and in padded ones as before.
        padded: the plain strategy, for everything that is not about padding.

    Raises:
        ValueError: for a model that is none of `RIGHT`.
    """

    fixed_shapes = False

    def __init__(self, model: nn.Module, padded: Any) -> None:
        base, kind = model.base_model, model.config.model_type
        if kind not in RIGHT or getattr(model.config, "is_decoder", False):
            raise ValueError(
                f"{type(model).__name__} cannot run without padding here, as its vectors would be others: leave "
                f"packing out; these model types can be packed: {', '.join(RIGHT)}."
            )
        if isinstance(base, MPNetModel):
            _mix_in(PackedLayers, base.encoder)
            for layer in base.encoder.layer:
                _mix_in(PackedAttention, layer.attention.attn)
        elif (before := model.config._attn_implementation) != NAME:
            model.set_attn_implementation(NAME)
            model.attention_when_padded = before
        self.positions = padded.positions

    @staticmethod
    def undone(model: nn.Module, padded: Any) -> Any:
        """The plain strategy, `padded`, with the model's own attention: what can give its weights, too."""
        if before := getattr(model, "attention_when_padded", None):
            model.set_attn_implementation(before)
        return padded

    def hidden_states(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        """Last hidden states of a padded batch, [B, T, D], computed on its real tokens; zeros at padding.

        Args:
            model: the model that was given to `Packed`.
            inputs: `input_ids` and `attention_mask` [B, T], and `token_type_ids` where the model has types.
        """
        base, mask = model.base_model, inputs["attention_mask"]
        layout = Layout.of(mask, fill_up=compiled_by_shape(mask))
        types = {key: value for key, value in inputs.items() if key == "token_type_ids"}
        with quick_dropout(base, mask.device):
            states = layout.pack(base.embeddings(input_ids=inputs["input_ids"], **types))  # [B, T, D] → [1, R, D]
            if hasattr(base, "embeddings_project"):  # ELECTRA's, where embeddings have another width
                states = base.embeddings_project(states)
            return layout.unpack(base.encoder(states, layout=layout, return_dict=True).last_hidden_state)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: Layout,
    *,
    dropout: float = 0.0,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Each token attends to the tokens of its own text: q, k, v [R, H, d] → [R, H, d], zeros after the first N.

    Args:
        layout: which tokens make a text.
        dropout: of the attention weights.
        scale: of the products; 1 / √d by default.
        bias: added to the scaled products, [H, T, T], as for relative positions.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if q.device.type == "cuda" and bias is None:
        return _attend_on_gpu(q, k, v, layout, dropout, scale)
    parts = (x[: layout.size].split([group.size for group in layout.groups]) for x in (q, k, v))
    mixed = []
    for group, *rows in zip(layout.groups, *parts, strict=True):
        t = group.real.shape[1]
        here = None if bias is None else bias[:, :t, :t]
        texts = (group.spread(x) for x in rows)  # [texts, H, t, d] each
        mixed.append(group.collect(_attend_group(*texts, group, here, dropout, scale)))  # [n, H, d]
    return torch.cat([*mixed, q.new_zeros(len(q) - layout.size, *v.shape[1:])])  # [R, H, d]


def _attend_group(
    q: Tensor, k: Tensor, v: Tensor, group: Group, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Attention among texts of like length, [texts, H, t, d] each."""
    if q.shape[2] > LONG or q.device.type != "cpu":
        mask = None if bias is None else bias.to(q.dtype)
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale)
    scores = (q * scale) @ k.transpose(2, 3)  # [texts, H, t, t]
    scores = scores if bias is None else scores + bias
    if group.places is not None:
        scores = scores.masked_fill(~group.real[:, None, None, :], -torch.inf)
    weights = scores.softmax(-1).to(v.dtype)
    return nn.functional.dropout(weights, dropout, training=dropout > 0) @ v


def _attend_on_gpu(q: Tensor, k: Tensor, v: Tensor, layout: Layout, dropout: float, scale: float) -> Tensor:
    """All texts in one call: torch's nested tensors, behind which stands a kernel for various lengths."""
    ends = torch.tensor([0, *layout.lengths]).cumsum(0).to(q.device, non_blocking=True)  # [B + 1]
    nested = (
        torch.nested.nested_tensor_from_jagged(x, ends, min_seqlen=layout.lengths[0], max_seqlen=layout.lengths[-1])
        for x in (q, k, v)
    )
    q, k, v = (x.transpose(1, 2) for x in nested)  # [B, H, (t), d] each
    mixed = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scale)
    return mixed.transpose(1, 2).values()  # [N, H, d]


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    layout: Layout | None = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: object,
) -> tuple[Tensor, None]:
    """What transformers' layers call: packed where a layout came with the batch, else as their `"sdpa"`."""
    if layout is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))  # [1, H, N, d] → [N, H, d]
    return attend(q, k, v, layout, dropout=dropout, scale=scaling).unsqueeze(0), None  # [1, N, H, d]


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


class PackedLayers:
    """Mixed into the layers of a model with relative positions: a packed batch comes with its layout."""

    def forward(self, hidden_states: Tensor, *args: Any, layout: Layout | None = None, **kwargs: Any) -> Any:
        if layout is None:
            return super().forward(hidden_states, *args, **kwargs)
        longest = hidden_states.new_empty(1, layout.lengths[-1], 0)  # only its length is read
        bias = self.compute_position_bias(longest)[0]  # [H, T, T]
        for layer in self.layer:
            hidden_states = layer(hidden_states, layout, bias)[0]  # [1, N, D]
        return BaseModelOutput(last_hidden_state=hidden_states)


class PackedAttention:
    """Mixed into the attention of such a model: the layout comes in place of a mask."""

    def forward(self, hidden_states: Tensor, attention_mask: Any = None, position_bias: Any = None, **kwargs: Any):
        if not isinstance(attention_mask, Layout):
            return super().forward(hidden_states, attention_mask, position_bias, **kwargs)
        split = (hidden_states.shape[1], self.num_attention_heads, self.attention_head_size)
        q, k, v = (project(hidden_states).view(split) for project in (self.q, self.k, self.v))  # [N, H, d]
        dropout = self.dropout.p if self.training else 0.0
        mixed = attend(q, k, v, attention_mask, dropout=dropout, bias=position_bias)  # [N, H, d]
        return (self.o(mixed.flatten(1).unsqueeze(0)),)  # [1, N, D]


def _mix_in(mixin: type, module: nn.Module) -> None:
    """Let a module take what the mixin overrides; its weights and their names stay as they are."""
    if not isinstance(module, mixin):
        module.__class__ = _mixed(mixin, type(module))


@cache
def _mixed(mixin: type, cls: type) -> type:
    by_parts = {"__module__": __name__, "__reduce__": lambda self: (_blank, (mixin, cls), vars(self))}  # for pickle
    return type(f"Packed{cls.__name__}", (mixin, cls), by_parts)


def _blank(mixin: type, cls: type) -> nn.Module:
    return object.__new__(_mixed(mixin, cls))
