"""Token losses over the vocabulary, summed over positions, without ever holding the scores [M, V].

The scores are the largest tensor of a training step: 300 masked positions and 30,000 words are 34 MiB, and automatic
differentiation keeps them three times. Here a block of positions at a time is scored, its terms and *their gradient*
are taken at once, and the scores are overwritten by the next block. What remains is the gradient on the states [M, D]
and on the word vectors [V, D], which the plain form makes as well.

Letters: M positions, D width, V vocabulary, R positions of one block.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from contrast_kit.checks import finite, in_vocabulary
from contrast_kit.fast import scores_at_once
from contrast_kit.fast.logsumexp import first_derivative_only

Terms = Callable[..., Tensor]
"""(log q [R], *rows [R, …]) → terms [R]: a loss at each position, from the log-probability of its word."""


WORDS_AT_ONCE = 2**12
"""On a CPU in half precision, words whose gradient is made at once: so many are added while they are in the cache."""


class BlockSums(NamedTuple):
    """What was found at M positions; only `total` has a gradient."""

    total: Tensor  # []
    log_q: Tensor  # [M], of the label
    best: Tensor  # [M], the most probable word
    log_best: Tensor  # [M], of that word
    log_other: Tensor  # [M], of `others`; of the labels where none are given


def sum_over_words(
    terms: Terms,
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    *rows: Tensor,
    others: Tensor | None = None,
    numbers_at_once: int | None = None,
) -> BlockSums:
    """Sum a token loss over positions, block after block, with the value and the gradient of the plain form.

        Σ_i terms( log q_i, rows_i )      q_i = exp(w_{y_i} · h_i + b_{y_i}) / Σ_{v in V} exp(w_v · h_i + b_v)

    In the denominator: all V words. `terms` is called on each block with gradients on, so any formula will do whose
    term i depends on row i alone: -log q for `mlm`, the mixture of `corrective_lm`.

    Args:
        terms: gives [R] from log q [R] and the same rows of `rows`.
        states: h, [M, D], what the last linear layer of the vocabulary head reads.
        weight: the word vectors w, [V, D]. bias: [V], or None.
        labels: y, ids [M].
        rows: further inputs of `terms`, positions first; those that need a gradient get one.
        others: ids [M]; also find their log-probabilities, without gradient.
        numbers_at_once: R × V at most, by default `fast.scores_at_once`.

    Returns:
        `BlockSums`. Under autocast the products are taken in its dtype, all else in float32 or better.

    Raises:
        TypeError, ValueError: labels outside the vocabulary; not one term per position.
        NotFiniteError: the states or words give NaN or infinity.

    See also:
        `mlm` and `corrective_lm`, the plain form: [M, V] scores in, a number out.

    Example:
        >>> import torch
        >>> from contrast_kit.fast.blocked_softmax import sum_over_words
        >>> states, weight = torch.zeros(3, 4), torch.zeros(1000, 4)          # knows nothing: log V at each
        >>> sum_over_words(lambda log_q: -log_q, states, weight, None, torch.tensor([1, 2, 3])).total
        tensor(20.7233)
    """
    in_vocabulary(labels, len(weight))
    most = max(1, (numbers_at_once or scores_at_once(states.device)) // len(weight))
    size = math.ceil(len(labels) / max(1, math.ceil(len(labels) / most))) or 1  # the fewest blocks, of like size
    found = BlockSums(*_Blocks.apply(terms, size, torch.is_grad_enabled(), others, labels, states, weight, bias, *rows))
    finite(found.total, "The loss over the vocabulary")
    return found


def word_loss(
    encoder: Any, terms: Terms, states: Tensor, labels: Tensor, *rows: Tensor, others: Tensor | None = None
) -> BlockSums:
    """`Encoder.word_loss` in blocks: the head's last layer is the only one whose result is never held whole."""
    layer = encoder.word_layer(states)
    if layer is None:  # only asked for by fixed shapes
        raise ValueError(
            f"The vocabulary head of {type(encoder.model).__name__} is not known well enough for a fixed capacity: "
            "leave it out."
        )
    states, linear = layer
    return sum_over_words(terms, states, linear.weight, linear.bias, labels, *rows, others=others)


class _Blocks(torch.autograd.Function):
    """The gradient is ready when the sum is: a block's scores are used for both while they are there."""

    @staticmethod
    def forward(
        ctx: Any,
        terms: Terms,
        size: int,
        grad: bool,
        others: Tensor | None,
        labels: Tensor,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        *rows: Tensor,
    ) -> tuple[Tensor, ...]:
        wanted = [grad and needed for needed in ctx.needs_input_grad[5:]]  # states, weight, bias, rows …
        kind = states.device.type
        product = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype
        exact = torch.promote_types(product, torch.float32)
        inputs = (states, weight, bias, *rows)
        new = torch.zeros_like if len(labels) == 0 else torch.empty_like  # the first block fills them
        gradients = [new(x, dtype=exact) if want else None for x, want in zip(inputs, wanted, strict=True)]
        others = labels if others is None else others
        found = [states.new_empty(len(labels), dtype=dtype) for dtype in (exact, torch.long, exact, exact)]
        total = states.new_zeros((), dtype=exact)
        with torch.autocast(kind, enabled=False):
            table = weight.to(product)  # [V, D], once and not for each block
            room = states.new_empty(min(size, len(labels)) * len(weight), dtype=exact)  # scores of every block
            for start in range(0, len(labels), size):
                block = slice(start, start + size)
                total += _one_block(
                    terms,
                    states[block].to(product),
                    table,
                    bias,
                    room,
                    labels[block],
                    others[block],
                    [row[block] for row in rows],
                    [of[block] for of in found],
                    [g if g is None or i in (1, 2) else g[block] for i, g in enumerate(gradients)],
                    first=start == 0,
                )
        ctx.gradients = [g if g is None else g.to(x.dtype) for g, x in zip(gradients, inputs, strict=True)]
        ctx.mark_non_differentiable(*found)
        return total, *found

    @staticmethod
    def backward(ctx: Any, scale: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("sum_over_words keeps its gradient for one backward pass; compute the sum again.")
        with torch.no_grad():
            scaled = [g if g is None else g.mul_(scale.to(g.dtype)) for g in gradients]
        derived = torch.empty(0, requires_grad=True)  # so that a gradient of the gradient is not silently 0
        return None, None, None, None, None, *(first_derivative_only(g, derived) for g in scaled)


def _one_block(
    terms: Terms,
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    room: Tensor,
    labels: Tensor,
    others: Tensor,
    rows: list[Tensor],
    found: list[Tensor],
    gradients: list[Tensor | None],
    first: bool,
) -> Tensor:
    """The summed terms of R positions; fills `found`, fills or adds to `gradients`. One [R, V] buffer throughout."""
    log_q, best, log_best, log_other = found
    scores = _scores(states, weight, bias, room)  # [R, V]
    top, best[:] = scores.max(1)  # [R] each
    at, at_other = (scores.gather(1, ids.unsqueeze(1)).squeeze(1) for ids in (labels, others))  # [R] each
    mass = scores.sub_(top.unsqueeze(1)).exp_().sum(1)  # [R, V] → [R]: the denominator, times exp(-top)
    torch.neg(mass.log(), out=log_best)
    torch.add(at - top, log_best, out=log_q)
    torch.add(at_other - top, log_best, out=log_other)
    for_states, for_weight, for_bias, *for_rows = gradients
    leaves = [log_q.detach().clone().requires_grad_()]
    leaves += [row.detach().requires_grad_(g is not None) for row, g in zip(rows, for_rows, strict=True)]
    with torch.enable_grad():
        each = terms(*leaves)  # [R]
        if each.shape != log_q.shape:
            raise ValueError(f"terms must give one number per position, [{len(log_q)}], not {list(each.shape)}.")
        total = each.sum()
    if all(g is None for g in gradients):
        return total.detach()
    needed = [leaves[0], *(leaf for leaf, g in zip(leaves[1:], for_rows, strict=True) if g is not None)]
    slope, *more = torch.autograd.grad(total, needed, allow_unused=True, materialize_grads=True)
    for kept, g in zip((g for g in for_rows if g is not None), more, strict=True):
        kept.copy_(g)
    # d log q / d scores = onehot(label) − softmax, times each position's slope
    scores.mul_((-slope / mass).unsqueeze(1))
    scores.scatter_add_(1, labels.unsqueeze(1), slope.unsqueeze(1))
    _products(scores, states, weight, for_states, for_weight, for_bias, first)
    return total.detach()


def _scores(states: Tensor, weight: Tensor, bias: Tensor | None, room: Tensor) -> Tensor:
    """Word scores [R, V] in `room`: fresh memory for each block would not always be given back in time."""
    scores = room[: len(states) * len(weight)].view(len(states), len(weight))
    if states.dtype != room.dtype:  # a product in lower precision
        product = states @ weight.T if bias is None else torch.addmm(bias.to(states.dtype), states, weight.T)
        return scores.copy_(product)
    if bias is None:
        return torch.mm(states, weight.T, out=scores)
    return torch.addmm(bias.to(states.dtype), states, weight.T, out=scores)


def _products(
    scores: Tensor,
    states: Tensor,
    weight: Tensor,
    for_states: Tensor | None,
    for_weight: Tensor | None,
    for_bias: Tensor | None,
    first: bool,
) -> None:
    """From the gradient on a block's scores [R, V] to those on its states [R, D], the words [V, D] and the bias [V]."""
    old = 0 if first else 1  # 0: what stands there is not read
    if for_bias is not None:
        torch.add(scores.sum(0), for_bias if old else 0, out=for_bias)
    scores = scores.to(states.dtype)
    if for_states is not None:
        for_states.copy_(scores @ weight)
    if for_weight is not None and states.dtype == for_weight.dtype:
        for_weight.addmm_(scores.T, states, beta=old)  # in place: a second [V, D] would be the largest tensor here
    elif for_weight is not None:  # in lower precision it cannot be in place
        at_once = WORDS_AT_ONCE if scores.device.type == "cpu" else len(for_weight)
        for some, of_them in zip(for_weight.split(at_once), scores.split(at_once, 1), strict=True):
            product = of_them.T @ states
            some.copy_(product) if first else some.add_(product)
