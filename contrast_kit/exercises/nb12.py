"""The exercises of notebook 12, the laboratory, and the usual mistakes."""

from math import log

import torch

from contrast_kit.exercises._frame import table


@table(
    "12.effective",
    cases=[(torch.tensor([0.5, 0.25, 0.125, 0.125]).double(),)],
    further=[(torch.tensor([1.0, 0.0, 0.0]).double(),)],
)
def effective(p):
    """e to the entropy of the negatives' weights."""
    entropy = torch.special.entr(p).sum()
    return entropy.exp(), {
        "That is the entropy, in nats. How many *equal* weights have this entropy?": entropy,
        "The entropy has a minus before the sum: logarithms of weights are negative.": [
            -entropy,
            (-entropy).exp(),
        ],
        "That is the entropy, in bits. How many *equal* weights have this entropy?": entropy
        / log(2),
        "Bits go with 2 to the power, nats with e.": (entropy / log(2)).exp(),
        "1 / Σp² is another count of this kind; the panel takes e to the entropy.": 1
        / p.square().sum(),
        "That looks at the hardest negative alone.": 1 / p.max(),
        "That many there are; how many *equal* ones would push as spread out as these?": len(
            p
        ),
    }
