"""The tiled contrast: the plain form's values and gradients, at any size, tile, temperature, ids and queue."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contrast_kit import fast, losses
from contrast_kit.fast import tiles
from contrast_kit.losses import info_nce, nt_xent, sup_con


def vectors(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def units(*shape, **kw):
    return losses.normalise(vectors(*shape, **kw))


def value_and_gradients(loss, *inputs, form=fast.tiled):
    """The loss per anchor, and the gradient of a sum in which every anchor has another weight."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    with form():
        value = loss(*inputs)
    weight = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).view(value.shape)
    (value * weight).sum().backward()
    return [value.detach(), *(x.grad for x in inputs)]


def in_bfloat16():
    return fast.tiled(half=True)


def agree(mine, plain, tolerance):
    """Relative to the largest entry: of values at least 1, of gradients at least what rounding leaves of 0."""
    for x, y in zip(mine, plain, strict=True):
        assert torch.isfinite(x).all()
        least = 1e-2 if y.dtype == torch.float64 else 1e-6
        if x is mine[0]:
            least = 1.0
        assert (x - y).abs().max().item() <= tolerance * max(y.abs().max().item(), least)


def same(loss, *inputs, tolerance=1e-10):
    mine = value_and_gradients(loss, *inputs)
    agree(mine, value_and_gradients(loss, *inputs, form=fast.plain), tolerance)


# --- the primitive against the one matrix ------------------------------------------------------------


def by_matrix(x, y, tau, meets):
    return (x @ y.T / tau).masked_fill(~meets, -torch.inf).logsumexp(dim=1)


def agree_where_anybody_meets(mine, plain, meets, wanted, tau):
    fine = meets.any(dim=1)
    assert (mine[~fine] == -torch.inf).all()
    assert torch.allclose(mine[fine], plain[fine], rtol=1e-11, atol=1e-11)
    if not fine.any():
        return
    weight = torch.arange(1.0, len(mine) + 1)
    found, expected = (
        torch.autograd.grad((each * weight)[fine].sum(), wanted) for each in (mine, plain)
    )
    for got, want in zip(found, expected, strict=True):
        assert torch.allclose(got, want, rtol=1e-9, atol=1e-10 / tau)


TAUS = st.sampled_from([0.001, 0.01, 0.02, 0.07, 0.5, 1.0, 30.0])


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(2, 40), st.integers(1, 50), TAUS, st.booleans())
def test_self_form_is_the_log_sum_exp_of_the_matrix(data, n, tile, tau, grouped):
    x = units(n, 5, seed=n).requires_grad_()
    groups = torch.randint(0, max(n // 2, 1), (n,)) if grouped else None
    apart = data.draw(st.sets(st.integers(1, n), max_size=2))
    distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    meets = distance != 0
    for k in apart:
        meets &= distance != k
    if grouped:
        meets &= groups[:, None] != groups[None, :]
    temperature = torch.tensor(tau, dtype=torch.float64, requires_grad=True)
    mine = tiles.self_log_sum_exp(
        x, temperature, apart=tuple(apart), groups=groups, tile=tile
    )
    agree_where_anybody_meets(
        mine, by_matrix(x, x, temperature, meets), meets, (x, temperature), tau
    )


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 30),
    m=st.integers(1, 40),
    numbers=st.integers(1, 300),
    tau=TAUS,
    apart=st.sampled_from([(), (0,), (0, 3), (-2,)]),
    grouped=st.booleans(),
    who=st.sampled_from(["both", "anchors", "candidates"]),
)
def test_whole_rows_are_the_log_sum_exp_of_the_matrix(
    n, m, numbers, tau, apart, grouped, who
):
    x, y = units(n, 5, seed=n), units(m, 5, seed=m + 100)
    wanted = [
        z.requires_grad_()
        for z, name in ((x, "anchors"), (y, "candidates"))
        if who in ("both", name)
    ]
    groups = (torch.arange(n) % 5, torch.arange(m) % 7) if grouped else (None, None)
    i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
    meets = torch.ones(n, m, dtype=torch.bool)
    for k in apart:
        meets &= j - i != k
    if grouped:
        meets &= groups[0][:, None] != groups[1][None, :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "SCORES_AT_ONCE", numbers)
        mine = tiles.rows_log_sum_exp(
            x, y, tau, apart=apart, groups=groups[0], others=groups[1]
        )
        agree_where_anybody_meets(mine, by_matrix(x, y, tau, meets), meets, wanted, tau)


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
    kinds = {
        "distinct": torch.arange(n),
        "twice": torch.arange(n) // 2,
        "one": torch.zeros(n).long(),
    }
    rows = kinds.get(ids)
    options = dict(ids=rows, queue=q)
    if queue and queue_ids and rows is not None:
        options["queue_ids"] = torch.arange(queue) % 4
    same(lambda a, b: nt_xent(a, b, tau, reduction="none", **options), a, b)
    for reduction in ("none", "mean"):  # anchors of different weight, and of one
        more = dict(ids=rows, reduction=reduction)
        same(lambda a, b, m=more: info_nce(a, b, tau, **m), a, b)
        if queue:
            same(lambda a, b, q, m=more: info_nce(a, b, tau, negatives=q, **m), a, b, q)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 40),
    st.integers(1, 9),
    st.sampled_from([0.01, 0.05, 0.3, 1.0]),
    st.integers(0, 99),
)
def test_sup_con_is_the_plain_form(n, classes, tau, seed):
    x, labels = vectors(n, 6, seed=seed), torch.arange(n).mul(7) % classes
    for reduction in ("none", "sum", "mean", "mean_valid"):
        same(lambda x, r=reduction: sup_con(x, labels, tau, reduction=r), x)


@pytest.mark.parametrize("tau", [0.01, 0.001])
def test_a_tight_class_falls_no_lower_than_it_can(tau):
    """-3e-5 and -2e-4 without care: log Σ exp and the mean of the positives are rounded apart."""
    x = vectors(256, 32, dtype=torch.float32)
    for n in (2, 4):
        with fast.tiled():
            terms = sup_con(
                x.repeat(n, 1), torch.arange(256).repeat(n), tau, reduction="none"
            )
        assert terms.min().item() >= math.log(n - 1) - 1e-6 * (n > 2)


@pytest.mark.parametrize("tau", [0.01, 0.3])
def test_products_in_bfloat16_are_near(tau):
    a, b = vectors(2, 300, 64, dtype=torch.float32)
    q, labels = units(200, 64, seed=5, dtype=torch.float32), torch.arange(300) % 3
    for loss in (
        lambda a, b: nt_xent(a, b, tau, queue=q),
        lambda a, b: info_nce(a, b, tau),
        lambda a, b: sup_con(a, labels, tau) + 0 * b.sum(),
    ):
        near, exact = (
            value_and_gradients(loss, a, b, form=form)
            for form in (in_bfloat16, fast.plain)
        )
        agree(near, exact, 2e-3 / tau)
        assert not torch.equal(near[1], exact[1])
    x = torch.tensor([[1.0, 2**-9]])  # 1 + 1/512 has more digits than bfloat16 has
    assert fast.kernels.half_product(x, torch.ones(2, 1)).item() == 1 + 2**-9


@pytest.mark.parametrize("form", [fast.tiled, in_bfloat16])
def test_no_temperature_leaves_the_range_of_float32(form):
    """Around the τ below which whole rows are taken: sums up to 900 e^(1/τ), and weights down to its inverse."""
    together = torch.ones(300, 8)
    apart = together * torch.tensor([1.0, -1.0]).repeat(150)[:, None]
    for tau in (1 / k for k in (60, 75, 80, 84, 88, 90, 99)):
        for a, b in ((together, together), (apart, -apart)):
            loss = lambda a, b, t=tau: 1000 * nt_xent(a, b, t, queue=together)  # noqa: E731
            value, *gradients = value_and_gradients(loss, a, b, form=form)
            assert all(torch.isfinite(x).all() for x in gradients)
            with fast.plain():
                assert value.item() == pytest.approx(loss(a, b).item(), rel=1e-2)


def test_float64_keeps_its_digits_where_softplus_could_turn_linear():
    """log(1 + e^x) − x is 4e-13 at x = 28.6: torch's own threshold of 20 would lose it."""
    a, b = torch.eye(2, dtype=torch.float64), -torch.eye(2, dtype=torch.float64)
    for loss in (nt_xent, info_nce):
        with fast.plain():
            plain = loss(a, b, 0.035, reduction="none")
        with fast.tiled():
            torch.testing.assert_close(
                loss(a, b, 0.035, reduction="none"), plain, rtol=0, atol=1e-14
            )


def test_the_size_decides_the_queue_included_or_the_caller(monkeypatch):
    calls = []
    monkeypatch.setattr(
        fast, "nt_xent", lambda *args: calls.append(1) or torch.zeros(16), raising=False
    )
    a, b, queue = (vectors(n, 4, seed=n) for n in (8, 8, 2**16))
    nt_xent(
        a, b, 0.1, queue=queue
    )  # a small batch beside a large queue has (2B) (2B + Q) cosines
    assert len(calls) == 1
    nt_xent(a, b, 0.1, queue=queue[:64])
    with fast.plain():
        nt_xent(a, b, 0.1, queue=queue)
    assert len(calls) == 1
    with fast.tiled():
        nt_xent(a, b, 0.1)
    assert len(calls) == 2


def test_a_second_derivative_is_refused_in_one_sentence():
    a, b = vectors(2, 5, 4).requires_grad_()
    for form in (fast.tiled, fast.plain):
        with form():
            (first,) = torch.autograd.grad(nt_xent(a, b, 0.2), a, create_graph=True)
        if form is fast.plain:
            first.square().sum().backward()
        else:
            with pytest.raises(NotImplementedError, match="with fast.plain"):
                first.sum().backward()


@pytest.mark.parametrize(("n", "most"), [(300, 300 * 300), (1100, 1100 * 4)])
def test_no_tile_is_kept_for_the_backward_pass_unless_one_holds_everything(n, most):
    kept = []
    x = vectors(n, 4).requires_grad_()
    with (
        torch.autograd.graph.saved_tensors_hooks(
            lambda t: (kept.append(t.numel()), t)[1], lambda t: t
        ),
        fast.tiled(),
    ):
        loss = nt_xent(x[: n // 2], x[n // 2 :], 0.1, queue=vectors(200, 4))
        loss.backward(retain_graph=True)
    assert max(kept) == most
    first, x.grad = x.grad, None
    loss.backward()
    assert torch.equal(x.grad, first)  # what is kept is not used up


# --- on a GPU: the same lines, compiled ----------------------------------------------------------------


@pytest.fixture(params=["force_eager", pytest.param("default", marks=pytest.mark.full)])
def fused(request, monkeypatch):
    """Small tiles as a GPU reads them: as they are written, and compiled for this processor."""
    monkeypatch.setattr(fast, "fuses", lambda device, scores: True)
    monkeypatch.setattr(fast, "scores_at_once", lambda device: 900)
    monkeypatch.setattr(tiles, "tile_sides", lambda x, tile=None: (30, 30))
    with torch.compiler.set_stance(request.param):
        yield request.param == "default"


@pytest.mark.parametrize("half", [False, True])
def test_fused_tiles_are_the_plain_form(fused, half):
    a, b = (vectors(40, 6, seed=i, dtype=torch.float32) for i in range(2))
    kinds = [
        partial(info_nce, tau=0.1),
        partial(nt_xent, tau=0.1, ids=torch.arange(40) // 2, queue=losses.normalise(b)),
    ]
    for loss in kinds[fused:]:  # compiling takes its time
        mine = value_and_gradients(loss, a, b, form=partial(fast.tiled, half))
        plain = value_and_gradients(loss, a, b, form=fast.plain)
        agree(mine, plain, 2e-2 if half else 1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fused_words_are_those_of_a_processor(fused, dtype, monkeypatch):
    states, weight = (
        vectors(n, 8, dtype=torch.float32).to(dtype).requires_grad_() for n in (50, 70)
    )
    labels = torch.arange(50)

    def found():
        scores = fast.WordScores(states, weight)
        loss = losses.mlm(scores, labels)
        return loss, *torch.autograd.grad(loss, (states, weight)), *scores.guesses(labels)

    mine = found()
    monkeypatch.setattr(fast, "fuses", lambda device, scores: False)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(mine, found(), rtol=tolerance, atol=tolerance)


def test_several_tiles_are_fused_on_a_gpu_with_a_compiler(monkeypatch):
    monkeypatch.setattr(fast.importlib.util, "find_spec", lambda name: name == "triton")
    many, gpu, cpu = 2**26 + 1, torch.device("cuda"), torch.device("cpu")
    assert fast.fuses(gpu, many) and not fast.fuses(gpu, 2**26)
    assert not fast.fuses(cpu, many)


def test_the_error_of_tf32_is_as_told(monkeypatch):
    """A product of numbers with ten binary digits, as a GPU makes it."""

    def rounded(x):
        bits = x.contiguous().view(torch.int32) + 0x1000
        return (bits & ~0x1FFF).view(torch.float32)

    monkeypatch.setattr(
        fast.kernels, "half_product", lambda x, y: rounded(x) @ rounded(y)
    )
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda x: x)
    base = vectors(600, 256)
    pair = [base + 0.5 * vectors(600, 256, seed=i) for i in (1, 2)]
    loss = partial(info_nce, tau=0.05)
    exact = value_and_gradients(loss, *pair, form=fast.plain)
    mine = value_and_gradients(loss, *(x.float() for x in pair), form=in_bfloat16)
    value, *gradient = (
        (x - y).norm() / y.norm() for x, y in zip(mine, exact, strict=True)
    )
    assert value < 1e-6 and 5e-5 < max(gradient) < 5e-4
