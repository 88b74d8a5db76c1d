"""Every equation as a pure function: tensors in, a number out.

`contrast`, `one_direction` and `no_negatives` hold the losses between whole texts, `gradients` how they push a vector,
`similarity` the cosine they all use; `tokens` the losses at single positions, `corrective` those on a corrupted text,
`regions` those on pictures. All are meant to be read beside the papers; `fast` does the same for many vectors.
"""

from contrast_kit._renamed import moved, renamed
from contrast_kit.checks import NotFiniteError, normalise, unchecked
from contrast_kit.losses import contrast, one_direction
from contrast_kit.losses.corrective import all_token_lm, copy, corrective_lm, replaced_token_detection
from contrast_kit.losses.gradients import nt_xent_anchor_gradient
from contrast_kit.losses.no_negatives import simsiam
from contrast_kit.losses.regions import masked_attributes, masked_features, masked_objects, one_answer, soft_answers
from contrast_kit.losses.similarity import cosine_matrix
from contrast_kit.losses.tokens import mlm

info_nce = renamed(how="implementation")(one_direction.info_nce)
nt_xent = renamed(how="implementation")(contrast.nt_xent)
sup_con = renamed(how="implementation")(contrast.sup_con)

__all__ = ["info_nce", "nt_xent", "nt_xent_anchor_gradient", "simsiam", "sup_con"]
__all__ += ["all_token_lm", "copy", "corrective_lm", "mlm", "replaced_token_detection"]
__all__ += ["masked_attributes", "masked_features", "masked_objects", "one_answer", "soft_answers"]
__all__ += ["NotFiniteError", "cosine_matrix", "normalise", "unchecked"]

__getattr__ = moved("contrast_kit.losses", {"sum_over_words": "contrast_kit.fast"})
