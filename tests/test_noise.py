"""Every noise: what falls on the text, what is to be recovered, and what stays as it was."""

import pytest
import torch

from contrast_kit.masking import noise
from contrast_kit.masking.noise import Mask, MaskSpans, Replace, Shuffle

VOCABULARY = {"mask_id": 3, "vocab_size": 5000}


def texts(rows=400, length=30):
    """Rows of distinct ids, [CLS] 1 in front, [SEP] 2 at the end, padded by 5."""
    ids = torch.arange(100, 100 + length).repeat(rows, 1)  # [B, T]
    ids[:, 0], ids[:, -6] = 1, 2
    ids[:, -5:] = 0
    mask = (ids != 0).long()
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "maskable": ids > 2,
        "text_id": torch.arange(rows),
    }


def draw(kind, batch, seed=0):
    return noise.named(kind)(batch, torch.Generator().manual_seed(seed), VOCABULARY)


@pytest.mark.parametrize("kind", noise.NAMED)
def test_every_noise_keeps_the_batch_and_says_where_it_fell(kind):
    batch = texts()
    before = {key: value.clone() for key, value in batch.items()}
    view = draw(kind, batch)
    assert all(torch.equal(batch[key], before[key]) for key in before)
    assert torch.equal(view["targets"], batch["input_ids"])
    changed = view["input_ids"] != batch["input_ids"]
    assert (
        changed.any() and not (changed & ~view["selected"]).any()
    )  # nothing changes where nothing fell
    assert not (
        view["selected"] & ~batch["maskable"]
    ).any()  # no special token, no padding
    assert view["input_ids"].shape == batch["input_ids"].shape
    for key in ("attention_mask", "maskable", "text_id"):
        assert torch.equal(view[key], batch[key])


@pytest.mark.parametrize("kind", noise.NAMED)
def test_every_noise_is_drawn_from_the_generator(kind):
    batch = texts(20)
    first, again, other = (draw(kind, batch, seed)["input_ids"] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_barts_noise_shuffles_masks_and_replaces():
    """CAPT's table 1: "Mask + Shuffle + Replace". 15 % become [MASK], 15 % of the others a random token."""
    batch = texts(2000)
    view = draw("mask+shuffle+replace", batch)
    ids, free = view["input_ids"], batch["maskable"]
    masked = ids == 3
    assert masked[free].float().mean().item() == pytest.approx(0.15, abs=0.01)
    own = (ids >= 100) & (ids < 130)
    replaced = free & ~masked & ~own
    assert replaced[free].float().mean().item() == pytest.approx(0.85 * 0.15, abs=0.01)
    moved = (ids - 100 - torch.arange(ids.shape[1]))[free & own].abs()
    assert (moved <= 3).float().mean() > 0.999 and (moved > 0).float().mean() > 0.5
    assert view["selected"][replaced | masked].all()
    shuffled = draw(Shuffle() + Mask(0.0) + Replace(0.0), batch)["input_ids"]
    assert torch.equal(
        shuffled, draw("shuffle", batch)["input_ids"]
    )  # the same draws as the shuffle alone


def test_rates_are_the_callers():
    batch = texts(2000)
    for kind in (Mask(0.4), MaskSpans(0.4), Replace(0.4)):
        rate = draw(kind, batch)["selected"][batch["maskable"]].float().mean().item()
        assert rate == pytest.approx(0.4, abs=0.02)
    still = draw(Shuffle(0) + Mask(0.0) + Replace(0.0), batch)
    assert (
        torch.equal(still["input_ids"], batch["input_ids"])
        and not still["selected"].any()
    )
    for kind in (Mask, MaskSpans):
        assert (
            draw(kind(0.4, split=(0.0, 1.0, 0.0)), batch)["input_ids"] == 3
        ).float().mean() < 0.01


def test_spans_are_as_long_as_the_caller_says():
    batch = texts(2000, length=106)

    def run(**options):
        at = draw(MaskSpans(0.1, **options), batch)["selected"]
        return (at.sum() / (at[:, 1:] & ~at[:, :-1]).sum()).item()

    assert (
        run(span_p=1.0)
        < 1.2
        < 1.4
        < run(span_p=1e-9, max_span=2)
        < 1.9
        < 3
        < run(span_p=1e-9)
    )
