"""What changes while training goes on: CAPT's temperature. (The learning rate: `training.settings.learning_rate`.)

A plain function of (step, total): no state, so a resumed run continues exactly. A step is one *optimizer update*, not
one chunk of a batch and not one epoch.
"""


def inverted_triangle(step: float, total: float) -> float:
    """The adaptive temperature of CAPT: high at the start, lowest half-way, high at the end.

    CAPT, eq. 6: τ(t) = |t − T/2| / T + 0.05, with t the `step` and T the `total` number of updates: 0.55 at
    t = 0, 0.05 at t = T/2, 0.55 at t = T. The gradient of the contrast grows like 1/τ, so the updates are
    gentle early (nothing is learnt yet), strongest half-way, and gentle again at the end (no bouncing).

    Returns τ as a float. Use the same τ in both directions of the loss (eq. 2 and 3).
    Raises a ValueError when `step` is outside 0 … `total`.

    >>> from contrast_kit.objectives import schedules
    >>> [round(schedules.inverted_triangle(t, 200), 2) for t in (0, 50, 100, 150, 200)]
    [0.55, 0.3, 0.05, 0.3, 0.55]
    """
    if not 0 <= step <= total or total <= 0:
        raise ValueError(
            f"step counts updates from 0 to total = {total}, which is above 0; it is {step}."
        )
    return abs(step - total / 2) / total + 0.05
