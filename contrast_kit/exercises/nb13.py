"""The exercises of notebook 13, words and pictures, and the usual mistakes."""

import torch

from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import apart

# Rows 0 and 1 show one picture, but it is not said that the second text is true of row 0 as well. The text of picture 3
# is true of picture 9 too; not the other way round.
TRUE_OF = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]).bool()


@table("13.wrong_texts", cases=[(torch.tensor([7, 7, 3, 9]), TRUE_OF)])
def wrong_texts(image_id, true_of):
    """Which text may be drawn as a wrong one for which picture."""
    other = image_id[:, None] != image_id[None, :]
    right = other & ~true_of.T
    return right, {
        "true_of has the texts in its rows; you need the pictures there: transpose it.": other
        & ~true_of,
        "The text of another picture may be true of this one as well: true_of says so.": other,
        "Rows 0 and 1 show one picture: its other text is not wrong, though true_of does not know it.": ~true_of.T,
        "Rows 0 and 1 show one picture: its other text is not wrong.": apart(4),
        "That is the opposite: True where the text *may* be drawn as a wrong one.": [
            ~right,
            true_of.T,
        ],
    }
