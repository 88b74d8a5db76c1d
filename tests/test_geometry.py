"""Each measure against its definition in plain float64 loops, its closed forms, and its gradient."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from contrast_kit import geometry as g


def vectors(n, d, seed=0, dtype=torch.float64):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def unit(row):
    length = math.sqrt(sum(v * v for v in row))
    return [v / length for v in row]


def squared_distance(u, v):
    return sum((p - q) ** 2 for p, q in zip(u, v, strict=True))


# --- against loops, from the definitions ---


@pytest.mark.parametrize("alpha", [0.5, 1, 2, 3])
def test_alignment_is_the_mean_power_of_the_distance(alpha):
    a, b = vectors(7, 5), vectors(7, 5, seed=1)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    by_hand = (
        sum(math.sqrt(squared_distance(unit(u), unit(v))) ** alpha for u, v in pairs) / 7
    )
    assert abs(g.alignment(a, b, alpha=alpha).item() - by_hand) < 1e-10


@pytest.mark.parametrize("t", [0.5, 2, 10])
@pytest.mark.parametrize("block", [1, 3, 8, 9, 1024])
def test_uniformity_is_the_log_mean_over_distinct_pairs(t, block):
    x = vectors(9, 4)
    u = [unit(row) for row in x.tolist()]
    terms = [
        math.exp(-t * squared_distance(u[i], u[j]))
        for i in range(9)
        for j in range(i + 1, 9)
    ]
    assert len(terms) == 36  # n(n-1)/2: no diagonal
    assert (
        abs(g.uniformity(x, t=t, block=block).item() - math.log(sum(terms) / 36)) < 1e-10
    )


def test_random_pairs_are_all_distinct_pairs_in_order():
    """All n(n-1)/2 of them, none a vector with itself."""
    x = vectors(7, 3)
    u = [unit(row) for row in x.tolist()]
    by_hand = [
        sum(p * q for p, q in zip(u[i], u[j], strict=True))
        for i in range(7)
        for j in range(i + 1, 7)
    ]
    cosines = g.random_pair_cosines(x)
    torch.testing.assert_close(
        cosines, torch.tensor(by_hand, dtype=torch.float64), rtol=0, atol=1e-12
    )
    assert len(cosines) == 21
    assert cosines.max() < 1 - 1e-6


def test_effective_rank_is_the_exponential_of_the_entropy():
    x = vectors(12, 5)
    u = x / x.norm(dim=1, keepdim=True)
    p = torch.linalg.eigvalsh(u.T @ u).sqrt()  # singular values another way
    p = (p / p.sum()).tolist()
    by_hand = math.exp(-sum(v * math.log(v) for v in p))
    assert abs(g.effective_rank(x).item() - by_hand) < 1e-8


# --- scale, precision, memory ---


@settings(max_examples=25, deadline=None)
@given(
    scales=st.lists(st.floats(-30, 30), min_size=6, max_size=6), seed=st.integers(0, 100)
)
def test_lengths_never_count(scales, seed):
    factor = torch.tensor([10.0**s for s in scales], dtype=torch.float64)[:, None]
    a, b = vectors(6, 4, seed), vectors(6, 4, seed + 1000)
    for measure in (g.uniformity, g.random_pair_cosines, g.anisotropy, g.effective_rank):
        torch.testing.assert_close(measure(a * factor), measure(a), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        g.alignment(a * factor, b), g.alignment(a, b), rtol=1e-9, atol=1e-9
    )


def test_uniformity_does_not_keep_the_similarities_for_the_backward_pass():
    x = vectors(512, 8).requires_grad_()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: kept.append(t.numel()) or t, lambda t: t
    ):
        value = g.uniformity(x, block=32)
    assert (
        sum(kept) < 20 * x.numel()
    )  # all pairs would be 130,816 numbers several times over
    (streamed,) = torch.autograd.grad(value, x)
    (whole,) = torch.autograd.grad(g.uniformity(x, block=512), x)
    torch.testing.assert_close(streamed, whole, rtol=0, atol=1e-12)


# --- gradients ---


def test_gradients_by_finite_differences():
    a, b = vectors(5, 3).requires_grad_(), vectors(5, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda p, q: g.alignment(p, q), (a, b))
    assert torch.autograd.gradcheck(lambda p, q: g.alignment(p, q, alpha=1), (a, b))
    assert torch.autograd.gradcheck(lambda p: g.uniformity(p), (a,))
    assert torch.autograd.gradcheck(lambda p: g.uniformity(p, block=2), (a,))


# --- random pairs: samples and groups ---


@pytest.mark.parametrize("n", [1, 40, 100, 190])
def test_a_sample_holds_distinct_pairs_and_is_fixed_by_its_seed(n):
    x = vectors(20, 6)
    every = g.random_pair_cosines(x)
    sample = g.random_pair_cosines(x, n=n, seed=3)
    assert len(sample) == n
    nearest = (sample[:, None] - every).abs().min(dim=1)
    assert nearest.values.max() < 1e-12
    assert len(nearest.indices.unique()) == n  # no pair twice, none outside i < j
    assert torch.equal(sample, g.random_pair_cosines(x, n=n, seed=3))
    assert n == 190 or not torch.equal(
        sample.sort().values, g.random_pair_cosines(x, n=n, seed=4).sort().values
    )


def test_a_sample_is_fair():
    """Every pair is drawn equally often: chi-square over many seeds, both ways of drawing."""
    x = vectors(6, 3)
    every = g.random_pair_cosines(x)  # 15 pairs
    for n in (4, 11):
        counts = torch.zeros(15)
        for seed in range(400):
            drawn = g.random_pair_cosines(x, n=n, seed=seed)
            counts += ((drawn[:, None] - every).abs() < 1e-12).sum(dim=0)
        assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_positives_are_left_out():
    """Two views of one text are no random pair."""
    text = vectors(10, 8)
    views = torch.cat([text, text + 1e-3 * vectors(10, 8, seed=1)])
    groups = torch.arange(10).repeat(2)
    everything, clean = (
        g.random_pair_cosines(views),
        g.random_pair_cosines(views, groups=groups),
    )
    assert (len(everything), len(clean)) == (190, 180)
    assert everything.max() > 0.999 > clean.max()
    for n in (20, 150):  # by rejecting, by permuting
        assert (
            g.random_pair_cosines(views, n=n, groups=groups).max() <= clean.max() + 1e-12
        )
    assert len(g.random_pair_cosines(views, n=180, groups=groups)) == 180


# --- separation ---


def test_auc_is_the_probability_of_the_right_order():
    similar, random = vectors(30, 1).flatten() + 1, vectors(40, 1, seed=1).flatten()
    similar[:5] = random[:5]  # ties
    wins = sum(
        1.0 if s > r else 0.5 if s == r else 0.0
        for s in similar.tolist()
        for r in random.tolist()
    )
    assert abs(g.separation(similar, random).item() - wins / 1200) < 1e-12
    mann_whitney = stats.mannwhitneyu(similar.numpy(), random.numpy()).statistic / 1200
    assert abs(g.separation(similar, random).item() - mann_whitney) < 1e-12


def test_auc_does_not_see_a_stretched_scale():
    similar, random = (
        vectors(50, 1).flatten() * 0.1 + 0.3,
        vectors(60, 1, seed=1).flatten() * 0.1,
    )
    squeezed = g.separation(0.9 + similar / 20, 0.9 + random / 20)
    torch.testing.assert_close(squeezed, g.separation(similar, random))


# --- noise against the distance between texts ---


def test_noise_sensitivity_is_the_ratio_of_mean_squared_distances():
    clean, noisy = vectors(6, 5), vectors(6, 5, seed=1)
    u, v = ([unit(row) for row in x.tolist()] for x in (clean, noisy))
    moved = sum(squared_distance(u[i], v[i]) for i in range(6)) / 6
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j]
    between = sum(squared_distance(u[i], u[j]) for i, j in pairs) / len(pairs)
    assert abs(g.noise_sensitivity(clean, noisy).item() - moved / between) < 1e-12


def test_autocast_does_not_lower_the_cosines():
    x, block = vectors(40, 8, dtype=torch.float32), 16
    wanted = g.uniformity(x), g.uniformity(x, block=block), g.random_pair_cosines(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = g.uniformity(x), g.uniformity(x, block=block), g.random_pair_cosines(x)
    for one, other in zip(wanted, found, strict=True):
        assert other.dtype == torch.float32 and torch.equal(one, other)


def test_a_triplet_is_right_where_the_positive_is_closer_and_ties_count_half():
    anchors, same = torch.eye(3), torch.ones(3, 3)
    assert (
        g.triplet_accuracy(anchors, anchors + 0.1, same) == 1
        and g.triplet_accuracy(anchors, same, anchors) == 0
    )
    assert g.triplet_accuracy(anchors, same, same) == 0.5
    assert g.triplet_accuracy(
        anchors, torch.stack([anchors[0], same[0], anchors[0]]), same
    ) == pytest.approx(0.5)


def test_what_would_be_a_wrong_number_is_refused():
    for x, words in (
        (torch.tensor([[1.0, 0.0], [0.0, 0.0]]), "zeros"),
        (torch.tensor([[1.0, math.nan]]), "NaN"),
    ):
        for measure in (
            g.uniformity,
            g.random_pair_cosines,
            g.anisotropy,
            g.effective_rank,
        ):
            with pytest.raises(ValueError, match=words):
                measure(x)
    with pytest.raises(ValueError, match="must have one shape"):
        g.alignment(torch.eye(3), torch.eye(3)[:1])  # torch would repeat the row


def test_pairs_that_coincide_count_in_the_mean():
    a, b = torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # distances 0 and √2
    assert g.alignment(a, b).item() == pytest.approx(1)
