"""The panel of a shelf: toys put by hand, questions typed, and what is said then."""

from dataclasses import replace

import pytest
import torch

import contrast_kit as ck
from contrast_kit.data import scenes

pytest.importorskip("anywidget")

ANSWERS = ("red", "blue", "yes")


@pytest.fixture(scope="module")
def pictures():
    """Regions of noise, one for each toy of some scenes."""
    draw = torch.Generator().manual_seed(0)
    shelves = [scenes.scene(number) for number in scenes.image_ids("test")[:120]]
    return ck.data.stack_pictures(
        [
            {
                "image_id": s.image_id,
                "regions": torch.randn(len(s.toys), 6, generator=draw),
                "boxes": scenes.boxes(s),
            }
            for s in shelves
        ]
    )


@pytest.fixture(scope="module")
def objective():
    tokenizer = ck.data.train_tokenizer(
        ["what colour is the drum", "is there a kite"], vocab_size=80
    )
    encoder = ck.CrossModalEncoder.tiny(
        tokenizer, features=6, objects=4, attributes=4, max_length=32
    )
    return ck.vision.Answer(encoder, answers=len(ANSWERS))


@pytest.fixture
def panel(objective, pictures):
    first, second = sorted(ck.explore.shelf(objective, ANSWERS, pictures, toys={}).sorts)[
        :2
    ]
    return ck.explore.shelf(
        objective, ANSWERS, pictures, "what colour?", {"top_1": first, "bottom_4": second}
    )


def test_toys_stand_where_they_are_put(panel):
    toys = panel.scene().toys
    assert [(toy.shelf, toy.place) for toy in toys] == [(0, 0), (2, 3)]
    assert [f"{t.size} {t.colour} {t.good}" for t in toys] == [
        panel.state["top_1"],
        panel.state["bottom_4"],
    ]
    boxes = panel.batch()["boxes"][0]
    assert (boxes[0] < 0.4).all() and (boxes[1] > 0.6).all()
    panel.set(top_1="–")
    assert [(toy.shelf, toy.place) for toy in panel.scene().toys] == [(2, 3)]


def test_the_region_is_one_of_a_toy_of_that_sort(panel, pictures):
    at, region, toy = panel.sorts[panel.state["top_1"]]
    assert torch.equal(panel.batch()["regions"][0, 0], pictures.regions[at, region])
    assert scenes.scene(int(pictures.ids[at])).toys[region] == toy


def test_scores_are_the_models_own(panel, objective):
    objective.train()
    found = panel.scores()
    assert objective.training and list(found.values()) == sorted(
        found.values(), reverse=True
    )
    with torch.no_grad():
        expected = objective.eval().logits(panel.batch())[0].sigmoid()
    assert found == pytest.approx(dict(zip(ANSWERS, expected.tolist(), strict=True)))


def test_of_a_sort_the_detectors_surest_toy_is_taken(objective, pictures):
    sure = torch.rand(
        pictures.regions.shape[:2], generator=torch.Generator().manual_seed(1)
    )
    sorts = ck.explore.shelf(
        objective, ANSWERS, replace(pictures, object_confidence=sure), toys={}
    ).sorts
    found: dict = {}
    for at, number in enumerate(pictures.ids.tolist()):
        for region, toy in enumerate(scenes.scene(number).toys):
            found.setdefault(f"{toy.size} {toy.colour} {toy.good}", []).append(
                (sure[at, region].item(), at, region)
            )
    assert {sort: place[:2] for sort, place in sorts.items()} == {
        sort: max(each)[1:] for sort, each in found.items()
    }
    assert max(map(len, found.values())) > 1
