"""The vocabulary head of a Hugging Face masked-LM model, taken apart so that it can run at chosen positions only.

The head of BERT, RoBERTa and MPNet is a projection (dense, gelu, LayerNorm) and then the tied word vectors. COCO-LM's
main model has no projection: its scores are h · x, "only having the final linear layer" (appendix D). A saved folder
cannot say so, but `make_transparent` gives the projection weights with which it does nothing.

Letters: M positions, T tokens, D width, V vocabulary.
"""

import math

import torch
from torch import Tensor, nn

# DistilBERT's head, in the order of use; the model lists its modules in another order.
DISTILBERT = (
    "vocab_transform",
    "activation",
    "vocab_layer_norm",
    "vocab_projector",
)
# Model types whose head is one module: dense, gelu, LayerNorm, then the linear layer over words.
ROBERTA_LIKE = (
    "roberta",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "contrast_kit_relative",
)
_LINEAR = 6.0  # above this, gelu(x) = x Φ(x) is x to the last digit of float32


def modules(model: nn.Module) -> list[nn.Module]:
    """The head, module after module: what a `…ForMaskedLM` has besides its base model."""
    kind = model.config.model_type
    if kind == "distilbert":
        return [getattr(model, name) for name in DISTILBERT]
    if kind == "lxmert":
        return [model.cls.predictions]
    if kind in ("xlm", "flaubert"):  # their last module gives a tuple
        return [model.get_output_embeddings()]
    return [module for name, module in model.named_children() if name != model.base_model_prefix]


def last_layer(
    model: nn.Module, hidden: Tensor, projection: bool = True
) -> tuple[Tensor, nn.Linear] | None:
    """What the head's last layer reads, [M, D] → [M, D], and that layer, [M, D] → [M, V]. None for an unknown head."""
    kind, parts, words = (
        model.config.model_type,
        modules(model),
        model.get_output_embeddings(),
    )
    if not projection:
        return hidden, words
    if kind in ROBERTA_LIKE:
        return parts[0].layer_norm(nn.functional.gelu(parts[0].dense(hidden))), words
    if kind == "bert":
        return parts[0].predictions.transform(hidden), words
    if kind not in ("electra", "distilbert"):
        return None
    for module in parts[:-1]:
        hidden = module(hidden)
    return hidden, words


@torch.no_grad()
def check(model: nn.Module, view: dict[str, Tensor]) -> None:
    """Raise a ValueError if, for one text, the head taken apart gives other word scores than the whole model."""
    model.eval()
    ours = model.base_model(**view).last_hidden_state[0]  # [T, D]
    for module in modules(model):
        ours = module(ours)  # in the end [T, V]
    theirs = model(**view).logits[0]  # [T, V]
    if ours.shape != theirs.shape or not torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3):
        kind = type(model).__name__
        raise ValueError(
            f"{kind} makes its word scores in a way not known here; take a BERT or RoBERTa."
        )


def projection(model: nn.Module) -> tuple[nn.Linear, nn.LayerNorm, nn.LayerNorm]:
    """The dense map and the LayerNorm of a head that `make_transparent` can change, and the LayerNorm that outputs h.

    ValueError: a model of another shape, which could not be saved with word scores h · x, or whose word vectors have
    another width than h.
    """
    output, parts = (
        model.get_output_embeddings(),
        [part for module in modules(model) for part in module.modules()],
    )
    dense = [part for part in parts if isinstance(part, nn.Linear) and part is not output]
    norms = [part for part in parts if isinstance(part, nn.LayerNorm)]
    layers = getattr(getattr(model.base_model, "encoder", None), "layer", None)
    last = getattr(layers[-1].output, "LayerNorm", None) if layers else None
    square = all(
        layer.in_features == layer.out_features == model.config.hidden_size for layer in dense
    )
    if not len(dense) == len(norms) == 1 or last is None or not square:
        raise ValueError(
            f"The word scores of a {type(model).__name__} cannot be h · x, which its folder could not say: build the "
            "encoder with Encoder.tiny, small, base or large, or keep the model's own head (lm_projection=True)."
        )
    return dense[0], norms[0], last


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
