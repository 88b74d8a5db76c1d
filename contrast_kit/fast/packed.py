"""No computation on padding: the real tokens of a batch stand in one row, and attention keeps the texts apart.

A batch [B, T] of texts of 8 to 64 tokens is nearly half padding, and everything but attention works on each token by
itself. So the real tokens are taken out, shortest text first, [N, D]; layers run on them; and attention takes texts
of like length at a time, filled up to the longest of them. On a GPU it is torch's attention for texts of various
lengths. In the end the states go back to their places.

The numbers are those of the padded batch, up to rounding; dropout draws others, on a CPU faster (`dropout`).

Letters: B examples, T tokens, N real tokens, R rows (N, or somewhat more), D width, H heads, d = D/H.
"""

from functools import cache, partial
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
from contrast_kit.fast.last_layer import last_layer, may_leave_out
from contrast_kit.fast.layout import LONG, Group, Layout

NAME = "contrast_kit_packed"

RIGHT = (
    *("albert", "bert", "camembert", "data2vec-text", "electra", "ernie", "mobilebert", "roberta", "xlm-roberta"),
    *("mpnet", "contrast_kit_relative"),
)
"""Model types that are right when packed: embeddings that know their places, then a stack of post-norm layers whose
only mixing of tokens is attention. Others mix or place tokens elsewhere too, and would give other vectors."""


def can_pack(model: nn.Module) -> bool:
    """Whether a transformers model gives the same vectors when packed: it is one of `RIGHT`, and no decoder."""
    return model.config.model_type in RIGHT and not getattr(model.config, "is_decoder", False)


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
        base = model.base_model
        if not can_pack(model):
            raise ValueError(
                f"{type(model).__name__} cannot run without padding here, as its vectors would be others: leave "
                f"packing out; these model types can be packed: {', '.join(RIGHT)}."
            )
        if isinstance(base, MPNetModel):
            _mix_in(PackedLayers, base.encoder)
            for layer in base.encoder.layer:
                _mix_in(PackedAttention, layer.attention.attn)
        elif (before := model.config._attn_implementation) != NAME:
            model.attention_when_padded = before  # first, so that it is known however this ends
            model.set_attn_implementation(NAME)
        self.positions = padded.positions

    @staticmethod
    def undone(model: nn.Module, padded: Any) -> Any:
        """The plain strategy, `padded`, with the model's own attention: what can give its weights, too."""
        before = vars(model).get("attention_when_padded")
        if before and model.config._attn_implementation == NAME:  # else somebody has chosen another one since
            model.set_attn_implementation(before)
        vars(model).pop("attention_when_padded", None)
        return padded

    def hidden_states(self, model: nn.Module, inputs: dict[str, Tensor], read: Tensor | None = None) -> Tensor:
        """Last hidden states of a padded batch, [B, T, D], computed on its real tokens; zeros at padding.

        Args:
            model: the model that was given to `Packed`.
            inputs: `input_ids` and `attention_mask` [B, T], and `token_type_ids` where the model has types.
            read: the tokens whose states are read, bool [B, T]; the states of others may then be NaN (`last_layer`).
        """
        base, mask = model.base_model, inputs["attention_mask"]
        if not isinstance(base, MPNetModel) and model.config._attn_implementation != NAME:  # it was set anew
            return base(**inputs).last_hidden_state
        layout = Layout.of(mask, fill_up=compiled_by_shape(mask))
        types = {key: value for key, value in inputs.items() if key == "token_type_ids"}
        with quick_dropout(base, mask.device):
            states = layout.pack(base.embeddings(input_ids=inputs["input_ids"], **types))  # [B, T, D] → [1, R, D]
            if hasattr(base, "embeddings_project"):  # ELECTRA's, where embeddings have another width
                states = base.embeddings_project(states)
            if read is None or not may_leave_out(model, states):
                return layout.unpack(base.encoder(states, layout=layout, return_dict=True).last_hidden_state)
            *layers, last = base.encoder.layer
            for layer in layers:
                states = layer(states, layout=layout)
            rows, groups = layout.asking(read)
            found = last_layer(last, states[0], rows, partial(attend, layout=layout, asking=groups))  # [M, D]
            unread = found.new_full((read.numel(), found.shape[1]), torch.nan)  # whoever reads one shall notice
            return unread.index_copy(0, layout.index[rows], found).unflatten(0, read.shape)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: Layout,
    *,
    dropout: float = 0.0,
    scale: float | None = None,
    bias: Tensor | None = None,
    asking: list[Group] | None = None,
) -> Tensor:
    """Each token attends to the tokens of its own text: q, k, v [R, H, d] → [R, H, d], zeros after the first N.

    Args:
        layout: which tokens make a text.
        dropout: of the attention weights.
        scale: of the products; 1 / √d by default.
        bias: added to the scaled products, [H, T, T], as for relative positions.
        asking: of each group the tokens that attend, where not all of them do: q [M, H, d] → [M, H, d]. On a CPU.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if q.device.type == "cuda" and bias is None:
        return _attend_on_gpu(q, k, v, layout, dropout, scale)
    asked = layout.groups if asking is None else asking
    queries = q[: sum(group.size for group in asked)].split([group.size for group in asked])
    keys, values = (x[: layout.size].split([group.size for group in layout.groups]) for x in (k, v))
    mixed = []
    for group, ask, *rows in zip(layout.groups, asked, queries, keys, values, strict=True):
        t = group.real.shape[1]
        here = None if bias is None else bias[:, :t, :t]
        texts = (of.spread(x) for of, x in zip((ask, group, group), rows, strict=True))  # [texts, H, t, d] each
        mixed.append(ask.collect(_attend_group(*texts, group, here, dropout, scale)))  # [n, H, d]
    return torch.cat([*mixed, q.new_zeros(len(q) - sum(map(len, mixed)), *v.shape[1:])])  # [R, H, d]


def _attend_group(
    q: Tensor, k: Tensor, v: Tensor, group: Group, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Attention among texts of like length, [texts, H, t, d] each; q may have fewer tokens."""
    if k.shape[2] > LONG or q.device.type != "cpu":
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
