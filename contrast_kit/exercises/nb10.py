"""The exercises of notebook 10, few-shot comparisons, and the mistakes that are usual there."""

from collections.abc import Callable

import numpy as np

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import equals, first_hint

Runs = np.ndarray


def _t(count: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.975, count - 1))


@exercise("10.majority", right="A classifier that has learnt nothing but which label is common. Beat this first.")
def majority(answer: Callable[[Runs, Runs], float]) -> str | None:
    """The accuracy on the test labels of always saying the commonest training label."""
    train = np.array([1] * 9 + [0] * 5 + [2] * 6)
    test = np.array([0] * 6 + [1] * 3 + [2] * 1)
    said = answer(train, test)
    if equals(said, 0.6):
        return "You took the commonest label of the *test* rows; nobody may look there."
    if equals(said, 0.45):
        return "That is how often the label is right on the training rows. How often is it on the test rows?"
    if equals(said, 1 / 3):
        return "One over the number of classes is guessing at random; the majority can do better, or worse."
    if equals(said, 3):
        return "Count, then divide by the number of test rows."
    return None if equals(said, 0.3) else "Which label is commonest in train? What share of test has it?"


@exercise(
    "10.top",
    right="Picked by validation, reported on test: honest about each run, and still not about the method.",
)
def top(answer: Callable[[Runs, Runs, int], float]) -> str | None:
    """The mean test score of the k runs with the best validation score."""
    validation = np.array([0.50, 0.90, 0.80, 0.70, 0.60, 0.40])
    test = np.array([0.99, 0.70, 0.61, 0.80, 0.98, 0.55])
    k = 3
    said = answer(validation, test, k)
    mistakes = [
        (
            np.sort(test)[-k:].mean(),
            "You picked by *test*. A protocol that picks by test scores reports its luck.",
        ),
        (
            test[np.argsort(validation)[:k]].mean(),
            "You picked the worst by validation: argsort goes upwards.",
        ),
        (test.mean(), "That is the mean of all runs."),
        (np.sort(validation)[-k:].mean(), "Pick by validation, but report the *test* score of those runs."),
        (test[:k].mean(), "The first k runs are not the best k."),
        (test[validation.argmax()], "That is the single best run; the protocol keeps k of them."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    right = test[np.argsort(validation)[-k:]].mean()
    return None if equals(said, right) else "Sort the runs by validation, keep k, average their test scores."


@exercise("10.half_width", right="Five draws are five observations, however many seeds each was run with.")
def half_width(answer: Callable[[Runs], float]) -> str | None:
    """Half the 95 % confidence interval of the mean of runs[draw, seed]."""
    draws, seeds = 5, 3
    noise = np.random.default_rng(0)
    runs = 0.6 + 0.05 * noise.standard_normal((draws, 1)) + 0.01 * noise.standard_normal((draws, seeds))
    means, flat = runs.mean(1), runs.ravel()
    said = answer(runs)
    spread = means.std(ddof=1)
    mistakes = [
        (
            _t(flat.size) * flat.std(ddof=1) / flat.size**0.5,
            "You count 15 observations, but runs on one draw share their rows: average over seeds first.",
        ),
        (
            1.96 * flat.std(ddof=1) / flat.size**0.5,
            "You count 15 observations, but runs on one draw share their rows: average over seeds first.",
        ),
        (
            1.96 * spread / draws**0.5,
            "1.96 belongs to very many observations. With five, Student's t says 2.78: scipy.stats.t.ppf(0.975, 4).",
        ),
        (
            _t(draws) * means.std() / draws**0.5,
            "With few observations the deviation takes n - 1: std(ddof=1).",
        ),
        (_t(draws) * spread, "Divide by √5: this is the interval of the *mean*, not of one draw."),
        (spread / draws**0.5, "That is the standard error; the interval is wider by Student's t, 2.78 here."),
        (
            spread,
            "That is the spread of draws; the mean of five of them is surer, by √5, and t makes it wider again.",
        ),
        (2 * _t(draws) * spread / draws**0.5, "That is the whole width; half of it is asked for."),
        (
            _t(draws) * runs.mean(0).std(ddof=1) / draws**0.5,
            "You averaged over draws and kept the seeds: the axes are runs[draw, seed].",
        ),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    right = _t(draws) * spread / draws**0.5
    return (
        None
        if equals(said, right)
        else "Means of draws [5]; their deviation over √5; times t with 4 degrees of freedom."
    )


@exercise("10.paired", right="Both methods had the same luck with the draw, and subtracting takes it out.")
def paired(answer: Callable[[Runs, Runs], float]) -> str | None:
    """The standard error of the mean difference of two methods on the same draws."""
    noise = np.random.default_rng(1)
    luck = 0.06 * noise.standard_normal(8)
    a = 0.60 + luck + 0.01 * noise.standard_normal(8)
    b = 0.62 + luck + 0.01 * noise.standard_normal(8)
    said = answer(a, b)
    count = len(a)
    mistakes = [
        (
            ((a.var(ddof=1) + b.var(ddof=1)) / count) ** 0.5,
            "That is for two sets of draws that have nothing in common. These are the same draws: subtract first.",
        ),
        (
            (b - a).std(ddof=1),
            "That is the deviation of one difference; its mean over the draws is surer, by √n.",
        ),
        ((b - a).std() / count**0.5, "With few observations the deviation takes n - 1: std(ddof=1)."),
        ((b - a).mean(), "That is the difference itself; how sure is it?"),
        ((b - a).var(ddof=1) / count, "That is a variance; take its root."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    right = (b - a).std(ddof=1) / count**0.5
    return None if equals(said, right) else "Differences draw by draw, their deviation, over √n."
