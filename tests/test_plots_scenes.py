"""Pictures of shelves: what stands in the figure is what was given."""

import numpy as np
import pytest

from contrast_kit import plots
from contrast_kit.data import scenes

BOXES = [[0.0, 0.0, 0.5, 1.0], [0.5, 0.25, 1.0, 1.0]]
WHITE = np.ones((8, 16, 3))


def test_a_shelf_has_a_box_and_a_name_for_each_toy():
    scene = scenes.scene(0)
    boxes = scenes.boxes(scene)
    (panel,) = plots.shelf(scenes.picture(scene), boxes, [toy.good for toy in scene.toys]).axes
    assert [text.get_text() for text in panel.texts] == [toy.good for toy in scene.toys]
    for frame, (x1, y1, x2, y2) in zip(panel.patches, boxes * 96, strict=True):
        assert frame.get_xy() == pytest.approx((x1, y1), abs=1e-4)
        assert (frame.get_width(), frame.get_height()) == pytest.approx((x2 - x1, y2 - y1), abs=1e-4)


def test_a_masked_region_is_covered_and_its_name_hidden():
    (panel,) = plots.shelf(WHITE, BOXES, ["drum", "kite"], masked=[1]).axes
    assert [text.get_text() for text in panel.texts] == ["drum", "?"]
    assert [frame.get_facecolor()[3] for frame in panel.patches] == [0, 1]


def test_a_picture_may_stand_alone_and_bytes_are_as_good_as_shares():
    assert not plots.shelf(WHITE).axes[0].patches
    drawn = plots.shelf((WHITE * 255).astype(np.uint8)).axes[0].images[0].get_array()
    assert np.allclose(drawn, 1)


def test_attention_lights_the_region_that_a_word_looks_at():
    black = np.zeros((8, 16, 3))
    figure = plots.attention(black, BOXES, [[0.8, 0.0], [0.3, 0.3]], ["drum", "the"])
    first, second = figure.axes[:2]
    parts = [image.get_array().mean() for image in first.images[1:]]
    assert parts[0] == pytest.approx(0) and parts[1] == pytest.approx(0.65), "bright where it looks, pale elsewhere"
    widths = [frame.get_linewidth() for frame in first.patches]
    assert widths[0] > widths[1] and len({frame.get_linewidth() for frame in second.patches}) == 1
    assert [panel.get_title() for panel in figure.axes] == ["drum, to 0.80", "the, to 0.30"]


@pytest.mark.parametrize("call, says", [
    (lambda: plots.shelf(WHITE, np.array(BOXES) * 96), "corners x1, y1, x2, y2 from 0 to 1"),
    (lambda: plots.shelf(WHITE, [[0.5, 0.5, 0.2, 0.2]]), "with x1 < x2"),
    (lambda: plots.shelf(WHITE, BOXES, masked=[2]), "no region 2 to hide: there are 2 boxes"),
    (lambda: plots.shelf(WHITE, BOXES, ["drum"]), "There are 1 names for 2 boxes"),
    (lambda: plots.shelf(np.ones((8, 8))), "picture must have 3 dimension"),
    (lambda: plots.shelf(np.ones((8, 8, 4))), r"picture must be \[H, W, 3\]"),
    (lambda: plots.attention(WHITE, BOXES, [[0.5, 0.5]], ["a", "b"]), r"weights must be \[2, 2\], words by regions"),
    (lambda: plots.attention(WHITE, BOXES, [[-0.5, 0.5]], ["a"]), "at least 0"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_said(call, says):
    with pytest.raises(ValueError, match=says):
        call()
