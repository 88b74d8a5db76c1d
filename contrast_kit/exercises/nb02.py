"""The exercises of notebooks 02 and 02b, losses, and the usual mistakes."""

from math import exp, log

import torch
from torch.nn.functional import cross_entropy, normalize

import contrast_kit as ck
from contrast_kit.exercises._frame import exercise, table
from contrast_kit.exercises._table import NOT_FINITE, apart, vectors

INF = torch.inf


@table(
    "02.row",
    cases=[(torch.tensor([1.6, -0.8, 0.5, 2.0]).double(), 2)],
    further=[
        (torch.tensor([2000.0, 1990.0]).double(), 1),
        (torch.tensor([2000.0, 0.0]).double(), 1),
    ],
)
def row(scores, right):
    """-log softmax of one row of scores, at the right candidate."""
    losses = -scores.log_softmax(0)
    loss = losses[right]
    p = (-loss).exp()
    return loss, {
        "That is the probability of the right candidate. The loss is minus its logarithm.": p,
        "The sign: a loss is *minus* the log of the probability.": -loss,
        "The natural logarithm, please, as in torch.log: your number is in bits.": loss
        / log(2),
        "Your positive is not in the denominator: it runs over *all* candidates, the right one too.": (
            1 / p - 1
        ).log(),
        "Your positive is in the denominator twice: the sum over all candidates holds it already.": (
            1 / p + 1
        ).log(),
        "Take the exponential of each score first: scores may be negative, shares may not.": -torch.log(
            scores[right] / scores.sum()
        ),
        "Only the right candidate's probability counts, not the mean over all of them.": losses.mean(),
        "Your loss is {value}. Does an exponential overflow, or a -inf meet a 0?": NOT_FINITE,
    }


@table("02.nt_xent", cases=[(vectors(5, seed=2), vectors(5, seed=3), 0.3)], leaves="a b")
def nt_xent(a, b, tau):
    """NT-Xent of two views in matrix form."""
    x = torch.cat([a, b])
    n = len(x)
    rows = torch.arange(n)
    partner = rows.roll(n // 2)
    itself = ~apart(n)
    cosines = ck.losses.cosine_matrix(x)
    scores = cosines / tau

    def entropy(scores, column=partner, reduction="mean"):
        return cross_entropy(
            scores.masked_fill(itself, -INF), column, reduction=reduction
        )

    each = entropy(scores, reduction="none")  # [2B]
    ratio = each.exp()  # of the denominator to the positive
    loss = each.mean()
    columns = normalize(x, dim=0)
    towards = ck.losses.info_nce(a, b, tau)
    back = ck.losses.info_nce(b, a, tau)

    return loss, {
        (
            "Your loss is inf: the right column of some row was taken out, as the diagonal is. Where does the "
            "partner of row i stand in [2B, 2B]?"
        ): INF,
        "You divided by τ twice.": entropy(scores / tau),
        "Divide by τ; do not multiply: a small τ must make differences larger.": entropy(
            cosines * tau
        ),
        "τ is missing.": entropy(cosines),
        "You forgot to normalise: a score is the *cosine* over τ, not the dot product.": entropy(
            x @ x.T / tau
        ),
        "You normalised over dim=0, the batch. Each *vector* must have length 1: dim=1.": entropy(
            columns @ columns.T / tau
        ),
        "The anchor itself is among its candidates, at a cosine of 1: put -inf on the diagonal.": cross_entropy(
            scores, partner
        ),
        "A 0 on the diagonal still adds e^0 = 1 to each denominator: only -inf takes the anchor out.": cross_entropy(
            scores.masked_fill(itself, 0.0), partner
        ),
        "Your positive is in the denominator twice: the sum over the other 2B - 1 holds it already.": (
            ratio + 1
        )
        .log()
        .mean(),
        "Your positive is not in the denominator: it is one of the 2B - 1 candidates.": (
            ratio - 1
        )
        .log()
        .mean(),
        "One direction only: view b asks too, 2B anchors.": each[: n // 2].mean(),
        "One direction only: view a asks too, 2B anchors.": each[n // 2 :].mean(),
        "That is info_nce: B candidates and one direction. Both views stand in both roles.": [
            towards,
            back,
        ],
        "Both directions, but only B candidates: the anchor's own view is missing.": (
            towards + back
        )
        / 2,
        "That is CAPT's sum (eq. 4). Here: the mean over the 2B anchors.": each.sum(),
        "There are 2B anchors, not B: divide by all of them.": 2 * loss,
        "The sign: a loss is *minus* the log of the probability.": -loss,
        "Your right column is a stranger's. Where does the partner of row i stand in [2B, 2B]?": [
            entropy(scores, column) for column in (rows.roll(1), rows.roll(-1), rows ^ 1)
        ],
        "Your loss is {value}. Does an exponential overflow, or a -inf meet a 0?": [
            torch.nan,
            -INF,
        ],
    }


def log_p(scores, candidates):
    """The logarithm of each candidate's share of its row."""
    return scores - scores.masked_fill(~candidates, -INF).logsumexp(1, keepdim=True)


def over_positives(values, labels, itself=False):
    """The mean over the positives of each anchor that has one, as in eq. 3."""
    same = labels[:, None] == labels[None, :]
    others = apart(len(labels))
    positives = same & (others | itself)
    means = values.masked_fill(~positives, 0).sum(1) / positives.sum(1)
    return means[(same & others).any(1)]


def log_p_of_pairs(scores, labels):
    """Each pair by itself: the anchor's other positives are left out of the denominator."""
    negatives = scores.masked_fill(labels[:, None] == labels[None, :], -INF).logsumexp(
        1, keepdim=True
    )
    return scores - torch.logaddexp(negatives, scores)


def of_eq_3(x, labels, tau, over):
    """The mistakes that may be made in eq. 3, whether it is a sum or a mean over the anchors with a positive."""
    scores = ck.losses.cosine_matrix(x) / tau
    same = labels[:, None] == labels[None, :]
    others = apart(len(x))

    def eq_3(log_p):
        return -over(over_positives(log_p, labels))

    terms = -over_positives(log_p(scores, others), labels)
    positives = over_positives(same.sum(1, keepdim=True) - 1.0, labels)
    p = over_positives(log_p(scores, others).exp(), labels)
    return {
        "NaN: is it 0 · -inf on the diagonal, or 0/0 for the label that occurs only once?": torch.nan,
        "The log stands outside the sum over positives: eq. 3 takes log p_ij first, then the mean.": -over(
            (p * positives).log()
        ),
        "The log stands outside the mean over positives: eq. 3 takes log p_ij first, then the mean.": -over(
            p.log()
        ),
        "The anchor itself is in the denominator: 1[i ≠ k].": eq_3(scores.log_softmax(1)),
        "The positives belong to the denominator too: k runs over all but i.": eq_3(
            log_p(scores, ~same)
        ),
        "Your other positives left the denominator; eq. 3 keeps them (that form is another library's NT-Xent).": eq_3(
            log_p_of_pairs(scores, labels)
        ),
        "N_y − 1 positives, not N_y: the anchor is not its own positive.": over(
            terms * positives / (positives + 1)
        ),
        "Divide each anchor's sum by its N_y − 1 positives.": over(terms * positives),
        "You divided by τ twice.": eq_3(log_p(scores / tau, others)),
        "τ is missing.": eq_3(log_p(scores * tau, others)),
        "You forgot to normalise: Φ(x) has length 1.": eq_3(log_p(x @ x.T / tau, others)),
        "The sign: minus the log of the probability.": -over(terms),
    }


@table(
    "02.sup_con",
    cases=[(vectors(7, seed=2), torch.tensor([0, 1, 0, 2, 1, 0, 0]), 0.3)],
    leaves="x",
)
def sup_con(x, labels, tau):
    """SCL, eq. 3, as the sum over anchors."""
    right = ck.losses.sup_con(x, labels, tau, reduction="sum")
    return right, of_eq_3(x, labels, tau, torch.sum) | {
        "Eq. 3 is a sum over the N anchors; yours is their mean.": right / len(x),
        "Your loss is {value}. Does an exponential overflow, or a -inf meet a 0?": [
            INF,
            -INF,
        ],
    }


@exercise("02.claim")
def claim(degrees):
    """Six points whose partners are further apart than those of section 9, at a lower NT-Xent."""
    if callable(degrees):  # a function that gives the angles will do
        degrees = degrees()
    angles = torch.tensor(degrees).double().deg2rad()
    a, b = torch.stack([angles.cos(), angles.sin()], 1).chunk(2)
    apart = (a * b).sum(1).acos().rad2deg()
    for name, angle, least in zip(
        ("kite", "drum", "ball"), apart, (45, 35, 60), strict=True
    ):
        if angle <= least + 0.01:
            return f"{name} and its partner are {angle:.0f}° apart: more than {least}° is asked for."
    loss = ck.losses.nt_xent(a, b, 0.5)
    if loss > 0.6664:
        return f"NT-Xent is {loss:.3f}, not below 0.666. Which texts are still close to another text?"
    return None


@exercise("02.train")
def train(answer):
    """Four texts in three dimensions, moved to the least NT-Xent that they can have."""
    start, tau = vectors(8)[:, :3], 0.5
    x = answer(start, tau)
    least = log(1 + 6 * exp(-4 / 3 / tau))
    before, after = (ck.losses.nt_xent(*rows.chunk(2), tau) for rows in (start, x))
    if after >= before:
        return (
            f"The loss went from {before:.3f} to {after:.3f}. Go *against* the gradient."
        )
    if after > least + 0.01:
        return f"From {before:.3f} to {after:.3f}; the least is {least:.3f}. Take more or longer steps."
    return None


@exercise("02b.deep")
def deep(answer):
    """A network with five hidden layers that CMLM's eq. 9 does not collapse."""
    torch.manual_seed(0)
    encoder, predictor = answer(), ck.objectives.cmlm.Predictor(16)
    layers = sum(isinstance(part, torch.nn.Linear) for part in encoder.modules())
    if layers < 6:
        return f"{layers} linear layers: five hidden ones and the output are six."
    inputs = torch.randn(64, 16)
    adam = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], 3e-3)
    for _ in range(200):
        a, b = (encoder(inputs + 0.3 * torch.randn(64, 16)) for _ in range(2))
        adam.zero_grad()
        ck.losses.simsiam(predictor(a), a, predictor(b), b).backward()
        adam.step()
    x = normalize(encoder(inputs).detach(), dim=1)
    spread = (x - x.mean(0)).square().sum(1).mean().sqrt()
    if spread < 0.4:
        return f"It collapsed: the spread is {spread:.2f}. Over what does your layer normalise, one text or the batch?"
    return None
