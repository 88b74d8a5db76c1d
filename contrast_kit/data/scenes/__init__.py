"""Scenes: the toyshop's shelves as pictures, with captions, questions and statements that are true of them.

>>> from contrast_kit.data import scenes
>>> row = scenes.rows("vqa", "test")[0]
>>> len(row["answers"]), row["true_answer"] in row["answers"]
(10, True)

Read `shelf` for what a scene is and what is true of it, `draw` for its picture, `detector` for its regions; `tell`,
`ask`, `programs` with `compose`, and `statements` for the language of the four tasks; `tables` for rows and splits.
"""

from contrast_kit.data.scenes.draw import Noise, boxes, drawn, picture
from contrast_kit.data.scenes.shelf import (
    SPLITS,
    Scene,
    Toy,
    image_ids,
    scene,
    split_of,
    true_of,
)
from contrast_kit.data.scenes.tables import load, pictures, rows, tasks
from contrast_kit.data.scenes.tell import facts_of, truth

__all__ = [
    "SPLITS",
    "Noise",
    "Scene",
    "Toy",
    "boxes",
    "drawn",
    "facts_of",
    "image_ids",
    "load",
    "picture",
    "pictures",
    "rows",
    "scene",
    "split_of",
    "tasks",
    "true_of",
    "truth",
]
