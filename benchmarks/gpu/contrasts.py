"""G3, G4, G5 and G7: the pieces that are not a model."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import _peers
import torch
from setting import Setting
from torch import Tensor
from torch.nn import functional as F

from contrast_kit import fast, losses, masking
from contrast_kit.fast import sum_over_words

TF32 = "ours, products in TF32"
"""Measured behind torch's own switch."""


def vocabulary(setting: Setting) -> None:
    """G3: masked-LM loss over all words, forward and backward: in blocks, whole, and by the peers' chunks."""
    tokens, words = setting.of(131_072, 16_384, 64), setting.of(32_768, 32_768, 100)
    width = setting.of(768, 768, 16)
    kind = torch.bfloat16 if setting.device.type == "cuda" else torch.float32
    states = torch.randn(tokens, width, device=setting.device, dtype=kind).requires_grad_()
    weight = (0.02 * torch.randn(words, width, device=setting.device, dtype=kind)).requires_grad_()
    labels = torch.randint(words, (tokens,), device=setting.device)
    forms = {
        "ours, in blocks": lambda: sum_over_words(lambda log_q: -log_q, states, weight, None, labels)[0],
        "torch, linear_cross_entropy": lambda: _peers.linear_words(states, weight, labels),
        "liger-kernel, fused linear": lambda: _peers.liger_words(states, weight, labels),
        "full log-softmax": lambda: F.cross_entropy(states @ weight.T, labels, reduction="sum"),
    }
    flop = 6 * tokens * words * width
    for name, form in forms.items():
        with losses.unchecked():
            _contender(setting, name, form, (states, weight), flop)


def large(setting: Setting) -> None:
    """G4: NT-Xent at N = 65,536 and width 768."""
    n, width = setting.of(65_536, 16_384, 64), setting.of(768, 768, 16)
    a, b = (torch.randn(n // 2, width, device=setting.device).requires_grad_() for _ in range(2))
    partners = torch.arange(n // 2, device=setting.device).repeat(2)
    theirs = _peers.metric_learning("SupConLoss")
    forms: dict[str, Callable] = _ours(a, b) | {
        "plain": lambda: _within(fast.plain(), a, b),
        "mask and cross_entropy": lambda: _peers.masked_cross_entropy(a, b),
        "lightly's algorithm": lambda: _peers.lightly_nt_xent(a, b),
        "torch, linear_cross_entropy, one direction": lambda: _peers.linear_cross_entropy(a, b),
        "sentence-transformers Cached(1024), one direction": lambda: _cached(a, b),
        "pytorch-metric-learning SupConLoss": lambda: theirs(torch.cat([a, b]), partners),
    }
    for name, form in forms.items():
        _contender(setting, name, form, (a, b), 4 * n**2 * width, rounds=3)


def million(setting: Setting) -> None:
    """G5: NT-Xent at N = 1,048,576 and width 256: no N x N matrix exists on any device."""
    n, width = setting.of(2**20, 2**17, 256), setting.of(256, 256, 16)
    a, b = (torch.randn(n // 2, width, device=setting.device).requires_grad_() for _ in range(2))
    for name, form in _ours(a, b).items():
        warm = setting.of(0, 1, 1)  # 20 seconds each; compiled at the compact size
        _contender(setting, name, form, (a, b), 4 * n**2 * width, rounds=1, warm=warm)


def _ours(a: Tensor, b: Tensor) -> dict[str, Callable]:
    return {
        "ours, products in bfloat16": lambda: _within(fast.tiled(half=True), a, b),
        TF32: lambda: _within(fast.tiled(), a, b),
        "ours, products in float32": lambda: _within(fast.tiled(), a, b),
    }


def _within(form: AbstractContextManager, a: Tensor, b: Tensor) -> Tensor:
    with form:
        return losses.nt_xent(a, b, 0.1)


def _cached(a: Tensor, b: Tensor) -> Tensor:
    return _peers.sentence_transformers(cached=1024)(a, b)


def masking_rate(setting: Setting) -> None:
    """G7: dynamic masking of tokens that are on the device already."""
    ids = torch.randint(5, 30_000, (setting.of(4096, 4096, 4), 512), device=setting.device)
    maskable = torch.ones_like(ids, dtype=torch.bool)
    generator = torch.Generator(setting.device).manual_seed(0)
    options = dict(mask_id=4, vocab_size=30_000, generator=generator)
    seconds, mib = setting.time(lambda: masking.dynamic_random_mask(ids, maskable, 0.15, **options))
    setting.keep("dynamic_random_mask", millions_a_second=ids.numel() / seconds / 1e6, mib=mib)


def _contender(
    setting: Setting, name: str, form: Callable, inputs: tuple, flop: float, rounds: int = 5, warm: int = 2
) -> None:
    def run() -> None:
        seconds, mib = setting.time(lambda: torch.autograd.grad(form(), inputs), rounds, warm)
        setting.keep(name, ms=1e3 * seconds, limit_ms=1e3 * flop / setting.rate, mib=mib)

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == TF32 else before)
    setting.attempt(name, run)
    torch.set_float32_matmul_precision(before)
