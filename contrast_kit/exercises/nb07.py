"""The exercises of notebooks 07 and 07b, SCL, and the usual mistakes."""

from contrast_kit.exercises._frame import table


@table("07.lam", cases=[(0.5, 16), (0.9, 16), (0.3, 64)], further=[(0.0, 16), (1.0, 16)])
def lam(λ, N):
    """Which λ gives, with the sum, the direction that λ gives with the mean."""
    return λ / (λ + N * (1 - λ)), {
        "The sum is N times the mean, so the same λ gives the contrast N times the weight.": λ,
        "That is the other way round: from the λ of the *sum* to that of the mean.": λ
        * N
        / (λ * N + 1 - λ),
        "λ/N makes the contrast right, but CE then has 1 - λ/N, no longer 1 - λ.": λ / N,
        "That is not a weight between 0 and 1, and the sum needs a *smaller* one.": λ * N,
        "That is the ratio of the two weights; which λ' has λ'/(1 - λ') equal to it?": λ
        / N
        / (1 - λ + 1e-12),
    }


@table("07b.wrong_pairs", cases=[(0.0,), (0.2,), (0.5,)])
def wrong_pairs(q):
    """The share of pairs with one given label that are of two classes, when a share q of labels is flipped."""
    right = 2 * q * (1 - q)
    return right, {
        "That is the share of wrong *labels*. A pair has two.": q,
        "Where both are flipped, the two are of one class again: those are not wrong pairs.": 2
        * q,
        "Either of the two may be the flipped one.": q * (1 - q),
        "That is 'at least one is flipped'. If both are, the pair is right again.": 1
        - (1 - q) ** 2,
        "That is 'both are flipped', and then the two are of one class again.": q**2,
        "That is 'neither is flipped': a share of the right pairs.": (1 - q) ** 2,
        "That is the share of *right* pairs.": 1 - right,
    }
