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

from typing import Any

from shelves import TABLES, VALUES, colours_of, field_of, those

from contrast_kit.data.scenes.shelf import GOODS
from contrast_kit.data.toyshop.grammar import join, sentence
from contrast_kit.data.toyshop.words import article, pick

Program = tuple[Any, ...]
YES = {True: "yes", False: "no"}


class NoAnswer(Exception):
    """The question makes no sense for this scene."""


def run(program, scene) -> str | None:
    """The value of a program on a scene, as the word that answers it; None where it makes no sense.

    >>> from contrast_kit.data.scenes.shelf import Scene, Toy
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


def find(program, scene):
    """The toys of a set."""
    kind, field, *rest = program
    if kind == "select":
        return those(scene, lambda toy: field in ("toy", toy.good))
    if kind == "filter":
        value, toys = rest
        return [toy for toy in find(toys, scene) if field_of(toy, field) == value]
    toy = only(rest[0], scene)
    row = those(scene, lambda other: other.shelf == toy.shelf)
    if field == "left":
        row.reverse()
    place = row.index(toy) + 1
    return row[place : place + 1]


def only(program, scene):
    """*The* toy of a set."""
    toys = find(program, scene)
    if len(toys) != 1:
        raise NoAnswer
    return toys[0]


def _value(program, scene):
    kind, field, *rest = program
    if kind == "exist":
        return YES[bool(find(field, scene))]
    if kind in ("and", "or"):
        decides = {"and": all, "or": any}[kind]
        return YES[decides([_value(part, scene) == "yes" for part in program[1:]])]
    toys = [only(part, scene) for part in rest if isinstance(part, tuple)]
    if kind == "compare":
        first = {"cheaper": min, "dearer": max}[field]
        a, b = toys
        makes_sense = a.price != b.price and a.good != b.good
        value = first(toys, key=lambda toy: toy.price).good
    elif kind == "same":
        makes_sense = toys[0] != toys[1]
        value = YES[len({field_of(toy, field) for toy in toys}) == 1]
    else:
        value = field_of(toys[0], field)
        makes_sense = kind != "choose" or value in rest
    if not makes_sense:
        raise NoAnswer
    return YES[value == rest[0]] if kind == "verify" else value


def _without_filters(toys):
    """A set before its filters, and what these tell."""
    told = {}
    while toys[0] == "filter":
        _, field, told[field], toys = toys
    return toys, told


def describe(program) -> str:
    """A set as a noun phrase without article: "small red drum on the top shelf".

    >>> describe(("filter", "colour", "red", ("filter", "shelf", "top shelf", ("select", "drum"))))
    'red drum on the top shelf'
    """
    toys, told = _without_filters(program)
    head = toys[1]
    place = ""
    if toys[0] == "relate":
        head = f"toy to the {head} of the {describe(toys[2])}"
    if "shelf" in told:
        place = f"on the {told['shelf']}"
    return join(told.get("size"), told.get("colour"), head, place)


def say(program, rng) -> str:
    """A program as an English question.

    >>> from random import Random
    >>> say(("choose", "colour", "red", "blue", ("select", "drum")), Random(0))
    'Is the drum red or blue?'
    """
    kind, field, *rest = program
    if kind in ("and", "or"):
        both = f" {kind} ".join(article(describe(part[1])) for part in program[1:])
        either = {"or": "either ", "and": ""}[kind]
        return sentence(f"is there {either}{both}", "?")
    thing = describe(program[-1])
    parts = dict(thing=thing, one=article(thing), field=field)
    if kind in ("verify", "choose"):
        parts["values"] = " or ".join(_predicate(field, value) for value in rest[:-1])
    elif kind in ("same", "compare"):
        parts["other"] = describe(rest[0])
    patterns = TABLES["program"]
    pattern = patterns.get(f"{kind} {field}") or patterns[kind]
    if kind in ("exist", "query"):
        pattern = pick(rng, pattern)
    return sentence(pattern.format(**parts), "?")


def _predicate(field, value):
    return {"shelf": f"on the {value}", "good": article(value)}.get(field, value)


def entailed(program, answer) -> dict[Program, str]:
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
    *field, a, b = rest
    # Both hold, or neither does.
    if kind in ("and", "or") and YES[kind == "and"] == answer:
        return dict.fromkeys(rest, answer)
    return {(kind, *field, b, a): answer}


def _of_one(program, answer):
    """What follows from a field of *the* toy of a set: that there is one, and what its field is not."""
    kind, field, value = program[:3]
    toys = program[-1]
    follows = {("exist", toys): "yes"}
    if kind != "verify":
        value = answer
    elif answer == "no":
        if field != "good":
            follows["exist", ("filter", field, value, toys)] = "no"
        return follows
    follows["query", field, toys] = value
    for other in VALUES[field]:
        follows["verify", field, other, toys] = YES[other == value]
        if field != "good":
            follows["exist", ("filter", field, other, toys)] = YES[other == value]
        if other != value:
            follows["choose", field, value, other, toys] = value
            follows["choose", field, other, value, toys] = value
    follows.pop(program, None)
    return follows


def _of_existence(toys, answer):
    """A red drum is a drum; where there is no drum, there is no red one."""
    if answer == "yes":
        return {("exist", toys[3]): "yes"} if toys[0] == "filter" else {}
    _, told = _without_filters(toys)
    return {
        ("exist", ("filter", field, value, toys)): "no"
        for field in ("colour", "size", "shelf")
        if field not in told
        for value in VALUES[field]
    }


def scope(program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The valid and the plausible answers of a program: of its kind, and such as occur with what it speaks of.

    >>> valid, plausible = scope(("query", "colour", ("select", "train")))
    >>> len(valid), "pink" in valid, "pink" in plausible  # no train is pink
    (8, True, False)
    """
    kind, field, *rest = program
    heads = [_head(part) for part in rest if isinstance(part, tuple)]
    if kind == "compare":
        return GOODS, GOODS if "toy" in heads else tuple(dict.fromkeys(heads))
    if kind == "choose":
        return VALUES[field], tuple(rest[:2])
    if kind != "query":
        return ("yes", "no"), ("yes", "no")
    if field == "colour" and heads[0] in GOODS:
        return VALUES[field], colours_of(heads[0])
    return VALUES[field], VALUES[field]


def _head(toys):
    """The good that a set selects; "toy" where it is not told."""
    toys, _ = _without_filters(toys)
    return toys[1] if toys[0] == "select" else "toy"
