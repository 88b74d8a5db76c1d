"""No computation on padding: the real tokens of a batch stand in one row, and attention keeps the texts apart.

A batch [B, T] of texts of 8 to 64 tokens is nearly half padding, and everything but attention works on each token by
itself. So the real tokens are taken out, shortest text first, [N, D]; layers run on them; and attention keeps to each
text's own rows. On a CPU it takes texts of like length at a time, filled up to the longest of them. On a GPU one kernel
reads rows and where texts end; it knows half precision only, no dropout of its weights and no bias, so that otherwise,
as for COCO-LM's relative positions, attention alone is computed on the padded batch. In the end the states go back to
their places. The numbers are those of the padded batch, up to rounding; dropout draws others.

Letters: B examples, T tokens, N real tokens, R rows (N, or somewhat more), D width, H heads, d = D/H.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from contrast_kit.fast.shapes import ROUND, compiled_by_shape, rounded_up

NAME = "contrast_kit_packed"
RELATIVE = ("mpnet", "contrast_kit_relative")
RIGHT = "albert bert camembert data2vec-text electra ernie mobilebert roberta xlm-roberta"
RIGHT = (*RIGHT.split(), *RELATIVE)
"""Model types that are right when packed: embeddings that know their places, then a stack of post-norm layers whose
only mixing of tokens is attention. Others mix or place tokens elsewhere too, and would give other vectors."""

LONG = 256
"""Texts above this length go through the fused kernel on a CPU: it holds no [T, T], but is slower on shorter ones."""
ALIKE = 32
"""Texts whose lengths differ by less than this attend together: padding them costs less than further calls would.
Above `LONG`, only texts of one length."""


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
        kind = model.config.model_type
        if not can_pack(model):
            raise ValueError(
                f"{type(model).__name__} cannot run without padding here, as its vectors would be others: leave "
                f"packing out; these model types can be packed: {', '.join(RIGHT)}."
            )
        if kind not in RELATIVE and model.config._attn_implementation != NAME:
            model.attention_when_padded = model.config._attn_implementation
            model.set_attn_implementation(NAME)
        self.positions = padded.positions

    def hidden_states(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        """Last hidden states of a padded batch, [B, T, D], computed on its real tokens; zeros at padding."""
        base, mask = model.base_model, inputs["attention_mask"]
        layout = Layout.of(mask, fill_up=compiled_by_shape(mask))
        texts = {key: value for key, value in inputs.items() if key != "attention_mask"}
        states = layout.pack(base.embeddings(**texts))  # [B, T, D] → [1, R, D]
        # ELECTRA's, where embeddings have another width.
        if hasattr(base, "embeddings_project"):
            states = base.embeddings_project(states)
        return layout.unpack(
            base.encoder(states, layout=layout, return_dict=True).last_hidden_state
        )


def can_pack(model: nn.Module) -> bool:
    """Whether a model is one of `RIGHT`."""
    decoder = getattr(model.config, "is_decoder", False)
    return model.config.model_type in RIGHT and not decoder


def unpack(model: nn.Module) -> None:
    """Give a model that was packed its own attention again."""
    before = vars(model).pop("attention_when_padded", None)
    if before and model.config._attn_implementation == NAME:
        model.set_attn_implementation(before)


class Group:
    """Texts that attend together, [texts, t] tokens, the short ones padded."""

    def __init__(self, lengths: list[int], device: torch.device):
        self.size = sum(lengths)
        real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        self.padded = not bool(real.all())
        self.real = real.to(device, non_blocking=True)  # bool [texts, t]
        places = real.flatten().nonzero()[:, 0]  # [n], of the real tokens
        self.places = places.to(device, non_blocking=True)

    def spread(self, x: Tensor) -> Tensor:
        """[n, H, d] → [texts, H, t, d], zeros at padding."""
        if self.padded:
            x = x.new_zeros(self.real.numel(), *x.shape[1:]).index_copy(0, self.places, x)
        return x.unflatten(0, self.real.shape).transpose(1, 2)

    def collect(self, x: Tensor) -> Tensor:
        """[texts, H, t, d] → [n, H, d]."""
        return x.transpose(1, 2).flatten(0, 1).index_select(0, self.places)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        dropout: float,
        scale: float,
        bias: Tensor | None,
    ) -> Tensor:
        """Attention among these texts, [texts, H, t, d] each; bias [H, T, T]."""
        t = k.shape[2]
        if bias is not None:
            bias = bias[:, :t, :t].to(q.dtype)
        if not self.padded and t > LONG:
            return nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=bias, dropout_p=dropout, scale=scale
            )
        scores = (q * scale) @ k.transpose(2, 3)  # [texts, H, t, t]
        if bias is not None:
            scores = scores + bias
        if self.padded:
            scores = scores.masked_fill(~self.real[:, None, None, :], -torch.inf)
        weights = scores.softmax(-1).to(v.dtype)
        return nn.functional.dropout(weights, dropout, training=dropout > 0) @ v


@dataclass(frozen=True)
class Layout:
    """Where the N real tokens of a batch come from, and which of them belong together."""

    real: Tensor
    """[B, T] bool, where a token stands and no padding."""
    index: Tensor
    """[R] long, places in the flattened batch: texts from short to long, each in its order. R is N, or, where products
    are compiled by shape, a round number above it: the first token then fills it up, and is cut off in the end."""
    size: int
    """N."""
    ends: Tensor
    """[B + 1] int32: rows before the first text, and up to the end of each."""

    @classmethod
    def of(cls, attention_mask: Tensor, fill_up: bool = False) -> "Layout":
        """The layout of a padded batch, from its attention mask [B, T]. Waits for the device once."""
        real = attention_mask.bool()
        sizes, order = real.sum(1).sort(stable=True)  # [B] each
        row, column = real[order].nonzero(as_tuple=True)  # [N] each
        places, size = order[row] * real.shape[1] + column, len(row)  # [N]
        if fill_up:
            more = rounded_up(size, 4 * ROUND) - size
            places = nn.functional.pad(places, (0, more))
        ends = nn.functional.pad(sizes.cumsum(0, dtype=torch.int32), (1, 0))
        return cls(real, places, size, ends)

    @cached_property
    def groups(self) -> list[Group]:
        """The texts that have any token, grouped by length."""
        groups: list[list[int]] = []
        for length in filter(None, self.ends.diff().tolist()):
            alike = ALIKE if length <= LONG else 1
            if not groups or length - groups[-1][0] >= alike:
                groups.append([])
            groups[-1].append(length)
        return [Group(lengths, self.index.device) for lengths in groups]

    def among_own(self, bias: Tensor) -> Tensor:
        """A bias of relative positions [H, T, T] as attention reads it: on a GPU it hides padding, [B, H, T, T]."""
        if not on_gpu(bias):
            return bias
        return bias.masked_fill(~self.real[:, None, None, :], -torch.inf)

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, …] → [1, R, …], the shape of a batch of one long text."""
        return x.flatten(0, 1).index_select(0, self.index).unsqueeze(0)

    def unpack(self, x: Tensor) -> Tensor:
        """[1, R, …] → [B, T, …] with zeros at padding."""
        padded = x.new_zeros(self.real.numel(), *x.shape[2:])
        padded = padded.index_copy(0, self.index[: self.size], x.squeeze(0)[: self.size])
        return padded.unflatten(0, self.real.shape)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: Layout,
    dropout: float = 0.0,
    scale: float | None = None,
    bias: Any = None,
) -> Tensor:
    """Each token attends to the tokens of its own text: q, k, v [1, R, H, d] → the same, zeros after the first N.

    `dropout` is of the attention weights; `scale` of the products, 1 / √d by default; `bias` is added to these, [H, T,
    T], as for relative positions.
    """
    usual = q.shape[-1] ** -0.5
    scale = scale or usual
    # [R, H, d]; the gradient of x[0] would be a copy
    q, k, v = (x.squeeze(0) for x in (q, k, v))
    if on_gpu(q):
        kernel = _kernel(q)
        if kernel and bias is None and not dropout and scale == usual:
            ends, longest = layout.ends, layout.real.shape[1]
            return kernel(q, k, v, ends, ends, longest, longest)[None]
        mask = layout.real[:, None, None, :]
        if bias is not None:
            mask = bias.to(q.dtype)
        # [R, H, d] → [B, H, T, d]
        q, k, v = (layout.unpack(x[None]).transpose(1, 2) for x in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(
            q, k, v, mask, dropout, scale=scale
        )
        return layout.pack(mixed.transpose(1, 2))  # [1, R, H, d]
    sizes = [group.size for group in layout.groups]
    rows = zip(*(x[: layout.size].split(sizes) for x in (q, k, v)), strict=True)
    mixed = []
    for group, each in zip(layout.groups, rows, strict=True):
        own = group.attend(*map(group.spread, each), dropout, scale, bias)
        mixed.append(group.collect(own))  # [n, H, d]
    rest = v.new_zeros(len(v) - layout.size, *v.shape[1:])
    return torch.cat([*mixed, rest])[None]  # [1, R, H, d]


def on_gpu(x: Tensor) -> bool:
    """Whether attention is computed as on a GPU."""
    return x.device.type != "cpu"


def _kernel(q: Tensor) -> Any:
    """torch's attention for rows of many texts (from 2.10 on), where it knows such vectors and the GPU has it."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    old = q.is_cuda and torch.cuda.get_device_capability(q.device) < (8, 0)
    if old or q.dtype.itemsize != 2 or q.shape[-1] % 8:
        return None
    return varlen_attn


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
        more |= dict(dropout=dropout, scaling=scaling)
        return sdpa_attention_forward(module, query, key, value, attention_mask, **more)
    # [1, H, R, d] → [1, R, H, d]
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    return attend(q, k, v, layout, dropout, scaling), None


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
