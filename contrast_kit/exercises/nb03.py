"""The exercises of notebook 03, the representation space, and the usual mistakes."""

from math import log

import torch
from torch.nn.functional import normalize

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.exercises._frame import exercise, table
from contrast_kit.exercises._table import vectors


@exercise("03.loss")
def loss(answer):
    """A loss that joins partners and spreads texts, tried on four texts in three dimensions."""
    x = normalize(vectors(8)[:, :3]).requires_grad_()
    adam = torch.optim.Adam([x], 0.05)
    for _ in range(300):
        adam.zero_grad()
        answer(*x.chunk(2)).backward()
        adam.step()
    apart = ck.geometry.alignment(*x.chunk(2))
    even = ck.geometry.uniformity(x[:4])
    if apart > 0.05:
        return f"Partners stay apart: their alignment is {apart:.2f}. Does your uniformity push them?"
    if even > -5:
        return f"The four texts are not spread: their uniformity is {even:.2f}, and the least is -5.33."
    return None


@exercise("03.words")
def words(answer):
    """Vectors of sentences without a network, by their AUC."""
    first, second = zip(*toyshop.probe_pairs(200, seed=2), strict=True)
    a, b = answer([*first, *second]).chunk(2)
    similar, random = ck.geometry.pair_cosines(a, b), ck.geometry.random_pair_cosines(a)
    auc = ck.geometry.separation(similar, random)
    if auc < 0.95:
        return f"The AUC is {auc:.2f}. What do two sentences share that mean the same?"
    return None


@table("03.uniformity", cases=[(vectors(6),)])
def uniformity(x):
    """Wang and Isola's uniformity, t = 2."""
    distances = torch.pdist(normalize(x))

    def form(squares, t=2):
        return (-t * squares).exp().mean().log()

    right = ck.geometry.uniformity(x)
    return right, {
        "Put the rows on the sphere first: divide each by its length.": form(
            torch.pdist(x) ** 2
        ),
        "Each vector is paired with itself too, the closest pair there is: leave the diagonal out.": form(
            torch.cdist(normalize(x), normalize(x)) ** 2
        ),
        "The log is missing.": right.exp(),
        "A mean over the pairs, not a sum: else it grows with the number of vectors.": right
        + log(len(distances)),
        "The *squared* distance stands in the exponent.": form(distances),
        "The log stands outside the mean; inside, it undoes the exp, and the kernel is gone.": -2
        * (distances**2).mean(),
        "The sign in the exponent: close pairs must weigh most.": form(
            distances**2, t=-2
        ),
        "t = 2 is missing in the exponent.": form(distances**2, t=1),
        "The sign in front: uniformity is a loss, and *lower* (more negative) is more even.": -right,
    }
