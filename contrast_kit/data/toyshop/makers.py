"""The tasks of GLUE: each maker draws a label first, then records for which that label is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from contrast_kit.data.toyshop import questions
from contrast_kit.data.toyshop.errors import corrupt
from contrast_kit.data.toyshop.grammar import clause, express, sentence
from contrast_kit.data.toyshop.reviews import review
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import pick
from contrast_kit.data.toyshop.world import (
    DETAILS,
    Opinion,
    Record,
    Stock,
    Visit,
    add_details,
    another,
    as_told,
    clash,
    draw_record,
    similarity,
    told,
)

Row = dict[str, object]


def two_ways(record: Record, rng: Random, shop: Shop) -> tuple[str, str]:
    """Two different sentences for one record."""
    first = express(record, rng, shop)
    while True:
        second = express(record, rng, shop)
        if second != first:
            return first, second


def changed(record: Record, field: str, rng: Random, shop: Shop) -> Record:
    """`record` with another value for one field."""
    return replace(record, **{field: another(record, field, rng, shop)})


def sst2(rng: Random, shop: Shop) -> Row:
    """A review and whether it is positive (1) or negative (0)."""
    label = int(rng.random() < 0.5)
    return {"sentence": review(rng, shop, 1 if label else -1)[0], "label": label}


def cola(rng: Random, shop: Shop) -> Row:
    """A sentence, acceptable (1) or with one grammatical error (0)."""
    share, end = rng.random(), "."
    if share < 0.3:
        first = draw_record(rng, shop, Visit)
        meaning = remark(first, rng, shop)
        text = express(meaning, rng, shop)[:-1]
        text = (
            text[0].lower() + text[1:] if not text.startswith(tuple(n for n in shop.names if n[0].isupper())) else text
        )
    elif share < 0.45:
        record = draw_record(rng, shop, Visit)
        field = pick(rng, ("who", "number", "place", "day", "hour"))
        text, end = questions.about_field(record, field, rng, shop)[:-1], "?"
        text = text[0].lower() + text[1:]
    else:
        text = clause(draw_record(rng, shop), rng, shop, negate=rng.random() < 0.25)
    wrong = corrupt(text, rng)
    if wrong is None:  # left out whatever the label, so that both labels have the same kinds of sentences
        return cola(rng, shop)
    label = int(rng.random() < 0.5)
    return {"sentence": sentence(text if label else wrong, end), "label": label}


def remark(visit: Visit, rng: Random, shop: Shop) -> tuple[Visit, Opinion]:
    """A visit with what the visitor thinks of the goods."""
    view = draw_record(rng, shop, Opinion, details=0)
    corner = shop.departments[shop.department_of[visit.good]]
    return visit, replace(view, good=visit.good, who=visit.who, number=visit.number, axis=pick(rng, corner.axes))


def mrpc(rng: Random, shop: Shop) -> Row:
    """Two sentences, with one meaning (1) or with one or two fields changed (0)."""
    label = int(rng.random() < 0.5)
    record = draw_record(rng, shop, details=pick(rng, (1, 2, 3)))
    first, second = two_ways(record, rng, shop)
    if not label:
        other = record
        for _ in range(pick(rng, (1, 1, 2))):
            free = [field for field in told(other) if field != "intensity"]
            other = changed(other, pick(rng, free), rng, shop)
        while other == record:
            other = changed(record, pick(rng, [f for f in told(record) if f != "intensity"]), rng, shop)
        second, label = express(other, rng, shop), int(as_told(other) == as_told(record))
    return {"sentence1": first, "sentence2": second, "label": label}


def qqp(rng: Random, shop: Shop) -> Row:
    """Two questions that ask the same (1) or look alike and do not (0)."""
    label = int(rng.random() < 0.5)
    question = questions.draw_question(rng, shop)
    first = questions.ask(question, rng)
    other = question if label else questions.twist(question, rng, shop)
    while True:
        second = questions.ask(other, rng)
        if second != first:
            return {"question1": first, "question2": second, "label": label}


def stsb(rng: Random, shop: Shop) -> Row:
    """Two sentences and how alike their meanings are, 0 to 5: fields are changed until a drawn target is reached."""
    record = draw_record(rng, shop, details=pick(rng, (1, 2, 3)))
    target = rng.random() * 5.6
    other, free = record, list(told(record))
    if target < 0.4:
        other, free = draw_record(rng, shop, details=pick(rng, (1, 2, 3))), []
    while free and similarity(record, other, shop) > target:
        field = free.pop(int(rng.random() * len(free)))
        if field == "good" and rng.random() < 0.5 and not other.material:
            strange = draw_record(rng, shop, Stock).good
            axis = (
                {"axis": pick(rng, shop.departments[shop.department_of[strange]].axes[:5])}
                if hasattr(other, "axis")
                else {}
            )
            other = (
                replace(other, good=strange, **axis)
                if not getattr(other, "part", "")
                else changed(other, field, rng, shop)
            )
        else:
            other = changed(other, field, rng, shop)
    first, second = (
        two_ways(record, rng, shop) if other == record else (express(record, rng, shop), express(other, rng, shop))
    )
    return {"sentence1": first, "sentence2": second, "label": similarity(record, other, shop)}


def inference(rng: Random, shop: Shop, relation: int) -> tuple[Record, Record]:
    """A premise record and a hypothesis record: 0 entailed, 1 neutral, 2 contradicted.

    The hypothesis is drawn before the relation is looked at, so that alone it gives nothing away; all
    premises tell about as many details, whichever the relation.
    """
    share = rng.random()
    kind = Visit if share < 0.6 else Stock if share < 0.8 else Opinion
    if kind is Opinion:
        return opinion_inference(rng, shop, relation)
    claim = draw_record(rng, shop, kind, details=pick(rng, (1, 1, 2)))
    specific, corner = claim.good, shop.departments[shop.department_of[claim.good]]
    if rng.random() < 0.3:
        claim = replace(claim, good=corner.kind)
    premise = replace(claim, good=specific)
    more = pick(rng, (1, 1, 2))
    if relation == 0:
        return add_details(premise, more, rng, shop), claim
    if relation == 1:
        field = pick(rng, [name for name in DETAILS[kind] if getattr(claim, name)])
        premise = replace(premise, **{field: type(getattr(claim, field))()})
        return add_details(premise, more + 1, rng, shop, avoid=(field,)), claim
    never = {
        "action",
        "reason",
        *(("good",) if claim.good != specific else ()),
        *(("material",) if corner.name == "plants" else ()),
    }
    field = pick(rng, [name for name in told(claim) if name not in never])
    premise = add_details(premise, more, rng, shop)
    while not clash(field, getattr(premise, field), getattr(claim, field), shop):
        premise = changed(premise, field, rng, shop)
    return premise, claim


def opinion_inference(rng: Random, shop: Shop, relation: int) -> tuple[Opinion, Opinion]:
    """The same for opinions: contradicted means the opposite polarity, neutral another axis or another person."""
    claim = draw_record(rng, shop, Opinion, details=pick(rng, (1, 2)))
    premise = replace(claim, intensity=max(claim.intensity, pick(rng, (1, 2, 3))))
    if relation == 2:
        premise = replace(premise, polarity=-claim.polarity)
    elif relation == 1:
        premise = changed(premise, pick(rng, ("axis", "axis", "who") if claim.who else ("axis",)), rng, shop)
        premise = replace(premise, polarity=pick(rng, (1, -1)))
    return premise, claim


def mnli(rng: Random, shop: Shop) -> Row:
    """A premise and a hypothesis: 0 entailment, 1 neutral, 2 contradiction. A quarter of the hypotheses are denials."""
    label, denied = pick(rng, (0, 1, 2)), rng.random() < 0.25
    premise, claim = inference(rng, shop, 2 - label if denied else label)
    said = sentence(clause(claim, rng, shop, negate=denied))
    return {"premise": express(premise, rng, shop), "hypothesis": said, "label": label}


def rte(rng: Random, shop: Shop) -> Row:
    """Two clauses and a hypothesis about one of them: 0 entailment, 1 not (neutral or contradiction)."""
    label, denied = int(rng.random() < 0.5), rng.random() < 0.25
    relation = pick(rng, (1, 2)) if label else 0
    premise, claim = inference(rng, shop, 2 - relation if denied else relation)
    aside = draw_record(rng, shop, pick(rng, (Visit, Stock)), details=pick(rng, (0, 1)))
    pair = (premise, aside) if rng.random() < 0.5 else (aside, premise)
    clauses = []
    for part in pair:
        text = clause(part, rng, shop)
        while text.startswith(("look ", "if ")):  # these do not go on after "while"
            text = clause(part, rng, shop)
        clauses.append(text)
    said = sentence(clause(claim, rng, shop, negate=denied))
    return {
        "sentence1": sentence(pick(rng, (", and ", ", while ", "; meanwhile, ")).join(clauses)),
        "sentence2": said,
        "label": label,
    }


def qnli(rng: Random, shop: Shop) -> Row:
    """A question and a sentence that answers it (0), or does not tell it or is about something else (1)."""
    label = int(rng.random() < 0.5)
    kind = Visit if rng.random() < 0.7 else Stock
    record = draw_record(rng, shop, kind, details=pick(rng, (1, 2)))
    if getattr(record, "material", "") in ("potted", "climbing", "dwarf", "evergreen", "hardy", "wild"):
        record = replace(record, material="")
    optional = [name for name in DETAILS[kind] if getattr(record, name) and name not in ("size", "reason")]
    always = ("who", "number") if kind is Visit else ("number", "shelf")
    field = pick(rng, optional or always) if rng.random() < 0.75 else pick(rng, always)
    bare = {name: type(getattr(record, name))() for name in DETAILS[kind] if name not in ("size",)}
    asked = questions.about_field(replace(record, **bare), field, rng, shop)
    if label and field in optional and rng.random() < 0.5:
        record = replace(record, **{field: type(getattr(record, field))()})
        record = add_details(record, 1, rng, shop, avoid=(field,))
    elif label:
        free = [name for name in ("who", "good", "action") if name != field and hasattr(record, name)]
        record = changed(record, pick(rng, free), rng, shop)
    return {"question": asked, "sentence": express(record, rng, shop), "label": label}


MAKERS: dict[str, Callable[[Random, Shop], Row]] = {
    maker.__name__: maker for maker in (sst2, cola, mrpc, qqp, stsb, mnli, rte, qnli)
}
