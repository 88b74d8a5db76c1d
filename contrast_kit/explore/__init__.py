"""Interactive panels: sliders, points to drag, maps to search. Each is a static figure too.

| panel | call |
|---|---|
| a sentence in two masked views | `mask_explorer` |
| vectors on a circle, and what a loss does with them | `loss_playground` |
| which negatives push, at which temperature | `temperature_and_queue` |
| a training run, to watch and to stop | `live_training` |
| a map of sentences: hover, lasso, neighbours, encoders linked | `embedding_map` |
| a sentence corrupted, corrected and contrasted | `two_networks` |
| a shelf to arrange, a question to type, an answer and where it looks | `shelf` |

Make a panel the last line of a cell. `panel.set(…)` moves it from Python, `panel.state` reads it, `panel.figure()` is
its static picture. They need `pip install contrast-kit[notebooks]`, and nothing else here does.
"""

from contrast_kit.explore._panel import Panel
from contrast_kit.explore.embedding_map import EmbeddingMap, embedding_map
from contrast_kit.explore.live_training import LiveTraining, live_training
from contrast_kit.explore.loss_playground import LossPlayground, loss_playground
from contrast_kit.explore.mask_explorer import MaskExplorer, mask_explorer
from contrast_kit.explore.shelf import Shelf, shelf
from contrast_kit.explore.temperature_and_queue import (
    TemperatureAndQueue,
    temperature_and_queue,
)
from contrast_kit.explore.two_networks import TwoNetworks, two_networks

__all__ = [
    "EmbeddingMap",
    "LiveTraining",
    "LossPlayground",
    "MaskExplorer",
    "Panel",
    "Shelf",
    "TemperatureAndQueue",
    "TwoNetworks",
    "embedding_map",
    "live_training",
    "loss_playground",
    "mask_explorer",
    "shelf",
    "temperature_and_queue",
    "two_networks",
]
