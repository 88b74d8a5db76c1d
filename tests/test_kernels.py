"""The faster float32 product: probed, never assumed, put back."""

import pytest
import torch

from contrast_kit import fast, geometry, losses
from contrast_kit.fast import kernels, tiles

pytestmark = pytest.mark.skipif(
    not hasattr(torch.backends.mkldnn, "matmul"), reason="this torch has no switch"
)
ACCURATE, ROUNDED = kernels.Probe(2e-7, 3e-7), kernels.Probe(2e-7, 2e-3)


def setting():
    return torch.backends.mkldnn.matmul.fp32_precision


def test_probing_leaves_the_setting_and_says_what_it_found():
    before = setting()
    kernels.probe.cache_clear()
    assert 0 < kernels.probe().error < 1e-6 and setting() == before
    assert "may be used" in str(ACCURATE) and "will not be used" in str(ROUNDED)
    assert kernels.bfloat16_speed() > 0 and setting() == before


def test_used_only_where_accurate_and_wanted_and_put_back(monkeypatch):
    before = setting()
    monkeypatch.setattr(kernels, "probe", lambda: ACCURATE)
    with kernels.fast_float32() as used:
        assert used and setting() == "bf16"
    with kernels.fast_float32(wanted=False) as used:
        assert not used and setting() == before
    with pytest.raises(RuntimeError, match="inside"), kernels.fast_float32():
        raise RuntimeError("inside")
    assert setting() == before
    monkeypatch.setattr(kernels, "probe", lambda: ROUNDED)  # what AMX does
    with kernels.fast_float32() as used:
        assert not used and setting() == before


def test_large_contrasts_use_it_by_themselves(monkeypatch):
    before, seen, product = setting(), set(), tiles.Tiles.scores
    monkeypatch.setattr(kernels, "probe", lambda: ACCURATE)
    monkeypatch.setattr(
        tiles.Tiles, "scores", lambda *a: seen.add(setting()) or product(*a)
    )
    x = torch.randn(60, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for y, expected in ((x, "bf16"), (x.double(), before)):  # it is a float32 product
        with fast.tiled():
            total = losses.nt_xent(*y.chunk(2), 0.1) + losses.info_nce(*y.chunk(2), 0.1)
        (total + geometry.uniformity(y, block=16)).backward()
        assert seen == {expected} and setting() == before
        seen.clear()
