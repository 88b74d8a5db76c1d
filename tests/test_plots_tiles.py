"""Tiles: every one is numbered once, those below the diagonal by the tile that they mirror."""

import pytest
import torch

from contrast_kit import plots


def test_every_tile_is_numbered_and_the_lower_ones_name_their_mirror():
    scores = torch.randn(7, 7)
    panel = plots.tiles(scores + scores.T, side=3).axes[0]
    places = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in panel.texts}
    assert places == {
        (1, 1): "1", (1, 4): "2", (1, 6): "3",
        (4, 1): "2, mirrored", (4, 4): "4", (4, 6): "5",
        (6, 1): "3, mirrored", (6, 4): "5, mirrored", (6, 6): "6",
    }  # fmt: skip
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["0–2", "3–5", "6–6"]


def test_what_is_left_out_of_a_contrast_stays_white():
    image = plots.tiles(torch.ones(4, 4).fill_diagonal_(-torch.inf), side=2).axes[0].images[0]
    assert image.get_array().diagonal().tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("matrix", "side", "words"),
    [
        (torch.zeros(2, 3), 1, "square"),
        (torch.tensor([[0.0, 1], [2, 0]]), 1, "symmetric"),
        (torch.eye(3), 4, "side"),
    ],
)
def test_bad_matrices_are_said(matrix, side, words):
    with pytest.raises(ValueError, match=words):
        plots.tiles(matrix, side)
