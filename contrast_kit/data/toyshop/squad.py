"""Paragraphs with questions, as SQuAD 2.0 has them: a span of the paragraph answers, or, a third of the time, nothing.

Answers are right by construction. A paragraph tells a few records, each in its sentence; a question asks for one field
of a record and names the other facts. It is kept only where exactly one record of the paragraph tells the field and
nothing that contradicts these facts (for a question without an answer: where none does), and where the field's words
stand in that record's sentence once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from contrast_kit.data.toyshop import questions
from contrast_kit.data.toyshop.grammar import MADE_OF, NEAR, NEVER_STUFF, express
from contrast_kit.data.toyshop.makers import changed
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import COUNTS, SAME_TIME, pick
from contrast_kit.data.toyshop.world import DETAILS, Record, Stock, Visit, clash, draw_record, told

UNANSWERABLE = 1 / 3
"""The share of questions without an answer, as in SQuAD 2.0's training rows."""
FIELDS = {
    Visit: ("who", "number", "colour", "material", "place", "day", "hour", "recipient"),
    Stock: ("number", "colour", "material", "shelf", "price"),
}
"""What may be asked, by the kind of record: `questions.about_field`."""
WITH_WORD = ("day", "hour", "shelf")
"""Fields told with a preposition, which a right answer may leave out: "on Monday" and "Monday"."""


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
        said = express(record, rng, shop)
        sentences.append(Told(record, said, len(text)))
        text += said + " "
    return text[:-1], sentences


def drawn(rng: Random, shop: Shop) -> Record:
    """A visit or a shelf with some details; no material that is not what a thing is made of."""
    record = draw_record(rng, shop, Visit if rng.random() < 0.65 else Stock, details=pick(rng, (1, 2, 3)))
    return replace(record, material="") if record.material in NEVER_STUFF else record


def row(rng: Random, shop: Shop) -> dict:
    """A paragraph with one question: `context`, `question`, `answers`."""
    unanswerable = rng.random() < UNANSWERABLE
    while True:
        context, sentences = paragraph(rng, shop)
        one = pick(rng, sentences)
        fields = [name for name in FIELDS[type(one.record)] if getattr(one.record, name) or unanswerable]
        field = pick(rng, fields)
        asked = without_answer(one.record, field, rng, shop) if unanswerable else one.record
        claim = bare(asked, field)
        might = [
            other for other in sentences if getattr(other.record, field, None) and compatible(other.record, claim, shop)
        ]
        spans = [] if unanswerable else list(places(one, field))
        if unanswerable and might or not unanswerable and (might != [one] or not spans):
            continue
        question = questions.about_field(bare(asked, field, keep=True), field, rng, shop)
        found = {"text": [context[a:b] for a, b in spans], "answer_start": [a for a, _ in spans]}
        return {"context": context, "question": question, "answers": found}


def bare(record: Record, field: str, keep: bool = False) -> Record:
    """The facts that a question names: no details but the size, and not the field that is asked for, unless `keep`."""
    empty = {name: type(getattr(record, name))() for name in DETAILS[type(record)] if name != "size"}
    if not keep:
        empty[field] = type(getattr(record, field))()
    elif field in empty:
        empty[field] = getattr(record, field)
    return replace(record, **empty)


def compatible(record: Record, claim: Record, shop: Shop) -> bool:
    """Whether a record may be what a question is about: no fact that the question names is told otherwise."""
    if type(record) is not type(claim):
        return False
    said = told(record)
    named = [(name, said[name], value) for name, value in told(claim).items() if name in said]
    return not any(
        clash(name, mine, value, shop) or (name == "action" and mine != value) for name, mine, value in named
    )


def without_answer(record: Record, field: str, rng: Random, shop: Shop) -> Record:
    """What nothing answers: a record that does not tell the field, or one of other people, goods, doings or shelves."""
    if not getattr(record, field):
        return record
    names = [name for name in ("who", "good", "shelf", "action") if name != field and hasattr(record, name)]
    return changed(record, pick(rng, names), rng, shop)


def places(one: Told, field: str) -> Iterator[tuple[int, int]]:
    """Where the field's words stand in the paragraph, the longest form first, then shorter ones that are right too;
    no form that stands in the sentence twice."""
    lower = one.sentence.lower()
    forms = [form for form in wordings(one.record, field) if lower.count(form.lower()) == 1]
    for form in forms:
        at = lower.index(form.lower())
        before, after = lower[at - 1 : at], lower[at + len(form) : at + len(form) + 1]
        if not before.isalnum() and not after.isalnum():
            yield one.start + at, one.start + at + len(form)


def wordings(record: Record, field: str) -> list[str]:
    """The words that may tell a field, each form before the shorter ones within it."""
    value = getattr(record, field)
    if field == "number":
        return [COUNTS[value]] if value > 1 else []
    if field == "price":
        return [f"{COUNTS[value]} pounds each", f"{COUNTS[value]} pounds"]
    if field == "place":
        return [*(f"{near} the {value}" for near in NEAR), f"the {value}"]
    if field == "recipient":
        return [f"for her {value}", f"for his {value}", f"her {value}", f"his {value}"]
    if field == "material":
        return [value, *([MADE_OF[value]] if value in MADE_OF else [])]
    forms = SAME_TIME.get(value, (value,)) if field == "hour" else (value,)
    return (
        [short for form in forms for short in (form, form.partition(" ")[2]) if short]
        if field in WITH_WORD
        else [*forms]
    )
