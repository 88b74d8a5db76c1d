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
from torch.autograd import Function

from contrast_kit import fast
from contrast_kit.fast.tiles import first_derivative_only, slices

Terms = Callable[..., Tensor]
"""(log q [R], *rows [R, …]) → terms [R]: a loss at each position, from the log-probability of its word."""

WORDS_AT_ONCE = 2**12
"""In half precision, words whose gradient is made at once: so many are added while they are in the cache."""


class Guesses(NamedTuple):
    """What the softmax over the vocabulary says at M positions, without gradient; each [M]."""

    log_q: Tensor
    """Log-probability of the label."""
    best: Tensor
    """The most probable word."""
    log_best: Tensor
    """Its log-probability."""
    log_other: Tensor
    """That of a second word that was asked for, such as the one that was read; of the label if none was."""


class WordScores:
    """The scores of all V words at M positions, s = h · w + b, [M, V], of which only a block stands in memory.

    `losses.mlm`, `losses.corrective_lm`, `losses.all_token_lm` and `losses.guesses` take it in place of logits;
    `Encoder.word_scores` makes it.

    Args:
        states: h, [M, D], what the last linear layer of the vocabulary head reads.
        weight: the word vectors w, [V, D]. bias: b, [V], or None.

    Example:
        >>> import torch
        >>> from contrast_kit import losses
        >>> scores = WordScores(torch.zeros(2, 4), torch.zeros(1000, 4))
        >>> losses.mlm(scores, torch.tensor([7, 42]))  # knows nothing: log V
        tensor(6.9078)
    """

    def __init__(self, states: Tensor, weight: Tensor, bias: Tensor | None = None):
        self.states, self.weight, self.bias = states, weight, bias
        self._asked: tuple[Any, Any] = (None, None)
        self._guesses: Guesses | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(M, V)."""
        return len(self.states), len(self.weight)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.states.device

    @property
    def dtype(self) -> torch.dtype:
        """That of the states."""
        return self.states.dtype

    def full(self) -> Tensor:
        """All of them at once, [M, V]."""
        return torch.nn.functional.linear(self.states, self.weight, self.bias)

    def total(
        self,
        terms: Terms,
        labels: Tensor,
        *rows: Tensor,
        others: Tensor | None = None,
    ) -> Tensor:
        """The sum of a token loss over the positions: `sum_over_words`. `guesses` then has what it met on the way."""
        total, self._guesses = sum_over_words(
            terms, self.states, self.weight, self.bias, labels, *rows, others=others
        )
        self._asked = labels, others
        return total

    @torch.no_grad()
    def guesses(self, labels: Tensor, others: Tensor | None = None) -> Guesses:
        """What the softmax says of these words: from the pass of the last loss, if it met them, or from a new one."""
        if self._asked[0] is not labels or self._asked[1] is not others:
            self.total(torch.zeros_like, labels, others=others)
        return self._guesses


def sum_over_words(
    terms: Terms,
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    *rows: Tensor,
    others: Tensor | None = None,
) -> tuple[Tensor, Guesses]:
    """Sum a token loss over positions, block after block, with the value and the gradient of the plain form.

        Σ_i terms( log q_i, rows_i )      q_i = exp(w_{y_i} · h_i + b_{y_i}) / Σ_{v in V} exp(w_v · h_i + b_v)

    In the denominator: all V words. `terms` is called on each block with gradients on, so any formula will do whose
    term i depends on row i alone: -log q for `mlm`, the mixture of `corrective_lm`.

    Args:
        terms: gives [R] from log q [R] and the same rows of `rows`.
        states, weight, bias: as of `WordScores`.
        labels: y, ids [M]; -100 where a position is to be skipped, and then its term must be 0.
        rows: further inputs of `terms`, positions first; those that need a gradient get one.
        others: ids [M]; also find their log-probabilities, without gradient.

    Returns:
        The sum, whose gradient can be taken once, and `Guesses`. Under autocast the products are taken in its dtype,
        all else in float32 or better.

    Example:
        >>> import torch
        >>> states, weight = torch.zeros(3, 4), torch.zeros(1000, 4)          # knows nothing: log V at each
        >>> sum_over_words(lambda log_q: -log_q, states, weight, None, torch.tensor([1, 2, 3]))[0]
        tensor(20.7233)
    """
    most = max(1, fast.scores_at_once(states.device) // len(weight))
    blocks = max(1, math.ceil(len(labels) / most))  # the fewest, of like size
    size = max(1, math.ceil(len(labels) / blocks))
    others = labels if others is None else others
    words = [ids.masked_fill(ids == -100, 0) for ids in (labels, others)]
    log_q, log_best, log_other = states.new_empty(
        3, len(labels), dtype=torch.promote_types(states.dtype, torch.float32)
    )
    guesses = Guesses(log_q, torch.empty_like(words[0]), log_best, log_other)
    grad = torch.is_grad_enabled()
    fused = fast.fuses(states.device, len(labels) * len(weight))
    how = size, grad, fused
    total = _Blocks.apply(terms, how, words, guesses, states, weight, bias, *rows)
    return total, guesses


class _Blocks(Function):
    """The gradient is ready when the sum is: a block's scores are used for both while they are there."""

    @staticmethod
    def forward(ctx, terms, how, words, guesses, states, weight, bias, *rows):
        size, grad, fused = how
        kind, product = states.device.type, states.dtype
        if torch.is_autocast_enabled(kind):
            product = torch.get_autocast_dtype(kind)
        exact = torch.promote_types(product, torch.float32)
        inputs = (states, weight, bias, *rows)
        gradients = [None] * len(inputs)
        for i, needed in enumerate(ctx.needs_input_grad[4:]):
            if grad and needed:
                # Rows of states are written once, and need no digits to add in.
                dtype = exact if i else states.dtype
                gradients[i] = torch.zeros_like(inputs[i], dtype=dtype)
        total = states.new_zeros((), dtype=exact)
        with torch.autocast(kind, enabled=False):
            table = weight.to(product)  # [V, D], once and not for each block
            # scores of every block
            home, room = fast.vocabulary, None
            if fused:
                home = fast.fused
            else:
                room = states.new_empty(min(size, len(states)) * len(weight), dtype=exact)
            for block in slices(0, len(states), size):
                h = states[block].to(product)  # [R, D]
                scores = _scores(h, table, bias, room)  # [R, V]
                label, other = (ids[block].unsqueeze(1) for ids in words)  # [R, 1] each
                top, mass, *found = home.read_words(scores, label, other)
                for kept, some in zip(guesses, found, strict=True):
                    kept[block] = some
                leaves = [
                    guesses.log_q[block].clone(),
                    *(row[block].detach() for row in rows),
                ]
                if not any(g is not None for g in gradients):
                    total += terms(*leaves).sum()
                    continue
                with torch.enable_grad():
                    leaves = [x.requires_grad_(x.is_floating_point()) for x in leaves]
                    subtotal = terms(*leaves).sum()
                    subtotal.backward()
                total += subtotal.detach()
                for gradient, leaf in zip(gradients[3:], leaves[1:], strict=True):
                    if gradient is not None:
                        gradient[block] = leaf.grad
                slope = leaves[0].grad.unsqueeze(1)  # [R, 1]
                scores = home.word_slopes(scores, top, mass, label, slope)
                _add_products(scores, h, table, gradients, block)
        ctx.gradients = [
            g if g is None else g.to(x.dtype)
            for g, x in zip(gradients, inputs, strict=True)
        ]
        return total

    @staticmethod
    def backward(ctx, scale):
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError(
                "sum_over_words keeps its gradient for one backward pass; compute the sum again."
            )
        # so that a gradient of the gradient is not silently 0
        derived = torch.empty(0, requires_grad=True)
        with torch.no_grad():
            for gradient in gradients:
                if gradient is not None:
                    gradient.mul_(scale.to(gradient.dtype))
        return *[None] * 4, *(
            first_derivative_only(gradient, derived) for gradient in gradients
        )


def _scores(states, weight, bias, room):
    """Word scores [R, V] in `room`: fresh memory for each block would not always be given back in time."""
    if bias is None:
        bias = states.new_zeros(1)
    if room is None:
        return torch.addmm(bias.to(states.dtype), states, weight.T)
    scores = room[: len(states) * len(weight)].view(len(states), len(weight))
    if states.dtype == room.dtype:
        return torch.addmm(bias, states, weight.T, out=scores)
    # A product in lower precision.
    return scores.copy_(torch.addmm(bias.to(states.dtype), states, weight.T))


def read_words(scores: Tensor, label: Tensor, other: Tensor) -> tuple[Tensor, ...]:
    """The largest score [R], Σ e^(score - it), and the fields of `Guesses`; scores [R, V] become e^(score - it)."""
    top, best = scores.max(1)  # [R] each
    # [R] each
    of_label, of_other = (scores.gather(1, word).squeeze(1) for word in (label, other))
    # [R, V] → [R]: the denominator, times exp(-top)
    mass = scores.sub_(top.unsqueeze(1)).exp_().sum(1)
    log_best = -mass.log()
    return top, mass, of_label - top + log_best, best, log_best, of_other - top + log_best


def word_slopes(
    terms: Tensor, top: Tensor, mass: Tensor, label: Tensor, slope: Tensor
) -> Tensor:
    """In place of e^(score - top) [R, V]: d log q / d scores = onehot(label) − softmax, times each position's slope."""
    return terms.mul_(-slope / mass.unsqueeze(1)).scatter_add_(1, label, slope)


def _add_products(scores, states, weight, gradients, block):
    """From the gradient on a block's scores [R, V] to those on its states [R, D], the words [V, D] and the bias [V]."""
    of_states, of_weight, of_bias, *_ = gradients
    if of_bias is not None:
        of_bias += scores.sum(0, dtype=of_bias.dtype)
    scores = scores.to(states.dtype)
    if of_states is not None:
        of_states[block] = scores @ weight
    if of_weight is None:
        return
    if states.dtype == of_weight.dtype:
        # in place: a second [V, D] would be the largest tensor here
        of_weight.addmm_(scores.T, states)
        return
    if scores.is_cuda:
        of_weight += torch.mm(scores.T, states, out_dtype=of_weight.dtype)
        return
    parts = of_weight.split(WORDS_AT_ONCE), scores.split(WORDS_AT_ONCE, 1)
    for some, of_them in zip(*parts, strict=True):
        some += of_them.T @ states  # in lower precision it cannot be in place
