"""T5's relative positions on a BERT-shaped Transformer, with a fast attention and in an ordinary folder.

COCO-LM's models are BERT "plus T5 relative position encoding": absolute positions stay at the input, and each
attention score gets a learned number that depends only on the distance of its two tokens and on the head,

    softmax_j( q_i · k_j / √d + b[bucket(j − i), head] ),    one table b for all layers.

transformers has exactly this architecture under the name MPNet, so a model made here is saved as an MPNet folder that
opens anywhere. Two things are ours: attention by torch's fused kernel (transformers computes MPNet's step by step),
and tables of other sizes than MPNet's 32 buckets.

Letters: B examples, T tokens, D width, H heads.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    MPNetConfig,
    MPNetForMaskedLM,
    MPNetModel,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder, MPNetSelfAttention

from contrast_kit import fast
from contrast_kit.checks import Count, Settings


@dataclass(frozen=True)
class RelativePositions(Settings):
    """How distances between tokens share buckets. The defaults are COCO-LM's base setting (table 6), and T5's."""

    buckets: Count = 32
    """Rows of the table. COCO-LM: base 32, base++ 64, large++ 128."""
    max_distance: Count = 128
    """From this distance on all share the last bucket. COCO-LM: base and base++ 128, large++ 256."""

    @classmethod
    def of(cls, config: Any) -> "RelativePositions":
        """What a transformers config says. A plain MPNet has 32 buckets up to 128, whatever its config holds."""
        if not isinstance(config, RelativeConfig):
            return cls()
        table = config.relative_attention_num_buckets
        return cls(table, config.relative_attention_max_distance)


class RelativeConfig(MPNetConfig):
    """MPNet with a table of another size, which transformers' MPNet would read wrongly.

    It has a type of its own: such a folder opens where `contrast_kit` is imported, and is refused elsewhere.
    """

    model_type = "contrast_kit_relative"
    relative_attention_max_distance: int = 128


def bucket(distance: Tensor, positions: RelativePositions) -> Tensor:
    """The row of the table for each distance j − i, a long tensor of any shape.

    `half` of the rows are for tokens after (j > i), half for tokens before or at i. In each half, with n = |j − i|:
    n itself up to `exact` = half / 2; then logarithmically wider buckets up to `max_distance`; then the last one.

    exact + ⌊ log(n / exact) / log(max_distance / exact) · (half − exact) ⌋; j > i adds `half` (Raffel et al. 2020). One
    row is never used: distance 0 counts as "before". COCO-LM prints "T5"; its released code has another rule, symmetric
    around 0.

    Example:
        >>> import torch
        >>> from contrast_kit.encoder.relative_positions import RelativePositions, bucket
        >>> bucket(torch.tensor([-200, -9, -1, 0, 1, 9, 200]), RelativePositions())
        tensor([15,  8,  1,  0, 17, 24, 31])
    """
    half = positions.buckets // 2
    exact = half // 2
    n = distance.abs()
    octaves = torch.log(n.clamp(min=1).float() / exact)
    share = octaves / math.log(positions.max_distance / exact)
    wide = exact + torch.floor(share * (half - exact)).long()
    row = torch.where(n < exact, n, wide.clamp(max=half - 1))
    return row + (distance > 0) * half


def bias(table: nn.Embedding, length: int, positions: RelativePositions) -> Tensor:
    """b[bucket(j − i), head] for all i, j < `length`: [H, T, T], a sliding window over 2T − 1 rows of the table."""
    distances = torch.arange(1 - length, length, device=table.weight.device)  # [2T-1]
    line = table(bucket(distances, positions)).T  # [2T-1, H] → [H, 2T-1]
    # [H, T, T]: row i is the window that begins at distance −i
    return line.unfold(1, length, 1).flip(1)


class RelativeEncoder(MPNetEncoder):
    """MPNet's stack of layers; bias and padding mask become one tensor, made once for all layers."""

    def compute_position_bias(self, x: Tensor, *args: Any) -> None:
        """Nothing: `forward` has added it to the mask."""

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        layout: Any = None,
        **options: Any,
    ) -> BaseModelOutput | tuple:
        length = hidden_states.shape[1]
        if layout is not None:  # a packed batch (`fast.packed`)
            length = layout.real.shape[1]
        positions = RelativePositions.of(self.config)
        scores = bias(self.relative_attention_bias, length, positions)  # [H, T, T]
        if layout is not None:
            scores = layout.among_own(scores), layout
        elif attention_mask is not None:
            scores = scores + attention_mask  # [B, H, T, T]
        return super().forward(hidden_states, scores, **options)


class RelativeAttention(MPNetSelfAttention):
    """MPNet's self-attention by torch's fused kernel.

    `attention_mask` is the bias of relative positions [H, T, T] plus the padding mask, [B, H, T, T]; or, of a packed
    batch, the bias and the layout.
    """

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        position_bias: None = None,
        output_attentions: bool = False,
        **kwargs: Any,
    ) -> tuple[Tensor, ...]:
        if output_attentions:  # the fused kernel never has them
            return super().forward(hidden_states, attention_mask, output_attentions=True)
        split = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        q, k, v = (part(hidden_states).view(split) for part in (self.q, self.k, self.v))
        dropout = self.dropout.p if self.training else 0.0
        if isinstance(attention_mask, tuple):
            scores, layout = attention_mask
            mixed = fast.attend(q, k, v, layout, dropout, bias=scores)  # [1, R, H, D/H]
            return (self.o(mixed.flatten(2)),)  # [1, R, D]
        # [B, T, H, D/H] → [B, H, T, D/H]
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        mask = attention_mask.to(q.dtype)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout)
        return (self.o(mixed.transpose(1, 2).flatten(2)),)  # [B, H, T, D/H] → [B, T, D]


def speed_up(model: nn.Module) -> nn.Module:
    """Let an MPNet compute its attention by the fused kernel, in place. Weights and their names stay."""
    encoder = model.base_model.encoder
    # The same modules, another forward: nothing to copy, nothing to rename.
    encoder.__class__ = RelativeEncoder
    for layer in encoder.layer:
        layer.attention.attn.__class__ = RelativeAttention
    return model


class Quick:
    """A model whose attention is quick from the start."""

    config_class = RelativeConfig

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        speed_up(self)


class RelativeModel(Quick, MPNetModel):
    """What `AutoModel` opens for a `RelativeConfig`."""


class RelativeForMaskedLM(Quick, MPNetForMaskedLM):
    """What `AutoModelForMaskedLM` opens for a `RelativeConfig`."""


AutoConfig.register(RelativeConfig.model_type, RelativeConfig)
AutoModel.register(RelativeConfig, RelativeModel)
AutoModelForMaskedLM.register(RelativeConfig, RelativeForMaskedLM)


def masked_lm(
    positions: RelativePositions, *, max_length: int, pad_token_id: int, **shape: Any
) -> nn.Module:
    """A randomly initialised masked-LM model with relative positions, for inputs of up to `max_length` tokens.

    Default `positions` give transformers' own MPNet, others a `RelativeForMaskedLM`; `shape`: `MPNetConfig`'s fields.

    MPNet's code takes id 1 for padding when it counts absolute positions, whatever `pad_token_id` says. In the
    vocabularies of `train_tokenizer` id 1 is [UNK]: an unknown word then has no absolute position of its own. That
    stays, because a saved folder must give the same vectors everywhere; but the *word vector* of id 1 is trained.
    """
    shape |= dict(
        max_position_embeddings=max_length + 2,  # MPNet counts positions from 2
        relative_attention_num_buckets=int(positions.buckets),
        pad_token_id=pad_token_id,
    )
    if positions == RelativePositions():
        return MPNetForMaskedLM(MPNetConfig(**shape))
    config = RelativeConfig(
        **shape,
        relative_attention_max_distance=int(positions.max_distance),
    )
    return RelativeForMaskedLM(config)
