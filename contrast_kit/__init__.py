"""contrast_kit: understand, and do, contrastive pre-training of language models.

>>> import contrast_kit as ck
>>> import torch
>>> a = torch.eye(4)  # four sequences, seen twice, each orthogonal to the others
>>> ck.losses.nt_xent(a, a, tau=1.0)  # log(1 + 6 / e): one positive, six negatives each
tensor(1.1654)
"""

from contrast_kit import data, geometry, losses, masking, objectives, plots, schedules
from contrast_kit.encoder import Encoder
from contrast_kit.training import Run, Training, fit

__version__ = "0.1.0"

__all__ = [
    "Encoder",
    "Run",
    "Training",
    "data",
    "fit",
    "geometry",
    "losses",
    "masking",
    "objectives",
    "plots",
    "schedules",
]
