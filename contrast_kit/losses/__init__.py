"""Every equation as a pure function: tensors in, a number out.

`contrast` and `no_negatives` hold the losses between whole texts, `gradients` what they push, `similarity` the cosine
under all; `tokens` the losses at single positions, `corrective` COCO-LM's. This is the plain form, to be read beside
the papers. For many vectors the contrasts make the same numbers in tiles (`contrast_kit.fast`; `how=` says which form),
and `words` sums a loss over the vocabulary without all its scores; `values` says whether numbers are looked at.
"""

from .contrast import info_nce, nt_xent, sup_con
from .corrective import all_token_lm, copy, corrective_lm
from .gradients import nt_xent_anchor_gradient
from .no_negatives import simsiam
from .similarity import NotFiniteError, cosine_matrix, normalise
from .tokens import mlm, replaced_token_detection
from .values import unchecked
from .words import sum_over_words

__all__ = [
    "NotFiniteError",
    "all_token_lm",
    "copy",
    "corrective_lm",
    "cosine_matrix",
    "info_nce",
    "mlm",
    "normalise",
    "nt_xent",
    "nt_xent_anchor_gradient",
    "replaced_token_detection",
    "simsiam",
    "sum_over_words",
    "sup_con",
    "unchecked",
]
