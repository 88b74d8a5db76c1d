"""The faster float32 product: probed, never assumed, put back."""

import warnings

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import fast, geometry, losses
from contrast_kit.commands import check
from contrast_kit.fast import kernels, tiles


@pytest.fixture
def setting():
    """Reads torch's setting; None where this torch has none."""

    def read():
        switch = kernels._switch()
        return None if switch is None else switch.fp32_precision

    return read


def test_probing_says_what_it_found_and_leaves_the_setting(setting):
    before = setting()
    kernels.probe.cache_clear()
    found = kernels.probe()
    assert setting() == before
    assert 0 < found.error < 1e-6 and found.gflops > 0
    assert found.available or "no switch" in str(found)


def found(**kw):
    return kernels.Probe(
        **(dict(available=True, error=2e-7, switched_error=3e-7, gflops=100.0, switched_gflops=200.0) | kw)
    )


def test_used_only_where_accurate_and_wanted_and_put_back(setting, monkeypatch):
    if setting() is None:
        pytest.skip("this torch has no switch")
    before = setting()
    monkeypatch.setattr(kernels, "probe", lambda: found())
    with kernels.fast_float32() as used:
        assert used and setting() == "bf16"
        with kernels.fast_float32(wanted=False) as inner:
            assert not inner and setting() == "bf16"
    assert setting() == before
    with kernels.fast_float32(wanted=False) as used:
        assert not used and setting() == before
    with pytest.raises(RuntimeError, match="inside"), kernels.fast_float32():
        raise RuntimeError("inside")
    assert setting() == before
    monkeypatch.setattr(kernels, "probe", lambda: found(switched_error=2e-3))  # what AMX does
    with kernels.fast_float32() as used:
        assert not used and setting() == before


def test_large_contrasts_use_it_by_themselves_unless_forbidden(setting, monkeypatch):
    if setting() is None:
        pytest.skip("this torch has no switch")
    before, seen, product = setting(), [], tiles.Tiles._scores
    monkeypatch.setattr(kernels, "probe", lambda: found())
    monkeypatch.setattr(tiles.Tiles, "_scores", lambda *a: seen.append(setting()) or product(*a))
    x = torch.randn(60, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()

    def train(x):
        a, b = x.chunk(2)
        with fast.tiled():
            total = losses.nt_xent(a, b, 0.1) + losses.info_nce(a, b, 0.1)
        (total + geometry.uniformity(x, block=16)).backward()
        taken = set(seen)
        seen.clear()
        return taken

    assert train(x) == {"bf16"} and setting() == before  # torch's name of the switch; `probe` says what it does
    kernels.allow(False)
    try:
        assert train(x) == {before}
    finally:
        kernels.allow(True)
    assert train(x.detach().double().requires_grad_()) == {before}  # it is a float32 product


def test_a_torch_without_the_switch_is_no_error(monkeypatch):
    monkeypatch.setattr(kernels, "_switch", lambda: None)
    kernels.probe.cache_clear()
    try:
        assert not kernels.probe().accurate
        with kernels.fast_float32() as used:
            assert not used
    finally:
        kernels.probe.cache_clear()


def test_a_product_inside_has_float32s_digits():
    x = torch.randn(300, 300, generator=torch.Generator().manual_seed(1))
    exact = x.double() @ x.double()
    with kernels.fast_float32():
        product = x @ x
    assert (product - exact).norm() / exact.norm() < kernels.ACCURATE


def test_the_words():
    assert "may be used" in str(found())
    assert "will not be used" in str(found(switched_error=2e-3))
    assert "float32 products" in check.report()


@pytest.mark.parametrize("speed", [0.01, 2.0])
def test_fit_warns_of_a_processor_that_is_slow_in_bfloat16(speed, monkeypatch, tokenizer):
    monkeypatch.setattr(kernels, "bfloat16_speed", lambda: speed)
    objective = ck.objectives.MLM(make_encoder(tokenizer))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ck.fit(objective, ["the red kite"] * 4, steps=2, batch_size=2, precision="bf16", progress=False)
    said = [str(warning.message) for warning in told if "bfloat16" in str(warning.message)]
    slow = "Here a product in bfloat16 takes 100.0 times as long as in float32: take precision='float32'."
    assert said == ([slow] if speed < 1 else [])  # once, not at every step


def test_bfloat16_is_measured_once_against_ordinary_float32(setting, monkeypatch):
    inside = []

    def seconds(x, y, trials):
        inside.append((x.dtype, y.dtype, trials, setting()))
        return 1.0 if x.dtype == torch.bfloat16 else 3.0

    kernels.bfloat16_speed.cache_clear()
    monkeypatch.setattr(kernels, "_seconds", seconds)
    try:
        with kernels.fast_float32():
            assert kernels.bfloat16_speed() == kernels.bfloat16_speed() == 3  # three times as fast
    finally:
        kernels.bfloat16_speed.cache_clear()
    (single, _, often, usual), (half, _, as_often, _) = inside
    assert (single, half, often) == (torch.float32, torch.bfloat16, as_often) and usual in (None, "none")
    assert kernels.bfloat16_speed() > 0
