"""The vocabulary head of a Hugging Face masked-LM model, taken apart so that it can run at chosen positions only.

The head of BERT, RoBERTa and MPNet is a projection (dense, gelu, LayerNorm) and then the tied word vectors. COCO-LM's
main model has no projection: its scores are h · x, "only having the final linear layer" (appendix D). A saved folder
cannot say so, but `make_transparent` gives the projection weights with which it does nothing.

Letters: M positions, T tokens, D width, V vocabulary.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

# DistilBERT's head, in the order of use; the model lists its modules in another order.
DISTILBERT = ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")
BERT_LIKE = ("bert", "ernie")
ROBERTA_LIKE = (
    "roberta", "xlm-roberta", "camembert", "data2vec-text", "mpnet", "contrast_kit_relative",
)  # fmt: skip
_LINEAR = 6.0  # above this, gelu(x) = x Φ(x) is x to the last digit of float32


def modules(model: nn.Module) -> list[Callable[[Tensor], Tensor]]:
    """The head, module after module: what a `…ForMaskedLM` has besides its base model.

    The last is the linear layer over the words, or, in models that are not known here, the head as a whole.
    """
    kind = model.config.model_type
    if kind in ROBERTA_LIKE:
        head = model.lm_head
        return [head.dense, nn.functional.gelu, head.layer_norm, head.decoder]
    if kind in BERT_LIKE:
        head, words = model.cls.predictions.transform, model.cls.predictions.decoder
        return [head.dense, head.transform_act_fn, head.LayerNorm, words]
    if kind == "distilbert":
        return [getattr(model, name) for name in DISTILBERT]
    if kind == "lxmert":
        return [model.cls.predictions]
    if kind in ("xlm", "flaubert"):  # their last module gives a tuple
        return [model.get_output_embeddings()]
    return [
        module
        for name, module in model.named_children()
        if name != model.base_model_prefix
    ]


def check(encoder: Any) -> None:
    """Raise a ValueError if, for one text, the head taken apart gives other word scores than the whole model."""
    view = encoder.view_of([encoder.tokenizer.mask_token])
    with torch.no_grad():
        ours = encoder.mlm_logits(encoder(view)[0])  # [T, V]
        theirs = encoder.model(**view).logits[0]  # [T, V]
    if ours.shape != theirs.shape or not torch.allclose(
        ours, theirs, rtol=1e-3, atol=1e-3
    ):
        kind = type(encoder.model).__name__
        raise ValueError(
            f"{kind} makes its word scores in a way not known here; take a BERT or RoBERTa."
        )


def projection(model: nn.Module) -> tuple[nn.Linear, nn.LayerNorm, nn.LayerNorm]:
    """The dense map and the LayerNorm of a head that `make_transparent` can change, and the LayerNorm that outputs h.

    ValueError: a model of another kind, which could not be saved with word scores h · x.
    """
    if model.config.model_type not in (*BERT_LIKE, *ROBERTA_LIKE):
        raise ValueError(
            f"The word scores of a {type(model).__name__} cannot be h · x, which its folder could not say: build the "
            "encoder with Encoder.tiny, small, base or large, or keep the model's own head (lm_projection=True)."
        )
    dense, _, norm, _ = modules(model)
    return dense, norm, model.base_model.encoder.layer[-1].output.LayerNorm


def remove_bias(model: nn.Module) -> None:
    """Set the bias of the word scores to zero, and keep it there."""
    bias = model.get_output_embeddings().bias
    if bias is not None:
        bias.requires_grad_(False).zero_()


@torch.no_grad()
def make_transparent(model: nn.Module) -> None:
    """Give the projection of a BERT-, RoBERTa- or MPNet-shaped model the weights with which it changes nothing.

    A hidden state leaves the last LayerNorm as h = γ ⊙ x + β, where x has mean 0 and variance 1. So

    1. dense: x + c = (h − β) / γ + c, a diagonal matrix and a bias. No entry of x is below −√D, and
       c = √D + 6 lifts all of them to where gelu is the identity;
    2. gelu: x + c;
    3. LayerNorm: takes the mean c away, divides by the deviation 1, and with the same γ and β gives h back.

    Exact up to rounding (relative error about 1e-6 in float32; half precision is too coarse for the sum with c). A γ of
    zero, with which something of h is lost, raises a ValueError.
    """
    dense, norm, last = projection(model)
    gamma, beta = last.weight, last.bias
    if (gamma.abs() < 1e-6).any():
        raise ValueError(
            "A weight of the last LayerNorm is zero, so a head without projection cannot be saved in the ordinary form."
        )
    dense.weight.copy_(torch.diag(1 / gamma))
    dense.bias.copy_(math.sqrt(dense.in_features) + _LINEAR - beta / gamma)
    norm.weight.copy_(gamma)
    norm.bias.copy_(beta)
