"""The exercises of notebook 12, the laboratory, and the usual mistakes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, many, near, shown


@exercise("12.second_rate", right="At p_m = 0.15 and half of the tokens that is 0.588. Set the slider, and count.")
def second_rate(answer: Callable[[float, float], float]) -> str | None:
    """p_c, for view 1 to select a share of *all* tokens."""
    tried = Tried(answer, (0.2, 0.4), (0.15, 0.5), (0.3, 0.2))
    mistakes = {
        lambda m, s: s: "p_c is drawn among the tokens that view 0 left free, and these are fewer than all.",
        lambda m, s: s * (1 - m): "That share of all is what view 1 selects *at* p_c = share. Turn it round.",
        lambda m, s: s / m: "View 1 draws among the tokens that view 0 did *not* select: 1 − p_m of them.",
        lambda m, s: s - m: "Shares of different wholes do not subtract.",
        lambda m, s: s + m: "Shares of different wholes do not add.",
        lambda m, s: 1 - s / (1 - m): "That is the share of the free tokens that view 1 leaves alone.",
    }
    if wrong := tried.wrong(lambda m, s: s / (1 - m)):
        told = "At p_m = {} and share = {} it gives {}.".format(*wrong[0], shown(wrong[1]))
        return tried.hint(mistakes, same=near) or f"{told} Which share of all is selected at p_c? Solve for p_c."
    return None


@exercise("12.effective", right="One hard negative among thousands makes it 1; if none is harder, it is all of them.")
def effective(answer: Callable[[Tensor], Tensor]) -> str | None:
    """e to the entropy of the negatives' weights."""
    p = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64)
    said = answer(p)
    entropy = -(p * p.log()).sum()
    mistakes = [
        (entropy, "That is the entropy, in nats. How many *equal* weights have this entropy?"),
        (-entropy, "The entropy has a minus before the sum: logarithms of weights are negative."),
        ((-entropy).exp(), "The entropy has a minus before the sum: logarithms of weights are negative."),
        (entropy / math.log(2), "That is the entropy, in bits. How many *equal* weights have this entropy?"),
        ((entropy / math.log(2)).exp(), "Bits go with 2 to the power, nats with e."),
        (1 / p.square().sum(), "1 / Σp² is another count of this kind; the panel takes e to the entropy."),
        (1 / p.max(), "That looks at the hardest negative alone."),
        (len(p), "That many there are; how many *equal* ones would push as spread out as these?"),
    ]
    if hint := first_hint(said, mistakes) or many(said, "the number of effective negatives"):
        return hint
    if not equals(said, entropy.exp()):
        return "Σ −p log p over the weights, then e to that."
    alone = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    if not equals(answer(alone), 1.0):
        return "Right here, but a weight of 0 gives 0 · log 0 = NaN: leave it out (or clamp it)."
    return None


@exercise("12.search", right="That is all a search engine of sentences does; the rest is how to do it fast.")
def search(answer: Callable[[Tensor, Tensor, int], Tensor]) -> str | None:
    """The rows of the k vectors with the highest cosines to a query, the best first."""
    vectors = torch.tensor([[1.0, 0.0], [9.0, 9.0], [0.0, 2.0], [0.3, 0.1], [-5.0, -1.0], [0.9, -0.1]])
    for query, k in ((torch.tensor([2.0, 0.5]), 3), (torch.tensor([-1.0, 0.3]), 2)):
        if hint := _searched(answer(query, vectors, k), query, vectors, k):
            return hint
    return None


def _searched(said: object, query: Tensor, vectors: Tensor, k: int) -> str | None:
    """The hint for the rows that one search found."""
    if isinstance(said, tuple) and hasattr(said, "indices"):
        return "`topk` gives values and indices: return the indices."
    said = torch.as_tensor(said)
    cosines = torch.nn.functional.cosine_similarity(vectors, query[None])
    distances = (vectors - query).norm(dim=1)
    right = cosines.topk(k).indices
    if equals(said, right):
        return None
    if said.shape != (k,):
        return f"Return the numbers of k = {k} rows, [{k}]; yours has shape {list(said.shape)}."
    mistakes = [
        ((vectors @ query).topk(k).indices, "Long vectors win in your search: divide by the lengths first."),
        (distances.topk(k, largest=False).indices, "These are the nearest by distance, which sees lengths, too."),
        (cosines.topk(k, largest=False).indices, "These are the farthest: the highest cosines are asked for."),
        (right.flip(0), "The right ones in the wrong order: the best first."),
        (cosines.abs().topk(k).indices, "A cosine of -1 is the opposite, not a match: keep the sign."),
        (cosines.topk(k).values, "These are the cosines; the numbers of the rows are asked for."),
    ]
    return first_hint(said, mistakes) or "The cosine of the query with every row; topk; its indices."
