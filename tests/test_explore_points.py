"""A map of points that were made before names how they were made, as far as it was told."""

import pytest
import torch

import contrast_kit as ck


@pytest.mark.parametrize(
    ("method", "axes", "words"),
    [
        (None, ("coordinate 1", "coordinate 2"), "by coordinates made earlier"),
        ("tsne", ("t-SNE 1", "t-SNE 2"), "by t-SNE"),
        ("umap", ("UMAP 1", "UMAP 2"), "by UMAP"),
    ],
)
def test_the_axes_of_given_points(method, axes, words):
    noise = torch.Generator().manual_seed(0)
    vectors, points = torch.randn(12, 5, generator=noise), torch.rand(12, 2, generator=noise)
    panel = ck.explore.embedding_map(vectors, [str(i) for i in range(12)], points=points, method=method)
    (drawn,) = panel.figure().axes
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == axes
    assert words in panel.words() and panel.page_state()["axes"] in words


def test_without_points_it_is_a_map_by_principal_components():
    panel = ck.explore.embedding_map(torch.eye(4), list("abcd"))
    assert panel.figure().axes[0].get_xlabel().startswith("PC 1") and "principal components" in panel.words()


@pytest.mark.parametrize("points", [None, torch.rand(4, 2)])
def test_a_method_that_there_is_not(points):
    with pytest.raises(ValueError, match="no method 'lda'; there are tsne, umap, pca"):
        ck.explore.embedding_map(torch.eye(4), list("abcd"), points=points, method="lda")
