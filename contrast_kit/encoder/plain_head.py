"""A vocabulary head without projection, inside a Hugging Face model that always has one.

The head of BERT, RoBERTa and MPNet is a projection (dense, gelu, LayerNorm) and then the tied word vectors. COCO-LM's
main model is trained without the projection: its scores are h · x, "only having the final linear layer" (appendix D).
Leaving it out in training is easy. In a saved folder there is no place to say so, but the projection can be given
weights with which it does nothing.
"""

import math

import torch
from torch import Tensor, nn

_LINEAR = 6.0
"""Above this, gelu(x) = x Φ(x) is x to the last digit of float32."""


def scores(model: nn.Module, hidden: Tensor) -> Tensor:
    """Word scores without projection, [M, D] → [M, V]: h · x for the word vectors x, plus the head's bias."""
    return model.get_output_embeddings()(hidden)


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

    Exact but for rounding (relative error about 1e-6 in float32; half precision is too coarse for the sum with c).

    Raises:
        ValueError: for a model of another shape, or with a γ of zero, where something of h is lost.
    """
    dense, norm = _projection(model)
    last = _last_norm(model)
    if dense is None or norm is None or last is None or dense.in_features != dense.out_features:
        raise ValueError(
            f"{type(model).__name__} has no projection of the kind that can be made to do nothing: build the encoder "
            "with Encoder.tiny, small, base or large, or train with lm_projection=True."
        )
    gamma, beta = last.weight, last.bias
    if (gamma.abs() < 1e-6).any():
        raise ValueError(
            "A weight of the last LayerNorm is zero, so a head without projection cannot be saved in the ordinary form."
        )
    dense.weight.copy_(torch.diag(1 / gamma))
    dense.bias.copy_(math.sqrt(dense.in_features) + _LINEAR - beta / gamma)
    norm.weight.copy_(gamma)
    norm.bias.copy_(beta)
    norm.eps = last.eps


def _projection(model: nn.Module) -> tuple[nn.Linear | None, nn.LayerNorm | None]:
    """The dense layer and the LayerNorm of a vocabulary head."""
    prefix, output = model.base_model_prefix, model.get_output_embeddings()
    head = [child for name, child in model.named_children() if name != prefix]
    modules = [module for child in head for module in child.modules()]
    dense = [module for module in modules if isinstance(module, nn.Linear) and module is not output]
    norms = [module for module in modules if isinstance(module, nn.LayerNorm)]
    return (dense[0], norms[0]) if len(dense) == len(norms) == 1 else (None, None)


def _last_norm(model: nn.Module) -> nn.LayerNorm | None:
    """The LayerNorm that a hidden state leaves last, in models that normalise after each layer."""
    layers = getattr(getattr(model.base_model, "encoder", None), "layer", None)
    return getattr(layers[-1].output, "LayerNorm", None) if layers else None
