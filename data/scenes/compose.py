"""Questions about scenes as in GQA: drawn as programs, balanced in answers, each with the questions it entails."""

import json
from collections import Counter, defaultdict
from random import Random
from typing import Any

from programs import NoAnswer, Program, entailed, only, run, say, scope
from shelves import VALUES, field_of

from contrast_kit.data.scenes.shelf import COLOURS, GOODS, image_ids, scene
from contrast_kit.data.toyshop.words import pick

QUESTIONS = {"train": 12_000, "validation": 1_500, "test": 1_500}
KINDS = (
    *("query",) * 6,
    *("verify",) * 3,
    *("choose", "choose", "exist", "exist", "same", "compare", "and", "or"),
)
FOLLOWING = 2
"""Questions that follow from a drawn one and are asked of the same picture."""
_TRIES = 6
_SLACK = 1  # how far the count of an answer may run ahead of the mean of its group
_SURPLUS = 1.05


def refer(rng, scene, without=""):
    """A set that picks out one toy, and the toy; its description does not tell the field `without`. None: not found."""
    toy = pick(rng, scene.toys)
    named = without != "good" and rng.random() < 0.8
    tells, relates = (0.3, 0.2) if named else (0.7, 0.5)
    toys = ("select", toy.good if named else "toy")
    details = [
        name
        for name in ("size", "colour", "shelf")
        if name != without and rng.random() < tells
    ]
    for name in details:
        toys = ("filter", name, field_of(toy, name), toys)
    if rng.random() < relates:
        toys = ("relate", pick(rng, ("left", "right")), toys)
    if toys == ("select", "toy"):
        return None
    try:
        return toys, only(toys, scene)
    except NoAnswer:
        return None


def draw_program(rng, scene, kind):
    """A program of this kind; None where the draw came to nothing.

    It has a value on the scene, but for some of "compare": two toys of one price, or of one good, have no answer.
    """
    if kind in ("and", "or"):
        a = draw_program(rng, scene, "exist")
        b = draw_program(rng, scene, "exist")
        return None if a == b else (kind, a, b)
    if kind == "exist":
        toy = pick(rng, scene.toys)
        good = toy.good if rng.random() < 0.7 else pick(rng, GOODS)
        if rng.random() < 0.3:
            return ("exist", ("select", good))
        colour = toy.colour if rng.random() < 0.7 else pick(rng, COLOURS)
        if rng.random() >= 0.8:
            good = "toy"
        return ("exist", ("filter", "colour", colour, ("select", good)))
    if kind in ("same", "compare"):
        a = refer(rng, scene)
        b = refer(rng, scene)
        if not a or not b or a[1] == b[1]:
            return None
        fields = {"compare": ("cheaper", "dearer"), "same": ("colour", "size", "shelf")}[
            kind
        ]
        return (kind, pick(rng, fields), a[0], b[0])
    field = pick(rng, ("colour", "colour", "good", "shelf", "size"))
    referred = refer(rng, scene, without=field)
    if not referred:
        return None
    toys, toy = referred
    value = field_of(toy, field)
    others = [other for other in VALUES[field] if other != value]
    values = []
    if kind == "verify":
        values = [value if rng.random() < 0.5 else pick(rng, others)]
    elif kind == "choose":
        values = [value, pick(rng, others)]
        if rng.random() >= 0.5:
            values.reverse()
    return (kind, field, *values, toys)


class Balance:
    """Keeps the answers of each group about equally frequent: GQA's way to leave nothing to the question alone.

    "Yes" and "no" are balanced within each form of question, else things described at length would exist less often.
    """

    def __init__(self) -> None:
        self.counts: dict[str, Counter] = defaultdict(Counter)

    def takes(self, program: Program, answer: str) -> bool:
        """Whether one more question with this answer keeps the balance; if so, it is counted."""
        valid, _ = scope(program)
        name = _form(program) if "yes" in valid else group(program)
        number = len(valid)
        if program[0] in ("choose", "compare"):
            # by the place of the answer: "red or blue?", "blue or red?"
            answer = _is_first(program, answer)
            number = 2
        counts = self.counts[name]
        takes = counts[answer] <= _SLACK + _SURPLUS * sum(counts.values()) / number
        counts[answer] += takes
        return takes


def _form(program):
    """What a program looks like without its values: of "is there a red drum?" and "is there a blue kite?" the same."""
    if not isinstance(program, tuple):
        return ""
    shown = program[:2] if program[0] in ("filter", "verify", "same") else program[:1]
    return f"({' '.join(shown)}{''.join(map(_form, program[1:]))})"


def _is_first(program, answer):
    """Whether the answer of a choice or a comparison is told first; a set that says "toy" names no good."""
    first = program[2]
    while isinstance(first, tuple):
        first = first[-1]
    return first == answer


def group(program: Program) -> str:
    """Questions that share their possible answers and a prior: "query colour", "verify", "compare".

    >>> group(("query", "colour", ("select", "drum"))), group(("exist", ("select", "drum")))
    ('query colour', 'exist')
    """
    if program[0] in ("query", "choose"):
        return f"{program[0]} {program[1]}"
    return program[0]


def gqa(split: str) -> list[dict[str, Any]]:
    """Questions about the scenes of a split, scene by scene in rounds until there are enough."""
    rng = Random(f"gqa/{split}")
    asked = {number: {} for number in image_ids(split)}
    balance = Balance()
    left = QUESTIONS[split]
    while left:
        for number, mine in asked.items():
            kind = pick(rng, KINDS)
            for _ in range(_TRIES):
                program = draw_program(rng, scene(number), kind)
                answer = program and run(program, scene(number))
                if (
                    answer is not None
                    and program not in mine
                    and balance.takes(program, answer)
                ):
                    mine[program] = answer
                    left -= 1 + _follow(
                        program, answer, mine, balance, rng, min(FOLLOWING, left - 1)
                    )
                    break
            if not left:
                break
    return _rows(asked, rng)


def _follow(program, answer, mine, balance, rng, most):
    """Ask up to `most` questions that follow from this one, too; how many it came to."""
    follows = list(entailed(program, answer).items())
    added = 0
    while follows and added < most:
        other, theirs = follows.pop(int(rng.random() * len(follows)))
        dull = other == ("exist", ("select", "toy")) or (
            other[0] == "exist" and rng.random() < 0.6
        )
        if not dull and other not in mine and balance.takes(other, theirs):
            mine[other] = theirs
            added += 1
    return added


def _rows(asked, rng):
    """The rows of all questions, in the order of their pictures, with the numbers of those that each entails."""
    pairs = [(image_id, program) for image_id, mine in asked.items() for program in mine]
    ids = {pair: number for number, pair in enumerate(pairs)}
    rows = []
    for (image_id, program), number in ids.items():
        answer = asked[image_id][program]
        valid, plausible = scope(program)
        follows = [(image_id, other) for other in entailed(program, answer)]
        row = {"question": say(program, rng), "image_id": image_id, "answer": answer}
        row |= {
            "program": json.dumps(program),
            "group": group(program),
            "question_id": number,
        }
        row["entailed"] = [ids[pair] for pair in follows if pair in ids]
        rows.append(row | {"valid": list(valid), "plausible": list(plausible)})
    return rows


def program_of(row: dict[str, Any]) -> Program:
    """The program of a row, as nested tuples again.

    >>> program_of({"program": '["exist", ["select", "drum"]]'})
    ('exist', ('select', 'drum'))
    """

    def tuples(value):
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return tuples(json.loads(row["program"]))
