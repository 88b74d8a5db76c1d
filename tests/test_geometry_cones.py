"""Float32 vectors in a narrow cone give the numbers of the same vectors in float64."""

import pytest
import torch

from contrast_kit import geometry


def in_a_cone(width, n=200, seed=0):
    """Vectors [n, 64] around one direction, about `width` from it, and noisy copies; float32."""
    noise = torch.Generator().manual_seed(seed)
    axis = torch.nn.functional.normalize(torch.randn(1, 64, generator=noise), dim=1)
    clean = axis + width / 8 * torch.randn(n, 64, generator=noise)
    return clean, clean + width / 16 * torch.randn(n, 64, generator=noise)


MEASURES = {
    "noise_sensitivity": geometry.noise_sensitivity,
    "class_spread": lambda clean, noisy: geometry.class_spread(
        clean, torch.arange(len(clean)) % 2
    ),
}


@pytest.mark.parametrize("width", [1e-1, 2e-3, 1e-5])
@pytest.mark.parametrize("name", MEASURES)
def test_float32_keeps_its_digits(name, width):
    clean, noisy = in_a_cone(width)
    found, right = (
        MEASURES[name](clean, noisy),
        MEASURES[name](clean.double(), noisy.double()),
    )
    assert found.dtype == torch.float32 and right.dtype == torch.float64
    assert found.item() == pytest.approx(right.item(), rel=1e-4)
