"""Intervals: what holds zero is grey, what does not has the colour of its side, rows keep their places."""

import pytest
from matplotlib.colors import to_hex

from contrast_kit import plots
from contrast_kit.plots.intervals import UNCLEAR

ROWS = {"up": (0.2, 0.1, 0.3), "down": (-0.2, -0.3, -0.1), "unclear": (0.1, -0.1, 0.3)}


def test_estimates_and_ends_stand_where_they_belong_in_the_colour_of_their_side():
    panel = plots.intervals(ROWS, "points").axes[0]
    for row, (container, three) in enumerate(zip(panel.containers, ROWS.values(), strict=True)):
        dot, _, (line,) = container.lines
        assert dot.get_xydata().tolist() == [[three[0], row]]
        assert line.get_segments()[0].ravel().tolist() == pytest.approx([three[1], row, three[2], row])
    colours = [to_hex(container.lines[0].get_color()) for container in panel.containers]
    assert colours == [plots.PALETTE[0].lower(), plots.PALETTE[3].lower(), UNCLEAR]
    assert [text.get_text() for text in panel.get_yticklabels()] == list(ROWS)
    assert panel.get_xlabel() == "points"


def test_panels_share_rows_and_one_may_lack_a_row():
    figure = plots.intervals({"left": ROWS, "right": {"down": ROWS["down"]}}, digits=1)
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("left", "right")
    assert [text.get_text() for text in right.texts] == ["−0.2"]
    assert right.containers[0].lines[0].get_ydata().tolist() == [1]


@pytest.mark.parametrize("three", [(0.5, 0.6, 0.7), (0.1, 0.2), (0.1, float("nan"), 0.2)])
def test_an_interval_must_hold_its_estimate(three):
    with pytest.raises(ValueError, match="low ≤ estimate|NaN"):
        plots.intervals({"a": three})


def test_an_interval_with_unequal_sides_reaches_as_far_as_it_says():
    (container,) = plots.intervals({"a": (0.2, 0.1, 0.6)}).axes[0].containers
    assert container.lines[2][0].get_segments()[0][:, 0].tolist() == pytest.approx([0.1, 0.6])
