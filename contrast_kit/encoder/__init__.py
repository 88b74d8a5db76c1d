"""The Transformer that all methods share: a Hugging Face masked-LM model, its pooling and its vocabulary head."""

from contrast_kit.encoder.build import SHAPES
from contrast_kit.encoder.encoder import Encoder
from contrast_kit.encoder.relative_positions import RelativePositions
