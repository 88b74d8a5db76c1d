"""The pictures: labelled, holding the numbers they were given, repeatable, and nobody else's business."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex

from contrast_kit import geometry, plots
from contrast_kit.plots.histograms import density

RNG = np.random.default_rng(0)
STEPS = np.arange(100)
TABLE = pd.DataFrame(
    {"step": STEPS, "mlm": np.exp(-STEPS / 30), "contrast": np.sin(STEPS / 9)}
)
SIMILAR, RANDOM = RNG.uniform(0.5, 1, 50), RNG.uniform(-0.5, 0.6, 400)
VECTORS, LABELS = RNG.normal(size=(40, 6)), ["red", "blue"] * 20
ROLES = [["out", "positive", "negative"], ["positive", "out", "negative"]]
SCORES = {"MLM": [0.7, 0.72, 0.74], "CMLM": [0.8, 0.81, 0.79]}
SENTENCE = ["[CLS]", "the", "small", "bear", "sat", "on", "the", "shelf", "[SEP]"]
COSINES = RNG.uniform(-1, 1, size=(2, 3))

EVERY_PICTURE = {
    "mask_heatmap": lambda: plots.mask_heatmap(None, [[0, 1, 0], [1, 0, 0]]),
    "loss_curves": lambda: plots.loss_curves({"MLM": TABLE, "CMLM": TABLE}),
    "cosine_histograms": lambda: plots.cosine_histograms(
        {"a": (SIMILAR, RANDOM), "b": (RANDOM, RANDOM)}
    ),
    "embedding_map": lambda: plots.embedding_map(
        {"a": VECTORS, "b": -VECTORS}, LABELS, "pca"
    ),
    "similarity_matrix": lambda: plots.similarity_matrix({"x": COSINES}, {"x": ROLES}),
    "roles": lambda: plots.similarity_matrix(None, ROLES),
    "circle": lambda: plots.circle(
        {"before": VECTORS[:, :2], "after": VECTORS[:, 2:4]}, LABELS
    ),
    "bars_with_errors": lambda: plots.bars_with_errors(SCORES, "accuracy"),
    "lines_with_errors": lambda: plots.lines_with_errors(
        {"a": {0: [1.0, 2.0], 1: 3.0}}, "share masked"
    ),
    "alignment_uniformity_plane": lambda: plots.alignment_uniformity_plane(
        {"MLM": (0.3, -1)}
    ),
}


def panels_of(figure):
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


# --- what holds for all of them ---


def test_pyplot_and_the_readers_own_style_are_left_alone():
    import matplotlib
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    for draw in EVERY_PICTURE.values():
        draw()
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == before


# --- mask heatmap ---


def cells(figure):
    """Tokens and fills in the order in which they were drawn."""
    axes = figure.axes[0]
    words = [text.get_text() for text in axes.texts if text.get_ha() == "center"]
    return list(
        zip(words, (to_hex(patch.get_facecolor()) for patch in axes.patches), strict=True)
    )


def test_each_token_stands_in_a_cell_of_its_kind():
    kinds = [
        "special",
        "mask",
        "untouched",
        "random",
        "kept",
        *["untouched"] * 3,
        "special",
    ]
    figure = plots.mask_heatmap({"text": SENTENCE}, [kinds])
    drawn = cells(figure)
    assert [word for word, _ in drawn] == SENTENCE
    colour_of = {}
    for (_, fill), kind in zip(drawn, kinds, strict=True):
        assert colour_of.setdefault(kind, fill) == fill  # one colour a kind
    assert len(set(colour_of.values())) == 5
    assert len(figure.legends[0].get_texts()) == 5
    board = (
        plots.mask_heatmap(None, [[0, 1, 0], [1, 0, 0]])
        .axes[0]
        .collections[0]
        .get_array()
    )
    assert (board[..., 0] < 0.5).tolist() == [[False, True, False], [True, False, False]]


# --- loss curves ---


def test_curves_hold_the_raw_values_and_their_centred_mean():
    table = TABLE.assign(contrast=np.where(STEPS % 10 == 0, 1.0, np.nan))
    figure = plots.loss_curves({"MLM": TABLE[["step", "mlm"]], "CMLM": table}, smooth=5)
    mlm, contrast = figure.axes
    assert (mlm.get_title(), contrast.get_title()) == ("mlm", "contrast")
    assert (len(mlm.lines), len(contrast.lines)) == (4, 2)  # MLM has no contrast
    raw, smooth = mlm.lines[:2]
    np.testing.assert_array_equal(raw.get_xydata(), TABLE[["step", "mlm"]])
    expected = TABLE["mlm"].rolling(5, center=True, min_periods=1).mean()
    np.testing.assert_allclose(smooth.get_ydata(), expected, atol=1e-12)
    # Steps without a value are skipped.
    np.testing.assert_array_equal(contrast.lines[0].get_xdata(), STEPS[::10])


# --- cosine histograms ---


def test_histograms_have_area_one_share_the_axis_and_mark_the_means():
    figure = plots.cosine_histograms(
        {"a": (SIMILAR, RANDOM), "b": (torch.tensor(SIMILAR), RANDOM[:100])}
    )
    left, right = figure.axes
    assert left.get_xlim() == right.get_xlim()
    for axes, random in ((left, RANDOM), (right, RANDOM[:100])):
        area = sum(patch.get_height() * patch.get_width() for patch in axes.patches)
        assert area == pytest.approx(2)  # both histograms, each 1
        drawn = [line.get_xdata()[0] for line in axes.lines]
        assert {SIMILAR.mean(), random.mean()} <= set(drawn)
    expected = geometry.separation(torch.tensor(SIMILAR), torch.tensor(RANDOM)).item()
    assert left.get_title() == f"a\nAUC {expected:.2f}"


def test_the_density_is_a_kernel_density_that_ends_where_cosines_end():
    from scipy.stats import gaussian_kde

    inner = np.clip(RNG.normal(0, 0.15, 500), -0.6, 0.6)
    grid, height = density(inner)
    factor = 0.9 * len(inner) ** -0.2
    np.testing.assert_allclose(height, gaussian_kde(inner, factor)(grid), atol=0.03)
    for cosines in (SIMILAR, RANDOM, np.ones(10), np.array([0.3])):
        _, height = density(np.asarray(cosines))
        assert height.sum() / 1024 == pytest.approx(1)  # nothing leaks over the ends


# --- maps ---


def test_pca_is_the_projection_of_largest_variance_and_ignores_lengths():
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    at = plots.project(VECTORS, "pca")
    top = np.linalg.eigvalsh(np.cov(unit.T))[::-1][:2]
    np.testing.assert_allclose(at.var(axis=0, ddof=1), top)
    np.testing.assert_allclose(plots.project(7 * VECTORS, "pca"), at)


def test_the_points_of_a_map_are_the_projection_by_label_and_pairs_are_joined():
    at = plots.project(VECTORS, perplexity=5, seed=2)
    look = {"perplexity": 5, "seed": 2, "pairs": [[4, 9]]}
    (axes,) = plots.embedding_map(VECTORS, LABELS, **look).axes
    red, blue = axes.collections
    np.testing.assert_allclose(red.get_offsets(), at[::2])
    np.testing.assert_allclose(blue.get_offsets(), at[1::2])
    np.testing.assert_allclose(axes.lines[0].get_xydata(), at[[4, 9]])
    figure = plots.embedding_map({"a": at[::-1]}, method=None)
    np.testing.assert_array_equal(figure.axes[0].collections[0].get_offsets(), at[::-1])


# --- matrices, circle, bars, plane ---


def test_a_matrix_shows_its_numbers_and_frames_its_positives():
    sim = np.array([[1.0, 0.25, -0.5], [0.25, 1.0, -0.001]])
    figure = plots.similarity_matrix(sim, ROLES, rows=["x", "y"], columns=["p", "q", "r"])
    axes = panels_of(figure)[0]
    drawn = axes.collections[0].get_array()
    np.testing.assert_array_equal(drawn, sim)
    np.testing.assert_array_equal(drawn.mask, np.array(ROLES) == "out")
    written = [text.get_text() for text in axes.texts]
    assert written == ["1.00", "0.25", "−0.50", "0.25", "1.00", "0.00"]
    assert np.allclose([frame.get_center() for frame in axes.patches], [[1, 0], [0, 1]])


def test_points_lie_on_the_circle_and_forces_share_a_scale():
    points, forces = (
        np.array([[3.0, 0.0], [0.0, 0.2]]),
        np.array([[0.0, 4.0], [1.0, 0.0]]),
    )
    figure = plots.circle(
        {"a": points, "b": points}, forces={"a": forces, "b": forces / 2}, pairs=[[0, 1]]
    )
    for axes, factor in zip(figure.axes, (1, 0.5), strict=True):
        dots, arrows = axes.collections
        np.testing.assert_allclose(dots.get_offsets(), [[1, 0], [0, 1]])
        np.testing.assert_allclose(np.c_[arrows.U, arrows.V], forces / 8 * factor)
        np.testing.assert_allclose(axes.lines[-1].get_xydata(), [[1, 0], [0, 1]])


def test_bars_show_mean_deviation_and_every_seed():
    figure = plots.bars_with_errors(SCORES | {"SimCSE": 0.75}, "accuracy", baseline=0.5)
    (axes,) = figure.axes
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert ends == pytest.approx([0.72, 0.80, 0.75])
    assert {patch.get_x() for patch in axes.patches} == {0.5}
    drawn = [sorted(dots.get_offsets()[:, 0]) for dots in axes.collections]
    assert [0.7, 0.72, 0.74] in [pytest.approx(seeds) for seeds in drawn]
    assert [0.75] not in drawn  # a single number is its bar
    assert [t.get_text() for t in axes.texts] == [
        "0.720 ± 0.020",
        "0.800 ± 0.010",
        "0.750",
    ]


def test_the_plane_has_a_mark_a_seed_and_one_for_the_mean():
    figure = plots.alignment_uniformity_plane(
        {"MLM": (0.3, -1.0), "CMLM": torch.tensor([[0.1, -2.0], [0.3, -3.0]])}
    )
    mlm, seeds, mean = figure.axes[0].collections
    np.testing.assert_allclose(mlm.get_offsets(), [[-1.0, 0.3]])
    np.testing.assert_allclose(seeds.get_offsets(), [[-2.0, 0.1], [-3.0, 0.3]])
    np.testing.assert_allclose(mean.get_offsets(), [[-2.5, 0.2]])


# --- what would lie in silence ---

NAN = [[float("nan"), 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plots.embedding_map(NAN, method="pca"), "NaN or infinite"),
        (lambda: plots.cosine_histograms({"a": (SIMILAR, 3 * RANDOM)}), "not cosines"),
        (
            lambda: plots.embedding_map(VECTORS, ["red"], "pca"),
            "one label for each of the 40 rows",
        ),
        (lambda: plots.circle(np.zeros((2, 2))), "zero vector"),
        (lambda: plots.alignment_uniformity_plane({"MLM": (-1.0, 0.3)}), "swapped"),
        (lambda: plots.intervals({"a": (0.5, 0.6, 0.7)}), "low ≤ estimate ≤ high"),
        (
            lambda: plots.differences_from({"MLM": [0.7], "CMLM": [0.8]}, "MLM"),
            "second seed",
        ),
        (
            lambda: plots.lines_with_errors({"a": {0: [0.0]}}, "x", log=True),
            "logarithmic",
        ),
        (
            lambda: plots.animation({"a": VECTORS, "b": VECTORS}, measures={"x": [1.0]}),
            "each of the 2 frames",
        ),
    ],
)
def test_what_a_picture_would_not_show_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
