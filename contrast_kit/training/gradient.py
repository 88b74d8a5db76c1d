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

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import (
    Encoded,
    ExampleInfo,
    Objective,
    Vectors,
    add,
    count_terms,
    cut,
    draw_views,
    rows_of,
    size_of,
)
from contrast_kit.training import distributed

Autocast = Callable[[], AbstractContextManager]


@dataclass
class Piece:
    """A chunk of one view on its way through the step."""

    name: str
    view: View
    seed: int | None = None
    encoded: Encoded | None = None
    again: bool = False  # encoded for its vectors alone, to be encoded again with a graph


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
    sums: dict[str, Tensor] = {}
    contrasts: dict[str, Tensor] = {}
    remembered = []
    with checks.unchecked(
        objective.encoder.device.type != "cpu"
    ):  # a GPU would have to be waited for
        with torch.no_grad(), autocast():  # some views are drawn from a model
            drawn = [draw_views(objective, batch, generator) for batch in batches]
        counts = count_terms(objective, drawn)
        step = _Step(objective, counts, autocast, chunk_size)
        for batch, views in zip(batches, drawn, strict=True):
            facts = objective.facts(batch, views)
            pieces = step.pieces(views, size_of(batch))
            add(sums, step.encode(pieces))
            pieces = [piece for piece in pieces if piece.encoded is not None]  # the others are done
            leaves = as_leaves(pieces)
            vectors: Vectors = {}
            if objective.contrastive:
                length = size_of(batch)
                vectors = each_rows(leaves, lambda rows, n=length: distributed.gather(rows, n))
                parts = objective.contrast(vectors, facts)
                step.send_to_leaves(parts, leaves, len(batches))
                add(contrasts, {name: part.detach() / len(batches) for name, part in parts.items()})
            remembered.append((each_rows(vectors, Tensor.detach), facts))
            add(sums, step.send_back(pieces, leaves))
    distributed.sum_gradients(objective.parameters())
    parts = {
        name: distributed.total(value) / counts[name] for name, value in sums.items()
    } | contrasts
    with torch.no_grad():  # weights may be learned
        return {"loss": objective.total(parts), **parts}, remembered


class _Step:
    """The three parts of the step for one batch: encode, contrast on leaves, send back."""

    def __init__(
        self,
        objective: Objective,
        counts: dict[str, Tensor],
        autocast: Autocast,
        chunk_size: int | None,
    ):
        self.objective, self.counts, self.autocast, self.chunk_size = (
            objective,
            counts,
            autocast,
            chunk_size,
        )
        self.keeps_graph = True

    def pieces(self, views: dict[str, View], examples: int) -> list[Piece]:
        """This process's share of each view, in chunks. Where there are several, each is encoded twice, from a seed."""
        own = {name: rows_of(view, distributed.own(examples)) for name, view in views.items()}
        pieces = [
            Piece(name, chunk) for name, view in own.items() for chunk in cut(view, self.chunk_size)
        ]
        self.keeps_graph = len(pieces) == len(views)
        if not self.keeps_graph:
            for piece in pieces:
                piece.seed = int(torch.randint(2**62, ()))
        return pieces

    def encode(self, pieces: list[Piece]) -> dict[str, Tensor]:
        """Step 1: the vectors of every piece, with their graph if it is kept.

        A piece that takes no part in the contrast waits for nothing: it is encoded and sent back at once. Returns the
        summed local losses of those.
        """
        sums: dict[str, Tensor] = {}
        for piece in pieces:
            if not self.objective.contrasted(piece.name):
                self.encode_whole(piece)
                add(sums, self.send_back([piece], {}))
            elif self.keeps_graph:
                self.encode_whole(piece)
            else:
                with torch.no_grad():
                    self.encode_whole(piece)
                piece.again = True
        return sums

    def encode_whole(self, piece: Piece) -> None:
        """Vectors and local losses of a piece, with their graph."""
        if piece.seed is not None:
            torch.manual_seed(piece.seed)
        with self.autocast():
            piece.encoded = self.objective.encode(piece.name, piece.view)

    def send_to_leaves(self, parts: dict[str, Tensor], leaves: Vectors, batches: int) -> None:
        """Step 2: the backward of the contrast. Its own weights, if it has any, learn on the first process alone."""
        loss = self.objective.total(parts) / batches
        if distributed.rank() == 0:
            backward(loss)
        elif leaves:
            backward(loss, [rows for heads in leaves.values() for rows in heads.values()])

    def send_back(self, pieces: list[Piece], leaves: Vectors) -> dict[str, Tensor]:
        """Step 3: backward through every piece; returns the summed local losses, detached."""
        sums: dict[str, Tensor] = {}
        starts: dict[str, int] = {}
        for piece in pieces:
            if piece.again:
                self.encode_whole(piece)
            start = starts.get(piece.name, 0)
            stop = starts[piece.name] = start + size_of(piece.view)
            losses = {name: value / self.counts[name] for name, value in piece.encoded.sums.items()}
            loss = self.objective.total(losses)
            for head, leaf in leaves.get(piece.name, {}).items():
                if leaf.grad is not None:
                    loss = loss + (piece.encoded.vectors[head] * leaf.grad[start:stop]).sum()
            backward(loss)
            add(sums, {name: value.detach() for name, value in piece.encoded.sums.items()})
            piece.encoded = None  # free the graph before the next piece
        return sums


def each_rows(vectors: Vectors, function: Callable[[Tensor], Tensor]) -> Vectors:
    """The same vectors, by view and head, with a function applied to each [B, D]."""
    return {
        name: {head: function(rows) for head, rows in heads.items()}
        for name, heads in vectors.items()
    }


def as_leaves(pieces: list[Piece]) -> Vectors:
    """The vectors of all pieces as leaves [B, D] of a new graph, by view and head."""
    chunks: dict[str, dict[str, list[Tensor]]] = {}
    for piece in pieces:
        for head, vectors in piece.encoded.vectors.items():
            chunks.setdefault(piece.name, {}).setdefault(head, []).append(vectors.detach())
    return each_rows(chunks, lambda rows: torch.cat(rows).requires_grad_())


def backward(loss: Tensor | float, only: list[Tensor] | None = None) -> None:
    """Send a loss backward, or to some leaves `only`; unless no part of it is trained, as with diagnostics alone."""
    if isinstance(loss, Tensor) and loss.requires_grad:
        loss.backward(inputs=only)


@dataclass
class RandomState:
    """Where torch's random streams stand, on the CPU and on a GPU, to repeat dropout exactly."""

    cpu: Tensor
    gpu: Tensor | None

    @classmethod
    def now(cls, device: torch.device) -> "RandomState":
        """The present state."""
        gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        return cls(torch.get_rng_state(), gpu)

    def restore(self) -> None:
        """Go back to it; a GPU's is that of the present device."""
        torch.set_rng_state(self.cpu)
        if self.gpu is not None:
            torch.cuda.set_rng_state(self.gpu)
