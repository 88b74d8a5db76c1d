"""The checkers of 02 and 02b, each usual mistake with its own hint; and a table of names, against libraries."""

import math
from pathlib import Path

import nbformat
import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from contrast_kit import losses
from contrast_kit.exercises import judge, names

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "02b_losses_in_practice.ipynb"
INF = torch.inf


def scores_of(a, b, tau=1.0):
    x = normalize(torch.cat([a, b]), dim=1)
    return x @ x.T / tau


def diagonal(scores):
    return torch.eye(len(scores), dtype=torch.bool)


def partner(a, b):
    return torch.arange(2 * len(a)).roll(len(a))


def nt_xent(a, b, tau):
    scores = scores_of(a, b, tau)
    return cross_entropy(scores.masked_fill(diagonal(scores), -INF), partner(a, b))


def with_itself(a, b, tau):
    return cross_entropy(scores_of(a, b, tau), partner(a, b))


def with_a_zero_diagonal(a, b, tau):
    return cross_entropy(scores_of(a, b, tau).fill_diagonal_(0), partner(a, b))


def not_normalised(a, b, tau):
    x = torch.cat([a, b])
    return cross_entropy((x @ x.T / tau).fill_diagonal_(-INF), partner(a, b))


def normalised_over_the_batch(a, b, tau):
    x = normalize(torch.cat([a, b]), dim=0)
    return cross_entropy((x @ x.T / tau).fill_diagonal_(-INF), partner(a, b))


def positive_twice(a, b, tau):
    e = scores_of(a, b, tau).exp().fill_diagonal_(0)
    own = e[torch.arange(len(e)), partner(a, b)]
    return -torch.log(own / (own + e.sum(1))).mean()


def positive_not_below(a, b, tau):
    e = scores_of(a, b, tau).exp().fill_diagonal_(0)
    own = e[torch.arange(len(e)), partner(a, b)]
    return -torch.log(own / (e.sum(1) - own)).mean()


def with_columns(columns):
    def answer(a, b, tau):
        scores = scores_of(a, b, tau)
        return cross_entropy(scores.masked_fill(diagonal(scores), -INF), columns(len(scores)))

    return answer


def half(part):
    return lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="none").chunk(2)[part].mean()


def sup_con(x, labels, tau, below=None, outside=None, share=1):
    """Eq. 3 as a loop, with room for mistakes: who is below the line, the log outside, the number that divides."""
    x, total = normalize(x, dim=1), 0.0
    for i in range(len(x)):
        positives = [j for j in range(len(x)) if j != i and labels[j] == labels[i]]
        below_i = [k for k in range(len(x)) if below is None and k != i or below and below(i, k, labels)]
        Z = sum(torch.exp(x[i] @ x[k] / tau) for k in below_i)
        p = [torch.exp(x[i] @ x[j] / tau) / Z for j in positives]
        if outside and p:
            total -= torch.log(sum(p) / (len(p) if outside == "mean" else 1))
        elif p:
            total -= sum(torch.log(q) for q in p) / (len(p) + share - 1 if share else 1)
    return total


def pairwise(x, labels, tau):
    x, total = normalize(x, dim=1), 0.0
    for i in range(len(x)):
        positives = [j for j in range(len(x)) if j != i and labels[j] == labels[i]]
        enemies = sum(torch.exp(x[i] @ x[k] / tau) for k in range(len(x)) if labels[k] != labels[i])
        for j in positives:
            e = torch.exp(x[i] @ x[j] / tau)
            total -= torch.log(e / (e + enemies)) / len(positives)
    return total


def naive_sup_con(x, labels, tau):
    """The form that says nan: a product with the mask, and a division by the number of positives."""
    x = normalize(x, dim=1)
    log_p = (x @ x.T / tau).fill_diagonal_(-INF).log_softmax(1)
    positive = ((labels[:, None] == labels[None, :]) & ~diagonal(log_p)).double()
    return -((log_p * positive).sum(1) / positive.sum(1)).sum()


def left_out(ids):
    both, itself = ids.repeat(2), torch.eye(2 * len(ids), dtype=torch.bool)
    return itself | ((both[:, None] == both[None, :]) & ~itself.roll(len(ids), 0))


def same_text(ids):
    return ids.repeat(2)[:, None] == ids.repeat(2)[None, :]


def side_by_side(ids):
    both, rows = ids.repeat_interleave(2), torch.arange(2 * len(ids))
    return (both[:, None] == both[None, :]) & (rows[:, None] != (rows ^ 1)[None, :])


RIGHT_TERMS = {"info_nce": 32, "nt_xent": 63, "nt_xent with a queue": 163, "sup_con": 63, "simsiam": 0}

RIGHT = {
    "02.row": lambda s, r: s.logsumexp(0) - s[r],
    "02.nt_xent": nt_xent,
    "02.sup_con": sup_con,
    "02.denominators": RIGHT_TERMS,
    "02.weight": lambda hard, easy, tau: torch.tensor((hard - easy) / tau).exp().item(),
    "02b.left_out": left_out,
    "02b.log": lambda loss: (math.exp(loss) + 1) / 2,
}


def test_every_exercise_of_the_two_notebooks_is_tested_here():
    assert set(RIGHT) == {*names("02"), *names("02b")}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name):
    verdict = judge(name, RIGHT[name])
    assert verdict.right, verdict.text


@pytest.mark.parametrize("name", RIGHT)
def test_no_answer_is_not_yet(name):
    unanswered = dict.fromkeys(RIGHT_TERMS) if name == "02.denominators" else lambda *args: None
    assert judge(name, unanswered).right is None


def test_other_forms_of_a_right_answer_pass():
    assert judge("02.nt_xent", losses.nt_xent).right
    assert judge("02.nt_xent", lambda a, b, tau: losses.nt_xent(a.float(), b.float(), tau)).right
    assert judge("02.sup_con", losses.sup_con).right

    def in_place(a, b, tau):
        for x in (a, b):
            x /= x.norm(dim=1, keepdim=True)
        scores = torch.cat([a, b]) @ torch.cat([a, b]).T / tau
        return cross_entropy(scores.fill_diagonal_(-INF), partner(a, b))

    assert judge("02.nt_xent", in_place).right, judge("02.nt_xent", in_place)
    assert judge("02.row", lambda s, r: -s.log_softmax(0)[r]).right
    assert judge("02.row", lambda s, r: (s.logsumexp(0) - s[r]).item()).right  # one number is asked for, of any kind
    assert not judge("02.row", lambda s, r: complex((s.logsumexp(0) - s[r]).item(), 5)).right
    assert judge("02b.left_out", lambda ids: left_out(ids).int()).right


MISTAKES = [
    ("02.row", lambda s, r: s.softmax(0)[r], "the probability"),
    ("02.row", lambda s, r: s.log_softmax(0)[r], "sign"),
    ("02.row", lambda s, r: -s.softmax(0)[r].log2(), "in bits"),
    ("02.row", lambda s, r: (s.exp().sum() - s[r].exp()).log() - s[r], "not in the denominator"),
    ("02.row", lambda s, r: (s.exp().sum() + s[r].exp()).log() - s[r], "denominator twice"),
    ("02.row", lambda s, r: -(s[r] / s.sum()).log(), "exponential of each score"),
    ("02.row", lambda s, r: -s.log_softmax(0).mean(), "Only the right candidate"),
    ("02.row", lambda s, r: -s.log_softmax(0), "one number"),
    ("02.row", lambda s, r: -(s[r].exp() / s.exp().sum()).log(), "overflow"),
    ("02.row", lambda s, r: -s.softmax(0)[r].log(), "for the scores 2000 and 0 it gives inf, not 2000"),
    ("02.row", lambda s, r: s[r], "over the sum"),
    ("02.nt_xent", lambda a, b, tau: nt_xent(a, b, tau**2), "τ twice"),
    ("02.nt_xent", lambda a, b, tau: nt_xent(a, b, 1 / tau), "do not multiply"),
    ("02.nt_xent", lambda a, b, tau: nt_xent(a, b, 1.0), "τ is missing"),
    ("02.nt_xent", not_normalised, "forgot to normalise"),
    ("02.nt_xent", normalised_over_the_batch, "dim=0"),
    ("02.nt_xent", with_itself, "among its candidates"),
    ("02.nt_xent", with_a_zero_diagonal, "e^0 = 1"),
    ("02.nt_xent", positive_twice, "denominator twice"),
    ("02.nt_xent", positive_not_below, "not in the denominator"),
    ("02.nt_xent", half(0), "One direction only: view b"),
    ("02.nt_xent", half(1), "One direction only: view a"),
    ("02.nt_xent", lambda a, b, tau: losses.info_nce(a, b, tau), "info_nce"),
    ("02.nt_xent", lambda a, b, tau: losses.info_nce(b, a, tau), "info_nce"),
    (
        "02.nt_xent",
        lambda a, b, tau: (losses.info_nce(a, b, tau) + losses.info_nce(b, a, tau)) / 2,
        "own view is missing",
    ),
    ("02.nt_xent", lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="sum"), "CAPT's sum"),
    ("02.nt_xent", lambda a, b, tau: 2 * losses.nt_xent(a, b, tau), "not B"),
    ("02.nt_xent", lambda a, b, tau: -losses.nt_xent(a, b, tau), "sign"),
    ("02.nt_xent", lambda a, b, tau: losses.nt_xent(a, b, tau, reduction="none"), "shape [10]"),
    ("02.nt_xent", lambda a, b, tau: torch.tensor(torch.nan), "loss is nan"),
    ("02.nt_xent", lambda a, b, tau: "much", "column of row i"),
    ("02.nt_xent", with_columns(lambda n: torch.arange(n)), "Your loss is inf: the right column of some row"),
    ("02.nt_xent", with_columns(lambda n: torch.arange(n).roll(1)), "Where does the partner of row i stand"),
    ("02.nt_xent", with_columns(lambda n: torch.arange(n) ^ 1), "Where does the partner of row i stand"),
    ("02.nt_xent", lambda a, b, tau: nt_xent(a, b, tau).item(), "no gradient comes back"),
    ("02.nt_xent", lambda a, b, tau: nt_xent(a, b.detach(), tau), "no gradient reaches b"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau).detach(), "no gradient comes back"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, outside="sum"), "outside the sum"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, outside="mean"), "outside the mean"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, below=lambda i, k, y: True), "1[i ≠ k]"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, below=lambda i, k, y: y[i] != y[k]), "belong to"),
    ("02.sup_con", pairwise, "left the denominator"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, share=2), "not N_y"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau, share=0), "N_y − 1 positives"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, tau**2), "τ twice"),
    ("02.sup_con", lambda x, y, tau: sup_con(x, y, 1.0), "τ is missing"),
    ("02.sup_con", lambda x, y, tau: losses.sup_con(x, y, tau, reduction="mean"), "sum over the N"),
    ("02.sup_con", lambda x, y, tau: -sup_con(x, y, tau), "sign"),
    ("02.sup_con", naive_sup_con, "NaN"),
    ("02.sup_con", lambda x, y, tau: losses.sup_con(x, y, tau, reduction="none"), "one number"),
    ("02.sup_con", lambda x, y, tau: 0.5, "log p_ij for all pairs"),
    ("02.denominators", RIGHT_TERMS | {"info_nce": 31}, "B, not B - 1"),
    ("02.denominators", RIGHT_TERMS | {"nt_xent": 62}, "2B - 2 are the *negatives*"),
    ("02.denominators", RIGHT_TERMS | {"nt_xent": 64}, "no candidate of its own"),
    ("02.denominators", RIGHT_TERMS | {"nt_xent with a queue": 100}, "in addition"),
    ("02.denominators", RIGHT_TERMS | {"sup_con": 33}, "other* positives"),
    ("02.denominators", RIGHT_TERMS | {"simsiam": 1}, "no denominator"),
    ("02.denominators", RIGHT_TERMS | {"nt_xent": 7}, "count the coloured cells"),
    ("02.denominators", RIGHT_TERMS | {"nt_xent": None}, "still None"),
    ("02.denominators", {"nt_xent": 63}, "keep the names"),
    ("02.denominators", [32, 63], "Fill in the dict"),
    ("02.weight", lambda hard, easy, tau: hard / easy, "not proportional"),
    ("02.weight", lambda hard, easy, tau: 2.718281828459045 ** (hard - easy), "τ is missing"),
    ("02.weight", lambda hard, easy, tau: 2.718281828459045 ** ((hard - easy) * tau), "do not multiply"),
    ("02.weight", lambda hard, easy, tau: 2.718281828459045 ** ((easy - hard) / tau), "upside down"),
    ("02.weight", lambda hard, easy, tau: (hard - easy) / tau, "logarithm of the answer"),
    ("02.weight", lambda hard, easy, tau: 2.718281828459045 ** (hard / tau), "the other one"),
    ("02.weight", lambda hard, easy, tau: 1.0, "same Z"),
    ("02.weight", lambda hard, easy, tau: math.exp(2.5), "For hard = 0.7, easy = -0.2 and τ = 0.5 it gives 12.18"),
    ("02.weight", lambda hard, easy, tau: math.exp((hard - easy) / 0.2), "same Z"),
    ("02b.left_out", same_text, "partner must stay"),
    (
        "02b.left_out",
        lambda ids: same_text(ids) & ~torch.eye(2 * len(ids), dtype=torch.bool),
        "the other way round",
    ),
    ("02b.left_out", lambda ids: torch.eye(2 * len(ids), dtype=torch.bool), "anchors only"),
    ("02b.left_out", lambda ids: left_out(ids) & ~torch.eye(2 * len(ids), dtype=torch.bool), "anchor itself"),
    ("02b.left_out", lambda ids: ~left_out(ids), "Inverted"),
    ("02b.left_out", lambda ids: ids[:, None] == ids[None, :], "not [B, B]"),
    ("02b.left_out", lambda ids: ids, "yours has shape [4]"),
    ("02b.left_out", lambda ids: torch.ones(8, 8), "each other's partner"),
    ("02b.log", 64, "Give a function"),
    ("02b.log", math.exp, "number of candidates"),
    ("02b.log", lambda loss: math.exp(loss) + 1, "2B vectors"),
    ("02b.log", lambda loss: math.exp(loss) / 2, "Almost"),
    ("02b.log", lambda loss: (math.exp(loss) - 1) / 2, "do not take one away"),
    ("02b.log", lambda loss: (2**loss + 1) / 2, "not 2 to the loss"),
    ("02b.log", lambda loss: 256, "the log begins at 2.71"),
    ("02b.log", lambda loss: 8, "For a batch of 64"),
    ("02b.log", lambda loss: int((math.exp(loss) + 1) / 2), "yours says 63.00"),
    ("02b.left_out", side_by_side, "all of view 0, then all of view 1"),
]


@pytest.mark.parametrize(("name", "answer", "words"), MISTAKES)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text


# --- 02b, section 5: one name, many numbers ---------------------------------------------------------------


@pytest.fixture(scope="module")
def variants():
    """The notebook's own functions, so that what the reader sees is what is compared here."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    space = {"torch": torch, "losses": losses, "normalize": normalize}
    for cell in cells:
        if "names-by-formula" in cell.metadata.get("tags", []):
            exec(cell.source, space)

    def all_three(a, b, labels, queue, tau):
        found = {
            "NT-Xent": space["called_nt_xent"](a, b, labels, tau),
            "InfoNCE": space["called_info_nce"](a, b, queue, tau),
            "SupCon": space["called_sup_con"](torch.cat([a, b]), labels, tau),
        }
        return {(name, how): value for name, rows in found.items() for how, value in rows.items()}

    return all_three


def numbers(variants, tau):
    noise = torch.Generator().manual_seed(3)
    a, b = torch.randn(2, 3, 4, generator=noise, dtype=torch.float64)
    queue, labels = torch.randn(2, 4, generator=noise, dtype=torch.float64), torch.tensor([0, 0, 1, 0, 0, 2])
    found = variants(a, b, labels, queue, tau)
    return (
        a,
        b,
        labels,
        lambda words: next(v for name, v in found.items() if words in " | ".join(name)).item(),
    )


@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_the_table_of_names_agrees_with_pytorch_metric_learning(variants, tau):
    pml = pytest.importorskip("pytorch_metric_learning.losses")
    a, b, labels, found = numbers(variants, tau)
    both, partners = torch.cat([a, b]), torch.arange(3).repeat(2)
    about = lambda loss: pytest.approx(loss.item(), abs=1e-6)  # noqa: E731
    assert found("NT-Xent | nt_xent") == about(pml.NTXentLoss(temperature=tau)(both, partners))
    assert found("NTXentLoss, with these labels") == about(pml.NTXentLoss(temperature=tau)(both, labels))
    assert found("SupCon | sup_con, mean_valid") == about(pml.SupConLoss(temperature=tau)(both, labels))


@pytest.mark.filterwarnings("ignore:The MultipleNegativesSymmetricRankingLoss is deprecated")
@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_the_table_of_names_agrees_with_sentence_transformers(variants, tau):
    module = pytest.importorskip("sentence_transformers.losses")
    a, b, _, found = numbers(variants, tau)

    def theirs(name):
        loss = getattr(module, name)(torch.nn.Identity(), scale=1 / tau)
        return pytest.approx(loss.compute_loss_from_embeddings([a, b], None).item(), abs=1e-6)

    assert found("InfoNCE | info_nce") == theirs("MultipleNegativesRankingLoss")
    assert found("MultipleNegativesSymmetricRankingLoss") == theirs("MultipleNegativesSymmetricRankingLoss")


def test_the_table_of_names_holds_its_fixed_ratios(variants):
    *_, found = numbers(variants, 0.5)
    assert found("released code") == pytest.approx(2 * found("NT-Xent | nt_xent"))
    assert found("CAPT") == pytest.approx(6 * found("NT-Xent | nt_xent"))
    assert found("NT-Xent | CAPT eq. 4: a sum") == pytest.approx(6 * found("NT-Xent | nt_xent"))
    assert found("times tau / 0.07") == pytest.approx(found("SupCon | sup_con, mean;") * 0.5 / 0.07)
    assert found("MoCo") > 0
