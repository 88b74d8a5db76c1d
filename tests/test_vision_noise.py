"""Noise on pictures and pairs: rates, what is hidden together, where replacements come from, who gets whose text."""

import pytest
import torch
from pairs import make_pairs

from contrast_kit.masking.noise import Mask
from contrast_kit.vision.noise import MaskPair, MaskRegions, mismatched, overlaps

VOCABULARY = {"mask_id": 3, "vocab_size": 20}


def grid(size=400, places=6, width=3):
    """Pictures whose boxes do not overlap, some padded, in two rows each; a feature tells picture and place."""
    low = torch.arange(places) / places  # [R]
    box = torch.stack(
        [low, torch.zeros(places), low + 0.9 / places, torch.ones(places)], 1
    )  # [R, 4]
    real = torch.arange(places) < torch.randint(
        2, places + 1, (size, 1), generator=torch.Generator().manual_seed(5)
    )
    image = torch.arange(size) // 2  # [B]
    features = (
        image[:, None, None] + torch.arange(places)[:, None] / 100 + torch.zeros(width)
    )  # [B, R, F]
    ids = torch.arange(size)[:, None].repeat(1, 5) + 100
    batch = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "maskable": ids > 2,
        "text_id": torch.arange(size),
    }
    batch |= {
        "regions": features * real[..., None],
        "boxes": box.repeat(size, 1, 1),
        "region_mask": real,
    }
    return batch | {"image_id": image}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_rates_and_shares():
    batch = grid(4000)
    view = MaskRegions()(batch, seeded())
    real, drawn, hidden = (
        batch["region_mask"],
        view["region_selected"],
        view["region_hidden"],
    )
    changed = (view["regions"] != batch["regions"]).any(-1) & ~hidden
    assert (
        not (drawn & ~real).any() and not (hidden & ~real).any()
    )  # padding is never masked, nor counted
    assert (hidden <= drawn).all() and (changed <= drawn).all()
    assert drawn.sum() / real.sum() == pytest.approx(0.15, abs=0.01)
    assert hidden.sum() / drawn.sum() == pytest.approx(0.8, abs=0.02)
    assert changed.sum() / drawn.sum() == pytest.approx(0.1, abs=0.02)
    assert (view["regions"][hidden] == 0).all()
    assert torch.equal(view["region_targets"], batch["regions"]) and torch.equal(
        view["boxes"], batch["boxes"]
    )


def test_a_replacement_comes_from_another_picture():
    """Not from the same picture in another row either; each other region is as likely."""
    batch = grid(60)
    view = MaskRegions(p=1.0, split=(0.0, 1.0, 0.0))(batch, seeded())
    real, found = batch["region_mask"], view["regions"]
    assert not view["region_hidden"].any()
    pictures = found[..., 0].floor().long()  # [B, R]
    assert (pictures != batch["image_id"][:, None])[real].all()
    shown = {tuple(row.tolist()) for row in batch["regions"][real]}
    assert all(
        tuple(row.tolist()) in shown for row in found[real]
    )  # regions, never padding
    assert len(pictures[real].unique()) > 25


def test_boxes_that_show_the_same_pixels_are_hidden_together():
    one, over, apart = [0.0, 0.0, 0.4, 1.0], [0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]
    batch = {
        "regions": torch.randn(200, 3, 4),
        "boxes": torch.tensor([[one, over, apart]]).repeat(200, 1, 1),
    }
    batch["region_mask"] = torch.ones(200, 3).bool()
    assert overlaps(batch["boxes"])[0, 0, 1] == pytest.approx(0.8)
    for split in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        view = MaskRegions(p=0.3, split=split)(batch, seeded())
        drawn, seen = (
            view["region_selected"],
            (view["regions"] == batch["regions"]).all(-1),
        )
        touched = drawn[:, :2].any(1)
        assert (
            touched.any() and not seen[touched, :2].any()
        )  # neither of the two still shows the feature
        assert (
            drawn[touched, :2].sum(1) == 1
        ).any()  # the other one is hidden, and not to be recovered
        assert torch.equal(~seen[:, 2], drawn[:, 2])
    alone = MaskRegions(p=0.3, split=(1.0, 0.0, 0.0), overlap=1.0)(batch, seeded())
    assert torch.equal(alone["region_hidden"], alone["region_selected"])


def test_overlaps_is_the_area_shared_over_the_area_of_both():
    g = seeded()
    low = torch.rand(4, 2, generator=g, dtype=torch.float64) * 0.6
    boxes = torch.cat(
        [low, low + 0.1 + 0.3 * torch.rand(4, 2, generator=g, dtype=torch.float64)], 1
    )
    found = overlaps(boxes)
    for i, a in enumerate(boxes.tolist()):
        for j, b in enumerate(boxes.tolist()):
            width, height = (
                min(a[2], b[2]) - max(a[0], b[0]),
                min(a[3], b[3]) - max(a[1], b[1]),
            )
            shared = max(width, 0) * max(height, 0)
            areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
            assert found[i, j].item() == pytest.approx(
                shared / (sum(areas) - shared), abs=1e-10
            )


@pytest.mark.parametrize("which", ["either", "both"])
def test_a_pair_loses_words_or_regions(which):
    batch = grid(600)
    before = {key: value.clone() for key, value in batch.items()}
    noise = MaskPair(words=Mask(0.5), regions=MaskRegions(0.5), which=which)
    view = noise(batch, seeded(), {"mask_id": 3, "vocab_size": 3000})
    words = view["selected"].any(1) | (view["input_ids"] != batch["input_ids"]).any(
        1
    )  # [B]
    shown = view["region_selected"].any(1) | view["region_hidden"].any(1)
    shown |= (view["regions"] != batch["regions"]).flatten(1).any(1)
    assert (words & shown).any() == (which == "both")
    share = words.double().mean().item()
    assert share == pytest.approx(0.97 if which == "both" else 0.485, abs=0.06)
    assert torch.equal(view["targets"], batch["input_ids"]) and torch.equal(
        view["region_targets"], batch["regions"]
    )
    assert all(
        torch.equal(batch[key], before[key]) for key in batch
    )  # the batch itself is not changed
    again = noise(batch, seeded(), {"mask_id": 3, "vocab_size": 3000})
    assert all(torch.equal(view[key], again[key]) for key in view)


def test_a_wrong_pair_has_the_whole_text_of_another_picture(texts, tokenizer):
    batch = make_pairs(texts, tokenizer).batch(range(12))
    batch["token_type_ids"] = batch["input_ids"] % 2
    of_text = ("input_ids", "attention_mask", "maskable", "token_type_ids", "text_id")
    view = mismatched(batch, 0.5, generator=seeded())
    wrong = view["matched"] == 0
    assert wrong.any() and not wrong.all()
    for row in range(12):
        source = int((batch["text_id"] == view["text_id"][row]).nonzero()[0])
        assert (source == row) == bool(view["matched"][row])
        assert (batch["image_id"][source] == batch["image_id"][row]) == bool(
            view["matched"][row]
        )
        assert all(torch.equal(view[key][row], batch[key][source]) for key in of_text)
        assert all(
            torch.equal(view[key][row], batch[key][row])
            for key in ("regions", "objects", "answer_scores")
        )


def test_a_caption_that_is_true_of_another_picture_is_never_called_wrong_for_it():
    batch = grid(8)
    true_of = torch.eye(8).bool()
    true_of[2, 0] = True  # text 2 is true of picture 0
    seen = set()
    for seed in range(200):
        view = mismatched(batch | {"true_of": true_of}, 1.0, generator=seeded(seed))
        assert "true_of" not in view
        seen |= {(int(text), row) for row, text in enumerate(view["text_id"])}
    assert (2, 0) not in seen and (0, 2) in seen and (3, 0) in seen
