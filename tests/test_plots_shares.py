"""Parts of a whole, two wishes at once, boards of tokens side by side, and what a circle says once."""

import io

import numpy as np
import pytest

from contrast_kit import plots

FATES = {"seen": 0.72, "in one": 0.26, "lost": 0.02}


def test_parts_lie_end_to_end_and_small_ones_have_no_number():
    figure = plots.shares({"small": FATES, "large": {"seen": 0.1, "in one": 0.4, "lost": 0.5}}, "share of words")
    axes = figure.axes[0]
    bars = sorted((bar.get_y() > 0, bar.get_x(), bar.get_width()) for bar in axes.patches)
    np.testing.assert_allclose([bar[1:] for bar in bars[:3]], [(0, 0.72), (0.72, 0.26), (0.98, 0.02)], atol=1e-12)
    np.testing.assert_allclose([bar[1:] for bar in bars[3:]], [(0, 0.1), (0.1, 0.4), (0.5, 0.5)], atol=1e-12)
    assert sorted(text.get_text() for text in axes.texts) == sorted(["72 %", "26 %", "10 %", "40 %", "50 %"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(FATES)


def test_points_stand_where_they_are_said():
    axes = plots.shares({"u": FATES}, points={"red": 0.07, "two": 0.99}).axes[0]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_gid() == "point"]
    assert marks == [0.07, 0.99]
    assert {"red", "two"} <= {text.get_text() for text in axes.texts}


def test_every_part_of_many_looks_different_in_the_bar_and_in_the_legend():
    wholes = {"a": {f"part {i}": 1 / 20 for i in range(20)}}
    figure = plots.shares(wholes)
    for patches in (figure.axes[0].patches, figure.legends[0].get_patches()):
        looks = [(patch.get_facecolor(), patch.get_hatch() or "") for patch in patches]
        assert len(set(looks)) == 20 and {pattern for _, pattern in looks[:8]} == {""}
    assert figure.get_figheight() > plots.shares({"a": FATES}).get_figheight()  # room for four rows of names
    own = plots.shares(wholes, colours=["red", "blue"] * 10)
    assert not any(patch.get_hatch() for patch in own.axes[0].patches)


@pytest.mark.parametrize(
    ("wholes", "options", "words"),
    [
        ({}, {}, "empty"),
        ({"a": {"x": 0.5, "y": 0.4}}, {}, "sum to 1, not 0.900"),
        ({"a": {"x": 1.5, "y": -0.5}}, {}, "sum to 1"),
        ({"a": {"x": 1.0}, "b": {"y": 1.0}}, {}, "same parts"),
        ({"a": {"x": 0.5, "y": 0.5}}, {"colours": ["red"]}, "a colour each"),
    ],
)
def test_what_is_no_whole_is_refused(wholes, options, words):
    with pytest.raises(ValueError, match=words):
        plots.shares(wholes, **options)


def test_every_setting_is_a_point_with_its_name():
    methods = {"one rate": {"p = 0.1": (0.9, 0.1), "p = 0.8": (0.2, 3.0)}, "two": {"": (0.85, 2.0)}}
    figure = plots.trade_off(methods, "context", "contrast", levels={"chance": 4.0})
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [(0.9, 0.1), (0.2, 3.0)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one rate", "two"]
    assert {"p = 0.1", "p = 0.8", "chance", "better"} <= {text.get_text() for text in axes.texts}
    (bare,) = plots.trade_off(methods, "context", "contrast", corner="").axes
    assert "better" not in {text.get_text() for text in bare.texts}


@pytest.mark.parametrize("point", [(1.0, float("nan")), (1.0, 2.0, 3.0)])
def test_a_point_is_two_numbers(point):
    with pytest.raises(ValueError, match="methods"):
        plots.trade_off({"a": {"x": point}}, "x", "y")


def test_boards_stand_side_by_side_and_name_their_rows_once():
    board = {"1": [True, False, False], "2": [False, False, True]}
    figure = plots.mask_heatmap(None, {"static": board, "dynamic": board}, columns=["a", "b", "c"])
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("static", "dynamic")
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["1", "2"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == ["", ""]
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="columns must be a list of 3"):
        plots.mask_heatmap(None, board, columns=["a"])


def test_a_circle_has_a_legend_only_where_the_names_do_not_say_it():
    points, labels = np.eye(2), ["kite", "drum"]
    assert not plots.circle(points, labels, names=["kite′", "drum′"]).legends
    assert len(plots.circle(points, labels, names=["a", "b"]).legends) == 1
    assert len(plots.circle(points, labels).legends) == 1


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("panels", [2, 3, 4])
def test_circles_keep_clear_of_the_legend_and_of_their_arrows(panels, lines):
    points, forces = np.eye(2), 3 * np.eye(2)
    sets = {f"{i}" + "\nsecond line" * (lines - 1): points for i in range(panels)}
    figure = plots.circle(sets, ["a", "b"], forces=dict.fromkeys(sets, forces), title="a title")
    figure.savefig(io.BytesIO())  # the layout is made while drawing
    assert len({axes.get_position().y0.round(6) for axes in figure.axes}) == 1  # one row
    assert all(axes.get_xlim()[1] > 1.5 for axes in figure.axes)  # the longest arrow is half a radius
    legend, title = figure.legends[0].get_window_extent(), figure.texts[0].get_window_extent()
    assert all(axes.title.get_window_extent().y1 <= title.y0 + 2 for axes in figure.axes)
    assert all(axes.xaxis.get_label().get_window_extent().y0 >= legend.y1 - 1 for axes in figure.axes)


def test_a_small_matrix_has_small_cells_and_level_words_where_they_fit():
    words = ["kite", "drum", "kite′", "drum′"]
    figure = plots.similarity_matrix(np.eye(4), rows=words, columns=words)
    assert figure.get_figheight() < 4.5
    assert {tick.get_rotation() for tick in figure.axes[0].get_xticklabels()} == {0.0}
    long = plots.similarity_matrix(np.eye(4), rows=words, columns=[f"a long sentence {i}" for i in range(4)])
    assert {tick.get_rotation() for tick in long.axes[0].get_xticklabels()} == {40.0}
