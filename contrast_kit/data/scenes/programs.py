"""Questions as programs, as in GQA: a nested tuple that can be run on a scene, said, and reasoned with.

| program | value |
|---|---|
| `("select", good)` | the toys of this good; "toy" selects all |
| `("filter", field, value, set)` | those of them with this colour, size or shelf |
| `("relate", "right" or "left", set)` | the nearest toy on that side of *the* toy of the set, on its shelf |
| `("query", field, set)` | the field of *the* toy of the set |
| `("verify", field, value, set)` | yes or no: has *the* toy this value? |
| `("choose", field, a, b, set)` | which of the two values *the* toy has |
| `("exist", set)` | yes or no |
| `("same", field, set, set)` | yes or no: do *the* two toys agree? |
| `("compare", "cheaper" or "dearer", set, set)` | the good that is so |
| `("and" or "or", program, program)` | yes or no: of two that begin with "exist" |

*The* toy is the only one of its set; where there is none or several, the program has no value.
"""

from __future__ import annotations

from random import Random
from typing import Any

from contrast_kit.data.scenes.shelf import (
    GOODS,
    TABLES,
    VALUES,
    Scene,
    Toy,
    colours_of,
    field_of,
    those,
)
from contrast_kit.data.toyshop.grammar import join, sentence
from contrast_kit.data.toyshop.words import article, pick

Program = tuple[Any, ...]


class NoAnswer(Exception):
    """The question makes no sense for this scene."""


def run(program: Program, scene: Scene) -> str | None:
    """The value of a program on a scene, as the word that answers it; None where it makes no sense.

    >>> shelf = Scene(0, (Toy("drum", "red", "big", 5, 0, 0), Toy("kite", "blue", "small", 3, 0, 2)))
    >>> run(("query", "colour", ("relate", "right", ("select", "drum"))), shelf)
    'blue'
    >>> run(("and", ("exist", ("select", "kite")), ("exist", ("filter", "colour", "red", ("select", "kite")))), shelf)
    'no'
    """
    try:
        value = _value(program, scene)
    except NoAnswer:
        return None
    if isinstance(value, bool):
        return _yes(value)
    return value


def find(program: Program, scene: Scene) -> list[Toy]:
    """The toys of a set."""
    kind = program[0]
    if kind == "select":
        return those(scene, lambda toy: program[1] in ("toy", toy.good))
    if kind == "filter":
        return [toy for toy in find(program[3], scene) if field_of(toy, program[1]) == program[2]]
    toy = only(program[2], scene)
    row = those(scene, lambda other: other.shelf == toy.shelf)
    place = row.index(toy)
    if program[1] == "right":
        return row[place + 1 : place + 2]
    return row[max(place - 1, 0) : place]


def only(program: Program, scene: Scene) -> Toy:
    """*The* toy of a set."""
    toys = find(program, scene)
    if len(toys) != 1:
        raise NoAnswer
    return toys[0]


def _value(program: Program, scene: Scene) -> str | bool:
    kind, *rest = program
    if kind == "exist":
        return bool(find(rest[0], scene))
    if kind in ("and", "or"):
        values = [_value(part, scene) for part in rest]
        return all(values) if kind == "and" else any(values)
    field = rest[0]
    if kind in ("same", "compare"):
        a, b = (only(part, scene) for part in rest[1:])
        if a == b or (kind == "compare" and (a.price == b.price or a.good == b.good)):
            raise NoAnswer
        if kind == "same":
            return field_of(a, field) == field_of(b, field)
        cheaper, dearer = sorted((a, b), key=lambda toy: toy.price)
        return cheaper.good if field == "cheaper" else dearer.good
    value = field_of(only(rest[-1], scene), field)
    if kind == "verify":
        return value == rest[1]
    if kind == "choose" and value not in rest[1:3]:
        raise NoAnswer
    return value


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def _without_filters(toys: Program) -> tuple[Program, dict[str, str]]:
    """A set before its filters, and what these tell."""
    told = {}
    while toys[0] == "filter":
        _, field, told[field], toys = toys
    return toys, told


def describe(program: Program) -> str:
    """A set as a noun phrase without article: "small red drum on the top shelf".

    >>> describe(("filter", "colour", "red", ("filter", "shelf", "top shelf", ("select", "drum"))))
    'red drum on the top shelf'
    """
    toys, told = _without_filters(program)
    head, place = toys[1], ""
    if toys[0] == "relate":
        head = f"toy to the {toys[1]} of the {describe(toys[2])}"
    if "shelf" in told:
        place = f"on the {told['shelf']}"
    return join(told.get("size", ""), told.get("colour", ""), head, place)


def say(program: Program, rng: Random) -> str:
    """A program as an English question.

    >>> from random import Random
    >>> say(("choose", "colour", "red", "blue", ("select", "drum")), Random(0))
    'Is the drum red or blue?'
    """
    return sentence(_asked(program, rng), "?")


def _asked(program: Program, rng: Random) -> str:
    kind, *rest = program
    if kind in ("and", "or"):
        both = f" {kind} ".join(article(describe(part[1])) for part in rest)
        return f"is there either {both}" if kind == "or" else f"is there {both}"
    thing, field = describe(rest[-1]), rest[0]
    if kind in ("exist", "query"):
        ways = TABLES["program"]["exist" if kind == "exist" else field]
        return pick(rng, ways).format(thing=thing, one=article(thing))
    if kind in ("verify", "choose"):
        return f"is the {thing} " + " or ".join(_predicate(field, value) for value in rest[1:-1])
    other = describe(rest[1])
    if kind == "compare":
        return f"which is {field}, the {other} or the {thing}"
    if field == "shelf":
        return f"are the {other} and the {thing} on the same shelf"
    return f"do the {other} and the {thing} have the same {field}"


def _predicate(field: str, value: str) -> str:
    return {"shelf": f"on the {value}", "good": article(value)}.get(field, value)


def entailed(program: Program, answer: str) -> dict[Program, str]:
    """Other programs whose answers follow from this one's: wherever it has the answer, they have theirs.

    A model that says the drum is red, and then that it is not, is inconsistent, whatever the picture shows.

    >>> entailed(("verify", "colour", "red", ("select", "drum")), "yes")[("query", "colour", ("select", "drum"))]
    'red'
    """
    kind, *rest = program
    if kind in ("query", "choose", "verify"):
        return _of_one(program, answer)
    if kind == "exist":
        return _of_existence(rest[0], answer)
    if kind in ("same", "compare"):
        return {(kind, rest[0], rest[2], rest[1]): answer}
    if (kind == "and") == (answer == "yes"):  # both hold, or neither does
        return dict.fromkeys(rest, answer)
    return {(kind, rest[1], rest[0]): answer}


def _of_one(program: Program, answer: str) -> dict[Program, str]:
    """What follows from a field of *the* toy of a set: that there is one, and what its field is not."""
    kind, field, value, toys = *program[:3], program[-1]
    follows: dict[Program, str] = {("exist", toys): "yes"}
    if kind != "verify":
        value = answer
    elif answer == "no":
        if field != "good":
            follows["exist", ("filter", field, value, toys)] = "no"
        return follows
    follows["query", field, toys] = value
    for other in VALUES[field]:
        follows["verify", field, other, toys] = _yes(other == value)
        if field != "good":
            follows["exist", ("filter", field, other, toys)] = _yes(other == value)
        if other != value:
            follows["choose", field, value, other, toys] = value
            follows["choose", field, other, value, toys] = value
    follows.pop(program, None)
    return follows


def _of_existence(toys: Program, answer: str) -> dict[Program, str]:
    """A red drum is a drum; where there is no drum, there is no red one."""
    if answer == "no":
        _, told = _without_filters(toys)
        free = [field for field in ("colour", "size", "shelf") if field not in told]
        return {
            ("exist", ("filter", field, value, toys)): "no"
            for field in free
            for value in VALUES[field]
        }
    if toys[0] == "filter":
        return {("exist", toys[3]): "yes"}
    return {}


def scope(program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The valid and the plausible answers of a program: of its kind, and such as occur with what it speaks of.

    >>> valid, plausible = scope(("query", "colour", ("select", "train")))
    >>> len(valid), "pink" in valid, "pink" in plausible  # no train is pink
    (8, True, False)
    """
    kind, *rest = program
    if kind == "compare":
        heads = tuple(dict.fromkeys(_head(part) for part in rest[1:]))
        return GOODS, GOODS if "toy" in heads else heads
    if kind not in ("query", "choose"):
        return ("yes", "no"), ("yes", "no")
    valid = VALUES[rest[0]]
    if kind == "choose":
        return valid, tuple(rest[1:3])
    head = _head(rest[1])
    if rest[0] == "colour" and head in GOODS:
        return valid, colours_of(head)
    return valid, valid


def _head(toys: Program) -> str:
    """The good that a set selects; "toy" where it is not told."""
    toys, _ = _without_filters(toys)
    return toys[1] if toys[0] == "select" else "toy"
