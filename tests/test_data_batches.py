"""Batches: nothing lost, nothing repeated, nothing but padding added."""

import numpy as np
import pytest
import torch
from byte_pairs import byte_pairs
from conftest import make_encoder
from hypothesis import given, settings
from hypothesis import strategies as st

from contrast_kit.data import Batches, Paraphrased, Texts, collate, train_tokenizer
from contrast_kit.fast.shapes import rounded_up
from contrast_kit.objectives import CAPT, CMLM, ELECTRA

LINES = [
    "a red ball",
    "a small red box stands here",
    "a red ball",
    "the box",
    "blue",
    "the ball is in the box",
]
TOKENIZER = train_tokenizer(LINES, vocab_size=80)

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=300)
sizes, seeds, epochs = st.integers(1, 40), st.integers(0, 2**40), st.integers(0, 1000)


def test_grouped_batches_are_alike_in_length_and_mixed_ones_are_as_the_texts():
    rows = np.random.default_rng(0).geometric(0.06, 6_400)
    shares = {}
    for grouped in (True, False):
        drawn = Batches(rows, 64, group_by_length=grouped).epoch(0)
        shares[grouped] = np.mean([rows[batch].var() for batch in drawn]) / rows.var()
    assert (
        shares[True] < 0.05 and 0.95 < shares[False] < 1.05
    )  # share of the variance that lies within batches


def test_rows_of_other_pools_meet_in_another_epoch():
    first, second = (
        {frozenset(batch) for batch in Batches(range(1, 801), 4).epoch(epoch)}
        for epoch in (0, 1)
    )
    assert (
        len(first) == 200 and len(first & second) < 20
    )  # sorted all together, they would be the same 200 batches


def test_no_pass_goes_from_short_rows_to_long_ones():
    shortest = [
        min(batch) for batch in Batches(range(1, 161), 4).epoch(0)
    ]  # 40 batches: one pool
    assert abs(np.corrcoef(range(40), shortest)[0, 1]) < 0.5


@given(lengths, sizes, seeds, epochs, st.booleans(), st.booleans())
def test_every_row_at_most_once_an_epoch_in_full_batches(
    rows, size, seed, epoch, last, grouped
):
    options = dict(drop_last=not last, group_by_length=grouped)
    if len(rows) < size and not last:
        with pytest.raises(ValueError, match="do not fill one batch"):
            Batches(rows, size, seed, **options)
        return
    batches = Batches(rows, size, seed, **options)
    drawn = list(batches.epoch(epoch))
    chosen = sorted(row for batch in drawn for row in batch)
    full, rest = divmod(len(rows), size)
    assert [len(batch) for batch in drawn] == [size] * full + [rest] * bool(rest and last)
    assert len(set(chosen)) == len(chosen) and (
        not last or chosen == list(range(len(rows)))
    )
    assert len(batches) == len(drawn)


@given(seeds, epochs)
def test_an_epoch_is_a_pure_function_of_seed_and_number(seed, epoch):
    rows = list(range(1, 200))
    one, other = Batches(rows, 8, seed), Batches(rows, 8, seed)
    other.epoch(epoch + 3)
    assert one.epoch(epoch) == other.epoch(epoch)
    assert one.epoch(epoch) != one.epoch(epoch + 1)
    assert one.epoch(epoch) != Batches(rows, 8, seed + 1).epoch(epoch)
    assert one.epoch(epoch + 1) != Batches(rows, 8, seed + 1).epoch(
        epoch
    )  # nor is a seed the next one, a pass later


def test_long_rows_are_dropped_no_more_often_than_short_ones():
    rows = [5] * 50 + [60] * 50
    dropped = [0, 0]
    for epoch in range(200):
        kept = {row for batch in Batches(rows, 15).epoch(epoch) for row in batch}
        for row in set(range(100)) - kept:
            dropped[row >= 50] += 1
    assert (
        sum(dropped) == 200 * 10 and abs(dropped[0] - dropped[1]) < 200
    )  # 4.5 standard deviations


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=12),
    st.sampled_from([1, 5]),
)
def test_a_batch_is_its_rows_and_padding(indices, multiple):
    texts = Texts(LINES, TOKENIZER, pad_to_multiple_of=multiple)
    assert texts.text_ids.tolist() == [0, 1, 0, 2, 3, 4] and texts.labels is None
    batch = texts.batch(indices)
    alone = collate([texts[i] for i in indices], multiple)
    assert batch.keys() == alone.keys()
    assert all(torch.equal(batch[key], alone[key]) for key in alone)
    longest = rounded_up(max(int(texts.lengths[i]) for i in indices), multiple)
    assert batch["input_ids"].shape == (len(indices), longest)
    for row, index in enumerate(indices):
        real = batch["attention_mask"][row].bool()
        assert (
            batch["input_ids"][row][real].tolist() == TOKENIZER(LINES[index])["input_ids"]
        )
        assert set(batch["input_ids"][row][~real].tolist()) <= {TOKENIZER.pad_token_id}
        maskable = batch["maskable"][row]
        assert not maskable[~real].any() and maskable[real].sum() == real.sum() - 2
    assert (
        batch["maskable"].dtype == torch.bool and batch["input_ids"].dtype == torch.long
    )


def test_pairs_are_joined_and_told_apart():
    rows = [
        {"premise": "a red ball", "hypothesis": "the ball", "label": 2},
        {"premise": "blue", "hypothesis": "box", "label": 0},
    ]
    texts = Texts(rows, TOKENIZER)
    assert texts.columns == ("premise", "hypothesis")
    assert (
        texts[0]["input_ids"].tolist() == TOKENIZER("a red ball", "the ball")["input_ids"]
    )
    assert (
        "token_type_ids" not in texts[0]
    )  # as with RoBERTa, [SEP] alone tells the two apart
    assert texts.batch([0, 1])["label"].tolist() == [2, 0]
    assert Texts(rows, TOKENIZER, columns="hypothesis").columns == ("hypothesis",)


def test_token_types_come_along_where_the_tokenizer_makes_them():
    tokenizer = train_tokenizer(LINES, vocab_size=80)
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    rows = [
        {"sentence1": "a red ball", "sentence2": "the ball"},
        {"sentence1": "a", "sentence2": "box"},
    ]
    assert Texts(rows, tokenizer).batch([0, 1])["token_type_ids"].tolist() == [
        [0, 0, 0, 0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1, 0, 0, 0],  # the last three are padding
    ]
    worded = [row | {f"{name}/0": text for name, text in row.items()} for row in rows]
    batch = Paraphrased(worded, tokenizer).batch([0, 1])
    assert (
        torch.equal(batch["T0/token_type_ids"], batch["token_type_ids"])
        and batch["token_type_ids"].any()
    )


def test_padding_is_the_tokenizers_own():
    """RoBERTa's is 1, and an id of 0 is there the token that begins a text."""
    texts = torch.tensor([2, 9, 3]), torch.tensor([2, 3])
    rows = [
        {"input_ids": ids, "maskable": ids > 4, "text_id": 0, "pad_id": 7}
        for ids in texts
    ]
    assert collate(rows)["input_ids"].tolist() == [[2, 9, 3], [2, 3, 7]]


def test_an_unknown_word_may_be_masked_but_a_written_mask_may_not():
    texts = Texts(["ball 蟹 [MASK]"], TOKENIZER)
    ids = texts[0]["input_ids"].tolist()
    assert TOKENIZER.unk_token_id in ids and TOKENIZER.mask_token_id in ids
    assert texts[0]["maskable"].tolist() == [i not in (0, 2, 3, 4) for i in ids]


def test_rows_are_tokenized_a_part_at_a_time_as_if_at_once(monkeypatch):
    rows = [{"text": line, "label": number} for number, line in enumerate(LINES)]
    whole = Texts(rows, TOKENIZER)
    monkeypatch.setattr("contrast_kit.data.texts.PART", 2)
    parts = Texts(rows, TOKENIZER)
    assert parts.text_ids.tolist() == [
        0,
        1,
        0,
        2,
        3,
        4,
    ] and parts.labels.tolist() == list(range(6))
    assert parts.fingerprint() == whole.fingerprint() and torch.equal(
        parts.maskable, whole.maskable
    )


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((0, 1, -1), [0, 1, -1]),
        ((1, None), [1, -1]),
        ((-1.0, None), None),
        ((0, float("nan")), "row 1 is NaN"),
        (("good", "bad"), "must be numbers"),
    ],
)
def test_labels_of_every_kind(values, labels):
    rows = [{"text": "ball", "label": value} for value in values]
    if isinstance(labels, str):
        with pytest.raises(ValueError, match=labels):
            Texts(rows, TOKENIZER)
        return
    found = Texts(rows, TOKENIZER).labels
    assert found is None if labels is None else found.tolist() == labels


def test_rows_without_a_token_of_text_are_refused():
    with pytest.raises(
        ValueError, match="2 rows, the first of them row 1, have no token of text"
    ):
        Texts(["a ball", "", "  "], TOKENIZER)
    with pytest.raises(TypeError, match="give a text as"):
        Texts("a ball", TOKENIZER)  # letter after letter, that would be


def test_pairs_are_two_wordings_of_the_first():
    one, other = "a red ball", "the ball is red"
    pairs = Paraphrased.of_pairs([(one, other)], TOKENIZER)
    found = [texts[0]["input_ids"].tolist() for texts in (pairs, *pairs.wordings)]
    assert found == [TOKENIZER(text)["input_ids"] for text in (one, one, other)]
    short = Paraphrased.of_pairs([(one, other)], TOKENIZER, max_length=4)
    assert [int(texts.lengths[0]) for texts in (short, *short.wordings)] == [4, 4, 4]


def test_pairs_that_share_a_wording_are_no_negatives_of_each_other():
    pairs = [
        ("a", "b"),
        ("red", "ball"),
        ("b", "box"),
        ("the box", "box"),
        ("blue", "blue"),
    ]
    assert Paraphrased.of_pairs(pairs, TOKENIZER).text_ids.tolist() == [0, 1, 0, 0, 2]


@pytest.mark.parametrize(
    "tokenizer", [train_tokenizer(LINES, 40), byte_pairs(LINES, 270)]
)
def test_every_mask_falls_on_whole_words(tokenizer):
    texts = Texts(LINES * 9, tokenizer, whole_words=True)
    batch, encoder = texts.batch(range(54)), make_encoder(tokenizer)
    pieces = tokenizer(LINES[1]).word_ids()[1:-1]  # the tokenizer's own count of words
    begun = batch["words"][1, 1 : len(pieces) + 1]
    assert [pieces.index(word) for word in pieces] == (begun - begun.min()).tolist()
    second = batch["maskable"] & batch["maskable"].gather(1, batch["words"])
    for objective in (CMLM(encoder), CAPT(encoder), ELECTRA(encoder)):
        for view in objective.views(batch).values():
            selected = view.get("selected", second)
            assert not (selected ^ selected.gather(1, batch["words"]))[second].any()
