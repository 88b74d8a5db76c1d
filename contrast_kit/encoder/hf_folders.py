"""Leaves with the rewrite of training, objectives, tasks and paraphrase: these names are in `folders`."""

from contrast_kit.encoder.folders import COPY_HEAD, architecture, located  # noqa: F401
from contrast_kit.encoder.folders import read as _read


def read(name, kind, **ignored):
    """`folders.read`."""
    return _read(located(name), kind)
