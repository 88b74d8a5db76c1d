"""The exercises of notebooks 10, few-shot comparisons, and 10b, thirty draws, and the usual mistakes."""

from math import comb

import numpy as np

from contrast_kit.exercises._frame import table


def _classes(*counts):
    return np.repeat(np.arange(len(counts)), counts)


@table(
    "10.majority",
    cases=[
        (_classes(8, 3, 7, 2), _classes(3, 9, 6, 2)),
        (_classes(6, 5, 0, 9), _classes(4, 3, 1, 2)),
    ],
)
def majority(train, test):
    """The accuracy on the test labels of always saying the commonest training label."""

    def common(rows):
        return np.bincount(rows).argmax()

    def share(label, rows=test):
        return (rows == label).mean()

    label = common(train)
    right = share(label)
    return right, {
        "You took the commonest label of the *test* rows; nobody may look there.": share(
            common(test)
        ),
        "That is how often the label is right on the training rows. How often is it on the test rows?": share(
            label, train
        ),
        "You counted train and test together; nobody may look at the test rows.": share(
            common(np.append(train, test))
        ),
        "That is the *median* of the class numbers, which have no order. Count them.": share(
            np.median(train)
        ),
        "That is the largest class number. Which label is commonest?": share(train.max()),
        "One over the number of classes is guessing at random; the majority can do better, or worse.": 1
        / len(set(train)),
        "Count, then divide by the number of test rows.": right * len(test),
        "That is the label itself. How often is it right on the test rows?": label,
        "That is how often it is wrong.": 1 - right,
    }


VALIDATION = np.array([0.50, 0.90, 0.80, 0.70, 0.60, 0.40])
TEST = np.array([0.99, 0.70, 0.61, 0.80, 0.98, 0.55])


@table("10.top", cases=[(VALIDATION, TEST, 3), (VALIDATION, TEST, 2)])
def top(validation, test, k):
    """The mean test score of the k runs with the best validation score."""
    order = np.argsort(validation)
    best = test[order[-k:]]
    return best.mean(), {
        "You picked by *test*. A protocol that picks by test scores reports its luck.": np.sort(
            test
        )[-k:].mean(),
        "You picked the worst by validation: argsort sorts upwards.": test[
            order[:k]
        ].mean(),
        "That is the mean of all runs.": test.mean(),
        "Pick by validation, but report the *test* score of those runs.": np.sort(
            validation
        )[-k:].mean(),
        "The first k runs are not the best k.": test[:k].mean(),
        "That is the single best run; the protocol keeps k of them.": test[order[-1]],
        "For k = 2 it gives what k = 3 gives: where does your function use k?": test[
            order[-3:]
        ].mean(),
        "That is the median of the k; return their mean.": np.median(best),
        "That is the sum of the k; return their mean.": best.sum(),
    }


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


def _exactly(k, n, q=0.05):
    return comb(n, k) * q**k * (1 - q) ** (n - k)


def _at_least(k, n, q=0.05):
    return sum(_exactly(i, n, q) for i in range(k, n + 1))


@table("10b.luck", cases=[(2, 20), (1, 20), (4, 60)])
def luck(k, n):
    """The probability that at least k of n independent 95 % intervals exclude zero where there is no difference."""
    right = _at_least(k, n)
    more = _at_least(k + 1, n)
    return right, {
        "That is the probability of *exactly* k. More of them would surprise you, too: add those.": _exactly(
            k, n
        ),
        "That is *more* than k, without k itself. (With scipy: binom.sf(k - 1, n, 0.05).)": more,
        "That is the probability of *fewer* than k: one minus the right answer.": 1
        - right,
        "That is the probability of *at most* k. How probable are k or more?": 1 - more,
        "That is at least *one*, whatever k is. Where does your function use k?": _at_least(
            1, n
        ),
        "That is how many to *expect*. How probable are k of them, or more?": 0.05 * n,
        "That is for k intervals that you named beforehand. Any k of the n will do.": 0.05
        ** k,
        "And the other n − k? Each of them holds zero, with probability 0.95.": comb(n, k)
        * 0.05**k,
        "A 95 % interval *holds* the truth in 95 of 100 cases. It misses it in 5.": _at_least(
            k, n, 0.95
        ),
        "Zero may lie to the left of the interval or to the right: 2.5 % each.": _at_least(
            k, n, 0.025
        ),
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
