"""The checkers of notebook 05: the right answers pass, each usual mistake gets its own hint."""

import pytest
import torch
from torch.nn.functional import cosine_similarity, cross_entropy

from contrast_kit import losses
from contrast_kit.exercises import judge

own = lambda h: torch.arange(len(h))  # noqa: E731
cos = losses.cosine_matrix


def both(z0, h0, z1, h1):
    return cosine_similarity(z0, h1, dim=1) + cosine_similarity(z1, h0, dim=1)


def test_right_answers():
    assert judge("05.hidden_share", lambda p_m, p_c: p_c * (1 - p_m)).right
    assert judge("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) / tau, own(a))).right
    right = lambda z0, h0, z1, h1: torch.exp(-both(z0, h0.detach(), z1, h1.detach()) / 2).mean()  # noqa: E731
    assert judge("05.simsiam", right).right


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
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(b, a) / tau, own(a)), "exchanged"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(a @ b.T / tau, own(a)), "cosine"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) * tau, own(a)), "do not multiply"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b) / tau / tau, own(a)), "twice"),
        ("05.info_nce", lambda a, b, tau: cross_entropy(cos(a, b), own(a)), "tau is missing"),
        ("05.info_nce", lambda a, b, tau: losses.info_nce(a, b, tau, reduction="sum"), "not a sum"),
        ("05.info_nce", lambda a, b, tau: losses.nt_xent(a, b, tau), "NT-Xent"),
        ("05.info_nce", lambda a, b, tau: -losses.info_nce(a, b, tau), "sign"),
        ("05.info_nce", lambda a, b, tau: cos(a, b), "one number"),
        ("05.simsiam", lambda *v: torch.exp(both(*v) / 2).mean(), "sign"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v)).mean(), "1/2"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v).mean() / 2), "First exp"),
        ("05.simsiam", lambda *v: -both(*v).mean() / 2, "SimSiam's own"),
        ("05.simsiam", lambda z0, h0, z1, h1: torch.exp(-both(z0, h1, z1, h0) / 2).mean(), "other"),
        ("05.simsiam", lambda *v: torch.exp(-both(*v) / 2).mean(), "a gradient flows into h"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text
