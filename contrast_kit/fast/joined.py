"""All views of a batch through the encoder at once: one pass over 2B texts instead of two over B.

The states are the same; fewer and larger products make them, which pays where a batch alone is too small to keep the
machine busy. The graph of the common pass is gone through once backwards too: each view is given its states as leaves
of its own, and what the losses leave there is sent back together.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from contrast_kit.encoder.encoder import Encoder

View = dict[str, Tensor]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class JoinedPass:
    """The states of several views from one pass per length T; a view alone in its length is left for later.

    Args:
        encoder: of all views.
        views: dicts with `input_ids` [B, T]; those of one T are joined.

    Example:
        >>> import torch
        >>> import contrast_kit as ck
        >>> from contrast_kit.fast.joined import JoinedPass
        >>> texts = ["the red kite flies", "a small drum"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), dropout=0.0)
        >>> views = [ck.data.Texts(texts, encoder.tokenizer).batch([i]) for i in (0, 0)]
        >>> both = JoinedPass(encoder, views)
        >>> with both.ready():
        ...     states = [encoder(view) for view in views]  # given, not computed
        >>> torch.allclose(states[1], encoder(views[1]), atol=1e-6)
        True
        >>> sum(one.sum() for one in states).backward()
        >>> both.send_back()
        >>> encoder.model.get_input_embeddings().weight.grad is not None
        True
    """

    def __init__(self, encoder: Encoder, views: list[View]) -> None:
        self.encoder = encoder
        self.passes: list[tuple[Tensor, list[Tensor]]] = []
        self.states: dict[int, Tensor] = {}
        groups: dict[tuple, list[View]] = {}
        for view in views:
            keys = tuple(key for key in INPUTS if key in view)
            groups.setdefault((keys, view["input_ids"].shape[1]), []).append(view)
        for (keys, _), group in groups.items():
            if len(group) > 1:
                self._run(keys, group)

    def _run(self, keys: tuple[str, ...], group: list[View]) -> None:
        hidden = self.encoder({key: torch.cat([view[key] for view in group]) for key in keys})  # [ΣB, T, D]
        parts = hidden.split([len(view["input_ids"]) for view in group])  # [B, T, D] each
        leaves = [part.detach().requires_grad_(hidden.requires_grad) for part in parts]
        self.passes.append((hidden, leaves))
        self.states |= {id(view["input_ids"]): leaf for view, leaf in zip(group, leaves, strict=True)}

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Inside, `encoder(view)` gives the states that were made for just this view."""
        self.encoder.ahead = self.states
        try:
            yield
        finally:
            self.encoder.ahead = {}

    def send_back(self) -> None:
        """Backward through each common pass, with what has come to the leaves of its views."""
        for hidden, leaves in self.passes:
            if hidden.requires_grad:
                grads = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
                hidden.backward(torch.cat(grads))  # [ΣB, T, D]
        self.passes = []
