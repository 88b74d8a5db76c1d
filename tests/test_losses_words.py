"""The sum over blocks against the plain losses: value, gradient, memory."""

import pytest
import torch
from conftest import make_encoder
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit.losses.corrective import corrective_terms
from contrast_kit.losses.tokens import mlm_terms

M, V, D = 37, 101, 16


def inputs(dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    shapes = dict(states=(M, D), weight=(V, D), bias=(V,), copying=(M,))
    found = {name: torch.randn(*shape, generator=g, dtype=dtype) for name, shape in shapes.items()}
    found = {name: value.requires_grad_() for name, value in found.items()}
    original = torch.randint(V, (M,), generator=g)
    read = torch.where(torch.rand(M, generator=g) < 0.5, original, torch.randint(V, (M,), generator=g))
    return found, original, read


def scores(x):
    return x["states"] @ x["weight"].T + x["bias"]


def summed(x, terms, labels, *rows, numbers=500, **options):
    return ck.fast.sum_over_words(
        terms, x["states"], x["weight"], x["bias"], labels, *rows, numbers_at_once=numbers, **options
    )


@pytest.mark.parametrize("numbers", [1, 500, V * M, 10**9])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_masked_lm(numbers, dtype, limit):
    x, labels, _ = inputs(dtype)
    plain = ck.losses.mlm(scores(x), labels, reduction="sum")
    ours = summed(x, lambda log_q: -log_q, labels, numbers=numbers).total
    assert ours.item() == pytest.approx(plain.item(), rel=limit)
    names = ("states", "weight", "bias")
    for a, b in zip(*(torch.autograd.grad(3 * y, [x[n] for n in names]) for y in (ours, plain)), strict=True):
        assert (a - b).abs().max() <= limit * b.abs().max()


@pytest.mark.parametrize("variant", ["paper", "authors_code"])
@pytest.mark.parametrize("stop", [True, False])
def test_corrective_lm(variant, stop):
    x, original, read = inputs()
    options = dict(variant=variant, stop_gradient=stop, reduction="sum")
    plain = ck.losses.corrective_lm(scores(x), x["copying"], read, original, **options)
    copying = x["copying"].detach() if stop else x["copying"]

    def terms(log_q, copying, same):
        return corrective_terms(log_q, copying, same, variant)

    ours = summed(x, terms, original, copying, read == original).total
    assert ours.item() == pytest.approx(plain.item(), rel=1e-12)
    leaves = list(x.values())[: 3 if stop else 4]
    for a, b in zip(torch.autograd.grad(ours, leaves), torch.autograd.grad(plain, leaves), strict=True):
        assert torch.allclose(a, b, atol=1e-12)


def test_what_was_found_besides():
    x, labels, read = inputs()
    found = summed(x, lambda log_q: -log_q, labels, others=read)
    log_q = scores(x).log_softmax(1)
    assert torch.allclose(found.log_q, log_q.gather(1, labels[:, None])[:, 0])
    assert torch.allclose(found.log_other, log_q.gather(1, read[:, None])[:, 0])
    assert torch.equal(found.best, log_q.argmax(1)) and torch.allclose(found.log_best, log_q.max(1).values)
    assert found.total.requires_grad and not any(value.requires_grad for value in found[1:])


def test_frozen_weights_no_bias_and_no_gradient():
    x, labels, _ = inputs()
    x["weight"].requires_grad_(False)
    x["bias"] = None
    ours = summed(x, lambda log_q: -log_q, labels).total
    (grad,) = torch.autograd.grad(ours, x["states"])
    plain = F.cross_entropy(x["states"] @ x["weight"].T, labels, reduction="sum")
    assert torch.allclose(grad, torch.autograd.grad(plain, x["states"])[0], atol=1e-12)
    with torch.no_grad():
        assert not summed(x, lambda log_q: -log_q, labels).total.requires_grad


def test_no_positions_and_extreme_scores():
    x, labels, _ = inputs()
    none = ck.fast.sum_over_words(lambda log_q: -log_q, x["states"][:0], x["weight"], None, labels[:0])
    none.total.backward()
    assert none.total == 0 and x["weight"].grad.abs().max() == 0
    far = {name: value.detach() * 200 for name, value in x.items()}
    plain = ck.losses.mlm(scores(far), labels, reduction="sum")
    assert summed(far, lambda log_q: -log_q, labels).total.item() == pytest.approx(plain.item())


def test_bf16_under_autocast_is_near_and_finite():
    x, labels, _ = inputs(torch.float32)
    plain = ck.losses.mlm(scores(x), labels, reduction="sum")
    exact = torch.autograd.grad(plain, [x["states"], x["weight"]])
    with torch.autocast("cpu", torch.bfloat16):
        ours = summed(x, lambda log_q: -log_q, labels).total
    assert ours.dtype == torch.float32 and ours.item() == pytest.approx(plain.item(), rel=2e-2)
    assert abs(ours.item() - plain.item()) > 1e-5 * plain.item()  # other digits: it is on
    for a, b in zip(torch.autograd.grad(ours, [x["states"], x["weight"]]), exact, strict=True):
        assert a.isfinite().all() and (a - b).abs().max() < 3e-2 * b.abs().max()


def test_bad_input_is_refused():
    x, labels, _ = inputs()
    with pytest.raises(ValueError, match="ids in 0 .. 100"):
        summed(x, lambda log_q: -log_q, labels + V)
    with pytest.raises(ck.losses.NotFiniteError, match="diverged"):
        summed(x | {"states": x["states"] * torch.nan}, lambda log_q: -log_q, labels)
    with pytest.raises(ValueError, match="one number per position"):  # or it would depend on the blocks
        summed(x, lambda log_q: -log_q.mean(), labels)
    total = summed(x, lambda log_q: -log_q, labels).total
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="one backward"):
        total.backward()


def test_a_second_derivative_is_refused_and_not_zero():
    x, labels, _ = inputs()
    total = summed(x, lambda log_q: -log_q, labels).total
    (once,) = torch.autograd.grad(total, x["states"], create_graph=True)
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


class LargestProduct(Largest):
    """The most numbers in one matrix product."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.mm.default:
            return super().__torch_dispatch__(function, types, args, kwargs)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("numbers", [500, 10**9])
def test_in_bf16_some_words_at_a_time_get_the_same_gradient(numbers, monkeypatch):
    x, labels, _ = inputs(torch.float32)
    found, largest = [], []
    for at_once in (10**9, 7):  # the last part is smaller
        monkeypatch.setattr("contrast_kit.fast.blocked_softmax.WORDS_AT_ONCE", at_once)
        with torch.autocast("cpu", torch.bfloat16), LargestProduct() as product:
            total = summed(x, lambda log_q: -log_q, labels, numbers=numbers).total
        found.append(torch.autograd.grad(total, x["weight"])[0])
        largest.append(product.numbers)
    assert torch.equal(*found) and found[0].abs().sum() > 0
    assert largest[0] == V * D > largest[1]


def test_no_tensor_is_larger_than_a_block_or_the_words():
    x, labels, _ = inputs()
    with Largest() as largest:
        summed(x, lambda log_q: -log_q, labels, numbers=500).total.backward()
    assert largest.numbers == V * D  # the plain form: M * V, three times


@pytest.mark.parametrize("relative", [False, True])
def test_an_encoder_finds_the_same_in_blocks_as_from_all_its_scores(relative, tokenizer, monkeypatch, blocks):
    encoder = make_encoder(tokenizer, relative_positions=relative).double()
    g = torch.Generator().manual_seed(0)
    states = torch.randn(M, encoder.width, generator=g, dtype=torch.float64)
    labels, read = torch.randint(len(tokenizer), (2, M), generator=g)
    weight = torch.rand(M, generator=g, dtype=torch.float64)
    plain = encoder.word_loss(mlm_terms, states, labels, weight, others=read)
    assert not blocks
    monkeypatch.setattr(ck.fast, "SCORES_AT_ONCE", 7 * len(tokenizer))
    in_blocks = encoder.word_loss(mlm_terms, states, labels, weight, others=read)
    assert plain._fields == in_blocks._fields
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(plain, in_blocks, strict=True))
    assert len(blocks) == 6  # of 7 positions at most
    log_p = encoder.mlm_logits(states).log_softmax(1)
    assert torch.allclose(plain.total, -(weight * log_p.gather(1, labels[:, None])[:, 0]).sum())
    assert torch.equal(plain.best, log_p.argmax(1))
    assert torch.allclose(plain.log_other, log_p.gather(1, read[:, None])[:, 0])


MANY = {
    "mlm": lambda e: ck.objectives.MLM(e),
    "mlm by sequence": lambda e: ck.objectives.MLM(e, mlm_mean="sequences"),
    "all_token": lambda e: ck.objectives.AllTokenMLM(e),
    "coco_lm": lambda e: ck.objectives.COCOLM(e),
    "narrow": lambda e: ck.objectives.COCOLM(e, auxiliary="narrow", task="plain_lm"),
}


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("relative", [False, True])
def test_objectives_in_blocks_give_the_same_parts_and_gradients(name, relative, tokenizer, batch, monkeypatch, blocks):
    found = []
    for numbers in (ck.fast.SCORES_AT_ONCE, 7 * len(tokenizer)):
        assert not blocks  # the first time all scores stand together
        monkeypatch.setattr(ck.fast, "SCORES_AT_ONCE", numbers)
        objective = MANY[name](make_encoder(tokenizer, relative_positions=relative)).double()
        parts = objective(batch, torch.Generator().manual_seed(7))
        parts["loss"].backward()
        found.append((parts, {n: p.grad for n, p in objective.named_parameters() if p.grad is not None}))
    assert len(blocks) > 2
    (plain, expected), (in_blocks, ours) = found
    assert {n: v.item() for n, v in in_blocks.items()} == pytest.approx({n: v.item() for n, v in plain.items()})
    assert expected.keys() == ours.keys()
    assert all(torch.allclose(ours[n], expected[n], atol=1e-12) for n in expected)
