"""A shelf to arrange by hand, a question to type, and what a model of words and pictures answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import contrast_kit as ck
from contrast_kit._util import choose
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.explore._panel import Panel, control, widgets

if TYPE_CHECKING:
    from contrast_kit.data import Pictures
    from contrast_kit.data.scenes import Scene
    from contrast_kit.vision import Answer

LEVELS = ("top", "middle", "bottom")
NOTHING = "–"
TOYS = {
    "top_2": "big green drum",
    "middle_1": "small blue kite",
    "bottom_3": "big red ball",
}
QUESTION = "What colour is the big drum on the top shelf?"


class Shelf(Panel):
    """Arrange a shelf, type a question, and see what a model answers, and where it looks.

    The region of a toy is one that the detector saw on another shelf, of a toy of the same sort; its box is that of the
    place where you put it.

    Args:
        objective: an `Answer`, trained on questions.
        answers: the names of its answers, in order.
        pictures: the scenes' regions, standardised as in training, like `scenes.pictures().only(…)` of the test split.
        question: the first one. toys: what stands where, {"top_1": "big green drum"}; places are top_1 to bottom_4.

    Returns:
        A panel; `set(question=…, top_1=…)` moves it, `scores()` gives the probability of each answer.

    Raises:
        ValueError: a wrong number of answers, or a place that is not there. TraitError: a toy that is not there.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.data import scenes
        >>> pictures = ck.data.stack_pictures(  # of noise; `scenes.pictures()` has the detector's
        ...     [{"image_id": n, "regions": torch.randn(len(scenes.scene(n).toys), 6),
        ...       "boxes": scenes.boxes(scenes.scene(n))} for n in scenes.image_ids("test")[:60]])
        >>> tokenizer = ck.data.train_tokenizer(["what colour is the big drum"], vocab_size=60)
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4)
        >>> objective = ck.vision.Answer(encoder, answers=2)
        >>> toy = sorted(ck.explore.shelf(objective, ["red", "blue"], pictures, toys={}).sorts)[0]
        >>> panel = ck.explore.shelf(objective, ["red", "blue"], pictures, toys={"top_1": toy})
        >>> len(panel.scores()), panel.batch()["regions"].shape
        (2, torch.Size([1, 1, 6]))
    """

    def __init__(
        self,
        objective: "Answer",
        answers: Sequence[str],
        pictures: "Pictures",
        question: str = QUESTION,
        toys: Mapping[str, str] = TOYS,
    ):
        if len(answers) != objective.config.answers:
            raise ValueError(
                f"Give the names of the {objective.config.answers} answers of the objective, in order."
            )
        from contrast_kit.data.scenes.shelf import PLACES

        self.objective, self.answers = objective, list(answers)
        self.pictures, self.sorts = pictures, _sorts(pictures)
        layout = {"max_width": "calc(100% - 4px)", "align_self": "flex-start"}
        self.picture = widgets().Image(format="png", layout=layout)
        lines = [[f"{level}_{place + 1}" for place in range(PLACES)] for level in LEVELS]
        options = (NOTHING, *sorted(self.sorts))
        self.places = {}
        for name in sum(lines, []):
            toy = toys.get(name, NOTHING)
            self.places[name] = control("Dropdown", name, toy, "225px", options=options)
        for name in toys:
            choose(self.places, name, "place")
        controls = {
            "question": control("Text", "question", question, "700px")
        } | self.places
        self.assemble(controls, ["question"], *lines, [self.picture])

    def scene(self) -> "Scene":
        """The shelf as a record: `scenes.picture` draws it. Raises ValueError for an empty one."""
        from contrast_kit.data.scenes import Scene

        toys = []
        for name, widget in self.places.items():
            if widget.value != NOTHING:
                level, place = name.split("_")
                *_, toy = self.sorts[widget.value]
                toys.append(replace(toy, shelf=LEVELS.index(level), place=int(place) - 1))
        if not toys:
            raise ValueError("Put a toy on the shelf: there is nothing to ask about.")
        return Scene(int(self.pictures.ids[0]), tuple(toys))

    def batch(self) -> dict[str, Tensor]:
        """The question beside the shelf, as a batch of one: the region of each toy is one the detector has seen."""
        from contrast_kit.data.scenes import boxes

        scene = self.scene()
        encoder = self.objective.encoder
        # [1, T]
        ids = torch.tensor([encoder.tokenizer(self.question.value)["input_ids"]])
        if not 2 < ids.shape[1] <= encoder.max_length:
            raise ValueError(f"Type a question of up to {encoder.max_length - 2} tokens.")
        places = [self.sorts[_sort(toy)][:2] for toy in scene.toys]
        # [1, R, F]
        regions = torch.stack([self.pictures.regions[place] for place in places])[None]
        batch = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "regions": regions,
            "boxes": torch.from_numpy(boxes(scene))[None],  # [1, R, 4]
            "region_mask": torch.ones(regions.shape[:2], dtype=torch.bool),
        }
        return {key: value.to(encoder.device) for key, value in batch.items()}

    def scores(self) -> dict[str, float]:
        """The probability of each answer, the best first."""
        with torch.no_grad(), evaluating(self.objective):
            probabilities = self.objective.logits(self.batch())[0].sigmoid().cpu()  # [A]
        order = probabilities.argsort(descending=True).tolist()
        return {self.answers[i]: probabilities[i].item() for i in order}

    def show(self) -> None:
        self.picture.value = self.figure()._repr_png_()

    def words(self) -> str:
        (first, p), (second, q), *_ = self.scores().items()
        return f"<b>{first}</b> ({p:.2f}), before {second} ({q:.2f})."

    def figure(self) -> Any:
        """Where [CLS], which answers, and the words of the question look in the last layer, averaged over its heads."""
        batch = self.batch()
        with torch.no_grad(), evaluating(self.objective):
            # [T, R]
            weights = self.objective.encoder.attention(batch)[0, -1].mean(0).cpu()
        looks = torch.stack([weights[0], weights[1:-1].mean(0)])  # [2, R]
        picture = ck.data.scenes.picture(self.scene())
        names = ["[CLS], which answers", "the words, in the mean"]
        title = f"{self.question.value} – {next(iter(self.scores()))}"
        return ck.plots.attention(
            picture, batch["boxes"][0], looks, names, columns=2, title=title
        )


def _sort(toy):
    return f"{toy.size} {toy.colour} {toy.good}"


def _sorts(pictures):
    """For each sort, the toy of which the detector is surest: picture, region, and its record."""
    sorts, surest = {}, {}
    for at, number in enumerate(pictures.ids.tolist()):
        for region, toy in enumerate(ck.data.scenes.scene(number).toys):
            sure = float(pictures.object_confidence[at, region])
            sort = _sort(toy)
            if sure > surest.get(sort, -1.0):
                surest[sort] = sure
                sorts[sort] = at, region, toy
    return sorts


shelf = Shelf
"""The name by which notebooks make the panel."""
