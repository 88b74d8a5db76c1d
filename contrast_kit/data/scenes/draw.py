"""Scenes as pictures of 96 × 96 pixels: goods of a few shapes each, price tags of handwritten digits, and noise.

A good is drawn once, large, in three paints (body, dark, light), and brought down to size as the share of each paint in
each pixel; a picture then only mixes colours. Letters: `H` height, `W` width of a part of the picture.
"""

from functools import cache, partial

import numpy as np

from contrast_kit.data.scenes.shelf import (
    PLACES,
    PRICES,
    SHELVES,
    TABLES,
    Scene,
    split_of,
)

SIDE = 96
"""Pixels of a picture's side."""
CELL_W, CELL_H = SIDE // PLACES, SIDE // len(SHELVES)
EDGE = 11  # pixels of a shelf's front edge, on which the tags stick
TAG = 8  # pixels of a tag's side: scikit-learn's digits have 8 × 8
LENGTH = {"big": 19, "small": 12}  # pixels of a good's side
_LARGE = 8  # how many times larger than 20 × 20 a good is drawn

RGB: dict[str, list[int]] = TABLES["rgb"]
WALL, WOOD, DARK, PAPER = (
    np.array(TABLES["paint"][name]) for name in ("wall", "wood", "dark", "paper")
)
SHAPES: dict[str, list[tuple[str, int, list[float]]]] = TABLES["shapes"]
"""Each good in at most six shapes: what to draw on a square of 20 × 20, in which paint, and where."""

# How far pictures stray from the plan, mostly as standard deviations; set so that the detector errs on 1 in 10.
PIXEL = 36.0
"""Of each pixel and channel, of 255; mostly grey, as film grain is."""
COLOUR = 20.0
"""Of a toy's own paint, of 255, drawn once for each toy and channel."""
LIGHT = 0.06
"""Of the picture's brightness, as a share."""
BOX = 0.8
"""Of a box's edges, in pixels."""
VEILED = 0.2
"""Share of toys that stand behind a glare, through which little is seen: there the detector errs, and knows it."""


@cache
def sprite(good, length):
    """The share of each paint (body, dark, light) in each pixel of a good: [3, length, length] from 0 to 1.

    >>> sprite("ball", 20).shape, float(sprite("ball", 20).sum(0).max()) <= 1.01
    ((3, 20, 20), True)
    """
    from PIL import Image, ImageDraw

    large = Image.new("L", (20 * _LARGE, 20 * _LARGE), 0)
    draw = ImageDraw.Draw(large)
    ways = {
        "box": draw.rectangle,
        "disc": draw.ellipse,
        "area": draw.polygon,
        "ring": partial(draw.arc, start=180, end=360, width=_LARGE + 3),
        "line": partial(draw.line, width=_LARGE + 1, joint="curve"),
    }
    for kind, paint, place in SHAPES[good]:
        ways[kind]([round(value * _LARGE) for value in place], fill=paint)
    shares = []
    for paint in (1, 2, 3):
        share = large.point(lambda value, paint=paint: 255 * (value == paint))
        share = share.resize((length, length), Image.Resampling.BOX)
        shares.append(np.asarray(share, np.float32) / 255)
    return np.stack(shares)  # [3, length, length]


@cache
def digits(train):
    """The digits of scikit-learn that are prices, [n, 8, 8] from 0 to 1 by number; one image in five is for tests."""
    from sklearn.datasets import load_digits

    images, numbers = load_digits(return_X_y=True)
    kept = (np.arange(len(numbers)) % 5 != 0) == train
    return {n: images[kept & (numbers == n)].reshape(-1, TAG, TAG) / 16 for n in PRICES}


def picture(scene: Scene) -> np.ndarray:
    """Draw a scene: [96, 96, 3] bytes, red, green, blue. The same scene gives the same bytes.

    The tags have the handwriting of the scene's split.

    >>> from contrast_kit.data.scenes import scene
    >>> picture(scene(0)).shape, bool((picture(scene(0)) == picture(scene(0))).all())
    ((96, 96, 3), True)
    """
    return drawn(scene)[0]


def boxes(scene: Scene) -> np.ndarray:
    """The box of each toy with its tag, in the order of `scene.toys`: [R, 4], corners x1, y1, x2, y2 in 0 … 1.

    A box's edges are jittered, but it never leaves its place on the shelf, so no two boxes overlap and a masked toy
    is seen in no other region. A box tells where a toy stands and whether it is big; nothing else.
    """
    return drawn(scene)[1]


def drawn(scene: Scene, train: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """`picture` and `boxes` at once; `train` says whose handwriting the tags have, else the scene's split does."""
    if train is None:
        train = split_of(scene.image_id) == "train"
    rng = np.random.default_rng([scene.image_id, int(train)])
    canvas = np.empty((SIDE, SIDE, 3), np.float32)
    canvas[:] = WALL
    for shelf in range(len(SHELVES)):
        canvas[(shelf + 1) * CELL_H - EDGE : (shelf + 1) * CELL_H] = WOOD
    corners = [_put(canvas, toy, train, rng) for toy in scene.toys]
    canvas *= 1 + LIGHT * rng.standard_normal()
    # One of grey, three of colour: [96, 96, 4].
    grain = rng.standard_normal((SIDE, SIDE, 4))
    # deviation 1 in each channel
    canvas += PIXEL * (0.9 * grain[:, :, :1] + 0.44 * grain[:, :, 1:])
    pixels = canvas.clip(0, 255).astype(np.uint8)
    return pixels, np.array(corners, np.float32) / SIDE  # [96, 96, 3], [R, 4]


def _put(canvas, toy, train, rng):
    """Draw one toy and its tag; give its box in pixels."""
    length = LENGTH[toy.size]
    left = toy.place * CELL_W
    top = toy.shelf * CELL_H
    x = left + (CELL_W - length) // 2 + int(rng.integers(-1, 2))
    y = top + CELL_H - EDGE - length
    visible = 1.0
    if rng.random() < VEILED:
        visible = 0.1 + 0.2 * rng.random()
    shares = visible * sprite(toy.good, length)  # [3, H, W]
    body = np.array(RGB[toy.colour]) + COLOUR * rng.standard_normal(3)
    paints = np.array([body, DARK, 0.35 * body + 0.65 * PAPER], np.float32)  # [3, rgb]
    part = canvas[y : y + length, x : x + length]  # [H, W, 3]
    part *= 1 - shares.sum(0)[:, :, None]
    part += np.einsum("phw,pc->hwc", shares, paints)
    exemplars = digits(train)[toy.price]
    ink = exemplars[int(rng.integers(len(exemplars)))][:, :, None]  # [8, 8, 1]
    tx = x + (length - TAG) // 2
    ty = top + CELL_H - TAG - 1
    canvas[ty : ty + TAG, tx : tx + TAG] = (1 - ink) * PAPER + ink * DARK
    box = np.array([x - 1, y - 0.5, x + length + 1, ty + TAG + 0.5])
    box += BOX * rng.standard_normal(4)
    return np.clip(
        box, (left, top, left, top), (left + CELL_W, top + CELL_H) * 2
    ).tolist()
