"""Scenes as pictures of 96 × 96 pixels: goods of a few shapes each, price tags of handwritten digits, and noise.

A good is drawn once, large, in three paints (body, dark, light), and brought down to size as the share of each paint in
each pixel; a picture then only mixes colours. Letters: `H` height, `W` width of a part of the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from contrast_kit import checks
from contrast_kit.data.scenes.shelf import PLACES, PRICES, SHELVES, Scene, Toy, split_of

SIDE = 96
"""Pixels of a picture's side."""
CELL_W, CELL_H = SIDE // PLACES, SIDE // len(SHELVES)
EDGE = 11  # pixels of a shelf's front edge, on which the tags stick
TAG = 8  # pixels of a tag's side: scikit-learn's digits have 8 × 8
LENGTH = {"big": 19, "small": 12}  # pixels of a good's side
_LARGE = 8  # how many times larger than 20 × 20 a good is drawn

RGB = {
    "red": (205, 45, 45), "blue": (50, 90, 200), "green": (50, 150, 70), "yellow": (235, 205, 60),
    "orange": (235, 140, 40), "purple": (130, 70, 165), "pink": (235, 140, 180), "brown": (125, 80, 45),
}  # fmt: skip
WALL, WOOD, DARK, PAPER = (232, 226, 214), (176, 150, 120), (45, 42, 48), (250, 250, 246)

BODY, BLACK, LIGHT = 1, 2, 3
Shape = tuple[str, int, tuple[float, ...]]
"""What to draw on a square of 20 × 20, in which paint, and where."""

SHAPES: dict[str, tuple[Shape, ...]] = {
    "train": (
        ("box", BODY, (2, 8, 18, 15)), ("box", BODY, (12, 2, 18, 9)), ("box", BLACK, (4, 3, 7, 8)),
        ("disc", BLACK, (2.5, 12.5, 9, 19)), ("disc", BLACK, (11, 12.5, 17.5, 19)), ("box", LIGHT, (13.5, 4, 16.5, 7)),
    ),
    "teddy bear": (
        ("disc", BODY, (3, 0.5, 8, 5.5)), ("disc", BODY, (12, 0.5, 17, 5.5)), ("disc", BODY, (4.5, 1.5, 15.5, 11)),
        ("disc", BODY, (3, 9, 17, 19.5)), ("disc", LIGHT, (6.5, 11, 13.5, 18)), ("disc", BLACK, (8, 5.5, 12, 9)),
    ),
    "drum": (
        ("line", BLACK, (3, 0.5, 9, 7)), ("line", BLACK, (17, 0.5, 11, 7)), ("disc", BODY, (2, 12, 18, 19.5)),
        ("box", BODY, (2, 8, 18, 16)), ("disc", LIGHT, (2, 4.5, 18, 11.5)), ("line", BLACK, (2, 15, 18, 15)),
    ),
    "kite": (
        ("area", BODY, (10, 0.5, 18, 7.5, 10, 15, 2, 7.5)), ("line", BLACK, (10, 0.5, 10, 15)),
        ("line", BLACK, (2, 7.5, 18, 7.5)), ("line", BLACK, (10, 15, 7, 16.5, 12, 18, 8, 19.5)),
    ),
    "ball": (
        ("disc", BODY, (1.5, 2.5, 18.5, 19.5)), ("disc", LIGHT, (6.5, 2.5, 13.5, 19.5)),
        ("disc", BODY, (8.5, 2.5, 11.5, 19.5)),
    ),
    "robot": (
        ("box", BODY, (5.5, 0.5, 14.5, 7.5)), ("box", BODY, (2.5, 8.5, 17.5, 16)), ("box", LIGHT, (7, 2.5, 13, 5)),
        ("box", BLACK, (4.5, 16, 8.5, 19.5)), ("box", BLACK, (11.5, 16, 15.5, 19.5)), ("box", BLACK, (7, 10.5, 13, 13)),
    ),
    "bus": (
        ("box", BODY, (0.5, 4, 19.5, 16)), ("box", LIGHT, (2, 6, 6.5, 10.5)), ("box", LIGHT, (8, 6, 12, 10.5)),
        ("box", LIGHT, (13.5, 6, 18, 10.5)), ("disc", BLACK, (2.5, 13, 8, 18.5)), ("disc", BLACK, (12, 13, 17.5, 18.5)),
    ),
    "rabbit": (
        ("disc", BODY, (4.5, 0.5, 8.5, 10)), ("disc", BODY, (11.5, 0.5, 15.5, 10)), ("disc", BODY, (4, 6.5, 16, 14)),
        ("disc", BODY, (3.5, 12, 16.5, 19.5)), ("disc", LIGHT, (12.5, 14.5, 18, 19.5)),
        ("disc", BLACK, (8.5, 10, 11.5, 12)),
    ),
    "castle": (
        ("box", BODY, (4, 9, 16, 19.5)), ("box", BODY, (1.5, 6, 7, 19.5)), ("box", BODY, (13, 6, 18.5, 19.5)),
        ("area", BLACK, (0.5, 6, 4.2, 0.5, 8, 6)), ("area", BLACK, (12, 6, 15.8, 0.5, 19.5, 6)),
        ("box", LIGHT, (8, 13, 12, 19.5)),
    ),
    "rocket": (
        ("area", BLACK, (7, 10, 2.5, 18, 8, 16.5)), ("area", BLACK, (13, 10, 17.5, 18, 12, 16.5)),
        ("area", LIGHT, (7.5, 16, 12.5, 16, 10, 19.5)), ("disc", BODY, (6, 0.5, 14, 18)),
        ("disc", LIGHT, (8, 5, 12, 9)),
    ),
    "penguin": (
        ("disc", BLACK, (4, 17, 9.5, 19.5)), ("disc", BLACK, (10.5, 17, 16, 19.5)), ("disc", BODY, (3.5, 4, 16.5, 19)),
        ("disc", LIGHT, (6.5, 7.5, 13.5, 18.5)), ("disc", BODY, (5.5, 0.5, 14.5, 9)),
        ("area", BLACK, (7.5, 4.5, 12.5, 4.5, 10, 8)),
    ),
    "sailing boat": (
        ("area", BODY, (10.5, 0.5, 19, 12.5, 10.5, 12.5)), ("area", LIGHT, (8.5, 3, 8.5, 12.5, 2, 12.5)),
        ("line", BLACK, (9.5, 0.5, 9.5, 14)), ("area", BODY, (0.5, 14, 19.5, 14, 16, 19.5, 4, 19.5)),
    ),
    "bucket": (
        ("ring", BLACK, (4, 0.5, 16, 15)), ("area", BODY, (2, 8, 18, 8, 15, 19.5, 5, 19.5)),
        ("disc", LIGHT, (2, 5.5, 18, 10.5)),
    ),
    "hourglass": (
        ("area", LIGHT, (4, 2, 16, 2, 10, 11)), ("area", BODY, (10, 9, 16, 18, 4, 18)),
        ("area", BODY, (7, 6, 13, 6, 10, 10.5)), ("box", BLACK, (2.5, 0.5, 17.5, 3)),
        ("box", BLACK, (2.5, 17, 17.5, 19.5)),
    ),
}  # fmt: skip
"""Each good in at most six shapes."""


@dataclass(frozen=True)
class Noise:
    """How far pictures stray from the plan, mostly as standard deviations; set so that the detector errs on 1 in 10."""

    pixel: float = 36.0
    """Of each pixel and channel, of 255; mostly grey, as film grain is."""
    colour: float = 20.0
    """Of a toy's own paint, of 255, drawn once for each toy and channel."""
    light: float = 0.06
    """Of the picture's brightness, as a share."""
    box: float = 0.8
    """Of a box's edges, in pixels."""
    veiled: float = 0.2
    """Share of toys that stand behind a glare, through which little is seen: there the detector errs, and knows it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            checks.number(name, value, "a part of the noise", least=0, most=1 if name == "veiled" else 1e18)


@cache
def sprite(good: str, length: int) -> np.ndarray:
    """The share of each paint (body, dark, light) in each pixel of a good: [3, length, length] from 0 to 1.

    >>> sprite("ball", 20).shape, float(sprite("ball", 20).sum(0).max()) <= 1.01
    ((3, 20, 20), True)
    """
    from PIL import Image, ImageDraw

    large = Image.new("L", (20 * _LARGE, 20 * _LARGE), 0)
    draw = ImageDraw.Draw(large)
    for kind, paint, place in SHAPES[good]:
        at = [round(value * _LARGE) for value in place]
        if kind == "box":
            draw.rectangle(at, fill=paint)
        elif kind == "disc":
            draw.ellipse(at, fill=paint)
        elif kind == "area":
            draw.polygon(at, fill=paint)
        elif kind == "ring":
            draw.arc(at, 180, 360, fill=paint, width=_LARGE + 3)
        else:
            draw.line(at, fill=paint, width=_LARGE + 1, joint="curve")
    painted = np.asarray(large)
    shares = []
    for paint in (BODY, BLACK, LIGHT):
        share = Image.fromarray(np.where(painted == paint, 255, 0).astype(np.uint8))
        shares.append(np.asarray(share.resize((length, length), Image.Resampling.BOX), np.float32) / 255)
    return np.stack(shares)  # [3, length, length]


@cache
def digits(train: bool) -> dict[int, np.ndarray]:
    """The digits of scikit-learn that are prices, [n, 8, 8] from 0 to 1 by number; one image in five is for tests."""
    from sklearn.datasets import load_digits

    images, numbers = load_digits(return_X_y=True)
    kept = (np.arange(len(numbers)) % 5 != 0) == train
    return {n: images[kept & (numbers == n)].reshape(-1, TAG, TAG) / 16 for n in PRICES}


def picture(scene: Scene, noise: Noise | None = None, *, train: bool | None = None) -> np.ndarray:
    """Draw a scene: [96, 96, 3] bytes, red, green, blue. The same scene gives the same bytes.

    `train` says whose handwriting the tags have; by default it is that of the scene's own split.

    >>> from contrast_kit.data.scenes import scene
    >>> picture(scene(0)).shape, bool((picture(scene(0)) == picture(scene(0))).all())
    ((96, 96, 3), True)
    """
    return drawn(scene, noise, train=train)[0]


def boxes(scene: Scene, noise: Noise | None = None, *, train: bool | None = None) -> np.ndarray:
    """The box of each toy with its tag, in the order of `scene.toys`: [R, 4], corners x1, y1, x2, y2 in 0 … 1.

    A box's edges are jittered, but it never leaves its place on the shelf, so no two boxes overlap and a masked toy
    is seen in no other region. A box tells where a toy stands and whether it is big; nothing else.
    """
    return drawn(scene, noise, train=train)[1]


def drawn(scene: Scene, noise: Noise | None = None, *, train: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """`picture` and `boxes` at once."""
    noise = Noise() if noise is None else noise
    if not isinstance(scene, Scene) or not isinstance(noise, Noise):
        wrong = checks.shown(noise if isinstance(scene, Scene) else scene)
        raise TypeError(f"A picture is drawn of a Scene, such as scenes.scene(0), with a Noise(…), not of {wrong}.")
    if train is not None:
        checks.switch("train", train)
    train = split_of(scene.image_id) == "train" if train is None else train
    rng = np.random.default_rng([scene.image_id, int(train)])
    canvas = np.empty((SIDE, SIDE, 3), np.float32)
    canvas[:] = WALL
    for shelf in range(len(SHELVES)):
        canvas[(shelf + 1) * CELL_H - EDGE : (shelf + 1) * CELL_H] = WOOD
    corners = [_put(canvas, toy, noise, train, rng) for toy in scene.toys]
    canvas *= 1 + noise.light * rng.standard_normal()
    grain = rng.standard_normal((SIDE, SIDE, 4))  # one of grey, three of colour: [96, 96, 4]
    canvas += noise.pixel * (0.9 * grain[:, :, :1] + 0.44 * grain[:, :, 1:])  # deviation 1 in each channel
    return canvas.clip(0, 255).astype(np.uint8), np.array(corners, np.float32) / SIDE  # [96, 96, 3], [R, 4]


def _put(canvas: np.ndarray, toy: Toy, noise: Noise, train: bool, rng: np.random.Generator) -> list[float]:
    """Draw one toy and its tag; give its box in pixels."""
    length = LENGTH[toy.size]
    left, top = toy.place * CELL_W, toy.shelf * CELL_H
    x = left + (CELL_W - length) // 2 + int(rng.integers(-1, 2))
    y = top + CELL_H - EDGE - length
    seen = 1.0 if rng.random() >= noise.veiled else 0.1 + 0.2 * rng.random()
    shares = seen * sprite(toy.good, length)  # [3, H, W]
    body = np.array(RGB[toy.colour]) + noise.colour * rng.standard_normal(3)
    paints = np.array([body, DARK, 0.35 * body + 0.65 * np.array(PAPER)], np.float32)  # [3, rgb]
    part = canvas[y : y + length, x : x + length]  # [H, W, 3]
    part *= 1 - shares.sum(0)[:, :, None]
    part += np.einsum("phw,pc->hwc", shares, paints)
    exemplars = digits(train)[toy.price]
    ink = exemplars[int(rng.integers(len(exemplars)))][:, :, None]  # [8, 8, 1]
    tx, ty = x + (length - TAG) // 2, top + CELL_H - TAG - 1
    canvas[ty : ty + TAG, tx : tx + TAG] = (1 - ink) * np.array(PAPER) + ink * np.array(DARK)
    box = np.array([x - 1, y - 0.5, x + length + 1, ty + TAG + 0.5]) + noise.box * rng.standard_normal(4)
    return np.clip(box, (left, top, left, top), (left + CELL_W, top + CELL_H) * 2).tolist()
