"""The checkers of notebook 08: the right answers pass, each usual mistake gets its own hint."""

import pytest
import torch

from contrast_kit import geometry, losses
from contrast_kit.exercises import judge, names
from contrast_kit.objectives import schedules


def weighted_mean(s, s_hat, i, tau, candidates):
    return ((candidates @ s[i] / tau).softmax(0) @ candidates - s_hat[i]) / tau


def others(s, i):
    return torch.cat([s[:i], s[i + 1 :]])


def eq_5(s, s_hat, i, tau):
    return weighted_mean(s, s_hat, i, tau, torch.cat([s_hat, others(s, i)]))


def eq_5_without_minus_Z(s, s_hat, i, tau):
    candidates = torch.cat([s_hat, others(s, i)])
    return (candidates @ s[i] / tau).softmax(0) @ candidates / tau


def not_divided_by_Z(s, s_hat, i, tau):
    Z = (torch.cat([s_hat, others(s, i)]) @ s[i] / tau).exp().sum()
    return eq_5(s, s_hat, i, tau) * Z


def through_the_norm(s, s_hat, i, tau):
    leaf = s[i].clone().requires_grad_()
    logits = torch.cat([s_hat, others(s, i)]) @ torch.nn.functional.normalize(leaf, dim=0) / tau
    return torch.autograd.grad(logits.logsumexp(0) - logits[i], leaf)[0]


def eq_4(s, s_hat, i, tau, unit=True):
    leaf = s.clone().requires_grad_()
    x = torch.cat([leaf, s_hat])
    scores = (losses.cosine_matrix(x) if unit else x @ x.T) / tau
    scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
    partner = torch.arange(len(x)).roll(len(s))
    return torch.autograd.grad(torch.nn.functional.cross_entropy(scores, partner, reduction="sum"), leaf)[0][i]


def moved(clean, noisy):
    return (losses.normalise(clean) - losses.normalise(noisy)).square().sum(1)


def apart(a, b, *, unit=True, itself=False):
    a, b = (losses.normalise(x) if unit else x for x in (a, b))
    return torch.cdist(a, b).square()[~torch.eye(len(a), dtype=torch.bool) | itself]


RIGHT = {
    "08.sensitivity": lambda clean, noisy: moved(clean, noisy).mean() / apart(clean, clean).mean(),
    "08.temperature": schedules.inverted_triangle,
    "08.denominator": lambda n, Q: 2 * n - 1 + Q,
    "08.gradient": eq_5,
    "08.push": lambda queue, new, capacity: (queue + new)[-capacity:],
}


def test_every_exercise_has_its_answer_here():
    assert set(names("08")) == set(RIGHT)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name):
    assert judge(name, RIGHT[name]).right, judge(name, RIGHT[name])
    assert judge(name, lambda *args: None).right is None


def test_the_printed_sum_of_equation_5_is_right_too():
    def printed(s, s_hat, i, tau):
        e = lambda c: torch.exp(s[i] @ c / tau)  # noqa: E731
        rest = [j for j in range(len(s)) if j != i]
        Z = sum(e(c) for c in s_hat) + sum(e(s[j]) for j in rest)
        total = sum(e(s[j]) * s[j] + e(s_hat[j]) * s_hat[j] for j in rest) + (e(s_hat[i]) - Z) * s_hat[i]
        return total / (tau * Z)

    assert judge("08.gradient", printed).right


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("08.temperature", lambda t, T: 0.55 - abs(t - T / 2) / T, "inverted"),
        ("08.temperature", lambda t, T: abs(t - T / 2) / T, "0.05 is missing"),
        ("08.temperature", lambda t, T: 2 * abs(t - T / 2) / T + 0.05, "slope"),
        ("08.temperature", lambda t, T: abs(t - T // 2) / T + 0.05, "odd"),
        ("08.temperature", lambda t, T: (t - T / 2) / T + 0.05, "absolute"),
        ("08.temperature", lambda t, T: abs(t - T / 2) + 0.05, "1/T"),
        ("08.temperature", lambda t, T: 0.1, "τ(0)"),
        ("08.denominator", lambda n, Q: 2 * n + Q, "left out"),
        ("08.denominator", lambda n, Q: 2 * n - 2 + Q, "positive"),
        ("08.denominator", lambda n, Q: n + Q, "one view's vectors"),
        ("08.denominator", lambda n, Q: n - 1 + Q, "one view's negatives"),
        ("08.denominator", lambda n, Q: 2 * n - 1, "Without the queue"),
        ("08.denominator", lambda n, Q: Q + 1, "replace"),
        ("08.denominator", lambda n, Q: 4 * n - 2 + Q, "directions"),
        ("08.denominator", lambda n, Q: 0, "Count"),
        ("08.denominator", lambda n, Q: 22, "For 16 texts and a queue of 0 it gives 22"),
        ("08.denominator", lambda n, Q: max(2 * n - 1, Q), "replace"),
        ("08.gradient", lambda *v: eq_5(*v) * v[3], "1/τ is missing"),
        ("08.gradient", lambda *v: eq_5(*v) / v[3], "twice"),
        ("08.gradient", lambda *v: -eq_5(*v), "sign"),
        ("08.gradient", eq_5_without_minus_Z, "−Z"),
        ("08.gradient", lambda s, h, i, tau: weighted_mean(s, h, i, tau, torch.cat([h, s])), "anchor itself"),
        ("08.gradient", lambda s, h, i, tau: weighted_mean(s, h, i, tau, h), "Only ŝ_j"),
        (
            "08.gradient",
            lambda s, h, i, tau: weighted_mean(s, h, i, tau, torch.cat([others(h, i), others(s, i)])),
            "positive belongs",
        ),
        ("08.gradient", not_divided_by_Z, "Divide by Z"),
        ("08.gradient", through_the_norm, "ℓ2"),
        ("08.gradient", lambda s, h, i, tau: losses.nt_xent_anchor_gradient(s, h, tau), "one vector"),
        ("08.gradient", lambda s, h, i, tau: s[i], "its share of Z"),
        ("08.gradient", eq_4, "gradient of eq. 4"),
        ("08.gradient", lambda *v: eq_4(*v, unit=False), "gradient of eq. 4"),
        ("08.push", lambda queue, new, capacity: queue + new, "oldest must leave"),
        ("08.push", lambda queue, new, capacity: (queue + new)[:capacity], "turn the newest away"),
        ("08.push", lambda queue, new, capacity: (new + queue)[:capacity], "order"),
        ("08.push", lambda queue, new, capacity: new[-capacity:], "empty the queue"),
        ("08.push", lambda queue, new, capacity: [], "should be"),
        ("08.push", lambda queue, new, capacity: 3, "a list"),
        ("08.push", lambda queue, new, capacity: queue.extend(new), "ran, but returned None"),
        ("08.sensitivity", lambda c, x: moved(c, x).mean(), "unit is missing"),
        ("08.sensitivity", lambda c, x: 1 - geometry.pair_cosines(c, x).mean(), "unit is missing"),
        ("08.sensitivity", lambda c, x: apart(c, c).mean(), "the unit alone"),
        ("08.sensitivity", lambda c, x: apart(c, c).mean() / moved(c, x).mean(), "Upside down"),
        ("08.sensitivity", lambda c, x: (c - x).square().sum(1).mean() / apart(c, c, unit=False).mean(), "its length"),
        ("08.sensitivity", lambda c, x: moved(c, x).sqrt().mean() / apart(c, c).sqrt().mean(), "*Squared*"),
        ("08.sensitivity", lambda c, x: moved(c, x).mean() / apart(c, c, itself=True).mean(), "i ≠ j"),
        ("08.sensitivity", lambda c, x: moved(c, x).mean() / apart(x, x).mean(), "yours have the noise"),
        ("08.sensitivity", lambda c, x: moved(c, x).mean() / apart(c, x).mean(), "one of yours has noise"),
        (
            "08.sensitivity",
            lambda c, x: geometry.pair_cosines(c, x).mean() / geometry.random_pair_cosines(c).mean(),
            "quotient of cosines",
        ),
        ("08.sensitivity", lambda c, x: moved(c, x).sum() / apart(c, c).sum(), "not sums"),
        ("08.sensitivity", lambda c, x: moved(c, x) / apart(c, c).mean(), "one number"),
        ("08.sensitivity", lambda c, x: 0.5, "Which pairs"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text
