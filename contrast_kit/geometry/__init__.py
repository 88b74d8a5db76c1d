"""Where the vectors lie: alignment, uniformity, cosines and ranks of a set of representations.

Vectors in, numbers out. Every measure puts the vectors on the unit sphere itself, so lengths never
count, and reduces in float32 or better, so half-precision vectors may come as they are. `class_cosines`, `class_spread`
and `noise_sensitivity` compute in float64: gaps between cosines are small in a narrow cone.
Letters in the shape comments: N vectors, D width, R rows of a block, C columns, P pairs.
"""

from contrast_kit.geometry.pairs import (
    pair_cosines,
    random_pair_cosines,
    separation,
    triplet_accuracy,
)
from contrast_kit.geometry.spread import (
    ClassCosines,
    alignment,
    anisotropy,
    class_cosines,
    class_spread,
    effective_rank,
    noise_sensitivity,
    uniformity,
)
