"""Questions that customers ask (qqp), about one field of a visit or a shelf (qnli), and about a paragraph (squad)."""

import re
from dataclasses import dataclass, replace

from records import PATTERNS, bare, changed, contradicts, other_than, without

from contrast_kit.data.toyshop import grammar
from contrast_kit.data.toyshop.grammar import be, counted, express, fill, noun, sentence
from contrast_kit.data.toyshop.words import CORNER, WORDS, draw, pick
from contrast_kit.data.toyshop.world import Record, Stock, Visit, draw_record

NEAR, NEVER_STUFF = grammar.PATTERNS["near"], grammar.PATTERNS["never_stuff"]
ASK, COMPARE, POLITENESS = (PATTERNS[name] for name in ("ask", "compare", "politeness"))


@dataclass(frozen=True)
class Question:
    """What is asked (`ask`) about which goods; `other` is the second of two goods that are compared."""

    ask: str
    good: str
    size: str = ""
    colour: str = ""
    material: str = ""
    other: str = ""
    recipient: str = ""


def draw_question(rng, shop):
    """A random question; four in ten compare two goods."""
    corner = draw(rng, shop.departments)
    good = draw(rng, corner["good"])
    details = {}
    for field, share in (("colour", 0.55), ("material", 0.45), ("size", 0.3)):
        if rng.random() < share:
            details[field] = draw(rng, corner[field])
    asked = ASK
    if rng.random() < 0.4:
        asked = COMPARE
        details["other"] = other_than(good, rng, draw(rng, shop.departments)["good"])
    elif rng.random() < 0.35:
        details["recipient"] = draw(rng, corner["recipient"])
    return Question(pick(rng, list(asked)), good, **details)


def ask(question, rng):
    """One of the ways to ask."""
    thing = noun(question, rng)
    if question.other:
        ways = pick(rng, COMPARE[question.ask])
        return sentence(pick(rng, ways).format(a=thing, b=question.other), "?")
    if question.recipient:
        thing = pick(rng, POLITENESS["recipient"]).format(
            thing=thing, recipient=question.recipient
        )
    text = pick(rng, ASK[question.ask]).format(thing)
    polite = rng.random()
    if polite < 0.2:
        text = pick(rng, POLITENESS["before"]).format(text)
    elif polite < 0.3 and question.ask in POLITENESS["please"]:
        text += ", please"
    return sentence(text, "?")


def twist(question, rng):
    """A question that looks alike and asks something else: the goods swapped, or one word of the meaning changed."""
    if question.other and rng.random() < 0.7:
        # adjectives stay in front of the first thing asked about, hence are swapped too
        return replace(question, good=question.other, other=question.good)
    sizes = ("small", "big", "tiny", "huge")
    asked = COMPARE if question.other else ASK
    values = CORNER[question.good] | {"ask": list(asked), "size": sizes}
    fields = (
        "ask",
        "good",
        "colour",
        "colour",
        "material",
        "material",
        "size",
        "recipient",
    )
    field = pick(rng, [name for name in fields if getattr(question, name)])
    value = getattr(question, field)
    while value in (getattr(question, field), question.other):
        value = pick(rng, values[field])
    return replace(question, **{field: value})


def about_field(record, field, rng):
    """A question that only the value of `field` answers.

    >>> from random import Random
    >>> from contrast_kit.data.toyshop import Visit
    >>> about_field(Visit("Clara", "buy", 2, "kite", day="on Monday"), "day", Random(1))
    'On what day were two kites bought by Clara?'
    """
    if field in ("colour", "material"):
        record = without(record, field)
    goods = counted(record, rng)
    many = noun(record, rng, many=True)
    one = record.number == 1
    parts = dict(goods=goods, many=many)
    if isinstance(record, Stock):
        thing = noun(record, rng) if one else goods
        do = ("do", "does")[one]
        parts |= dict(shelf=record.shelf, stand=f"the {thing}", be=be(not one), do=do)
    else:
        ways = WORDS.actions[record.action]
        base, past, participle = ways[0] if field == "recipient" else pick(rng, ways)
        parts |= dict(who=record.who, base=base, past=past, participle=participle)
        parts |= dict(these=noun(record, rng) if one else many, be=("were", "was")[one])
    patterns = PATTERNS["about"][type(record).__name__]
    return sentence(fill(pick(rng, patterns[field]), **parts), "?")


# Paragraphs with questions, as SQuAD 2.0 has them: a span of the paragraph answers, or, a third of the time, nothing.
#
# Answers are right by construction. A paragraph tells a few records, each in its sentence; a question asks for one
# field of a record and names the other facts. It is kept only where exactly one record of the paragraph tells the field
# and nothing that contradicts these facts (for a question without an answer: where none does), and where the field's
# words stand in that record's sentence once.

UNANSWERABLE = 1 / 3
"""The share of questions without an answer, as in SQuAD 2.0's training rows."""


@dataclass(frozen=True)
class Told:
    """A record and the sentence that tells it, with its place in the paragraph."""

    record: Record
    sentence: str
    start: int


def paragraph(rng, shop):
    """Three to six sentences, each of one visit or shelf."""
    records = [drawn(rng, shop) for _ in range(pick(rng, (3, 4, 4, 5, 6)))]
    sentences = []
    text = ""
    for record in records:
        sentence = express(record, rng)
        sentences.append(Told(record, sentence, len(text)))
        text += sentence + " "
    return text.strip(), sentences


def drawn(rng, shop):
    """A visit or a shelf with some details; no material that is not what a thing is made of."""
    kind = Visit if rng.random() < 0.65 else Stock
    record = draw_record(rng, shop, kind, details=pick(rng, (1, 2, 3)))
    if record.material in NEVER_STUFF:
        return without(record, "material")
    return record


def squad(rng, shop):
    """A paragraph with one question: `context`, `question`, `answers`."""
    unanswerable = rng.random() < UNANSWERABLE
    while True:
        context, sentences = paragraph(rng, shop)
        source = pick(rng, sentences)
        asked = source.record
        fields = PATTERNS["about"][type(asked).__name__]
        field = pick(
            rng, [name for name in fields if getattr(asked, name) or unanswerable]
        )
        spans = list(places(source, field))
        answering = [source]
        if unanswerable:
            asked = without_answer(asked, field, rng)
            spans = []
            answering = []
        claim = without(bare(asked), field)
        telling = [each for each in sentences if getattr(each.record, field, None)]
        if answering != [each for each in telling if compatible(each.record, claim)]:
            continue
        if not (spans or unanswerable):
            continue
        question = about_field(bare(asked), field, rng)
        starts = [a for a, _ in spans]
        texts = [context[a:b] for a, b in spans]
        answers = {"text": texts, "answer_start": starts}
        return {"context": context, "question": question, "answers": answers}


def compatible(record, claim):
    """Whether a record may be what a question is about: no fact that the question names is told otherwise."""
    actions = {getattr(each, "action", type(each)) for each in (record, claim)}
    return len(actions) == 1 and not contradicts(record, claim)


def without_answer(record, field, rng):
    """What nothing answers: a record that does not tell the field, or one of other people, goods, doings or shelves."""
    if not getattr(record, field):
        return record
    names = [name for name in ("who", "good", "shelf", "action") if name in vars(record)]
    return changed(record, pick(rng, [name for name in names if name != field]), rng)


def places(told, field):
    """Where the field's words stand in the paragraph, the longest form first, then shorter ones that are right too;
    no form that stands in the sentence twice."""
    lower = told.sentence.lower()
    for form in map(str.lower, wordings(told.record, field)):
        if lower.count(form) != 1:
            continue
        for match in re.finditer(rf"(?<![^\W_]){re.escape(form)}(?![^\W_])", lower):
            yield told.start + match.start(), told.start + match.end()


def wordings(record, field):
    """The words that may tell a field, each form before the shorter ones within it."""
    value = getattr(record, field)
    if not value or (field == "number" and value == 1):
        return []
    if field == "number":
        return [WORDS.counts[value]]
    if field == "price":
        return [f"{WORDS.counts[value]} pounds each", f"{WORDS.counts[value]} pounds"]
    if field == "place":
        return [*(f"{near} the {value}" for near in NEAR), f"the {value}"]
    if field == "recipient":
        return [f"{words} {value}" for words in ("for her", "for his", "her", "his")]
    if field == "material" and value in WORDS.made_of:
        return [value, WORDS.made_of[value]]
    if field in ("day", "hour", "shelf"):
        # told with a preposition, which a right answer may leave out
        forms = WORDS.same.get(value, [value])
        return [short for form in forms for short in (form, form.partition(" ")[2])]
    return [value]
