"""Attention with relative positions by torch's fused kernel.

Letters: B examples, T tokens, D width, H heads, R rows.
"""

from typing import Any

from torch import Tensor, nn
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention

from contrast_kit.fast.packed import attend


class RelativeAttention(MPNetSelfAttention):
    """MPNet's self-attention by torch's fused kernel: transformers computes it step by step.

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
            mixed = attend(q[0], k[0], v[0], layout, dropout, bias=scores)  # [R, H, D/H]
            return (self.o(mixed.flatten(1).unsqueeze(0)),)  # [1, R, D]
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # [B, T, H, D/H] → [B, H, T, D/H]
        mask = attention_mask.to(q.dtype)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout)
        return (self.o(mixed.transpose(1, 2).flatten(2)),)  # [B, H, T, D/H] → [B, T, D]
