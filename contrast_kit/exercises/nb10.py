"""The exercises of notebook 10, few-shot comparisons, and the usual mistakes."""

from collections.abc import Callable

import numpy as np

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, many, shown

Runs = np.ndarray


def _t(count: int, q: float = 0.975) -> float:
    from scipy.stats import t

    return float(t.ppf(q, count - 1))


@exercise("10.majority", right="A classifier that has learnt nothing but which label is common. Beat this first.")
def majority(answer: Callable[[Runs, Runs], float]) -> str | None:
    """The accuracy on the test labels of always saying the commonest training label."""
    classes = lambda counts: np.repeat(np.arange(len(counts)), counts)  # noqa: E731
    # In neither is the commonest the median; in the first the rows of both together have another commonest.
    tried = Tried(
        answer,
        (classes([8, 3, 7, 2]), classes([3, 9, 6, 2])),
        (classes([6, 5, 0, 9]), classes([4, 3, 1, 2])),
    )
    share = lambda rows, label: (rows == label).mean()  # noqa: E731
    common = lambda rows: np.bincount(rows).argmax()  # noqa: E731
    mistakes = {
        lambda a, b: share(b, common(b)): "You took the commonest label of the *test* rows; nobody may look there.",
        lambda a, b: share(a, common(a)): (
            "That is how often the label is right on the training rows. How often is it on the test rows?"
        ),
        lambda a, b: share(b, common(np.concatenate([a, b]))): (
            "You counted train and test together; nobody may look at the test rows."
        ),
        lambda a, b: share(
            b, np.median(a)
        ): "That is the *median* of the class numbers, which have no order. Count them.",
        lambda a, b: share(b, a.max()): "That is the largest class number. Which label is commonest?",
        lambda a, b: 1 / len(set(a)): (
            "One over the number of classes is guessing at random; the majority can do better, or worse."
        ),
        lambda a, b: share(b, common(a)) * len(b): "Count, then divide by the number of test rows.",
        lambda a, b: common(a): "That is the label itself. How often is it right on the test rows?",
        lambda a, b: 1 - share(b, common(a)): "That is how often it is wrong.",
    }
    told = "Which label is commonest in train? What share of test has it?"
    right = lambda a, b: share(b, common(a))  # noqa: E731
    return None if tried.wrong(right) is None else tried.hint(mistakes) or told


@exercise(
    "10.top",
    right="Picked by validation, reported on test: honest about each run, and still not about the method.",
)
def top(answer: Callable[[Runs, Runs, int], float]) -> str | None:
    """The mean test score of the k runs with the best validation score."""
    validation = np.array([0.50, 0.90, 0.80, 0.70, 0.60, 0.40])
    test = np.array([0.99, 0.70, 0.61, 0.80, 0.98, 0.55])
    tried = Tried(answer, (validation, test, 3), (validation, test, 2))
    if hint := many(tried.said[0], "the mean of k test scores"):
        return hint
    best = lambda v, x, k: x[np.argsort(v)[-k:]]  # noqa: E731
    mistakes = {
        lambda v, x, k: np.sort(x)[-k:].mean(): (
            "You picked by *test*. A protocol that picks by test scores reports its luck."
        ),
        lambda v, x, k: x[np.argsort(v)[:k]].mean(): "You picked the worst by validation: argsort sorts upwards.",
        lambda v, x, k: x.mean(): "That is the mean of all runs.",
        lambda v, x, k: np.sort(v)[-k:].mean(): "Pick by validation, but report the *test* score of those runs.",
        lambda v, x, k: x[:k].mean(): "The first k runs are not the best k.",
        lambda v, x, k: x[v.argmax()]: "That is the single best run; the protocol keeps k of them.",
        lambda v, x, k: best(v, x, 3).mean(): "For k = 2 it gives what k = 3 gives: where does your function use k?",
        lambda v, x, k: np.median(best(v, x, k)): "That is the median of the k; return their mean.",
        lambda v, x, k: best(v, x, k).sum(): "That is the sum of the k; return their mean.",
    }
    if wrong := tried.wrong(lambda v, x, k: best(v, x, k).mean()):
        told = f"For k = {wrong[0][2]} it gives {shown(wrong[1])}. Which runs are kept, and which of their scores?"
        return tried.hint(mistakes) or told
    return None


@exercise("10.half_width", right="Five draws are five observations, however many seeds each was run with.")
def half_width(answer: Callable[[Runs], float]) -> str | None:
    """Half the 95 % confidence interval of the mean of runs[draw, seed]."""
    draws, seeds = 5, 3
    runs, more = _runs(draws, seeds), _runs(8, 2)
    means, flat = runs.mean(1), runs.ravel()
    said = answer(runs)
    if hint := many(said, "half of the width"):
        return hint
    spread = means.std(ddof=1)
    t_of = lambda count, q=0.975: _t(count, q) * spread / draws**0.5  # noqa: E731
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
            "1.96 belongs to very many observations. With five, Student's t is larger: how many degrees of freedom?",
        ),
        (
            _t(draws) * means.std() / draws**0.5,
            "With few observations the deviation takes n - 1: std(ddof=1).",
        ),
        (_t(draws) * spread, "Divide by √5: this is the interval of the *mean*, not of one draw."),
        (spread / draws**0.5, "That is the standard error; the interval is wider, by a quantile of Student's t."),
        (t_of(draws, 0.95), "5 % outside, on both sides together: that leaves 2.5 % at each end."),
        (t_of(draws + 1), "The mean of the draws has used up one degree of freedom."),
        (t_of(flat.size), "The deviation is that of five means, so its degrees of freedom are those of five."),
        (
            spread,
            "That is the spread of draws; the mean of five of them is surer, by √5, and t makes it wider again.",
        ),
        (2 * _t(draws) * spread / draws**0.5, "That is the whole width; half of it is asked for."),
        (
            _t(draws) * runs.mean(0).std(ddof=1) / draws**0.5,
            "You averaged over draws and kept the seeds: the axes are runs[draw, seed].",
        ),
        (
            _t(seeds) * runs.mean(0).std(ddof=1) / seeds**0.5,
            "You averaged over draws and kept the seeds: the axes are runs[draw, seed].",
        ),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(said, _t(draws) * spread / draws**0.5):
        return "What is one observation here, and how many are there? What is uncertain: one of them, or their mean?"
    if not equals(said := answer(more), _t(8) * more.mean(1).std(ddof=1) / 8**0.5):
        told = f"Right for five draws, but for eight draws of two seeds it gives {shown(said)}"
        return f"{told}: √n and the degrees of freedom come from the number of draws in `runs`."
    return None


def _runs(draws: int, seeds: int) -> Runs:
    """Scores [draw, seed] that differ more between draws than between the seeds on one."""
    noise = np.random.default_rng(0)
    return 0.6 + 0.05 * noise.standard_normal((draws, 1)) + 0.01 * noise.standard_normal((draws, seeds))


@exercise("10.paired", right="Both methods had the same luck with the draw, and subtracting takes it out.")
def paired(answer: Callable[[Runs, Runs], float]) -> str | None:
    """The standard error of the mean difference of two methods on the same draws."""
    noise = np.random.default_rng(1)
    luck = 0.06 * noise.standard_normal(8)
    a = 0.60 + luck + 0.01 * noise.standard_normal(8)
    b = 0.602 + luck + 0.01 * noise.standard_normal(8)
    said = answer(a, b)
    if hint := many(said, "a standard error"):
        return hint
    count, spread = len(a), (b - a).std(ddof=1)
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
        ((a - b).mean(), "That is the difference itself; how sure is it?"),
        ((b - a).var(ddof=1) / count, "That is a variance; take its root."),
        (
            np.abs(b - a).std(ddof=1) / count**0.5,
            "The differences keep their signs: a method that is ahead on some draws and behind on others is less sure.",
        ),
        (spread / count, "Over n draws the deviation of the mean shrinks with √n, not with n."),
        (
            _t(count) * spread / count**0.5,
            "That is half of the 95 % interval; the standard error comes before Student's t.",
        ),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    right = spread / count**0.5
    return None if equals(said, right) else "Differences draw by draw, their deviation, over √n."
