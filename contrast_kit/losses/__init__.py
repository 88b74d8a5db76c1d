"""Every equation as a pure function: tensors in, a number out.

`contrast` holds the losses between whole texts, `tokens` those at single positions. All are meant to be read beside the
papers; `fast` does the same for many vectors and for large vocabularies.
"""

from contrast_kit.checks import NotFiniteError, normalise, unchecked
from contrast_kit.losses.contrast import (
    cosine_matrix,
    info_nce,
    nt_xent,
    nt_xent_anchor_gradient,
    simsiam,
    sup_con,
)
from contrast_kit.losses.tokens import (
    all_token_lm,
    copy,
    corrective_lm,
    guesses,
    mlm,
    replaced_token_detection,
)
