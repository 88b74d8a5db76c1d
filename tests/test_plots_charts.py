"""More pictures: lines, intervals, differences, wholes in parts, tiles and shelves hold what they were given."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.stats import t

from contrast_kit import plots
from contrast_kit.plots.intervals import UNCLEAR, pooled_interval


def test_means_errors_and_seeds_stand_where_they_belong():
    figure = plots.lines_with_errors(
        {"a": {0: [1.0, 3.0], 1: [2.0, 2.0]}, "b": {0: [5.0, 5.0]}}, "noise", "moved"
    )
    panel = figure.axes[0]
    means, spread = panel.lines[0], panel.containers[0].lines[2][0]
    assert means.get_ydata().tolist() == [2.0, 2.0]
    low, high = spread.get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((2 - 2**0.5, 2 + 2**0.5))
    assert sorted(panel.collections[0].get_offsets()[:, 1].tolist()) == [1.0, 3.0]


ROWS = {"up": (0.2, 0.1, 0.3), "down": (-0.2, -0.3, -0.1), "unclear": (0.1, -0.1, 0.3)}


def test_estimates_and_ends_stand_where_they_belong_in_the_colour_of_their_side():
    panel = plots.intervals(ROWS, "points").axes[0]
    for row, (container, three) in enumerate(
        zip(panel.containers, ROWS.values(), strict=True)
    ):
        dot, _, (line,) = container.lines
        assert dot.get_xydata().tolist() == [[three[0], row]]
        assert line.get_segments()[0].ravel().tolist() == pytest.approx(
            [three[1], row, three[2], row]
        )
    colours = [to_hex(container.lines[0].get_color()) for container in panel.containers]
    assert colours == [plots.PALETTE[0].lower(), plots.PALETTE[3].lower(), UNCLEAR]
    assert [text.get_text() for text in panel.get_yticklabels()] == list(ROWS)
    assert panel.get_xlabel() == "points"


SEEDS = {
    "MLM": [0.70, 0.72, 0.71],
    "CMLM": [0.80, 0.81, 0.79],
    "CAPT": [0.70, 0.73, 0.70],
}


def test_the_deviation_is_pooled_over_all_methods_also_with_unequal_seeds():
    table = {
        "a": np.array([1.0, 3.0]),
        "b": np.array([5.0, 5.0, 5.0]),
        "c": np.array([0.0]),
    }
    pooled = (2.0 / 3) ** 0.5  # (1 + 1 + 0) / (1 + 2 + 0) degrees of freedom
    assert pooled_interval(table, "b", "a", 0.95) == pytest.approx(
        (3.0, t.ppf(0.975, 3) * pooled * (1 / 2 + 1 / 3) ** 0.5)
    )


def test_colour_says_what_is_larger_than_the_noise():
    figure = plots.differences_from(
        {"left": SEEDS, "right": SEEDS}, "MLM", title="two panels"
    )
    panel = figure.axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["CMLM", "CAPT"]
    clear, unclear = (to_hex(bar.lines[0].get_color()) for bar in panel.containers)
    assert clear != UNCLEAR == unclear
    assert [bar.lines[0].get_xdata()[0] for bar in panel.containers] == pytest.approx(
        [0.09, 0.0]
    )


BOXES = [[0.0, 0.0, 0.5, 1.0], [0.5, 0.25, 1.0, 1.0]]
WHITE = np.ones((8, 16, 3))


def test_attention_lights_the_region_that_a_word_looks_at():
    black = np.zeros((8, 16, 3))
    figure = plots.attention(black, BOXES, [[0.8, 0.0], [0.3, 0.3]], ["drum", "the"])
    first, second = figure.axes[:2]
    pixels = first.images[0].get_array()  # as it is where the word looks, pale elsewhere
    assert pixels[:, :8].mean() == 0 and pixels[4:, 8:].mean() == pytest.approx(0.65)
    widths = [frame.get_linewidth() for frame in first.patches]
    assert (
        widths[0] > widths[1]
        and len({frame.get_linewidth() for frame in second.patches}) == 1
    )
    assert [panel.get_title() for panel in figure.axes] == [
        "drum, to 0.80",
        "the, to 0.30",
    ]
