"""Lines over a quantity: means and seeds stand where they belong, and bad numbers are said."""

import pytest
import torch
from matplotlib.lines import Line2D

from contrast_kit import plots


def test_means_errors_and_seeds_stand_where_they_belong():
    figure = plots.lines_with_errors({"a": {0: [1.0, 3.0], 1: [2.0, 2.0]}, "b": {0: [5.0, 5.0]}}, "noise", "moved")
    panel = figure.axes[0]
    means, spread = panel.containers[0].lines[0], panel.containers[0].lines[2][0]
    assert means.get_ydata().tolist() == [2.0, 2.0]
    low, high = spread.get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((2 - 2**0.5, 2 + 2**0.5))
    assert sorted(panel.collections[1].get_offsets()[:, 1].tolist()) == [1.0, 3.0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("noise", "moved")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_panels_share_colours_and_one_seed_has_no_bar():
    results = {"left": {"a": {0: 1.0}, "b": {0: 2.0}}, "right": {"b": {0: torch.tensor([3.0])}}}
    figure = plots.lines_with_errors(results, "x")
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("left", "right")
    assert left.containers[1].lines[0].get_color() == right.containers[0].lines[0].get_color() == plots.PALETTE[1]


def test_a_logarithmic_axis_has_geometric_means_and_plain_numbers():
    figure = plots.lines_with_errors({"a": {0: [0.01, 1.0], 1: [0.1, 0.1]}}, "x", log=True)
    means, spread = figure.axes[0].containers[0].lines[0], figure.axes[0].containers[0].lines[2][0]
    assert means.get_ydata().tolist() == pytest.approx([0.1, 0.1])
    assert 0 < spread.get_segments()[0][0, 1] < 0.01 and spread.get_segments()[0][1, 1] > 1
    figure.canvas.draw()
    written = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert "0.1" in written and not any("$" in text for text in written)


def test_very_small_ticks_are_powers_of_ten():
    figure = plots.lines_with_errors({"a": {0: 1e-6, 1: 1.0}}, "x", log=True)
    figure.canvas.draw()
    written = {tick.get_text() for tick in figure.axes[0].get_yticklabels()}
    assert {"10⁻⁵", "0.001", "1"} <= written


def test_even_places_carry_the_names_of_x():
    panel = plots.lines_with_errors({"a": {128: [1.0], 8192: [2.0]}}, "negatives", even=True).axes[0]
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["128", "8192"]
    assert panel.containers[0].lines[0].get_xdata().tolist() == [0.0, 1.0]


def test_the_legend_shows_lines_without_bars_and_an_unnamed_line_has_none():
    figure = plots.lines_with_errors({"a": {0: [1.0, 2.0], 1: 3.0}}, "x")
    (handle,) = figure.legends[0].legend_handles
    assert isinstance(handle, Line2D) and handle.get_marker() == "o"
    assert not plots.lines_with_errors({"": {0: [1.0, 2.0], 1: 3.0}}, "x").legends


def test_few_x_have_a_tick_each_and_many_whole_ones_have_whole_ticks():
    few = plots.lines_with_errors({"a": {0.05: 1.0, 0.15: 2.0, 0.75: 3.0}}, "x").axes[0]
    assert [tick.get_text() for tick in few.get_xticklabels()] == ["0.05", "0.15", "0.75"]
    many = plots.lines_with_errors({"a": {x: float(x) for x in range(2, 21)}}, "step").axes[0]
    assert all(tick == int(tick) for tick in many.get_xticks())


def test_each_panel_may_have_its_own_label_and_levels():
    line = {"a": {0: 1.0, 1: 2.0}}
    levels = {"memory": {"limit": 1.5}}
    figure = plots.lines_with_errors(
        {"time": line, "memory": line}, "N", {"time": "ms", "memory": "MiB"}, levels=levels
    )
    assert [panel.get_ylabel() for panel in figure.axes] == ["ms", "MiB"]
    assert [[words.get_text() for words in panel.texts] for panel in figure.axes] == [[], ["limit"]]


def test_a_level_at_the_top_leaves_room_for_its_words():
    panel = plots.lines_with_errors({"a": {0: 1.0, 1: 2.0}}, "x", levels={"guessing": 2.5}).axes[0]
    bottom, top = panel.get_ylim()
    assert (2.5 - bottom) / (top - bottom) <= 0.9 + 1e-9


@pytest.mark.parametrize(("values", "side"), [([1.0, 1.1, 5.0], "right"), ([5.0, 1.1, 1.0], "left")])
def test_a_level_is_named_at_the_end_where_the_curves_leave_room(values, side):
    figure = plots.lines_with_errors({"a": dict(enumerate(values))}, "x", levels={"a level at one": 1.0})
    assert figure.axes[0].texts[0].get_ha() == side


@pytest.mark.parametrize(
    ("results", "options", "words"),
    [
        ({}, {}, "empty"),
        ({"a": [1.0]}, {}, "method"),
        ({"a": {0: [float("nan")]}}, {}, "NaN"),
        ({"a": {0: [0.0]}}, {"log": True}, "logarithmic"),
        ({"a": {0: [1.0]}}, {"levels": {"": {"one": 1.0}, "two": 2.0}}, "mixture"),
        ({"a": {0: [1.0]}}, {"levels": {"a": {"one": 1.0}}}, "no panel 'a' for a level"),  # that is a method
        ({"a": {0: [1.0]}}, {"log": True, "levels": {"none": 0.0}}, r"levels\['none'\] is 0, and a logarithmic axis"),
    ],
)
def test_bad_numbers_are_said(results, options, words):
    with pytest.raises(ValueError, match=words):
        plots.lines_with_errors(results, "x", **options)


def drawn(panel):
    return [(bars[0].get_xdata().tolist(), bars[0].get_ydata().tolist()) for bars in panel.containers]


def test_points_are_joined_from_left_to_right():
    panel = plots.lines_with_errors({"a": {0.3: 1.0, 0.1: 3.0, 0.2: 2.0}}, "share").axes[0]
    assert drawn(panel) == [([0.1, 0.2, 0.3], [3.0, 2.0, 1.0])]


@pytest.mark.parametrize(
    ("results", "names"),
    [
        ({"a": {128: 1.0, 2048: 3.0}, "b": {2048: 3.0, 512: 2.0, 128: 1.0}}, ["128", "512", "2048"]),
        ({"a": {"low": 1.0, "high": 3.0}, "b": {"low": 1.0, "mid": 2.0, "high": 3.0}}, ["low", "mid", "high"]),
        ({"a": {"mid": 2.0, "high": 3.0}, "b": {"low": 1.0, "mid": 2.0}}, ["low", "mid", "high"]),
        ({"a": {"low": 1.0, "mid": 2.0}, "b": {"high": 3.0}}, ["low", "mid", "high"]),
        ({"a": {"low": 1.0, "mid": 2.0, "high": 3.0}, "b": {"high": 3.0, "low": 1.0}}, ["low", "mid", "high"]),
    ],
)
def test_even_places_are_in_order_whichever_line_lacks_one(results, names):
    panel = plots.lines_with_errors(results, "x", even=True).axes[0]
    ticks = dict(zip(panel.get_xticks(), (tick.get_text() for tick in panel.get_xticklabels()), strict=True))
    assert [ticks[x] for x in sorted(ticks)] == names
    for xs, ys in drawn(panel):
        assert xs == sorted(xs) and ys == [x + 1 for x in xs]
