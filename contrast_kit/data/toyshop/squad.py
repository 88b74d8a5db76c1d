"""Paragraphs with questions, as SQuAD 2.0 has them: a span of the paragraph answers, or, a third of the time, nothing.

Answers are right by construction. A paragraph tells a few records, each in its sentence; a question asks for one field
of a record and names the other facts. It is kept only where exactly one record of the paragraph tells the field and
nothing that contradicts these facts (for a question without an answer: where none does), and where the field's words
stand in that record's sentence once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from contrast_kit.data.toyshop import questions
from contrast_kit.data.toyshop.grammar import NEAR, NEVER_STUFF, express
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import COUNTS, MADE_OF, SAME, pick
from contrast_kit.data.toyshop.world import (
    Record,
    Stock,
    Visit,
    bare,
    changed,
    clash,
    draw_record,
    told,
    without,
)

UNANSWERABLE = 1 / 3
"""The share of questions without an answer, as in SQuAD 2.0's training rows."""
FIELDS = {
    Visit: (
        "who",
        "number",
        "colour",
        "material",
        "place",
        "day",
        "hour",
        "recipient",
    ),
    Stock: ("number", "colour", "material", "shelf", "price"),
}
"""What may be asked, by the kind of record: `questions.about_field`."""


@dataclass(frozen=True)
class Told:
    """A record and the sentence that tells it, with its place in the paragraph."""

    record: Record
    sentence: str
    start: int


def paragraph(rng: Random, shop: Shop) -> tuple[str, list[Told]]:
    """Three to six sentences, each of one visit or shelf."""
    records = [drawn(rng, shop) for _ in range(pick(rng, (3, 4, 4, 5, 6)))]
    sentences, text = [], ""
    for record in records:
        sentence = express(record, rng, shop)
        sentences.append(Told(record, sentence, len(text)))
        text += sentence + " "
    return text.removesuffix(" "), sentences


def drawn(rng: Random, shop: Shop) -> Record:
    """A visit or a shelf with some details; no material that is not what a thing is made of."""
    kind = Visit if rng.random() < 0.65 else Stock
    record = draw_record(rng, shop, kind, details=pick(rng, (1, 2, 3)))
    if record.material in NEVER_STUFF:
        return without(record, "material")
    return record


def row(rng: Random, shop: Shop) -> dict:
    """A paragraph with one question: `context`, `question`, `answers`."""
    unanswerable = rng.random() < UNANSWERABLE
    while True:
        context, sentences = paragraph(rng, shop)
        source = pick(rng, sentences)
        asked = source.record
        field = pick(
            rng,
            [name for name in FIELDS[type(asked)] if getattr(asked, name) or unanswerable],
        )
        spans = []
        if unanswerable:
            asked = without_answer(asked, field, rng, shop)
        else:
            spans = list(places(source, field))
        claim = without(bare(asked), field)
        telling = [each for each in sentences if getattr(each.record, field, None)]
        answering = [each for each in telling if compatible(each.record, claim, shop)]
        if answering != ([] if unanswerable else [source]) or not (spans or unanswerable):
            continue
        question = questions.about_field(bare(asked), field, rng, shop)
        answers = {
            "text": [context[a:b] for a, b in spans],
            "answer_start": [a for a, _ in spans],
        }
        return {"context": context, "question": question, "answers": answers}


def compatible(record: Record, claim: Record, shop: Shop) -> bool:
    """Whether a record may be what a question is about: no fact that the question names is told otherwise."""
    if type(record) is not type(claim) or getattr(record, "action", "") != getattr(
        claim, "action", ""
    ):
        return False
    facts, claims = told(record), told(claim)
    return not any(
        clash(field, facts[field], claims[field], shop) for field in claims if field in facts
    )


def without_answer(record: Record, field: str, rng: Random, shop: Shop) -> Record:
    """What nothing answers: a record that does not tell the field, or one of other people, goods, doings or shelves."""
    if not getattr(record, field):
        return record
    names = [
        name
        for name in ("who", "good", "shelf", "action")
        if name != field and hasattr(record, name)
    ]
    return changed(record, pick(rng, names), rng, shop)


def places(told: Told, field: str) -> Iterator[tuple[int, int]]:
    """Where the field's words stand in the paragraph, the longest form first, then shorter ones that are right too;
    no form that stands in the sentence twice."""
    lower = f" {told.sentence.lower()} "
    for form in wordings(told.record, field):
        form = form.lower()
        if lower.count(form) != 1:
            continue
        start = lower.index(form)
        end = start + len(form)
        if not lower[start - 1].isalnum() and not lower[end].isalnum():
            yield told.start + start - 1, told.start + end - 1


def wordings(record: Record, field: str) -> list[str]:
    """The words that may tell a field, each form before the shorter ones within it."""
    value = getattr(record, field)
    if field == "number":
        return COUNTS[value : value + 1] if value > 1 else []
    if field == "price":
        return [f"{COUNTS[value]} pounds each", f"{COUNTS[value]} pounds"]
    if field == "place":
        return [*(f"{near} the {value}" for near in NEAR), f"the {value}"]
    if field == "recipient":
        return [
            f"for her {value}",
            f"for his {value}",
            f"her {value}",
            f"his {value}",
        ]
    if field == "material" and value in MADE_OF:
        return [value, MADE_OF[value]]
    if field in (
        "day",
        "hour",
        "shelf",
    ):  # told with a preposition, which a right answer may leave out
        forms = SAME.get(value, [value])
        return [short for form in forms for short in (form, form.partition(" ")[2])]
    return [value]
