"""From an objective and data to a trained encoder: the loop, one gradient for a batch, checkpoints, processes."""

from contrast_kit.training.fit import fit
from contrast_kit.training.gradient import gradient
from contrast_kit.training.plan import Plan, plan
from contrast_kit.training.run import Run
from contrast_kit.training.settings import Training
