"""Make the files of the toyshop's labelled tasks: `python data/toyshop/make.py FOLDER`; the same rows on any machine.

Each maker draws a label first, then records for which that label is true (`records.py`), and says them in the words of
the library's grammar. Rows are drawn from a seed, balanced in length, and never share a sentence between splits.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import questions
from pyarrow import Table
from pyarrow.parquet import write_table
from records import (
    as_told,
    bare,
    changed,
    clash,
    clause_beginning_otherwise,
    corrupt,
    facts,
    review,
    similarity,
    without,
)

from contrast_kit.data.toyshop import Opinion, Stock, Visit
from contrast_kit.data.toyshop.grammar import clause, express, sentence
from contrast_kit.data.toyshop.tables import splits
from contrast_kit.data.toyshop.unlabeled import remark, two_ways
from contrast_kit.data.toyshop.words import CORNER, SHOPS, Shop, pick
from contrast_kit.data.toyshop.world import add_details, details_of, draw_record

TRAIN = {"sst2": 4000, "cola": 4000, "mnli": 4000}  # the others: 2,500
HELD_OUT = 500

Row = dict[str, object]


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


def size(task: str, split: str) -> int:
    """The number of rows of a split."""
    return TRAIN.get(task, 2500) if split == "train" else HELD_OUT


def paragraphs(task: str, shop: str) -> dict[str, list[Row]]:
    """The splits of "squad"; no paragraph stands in two of them, nor a question twice about one."""
    made = {split: [] for split in splits(task)}
    known = set()
    for split in made:
        rng = Random(f"squad/{split}/{shop}")
        while len(made[split]) < size(task, split):
            row = questions.squad(rng, SHOPS[shop])
            if row["context"] not in known:
                known.add(row["context"])
                name = {"id": f"{shop}-{split}-{len(made[split])}", "title": shop}
                made[split].append(name | row)
    return made


def labelled(task: str, shop: str) -> dict[str, list[Row]]:
    """The splits of a task of GLUE."""
    split_of = {}  # by sentence
    made = {split: [] for split in splits(task)}
    for split in reversed(made):  # small splits first: they take the commonest sentences
        where = shop
        if split.endswith("mismatched"):
            (where,) = SHOPS.keys() - {shop}
        rng = Random(f"{task}/{split}/{where}/{shop}")
        known = set()
        while len(known) < size(task, split):
            row = MAKERS[task](rng, SHOPS[where])
            texts = tuple(value for value in row.values() if isinstance(value, str))
            if texts in known or any(split_of.get(text, split) != split for text in texts):
                continue
            made[split].append(row | {"idx": len(known)})
            known.add(texts)
            split_of |= dict.fromkeys(texts, split)
    return made


def main(folder: str) -> None:
    """Write one file for each split of each task of both shops."""
    for shop in SHOPS:
        for task in (*MAKERS, "squad"):
            make = labelled if task in MAKERS else paragraphs
            for split, rows in make(task, shop).items():
                file = Path(folder, shop, task, f"{split}.parquet")
                file.parent.mkdir(parents=True, exist_ok=True)
                table = Table.from_pylist(rows)
                write_table(table, file, compression="zstd", compression_level=19, use_dictionary=False)


if __name__ == "__main__":
    main(sys.argv[1])
