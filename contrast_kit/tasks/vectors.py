"""The vectors of many texts, with a progress bar, and kept: asked twice for the same texts, an encoder runs once."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from contrast_kit import arguments, checks
from contrast_kit.data.intact import code_digest
from contrast_kit.data.tokenizers import tokenizer_state
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.hf_folders import architecture
from contrast_kit.encoder.inputs import longest_first, parts_of
from contrast_kit.objectives import Objective

MANY = 5_000
"""From this many texts on, a bar shows how far the encoder is."""
KEPT = 256 * 2**20
"""Bytes of vectors that are kept; the least recently used are dropped first: 67,000 texts of width 384 take 103 MB."""
PORTION = 16 * 64  # texts between two moves of the bar: whole batches of `encode`

_kept: OrderedDict[str, Tensor] = OrderedDict()


def vectors_of(encoder: Any, texts: Sequence[Any], *, progress: bool | None = None) -> Tensor:
    """The vectors [N, D] of `encoder.encode(texts)`, on the CPU; encoded anew only where encoder or texts have changed.

    Args:
        encoder: an `Encoder`; anything else with `encode(texts)`, also a subclass or an encoder with hooks or a method
            of its own (`encoder.pool = …`), is asked each time, since what its vectors depend on is unknown.
        texts: strings or pairs of strings, in any order.
        progress: show a bar; by default from 5,000 texts on.

    Raises:
        what `encode` raises.

    >>> import contrast_kit as ck
    >>> from contrast_kit.tasks.vectors import vectors_of
    >>> texts = ["the red kite flies", "a small drum"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
    >>> vectors_of(encoder, texts).shape
    torch.Size([2, 128])
    """
    check_encodes(encoder)
    texts = _checked(texts)
    if progress is not None:
        checks.switch("progress", progress)
    if type(encoder) is not Encoder or _altered(encoder):
        return torch.as_tensor(encoder.encode(texts)).detach().cpu()
    key = _key(encoder, texts)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key].clone()  # so that what a caller does to it reaches no other caller
    vectors = _kept[key] = _encoded(encoder, texts, len(texts) >= MANY if progress is None else progress)
    while sum(each.nbytes for each in _kept.values()) > KEPT:
        _kept.popitem(last=False)
    return vectors.clone()


def weights_hash(module: nn.Module) -> str:
    """Twelve hexadecimal digits that change with any weight. They show which weights a stage started from."""
    arguments.of_kind("module", module, nn.Module, "a model of torch")
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


def encoder_hash(module: Any) -> str:
    """Twelve digits that change with anything that a vector depends on: weights, shape, pooling, tokenizer, length, and
    the code of a subclass of your own.

    `weights_hash` alone would be the same for new encoders of one seed that differ in heads, positions or tokenizer.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["a red kite"], vocab_size=60)
    >>> one, two = ck.Encoder.tiny(tokenizer), ck.Encoder.tiny(tokenizer, num_attention_heads=4)
    >>> weights_hash(one) == weights_hash(two), encoder_hash(one) == encoder_hash(two)
    (True, False)
    """
    encoder = module.encoder if isinstance(module, Objective) else module
    arguments.of_kind("module", encoder, Encoder, "an Encoder, or an objective around one")
    digest = hashlib.sha256(weights_hash(module).encode())
    parts = (sorted(architecture(encoder.model).items()), encoder.pooling, encoder.projection, encoder.max_length)
    for part in filter(None, (*map(repr, parts), tokenizer_state(encoder.tokenizer), code_digest(type(encoder)))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:12]


def check_encodes(encoder: Any) -> None:
    """Refuse what cannot be asked for vectors; the `encode` of strings, classes and objectives is something else."""
    if isinstance(encoder, str | type | Objective) or not callable(getattr(encoder, "encode", None)):
        raise TypeError(f"encoder is an Encoder, or something else with encode(texts), not {checks.shown(encoder)}.")


def forget() -> None:
    """Drop all kept vectors."""
    _kept.clear()


def _altered(encoder: Encoder) -> bool:
    """Whether this one encoder, or a layer of it, works otherwise than its class says."""
    layers = list(encoder.modules())
    hooked = any(each._forward_hooks or each._forward_pre_hooks or "forward" in vars(each) for each in layers)
    return hooked or any(callable(getattr(Encoder, name, None)) for name in vars(encoder))


def _checked(texts: Any) -> list[Any]:
    texts = arguments.listed("texts", texts, "texts or pairs of texts")
    for at, text in enumerate(texts):
        if not all(isinstance(part, str) for part in parts_of(text)):
            raise TypeError(f"Number {at} of texts is {checks.shown(text)}, no text and no pair of texts.")
    return texts


def _key(encoder: Any, texts: list[Any]) -> str:
    """A digest of what the vectors depend on. `repr` tells a pair from its two texts joined into one."""
    digest, device = hashlib.sha256(), encoder.device
    precision = torch.is_autocast_enabled(device.type) and torch.get_autocast_dtype(device.type)
    for part in (encoder_hash(encoder), encoder.model, device, precision, *texts):  # the model: its layers' classes
        digest.update(repr(part).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


@torch.no_grad()
def _encoded(encoder: Any, texts: list[Any], progress: bool) -> Tensor:
    """Encode in portions of like length, longest first: in the batches that one call of `encode` would make."""
    from tqdm.auto import tqdm

    order = longest_first(texts)
    rows = [encoder.encode([])] if not texts else []  # raises, saying what is wrong with no texts
    with tqdm(total=len(texts), desc="encoding", unit=" texts", disable=not progress) as bar:
        for start in range(0, len(order), PORTION):
            chosen = order[start : start + PORTION]
            rows.append(encoder.encode([texts[i] for i in chosen]).cpu())  # [portion, D]
            bar.update(len(chosen))
    return torch.cat(rows)[torch.tensor(order).argsort()]  # [N, D]
