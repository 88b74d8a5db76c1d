"""Checks of what an encoder is given: a tokenizer, a model or its sizes, texts. Each refuses in one clear sentence."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from transformers import MPNetConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from contrast_kit import checks
from contrast_kit._warn import warn
from contrast_kit.encoder.relative_positions import speed_up

OTHERS = ("RelativeForMaskedLM", "LxmertForPreTraining")
"""Masked language models that AutoModelForMaskedLM does not list: COCO-LM's, and the one that reads pictures too."""


def check_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse anything but a tokenizer that can mask and pad."""
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise TypeError(
            f"An encoder is built for a tokenizer, such as data.train_tokenizer(texts), not {checks.shown(tokenizer)}; "
            "a saved model and its tokenizer are opened together by Encoder.from_pretrained(name)."
        )
    for name, why in (("mask", "masked language modelling"), ("pad", "a batch of texts of different lengths")):
        if getattr(tokenizer, f"{name}_token_id") is None:
            raise ValueError(f"This tokenizer has no {name} token; {why} needs one.")


def checked_model(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
    """The model, ready to be trained here. Refuses one that names no words at masked places, one that embeds fewer
    tokens than the tokenizer has, and one that counts positions from another token than the tokenizer's padding."""
    if not isinstance(model, PreTrainedModel) or model.base_model is model:
        raise TypeError(
            f"An encoder wraps a model with a head, such as RobertaForMaskedLM, not {type(model).__name__}. "
            "Without one: model.save_pretrained(d); tokenizer.save_pretrained(d); Encoder.from_pretrained(d) adds one."
        )
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ValueError(
            f"The tokenizer has {len(tokenizer)} tokens but the model embeds only {rows}: "
            "open both from the same folder, or train the tokenizer first and build the model for it."
        )
    known = {*MODEL_FOR_MASKED_LM_MAPPING_NAMES.values(), *OTHERS}
    if not any(base.__name__ in known for base in type(model).__mro__):
        raise ValueError(
            f"{type(model).__name__} is not a masked language model of transformers, and cannot say which word belongs "
            "at a masked place: take one such as BertForMaskedLM (AutoModelForMaskedLM lists them)."
        )
    pad, counted = tokenizer.pad_token_id, getattr(getattr(model.base_model, "embeddings", None), "padding_idx", None)
    if counted not in (None, pad) and not isinstance(model.config, MPNetConfig):  # whose id is fixed
        raise ValueError(
            f"The model counts positions from its padding, token {counted}, and the tokenizer pads with token {pad}: "
            "open both from one folder, or build the model's config with pad_token_id=tokenizer.pad_token_id."
        )
    if isinstance(model.config, MPNetConfig):
        speed_up(model)
    model.get_input_embeddings().padding_idx = pad  # the only word without a gradient
    return model


@torch.no_grad()
def check_alone(model: nn.Module, alone: dict[str, Tensor], beside: dict[str, Tensor]) -> None:
    """Warn of a model whose states for a text change with padding: given `alone`, and first `beside` a longer text."""
    model.eval()
    states = model.base_model(**alone).last_hidden_state[0]  # [T, D]
    moved = model.base_model(**beside).last_hidden_state[0, : len(states)] - states
    if moved.abs().max() > 1e-3:
        warn(f"{type(model).__name__} reads padding, so the vector of a text depends on the texts encoded beside it.")


def whole_sizes(sizes: dict[str, int]) -> dict[str, int]:
    """Sizes of a new encoder as Python's integers, the only ones transformers takes. Refuses anything else."""
    for name, value in sizes.items():
        checks.count(name, value, "a size of the encoder")
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        raise ValueError(
            f"hidden_size={sizes['hidden_size']} must be a multiple of num_attention_heads, "
            f"{sizes['num_attention_heads']}: each head has an equal share of it."
        )
    return {name: int(value) for name, value in sizes.items()}


def list_of_texts(texts: str | Iterable) -> list:
    """Texts as a list, one string as a list of one. Refuses empty texts, and all but strings and pairs of them."""
    if isinstance(texts, Mapping) and texts:
        raise TypeError(
            f"These are {', '.join(map(str, list(texts)[:3]))}, splits or columns by name: give the texts of one, such "
            "as data['train']['text']."
        )
    if not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) == 0:
        raise TypeError(f"Texts are a string or a list of strings, not {checks.shown(texts)}.")
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not texts:
        raise ValueError("There is no text to read: give at least one string.")
    for text in texts:
        parts = parts_of(text)
        if not all(isinstance(part, str) for part in parts):
            raise TypeError(
                f"A text is a string, or a pair of strings, not {checks.shown(text)}: of rows, give one column, "
                "[row['text'] for row in rows]."
            )
        if not all(part.strip() for part in parts):
            raise ValueError("One of the texts is empty: an encoder has nothing to say about it; leave it out.")
    return texts


def longest_first(texts: Sequence) -> list[int]:
    """The indices of the texts, ordered so that texts of about the same length stand together."""
    return sorted(range(len(texts)), key=lambda i: -sum(map(len, parts_of(texts[i]))))


def parts_of(text: str | tuple[str, str]) -> Sequence:
    """Both strings of a pair, or a string alone."""
    return text if isinstance(text, tuple | list) and len(text) == 2 else [text]
