"""The checkers of notebook 13: the right answers pass, each usual mistake gets its own hint."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from contrast_kit.exercises import judge, names


def official(n):
    return (n * min((n - 1) / 3, 1) + (10 - n) * min(n / 3, 1)) / 10


def one_by_one(n):
    """As the definition has it: each of ten people left out."""
    people = [1] * n + [0] * (10 - n)
    return sum(min(sum(people[:i] + people[i + 1 :]) / 3, 1) for i in range(10)) / 10


def other(image_id):
    return image_id[:, None] != image_id[None, :]


def bce(logits, scores):
    return binary_cross_entropy_with_logits(logits, scores, reduction="none")


def by_hand(logits, scores):
    p = logits.sigmoid()
    return -(scores * p.log() + (1 - scores) * (1 - p).log()).sum(1).mean()


def clamped(logits, scores):
    """Probabilities first: torch cuts their logarithms off at -100."""
    return torch.nn.functional.binary_cross_entropy(logits.sigmoid(), scores, reduction="none").sum(1).mean()


def shifted(logits, scores):
    p = logits.sigmoid()
    return -(scores * (p + 1e-9).log() + (1 - scores) * (1 - p + 1e-9).log()).sum(1).mean()


def grouped(right, sentences):
    return [[r for r, s in zip(right, sentences, strict=True) if s == name] for name in dict.fromkeys(sentences)]


RIGHT = {
    "13.vqa_accuracy": official,
    "13.wrong_texts": lambda image_id, true_of: other(image_id) & ~true_of.T,
    "13.soft_answers": lambda logits, scores: bce(logits, scores).sum(1).mean(),
    "13.consistency": lambda right, sentences: sum(map(all, (g := grouped(right, sentences)))) / len(g),
}


def test_every_exercise_has_its_answer_here():
    assert set(names("13")) == set(RIGHT)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name):
    assert judge(name, RIGHT[name]).right, judge(name, RIGHT[name])
    assert judge(name, lambda *args: None).right is None


def test_an_answer_may_change_what_it_is_given():
    softplus = torch.nn.functional.softplus
    in_place = lambda z, s: (softplus(z.neg_()) - (1 - s) * z).sum(1).mean()  # noqa: E731
    assert judge("13.soft_answers", in_place).right


def test_other_forms_of_a_right_answer_pass():
    softplus = torch.nn.functional.softplus
    assert judge("13.soft_answers", lambda z, s: (softplus(z) - s * z).sum(1).mean()).right
    assert judge(
        "13.soft_answers", lambda z, s: torch.stack([bce(*row).sum() for row in zip(z, s, strict=True)]).mean()
    ).right
    wrong = lambda r, s: {name for ok, name in zip(r, s, strict=True) if not ok}  # noqa: E731
    assert judge("13.consistency", lambda r, s: 1 - len(wrong(r, s)) / len(set(s))).right


def test_the_definition_in_loops_is_right_too():
    assert judge("13.vqa_accuracy", one_by_one).right


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("13.vqa_accuracy", lambda n: min(n / 3, 1), "among all ten"),
        ("13.vqa_accuracy", lambda n: min(max(n - 1, 0) / 3, 1), "Only n of the ten"),
        ("13.vqa_accuracy", lambda n: float(n > 5), "majority"),
        ("13.vqa_accuracy", lambda n: n / 10, "share of the people"),
        ("13.vqa_accuracy", lambda n: 10 * official(n), "divide by 10"),
        ("13.vqa_accuracy", lambda n: (n * (n - 1) / 3 + (10 - n) * n / 3) / 10, "at most 1"),
        ("13.vqa_accuracy", lambda n: 0.5, "For n = 0 it gives 0.5"),
        ("13.vqa_accuracy", lambda n: official(n) * 10 / 9, "For n = 1 it gives 0.3333"),
        ("13.vqa_accuracy", lambda n: float(n >= 3), "All or nothing"),
        ("13.wrong_texts", lambda i, t: other(i) & ~t, "transpose"),
        ("13.wrong_texts", lambda i, t: other(i), "true_of says so"),
        ("13.wrong_texts", lambda i, t: ~torch.eye(4, dtype=torch.bool), "one picture"),
        ("13.wrong_texts", lambda i, t: ~(other(i) & ~t.T), "opposite"),
        ("13.wrong_texts", lambda i, t: t.T, "opposite"),
        ("13.wrong_texts", lambda i, t: ~t.T, "though true_of does not know it"),
        ("13.wrong_texts", lambda i, t: ~t.T & ~torch.eye(4, dtype=torch.bool), "though true_of does not know it"),
        ("13.wrong_texts", lambda i, t: torch.ones(4), "[B, B]"),
        ("13.wrong_texts", lambda i, t: torch.ones(4, 4), "Another picture's text"),
        ("13.soft_answers", binary_cross_entropy_with_logits, "divides the gradient by A"),
        ("13.soft_answers", lambda z, s: bce(z, s).sum(), "divide by B"),
        ("13.soft_answers", lambda z, s: cross_entropy(z, s.argmax(1)), "one right answer"),
        ("13.soft_answers", lambda z, s: cross_entropy(z, s), "compete"),
        ("13.soft_answers", lambda z, s: bce(z, (s > 0).double()).sum(1).mean(), "rounded up"),
        ("13.soft_answers", lambda z, s: -bce(z, s).sum(1).mean(), "sign"),
        ("13.soft_answers", lambda z, s: -(s * z.sigmoid().log()).sum(1).mean(), "second half"),
        ("13.soft_answers", lambda z, s: 0.0, "mean over questions"),
        ("13.soft_answers", lambda z, s: bce(z, s).sum(1), "Return one number, the mean over questions"),
        ("13.soft_answers", by_hand, "for logits of 1000 and -1000 it gives inf"),
        ("13.soft_answers", clamped, "for logits of 1000 and -1000 it gives 130, not 1300"),
        ("13.soft_answers", shifted, "for logits of 1000 and -1000 it gives 26.94, not 1300"),
        ("13.soft_answers", lambda z, s: bce(z, s).sum(1).mean().item(), "no gradient comes back"),
        ("13.soft_answers", lambda z, s: bce(z.detach(), s).sum(1).mean() + 0 * z.sum(), "not the gradient"),
        ("13.consistency", lambda r, s: sum(r) / len(r), "accuracy"),
        ("13.consistency", lambda r, s: sum(len(g) for g in grouped(r, s) if all(g)) / len(r), "count sentences"),
        ("13.consistency", lambda r, s: float(sum(map(all, grouped(r, s)))), "number of sentences"),
        ("13.consistency", lambda r, s: sum(map(any, grouped(r, s))) / 3, "not enough"),
        ("13.consistency", lambda r, s: sum(sum(g) / len(g) for g in grouped(r, s)) / 3, "all or nothing"),
        ("13.consistency", lambda r, s: sum(map(all, grouped(r, s))) / len(r), "not of pairs"),
        ("13.consistency", lambda r, s: 0.1, "are all its pairs right"),
        ("13.consistency", lambda r, s: 2 / 3, "it gives 0.6667"),
        ("13.consistency", lambda r, s: 1 - (len(r) - sum(r)) / len(set(s)), "one wrong sentence"),
        ("13.consistency", lambda r, s: sum(dict(zip(s, r, strict=True)).values()) / len(set(s)), "last pair"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text
