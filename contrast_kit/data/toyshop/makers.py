"""The tasks of GLUE: each maker draws a label first, then records for which that label is true."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from contrast_kit.data.toyshop import questions
from contrast_kit.data.toyshop.grammar import (
    PATTERNS,
    clause,
    clause_beginning_otherwise,
    express,
    review,
    sentence,
)
from contrast_kit.data.toyshop.words import CORNER, WORDS, Shop, draw, pick
from contrast_kit.data.toyshop.world import (
    Opinion,
    Stock,
    Visit,
    add_details,
    as_told,
    bare,
    changed,
    clash,
    details_of,
    draw_record,
    facts,
    similarity,
    without,
)

# Unacceptable sentences: one grammatical error in a clause that keeps its length. Every error exchanges a word for its
# partner (was/were, this/these, a/two, she/her) or two neighbours for each other. The partner is as much at home in
# good sentences, so no word and no length betrays the error: only its place does.

ERRORS = PATTERNS["errors"]
NUMBER = ERRORS["numbers"] | {many: one for one, many in ERRORS["numbers"].items()}
CASE: dict[str, str] = ERRORS["cases"]
PAST = {
    base.split()[0]: past.split()[0]
    for ways in WORDS.actions.values()
    for base, past, _ in ways
    if base != past
}
SINGULAR = ("this", "these", "a", "an", "one")
MANY = WORDS.counts[2:]
MATERIALS = {stuff for corner in CORNER.values() for stuff in corner["material"]}

Tokens = list[str]
"""The words of a clause, and after them an empty one, so that each has a neighbour."""


def agreement(tokens, i):
    """A verb may be put in the wrong number: "the kites is flimsy"."""
    if tokens[0] == "what" and tokens[i] in ("was", "were"):
        return False  # "what Clara bought were two kites" can be heard
    # before the first word the last: "look there and you will see a plant": "look" is left alone
    before = [tokens[-2], *tokens][i]
    return tokens[i] in NUMBER and before not in ("the", "you", "plant")


def number(tokens, i):
    """A determiner may have the wrong number: "these drum", "a drums", "two drum"."""
    after = tokens[i + 1].rstrip(",")
    if not after or after in ERRORS["uncounted_after"]:
        return False
    counts = i == 0 or tokens[i - 1] not in ERRORS["uncounted_before"]
    return counts and tokens[i] in (*SINGULAR, *MANY)


def order(tokens, i):
    """A determiner or a preposition may stand behind its noun: "found kite the", "the in attic"."""
    return (
        tokens[i] in ERRORS["swapped"]
        and tokens[i + 1].isalpha()
        and tokens[i + 1] != tokens[i]
    )


def adjective(tokens, i):
    """A colour may stand behind its noun: "two kites red"."""
    colour = tokens[i] in WORDS.values["colour"] and tokens[i - 1] != "in"
    return colour and tokens[i + 1].isalpha() and tokens[i + 1] not in MATERIALS


def case(tokens, i):
    """A pronoun may have the wrong case: "for she nephew", "because her thinks"."""
    return tokens[i] in CASE


def tense(tokens, i):
    """A past form may follow "did": "did not bought"."""
    return tokens[i] in PAST and "did" in tokens[max(0, i - 8) : i]


def exchange(tokens, i, rng):
    """The partner of a word."""
    word = tokens[i]
    if word in ("this", "these"):
        return {"this": "these", "these": "this"}[word]
    if word in MANY:
        an = "an" if tokens[i + 1][0] in "aeio" else "a"
        return "one" if rng.random() < 0.15 else an
    if word in SINGULAR:
        return WORDS.counts[draw(rng, WORDS.values["number"], 1)]
    return (NUMBER | CASE | PAST)[word]


KINDS = [*[agreement] * 3, *[number] * 2, *[order] * 3, adjective, case, *[tense] * 2]
"""Where an error may be made; some are made more often."""


def corrupt(clause, rng):
    """The clause with one error, of a kind drawn at random; None if none fits it.

    >>> from random import Random
    >>> corrupt("these kites are flimsy", Random(2)), corrupt("the kite is flimsy", Random(4))
    ('these kites is flimsy', 'the kite are flimsy')
    """
    tokens = [*clause.split(" "), ""]
    kinds = list(KINDS)
    while kinds:
        fits = kinds.pop(int(rng.random() * len(kinds)))
        places = [i for i, word in enumerate(tokens) if word and fits(tokens, i)]
        if places:
            i = pick(rng, places)
            if fits in (order, adjective):
                tokens[i : i + 2] = tokens[i + 1], tokens[i]
            else:
                tokens[i] = exchange(tokens, i, rng)
            return " ".join(tokens[:-1])
    return None


# The makers

Row = dict[str, object]


def two_ways(record, rng):
    """Two different sentences for one record."""
    first = second = express(record, rng)
    while second == first:
        second = express(record, rng)
    return first, second


def sst2(rng, shop):
    """A review and whether it is positive (1) or negative (0)."""
    label = int(rng.random() < 0.5)
    return {"sentence": review(rng, shop, 2 * label - 1), "label": label}


def cola(rng, shop):
    """A sentence, acceptable (1) or with one grammatical error (0)."""
    share = rng.random()
    end = "."
    if share < 0.3:
        meaning = remark(draw_record(rng, shop, Visit), rng, shop)
        text = express(meaning, rng)
    elif share < 0.45:
        record = draw_record(rng, shop, Visit)
        end = "?"
        field = pick(rng, ("who", "number", "place", "day", "hour"))
        text = questions.about_field(record, field, rng)
    else:
        text = clause(draw_record(rng, shop), rng, negate=rng.random() < 0.25)
    text = text.removesuffix(end)
    if not text.startswith(tuple(name for name in shop.people if name[0].isupper())):
        text = text[0].lower() + text[1:]
    wrong = corrupt(text, rng)
    if wrong is None:
        # left out whatever the label, so that both labels have the same kinds of sentences
        return cola(rng, shop)
    label = int(rng.random() < 0.5)
    return {"sentence": sentence((wrong, text)[label], end), "label": label}


def remark(visit, rng, shop):
    """A visit with what the visitor thinks of the goods."""
    view = draw_record(rng, shop, Opinion, details=0)
    axis = pick(rng, CORNER[visit.good]["axis"])
    return visit, replace(
        view, good=visit.good, who=visit.who, number=visit.number, axis=axis
    )


def mrpc(rng, shop):
    """Two sentences, with one meaning (1) or with one or two fields changed (0)."""
    label = int(rng.random() < 0.5)
    record = draw_record(rng, shop, details=pick(rng, (1, 2, 3)))
    first, second = two_ways(record, rng)
    if not label:
        other = record
        for _ in range(pick(rng, (1, 1, 2))):
            other = _with_one_change(other, rng)
        while other == record:
            other = _with_one_change(record, rng)
        second = express(other, rng)
        label = int(as_told(other) == as_told(record))
    return {"sentence1": first, "sentence2": second, "label": label}


def _with_one_change(record, rng):
    fields = [field for field in facts(record) if field != "intensity"]
    return changed(record, pick(rng, fields), rng)


def qqp(rng, shop):
    """Two questions that ask the same (1) or look alike and do not (0)."""
    label = int(rng.random() < 0.5)
    question = other = questions.draw_question(rng, shop)
    first = second = questions.ask(question, rng)
    if not label:
        other = questions.twist(question, rng)
    while second == first:
        second = questions.ask(other, rng)
    return {"question1": first, "question2": second, "label": label}


def stsb(rng, shop):
    """Two sentences and how alike their meanings are, 0 to 5: fields are changed until a drawn target is reached."""
    record = other = draw_record(rng, shop, details=pick(rng, (1, 2, 3)))
    free = list(facts(record))
    target = rng.random() * 5.6
    if target < 0.4:
        other = draw_record(rng, shop, details=pick(rng, (1, 2, 3)))
        free = []
    while free and similarity(record, other) > target:
        field = free.pop(int(rng.random() * len(free)))
        if field == "good" and rng.random() < 0.5 and not other.material:
            other = _of_another_corner(other, rng, shop)
        else:
            other = changed(other, field, rng)
    if other == record:
        first, second = two_ways(record, rng)
    else:
        first = express(record, rng)
        second = express(other, rng)
    return {"sentence1": first, "sentence2": second, "label": similarity(record, other)}


def _of_another_corner(record, rng, shop):
    """The record about a good from anywhere in the shop; about one of its own department, if it is of a part."""
    other = replace(record, good=draw_record(rng, shop, Stock).good)
    if isinstance(record, Opinion):
        other = replace(other, axis=pick(rng, CORNER[other.good]["axis"][:5]))
    if getattr(record, "part", ""):
        return changed(record, "good", rng)
    return other


def inference(rng, shop, relation):
    """A premise record and a hypothesis record: 0 entailed, 1 neutral, 2 contradicted.

    The hypothesis is drawn before the relation is looked at, so that alone it gives nothing away; all
    premises tell about as many details, whichever the relation.
    """
    kind = pick(rng, (Visit, Visit, Visit, Stock, Opinion))
    if kind is Opinion:
        return opinion_inference(rng, shop, relation)
    premise = claim = draw_record(rng, shop, kind, details=pick(rng, (1, 1, 2)))
    corner = CORNER[claim.good]
    if rng.random() < 0.3:
        claim = replace(claim, good=corner["kind"])
    more = pick(rng, (1, 1, 2))
    if relation == 1:
        field = pick(rng, [name for name in details_of(kind) if getattr(claim, name)])
        return add_details(without(premise, field), more + 1, rng, avoid=field), claim
    if relation == 2:
        never = {"action", "reason"}
        if claim.good != premise.good:
            never.add("good")
        if corner["name"] == "plants":
            never.add("material")
        field = pick(rng, [name for name in facts(claim) if name not in never])
    premise = add_details(premise, more, rng)
    while relation == 2 and not clash(
        field, getattr(premise, field), getattr(claim, field)
    ):
        premise = changed(premise, field, rng)
    return premise, claim


def opinion_inference(rng, shop, relation):
    """The same for opinions: contradicted means the opposite polarity, neutral another axis or another person."""
    claim = draw_record(rng, shop, Opinion, details=pick(rng, (1, 2)))
    premise = replace(claim, intensity=max(claim.intensity, pick(rng, (1, 2, 3))))
    if relation == 2:
        premise = replace(premise, polarity=-claim.polarity)
    elif relation == 1:
        fields = ("axis", "axis", "who") if claim.who else ("axis",)
        premise = changed(premise, pick(rng, fields), rng)
        premise = replace(premise, polarity=pick(rng, (1, -1)))
    return premise, claim


def mnli(rng, shop):
    """A premise and a hypothesis: 0 entailment, 1 neutral, 2 contradiction. A quarter of the hypotheses are denials."""
    label = pick(rng, (0, 1, 2))
    denied = rng.random() < 0.25
    premise, claim = inference(rng, shop, 2 - label if denied else label)
    hypothesis = sentence(clause(claim, rng, negate=denied))
    return {"premise": express(premise, rng), "hypothesis": hypothesis, "label": label}


def rte(rng, shop):
    """Two clauses and a hypothesis about one of them: 0 entailment, 1 not (neutral or contradiction)."""
    label = int(rng.random() < 0.5)
    denied = rng.random() < 0.25
    relation = pick(rng, (1, 2)) if label else 0
    premise, claim = inference(rng, shop, 2 - relation if denied else relation)
    other = draw_record(rng, shop, pick(rng, (Visit, Stock)), details=pick(rng, (0, 1)))
    records = [premise, other]
    if rng.random() >= 0.5:
        records.reverse()
    clauses = [
        clause_beginning_otherwise(record, rng, "look ", "if ") for record in records
    ]
    hypothesis = sentence(clause(claim, rng, negate=denied))
    both = pick(rng, (", and ", ", while ", "; meanwhile, ")).join(clauses)
    return {"sentence1": sentence(both), "sentence2": hypothesis, "label": label}


def qnli(rng, shop):
    """A question and a sentence that answers it (0), or does not tell it or is about something else (1)."""
    label = int(rng.random() < 0.5)
    kind = Stock
    always = ("number", "shelf")
    if rng.random() < 0.7:
        kind = Visit
        always = ("who", "number")
    record = draw_record(rng, shop, kind, details=pick(rng, (1, 2)))
    if CORNER[record.good]["name"] == "plants":
        record = without(record, "material")
    optional = [
        name
        for name in details_of(kind)
        if getattr(record, name) and name not in ("size", "reason")
    ]
    fields = optional or always
    field = pick(rng, fields if rng.random() < 0.75 else always)
    question = questions.about_field(bare(record), field, rng)
    if label and field in optional and rng.random() < 0.5:
        record = add_details(without(record, field), 1, rng, avoid=field)
    elif label:
        others = [
            name
            for name in ("who", "good", "action")
            if name in set(vars(record)) - {field}
        ]
        record = changed(record, pick(rng, others), rng)
    return {"question": question, "sentence": express(record, rng), "label": label}


MAKERS: dict[str, Callable[[Random, Shop], Row]] = {
    maker.__name__: maker for maker in (sst2, cola, mrpc, qqp, stsb, mnli, rte, qnli)
}
