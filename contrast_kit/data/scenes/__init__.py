"""Scenes: the toyshop's shelves as pictures, with captions, questions and statements that are true of them.

>>> from contrast_kit.data import scenes
>>> row = scenes.rows("vqa", "test")[0]
>>> len(row["answers"]), row["true_answer"] in row["answers"]
(10, True)

Read `shelf` for what a scene is, `claims` for what is true of it, `draw` for its picture; `tables` reads the rows and
the regions, which `data/scenes/make.py` has made.
"""

from contrast_kit.data.scenes.claims import truth
from contrast_kit.data.scenes.draw import boxes, picture
from contrast_kit.data.scenes.shelf import SPLITS, Scene, Toy, image_ids, scene
from contrast_kit.data.scenes.tables import TASKS, pictures, rows

__all__ = [
    "SPLITS",
    "TASKS",
    "Scene",
    "Toy",
    "boxes",
    "image_ids",
    "picture",
    "pictures",
    "rows",
    "scene",
    "truth",
]
