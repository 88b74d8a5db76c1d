"""A shelf to arrange by hand, a question to type, and what a model of words and pictures answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit.data import Pictures
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.explore._panel import FigurePanel, choice, row, sentence_line, widgets
from contrast_kit.objectives import Answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from contrast_kit.data.scenes import Scene, Toy

LEVELS = ("top", "middle", "bottom")
NOTHING = "–"
TOYS = {"top_2": "big green drum", "middle_1": "small blue kite", "bottom_3": "big red ball"}
QUESTION = "What colour is the big drum on the top shelf?"


class Shelf(FigurePanel):
    """Twelve places, a question, and an answer. See `shelf`."""

    in_the_dark = "ck-dimmed"  # a white toy must not turn black

    def __init__(
        self, objective: Answer, answers: Sequence[str], pictures: Pictures, question: str, toys: Mapping[str, str]
    ):
        from contrast_kit.data.scenes.shelf import PLACES

        self.objective, self.answers, self.pictures = objective, list(answers), pictures
        self.sorts = _sorts(pictures)
        self.question = sentence_line("question", question)
        names = [f"{level}_{place}" for level in LEVELS for place in range(1, PLACES + 1)]
        options = (NOTHING, *sorted(self.sorts))
        for name, toy in toys.items():
            arguments.known(name, names, "place")
            if not isinstance(toy, str) or toy not in options:
                such = f"a toy such as {options[1]!r}, or {NOTHING!r}"
                raise ValueError(f"{name} must hold {such}, not {checks.shown(toy)}.")
        self.places = {name: choice(name, options, toys.get(name, NOTHING), "225px") for name in names}
        lines = [row(*(self.places[f"{level}_{place}"] for place in range(1, PLACES + 1))) for level in LEVELS]
        handles = {name: (widget, "value") for name, widget in self.places.items()}
        self.assemble({"question": (self.question, "value")} | handles, self.question, *lines)

    def scene(self) -> "Scene":
        """The shelf as a record: `scenes.picture` draws it. Raises ValueError for an empty one."""
        from contrast_kit.data.scenes import Scene, Toy

        toys: list[Toy] = []
        for name, widget in self.places.items():
            if widget.value != NOTHING:
                level, place = name.split("_")
                toys.append(Toy(*self._made(widget.value), LEVELS.index(level), int(place) - 1))
        if not toys:
            raise ValueError("Put a toy on the shelf: there is nothing to ask about.")
        return Scene(int(self.pictures.ids[0]), tuple(toys))

    def view(self) -> dict[str, Tensor]:
        """The question beside the shelf, as a batch of one: the region of each toy is one the detector has seen."""
        from contrast_kit.data.scenes import boxes

        scene = self.scene()
        encoder = self.objective.encoder
        ids = torch.tensor([encoder.tokenizer(self.question.value)["input_ids"]])  # [1, T]
        if not 2 < ids.shape[1] <= encoder.max_length:
            raise ValueError(f"Type a question of up to {encoder.max_length - 2} tokens.")
        seen = [self.sorts[f"{toy.size} {toy.colour} {toy.good}"][:2] for toy in scene.toys]
        regions = torch.stack([self.pictures.regions[at] for at in seen])[None]  # [1, R, F]
        view = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "regions": regions}
        view["boxes"] = torch.from_numpy(boxes(scene, train=False))[None]  # [1, R, 4]
        view["region_mask"] = torch.ones(regions.shape[:2], dtype=torch.bool)
        return {key: value.to(encoder.device) for key, value in view.items()}

    @torch.no_grad()
    def scores(self, see: bool = True) -> dict[str, float]:
        """The probability of each answer, the best first; `see=False`: one hidden region in place of the shelf."""
        view = self.view()
        if not see:
            hidden = torch.ones_like(view["region_mask"][:, :1])
            view |= {"regions": torch.zeros_like(view["regions"][:, :1]), "region_mask": hidden}
            view |= {"boxes": view["boxes"].new_tensor([[[0.0, 0.0, 1.0, 1.0]]]), "region_hidden": hidden}
        probabilities = self._still(lambda: self.objective.logits(view))[0].sigmoid().cpu()  # [A]
        order = probabilities.argsort(descending=True).tolist()
        return {self.answers[i]: probabilities[i].item() for i in order}

    def words(self) -> str:
        (first, p), (second, q), *_ = self.scores().items()
        blind = next(iter(self.scores(see=False)))
        return f"<b>{first}</b> ({p:.2f}), before {second} ({q:.2f}). Without a picture it would say {blind}."

    @torch.no_grad()
    def figure(self) -> "Figure":
        """Where [CLS], which answers, and the words of the question look in the last layer, averaged over its heads."""
        from contrast_kit import plots
        from contrast_kit.data import scenes

        view = self.view()
        weights = self._still(lambda: self.objective.encoder.attention(view))[0, -1].mean(0).cpu()  # [T, R]
        looks = torch.stack([weights[0], weights[1:-1].mean(0)])  # [2, R]
        answer = next(iter(self.scores()))
        picture = scenes.picture(self.scene(), train=False)
        names = ["[CLS], which answers", "the words, in the mean"]
        title = f"{self.question.value} – {answer}"
        return plots.attention(picture, view["boxes"][0].cpu(), looks, names, columns=2, title=title)

    def _made(self, sort: str) -> tuple[str, str, str, int]:
        """Good, colour, size and price of the toy whose region is taken."""
        *_, toy = self.sorts[sort]
        return toy.good, toy.colour, toy.size, toy.price

    def _still(self, compute: Any) -> Tensor:
        """Compute without dropout, and leave the model as it was."""
        with evaluating(self.objective):
            return compute()


def _sorts(pictures: Pictures) -> dict[str, tuple[int, int, "Toy"]]:
    """For each sort, the toy of which the detector is surest: where its region stands, and its record."""
    from contrast_kit.data import scenes

    found: dict[str, tuple[float, tuple[int, int, Toy]]] = {}
    for at, number in enumerate(pictures.ids.tolist()):
        for region, toy in enumerate(scenes.scene(number).toys):
            sort, sure = f"{toy.size} {toy.colour} {toy.good}", float(pictures.object_confidence[at, region])
            if sort not in found or sure > found[sort][0]:
                found[sort] = sure, (at, region, toy)
    return {sort: place for sort, (_, place) in found.items()}


def shelf(
    objective: Answer,
    answers: Sequence[str],
    pictures: Pictures,
    question: str = QUESTION,
    toys: Mapping[str, str] = TOYS,
) -> Shelf:
    """Arrange a shelf, type a question, and see what a model answers, and where it looks.

    The region of a toy is one that the detector saw on another shelf, of a toy of the same sort; its box is that of the
    place where you put it. The sentence below the picture also says what the model would answer *without* a picture:
    an answer that stays the same does not come from seeing.

    Args:
        objective: an `Answer`, trained on questions.
        answers: the names of its answers, in order.
        pictures: the scenes' regions, standardised as in training, like `scenes.pictures().only(…)` of the test split.
        question: the first one. toys: what stands where, {"top_1": "big green drum"}; places are top_1 to bottom_4.

    Returns:
        A panel; `set(question=…, top_1=…)` moves it, `scores()` gives the probability of each answer.

    Raises:
        TypeError, ValueError: another objective, a wrong number of answers, or a toy or a place that is not there.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.data import scenes
        >>> pictures = ck.data.stack_pictures(  # of noise; `scenes.pictures()` has the detector's
        ...     [{"image_id": n, "regions": torch.randn(len(scenes.scene(n).toys), 6),
        ...       "boxes": scenes.boxes(scenes.scene(n))} for n in scenes.image_ids("test")[:60]])
        >>> tokenizer = ck.data.train_tokenizer(["what colour is the big drum"], vocab_size=60)
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4)
        >>> objective = ck.objectives.Answer(encoder, answers=2)
        >>> toy = sorted(ck.explore.shelf(objective, ["red", "blue"], pictures, toys={}).sorts)[0]
        >>> panel = ck.explore.shelf(objective, ["red", "blue"], pictures, toys={"top_1": toy})
        >>> len(panel.scores()), panel.view()["regions"].shape
        (2, torch.Size([1, 1, 6]))
    """
    widgets()
    if not isinstance(objective, Answer):
        raise TypeError(f"The panel asks an objectives.Answer, not {type(objective).__name__}.")
    answers = arguments.strings("answers", answers, "names")
    if len(answers) != objective.config.answers:
        raise ValueError(f"Give the names of the {objective.config.answers} answers of the objective, in order.")
    if not isinstance(pictures, Pictures):
        raise TypeError(f"pictures must be data.Pictures, not {checks.shown(pictures)}.")
    toys = arguments.mapping("toys", toys, "from a place to the toy in it")
    return Shelf(objective, answers, pictures, question, toys)
