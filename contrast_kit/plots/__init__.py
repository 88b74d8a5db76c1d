"""Numbers in, a matplotlib figure out: one call for each picture of the course.

Nothing here trains or loads. Tensors, arrays and lists are welcome alike. Every function returns a
figure that belongs to nobody else (pyplot never hears of it): make it the last line of a cell and it is
shown once, or keep it with `figure.savefig("name.png")`. matplotlib is loaded by the first picture.

| what | call |
|---|---|
| which tokens a mask took | `mask_heatmap`, with `mask_kinds` |
| the parts of a loss over training | `loss_curves` |
| similar against random pairs | `cosine_histograms` |
| a map of the sentences | `embedding_map`, with `project` |
| that map along training | `animation`, with `Camera` and `align` |
| every anchor against every candidate | `similarity_matrix` |
| a matrix that is computed in pieces | `tiles` |
| vectors one can see | `circle` |
| a whole cut into parts | `shares` |
| methods over seeds | `bars_with_errors` |
| methods against one of them, and noise | `differences_from` |
| estimates with intervals | `intervals` |
| methods over seeds, along a quantity | `lines_with_errors` |
| alignment and uniformity at once | `alignment_uniformity_plane` |
| two wishes at once | `trade_off` |
| what a temperature does to the negatives | `negative_weights` |
"""

from .animations import Animation, align, animation
from .bars import bars_with_errors
from .camera import Camera
from .circles import circle
from .curves import loss_curves
from .differences import differences_from
from .histograms import cosine_histograms
from .intervals import intervals
from .lines import lines_with_errors
from .maps import embedding_map, project
from .matrices import similarity_matrix
from .planes import alignment_uniformity_plane
from .shares import shares
from .style import PALETTE
from .tiles import tiles
from .tokens import mask_heatmap, mask_kinds
from .trade_offs import trade_off
from .weights import negative_weights

__all__ = [
    "PALETTE",
    "Animation",
    "Camera",
    "align",
    "alignment_uniformity_plane",
    "animation",
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
    "project",
    "shares",
    "similarity_matrix",
    "tiles",
    "trade_off",
]
