"""The checkers of notebook 05: the right answers pass, each usual mistake gets its own hint."""

import pytest
import torch
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from contrast_kit import losses
from contrast_kit.exercises import judge

own = lambda h: torch.arange(len(h))  # noqa: E731
cos, nce = losses.cosine_matrix, losses.info_nce
by_column = lambda h: normalize(h, dim=0)  # noqa: E731


def both(z0, h0, z1, h1):
    return cosine_similarity(z0, h1, dim=1) + cosine_similarity(z1, h0, dim=1)


def test_right_answers():
    assert judge("05.hidden_share", lambda p_m, p_c: p_c * (1 - p_m)).right
    assert judge("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) / tau, own(a))).right
    right = lambda z0, h0, z1, h1: torch.exp(-both(z0, h0.detach(), z1, h1.detach()) / 2).mean()  # noqa: E731
    assert judge("05.simsiam", right).right


def test_an_answer_may_normalise_in_place():
    def in_place(a, b, tau):
        for x in (a, b):
            x /= x.norm(dim=1, keepdim=True)
        return cross_entropy(a @ b.T / tau, own(a))

    assert judge("05.info_nce", in_place).right, judge("05.info_nce", in_place)


def test_no_answer_is_not_yet():
    for name in ("05.hidden_share", "05.info_nce", "05.simsiam"):
        assert judge(name, lambda *args: None).right is None


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("05.hidden_share", lambda p_m, p_c: p_c, "conditional"),
        ("05.hidden_share", lambda p_m, p_c: p_c * p_m, "hidden in both"),
        ("05.hidden_share", lambda p_m, p_c: p_c - p_m, "multiply"),
        ("05.hidden_share", lambda p_m, p_c: 0.123, "Which tokens"),
        ("05.hidden_share", lambda p_m, p_c: 0.56, "At (0.4, 0.9) it gives 0.56"),
        ("05.hidden_share", lambda p_m, p_c: p_m + p_c * (1 - p_m), "hide together"),
        ("05.hidden_share", lambda p_m, p_c: (1 - p_m) * (1 - p_c), "*neither* copy"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(b, a) / tau, own(a)), "exchanged"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(a @ b.T / tau, own(a)), "cosine"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) * tau, own(a)), "do not multiply"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) / tau / tau, own(a)), "twice"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b), own(a)), "tau is missing"),
        ("05.info_nce", lambda a, b, tau: losses.info_nce(a, b, tau, reduction="sum"), "not a sum"),
        ("05.info_nce", lambda a, b, tau: losses.nt_xent(a, b, tau), "NT-Xent"),
        ("05.info_nce", lambda a, b, tau: -losses.info_nce(a, b, tau), "sign"),
        ("05.info_nce", lambda a, b, tau: cos(a, b), "one number"),
        ("05.info_nce", lambda a, b, tau: (nce(a, b, tau) + nce(b, a, tau)) / 2, "both directions"),
        ("05.info_nce", lambda a, b, tau: -(cos(a, b) / tau).softmax(1).diag().mean(), "mean of -p"),
        ("05.info_nce", lambda a, b, tau: -(cos(a, b) / tau).softmax(1).diag().mean().log(), "First the log"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(by_column(a) @ by_column(b).T / tau, own(a)), "dim=0"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b).fill_diagonal_(-torch.inf), own(a)), "must stay"),
        ("05.info_nce", lambda a, b, tau: nce(a, b.detach(), tau), "no gradient reaches h1"),
        ("05.info_nce", lambda a, b, tau: nce(a, b, tau).item(), "no gradient comes back"),
        ("05.simsiam", lambda *v: torch.exp(both(*v) / 2).mean(), "sign"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v)).mean(), "1/2"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v).mean() / 2), "First exp"),
        ("05.simsiam", lambda *v: -both(*v).mean() / 2, "SimSiam's own"),
        ("05.simsiam", lambda z0, h0, z1, h1: torch.exp(-both(z0, h1, z1, h0) / 2).mean(), "other"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v) / 2).mean(), "a gradient flows into h"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v) / 2).mean().detach(), "no gradient comes back"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v) / 2).mean().item(), "Detach only h"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v) / 2), "Return one number, the mean over sentences"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text
