"""What stands where: rows by their names, bars within the axis, heights by all pairs, lines told apart."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from contrast_kit import plots

TOKENS = {"view 0": ["[MASK]", "red"], "view 1": ["the", "[MASK]"]}


def test_kinds_of_a_dict_belong_to_the_rows_of_their_names():
    kinds = {"view 1": ["untouched", "mask"], "view 0": ["mask", "untouched"]}
    panel = plots.mask_heatmap(TOKENS, kinds).axes[0]
    words = [text.get_text() for text in panel.texts if text.get_gid() == "token"]
    fills = [to_hex(cell.get_facecolor()) for cell in panel.patches]
    assert {word for word, fill in zip(words, fills, strict=True) if fill == "#0072b2"} == {"[MASK]"}


def test_kinds_and_tokens_with_other_names_are_refused():
    with pytest.raises(ValueError, match=r"must name the same rows.*'view 1'.*'view 2'"):
        plots.mask_heatmap(TOKENS, {"view 0": [1, 0], "view 2": [0, 1]})


@pytest.mark.parametrize(
    ("scores", "baseline"),
    [
        ({"A": [0.52, 0.60, 0.95], "B": [0.9, 0.92, 0.94]}, 0.5),
        ({"A": [0.02, 0.9], "B": [0.9, 0.92]}, 0.0),
        ({"A": [0.1, 0.1, 0.1, 0.5], "B": [0.3, 0.31]}, 0.6),
    ],
)
def test_no_error_bar_is_cut_off(scores, baseline):
    panel = plots.bars_with_errors(scores, "accuracy", baseline=baseline).axes[0]
    low, high = panel.get_xlim()
    for values in scores.values():
        mean, sd = np.mean(values), np.std(values, ddof=1)
        assert low < mean - sd and mean + sd < high


def heights(figure, panel=0):
    """The top of each bar of the random pairs, and the middle of the bar."""
    bars = figure.axes[panel].patches
    return np.array([(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in bars]).T


def test_bars_and_curve_agree_where_a_range_hides_some_pairs():
    random = np.random.default_rng(0).uniform(-0.5, 0.5, 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plots.cosine_histograms({"x": (random + 0.5, random)}, range=(0.0, 1.0), bins=20)
        plots.cosine_histograms({"x": ([0.9, 0.8], [-0.1, 0.1])}, range=(0.5, 1.0))  # no random pair inside
    (x, bar), curve = heights(figure), figure.axes[0].lines[0]
    inside = (x > 0.05) & (x < 0.4)  # away from the ends of the uniform pairs
    assert bar[: len(x) // 2][inside[: len(x) // 2]] == pytest.approx(1, abs=0.15)
    assert np.interp(0.2, *curve.get_data()) == pytest.approx(1, abs=0.1)
    width = 0.05
    assert bar[: len(x) // 2].sum() * width == pytest.approx(0.5, abs=0.02)  # half of the random pairs are seen


def test_a_range_without_cosines_is_refused():
    for empty in ((2, 3), (-0.9, -0.5)):
        with pytest.raises(ValueError, match="holds no cosine: those given lie from -0.1 to 0.9"):
            plots.cosine_histograms({"x": ([0.9, 0.8], [-0.1, 0.1])}, range=empty)


def test_curves_beyond_the_colours_change_their_dashes():
    table = pd.DataFrame({"step": range(3), "mlm": [3.0, 2, 1]})
    figure = plots.loss_curves({f"run {i}": table + i for i in range(18)}, smooth=1)
    drawn = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(drawn)) == 18 and {style for _, style in drawn[:8]} == {"-"}
    assert drawn == [(line.get_color(), line.get_linestyle()) for line in figure.legends[0].legend_handles]
    many = plots.lines_with_errors({f"m{i}": {x: x + i for x in range(40)} for i in range(9)}, "x")
    drawn = [(bars[0].get_color(), bars[0].get_linestyle()) for bars in many.axes[0].containers]
    assert len(set(drawn)) == 9
    assert drawn == [(line.get_color(), line.get_linestyle()) for line in many.legends[0].legend_handles]


ONE = "__label__1"  # as fastText writes labels


@pytest.mark.parametrize(
    "figure",
    [
        lambda: plots.embedding_map(np.eye(4), [ONE, "b", ONE, "b"], method="pca"),
        lambda: plots.circle(np.eye(2), [ONE, "b"]),
        lambda: plots.plane({ONE: (1, 2), "b": (2, 1)}, "x", "y"),
        lambda: plots.alignment_uniformity_plane({ONE: (1, -2), "b": (2, -1)}),
        lambda: plots.trade_off({ONE: {"": (1, 2)}, "b": {"": (2, 1)}}, "x", "y"),
        lambda: plots.shares({"row": {ONE: 0.5, "b": 0.5}}),
        lambda: plots.animation({0: np.eye(2), 1: np.eye(2)}, [ONE, "b"], method="circle").sheet(2),
    ],
)
def test_a_legend_names_what_begins_with_an_underscore(figure):
    assert [text.get_text() for text in figure().legends[0].get_texts()] == [ONE, "b"]


@pytest.mark.parametrize("kinds", [15, 22, 64, 77])
@pytest.mark.parametrize("encoders", [1, 3])
def test_a_map_of_many_labels_names_them_within_the_figure(kinds, encoders):
    x = np.random.default_rng(0).normal(size=(160, 5))
    figure = plots.embedding_map(dict.fromkeys("abc"[:encoders], x), [f"topic {i % kinds}" for i in range(160)], "pca")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert len(legend.get_texts()) == min(kinds, 64)
    assert ("64 of 77" in legend.get_title().get_text()) == (kinds == 77)
    assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    assert all(panel.get_window_extent().width > 100 and panel.get_window_extent().x1 < box.x0 for panel in figure.axes)
