"""G3, G4, G5 and G7: the pieces that are not a model."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import _peers
import torch
from setting import Setting
from torch.nn import functional as F

from contrast_kit import fast, losses, masking
from contrast_kit.fast import sum_over_words


def vocabulary(setting: Setting) -> None:
    """G3: masked-LM loss over all words, forward and backward, in blocks and by torch's full log-softmax."""
    tokens, words, width = setting.size(131_072, 64), setting.size(32_768, 100), setting.size(768, 16)
    kind = torch.bfloat16 if setting.device.type == "cuda" else torch.float32
    states = torch.randn(tokens, width, device=setting.device, dtype=kind).requires_grad_()
    weight = (0.02 * torch.randn(words, width, device=setting.device, dtype=kind)).requires_grad_()
    labels = torch.randint(words, (tokens,), device=setting.device)
    forms = {
        "ours, in blocks": lambda: sum_over_words(lambda log_q: -log_q, states, weight, None, labels)[0],
        "full log-softmax": lambda: F.cross_entropy(states @ weight.T, labels, reduction="sum"),
    }
    flop = 6 * tokens * words * width
    for name, form in forms.items():
        with losses.unchecked():
            _contender(setting, name, lambda form=form: torch.autograd.grad(form(), (states, weight)), flop)


def large(setting: Setting) -> None:
    """G4: NT-Xent at N = 65,536 and width 768."""
    n, width = setting.size(65_536, 64), setting.size(768, 16)
    a, b = (torch.randn(n // 2, width, device=setting.device).requires_grad_() for _ in range(2))
    partners = torch.arange(n // 2, device=setting.device).repeat(2)
    theirs = _peers.metric_learning("SupConLoss")
    forms: dict[str, Callable] = {
        "ours, products in bfloat16": lambda: _within(fast.tiled(half=True), a, b),
        "ours, float32": lambda: _within(fast.tiled(), a, b),
        "plain": lambda: _within(fast.plain(), a, b),
        "mask and cross_entropy": lambda: _peers.masked_cross_entropy(a, b),
        "lightly's algorithm": lambda: _peers.lightly_nt_xent(a, b),
        "pytorch-metric-learning SupConLoss": lambda: theirs(torch.cat([a, b]), partners),
        "sentence-transformers Cached(1024), one direction": lambda: _cached(a, b),
    }
    for name, form in forms.items():
        _contender(
            setting, name, lambda form=form: torch.autograd.grad(form(), (a, b)), 4 * n**2 * width, rounds=3
        )


def _within(form: AbstractContextManager, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with form:
        return losses.nt_xent(a, b, 0.1)


def _cached(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _peers.sentence_transformers(cached=1024)(a, b)


def million(setting: Setting) -> None:
    """G5: NT-Xent at N = 1,048,576 and width 256: no N x N matrix exists on any device."""
    n, width = setting.size(2**20, 256), setting.size(256, 16)
    a, b = (torch.randn(n // 2, width, device=setting.device).requires_grad_() for _ in range(2))
    for name, half in (("ours, products in bfloat16", True), ("ours, float32", False)):
        call = lambda half=half: torch.autograd.grad(_within(fast.tiled(half), a, b), (a, b))  # noqa: E731
        _contender(setting, name, call, 4 * n**2 * width, rounds=2, warm=1)


def masking_rate(setting: Setting) -> None:
    """G7: dynamic masking of tokens that are on the device already."""
    rows, length = setting.size(4096, 4), setting.size(512, 16)
    ids = torch.randint(5, 30_000, (rows, length), device=setting.device)
    maskable = torch.ones_like(ids, dtype=torch.bool)
    generator = torch.Generator(setting.device).manual_seed(0)

    def call() -> object:
        return masking.dynamic_random_mask(
            ids, maskable, 0.15, mask_id=4, vocab_size=30_000, generator=generator
        )

    seconds, mib = setting.time(call)
    setting.keep("dynamic_random_mask", millions_a_second=ids.numel() / seconds / 1e6, mib=mib)


def _contender(
    setting: Setting, name: str, call: Callable, flop: float, rounds: int = 5, warm: int = 2
) -> None:
    def run() -> None:
        seconds, mib = setting.time(call, rounds, warm)
        setting.keep(name, ms=1e3 * seconds, limit_ms=1e3 * flop / setting.rate, mib=mib)

    setting.attempt(name, run)
