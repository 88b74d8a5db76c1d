"""The token losses: each against loops written from the paper's own symbols, its gradients and the usual mistakes."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from contrast_kit.losses import (
    all_token_lm,
    copy,
    corrective_lm,
    mlm,
    replaced_token_detection,
)

B, T, V = 3, 12, 11


def exam(seed=0):
    """A batch as an auxiliary model leaves it: at some masked positions it drew the original again."""
    g = torch.Generator().manual_seed(seed)
    original = torch.randint(V, (B, T), generator=g)
    valid = torch.arange(T) < torch.tensor([[12], [9], [5]])
    masked = (torch.rand(B, T, generator=g) < 0.5) & valid
    sampled = torch.where(
        torch.rand(B, T, generator=g) < 0.4,
        original,
        torch.randint(V, (B, T), generator=g),
    )
    corrupted = torch.where(masked, sampled, original)
    same = (corrupted == original)[masked]
    assert same.any() and not same.all() and masked.any(1).all()
    lm_logits = torch.randn(B, T, V, generator=g, dtype=torch.float64) * 2
    copy_logits = torch.randn(B, T, generator=g, dtype=torch.float64) * 2
    return original, corrupted, masked, valid, lm_logits, copy_logits


# --- the papers, in plain loops over Python floats ------------------------------------------------------


def softmax(row, x):
    """exp(x^T h) / sum_{x_t in V} exp(x_t^T h), where row[x] = x^T h."""
    return math.exp(row[x]) / sum(math.exp(value) for value in row)


def p_copy(y, wh):
    return math.exp(y * wh) / (math.exp(wh) + 1)


def l_mlm(rows, x_orig):
    return -sum(math.log(softmax(row, x)) for row, x in zip(rows, x_orig, strict=True))


def coco_eq_2(wh, x_mlm, x_orig, valid):
    """One text after the other, summed over its n tokens."""
    total = 0.0
    for b in range(len(wh)):
        for i in range(len(wh[b])):
            if valid[b][i]:
                unchanged = x_mlm[b][i] == x_orig[b][i]
                total -= unchanged * math.log(p_copy(1, wh[b][i])) + (
                    not unchanged
                ) * math.log(p_copy(0, wh[b][i]))
    return total


def p_lm(row, wh, x_mlm, x):
    return (x == x_mlm) * p_copy(1, wh) + p_copy(0, wh) * softmax(row, x)


def l_lm(rows, wh, x_mlm, x_orig):
    return -sum(
        math.log(p_lm(*each)) for each in zip(rows, wh, x_mlm, x_orig, strict=True)
    )


def close(loss, number, tolerance=1e-10):
    assert loss.dtype == torch.float64
    assert loss.item() == pytest.approx(number, rel=tolerance, abs=tolerance)


def at(selected, *tensors):
    return tuple(x[selected] for x in tensors)


# --- mlm ------------------------------------------------------------------------------------------------


def test_mlm_is_the_sum_over_masked_positions():
    original, _, masked, _, lm_logits, _ = exam()
    logits, labels = at(masked, lm_logits, original)
    number, M = l_mlm(logits.tolist(), labels.tolist()), len(labels)
    close(mlm(logits, labels, reduction="sum"), number)
    close(mlm(logits, labels), number / M)
    assert mlm(logits, labels, reduction="none").shape == (M,)


def test_mlm_takes_the_whole_batch_with_labels_of_minus_100_just_as_well():
    original, _, masked, _, lm_logits, _ = exam()
    logits, labels = at(masked, lm_logits, original)
    ignored = torch.where(masked, original, -100)
    rows = masked.nonzero()[:, 0]
    for reduction in ("mean", "sum", "mean_per_seq", "sum_per_seq"):
        close(
            mlm(lm_logits, ignored, reduction=reduction),
            mlm(logits, labels, reduction=reduction, rows=rows).item(),
        )


def test_a_mean_per_text_skips_texts_without_a_selected_token():
    logits = torch.randn(
        5, V, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    labels, rows = (
        torch.tensor([1, 2, 3, 4, 5]),
        torch.tensor([0, 0, 0, 2, 2]),
    )  # text 1 has none selected
    each = mlm(logits, labels, reduction="none")
    by_text = [each[:3].mean().item(), each[3:].mean().item()]
    close(mlm(logits, labels, reduction="mean_per_seq", rows=rows), sum(by_text) / 2)
    close(mlm(logits, labels, reduction="sum_per_seq", rows=rows), sum(by_text))
    assert mlm(logits, labels) != mlm(logits, labels, reduction="mean_per_seq", rows=rows)


# --- replaced token detection and copy ------------------------------------------------------------------


def test_copy_is_coco_eq_2():
    """The label is "unchanged", not "was not masked": the exam holds masked positions where they differ."""
    original, corrupted, masked, valid, _, copy_logits = exam()
    number = coco_eq_2(*(x.tolist() for x in (copy_logits, corrupted, original, valid)))
    close(copy(copy_logits, corrupted, original, valid, reduction="sum"), number)
    close(copy(copy_logits, corrupted, original, valid), number / int(valid.sum()))
    is_original = corrupted == original
    close(
        replaced_token_detection(copy_logits, is_original, valid, reduction="sum"), number
    )
    assert replaced_token_detection(
        copy_logits, ~masked, valid, reduction="sum"
    ).item() != pytest.approx(number)
    each = replaced_token_detection(copy_logits, is_original, valid, reduction="none")
    assert each.shape == (B, T) and not each[~valid].any()
    close(each.sum(), number)


def test_ten_more_pads_change_nothing():
    original, corrupted, _, valid, _, copy_logits = exam()

    def pad(x, value):
        return torch.nn.functional.pad(x, (0, 10), value=value)

    for junk in (0.0, 50.0, math.nan):  # not even NaN in the padding is looked at
        longer = (
            pad(copy_logits, junk),
            pad(corrupted, 7),
            pad(original, 8),
            pad(valid, False),
        )
        for reduction in ("mean", "sum"):
            close(
                copy(*longer, reduction=reduction),
                copy(copy_logits, corrupted, original, valid, reduction=reduction).item(),
            )
    logits = longer[0].clone().requires_grad_()  # NaN in the padding, still
    copy(logits, *longer[1:]).backward()
    assert (logits.grad[:, T:] == 0).all() and torch.isfinite(logits.grad).all()
    attention_mask = valid.long()
    close(
        copy(copy_logits, corrupted, original, attention_mask),
        copy(copy_logits, corrupted, original, valid).item(),
    )


# --- corrective language modelling ----------------------------------------------------------------------


def test_corrective_lm_is_coco_l_lm_over_masked_positions():
    original, corrupted, masked, _, lm_logits, copy_logits = exam()
    inputs = at(masked, lm_logits, copy_logits, corrupted, original)
    number = l_lm(*(x.tolist() for x in inputs))
    close(corrective_lm(*inputs, reduction="sum"), number)
    close(corrective_lm(*inputs), number / len(inputs[0]))
    close(
        corrective_lm(*inputs, stop_gradient=False, reduction="sum"), number
    )  # the value is the same
    logits, _, _, labels = inputs
    assert (
        abs(mlm(logits, labels, reduction="sum") - number) > 0.1
    )  # it is no plain cross-entropy


def test_no_gradient_into_the_copy_head():
    original, corrupted, masked, _, lm_logits, copy_logits = exam()
    x_mlm, x_orig = at(masked, corrupted, original)
    for variant in ("paper", "authors_code"):
        logits = lm_logits[masked].requires_grad_()
        c = copy_logits[masked].requires_grad_()
        corrective_lm(logits, c, x_mlm, x_orig, variant=variant).backward()
        assert c.grad is None and logits.grad.norm() > 0
        corrective_lm(
            logits, c, x_mlm, x_orig, variant=variant, stop_gradient=False
        ).backward()
        assert c.grad.norm() > 0


def test_how_much_gradient_the_softmax_gets():
    """Relative to plain cross-entropy: 1 (print) or p_0 (code) where replaced; p_0 q/(p_1 + p_0 q) or p_0 where not."""
    original, corrupted, masked, _, lm_logits, copy_logits = exam()
    c, x_mlm, x_orig = at(masked, copy_logits, corrupted, original)
    p_0, same = torch.sigmoid(-c), x_mlm == x_orig

    def gradient(loss):
        logits = lm_logits[masked].requires_grad_()
        loss(logits).backward()
        return logits.grad

    plain = gradient(lambda x: mlm(x, x_orig, reduction="sum"))
    paper = gradient(lambda x: corrective_lm(x, c, x_mlm, x_orig, reduction="sum"))
    code = gradient(
        lambda x: corrective_lm(
            x, c, x_mlm, x_orig, variant="authors_code", reduction="sum"
        )
    )
    q = torch.exp(-mlm(lm_logits[masked], x_orig, reduction="none"))
    expected = torch.where(same, p_0 * q / (1 - p_0 + p_0 * q), torch.ones_like(q))
    assert torch.allclose(paper, expected[:, None] * plain, atol=1e-12)
    assert torch.allclose(code, p_0[:, None] * plain, atol=1e-12)
    value = corrective_lm(
        lm_logits[masked], c, x_mlm, x_orig, variant="authors_code", reduction="sum"
    )
    close(value, -(p_0 * q.log()).sum().item())


def test_all_token_lm_is_the_mixture_over_all_tokens_with_its_gradient_into_the_copy_head():
    original, corrupted, _, valid, lm_logits, copy_logits = exam()
    inputs = at(valid, lm_logits, copy_logits, corrupted, original)
    close(all_token_lm(*inputs, reduction="sum"), l_lm(*(x.tolist() for x in inputs)))
    c = inputs[1].clone().requires_grad_()
    all_token_lm(inputs[0], c, *inputs[2:]).backward()
    assert (c.grad != 0).all()


# --- gradients, numbers -----------------------------------------------------------------------------------


def test_gradients_agree_with_finite_differences():
    original, corrupted, masked, valid, lm_logits, copy_logits = exam()
    logits = lm_logits[masked].requires_grad_()
    c, x_mlm, x_orig = at(masked, copy_logits, corrupted, original)
    free = c.clone().requires_grad_()
    rows = masked.nonzero()[:, 0]
    whole = copy_logits.clone().requires_grad_()
    for reduction in ("mean", "sum", "mean_per_seq"):
        assert gradcheck(
            lambda x, r=reduction: mlm(x, x_orig, reduction=r, rows=rows), (logits,)
        )
    for reduction in ("mean", "sum", "none"):
        assert gradcheck(
            lambda x, r=reduction: copy(x, corrupted, original, valid, reduction=r),
            (whole,),
        )
        assert gradcheck(
            lambda x, r=reduction: corrective_lm(x, c, x_mlm, x_orig, reduction=r),
            (logits,),
        )
    for variant in ("paper", "authors_code"):
        assert gradcheck(
            lambda x, y, v=variant: corrective_lm(
                x, y, x_mlm, x_orig, variant=v, stop_gradient=False
            ),
            (logits, free),
        )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.floats(0, 200))
def test_losses_are_never_negative_and_stay_finite_with_their_gradients(seed, size):
    g = torch.Generator().manual_seed(seed)
    logits, c = (
        (torch.randn(6, V, generator=g) * size).requires_grad_(),
        torch.randn(6, generator=g) * size,
    )
    ids, others = torch.randint(V, (2, 6), generator=g)
    for loss in (
        mlm(logits, ids),
        corrective_lm(logits, c, ids, others),
        corrective_lm(logits, c, ids, ids),
        corrective_lm(logits, c, ids, others, variant="authors_code"),
        replaced_token_detection(
            logits,
            torch.rand(6, V, generator=g) < 0.5,
            torch.ones(6, V, dtype=torch.bool),
        ),
    ):
        (gradient,) = torch.autograd.grad(loss, logits)
        assert loss >= 0 and torch.isfinite(loss) and torch.isfinite(gradient).all()
