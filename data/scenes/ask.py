"""Questions about scenes as in VQA v2, each asked of two pictures whose answers differ; ten customers answer."""

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from questions import about_field
from records import SHADES
from shelves import TABLES, VALUES, field_of, those

from contrast_kit.data.scenes.shelf import GOODS, PRICES, SHELVES, Scene, image_ids, scene
from contrast_kit.data.toyshop import Stock
from contrast_kit.data.toyshop.grammar import noun, sentence
from contrast_kit.data.toyshop.words import article, pick

KINDS = {
    "colour": "other",
    "count": "number",
    "shelf": "other",
    "exist": "yes/no",
    "right": "other",
    "price": "number",
}
"""What is asked, and VQA's type of the answer."""
POSSIBLE = VALUES | {
    "count": tuple("0123456"),
    "exist": ("yes", "no"),
    "right": GOODS,
    "price": tuple(map(str, PRICES)),
}
"""The true answers that a kind of question can have."""

CUSTOMERS = 10
SHADE = 0.2  # how often a customer has another word for a colour
MISCOUNT = 0.35  # how often a customer who counts more than four is one off
SLIP = 0.03  # how often a customer looks at the wrong toy
QUESTIONS = {"train": 8_000, "validation": 1_000, "test": 1_000}


@dataclass(frozen=True)
class Question:
    """`kind` is asked about the toys that fit the description; an empty field (shelf -1) does not narrow it."""

    kind: str
    good: str = ""
    colour: str = ""
    size: str = ""
    shelf: int = -1


def meant(question, scene):
    """The toys that a question speaks of."""
    told = {
        name: value for name, value in vars(question).items() if value not in ("", -1)
    }
    del told["kind"]
    return those(scene, lambda toy: told.items() <= vars(toy).items())


def answer(question: Question, scene: Scene) -> str | None:
    """The true answer; None where the question makes no sense: it asks for the colour of *the* drum, and there are two.

    >>> from contrast_kit.data.scenes.shelf import Scene, Toy
    >>> shelf = Scene(0, (Toy("drum", "red", "big", 5, 0, 0), Toy("kite", "blue", "small", 3, 0, 2)))
    >>> [answer(Question(kind, "drum"), shelf) for kind in KINDS]
    ['red', '1', 'top shelf', 'yes', 'kite', '5']
    """
    toys = meant(question, scene)
    if question.kind == "exist":
        return "yes" if toys else "no"
    if question.kind == "count":
        return str(len(toys))
    if len(toys) != 1:
        return None
    (toy,) = toys
    if question.kind != "right":
        return field_of(toy, question.kind)
    beyond = those(
        scene, lambda other: other.shelf == toy.shelf and other.place > toy.place
    )
    return beyond[0].good if beyond else None


def words(question: Question, rng: Random) -> str:
    """The question in English, mostly in the toyshop's own patterns.

    >>> from random import Random
    >>> [words(Question(kind, "drum", shelf=0), Random(1)) for kind in ("colour", "right")]
    ['In which colour does the drum on the top shelf come?', 'What is to the right of the drum?']
    """
    kind = question.kind
    place = (*SHELVES, "on the shelves")[question.shelf]  # -1: anywhere
    record = Stock(1, question.good or "toy", place, question.size, question.colour)
    if kind not in TABLES["ask"]:
        return about_field(record, kind.replace("count", "number"), rng)
    ways = TABLES["ask"][kind]
    if kind == "right":
        thing = noun(record, rng)
        way = pick(rng, ways)
    else:
        way = pick(rng, ways)
        thing = noun(record, rng)
    return sentence(way.format(thing=thing, one=article(thing), place=place), "?")


def customers(question: Question, truth: str, rng: Random) -> list[str]:
    """The answers of ten customers who look at one picture.

    Colours have other names (shades of the toyshop: one eye's red is another's crimson), counts above four may be off
    by one, and anyone may look at the wrong toy. The rest say what is true.
    """
    return [_customer(question.kind, truth, rng) for _ in range(CUSTOMERS)]


def _customer(kind, truth, rng):
    if rng.random() < SLIP:
        return pick(rng, POSSIBLE[kind])
    if kind == "colour" and rng.random() < SHADE:
        shades = {shade for row in SHADES if truth in row for shade in row}
        return pick(rng, sorted(shades - {truth}))
    if kind == "count" and int(truth) > 4 and rng.random() < MISCOUNT:
        return str(int(truth) + pick(rng, (-1, 1)))
    return truth


def draw_question(rng, scene, kind):
    """A question of this kind about some toy of the scene; of those that ask whether there is one, half miss by one
    field, so that saying "no" also takes a look."""
    toy = pick(rng, scene.toys)
    told = {"good": toy.good}
    if kind in ("count", "exist") and rng.random() >= 0.5:
        del told["good"]
    share = {"colour": 0.0, "exist": 0.8, "count": 0.4}.get(kind, 0.35)
    if rng.random() < share or (kind == "exist" and not told):
        told["colour"] = toy.colour
    if rng.random() < 0.25:
        told["size"] = toy.size
    # the patterns for colours and prices tell the shelf; "right of" and "where" never do
    share = {"colour": 1, "price": 1}.get(kind, 0.35)
    if kind not in ("shelf", "right") and (share == 1 or rng.random() < share):
        told["shelf"] = toy.shelf
    if kind == "exist" and rng.random() < 0.5:
        field = pick(rng, [name for name in ("good", "colour") if name in told])
        told[field] = pick(
            rng, [value for value in VALUES[field] if value != told[field]]
        )
    return Question(kind, **told)


def vqa(split: str) -> list[dict[str, Any]]:
    """Pairs of rows that ask one question of two pictures of the split, where the true answers differ."""
    rng = Random(f"vqa/{split}")
    numbers = image_ids(split)
    rows = []
    while len(rows) < QUESTIONS[split]:
        first = scene(pick(rng, numbers))
        kind = list(KINDS)[len(rows) // 2 % len(KINDS)]  # as many of each
        question = draw_question(rng, first, kind)
        true = answer(question, first)
        second = true and _complement(question, true, numbers, rng)
        if second:
            text = words(question, rng)
            for each in (first, second):
                rows.append(_row(len(rows), text, question, each, rng))
    return rows


def _complement(question, taken, numbers, rng):
    """A scene of the same split where the question makes sense and has another answer."""
    for _ in range(400):
        other = scene(pick(rng, numbers))
        true = answer(question, other)
        # one "0" in ten, or half of all counts would be 0
        if true not in (None, taken) and (true != "0" or rng.random() < 0.1):
            return other
    return None


def _row(number, text, question, scene, rng):
    true = answer(question, scene)
    answers = customers(question, true, rng)
    return {
        "question": text,
        "image_id": scene.image_id,
        "answers": answers,
        "answer": Counter(answers).most_common(1)[0][0],
        "true_answer": true,
        "answer_type": KINDS[question.kind],
        "question_type": question.kind,
        "question_id": number,
        "complement": number ^ 1,  # rows come in pairs: 0 and 1, 2 and 3
    }
