"""The exercises of notebooks 10, few-shot comparisons, and 10b, thirty draws, and the usual mistakes."""

import numpy as np

from contrast_kit.exercises._frame import table


def _runs(draws, seeds):
    """Scores [draw, seed] that differ more between draws than between the seeds on one."""
    noise = np.random.default_rng(0)
    return (
        0.6
        + 0.05 * noise.standard_normal((draws, 1))
        + 0.01 * noise.standard_normal((draws, seeds))
    )


@table("10.half_width", cases=[(_runs(5, 3),)], further=[(_runs(8, 2),)])
def half_width(runs):
    """Half the 95 % confidence interval of the mean of runs[draw, seed]."""
    from scipy.stats import t

    draws, seeds = runs.shape
    spread = runs.mean(1).std(ddof=1)
    error = spread / draws**0.5
    flat_error = runs.std(ddof=1) / runs.size**0.5
    of_seeds = runs.mean(0).std(ddof=1)

    def quantile(count, q=0.975):
        return t.ppf(q, count - 1)

    right = quantile(draws) * error
    return right, {
        "You count 15 observations, but runs on one draw share their rows: average over seeds first.": [
            quantile(runs.size) * flat_error,
            1.96 * flat_error,
        ],
        "1.96 belongs to very many observations. With five, Student's t is larger: how many degrees of freedom?": 1.96
        * error,
        "With few observations the deviation takes n - 1: std(ddof=1).": right
        * (1 - 1 / draws) ** 0.5,
        "Divide by √5: this is the interval of the *mean*, not of one draw.": quantile(
            draws
        )
        * spread,
        "That is the standard error; the interval is wider, by a quantile of Student's t.": error,
        "5 % outside, on both sides together: that leaves 2.5 % at each end.": quantile(
            draws, 0.95
        )
        * error,
        "The mean of the draws has used up one degree of freedom.": quantile(draws + 1)
        * error,
        "The deviation is that of five means, so its degrees of freedom are those of five.": quantile(
            runs.size
        )
        * error,
        "That is the spread of draws; the mean of five of them is surer, by √5, and t makes it wider again.": spread,
        "That is the whole width; half of it is asked for.": 2 * right,
        "You averaged over draws and kept the seeds: the axes are runs[draw, seed].": [
            quantile(draws) * of_seeds / draws**0.5,
            quantile(seeds) * of_seeds / seeds**0.5,
        ],
    }


LUCK = 0.06 * np.random.default_rng(1).standard_normal(8)
NOISE = 0.01 * np.random.default_rng(2).standard_normal((2, 8))


@table("10.paired", cases=[(0.600 + LUCK + NOISE[0], 0.602 + LUCK + NOISE[1])])
def paired(a, b):
    """The standard error of the mean difference of two methods on the same draws."""
    from scipy.stats import t

    n = len(a)
    differences = b - a
    spread = differences.std(ddof=1)
    right = spread / n**0.5
    return right, {
        "That is for two sets of draws that have nothing in common. These are the same draws: subtract first.": (
            (a.var(ddof=1) + b.var(ddof=1)) / n
        )
        ** 0.5,
        "That is the deviation of one difference; its mean over the draws is surer, by √n.": spread,
        "With few observations the deviation takes n - 1: std(ddof=1).": right
        * (1 - 1 / n) ** 0.5,
        "That is the difference itself; how sure is it?": [
            differences.mean(),
            -differences.mean(),
        ],
        "That is a variance; take its root.": right**2,
        (
            "The differences keep their signs: a method that is ahead on some draws and behind on others is "
            "less sure."
        ): np.abs(differences).std(ddof=1) / n**0.5,
        "Over n draws the deviation of the mean shrinks with √n, not with n.": spread / n,
        "That is half of the 95 % interval; the standard error comes before Student's t.": t.ppf(
            0.975, n - 1
        )
        * right,
    }


def _until(d, holds):
    """How many must go from the end of d before what holds of the rest no longer does."""
    return next(gone for gone in range(len(d)) if not holds(d[: len(d) - gone]))


LEADS = np.array([4.0, 1.0, 9.0, -1.0, 2.5, 7.0, 0.5, 3.0, 2.0, 6.0, -0.5, 1.5])


@table("10b.fragile", cases=[(LEADS,), (LEADS + 1,)])
def fragile(d):
    """How many draws carry a lead: the largest go until the interval no longer lies above zero."""
    from contrast_kit.tasks import interval

    def above(rest):
        return interval(rest)[0] > 0

    right = _until(np.sort(d), above)
    return right, {
        "That is how many are left. How many had to go?": len(d) - right,
        "One more: with these left out the interval still lies above zero.": right - 1,
        "Leave out the *largest* lead first; in their order as drawn it takes others.": _until(
            d, above
        ),
        "You leave out until the *mean* is no longer above zero. Its interval reaches zero earlier.": _until(
            np.sort(d), lambda rest: rest.mean() > 0
        ),
        "That is how many leads are above zero.": (d > 0).sum(),
    }
