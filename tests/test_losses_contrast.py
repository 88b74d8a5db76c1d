"""The contrastive losses: each against loops written from the paper's own symbols, its closed forms and its traps."""

import math
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from contrast_kit import losses
from contrast_kit.losses import info_nce, nt_xent, simsiam, sup_con
from contrast_kit.losses.contrast import pick_positives

TAUS = [0.01, 0.05, 0.3, 1.0, 2.5]


def vectors(*shape, seed=0, dtype=torch.float64, **kw):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=dtype
    ).requires_grad_(kw.get("grad", False))


# --- the papers, in plain loops over Python floats ------------------------------------------------------


def dot(x, y):
    return sum(p * q for p, q in zip(x, y, strict=True))


def sim(x, y):  # CMLM, eq. 8
    return dot(x, y) / (math.sqrt(dot(x, x)) * math.sqrt(dot(y, y)))


def cmlm_eq_7(h, tau):
    """h[k][b] is H_b^k; view 0 holds the anchors."""
    K, B = len(h) - 1, len(h[0])
    total = 0.0
    for k in range(1, K + 1):
        for b in range(B):
            numerator = math.exp(sim(h[k][b], h[0][b]) / tau)
            denominator = sum(math.exp(sim(h[k][i], h[0][b]) / tau) for i in range(B))
            total += math.log(numerator / denominator)
    return -total / (K * B)


def cmlm_eq_9(z, h):
    K, B = len(h) - 1, len(h[0])
    total = 0.0
    for k in range(1, K + 1):
        for b in range(B):
            total += math.exp(-1 / 2 * (sim(z[k][b], h[0][b]) + sim(z[0][b], h[k][b])))
    return total / (K * B)


def capt_eq_2(s, s_hat, i, tau):
    n = len(s)
    Z = sum(math.exp(sim(s[i], s_hat[j]) / tau) for j in range(n))
    Z += sum(math.exp(sim(s[i], s[j]) / tau) for j in range(n) if j != i)
    return -math.log(math.exp(sim(s[i], s_hat[i]) / tau) / Z)


def capt_eq_4(s, s_hat, tau):
    """Eq. 3 is eq. 2 with the two views exchanged."""
    return sum(
        capt_eq_2(s, s_hat, i, tau) + capt_eq_2(s_hat, s, i, tau) for i in range(len(s))
    )


def coco_eq_3(mlm, crop, tau):
    """E over (X, X+) in both orders; B- is the batch of 2N sequences without the two."""
    pairs = [((0, k), (1, k)) for k in range(len(mlm))] + [
        ((1, k), (0, k)) for k in range(len(mlm))
    ]
    s = {(0, k): mlm[k] for k in range(len(mlm))} | {
        (1, k): crop[k] for k in range(len(crop))
    }
    total = 0.0
    for x, x_plus in pairs:
        negatives = sum(
            math.exp(sim(s[x], s[y]) / tau) for y in s if y not in (x, x_plus)
        )
        positive = sim(s[x], s[x_plus]) / tau
        total -= positive - math.log(math.exp(positive) + negatives)
    return total / len(pairs)


def scl_eq_3(phi, y, tau):
    N, total = len(phi), 0.0
    for i in range(N):
        N_y = sum(y[j] == y[i] for j in range(N))
        for j in range(N):
            if i != j and y[i] == y[j]:
                Z = sum(math.exp(sim(phi[i], phi[k]) / tau) for k in range(N) if k != i)
                total += (
                    -1 / (N_y - 1) * math.log(math.exp(sim(phi[i], phi[j]) / tau) / Z)
                )
    return total


def scl_eq_4(phi, tau):
    """2N views, an example's two side by side. The printed 2i-1, 2i overrun for i up to 2N: i's partner is meant."""
    total = 0.0
    for i in range(len(phi)):
        partner = i + 1 if i % 2 == 0 else i - 1
        Z = sum(math.exp(sim(phi[i], phi[k]) / tau) for k in range(len(phi)) if k != i)
        total -= math.log(math.exp(sim(phi[i], phi[partner]) / tau) / Z)
    return total


def close(loss, number, tolerance=1e-10):
    assert loss.dtype == torch.float64
    assert loss.item() == pytest.approx(number, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("K", [1, 3])
def test_info_nce_is_cmlm_eq_7(tau, K):
    h = vectors(K + 1, 5, 8)
    mine = torch.stack([info_nce(h[0], h[k], tau) for k in range(1, K + 1)]).mean()
    close(mine, cmlm_eq_7(h.tolist(), tau))


def test_symmetric_info_nce_is_clips_loss():
    """Radford et al. 2021, figure 3: the cross-entropies over rows and over columns of one matrix of scores."""
    a, b = vectors(5, 3), vectors(5, 3, seed=1)
    total = 0.0
    for i in range(5):
        p = math.exp(sim(a[i], b[i]) / 0.1)
        for scores in ([sim(a[i], x) for x in b], [sim(x, b[i]) for x in a]):
            total -= math.log(p / sum(math.exp(s / 0.1) for s in scores)) / 10
    close(info_nce(a, b, 0.1, symmetric=True), total)


@pytest.mark.parametrize("tau", TAUS)
def test_hard_negatives_are_candidates_of_every_anchor_in_info_nce(tau):
    """Eq. 7 with a longer sum: B candidates of view k, then H that are nobody's positive; they are trained too."""
    a, b = vectors(2, 5, 8)
    hard = vectors(3, 8, seed=4)
    total = 0.0
    for i in range(5):
        Z = sum(
            math.exp(sim(a[i].tolist(), c) / tau) for c in torch.cat([b, hard]).tolist()
        )
        total -= math.log(math.exp(sim(a[i].tolist(), b[i].tolist()) / tau) / Z)
    close(info_nce(a, b, tau, negatives=hard), total / 5)
    assert gradcheck(
        lambda *x: info_nce(x[0], x[1], 0.3, negatives=x[2]),
        [x.requires_grad_() for x in (a, b, hard)],
    )


def test_one_function_coco_eq_3_is_capt_eq_4_over_2n_is_scl_eq_4_over_2n():
    a, b = vectors(2, 5, 6)
    n, tau = len(a), 0.2
    side_by_side = torch.stack([a, b], dim=1).flatten(0, 1)  # a_0, b_0, a_1, b_1, ..
    value = nt_xent(a, b, tau)
    close(value, coco_eq_3(a.tolist(), b.tolist(), tau))
    close(value, capt_eq_4(a.tolist(), b.tolist(), tau) / (2 * n))
    close(value, scl_eq_4(side_by_side.tolist(), tau) / (2 * n))
    close(
        value,
        sup_con(
            side_by_side, torch.arange(n).repeat_interleave(2), tau, reduction="mean"
        ).item(),
    )
    assert (
        nt_xent(a, b, tau) - nt_xent(b, a, tau)
    ).abs() < 1e-12  # both directions are in it


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize(
    "labels", [[0, 1, 0, 2, 1, 0], [0, 0, 0, 0, 1, 1], [3] * 6, list(range(6))]
)
def test_sup_con_is_scl_eq_3(tau, labels):
    """A sum over anchors, the logarithm inside the sum over positives, all but the anchor in the denominator."""
    x, y = vectors(6, 7), torch.tensor(labels)
    number = scl_eq_3(x.tolist(), labels, tau)
    close(sup_con(x, y, tau, reduction="sum"), number)
    close(sup_con(x, y, tau), number / 6)
    valid = sum(labels.count(label) > 1 for label in labels)
    close(sup_con(x, y, tau, reduction="mean_valid"), number / max(valid, 1))
    assert sup_con(x, y, tau, reduction="none").shape == (6,)


@pytest.mark.parametrize("K", [1, 3])
def test_simsiam_is_cmlm_eq_9(K):
    z, h = vectors(K + 1, 5, 8, seed=1), vectors(K + 1, 5, 8, seed=2)
    mine = torch.stack([simsiam(z[0], h[0], z[k], h[k]) for k in range(1, K + 1)]).mean()
    close(mine, cmlm_eq_9(z.tolist(), h.tolist()))


def test_the_queue_is_added_to_the_negatives_of_the_batch():
    """Of CAPT's Z in eq. 2; its rows are constants, compared by direction, and must have been filled."""
    a, b = vectors(4, 6, grad=True), vectors(4, 6, seed=1, grad=True)
    queue = vectors(9, 6, seed=5, grad=True)
    total = 0.0
    for own, other in ((a.tolist(), b.tolist()), (b.tolist(), a.tolist())):
        for i in range(4):
            z = math.exp(capt_eq_2(own, other, i, 0.3) + sim(own[i], other[i]) / 0.3)
            z += sum(math.exp(sim(own[i], q) / 0.3) for q in queue.tolist())
            total += math.log(z) - sim(own[i], other[i]) / 0.3
    loss = nt_xent(a, b, 0.3, queue=queue, reduction="sum")
    close(loss, total)
    loss.backward()
    assert queue.grad is None and a.grad.norm() > 0
    assert nt_xent(a, b, 0.1, queue=queue[:0]) == nt_xent(a, b, 0.1)
    with pytest.raises(ValueError, match="Row 0 of queue is a vector of zeros"):
        nt_xent(a, b, 0.1, queue=torch.zeros(5, 6))


# --- closed forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 32])
@pytest.mark.parametrize("tau", TAUS)
def test_identical_vectors_give_the_logarithm_of_the_number_of_candidates(n, tau):
    x = torch.ones(n, 3, dtype=torch.float64)
    queue = losses.normalise(torch.ones(7, 3, dtype=torch.float64))
    close(info_nce(x, x, tau), math.log(n))
    close(nt_xent(x, x, tau), math.log(2 * n - 1))
    close(nt_xent(x, x, tau, queue=queue), math.log(2 * n - 1 + 7))
    close(
        sup_con(x, torch.zeros(n, dtype=torch.long), tau, reduction="mean"),
        math.log(n - 1),
    )


@pytest.mark.parametrize("n", [2, 5, 32])
@pytest.mark.parametrize("tau", TAUS)
def test_partners_equal_and_all_others_orthogonal(n, tau):
    x, e = torch.eye(n, 2 * n, dtype=torch.float64), math.exp(-1 / tau)
    queue = torch.eye(2 * n, dtype=torch.float64)[n:]
    close(info_nce(x, x, tau), math.log1p((n - 1) * e))
    close(nt_xent(x, x, tau), math.log1p((2 * n - 2) * e))
    close(nt_xent(x, x, tau, queue=queue), math.log1p((2 * n - 2 + n) * e))


def test_labels_that_occur_once():
    x = vectors(6, 4, grad=True)
    alone = sup_con(x, torch.arange(6), 0.3)
    alone.backward()
    assert alone.item() == 0 and torch.isfinite(x.grad).all() and (x.grad == 0).all()
    assert (
        sup_con(x, torch.zeros(6, dtype=torch.long), 0.3) > 0
    )  # one class only: eq. 3 is not zero
    terms = sup_con(x, torch.tensor([0, 1, 0, 2, 1, 0]), 0.3, reduction="none")
    assert terms[3] == 0 and (terms[[0, 1, 2, 4, 5]] > 0).all()


def test_a_trailing_batch_of_one():
    x = vectors(1, 4, grad=True)
    with torch.autograd.set_detect_anomaly(
        True
    ):  # not even a NaN that is masked out later
        loss = sup_con(x, torch.tensor([1]), 0.3)
        loss.backward()
    assert loss.item() == 0 and (x.grad == 0).all()
    with pytest.warns(UserWarning, match="no negatives"):
        assert info_nce(x, x, 0.1).item() == 0
    with pytest.warns(UserWarning, match="no negatives"):
        assert nt_xent(x, x, 0.1).item() == 0
    close(nt_xent(x, x, 1.0, queue=x.detach()), math.log(2))


# --- what the losses do not see -------------------------------------------------------------------------


# --- gradients ------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 8),
    d=st.integers(2, 9),
    tau=st.sampled_from(TAUS),
)
def test_only_directions_and_only_who_is_whose_partner_matter(seed, n, d, tau):
    g = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, n, d, generator=g, dtype=torch.float64)
    scale = torch.rand(2, n, 1, generator=g, dtype=torch.float64) * 100 + 1e-3
    rotation = torch.linalg.qr(torch.randn(d, d, generator=g, dtype=torch.float64)).Q
    order = torch.randperm(n, generator=g)
    labels = torch.randint(3, (n,), generator=g)
    for loss in (
        lambda a, b, y: info_nce(a, b, tau),
        lambda a, b, y: nt_xent(a, b, tau),
        lambda a, b, y: sup_con(a, y, tau),
        lambda a, b, y: simsiam(a, b, b, a),
    ):
        value = loss(a, b, labels)
        assert value >= 0
        for other in (
            loss(a * scale[0], b * scale[1], labels),
            loss(a @ rotation, b @ rotation, labels),
            loss(a[order], b[order], labels[order]),
        ):
            assert torch.allclose(value, other, rtol=1e-9, atol=1e-9)


def test_gradients_agree_with_finite_differences():
    a, b = vectors(4, 5, seed=1, grad=True), vectors(4, 5, seed=2, grad=True)
    labels, ids = torch.tensor([0, 1, 0, 2]), torch.tensor([5, 6, 5, 7])
    queue = losses.normalise(vectors(6, 5, seed=3))
    for reduction in ("mean", "sum", "none"):
        assert gradcheck(
            lambda a, b, r=reduction: info_nce(a, b, 0.2, reduction=r), (a, b)
        )
        assert gradcheck(
            lambda a, b, r=reduction: nt_xent(a, b, 0.2, queue=queue, reduction=r), (a, b)
        )
        assert gradcheck(
            lambda a, r=reduction: sup_con(a, labels, 0.2, reduction=r), (a,)
        )
    assert gradcheck(lambda a, b: nt_xent(a, b, 0.2, ids=ids), (a, b))
    assert gradcheck(lambda a, b: info_nce(a, b, 0.2, ids=ids), (a, b))
    assert gradcheck(lambda a: sup_con(a, labels, 0.2, reduction="mean_valid"), (a,))
    assert gradcheck(losses.cosine_matrix, (a, b))


def test_simsiam_gradients_with_frozen_targets():
    z_a, z_b = vectors(3, 5, seed=1, grad=True), vectors(3, 5, seed=2, grad=True)
    h_a, h_b = vectors(3, 5, seed=3, grad=True), vectors(3, 5, seed=4, grad=True)
    frozen_a, frozen_b = h_a.detach().clone(), h_b.detach().clone()
    assert gradcheck(lambda z_a, z_b: simsiam(z_a, frozen_a, z_b, frozen_b), (z_a, z_b))
    simsiam(z_a, h_a, z_b, h_b).backward()
    assert h_a.grad is None and h_b.grad is None  # stopped
    assert z_a.grad.norm() > 0 and z_b.grad.norm() > 0
    free = simsiam(z_a, h_a, z_b, h_b, stop_gradient=False)
    assert free == simsiam(
        z_a, h_a, z_b, h_b
    )  # the value is the same, only the gradient differs
    free.backward()
    assert h_a.grad.norm() > 0 and h_b.grad.norm() > 0


def test_capt_eq_5_is_the_gradient_of_one_term_for_its_own_anchor():
    """Eq. 5 differentiates L(x_i) by s_i, all other vectors constant, *before* the normalisation's own Jacobian."""
    s, s_hat = (losses.normalise(vectors(5, 6, seed=k)) for k in (1, 2))
    tau, i = 0.3, 2
    anchor = s[i].clone().requires_grad_()
    others = [j for j in range(5) if j != i]
    candidates = torch.cat([s_hat, s[others]])
    positive = torch.zeros(1, 9, dtype=torch.bool)
    positive[0, i] = True
    term = pick_positives(
        (anchor @ candidates.T)[None] / tau, positive, torch.zeros_like(positive)
    )[0]
    close(term.detach(), capt_eq_2(s.tolist(), s_hat.tolist(), i, tau))
    term.backward()

    Z = sum(math.exp(s[i] @ s_hat[j] / tau) for j in range(5)) + sum(
        math.exp(s[i] @ s[j] / tau) for j in others
    )
    bracket = sum(
        math.exp(s[i] @ s[j] / tau) * s[j] + math.exp(s[i] @ s_hat[j] / tau) * s_hat[j]
        for j in others
    )
    bracket = bracket + (math.exp(s[i] @ s_hat[i] / tau) - Z) * s_hat[i]
    assert torch.allclose(anchor.grad, bracket / (tau * Z), atol=1e-12)
    pushes = losses.nt_xent_anchor_gradient(s.requires_grad_(), s_hat, tau)
    assert torch.allclose(pushes[i], anchor.grad, atol=1e-12) and not pushes.requires_grad


# --- texts that occur twice ------------------------------------------------------------------------


def test_without_ids_a_repeated_text_is_a_negative_with_ids_it_is_left_out():
    a, b = vectors(2, 5, 6)
    a[3], b[3] = a[1], b[1]  # text 1 comes twice
    ids = torch.tensor([0, 1, 2, 1, 4])
    without = [0, 1, 2, 4]  # the batch without the second copy
    assert (
        nt_xent(a, b, 0.1, reduction="none")[1]
        > nt_xent(a, b, 0.1, ids=ids, reduction="none")[1]
    )
    assert (
        nt_xent(a, b, 0.1, reduction="none")[0]
        == nt_xent(a, b, 0.1, ids=ids, reduction="none")[0]
    )
    masked = nt_xent(a, b, 0.1, ids=ids, reduction="none")[1]
    close(masked, nt_xent(a[without], b[without], 0.1, reduction="none")[1].item())
    masked = info_nce(a, b, 0.1, ids=ids, reduction="none")[1]
    close(masked, info_nce(a[without], b[without], 0.1, reduction="none")[1].item())
    distinct = torch.arange(5)
    assert nt_xent(a, b, 0.1, ids=distinct) == nt_xent(a, b, 0.1)


def test_old_vectors_of_a_text_of_the_batch_are_left_out_of_the_queue():
    a, b = vectors(2, 3, 6)
    queue = losses.normalise(vectors(4, 6, seed=3))
    ids, queue_ids = torch.tensor([7, 8, 9]), torch.tensor([7, 1, 2, 7])
    terms = nt_xent(
        a, b, 0.1, queue=queue, ids=ids, queue_ids=queue_ids, reduction="none"
    )
    close(terms[0], nt_xent(a, b, 0.1, queue=queue[1:3], reduction="none")[0].item())
    close(terms[1], nt_xent(a, b, 0.1, queue=queue, reduction="none")[1].item())
    with pytest.raises(ValueError, match="queue_ids need ids"):
        nt_xent(a, b, 0.1, queue=queue, queue_ids=queue_ids)


# --- precision ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-4), (torch.bfloat16, 2e-2), (torch.float16, 2e-2)],
)
@pytest.mark.parametrize("tau", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("size", [1.0, 3e3])
def test_half_precision_is_finite_and_near(dtype, tolerance, tau, size):
    """Random vectors, far apart: the loss is large. 3e3 squared overflows float16 unless it is raised first."""
    a, b = vectors(2, 16, 32, dtype=torch.float32) * size
    labels = torch.arange(16) % 3
    for loss in (
        lambda a, b: info_nce(a, b, tau),
        lambda a, b: nt_xent(a, b, tau),
        lambda a, b: sup_con(a, labels, tau),
        lambda a, b: simsiam(a, b, b, a),
    ):
        exact = loss(a.double(), b.double())
        x, y = a.to(dtype).requires_grad_(), b.to(dtype).requires_grad_()
        value = loss(x, y)
        value.backward()
        assert value.dtype == torch.float32
        assert value.item() == pytest.approx(exact.item(), rel=tolerance)
        assert torch.isfinite(x.grad).all()


def test_autocast_does_not_lower_the_similarities():
    a, b = vectors(2, 16, 32, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (
            a @ b.T
        ).dtype == torch.bfloat16  # this is what autocast does to a product
        inside = (
            nt_xent(a, b, 0.05),
            info_nce(a, b, 0.05),
            sup_con(a, torch.arange(16) % 2, 0.05),
        )
        pushed = losses.nt_xent_anchor_gradient(a, b, 0.05)
    outside = (
        nt_xent(a, b, 0.05),
        info_nce(a, b, 0.05),
        sup_con(a, torch.arange(16) % 2, 0.05),
    )
    assert inside == outside and torch.equal(
        pushed, losses.nt_xent_anchor_gradient(a, b, 0.05)
    )


# --- independent witnesses ------------------------------------------------------------------------------


def test_agrees_with_pytorch_metric_learning():
    """Its NTXentLoss over 2B labelled vectors averages over all positive pairs, here 2B; SupConLoss over anchors."""
    pml = pytest.importorskip("pytorch_metric_learning.losses")
    a, b = vectors(2, 6, 8)
    both, partners = torch.cat([a, b]), torch.arange(6).repeat(2)
    x, labels = vectors(10, 8, seed=4), torch.arange(10) % 3
    for tau in (0.07, 0.5):
        assert torch.allclose(
            nt_xent(a, b, tau),
            pml.NTXentLoss(temperature=tau)(both, partners),
            atol=1e-10,
        )
        theirs = pml.SupConLoss(temperature=tau)(x, labels)
        assert torch.allclose(
            sup_con(x, labels, tau, reduction="mean_valid"), theirs, atol=1e-10
        )


def test_sup_con_is_read_in_nine_calls():
    x, labels, calls = vectors(8, 4), torch.arange(8) // 2, []

    def watch(frame, event, _):
        if event == "call" and "contrast_kit" in frame.f_code.co_filename:
            calls.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        sup_con(x, labels, 0.1)
    finally:
        sys.setprofile(None)
    assert "sup_con" in calls and len(calls) <= 9, calls
