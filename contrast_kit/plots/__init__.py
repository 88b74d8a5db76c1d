"""Numbers in, a matplotlib figure out: one call for each picture of the course.

Nothing here trains or loads. Tensors, arrays and lists are all welcome. A picture is a figure that belongs to you alone
(pyplot does not know of it): make it the last line of a cell and it is shown once, or keep it with
`figure.savefig("name.png")`. Only `animation` and `schematic` give something else, which a cell shows as well.
matplotlib is loaded by the first figure.

| what | call |
|---|---|
| which tokens a mask took | `mask_heatmap`, with `mask_kinds` |
| the parts of a loss over training | `loss_curves` |
| similar against random pairs | `cosine_histograms` |
| a map of the sentences | `embedding_map`, with `project` |
| that map during training | `animation`, with `align` |
| every anchor against every candidate | `similarity_matrix` |
| vectors one can see | `circle` |
| methods over seeds | `bars_with_errors` |
| methods against one of them, and noise | `differences_from` |
| estimates with intervals | `intervals` |
| methods over seeds, along a quantity | `lines_with_errors` |
| alignment and uniformity at once | `alignment_uniformity_plane` |
| two other numbers at once, a mark for each method | `plane` |
| what a temperature does to the negatives | `negative_weights` |
| a method: views, networks, losses, negatives | `schematic` |
| a picture and its regions | `shelf` |
| where a word looks in a picture | `attention` |
"""

from contrast_kit.plots.animations import Animation, align, animation
from contrast_kit.plots.charts import (
    alignment_uniformity_plane,
    bars_with_errors,
    plane,
)
from contrast_kit.plots.circles import circle
from contrast_kit.plots.histograms import cosine_histograms, negative_weights
from contrast_kit.plots.intervals import differences_from, intervals
from contrast_kit.plots.lines import lines_with_errors, loss_curves
from contrast_kit.plots.maps import embedding_map, project
from contrast_kit.plots.matrices import similarity_matrix
from contrast_kit.plots.scenes import attention, shelf
from contrast_kit.plots.schematics import schematic
from contrast_kit.plots.style import PALETTE
from contrast_kit.plots.tokens import mask_heatmap, mask_kinds

__all__ = [
    "PALETTE",
    "Animation",
    "align",
    "alignment_uniformity_plane",
    "animation",
    "attention",
    "bars_with_errors",
    "circle",
    "cosine_histograms",
    "differences_from",
    "embedding_map",
    "intervals",
    "lines_with_errors",
    "loss_curves",
    "mask_heatmap",
    "mask_kinds",
    "negative_weights",
    "plane",
    "project",
    "schematic",
    "shelf",
    "similarity_matrix",
]


def __dir__() -> list[str]:
    return __all__
