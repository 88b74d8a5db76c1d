"""The checkers of notebook 06: the right answers pass, each usual mistake gets its own hint."""

import pytest
import torch
from torch.nn.functional import one_hot

from contrast_kit import losses
from contrast_kit.exercises import judge, names


def parts(logits, copying, corrupted):
    return copying.sigmoid()[:, None], one_hot(corrupted, logits.shape[1]), logits.softmax(-1)


def mixture(logits, copying, corrupted):
    p1, here, q = parts(logits, copying, corrupted)
    return p1 * here + (1 - p1) * q


def own(probabilities, original):
    return -probabilities.gather(1, original[:, None]).log().mean()


RIGHT = {
    "06.labels": lambda corrupted, original, selected: corrupted == original,
    "06.p_lm": mixture,
    "06.corrective_lm": lambda z, c, x, y: own(mixture(z, c.detach(), x), y),
    "06.negatives": lambda N: 2 * N - 2,
}


def test_right_answers():
    assert names("06") == sorted(RIGHT)
    for name, answer in RIGHT.items():
        assert judge(name, answer).right, judge(name, answer)


def test_no_answer_is_not_yet():
    for name in RIGHT:
        assert judge(name, lambda *args: None).right is None


def without_indicator(z, c, x, y):
    p1 = c.detach().sigmoid()
    q = z.softmax(-1).gather(1, y[:, None])[:, 0]
    return -(p1 + (1 - p1) * q).log().mean()


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("06.labels", lambda x, y, m: ~m, "was not masked"),
        ("06.labels", lambda x, y, m: m, "was masked"),
        ("06.labels", lambda x, y, m: x != y, "polarity"),
        ("06.labels", lambda x, y, m: m & (x == y), "all"),
        ("06.labels", lambda x, y, m: (x == y)[m], "shape"),
        ("06.labels", lambda x, y, m: y * (x == y), "yours are [11, 12, 0, 14, 0, 16]"),
        ("06.labels", lambda x, y, m: 2 * (x == y) - 1, "1 or 0; yours are [1, 1, -1"),
        ("06.p_lm", lambda z, c, x: z.softmax(-1), "softmax alone"),
        ("06.p_lm", lambda z, c, x: parts(z, c, x)[0] * parts(z, c, x)[1] + z.softmax(-1), "more than one"),
        ("06.p_lm", lambda z, c, x: c.sigmoid()[:, None] + (1 - c.sigmoid()[:, None]) * z.softmax(-1), "indicator"),
        ("06.p_lm", lambda z, c, x: mixture(z, -c, x), "polarity"),
        ("06.p_lm", lambda z, c, x: (1 - c.sigmoid()[:, None]) * z.softmax(-1), "second term"),
        ("06.p_lm", lambda z, c, x: mixture(z, c, x).sum(1), "every word"),
        ("06.corrective_lm", lambda z, c, x, y: losses.mlm(z, y), "plain cross-entropy"),
        ("06.corrective_lm", lambda *v: losses.corrective_lm(*v, variant="authors_code"), "released code"),
        ("06.corrective_lm", without_indicator, "indicator"),
        ("06.corrective_lm", lambda z, c, x, y: own(mixture(z, -c.detach(), x), y), "polarity"),
        ("06.corrective_lm", lambda *v: losses.corrective_lm(*v, reduction="sum"), "not a sum"),
        ("06.corrective_lm", lambda *v: -losses.corrective_lm(*v), "sign"),
        ("06.corrective_lm", lambda *v: losses.corrective_lm(*v, reduction="none"), "one number"),
        ("06.corrective_lm", lambda *v: losses.all_token_lm(*v), "flows into p_copy"),
        ("06.corrective_lm", lambda z, *v: losses.corrective_lm(z.detach(), *v) + 0 * z.sum(), "not the gradient"),
        ("06.negatives", lambda N: N - 1, "one view only"),
        ("06.negatives", lambda N: 2 * N - 1, "the positive"),
        ("06.negatives", lambda N: 2 * N, "itself and its partner"),
        ("06.negatives", lambda N: N, "number of texts"),
        ("06.corrective_lm", lambda z, c, *v: losses.corrective_lm(z.detach(), c.detach(), *v), "no gradient comes"),
        ("06.corrective_lm", lambda *v: losses.corrective_lm(*v).item(), "Detach only the copy scores"),
        ("06.p_lm", lambda z, c, x: mixture(z, c.softmax(0).logit(), x), "Each row sums to 1, as it should"),
        ("06.p_lm", lambda z, c, x: mixture(z, c, x) / 2, "Row 0 sums to 0.500"),
        ("06.negatives", lambda N: N * N, "how many members"),
        ("06.negatives", lambda N: 6, "For N = 64 texts you say 6"),
    ],
)  # fmt: skip
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict


def test_labels_do_not_take_the_tensor_of_another_kind():
    assert judge("06.labels", lambda x, y, m: torch.eq(x, y).long()).right
