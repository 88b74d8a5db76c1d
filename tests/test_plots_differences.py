"""Differences from one method: the interval is Student's with the pooled deviation, and colour says which are clear."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.stats import t, ttest_ind

from contrast_kit import plots
from contrast_kit.plots.differences import pooled_interval
from contrast_kit.plots.intervals import UNCLEAR

SCORES = {"MLM": [0.70, 0.72, 0.71], "CMLM": [0.80, 0.81, 0.79], "CAPT": [0.70, 0.73, 0.70]}


def test_two_methods_give_the_t_test():
    table = {name: np.array(SCORES[name]) for name in ("MLM", "CMLM")}
    known = ttest_ind(table["CMLM"], table["MLM"]).confidence_interval(0.9)
    difference, half = pooled_interval(table, "CMLM", "MLM", 0.9)
    assert (difference - half, difference + half) == pytest.approx((known.low, known.high))


def test_the_deviation_is_pooled_over_all_methods_also_with_unequal_seeds():
    table = {"a": np.array([1.0, 3.0]), "b": np.array([5.0, 5.0, 5.0]), "c": np.array([0.0])}
    pooled = (2.0 / 3) ** 0.5  # (1 + 1 + 0) / (1 + 2 + 0) degrees of freedom
    assert pooled_interval(table, "b", "a", 0.95) == pytest.approx(
        (3.0, t.ppf(0.975, 3) * pooled * (1 / 2 + 1 / 3) ** 0.5)
    )


def test_the_bars_of_differences_are_the_intervals_of_the_level():
    table = {name: np.array(seeds) for name, seeds in SCORES.items()}
    for level in (0.95, 0.5):
        panel = plots.differences_from(SCORES, "MLM", level=level).axes[0]
        for method, bar in zip(("CMLM", "CAPT"), panel.containers, strict=True):
            middle, half = pooled_interval(table, method, "MLM", level)
            assert bar.lines[2][0].get_segments()[0][:, 0].tolist() == pytest.approx([middle - half, middle + half])


def test_colour_says_what_is_larger_than_the_noise():
    figure = plots.differences_from({"left": SCORES, "right": SCORES}, "MLM", title="two panels")
    assert [axes.get_xlabel() for axes in figure.axes] == ["left, minus MLM", "right, minus MLM"]
    panel = figure.axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["CMLM", "CAPT"]
    clear, unclear = (to_hex(bar.lines[0].get_color()) for bar in panel.containers)
    assert clear != UNCLEAR == unclear
    assert [bar.lines[0].get_xdata()[0] for bar in panel.containers] == pytest.approx([0.09, 0.0])


@pytest.mark.parametrize(
    ("results", "reference", "options", "words"),
    [
        (SCORES, "SCL", {}, "no method 'SCL'"),
        ({"MLM": [0.7, 0.8]}, "MLM", {}, "nothing beside"),
        ({"MLM": [0.7], "CMLM": [0.8]}, "MLM", {}, "second seed"),
        (SCORES, "MLM", {"level": 95}, "between 0 and 1"),
        ({}, "MLM", {}, "empty"),
    ],
)
def test_what_cannot_be_compared_is_said(results, reference, options, words):
    with pytest.raises(ValueError, match=words):
        plots.differences_from(results, reference, **options)
