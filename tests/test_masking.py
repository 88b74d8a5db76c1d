"""Masking: rates with binomial tolerances, properties on drawn inputs, and the mistakes that masking code often makes.

A rate measured on n tokens is accepted within 5 standard deviations, sqrt(p(1-p)/n): a wrong sampler is
caught, and a right one would fail once in two million runs; with the seeds fixed here, never.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contrast_kit import masking
from contrast_kit.masking import complementary_random_mask, dynamic_random_mask
from contrast_kit.masking.masks import _draw_spans

CLS, SEP, PAD, MASK, V = 1, 2, 0, 3, 50
VOCABULARY = {"mask_id": MASK, "vocab_size": V}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def texts(rows=4000, length=32, seed=1, pad=True):
    """[CLS] content [SEP] and padding; content ids are 10 and up, so specials are told apart by their ids."""
    g = generator(seed)
    ids = torch.randint(10, V, (rows, length), generator=g)
    sizes = (
        torch.randint(3, length + 1, (rows, 1), generator=g)
        if pad
        else torch.full((rows, 1), length)
    )
    where = torch.arange(length)
    ids[:, 0] = CLS
    ids[where == sizes - 1] = SEP
    ids[where >= sizes] = PAD
    return ids, (where < sizes).long(), ids >= 10


def assert_rate(hits, p, n=None):
    n = hits.numel() if n is None else n
    rate = hits.sum().item() / n
    assert abs(rate - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-12, (
        f"rate {rate:.4f}, expected {p:.4f}, n {n}"
    )


# --- dynamic random masking ------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.05, 0.15, 0.7, 1.0])
def test_each_token_is_selected_with_probability_p(p):
    ids, _, maskable = texts()
    assert_rate(
        dynamic_random_mask(
            ids, maskable, p, generator=generator(), **VOCABULARY
        ).selected[maskable],
        p,
    )


def test_tokens_are_selected_independently():
    """The number selected in a row is binomial: an exact-count sampler would have no variance."""
    ids, _, maskable = texts(rows=20_000, length=42, pad=False)
    counts = (
        dynamic_random_mask(ids, maskable, 0.15, generator=generator(), **VOCABULARY)
        .selected.sum(1)
        .double()
    )
    assert counts.mean().item() == pytest.approx(
        40 * 0.15, abs=5 * math.sqrt(40 * 0.15 * 0.85 / 20_000)
    )
    assert counts.var().item() == pytest.approx(40 * 0.15 * 0.85, rel=0.06)


@pytest.mark.parametrize(
    "split",
    [(0.8, 0.1, 0.1), (0.5, 0.3, 0.2), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.9, 0)],
)
def test_shares_of_mask_random_and_kept_are_those_of_split(split):
    """A random token is another one only in 1 - 1/V of the draws."""
    ids, _, maskable = texts(rows=12_000)
    view = dynamic_random_mask(
        ids, maskable, 0.3, split=split, generator=generator(), **VOCABULARY
    )
    now, was = view.input_ids[view.selected], ids[view.selected]
    to_mask, to_random, to_keep = split
    assert_rate(now == MASK, to_mask + to_random / V)
    assert_rate(
        (now != MASK) & (now != was), to_random * (1 - 2 / V)
    )  # neither the original nor [MASK] by chance
    assert_rate(now == was, to_keep + to_random / V)


def test_random_tokens_are_uniform_over_the_whole_vocabulary():
    ids, _, maskable = texts(rows=4000, pad=False)
    view = dynamic_random_mask(
        ids, maskable, 1.0, split=(0, 1, 0), generator=generator(), **VOCABULARY
    )
    counts = torch.bincount(view.input_ids[view.selected], minlength=V).double()
    expected = counts.sum() / V
    chi_square = ((counts - expected) ** 2 / expected).sum().item()
    assert len(counts) == V and chi_square < V - 1 + 5 * math.sqrt(2 * (V - 1))


def test_targets_are_the_originals_on_all_selected_and_the_input_is_not_changed():
    ids, _, maskable = texts(rows=200)
    before = ids.clone()
    masked = dynamic_random_mask(ids, maskable, 0.5, generator=generator(), **VOCABULARY)
    view = masking.masked_view({"input_ids": ids, "label": torch.arange(200)}, masked)
    assert torch.equal(ids, before)
    assert masked.input_ids.data_ptr() != ids.data_ptr()
    assert torch.equal(view["targets"][view["selected"]], before[masked.selected])
    assert torch.equal(view["label"], torch.arange(200))


def test_a_larger_p_selects_a_superset_and_split_changes_nothing_in_the_selection():
    ids, _, maskable = texts(rows=100)
    small = dynamic_random_mask(ids, maskable, 0.15, generator=generator(), **VOCABULARY)
    large = dynamic_random_mask(ids, maskable, 0.4, generator=generator(), **VOCABULARY)
    all_mask = dynamic_random_mask(
        ids, maskable, 0.15, split=(1, 0, 0), generator=generator(), **VOCABULARY
    )
    assert (
        large.selected | ~small.selected
    ).all() and large.selected.sum() > small.selected.sum()
    assert torch.equal(all_mask.selected, small.selected)
    assert (all_mask.input_ids[all_mask.selected] == MASK).all()


def test_the_tokens_of_a_word_are_selected_together_and_fare_alike():
    ids, _, maskable = texts(pad=False)
    words = (torch.arange(32) // 2 * 2).expand(ids.shape)  # of two tokens each
    options = dict(words=words, split=(0.6, 0.0, 0.4), generator=generator())
    view = dynamic_random_mask(ids, maskable, 0.3, **options, **VOCABULARY)
    assert_rate(view.selected[:, 2:-2:2], 0.3)
    for flags in (view.selected, view.input_ids == MASK):
        assert torch.equal(flags[:, 2:-2:2], flags[:, 3:-2:2])


# --- complementary random masking ------------------------------------------------------------------


def pair(p_m=0.15, p_c=0.7, seed=0, rows=4000, split=(0.8, 0.1, 0.1)):
    ids, _, maskable = texts(rows=rows)
    g = generator(seed)
    view_0 = dynamic_random_mask(ids, maskable, p_m, generator=g, **VOCABULARY)
    view_1 = complementary_random_mask(
        ids, maskable, view_0.selected, p_c, split=split, generator=g, **VOCABULARY
    )
    return ids, maskable, view_0, view_1


def test_the_second_view_is_built_on_the_original_ids():
    ids, _, view_0, view_1 = pair()
    assert not torch.equal(view_0.input_ids, ids)
    assert torch.equal(view_1.input_ids[~view_1.selected], ids[~view_1.selected])


def test_p_c_is_the_rate_among_free_tokens():
    _, maskable, view_0, view_1 = pair()
    assert_rate(view_1.selected[maskable & ~view_0.selected], 0.7)
    assert_rate(view_1.selected[maskable], 0.7 * 0.85)  # 0.595


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 6),
    length=st.integers(1, 12),
    p_m=st.floats(0, 1),
    p_c=st.floats(0, 1),
    seed=st.integers(0, 2**31),
)
def test_properties_of_a_pair_on_any_input(rows, length, p_m, p_c, seed):
    g = generator(seed)
    ids = torch.randint(V, (rows, length), generator=g)
    maskable = torch.rand(rows, length, generator=g) < 0.6
    view_0 = dynamic_random_mask(ids, maskable, p_m, generator=g, **VOCABULARY)
    view_1 = complementary_random_mask(
        ids, maskable, view_0.selected, p_c, generator=g, **VOCABULARY
    )
    for view in (view_0, view_1):
        assert view.input_ids.shape == ids.shape and view.input_ids.dtype == ids.dtype
        assert not view.selected[~maskable].any()
        assert torch.equal(view.input_ids[~view.selected], ids[~view.selected])
        assert ((view.input_ids >= 0) & (view.input_ids < V)).all()
    assert not (view_0.selected & view_1.selected).any()


# --- span masking ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 4, 6, 10, 21])
def test_texts_of_any_length_have_their_share_of_spans(length):
    """A budget that was rounded to the nearest number would leave texts of three tokens alone."""
    rows = 20_000
    ids = torch.full((rows, length), 50)
    selected = masking.span_mask(
        ids,
        torch.ones_like(ids, dtype=torch.bool),
        0.15,
        generator=generator(),
        **VOCABULARY,
    )
    share = selected.selected.double().mean().item()
    assert share == pytest.approx(
        0.15, abs=4 * (0.15 * 0.85 / (rows * length)) ** 0.5 + 0.002
    )


def test_of_the_spans_too_a_tenth_is_random_and_a_tenth_is_kept():
    ids, _, maskable = texts(rows=2000, length=64, pad=False)
    view = masking.span_mask(ids, maskable, 0.15, generator=generator(), **VOCABULARY)
    found, original = view.input_ids[view.selected], ids[view.selected]
    assert (found == MASK).double().mean().item() == pytest.approx(0.8, abs=0.02)
    assert (found == original).double().mean().item() == pytest.approx(0.1, abs=0.02)


# --- crop ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.9, 0.7, 0.5, 1.0])
def test_a_crop_is_one_contiguous_span_between_one_cls_and_one_sep(keep):
    ids = torch.stack(
        [torch.cat([torch.tensor([CLS]), torch.arange(100, 110), torch.tensor([SEP])])]
        * 2000
    )
    cropped = masking.crop(
        ids, torch.ones_like(ids), keep, pad_id=PAD, generator=generator()
    )
    length = round(10 * keep)  # 90 % stay; a crop that *drops* 90 % keeps one
    assert cropped.input_ids.shape == ids.shape
    assert (cropped.attention_mask.sum(1) == length + 2).all()
    assert (cropped.input_ids[:, 0] == CLS).all() and (
        (cropped.input_ids == CLS).sum(1) == 1
    ).all()
    assert (cropped.input_ids[:, length + 1] == SEP).all() and (
        (cropped.input_ids == SEP).sum(1) == 1
    ).all()
    span = cropped.input_ids[:, 1 : length + 1]
    assert (span.diff(dim=1) == 1).all()  # contiguous, in order: a random subset has gaps
    starts = torch.bincount(span[:, 0] - 100, minlength=11 - length)
    assert (
        len(starts) == 11 - length
    )  # no start beyond the last place where the span fits
    for count in starts:
        assert_rate(count, 1 / len(starts), n=2000)  # all places alike


# --- shuffle ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 1, 3, 6])
def test_shuffle_moves_no_token_further_than_the_window_and_no_special_one(window):
    length = 20
    row = torch.arange(100, 100 + length)
    row[[0, 9, 15, 16, 17, 18, 19]] = torch.tensor([CLS, SEP, SEP, PAD, PAD, PAD, PAD])
    ids = row.repeat(10_000, 1)
    maskable = ids >= 100
    shuffled = masking.shuffle(ids, maskable, window, generator=generator())
    assert torch.equal(shuffled[~maskable], ids[~maskable])
    home = shuffled - 100
    moved = (home - torch.arange(length)).abs()[maskable]
    assert moved.max() == min(
        window, 7
    )  # the bound holds, and it is reached (the longest run has 8 tokens)
    assert torch.equal(
        shuffled.sort(dim=1).values, ids.sort(dim=1).values
    )  # no token lost, none doubled
    assert (home[:, 1:9] < 9).all() and (
        home[:, 10:15] > 9
    ).all()  # the two texts of a pair do not mix


def test_shuffle_is_lample_et_al_on_three_tokens():
    """Two tokens with k = 1 change places when 0 + 2u > 1 + 2u': probability 1/8."""
    ids = torch.tensor([[CLS, 11, 12, SEP]]).repeat(40_000, 1)
    shuffled = masking.shuffle(ids, ids > 10, 1, generator=generator())
    assert_rate(shuffled[:, 1] == 12, 1 / 8)


# --- replace ---------------------------------------------------------------------------------------


def test_replacing_tokens_are_sampled_from_the_softmax_not_taken_at_the_maximum():
    ids = torch.full((200, 100), 20)
    selected = torch.ones_like(ids, dtype=torch.bool)
    probability = torch.tensor([0.5, 0.3, 0.15, 0.05])
    replaced = masking.replace(
        ids, selected, probability.log().expand(20_000, 4), generator=generator()
    )
    for token, p in enumerate(probability.tolist()):
        assert_rate(replaced == token, p)


def test_rows_of_logits_go_to_their_own_positions():
    ids = torch.full((2, 3), 20)
    selected = torch.tensor([[True, False, True], [False, True, False]])
    logits = torch.full((3, V), -1e4)
    logits[torch.arange(3), torch.tensor([31, 32, 33])] = 0
    replaced = masking.replace(ids, selected, logits)
    assert replaced.tolist() == [[31, 20, 32], [20, 33, 20]]
    assert torch.equal(masking.replace(ids, torch.zeros_like(selected), logits[:0]), ids)


def test_a_span_crosses_neither_a_special_token_nor_another_span():
    """The uniform number that decides what a span becomes tells spans apart: each stands on neighbouring tokens."""
    maskable = torch.ones(400, 40, dtype=torch.bool)
    maskable[:, [0, 13, 14, 27, 39]] = False  # [CLS] … [SEP] [SEP] … [SEP] … [SEP]
    selected, u = _draw_spans(maskable, 0.6, 0.05, 10, generator())
    assert not (selected & ~maskable).any()
    for row, chosen in zip(u.tolist(), selected.tolist(), strict=True):
        of_span = {}
        for place, (number, inside) in enumerate(zip(row, chosen, strict=True)):
            if inside:
                of_span.setdefault(number, []).append(place)
        for places in of_span.values():
            assert places == list(range(places[0], places[-1] + 1)) and len(places) <= 10


def test_crop_with_another_pad_id_and_padding_on_the_left():
    ids = torch.tensor([[9, 9, CLS, 11, 12, 13, SEP]])
    cropped = masking.crop(
        ids, torch.tensor([[0, 0, 1, 1, 1, 1, 1]]), 1.0, pad_id=9, generator=generator()
    )
    assert cropped.input_ids.tolist() == [[CLS, 11, 12, 13, SEP, 9, 9]]
    assert torch.equal(ids.gather(1, cropped.positions)[:, :5], cropped.input_ids[:, :5])
    assert not cropped.positions[:, 5:].any()  # padding points to the front
    assert masking.crop(ids, ids != 9, 1.0, pad_id=9).attention_mask.dtype == torch.bool
