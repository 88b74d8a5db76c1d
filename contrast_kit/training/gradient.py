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
from functools import partial

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
    """A chunk of one view on its way through the step. Its `rows` are those of this process's share of the batch."""

    name: str
    view: View
    rows: slice
    seed: int | None = None
    encoded: Encoded | None = None

    def encode(
        self, objective: Objective, autocast: Autocast, graph: bool = True
    ) -> None:
        """Make its vectors and local losses."""
        if self.seed is not None:
            torch.manual_seed(self.seed)
        with torch.set_grad_enabled(graph), autocast():
            self.encoded = objective.encode(self.name, self.view)

    def send_back(
        self, objective: Objective, counts: dict, leaves: dict
    ) -> dict[str, Tensor]:
        """Backward from its local losses, and from the gradient that its vectors got as leaves.

        Returns the summed local losses, detached.
        """
        vectors, sums = self.encoded
        loss = objective.total(
            {name: value / counts[name] for name, value in sums.items()}
        )
        for head, leaf in leaves.items():
            if leaf.grad is not None:
                loss = loss + (vectors[head] * leaf.grad[self.rows]).sum()
        backward(loss)
        self.encoded = None  # free the graph before the next piece
        return {name: value.detach() for name, value in sums.items()}


def gradient(
    objective: Objective,
    batches: list[View],
    generator: torch.Generator | None = None,
    *,
    chunk_size: int | None = None,
    autocast: Autocast = nullcontext,
) -> tuple[dict[str, Tensor], list[tuple[Vectors, ExampleInfo]]]:
    """Add the gradient of the mean loss over `batches`, which are accumulated, to the parameters' `.grad`.

    Local losses are averaged over all their terms, as in one large batch, but each contrast sees its own batch only.
    **Accumulation adds no negatives; `chunk_size` does not lose any.**

    Args:
        objective: what to train.
        batches: dicts of tensors [B, …], on the objective's device; of each a process encodes its own share of rows.
        generator: draws the noise of the views; with several processes, equally seeded on all.
        chunk_size: examples encoded at once, at least 1; None encodes each view whole.
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
    on_gpu = objective.encoder.device.type != "cpu"
    with checks.unchecked(on_gpu):  # it would have to be waited for
        with torch.no_grad(), autocast():  # some views are drawn from a model
            drawn = [draw_views(objective, batch, generator) for batch in batches]
        counts = count_terms(objective, drawn)
        for batch, views in zip(batches, drawn, strict=True):
            size, facts = size_of(batch), objective.facts(batch, views)
            pieces = pieces_of(views, distributed.own(size), chunk_size)
            whole = len(pieces) == len(views)
            waiting = []
            for piece in pieces:  # step 1
                if objective.contrasted(piece.name):
                    piece.encode(objective, autocast, graph=whole)
                    waiting.append(piece)
                else:
                    piece.encode(objective, autocast)
                    add(sums, piece.send_back(objective, counts, {}))
            leaves = as_leaves(waiting)
            vectors: Vectors = {}
            if objective.contrastive:  # step 2
                vectors = each_rows(leaves, partial(distributed.gather, length=size))
                parts = objective.contrast(vectors, facts)
                # Weights of the contrast itself, if it has any, learn on the first process alone.
                only = None if distributed.rank() == 0 else rows_in(leaves)
                backward(objective.total(parts) / len(batches), only)
                for name, part in parts.items():
                    add(contrasts, {name: part.detach() / len(batches)})
            for piece in waiting:  # step 3
                if not whole:
                    piece.encode(objective, autocast)
                add(sums, piece.send_back(objective, counts, leaves.get(piece.name, {})))
            remembered.append((each_rows(vectors, Tensor.detach), facts))
    distributed.sum_gradients(objective.parameters())
    parts = {
        name: distributed.total(value) / counts[name] for name, value in sums.items()
    }
    parts |= contrasts
    with torch.no_grad():  # weights may be learned
        return {"loss": objective.total(parts), **parts}, remembered


def pieces_of(views: dict[str, View], own: slice, chunk_size: int | None) -> list[Piece]:
    """This process's `own` rows of each view, in chunks. Where there are several, each is encoded from a seed."""
    pieces = []
    for name, view in views.items():
        start = 0
        for chunk in cut(rows_of(view, own), chunk_size):
            rows = slice(start, start + size_of(chunk))
            pieces.append(Piece(name, chunk, rows))
            start = rows.stop
    if len(pieces) > len(views):
        for piece in pieces:
            piece.seed = int(torch.randint(2**62, ()))
    return pieces


def as_leaves(pieces: list[Piece]) -> Vectors:
    """The vectors of all pieces as leaves [B, D] of a new graph, by view and head."""
    chunks: dict[str, dict[str, list[Tensor]]] = {}
    for piece in pieces:
        for head, vectors in piece.encoded.vectors.items():
            chunks.setdefault(piece.name, {}).setdefault(head, []).append(
                vectors.detach()
            )
    return each_rows(chunks, lambda rows: torch.cat(rows).requires_grad_())


def each_rows(vectors: Vectors, function: Callable[[Tensor], Tensor]) -> Vectors:
    """The same vectors, by view and head, with a function applied to each [B, D]."""
    return {
        name: {head: function(rows) for head, rows in heads.items()}
        for name, heads in vectors.items()
    }


def rows_in(vectors: Vectors) -> list[Tensor]:
    """The same vectors as a list."""
    return [rows for heads in vectors.values() for rows in heads.values()]


def backward(loss: Tensor | float, only: list[Tensor] | None = None) -> None:
    """Send a loss backward, or to some leaves `only`; unless no part of it is trained, as with diagnostics alone."""
    if isinstance(loss, Tensor) and loss.requires_grad and only != []:
        loss.backward(inputs=only)
