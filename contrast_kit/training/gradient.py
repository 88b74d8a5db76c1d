"""One gradient over a whole contrastive batch, however small the pieces in which it is encoded.

A contrast needs every sequence vector of the batch at once, so a batch that does not fit cannot simply be cut: in eight
batches of 32 an anchor has 31 negatives, not 255. Cached gradients cut it all the same. As the loss L depends on
the encoder's parameters θ only through the vectors v_i and through local sums,

    dL/dθ = Σ_i (dL/dv_i) · (dv_i/dθ) + local terms,

1. encode all chunks for their vectors alone, without graphs, each from a random seed of its own (to repeat dropout);
2. compute the contrast on the vectors as leaves; its backward gives dL/dv_i, the cached gradient, [B, D] numbers;
3. encode each chunk again, now with a graph, and send its rows of dL/dv_i, and its local losses, backward.

The result is exactly the gradient of the whole batch (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size
under Memory Limited Setup"). A batch that fits is the case of one chunk, encoded once.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from contrast_kit import checks, method_checks, trainer_checks
from contrast_kit.encoder.encoder import View
from contrast_kit.method_checks import Named
from contrast_kit.objectives.base import Encoded, ExampleInfo, Objective, Vectors, add, count_terms, cut, rows_of
from contrast_kit.training import distributed

Autocast = Callable[[], AbstractContextManager]


@dataclass
class Piece:
    """A chunk of one view on its way through the step."""

    name: str
    view: View
    seed: int | None = None
    encoded: Encoded | None = None


def gradient(
    objective: Objective,
    batches: list[View],
    generator: torch.Generator | None = None,
    *,
    chunk_size: int | None = None,
    autocast: Autocast = nullcontext,
) -> tuple[dict[str, Tensor], list[tuple[Vectors, ExampleInfo]]]:
    """Add the gradient of the mean loss over `batches` to the parameters' `.grad`.

    Several batches are gradient accumulation: local losses are averaged over all their terms, as in one large batch,
    but each contrast sees its own batch only. **Accumulation adds no negatives; `chunk_size` does not lose any.**

    Args:
        objective: what to train.
        batches: dicts of tensors [B, …], on the objective's device. With several processes each is given the whole
            batch and encodes its own share of the rows.
        generator: draws the noise of the views; with several processes, equally seeded on all.
        chunk_size: examples encoded at once, at least 1 (else a ValueError); None encodes each view whole.
        autocast: makes the context in which views are encoded, for mixed precision.

    Returns:
        each part of the loss and `"loss"`, detached scalars over all batches and processes; and for each batch the
        detached vectors and the facts of all processes, for `Objective.after_step`.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.training.gradient import gradient
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), dropout=0.0)
        >>> objective = ck.objectives.CMLM(encoder, contrast="info_nce")
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch(range(4))
        >>> whole, _ = gradient(objective, [batch], torch.Generator().manual_seed(0))
        >>> pieces, _ = gradient(objective, [batch], torch.Generator().manual_seed(0), chunk_size=1)
        >>> torch.allclose(whole["contrast"], pieces["contrast"], atol=1e-6)  # three negatives, one text at a time
        True
    """
    trainer_checks.step(objective, batches, chunk_size, Objective.total)
    sums: dict[str, Tensor] = {}
    contrasts: dict[str, Tensor] = {}
    remembered = []
    encoding = trainer_checks.by_example(objective, autocast, batches, chunk_size, distributed.count())
    with checks.unchecked(objective.encoder.device.type != "cpu"):  # a GPU would have to be waited for
        with torch.no_grad(), autocast(), distributed.shared_drawing(objective):  # some views are drawn from a model
            drawn = [method_checks.draw_views(objective, batch, generator) for batch in batches]
        counts = count_terms(objective, drawn)
        for batch, views in zip(batches, drawn, strict=True):
            facts, examples = method_checks.facts(objective, batch, views), len(next(iter(batch.values())))
            own = {name: rows_of(view, distributed.own(examples)) for name, view in views.items()}
            pieces = [Piece(name, chunk) for name, view in own.items() for chunk in cut(view, chunk_size)]
            keep_graph = len(pieces) == len(views)
            for piece in pieces if not keep_graph else ():
                piece.seed = int(torch.randint(2**62, ()))  # heads draw in step 3 alone, and nothing twice
            stream = RandomState.now(objective.encoder.device)
            local, pieces = encode_all(objective, pieces, counts, keep_graph, encoding)
            add(sums, local)
            leaves, vectors = as_leaves(objective, pieces), Named()
            if objective.contrastive:
                vectors = each_rows(leaves, lambda rows, n=examples: distributed.gather(rows, n))
                parts = method_checks.by_name(objective, "contrast", objective.contrast(vectors, facts), counts)
                if leaves or not distributed.rank():  # weights of the contrast itself learn on the first process
                    backward(objective.total(parts) / len(batches), leaves if distributed.rank() else None)
                add(contrasts, {name: part.detach() / len(batches) for name, part in parts.items()})
            remembered.append((each_rows(vectors, torch.Tensor.detach), facts))
            add(sums, send_back(objective, pieces, leaves, counts, keep_graph, encoding))
            if not keep_graph:
                stream.restore()
    distributed.sum_gradients(objective.parameters())
    parts = {name: distributed.total(value) / counts[name] for name, value in sums.items()} | contrasts
    with torch.no_grad():  # learned weights
        return {"loss": objective.total(parts), **parts}, remembered


def each_rows(vectors: Vectors, function: Callable[[Tensor], Tensor]) -> Vectors:
    """The same vectors, by view and head, with a function applied to each [B, D]."""
    return Named({name: Named({head: function(x) for head, x in of.items()}) for name, of in vectors.items()})


def encode_all(
    objective: Objective, pieces: list[Piece], counts: dict[str, Tensor], keep_graph: bool, autocast: Autocast
) -> tuple[dict[str, Tensor], list[Piece]]:
    """Step 1: the vectors of every piece, with their graph if it is kept, else from its seed, to repeat them.

    A piece that takes no part in the contrast waits for nothing: it is encoded and sent back at once. Returns the
    summed local losses of those that are done, and the pieces that wait for the contrast.
    """
    sums: dict[str, Tensor] = {}
    waiting = []
    for piece in pieces:
        if not objective.contrasted(piece.name):
            add(sums, send_back(objective, [piece], {}, counts, False, autocast))
            continue
        waiting.append(piece)
        if keep_graph:
            with autocast():
                piece.encoded = objective.encode(piece.name, piece.view)
        else:
            torch.manual_seed(piece.seed)
            with torch.no_grad(), autocast():
                piece.encoded = Encoded(objective.encode_for_contrast(piece.name, piece.view), {})
    return sums, waiting


def as_leaves(objective: Objective, pieces: list[Piece]) -> Vectors:
    """The vectors of all pieces as leaves [B, D] of a new graph, by view and head."""
    rows: dict[str, dict[str, list[Tensor]]] = {}
    for piece in pieces:
        of_piece = method_checks.rows(objective, piece.name, piece.encoded.vectors, piece.view)
        for head, vectors in of_piece.items():
            rows.setdefault(piece.name, {}).setdefault(head, []).append(vectors.detach())
    return each_rows(rows, lambda chunks: torch.cat(chunks).requires_grad_())


def send_back(
    objective: Objective,
    pieces: list[Piece],
    leaves: Vectors,
    counts: dict[str, Tensor],
    keep_graph: bool,
    autocast: Autocast,
) -> dict[str, Tensor]:
    """Step 3: backward through every piece; returns the summed local losses, detached."""
    sums: dict[str, Tensor] = {}
    position: dict[str, int] = {}
    for piece in pieces:
        if not keep_graph:
            if piece.seed is not None:
                torch.manual_seed(piece.seed)
            with autocast():
                piece.encoded = objective.encode(piece.name, piece.view)
        start = position.get(piece.name, 0)
        stop = position[piece.name] = start + len(next(iter(piece.view.values())))
        losses = {name: value / counts[name] for name, value in piece.encoded.sums.items()}
        loss = objective.total(losses)
        for head, leaf in leaves.get(piece.name, {}).items():
            if leaf.grad is not None:
                loss = loss + (piece.encoded.vectors[head] * leaf.grad[start:stop]).sum()
        backward(loss)
        add(sums, {name: value.detach() for name, value in piece.encoded.sums.items()})
        piece.encoded = None  # free the graph before the next piece
    return sums


def backward(loss: Tensor | float, only: Vectors | None = None) -> None:
    """Send a loss backward, or to some vectors `only`; unless no part of it is trained, as with diagnostics alone."""
    if isinstance(loss, Tensor) and loss.requires_grad:
        loss.backward(inputs=[rows for of in only.values() for rows in of.values()] if only else None)


@dataclass
class RandomState:
    """Where torch's random streams stand on the CPU and on one device, to repeat dropout exactly."""

    cpu: Tensor
    device: torch.device
    own: Tensor | None  # the device's own stream, where it is not the CPU

    @classmethod
    def now(cls, device: torch.device) -> "RandomState":
        """The present state."""
        streams, which = _streams(device)
        return cls(torch.get_rng_state(), device, streams.get_rng_state(*which) if streams else None)

    def restore(self) -> None:
        """Go back to it."""
        torch.set_rng_state(self.cpu)
        if self.own is not None:
            streams, which = _streams(self.device)
            streams.set_rng_state(self.own, *which)


def _streams(device: torch.device) -> tuple[Any, tuple]:
    """The module of torch that keeps a device's random stream, and its arguments for the device; None for the CPU."""
    if device.type == "cpu":
        return None, ()
    return torch.get_device_module(device), () if device.type == "mps" else (device,)  # a Mac has one GPU
