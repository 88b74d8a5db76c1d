"""What changes while training goes on: the temperature `tau` and the learning rate.

Each schedule is a plain function of (step, total): no state, so a resumed run continues exactly.
A step is one *optimizer update*, not one chunk of a batch and not one epoch.
"""

__all__ = ["constant", "inverted_triangle", "linear_warmup_linear_decay"]


def inverted_triangle(step: float, total: float) -> float:
    """The adaptive temperature of CAPT: high at the start, lowest half-way, high at the end.

    CAPT, eq. 6: τ(t) = |t − T/2| / T + 0.05, with t the `step` and T the `total` number of updates: 0.55 at
    t = 0, 0.05 at t = T/2, 0.55 at t = T. The gradient of the contrast grows like 1/τ, so the updates are
    gentle early (nothing is learnt yet), strongest half-way, and gentle again at the end (no bouncing).

    Returns τ as a float. Use the same τ in both directions of the loss (eq. 2 and 3).
    Raises a ValueError when `step` is outside 0 … `total`. For a fixed temperature use `constant`.

    >>> from contrast_kit.objectives import schedules
    >>> [round(schedules.inverted_triangle(t, 200), 2) for t in (0, 50, 100, 150, 200)]
    [0.55, 0.3, 0.05, 0.3, 0.55]
    """
    _check(step, total)
    return abs(step - total / 2) / total + 0.05


def constant(step: float, total: float, value: float = 1.0) -> float:
    """The same `value` at every step, with the signature of the other schedules.

    CAPT figure 3 (left) compares its adaptive temperature with this. Fix the value with
    `functools.partial(constant, value=0.1)` to pass it where a schedule of (step, total) is expected.

    >>> from contrast_kit.objectives import schedules
    >>> schedules.constant(3, 10, value=0.1)
    0.1
    """
    _check(step, total)
    return value


def linear_warmup_linear_decay(step: float, total: float, warmup: float = 0) -> float:
    """The factor on the learning rate: up in a straight line to 1, then down in a straight line to 0.

    The schedule of BERT and RoBERTa, printed by CAPT, and by COCO-LM for fine-tuning. If `warmup` is 0 it starts at 1:

    * step < warmup: step / warmup, so 0 at step 0;
    * step = warmup: 1, the peak;
    * then (total − step) / (total − warmup), so 0 at step = total.

    `step` counts the updates *already made*: update number 1 is taken with step 0. With warm-up that one has
    factor 0, as in transformers' `get_linear_schedule_with_warmup`, which gives the same numbers; the last
    update, at step total − 1, still moves the weights. All three arguments are in updates. Returns a float in [0, 1].
    Raises a ValueError when `step` or `warmup` is outside 0 … `total`.

    >>> from contrast_kit.objectives import schedules
    >>> [schedules.linear_warmup_linear_decay(t, 10, warmup=2) for t in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _check(step, total)
    if not 0 <= warmup <= total:
        raise ValueError(
            f"warmup is a number of updates from 0 to total = {total}, not {warmup}."
        )
    if step < warmup:
        return step / warmup
    if total == warmup:
        return 0.0
    return (total - step) / (total - warmup)


def _check(step: float, total: float) -> None:
    if not 0 <= step <= total or total <= 0:
        raise ValueError(
            f"step counts updates from 0 to total = {total}, which is above 0; it is {step}."
        )
