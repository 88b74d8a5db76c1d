"""The contrast in tiles: log Σ exp of all cosines, value and gradient, without ever holding the N × N matrix.

Every contrast with negatives, and the uniformity of a space, is one sum: for vectors z on the unit sphere

    lse_i = log Σ_j exp(z_i·z_j / τ)        over the candidates j of anchor i

plus terms that are linear in N (the positives). Here that sum is made tile by tile with its own gradient:

* Each tile of cosines is used and thrown away, and made again in the backward pass: memory is O(N·D), not O(N²).
* Among themselves, cosines are symmetric: only the tiles on and above the diagonal are visited, and each serves its
  rows and its columns. Forward and backward take 4N²D operations; plain autograd takes 6N²D.
* The gradient needs no second pass either: with weights w_i = g_i / Σ_j exp(…), it is Σ_j (w_i + w_j) e_ij z_j.
* Cosines lie in [-1, 1], so exp(cos / τ) lies in [e^(-1/τ), e^(1/τ)]. Float32 holds that for τ ≥ 1/70 and needs no
  running maximum; below, each tile is reduced around its own maximum, some 1.2 times as slow (`needs_maximum`).

The losses (`contrast_kit.losses`) and `geometry.uniformity` are the readable definitions; they come here for
large N. Letters: N anchors, M candidates, D width, R and C rows and columns of a tile.
"""

import math

import torch
from torch import Tensor
from torch.autograd import Function

from contrast_kit import fast
from contrast_kit.fast import kernels
from contrast_kit.fast.tiles import Tiles, above


def self_log_sum_exp(
    x: Tensor,
    tau: float | Tensor,
    *,
    left_out: tuple[int, ...] = (),
    groups: Tensor | None = None,
    tile: int | None = None,
    half: bool = False,
) -> Tensor:
    """log Σ_j exp(x_i·x_j / τ) over all other rows j ≠ i: [N, D] → [N].

    Args:
        x: N vectors of length 1 (`losses.normalise`), float32 or float64.
        tau: the temperature, > 0, a number or a tensor (which then gets its gradient too).
        left_out: distances k > 0 such that rows i and i + k do not meet: with (B,), no row of [a; b] meets its
            partner.
        groups: [N] integers; rows of one group do not meet (views of one text, say).
        tile: columns of a tile, which has as many rows, or half as many on a CPU; None: what suits the device.
        half: multiply vectors rounded to bfloat16, and add up in float32. On GPUs several times as fast.

    Returns:
        [N], in x's dtype; -inf for a row that meets no other. Its gradient can be taken once, not twice.

    Example:
        >>> import torch
        >>> self_log_sum_exp(torch.ones(5, 1), tau=1.0)  # four others, at cosine 1: log 4 + 1
        tensor([2.3863, 2.3863, 2.3863, 2.3863, 2.3863])
    """
    z, scale = scaled(x, tau)
    maximum = needs_maximum(tau, _summed_in(x, half), len(x))
    how = Tiles(scale, (0, *left_out), tile_sides(x, tile), half, powers_of_2=not maximum)
    return _SelfSum.apply(z, groups, how, maximum)


def cross_log_sum_exp(
    x: Tensor,
    y: Tensor,
    tau: float | Tensor,
    *,
    left_out: tuple[int, ...] = (),
    groups: tuple[Tensor, Tensor] | None = None,
    tile: int | None = None,
    half: bool = False,
) -> Tensor:
    """log Σ_j exp(x_i·y_j / τ) over the rows j of another set of vectors: [N, D], [M, D] → [N].

    Where y needs no gradient (a queue), the gradient of x is made along with the value, and nothing is visited twice.

    Args:
        x: N vectors of length 1, the anchors.
        y: M vectors of length 1, the candidates.
        tau: the temperature, > 0.
        left_out: distances k such that x_i and y_(i+k) do not meet; (0,) leaves out each row's own partner.
        groups: [N] and [M] integers; two rows with one number do not meet.
        tile, half: as in `self_log_sum_exp`.

    Returns:
        [N], -inf for a row that meets no candidate. Its gradient can be taken once, not twice.

    Example:
        >>> import torch
        >>> cross_log_sum_exp(torch.eye(2), torch.eye(2), tau=1.0)  # log(e + 1)
        tensor([1.3133, 1.3133])
    """
    x, y = of_one_dtype(x, y)
    (z, scale), (c, _) = scaled(x, tau), scaled(y, tau)
    maximum = needs_maximum(tau, _summed_in(x, half), len(y))
    how = Tiles(scale, left_out, tile_sides(x, tile), half, powers_of_2=not maximum)
    at_once = torch.is_grad_enabled() and z.requires_grad and not c.requires_grad and not maximum
    ids = (None, None) if groups is None else groups
    return _CrossSum.apply(z, c, *ids, how, maximum, at_once)


def needs_maximum(tau: float | Tensor, dtype: torch.dtype, n: int) -> bool:
    """Whether n terms up to e^(1/τ), each at least e^(-1/τ), leave the range of a dtype.

    >>> needs_maximum(0.05, torch.float32, 8192), needs_maximum(0.01, torch.float32, 8192)
    (False, True)
    """
    tau = float(tau.detach() if isinstance(tau, Tensor) else tau)
    # Cosines may step over 1 by rounding (in bfloat16 by 1 %); 6 leaves room for what the gradient multiplies by.
    return 1.01 / tau + math.log(max(n, 1)) + 6 > math.log(torch.finfo(dtype).max)


class _SelfSum(Function):
    """Symmetric: upper tiles only."""

    @staticmethod
    def forward(ctx, z, groups, how, maximum):
        total = _start(z, maximum)
        with kernels.tile_products(z):
            for rows, columns, scores in how.upper(z, groups):
                terms = scores if maximum else scores.exp2_()  # [R, C]
                _add_terms(total, rows, terms, 1, maximum)
                _add_terms(total, *above(rows, columns, terms), 0, maximum)
        lse = total if maximum else total.log_()
        # A single tile need not be made again.
        ctx.save_for_backward(z, groups, lse, terms if len(z) <= how.tile[0] and not maximum else None)
        ctx.options = how, maximum
        return lse

    @staticmethod
    def backward(ctx, upstream):
        z, groups, lse, kept = ctx.saved_tensors
        how, maximum = ctx.options
        with torch.no_grad(), kernels.tile_products(z):
            weights, lse = _weights(upstream, lse, maximum)  # [N]
            gradient = torch.zeros_like(z)
            everything = slice(0, len(z))
            for rows, columns, scores in how.upper(z, groups) if kept is None else [(everything, everything, kept)]:
                # What row i pulls on j and what row j pulls on i, in one tile: [R, C]
                spare = how.spare(scores)
                if maximum:
                    torch.sub(scores, lse[rows, None], out=spare).exp_().mul_(weights[rows, None])
                    scores.sub_(lse[None, columns]).exp_().mul_(weights[None, columns]).add_(spare)
                else:
                    terms = scores.exp2_() if kept is None else scores
                    scores = torch.add(weights[rows, None], weights[None, columns], out=spare).mul_(terms)
                how.add_product(gradient[rows], scores, z[columns])
                others, pulls = above(rows, columns, scores)
                how.add_product(gradient[others], pulls.T, z[rows])
        return first_derivative_only(gradient, z), None, None, None


class _CrossSum(Function):
    """Anchors against candidates: every tile, rows only."""

    @staticmethod
    def forward(ctx, z, c, groups, others, how, maximum, at_once):
        total = _start(z, maximum)
        pull = torch.zeros_like(z) if at_once else None  # Σ_j e_ij c_j / τ, [N, D]
        with kernels.tile_products(z):
            for rows, columns, scores in how.all(z, c, groups, others):
                terms = scores if maximum else scores.exp2_()  # [R, C]
                _add_terms(total, rows, terms, 1, maximum)
                if at_once:
                    how.add_product(pull[rows], terms, c[columns])
        lse = total if maximum else total.log_()
        ctx.save_for_backward(z, c, groups, others, lse, pull)
        ctx.options = how, maximum
        return lse

    @staticmethod
    def backward(ctx, upstream):
        z, c, groups, others, lse, pull = ctx.saved_tensors
        how, maximum = ctx.options
        with torch.no_grad(), kernels.tile_products(z):
            weights, lse = _weights(upstream, lse, maximum)  # [N]
            if pull is not None:
                return first_derivative_only(pull * weights[:, None], z, c), *[None] * 6
            of_z = torch.zeros_like(z) if ctx.needs_input_grad[0] else None
            of_c = torch.zeros_like(c) if ctx.needs_input_grad[1] else None
            for rows, columns, scores in how.all(z, c, groups, others):
                p = scores.sub_(lse[rows, None]).exp_() if maximum else scores.exp2_()
                p.mul_(weights[rows, None])
                if of_z is not None:
                    how.add_product(of_z[rows], p, c[columns])
                if of_c is not None:
                    how.add_product(of_c[columns], p.T, z[rows])
        return first_derivative_only(of_z, z, c), first_derivative_only(of_c, z, c), *[None] * 5


class _NoSecond(Function):
    """Passes a gradient on; raises an error with one clear sentence if that gradient is itself differentiated."""

    @staticmethod
    def forward(ctx, gradient, *sources):
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx, *upstream):
        raise NotImplementedError(
            "A loss computed piece by piece has first derivatives only; for a gradient of the gradient take its plain "
            'form (of a contrast: implementation="plain").'
        )


def first_derivative_only(gradient: Tensor | None, *sources: Tensor) -> Tensor | None:
    """A gradient that raises an error if somebody (`create_graph=True`) differentiates it again."""
    if gradient is None or not torch.is_grad_enabled():
        return gradient
    return _NoSecond.apply(gradient, *sources)


def scaled(x: Tensor, tau: float | Tensor) -> tuple[Tensor, float]:
    """Vectors, and what their dot products are multiplied by. A learned τ goes into the vectors."""
    return (x * tau.to(x.dtype) ** -0.5, 1.0) if isinstance(tau, Tensor) else (x, 1 / tau)


def of_one_dtype(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of their dtypes."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    return x.to(dtype), y.to(dtype)


def _summed_in(x: Tensor, half: bool) -> torch.dtype:
    return torch.float32 if half else x.dtype


def tile_sides(z: Tensor, tile: int | None) -> tuple[int, int]:
    """Rows and columns of a tile: `tile`, or what suits the device and the number of vectors."""
    if tile is not None and tile < 1:
        raise ValueError(f"tile is a number of rows and must be at least 1, not {tile}.")
    if z.device.type != "cpu":  # a GPU wants few, large products
        side = tile or math.isqrt(fast.scores_at_once(z.device))
        return side, side
    # 2 MiB stay in a processor's cache, and low strips waste little of themselves below the diagonal; but the faster
    # product keeps code for each shape, so there are only two. What fits one tile is kept for the gradient.
    side = tile or 1024
    return side if len(z) <= side else max(side // 2, 1), side


def _start(z: Tensor, maximum: bool) -> Tensor:
    """Running sums of e^score; with a maximum, their running logarithms: [N]."""
    return z.new_full((len(z),), -torch.inf if maximum else 0.0)


def _add_terms(total: Tensor, rows: slice, terms: Tensor, dim: int, maximum: bool) -> None:
    """Add a tile to the running sums of its rows (dim=1) or columns (dim=0)."""
    if maximum:
        total[rows] = torch.logaddexp(total[rows], terms.logsumexp(dim))
    else:
        total[rows] += terms.sum(dim)


def _weights(upstream: Tensor, lse: Tensor, maximum: bool) -> tuple[Tensor, Tensor]:
    """What multiplies e^score (or, with a maximum, e^(score - lse)) in the gradient; 0 for rows without candidates."""
    alone = lse == -torch.inf  # [N]
    lse = lse.masked_fill(alone, 0.0)
    weights = upstream if maximum else upstream * torch.exp(-lse)
    return weights.masked_fill(alone, 0.0), lse
