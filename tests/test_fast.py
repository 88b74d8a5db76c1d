"""The tiled contrast: the plain form's values and gradients, at any size, tile, temperature, ids and queue."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from contrast_kit import fast, geometry, losses
from contrast_kit.fast import class_means, logsumexp, panels, unit_rows
from contrast_kit.fast.tiles import Tiles, _half_product
from contrast_kit.losses import info_nce, nt_xent, sup_con


def vectors(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def units(*shape, **kw):
    return losses.normalise(vectors(*shape, **kw))


def value_and_gradients(loss, *inputs, **how):
    """The loss per anchor, and the gradient of a sum in which every anchor has another weight."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    value = loss(*inputs, **how)
    weight = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).view(value.shape)
    (value * weight).sum().backward()
    return [value.detach(), *(x.grad for x in inputs)]


def agree(mine, plain, tolerance):
    """Relative to the largest entry: of values at least 1, of gradients at least what rounding leaves of 0."""
    for x, y in zip(mine, plain, strict=True):
        assert torch.isfinite(x).all()
        least = 1.0 if x is mine[0] else 1e-2 if y.dtype == torch.float64 else 1e-6
        assert (x - y).abs().max().item() <= tolerance * max(y.abs().max().item(), least)


def same(loss, *inputs, tolerance=1e-10):
    agree(
        value_and_gradients(loss, *inputs, how="tiled"),
        value_and_gradients(loss, *inputs, how="plain"),
        tolerance,
    )


# --- the primitive against the one matrix ------------------------------------------------------------


def by_matrix(x, y, tau, meets):
    return (x @ y.T / tau).masked_fill(~meets, -torch.inf).logsumexp(dim=1)


TAUS = st.sampled_from([0.001, 0.01, 0.02, 0.07, 0.5, 1.0, 30.0])


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(2, 40), st.integers(1, 50), TAUS, st.booleans(), st.booleans())
def test_self_form_is_the_log_sum_exp_of_the_matrix(data, n, tile, tau, grouped, as_tensor):
    x = units(n, 5, seed=n).requires_grad_()
    groups = torch.randint(0, max(n // 2, 1), (n,)) if grouped else None
    left_out = data.draw(st.sets(st.integers(1, n), max_size=2))
    i = torch.arange(n)
    meets = i[:, None] != i[None, :]
    for k in left_out:
        meets &= (i[:, None] - i[None, :]).abs() != k
    if grouped:
        meets &= groups[:, None] != groups[None, :]
    meets[meets.sum(1) == 0] = False
    temperature = torch.tensor(tau, dtype=torch.float64, requires_grad=True)
    mine = fast.self_log_sum_exp(
        x, temperature if as_tensor else tau, left_out=tuple(left_out), groups=groups, tile=tile
    )
    plain = by_matrix(x, x, temperature, meets)
    alone = ~meets.any(dim=1)
    assert (mine[alone] == -torch.inf).all()
    assert torch.allclose(mine[~alone], plain[~alone], rtol=1e-11, atol=1e-11)
    if alone.all():
        return
    wanted = (x, temperature) if as_tensor else (x,)
    gradients = torch.autograd.grad(mine[~alone].sum(), wanted)
    expected = torch.autograd.grad(plain[~alone].sum(), wanted)
    for got, want in zip(gradients, expected, strict=True):
        assert torch.allclose(got, want, rtol=1e-9, atol=1e-10 / tau)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 30),
    st.integers(1, 40),
    st.integers(1, 50),
    TAUS,
    st.sampled_from([(), (0,), (0, 3), (-2,)]),
    st.booleans(),
    st.sampled_from(["both", "anchors", "candidates"]),
)
def test_cross_form_is_the_log_sum_exp_of_the_matrix(n, m, tile, tau, left_out, grouped, who):
    x, y = units(n, 5, seed=n), units(m, 5, seed=m + 100)
    wanted = [z.requires_grad_() for z, name in ((x, "anchors"), (y, "candidates")) if who in ("both", name)]
    groups = (torch.arange(n) % 5, torch.arange(m) % 7) if grouped else None
    i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
    meets = torch.ones(n, m, dtype=torch.bool)
    for k in left_out:
        meets &= j - i != k
    if grouped:
        meets &= groups[0][:, None] != groups[1][None, :]
    mine = fast.cross_log_sum_exp(x, y, tau, left_out=left_out, groups=groups, tile=tile)
    plain = by_matrix(x, y, tau, meets)
    fine = meets.any(dim=1)
    assert (mine[~fine] == -torch.inf).all()
    assert torch.allclose(mine[fine], plain[fine], rtol=1e-11, atol=1e-11)
    if not fine.any():
        return
    gradients = torch.autograd.grad((mine * torch.arange(1.0, n + 1))[fine].sum(), wanted)
    expected = torch.autograd.grad((plain * torch.arange(1.0, n + 1))[fine].sum(), wanted)
    for got, want in zip(gradients, expected, strict=True):
        assert torch.allclose(got, want, rtol=1e-9, atol=1e-10 / tau)


def test_finite_differences():
    x, y = units(7, 3).requires_grad_(), units(5, 3, seed=1).requires_grad_()
    tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    for t in (tau, tau / 300):  # without and with the running maximum
        assert gradcheck(lambda x, t: fast.self_log_sum_exp(x, t, left_out=(2,), tile=3), (x, t), eps=1e-7)
        assert gradcheck(lambda x, y, t: fast.cross_log_sum_exp(x, y, t, tile=3), (x, y, t), eps=1e-7)
    assert logsumexp.needs_maximum(tau / 300, x.dtype, 7) and not logsumexp.needs_maximum(tau, x.dtype, 7)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(1, 6), st.sampled_from([1, 7, 2048]))
def test_means_of_positives_are_those_of_a_mask(n, kinds, rows):
    x, labels = vectors(n, 3, seed=n).requires_grad_(), torch.randint(-2, kinds, (n,))
    positive = ((labels[:, None] == labels[None, :]) & ~torch.eye(n, dtype=torch.bool)).double()
    expected = ((x @ x.T) * positive).sum(1) / positive.sum(1).clamp(min=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_rows, "ROWS", rows)
        means, others = class_means.mean_of_positives(x, labels)
        (gradient,) = torch.autograd.grad((means * torch.arange(1.0, n + 1)).sum(), x)
    assert torch.equal(others, positive.sum(1).long())
    assert torch.allclose(means, expected)
    assert torch.allclose(gradient, torch.autograd.grad((expected * torch.arange(1.0, n + 1)).sum(), x)[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_unit_rows_are_normalised_rows(dtype):
    x = (vectors(9, 4) * torch.logspace(-6, 6, 9)[:, None]).to(dtype)
    agree(
        value_and_gradients(unit_rows.unit_rows, x),
        value_and_gradients(losses.normalise, x),
        1e-2 if dtype == torch.bfloat16 else 1e-6,
    )
    assert unit_rows.unit_rows(x).dtype == losses.normalise(x).dtype
    with pytest.raises(ValueError, match="Row 1 of b is a vector of zeros"):
        unit_rows.unit_rows(torch.tensor([[1.0], [0.0]]), "b")
    if dtype == torch.float64:
        assert gradcheck(unit_rows.unit_rows, vectors(3, 4).requires_grad_())


# --- the losses ----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 33),
    tau=st.sampled_from([0.01, 0.05, 0.3, 1.0]),
    queue=st.sampled_from([0, 1, 19]),
    ids=st.sampled_from([None, "distinct", "twice", "one"]),
    queue_ids=st.booleans(),
)
@pytest.mark.filterwarnings("ignore:.*has one example")
def test_nt_xent_and_info_nce_are_the_plain_form(n, tau, queue, ids, queue_ids):
    a, b, q = vectors(n, 6, seed=1), vectors(n, 6, seed=2), vectors(queue, 6, seed=3)
    kinds = {"distinct": torch.arange(n), "twice": torch.arange(n) // 2, "one": torch.zeros(n).long()}
    rows = kinds.get(ids)
    options = dict(ids=rows, queue=q if queue else None)
    if queue and queue_ids and rows is not None:
        options["queue_ids"] = torch.arange(queue) % 4
    same(lambda a, b, how: nt_xent(a, b, tau, reduction="none", implementation=how, **options), a, b)
    for reduction in ("none", "mean"):  # anchors of different weight, and of one
        same(lambda a, b, how, r=reduction: info_nce(a, b, tau, ids=rows, reduction=r, implementation=how), a, b)
        if queue:
            more = dict(ids=rows, reduction=reduction)
            same(lambda a, b, q, how, m=more: info_nce(a, b, tau, negatives=q, implementation=how, **m), a, b, q)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 9), st.sampled_from([0.01, 0.05, 0.3, 1.0]), st.integers(0, 99))
def test_sup_con_is_the_plain_form(n, classes, tau, seed):
    x, labels = vectors(n, 6, seed=seed), torch.arange(n).mul(7) % classes
    same(lambda x, how: sup_con(x, labels, tau, reduction="none", implementation=how), x)
    for reduction in ("sum", "mean", "mean_valid"):
        same(lambda x, how, r=reduction: sup_con(x, labels, tau, reduction=r, implementation=how), x)


@pytest.mark.parametrize("tau", [0.01, 0.001])
def test_a_tight_class_falls_no_lower_than_it_can(tau):
    """-3e-5 and -2e-4 without care: log Σ exp and the mean of the positives are rounded apart."""
    x = vectors(256, 32, dtype=torch.float32)
    pairs, fours = (sup_con(x.repeat(n, 1), torch.arange(256).repeat(n), tau, reduction="none",
                            implementation="tiled") for n in (2, 4))  # fmt: skip
    assert pairs.min() >= 0
    assert fours.min().item() >= math.log(3) - 1e-6


@pytest.mark.parametrize("tau", [0.01, 0.05, 1.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-2)])
def test_lower_precisions_over_several_tiles(dtype, tolerance, tau):
    """Against float64 on the same rounded vectors, at 1,100 rows: more than one tile, the last a ragged one."""
    a, b, q = (x.to(dtype) for x in vectors(3, 550, 32, dtype=torch.float32))
    labels = torch.arange(550) % 7
    for loss in (
        lambda a, b, how: nt_xent(a, b, tau, queue=q.to(a.dtype), implementation=how),
        lambda a, b, how: info_nce(a, b, tau, implementation=how),
        lambda a, b, how: info_nce(a[:300], b[:300], tau, negatives=b[300:], implementation=how),
        lambda a, b, how: sup_con(torch.cat([a, b]), labels.repeat(2), tau, implementation=how),
    ):
        exact = value_and_gradients(loss, a.double(), b.double(), how="plain")
        mine = value_and_gradients(loss, a, b, how="tiled")
        agree([x.double() for x in mine], exact, tolerance)


def test_a_temperature_in_half_precision_is_read_exactly():
    """Its square root in bfloat16 would be another temperature, and only for the negatives."""
    a, b, tau = vectors(64, 32, dtype=torch.float32), vectors(64, 32, seed=1, dtype=torch.float32), torch.tensor(0.05)
    for loss in (nt_xent, info_nce, lambda a, b, tau, **how: sup_con(a, torch.arange(64) % 4, tau, **how)):
        how = dict(tau=tau.bfloat16(), reduction="none")
        mine, plain = (loss(a, b, **how, implementation=form) for form in ("tiled", "plain"))
        assert torch.allclose(mine, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tau", [0.05, 0.3])
def test_products_in_bfloat16_are_near(tau):
    a, b = vectors(2, 600, 64, dtype=torch.float32)
    q = units(200, 64, seed=5, dtype=torch.float32)
    exact = value_and_gradients(lambda a, b, how: nt_xent(a, b, tau, queue=q, implementation=how), a, b, how="plain")
    near = value_and_gradients(lambda a, b, how: nt_xent(a, b, tau, queue=q, implementation=how), a, b, how="bf16")
    agree(near, exact, 2e-2)
    pairs = [
        value_and_gradients(lambda a, b, how: info_nce(a, b, tau, implementation=how), a, b, how=h)
        for h in ("bf16", "plain")
    ]
    agree(*pairs, 2e-2)
    assert not torch.equal(near[1], exact[1])


def test_bfloat16_reaches_every_product_and_is_added_up_in_float32():
    """The rows of a queue too; and 1 + 1/512 has more digits than bfloat16 has."""
    a, b, q, labels = *vectors(2, 60, 64, dtype=torch.float32), units(30, 64, dtype=torch.float32), torch.arange(60) % 3
    for loss in (
        lambda how: info_nce(a, b, 0.1, implementation=how),
        lambda how: sup_con(a, labels, 0.1, implementation=how),
        lambda how: fast.contrast.nt_xent(a[:1], b[:1], q, 0.1, None, how),  # the pair meets nothing but the queue
    ):
        assert not torch.equal(loss("bf16"), loss("tiled"))
    x = torch.tensor([[1.0, 2**-9]]).bfloat16()
    assert _half_product(x, torch.ones(2, 1).bfloat16()).item() == 1 + 2**-9


@pytest.mark.parametrize("tau", [0.01, 0.05])
def test_products_in_bfloat16_take_float64_too(tau):
    """Tiles are float32 then, whatever the vectors are: so are the limits of exp, and the lowest number."""
    a, b = vectors(2, 70, 16, dtype=torch.float64)
    ids = torch.arange(70) // 2
    losses = (
        lambda a, b, how: info_nce(a, b, tau, implementation=how),
        lambda a, b, how: info_nce(a, b, tau, ids=ids, implementation=how),
        lambda a, b, how: nt_xent(a, b, tau, queue=units(40, 16, seed=5), implementation=how),
        lambda a, b, how: sup_con(torch.cat([a, b]), ids.repeat(2), tau, implementation=how),
    )
    for loss in losses:
        agree(*(value_and_gradients(loss, a, b, how=h) for h in ("bf16", "plain")), 2e-3 / tau)


def test_views_of_two_dtypes_meet_in_the_wider_one():
    a, b = vectors(70, 16, dtype=torch.float32), vectors(70, 16, seed=1)
    q, ids = vectors(40, 16, seed=2), torch.arange(70) // 2
    for x, y in ((a, b), (b, a)):
        same(lambda x, y, how: info_nce(x, y, 0.1, implementation=how), x, y, tolerance=2e-5)
        same(lambda x, y, how: info_nce(x, y, 0.1, ids=ids, implementation=how), x, y, tolerance=2e-5)
        same(lambda x, y, how: nt_xent(x, y, 0.1, queue=q, implementation=how), x, y, tolerance=2e-5)


@pytest.mark.parametrize("how", ["tiled", "bf16"])
def test_no_temperature_leaves_the_range_of_float32(how):
    """Around the τ from which tiles need their maximum: sums up to 900 e^(1/τ), and weights down to its inverse."""
    together = torch.ones(300, 8)
    apart = together * torch.tensor([1.0, -1.0]).repeat(150)[:, None]
    for tau in (1 / k for k in (60, 70, 75, 78, 80, 82, 84, 86, 88, 90, 95, 99)):
        for a, b in ((together, together), (apart, -apart)):
            mine = value_and_gradients(
                lambda a, b, how, t=tau: 1000 * nt_xent(a, b, t, queue=together, implementation=how), a, b, how=how
            )
            assert all(torch.isfinite(x).all() for x in mine)
            plain = nt_xent(a, b, tau, queue=together, implementation="plain").item()
            assert mine[0].item() == pytest.approx(1000 * plain, rel=1e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_extremes_stay_finite(dtype):
    """All equal, all opposite, nothing but far candidates at τ = 0.01: e^-200 is 0 in float32."""
    x = torch.ones(64, 8, dtype=dtype)
    assert nt_xent(x, x, 0.01, implementation="tiled").item() == pytest.approx(math.log(127), rel=1e-5)
    sign = torch.ones(64, 1, dtype=dtype)
    sign[::2] = -1
    for tau in (0.01, 0.02, 0.05):
        opposed = value_and_gradients(
            lambda a, b, how, t=tau: nt_xent(a, b, t, implementation=how), x * sign, -x * sign, how="tiled"
        )
        # 63 others lie on the anchor's own side, and its partner on the other
        assert opposed[0].item() == pytest.approx(2 / tau + math.log(63), rel=1e-2)
        assert max(g.abs().max().item() for g in opposed[1:]) < 1e-5  # all on one line: nowhere to turn to
    anchor, far = torch.eye(1, 4, dtype=dtype), -torch.eye(1, 4, dtype=dtype).repeat(9, 1)
    for tau in (1e-4, 0.01, 1 / 70):
        lse = fast.cross_log_sum_exp(anchor.float(), far.float(), tau)
        assert lse.item() == pytest.approx(math.log(9) - 1 / tau, rel=1e-5)
    anchor = anchor.float().requires_grad_()
    (gradient,) = torch.autograd.grad(fast.cross_log_sum_exp(anchor, far.float(), 0.01).sum(), anchor)
    assert gradient[0, 0].item() == pytest.approx(-100, rel=1e-5)


def test_a_solved_batch_keeps_its_digits():
    """Loss and gradient of a pair that is nearly told apart are far below the rounding of a log-sum-exp of 20."""
    x = torch.eye(64, 65)
    x[:, 64] = 0.3  # all cosines between texts 0.08: at τ = 0.05 the loss is 126 e^-18
    y = x.double()
    mine = value_and_gradients(lambda a, b, how: nt_xent(a, b, 0.05, implementation=how), x, x, how="tiled")
    exact = value_and_gradients(lambda a, b, how: nt_xent(a, b, 0.05, implementation=how), y, y, how="plain")
    assert 0 < exact[0] < 1e-5
    assert mine[0].item() == pytest.approx(exact[0].item(), rel=1e-4)


@pytest.mark.parametrize("who", [(True, True), (True, False), (False, True)])
def test_panels_of_rows_give_each_side_its_gradient(who, monkeypatch):
    monkeypatch.setattr(fast, "SCORES_AT_ONCE", 40)  # three rows of thirteen at a time
    x, y = units(13, 5), units(13, 5, seed=1)
    tau = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)
    for z, grad in zip((x, y), who, strict=True):
        z.requires_grad_(grad)
    wanted = [z for z in (x, y, tau) if z.requires_grad]
    for weight in (torch.ones(()).double(), torch.arange(13.0).double()):
        mine = (panels.pick_partner(x, y, tau) * weight).mean()
        plain = (torch.nn.functional.cross_entropy(x @ y.T / tau, torch.arange(13), reduction="none") * weight).mean()
        assert torch.allclose(mine, plain, rtol=1e-12)
        for got, want in zip(torch.autograd.grad(mine, wanted), torch.autograd.grad(plain, wanted), strict=True):
            assert torch.allclose(got, want, rtol=1e-9, atol=1e-12)


def test_a_mean_scores_every_pair_once(monkeypatch):
    visits = []
    pulls = panels._pulls
    monkeypatch.setattr(panels, "_pulls", lambda *args: (visits.append(1), pulls(*args))[1])
    a, b = vectors(2, 9, 4).requires_grad_()
    for reduction, count in (("mean", 1), ("sum", 1), ("none", 2)):
        visits.clear()
        info_nce(a, b, 0.2, implementation="tiled", reduction=reduction).square().sum().backward()
        assert len(visits) == count


def test_the_size_decides_or_the_caller():
    assert not fast.wanted("auto", fast.TILED_FROM - 1) and fast.wanted("auto", fast.TILED_FROM)
    n = math.isqrt(fast.TILED_FROM) // 2  # 2n anchors of nt_xent are just large enough
    a, b = vectors(2, n, 4, dtype=torch.float32).requires_grad_()
    names = {}
    for how in ("auto", "plain", "tiled"):
        seen, nodes = set(), [nt_xent(a, b, 0.1, implementation=how).grad_fn]
        while nodes:
            node = nodes.pop()
            if node is not None and node not in seen:
                seen.add(node)
                nodes += [parent for parent, _ in node.next_functions]
        names[how] = {type(node).__name__ for node in seen}
    assert "_SelfSumBackward" in names["auto"] & names["tiled"]
    assert "_SelfSumBackward" not in names["plain"]


def test_a_second_derivative_is_refused_in_one_sentence():
    a, b = vectors(2, 5, 4).requires_grad_()
    (first,) = torch.autograd.grad(nt_xent(a, b, 0.2, implementation="tiled"), a, create_graph=True)
    with pytest.raises(NotImplementedError, match='implementation="plain"'):
        first.sum().backward()
    (first,) = torch.autograd.grad(nt_xent(a, b, 0.2, implementation="plain"), a, create_graph=True)
    first.square().sum().backward()


def test_autocast_and_inputs_are_left_alone():
    a, b = vectors(2, 40, 32, dtype=torch.float32)
    before = a.clone()
    plain = value_and_gradients(lambda a, b, how: nt_xent(a, b, 0.05, implementation=how), a, b, how="tiled")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = value_and_gradients(lambda a, b, how: nt_xent(a, b, 0.05, implementation=how), a, b, how="tiled")
    assert all(torch.equal(x, y) for x, y in zip(plain, inside, strict=True))
    assert torch.equal(a, before)


@pytest.mark.parametrize(("n", "most"), [(300, 300 * 300), (1100, 1100 * 4)])
def test_no_tile_is_kept_for_the_backward_pass_unless_one_holds_everything(n, most):
    kept = []
    x = vectors(n, 4).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.numel()), t)[1], lambda t: t):
        loss = nt_xent(x[: n // 2], x[n // 2 :], 0.1, queue=vectors(200, 4), implementation="tiled")
        loss.backward(retain_graph=True)
    assert max(kept) == most
    first, x.grad = x.grad, None
    loss.backward()
    assert torch.equal(x.grad, first)  # what is kept is not used up


def test_uniformity_takes_the_same_tiles():
    x = vectors(50, 6)
    for t in (0.5, 2, 400.0):  # 400: τ = 1/800 needs the running maximum even in float64
        whole = value_and_gradients(lambda x, how, t=t: geometry.uniformity(x, t=t, block=how), x, how=64)
        tiles = value_and_gradients(lambda x, how, t=t: geometry.uniformity(x, t=t, block=how), x, how=7)
        agree(tiles, whole, 1e-10)


def test_the_sum_over_pairs_visits_each_tile_once():
    """With the numbers of the sum that visits them twice; two rows are equal, and τ goes low."""
    seen, visit = [], Tiles.upper
    for dtype, near in ((torch.float64, 1e-10), (torch.float32, 2e-5)):
        x = losses.normalise(vectors(40, 6)).to(dtype)
        x[3] = x[7]
        for tau in (10.0, 0.25, 0.02):
            twice = value_and_gradients(lambda x, how, tau=tau: fast.self_log_sum_exp(x, tau).logsumexp(0), x, how=None)
            once = value_and_gradients(lambda x, how, tau=tau: fast.pair_log_sum_exp(x, tau, tile=8), x, how=None)
            agree(once, twice, near)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Tiles, "upper", lambda *a: (seen.append(tile[:2]) or tile for tile in visit(*a)))
        x = losses.normalise(vectors(40, 6)).requires_grad_()
        (gradient,) = torch.autograd.grad(fast.pair_log_sum_exp(x, 0.25, tile=8), x, create_graph=True)
    assert len(seen) == len({(rows.start, columns.start) for rows, columns in seen})
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: nt_xent(x, x, 0.1, implementation="quick"),
            "implementation must be one of 'auto', 'plain', 'tiled', 'bf16'",
        ),
        (lambda x: fast.self_log_sum_exp(x, 0.1, tile=0), "tile"),
        (
            lambda x: nt_xent(x, x, 0.1, queue=x, queue_ids=torch.arange(4), implementation="tiled"),
            "queue_ids need ids",
        ),
        (lambda x: info_nce(x, x, 0.1, ids=torch.arange(3), implementation="tiled"), r"ids must be \[4\]"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(torch.eye(4))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_same_on_a_gpu_without_waiting_for_it():
    a, b, q = (x.cuda() for x in vectors(3, 3000, 64, dtype=torch.float32))
    labels = torch.arange(3000, device="cuda") % 7
    for loss in (
        lambda a, b, how: nt_xent(a, b, 0.05, queue=q, implementation=how),
        lambda a, b, how: info_nce(a, b, 0.05, implementation=how),
        lambda a, b, how: sup_con(a, labels, 0.05, implementation=how) + 0 * b.sum(),
    ):
        plain = value_and_gradients(loss, a, b, how="plain")
        agree(value_and_gradients(loss, a, b, how="tiled"), plain, 1e-4)
        agree(value_and_gradients(loss, a, b, how="bf16"), plain, 2e-2)
    x = losses.normalise(a).requires_grad_()
    torch.cuda.set_sync_debug_mode("error")
    try:
        (fast.self_log_sum_exp(x, 0.05, tile=512).sum() + class_means.mean_of_positives(x, labels)[0].sum()).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_the_queue_counts_when_tiles_are_chosen(monkeypatch):
    """A small batch beside a large queue: the matrix has (2B) (2B + Q) cosines, not (2B)²."""
    a, b, queue = (torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (8, 9, 2**16))
    called = []
    monkeypatch.setattr(fast, "nt_xent", lambda *a, **k: called.append(1) or torch.zeros(16), raising=False)
    losses.nt_xent(a, b[:8], 0.1, queue=queue)
    assert called
    losses.nt_xent(a, b[:8], 0.1, queue=queue[:64])
    assert len(called) == 1


def test_float64_keeps_its_digits_where_softplus_could_turn_linear():
    """log(1 + e^x) − x is 4e-13 at x = 28.6: torch's own threshold of 20 would lose it."""
    a, b = torch.eye(2, dtype=torch.float64), -torch.eye(2, dtype=torch.float64)
    for loss in (losses.nt_xent, losses.info_nce):
        tiled, plain = (loss(a, b, 0.035, reduction="none", implementation=how) for how in ("tiled", "plain"))
        torch.testing.assert_close(tiled, plain, rtol=0, atol=1e-14)
