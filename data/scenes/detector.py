"""A small detector: it looks at the crop of a box and says what is in it, as LXMERT's Faster R-CNN does in large.

It is trained here, in seconds, on scenes of its own, and then frozen. A model never sees pixels: it sees what the
detector makes of each crop, 64 numbers, and its guess of good and colour with its confidence. The guesses err.
"""

from collections.abc import Iterable
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
import torch
from shelves import draw_scene
from torch import Tensor, nn
from torch.nn.functional import affine_grid, cross_entropy, grid_sample

from contrast_kit.data.scenes.draw import drawn
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, PRICES, SIZES, Scene

WIDTH = 64
"""Numbers in a feature."""
CROP = (28, 20)
"""Height and width that each crop is brought to."""
FIRST = 1_000_000  # the number of the detector's first scene: no task has it
TRAINED_ON = 900
"""Scenes that the detector is trained on."""

HEADS = {
    "objects": ("good", GOODS),
    "attributes": ("colour", COLOURS),
    "sizes": ("size", SIZES),
    "prices": ("price", PRICES),
}
"""What the detector is asked of a crop. A model is told the first two; the others make the feature carry them too."""


class Detector(nn.Module):
    """Two convolutions, one layer of 64 features, and a linear head for each question.

    `crops` [N, 3, 28, 20] from 0 to 1 → features [N, 64]; `heads[name](features)` are scores.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),  # [N, 24, 14, 10]
            nn.Conv2d(24, 40, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),  # [N, 40, 7, 5]
            nn.Flatten(), nn.Linear(40 * 7 * 5, WIDTH), nn.LeakyReLU(0.1),  # [N, 64]: no feature is 0 for ever
        )  # fmt: skip
        self.heads = nn.ModuleDict(
            {name: nn.Linear(WIDTH, len(classes)) for name, (_, classes) in HEADS.items()}
        )

    def forward(self, crops: Tensor) -> Tensor:
        """The features of crops."""
        return self.body(crops - 0.5)


def train_detector(scenes: int = TRAINED_ON, epochs: int = 8, seed: int = 0) -> Detector:
    """A detector trained on scenes of its own, in evaluation mode, its parameters frozen.

    One thread computes it, so the same machine gives the same weights however many cores it may use.
    """
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        # None of them stands in a task.
        mine = [draw_scene(Random(f"detector/{i}"), FIRST + i) for i in range(scenes)]
        crops = torch.cat([crop(*drawn(each, train=True)) for each in mine])
        truth = {
            name: torch.cat([true_classes(each)[name] for each in mine]) for name in HEADS
        }
        detector = Detector()
        optimizer = torch.optim.Adam(detector.parameters(), lr=2e-3)
        steps = epochs * -(-len(crops) // 64)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 2.5e-3, total_steps=steps
        )
        for _ in range(epochs):
            for rows in torch.randperm(len(crops)).split(64):
                features = detector(crops[rows])
                losses = [
                    cross_entropy(head(features), truth[name][rows])
                    for name, head in detector.heads.items()
                ]
                loss = sum(losses)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
    return detector.eval().requires_grad_(False)


def crop(picture: np.ndarray, boxes: np.ndarray) -> Tensor:
    """What is inside each box of a picture, brought to one size: [96, 96, 3] and [R, 4] → [R, 3, 28, 20] in 0 … 1."""
    x1, y1, x2, y2 = torch.from_numpy(boxes).unbind(1)  # [R] each
    zero = torch.zeros_like(x1)
    # the map from the crop's own coordinates, -1 to 1, to those of the picture
    across = torch.stack([x2 - x1, zero, x1 + x2 - 1], 1)  # [R, 3]
    down = torch.stack([zero, y2 - y1, y1 + y2 - 1], 1)  # [R, 3]
    size = [len(boxes), 3, *CROP]
    grid = affine_grid(
        torch.stack([across, down], 1), size, align_corners=False
    )  # [R, 28, 20, 2]
    pixels = torch.from_numpy(picture).permute(2, 0, 1).float() / 255  # [3, 96, 96]
    pixels = pixels.expand(len(boxes), -1, -1, -1)
    return grid_sample(pixels, grid, align_corners=False)  # [R, 3, 28, 20]


def detect(detector: Detector, scenes: Iterable[Scene]) -> list[dict[str, Any]]:
    """The regions of drawn scenes as the detector sees them, one row for each picture.

    `objects` and `attributes` are its guesses, the likeliest class of each, and the confidences its probabilities.
    """
    made = []
    with _one_thread(), torch.no_grad():
        for each in scenes:
            pixels, boxes = drawn(each)
            features = detector(crop(pixels, boxes))  # [R, 64]
            row = {"regions": features, "boxes": torch.from_numpy(boxes)}
            for name in ("objects", "attributes"):
                confidence, row[name] = detector.heads[name](features).softmax(-1).max(-1)
                row[f"{name[:-1]}_confidence"] = confidence.clamp(0, 1)
            lists = {key: value.tolist() for key, value in row.items()}
            made.append({"image_id": each.image_id} | lists)
    return made


def true_classes(scene: Scene) -> dict[str, Tensor]:
    """What a perfect detector would say of each toy of a scene: [R] of each head, in the order of `scene.toys`."""
    return {
        name: torch.tensor([classes.index(getattr(toy, field)) for toy in scene.toys])
        for name, (field, classes) in HEADS.items()
    }


@contextmanager
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
