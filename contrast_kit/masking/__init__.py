"""Ids in, ids out: every kind of noise that CMLM, COCO-LM and CAPT put on a text.

Shapes: B examples, T tokens, V vocabulary, M selected positions. Nothing here changes its input or needs a model,
and every draw comes from the `torch.Generator` that you pass (or from torch's own when you pass none).
"""

from contrast_kit.masking import noise
from contrast_kit.masking.masks import (
    Masked,
    allowed,
    check_split,
    complementary_random_mask,
    dynamic_random_mask,
    kinds,
    masked_view,
    replace,
    span_mask,
)
from contrast_kit.masking.order import Cropped, crop, shuffle
