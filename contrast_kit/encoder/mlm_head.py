"""The vocabulary head of a Hugging Face masked-LM model, taken apart so that it can run at chosen positions only."""

import torch
from torch import Tensor, nn

# Heads whose modules do not stand in the model in the order in which they are used.
ORDERS = {"distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")}


def modules(model: nn.Module) -> list[nn.Module]:
    """The head, module after module: what a `…ForMaskedLM` has besides its base model."""
    names = ORDERS.get(model.config.model_type)
    if names is not None:
        return [getattr(model, name) for name in names]
    prefix = model.base_model_prefix
    return [module for name, module in model.named_children() if name != prefix]


def scores(model: nn.Module, hidden: Tensor) -> Tensor:
    """Word scores, [M, D] → [M, V]."""
    for module in modules(model):
        hidden = module(hidden)
    return hidden


# Model types whose head is dense, gelu, LayerNorm, then the linear layer over words; and BERT's, one level deeper.
ROBERTA_LIKE = ("roberta", "xlm-roberta", "camembert", "mpnet", "contrast_kit_relative")
BERT_LIKE = ("bert",)
IN_ORDER = ("electra", "distilbert")


def states(model: nn.Module, hidden: Tensor) -> Tensor | None:
    """What the head's last layer, the linear one over words, reads: [M, D] → [M, D].

    `scores` is `model.get_output_embeddings()` of it. None for a head whose parts are not known here.
    """
    kind, parts = model.config.model_type, modules(model)
    if kind in ROBERTA_LIKE:
        return parts[0].layer_norm(nn.functional.gelu(parts[0].dense(hidden)))
    if kind in BERT_LIKE:
        return parts[0].predictions.transform(hidden)
    if kind not in IN_ORDER:
        return None
    for module in parts[:-1]:
        hidden = module(hidden)
    return hidden


@torch.no_grad()
def check(model: nn.Module, view: dict[str, Tensor]) -> None:
    """Refuse a model whose head, taken apart, does not give the model's own word scores for a view of one text.

    Raises:
        ValueError: names the kind of model.
    """
    kind = type(model).__name__
    model.eval()
    try:
        hidden = model.base_model(**view).last_hidden_state  # [1, T, D]
        ours, theirs = scores(model, hidden[0]), model(**view).logits[0]  # [T, V]
    except (TypeError, RuntimeError, AttributeError, NotImplementedError) as error:
        raise ValueError(f"{kind} has a vocabulary head that cannot be used by itself ({error}).") from error
    if ours.shape != theirs.shape or not torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3):
        raise ValueError(f"{kind} makes its word scores in a way not known here; take a BERT or RoBERTa.")
