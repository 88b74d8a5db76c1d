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

from contrast_kit.data.scenes.ask import shelf_name
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SHELVES, SIZES, Scene, Toy, colours_of, those
from contrast_kit.data.toyshop.grammar import join, sentence
from contrast_kit.data.toyshop.words import article, pick

Program = tuple[Any, ...]
VALUES = {
    "good": GOODS,
    "colour": COLOURS,
    "size": SIZES,
    "shelf": tuple(shelf_name(shelf) for shelf in range(len(SHELVES))),
}
"""Fields that programs ask for, and their values."""


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
        return _value(program, scene)
    except NoAnswer:
        return None


def field_of(toy: Toy, field: str) -> str:
    """A field of a toy as an answer: its shelf by name."""
    return shelf_name(toy.shelf) if field == "shelf" else getattr(toy, field)


def find(program: Program, scene: Scene) -> list[Toy]:
    """The toys of a set."""
    kind = program[0]
    if kind == "select":
        return those(scene, lambda toy: program[1] in ("toy", toy.good))
    if kind == "filter":
        return [toy for toy in find(program[3], scene) if field_of(toy, program[1]) == program[2]]
    one = _only(program[2], scene)
    if program[1] == "right":
        return those(scene, lambda toy: toy.shelf == one.shelf and toy.place > one.place)[:1]
    return those(scene, lambda toy: toy.shelf == one.shelf and toy.place < one.place)[-1:]


def _only(program: Program, scene: Scene) -> Toy:
    toys = find(program, scene)
    if len(toys) != 1:
        raise NoAnswer
    return toys[0]


def _value(program: Program, scene: Scene) -> str:
    kind, *rest = program
    if kind == "exist":
        return _yes(bool(find(rest[0], scene)))
    if kind == "query":
        return field_of(_only(rest[1], scene), rest[0])
    if kind == "verify":
        return _yes(field_of(_only(rest[2], scene), rest[0]) == rest[1])
    if kind == "choose":
        value = field_of(_only(rest[3], scene), rest[0])
        if value not in rest[1:3]:
            raise NoAnswer
        return value
    if kind == "same":
        one, other = (_only(part, scene) for part in rest[1:])
        if one == other:
            raise NoAnswer
        return _yes(field_of(one, rest[0]) == field_of(other, rest[0]))
    if kind == "compare":
        one, other = (_only(part, scene) for part in rest[1:])
        if one.price == other.price or one.good == other.good:
            raise NoAnswer
        return min(one, other, key=lambda toy: toy.price if rest[0] == "cheaper" else -toy.price).good
    values = [_value(part, scene) == "yes" for part in rest]
    return _yes(all(values) if kind == "and" else any(values))


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def describe(program: Program) -> str:
    """A set as a noun phrase without article: "small red drum on the top shelf".

    >>> describe(("filter", "colour", "red", ("filter", "shelf", "top shelf", ("select", "drum"))))
    'red drum on the top shelf'
    """
    told = {}
    while program[0] == "filter":
        told[program[1]] = program[2]
        program = program[3]
    place = f"on the {told['shelf']}" if "shelf" in told else ""
    if program[0] == "relate":
        head = f"toy to the {program[1]} of the {describe(program[2])}"
    else:
        head = program[1]
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
    if kind == "exist":
        return pick(rng, ("is there {}", "do you see {}")).format(article(describe(rest[0])))
    if kind == "query":
        thing = describe(rest[1])
        if rest[0] == "good":  # asked of "the toy to the right of …", or of "the red toy"
            return pick(rng, ("what is the {}", "what kind of toy is the {}")).format(thing)
        ways = {
            "colour": ("what colour is the {}", "what is the colour of the {}"),
            "size": ("what size is the {}", "what is the size of the {}"),
            "shelf": ("on which shelf is the {}", "which shelf is the {} on"),
        }[rest[0]]
        return pick(rng, ways).format(thing)
    if kind == "verify":
        return f"is the {describe(rest[2])} {_predicate(*rest[:2])}"
    if kind == "choose":
        a, b = (_predicate(rest[0], value) for value in rest[1:3])
        return f"is the {describe(rest[3])} {a} or {b}"
    if kind == "same":
        one, other = (describe(part) for part in rest[1:])
        if rest[0] == "shelf":
            return f"are the {one} and the {other} on the same shelf"
        return f"do the {one} and the {other} have the same {rest[0]}"
    if kind == "compare":
        one, other = (describe(part) for part in rest[1:])
        return f"which is {rest[0]}, the {one} or the {other}"
    parts = [article(describe(part[1])) for part in rest]
    return f"is there {'either ' if kind == 'or' else ''}{f' {kind} '.join(parts)}"


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
    if kind == "same":
        return {("same", rest[0], rest[2], rest[1]): answer}
    if kind == "compare":
        return {("compare", rest[0], rest[2], rest[1]): answer}
    if (kind == "and") == (answer == "yes"):  # both hold, or neither does
        return dict.fromkeys(rest, answer)
    return {(kind, rest[1], rest[0]): answer}


def _of_one(program: Program, answer: str) -> dict[Program, str]:
    """What follows from a field of *the* toy of a set: that there is one, and what its field is not."""
    kind, field, toys = program[0], program[1], program[-1]
    follows: dict[Program, str] = {("exist", toys): "yes"}
    if kind == "verify" and answer == "no":
        if field != "good":
            follows[("exist", ("filter", field, program[2], toys))] = "no"
        return follows
    value = program[2] if kind == "verify" else answer
    follows |= {("query", field, toys): value}
    for other in VALUES[field]:
        follows[("verify", field, other, toys)] = _yes(other == value)
        if field != "good":
            follows[("exist", ("filter", field, other, toys))] = _yes(other == value)
        if other != value:
            follows[("choose", field, value, other, toys)] = value
            follows[("choose", field, other, value, toys)] = value
    follows.pop(program, None)
    return follows


def _of_existence(toys: Program, answer: str) -> dict[Program, str]:
    """A red drum is a drum; where there is no drum, there is no red one."""
    if answer == "yes":
        return {("exist", toys[3]): "yes"} if toys[0] == "filter" else {}
    filtered = ("colour", "size", "shelf")
    told = _filters(toys)
    return {
        ("exist", ("filter", field, value, toys)): "no"
        for field in filtered if field not in told for value in VALUES[field]
    }  # fmt: skip


def _filters(toys: Program) -> set[str]:
    told = set()
    while toys[0] == "filter":
        told.add(toys[1])
        toys = toys[3]
    return told


def scope(program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The valid and the plausible answers of a program: of its kind, and such as occur with what it speaks of.

    >>> valid, plausible = scope(("query", "colour", ("select", "train")))
    >>> len(valid), "pink" in valid, "pink" in plausible  # no train is pink
    (8, True, False)
    """
    kind, *rest = program
    if kind in ("exist", "verify", "same", "and", "or"):
        return ("yes", "no"), ("yes", "no")
    if kind == "compare":
        heads = tuple(dict.fromkeys(_head(part) for part in rest[1:]))
        return GOODS, GOODS if "toy" in heads else heads
    valid = VALUES[rest[0]]
    if kind == "choose":
        return valid, tuple(rest[1:3])
    head = _head(rest[1])
    return valid, colours_of(head) if rest[0] == "colour" and head in GOODS else valid


def _head(toys: Program) -> str:
    """The good that a set selects; "toy" where it is not told."""
    while toys[0] == "filter":
        toys = toys[3]
    return toys[1] if toys[0] == "select" else "toy"
