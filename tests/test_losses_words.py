"""The sum over blocks against the plain losses: value, gradient, memory."""

import pytest
import torch
from conftest import make_encoder
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit import losses
from contrast_kit.fast import WordScores

M, V, D = 37, 101, 16


def inputs(dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    shapes = dict(states=(M, D), weight=(V, D), bias=(V,), copying=(M,))
    found = {
        name: torch.randn(*shape, generator=g, dtype=dtype)
        for name, shape in shapes.items()
    }
    found = {name: value.requires_grad_() for name, value in found.items()}
    original = torch.randint(V, (M,), generator=g)
    read = torch.where(
        torch.rand(M, generator=g) < 0.5, original, torch.randint(V, (M,), generator=g)
    )
    return found, original, read


def scores(x):
    return x["states"] @ x["weight"].T + x["bias"]


def word_scores(x):
    return WordScores(x["states"], x["weight"], x["bias"])


LOSSES = {
    "mlm": lambda scores, x, original, read: losses.mlm(scores, original),
    "mlm by text": lambda scores, x, original, read: losses.mlm(
        scores, original, reduction="mean_per_seq", rows=torch.arange(M) // 5
    ),
    "paper": lambda scores, x, original, read: losses.corrective_lm(
        scores, x["copying"], read, original
    ),
    "authors": lambda scores, x, original, read: losses.corrective_lm(
        scores, x["copying"], read, original, variant="authors_code", reduction="sum"
    ),
    "all tokens": lambda scores, x, original, read: losses.all_token_lm(
        scores, x["copying"], read, original
    ),
    "one by one": lambda scores, x, original, read: (
        losses.mlm(scores, original, reduction="none").square().sum()
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("numbers", [1, 500])
@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 3e-6)]
)
def test_in_blocks_a_loss_has_the_value_and_gradient_of_the_plain_form(
    name, numbers, dtype, limit, monkeypatch
):
    monkeypatch.setattr(ck.fast, "SCORES_AT_ONCE", numbers)
    x, original, read = inputs(dtype)
    original[3] = -100  # a row that is to be skipped
    plain = LOSSES[name](scores(x), x, original, read)
    ours = LOSSES[name](word_scores(x), x, original, read)
    assert ours.item() == pytest.approx(plain.item(), rel=limit)
    wanted, found = (
        torch.autograd.grad(3 * loss, list(x.values()), materialize_grads=True)
        for loss in (plain, ours)
    )
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).abs().max() <= limit * max(b.abs().max(), 1e-3)


def test_frozen_words_without_bias_and_no_gradient():
    x, labels, _ = inputs()
    x["weight"].requires_grad_(False)
    x["bias"] = None
    (gradient,) = torch.autograd.grad(losses.mlm(word_scores(x), labels), x["states"])
    plain = F.cross_entropy(x["states"] @ x["weight"].T, labels)
    assert torch.allclose(
        gradient, torch.autograd.grad(plain, x["states"])[0], atol=1e-12
    )
    with torch.no_grad():
        assert not losses.mlm(word_scores(x), labels).requires_grad


def test_guesses_come_with_the_loss_or_by_themselves(blocks):
    x, labels, read = inputs()
    expected = losses.guesses(scores(x), labels, read)
    alone = losses.guesses(word_scores(x), labels, read)
    in_blocks = word_scores(x)
    losses.corrective_lm(in_blocks, x["copying"], read, labels)
    made = len(blocks)
    beside = losses.guesses(in_blocks, labels, read)
    assert len(blocks) == made  # no further pass
    log_q = scores(x).log_softmax(1)
    assert (
        torch.equal(expected.best, log_q.argmax(1)) and not expected.log_q.requires_grad
    )
    assert torch.allclose(expected.log_other, log_q.gather(1, read[:, None])[:, 0])
    for found in (alone, beside):
        assert all(torch.allclose(a, b) for a, b in zip(found, expected, strict=True))


def test_bf16_under_autocast_is_near_and_finite(monkeypatch):
    monkeypatch.setattr(
        "contrast_kit.fast.vocabulary.WORDS_AT_ONCE", 7
    )  # the last part is smaller
    x, labels, _ = inputs(torch.float32)
    plain = losses.mlm(scores(x), labels)
    exact = torch.autograd.grad(plain, [x["states"], x["weight"]])
    with torch.autocast("cpu", torch.bfloat16):
        ours = losses.mlm(word_scores(x), labels)
    assert ours.dtype == torch.float32 and ours.item() == pytest.approx(
        plain.item(), rel=2e-2
    )
    assert abs(ours.item() - plain.item()) > 1e-5 * plain.item()  # other digits: it is on
    for a, b in zip(
        torch.autograd.grad(ours, [x["states"], x["weight"]]), exact, strict=True
    ):
        assert a.isfinite().all() and (a - b).abs().max() < 3e-2 * b.abs().max()


def test_a_second_derivative_is_refused_and_not_zero():
    x, labels, _ = inputs()
    (once,) = torch.autograd.grad(
        losses.mlm(word_scores(x), labels), x["states"], create_graph=True
    )
    assert once.abs().sum() > 0
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        once.square().sum().backward()


class Largest(TorchDispatchMode):
    """The most numbers in one tensor."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(value, torch.Tensor):
                self.numbers = max(self.numbers, value.numel())
        return out


def test_no_tensor_is_larger_than_a_block_or_the_words(monkeypatch):
    monkeypatch.setattr(ck.fast, "SCORES_AT_ONCE", 500)
    x, labels, _ = inputs()
    with Largest() as largest:
        losses.mlm(word_scores(x), labels).backward()
    assert largest.numbers == V * D  # the plain form: M * V, three times


MANY = {
    "mlm": lambda e: ck.objectives.MLM(e),
    "all_token": lambda e: ck.objectives.AllTokenMLM(e),
    "coco_lm": lambda e: ck.objectives.COCOLM(e),
    "narrow": lambda e: ck.objectives.COCOLM(e, auxiliary="narrow", task="plain_lm"),
}


@pytest.mark.parametrize("name", MANY)
def test_objectives_in_blocks_give_the_same_parts_and_gradients(
    name, tokenizer, batch, monkeypatch, blocks
):
    found = []
    for numbers in (ck.fast.SCORES_AT_ONCE, 7 * len(tokenizer)):
        assert not blocks  # the first time all scores stand together
        monkeypatch.setattr(ck.fast, "SCORES_AT_ONCE", numbers)
        objective = MANY[name](make_encoder(tokenizer)).double()
        parts = objective(batch, torch.Generator().manual_seed(7))
        parts["loss"].backward()
        found.append(
            (
                parts,
                {
                    n: p.grad
                    for n, p in objective.named_parameters()
                    if p.grad is not None
                },
            )
        )
    assert len(blocks) > 2
    (plain, expected), (in_blocks, ours) = found
    assert {n: v.item() for n, v in in_blocks.items()} == pytest.approx(
        {n: v.item() for n, v in plain.items()}
    )
    assert expected.keys() == ours.keys()
    assert all(torch.allclose(ours[n], expected[n], atol=1e-12) for n in expected)
