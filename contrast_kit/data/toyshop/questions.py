"""Questions that customers ask (qqp), and questions about one field of a visit or a shelf (qnli)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from contrast_kit.data.toyshop.grammar import counted, join, noun, sentence
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import ACTIONS, COLOURS, SIZES, pick
from contrast_kit.data.toyshop.world import Stock, Visit


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


ASK: dict[str, tuple[str, ...]] = {
    "where": (
        "where can i find the {}",
        "on which shelf is the {}",
        "where do you keep the {}",
        "which shelf is the {} on",
    ),
    "price": (
        "how much is the {}",
        "what does the {} cost",
        "what is the price of the {}",
        "how much do you want for the {}",
    ),
    "weight": (
        "how heavy is the {}",
        "what does the {} weigh",
        "what is the weight of the {}",
        "how much does the {} weigh",
    ),
    "maker": ("who made the {}", "who is the maker of the {}", "which workshop does the {} come from"),
    "age": (
        "how old is the {}",
        "what is the age of the {}",
        "when was the {} made",
        "in which year was the {} built",
    ),
    "clean": (
        "how do i clean the {}",
        "what is the best way to clean the {}",
        "how should the {} be cleaned",
    ),
    "repair": (
        "can the {} be repaired",
        "is it possible to repair the {}",
        "can you mend the {}",
        "could someone fix the {}",
    ),
    "deliver": (
        "do you deliver the {}",
        "can the {} be sent to my house",
        "could you bring the {} to my home",
    ),
    "return": (
        "can i return the {}",
        "may the {} be brought back",
        "will you take the {} back",
        "is it possible to return the {}",
    ),
    "stock": (
        "do you still have the {}",
        "is the {} still for sale",
        "have you sold the {} yet",
        "is the {} sold out",
    ),
    "wrap": (
        "could you wrap the {}",
        "would you put paper and ribbon on the {}",
        "can i have the {} gift-wrapped",
    ),
    "size": (
        "how big is the {}",
        "what size is the {}",
        "what are the measurements of the {}",
        "how large is the {}",
    ),
    "safe": (
        "is the {} safe",
        "is the {} dangerous",
        "could anyone get hurt by the {}",
        "is there any danger in the {}",
    ),
    "try": ("may i try the {}", "can i test the {} before i buy it", "am i allowed to try out the {}"),
}
COMPARE: dict[str, tuple[tuple[str, str], ...]] = {  # asked of (one, other); "swapped" ways name the other first
    "cheaper": (("is the {a} cheaper than the {b}", "is the {b} more expensive than the {a}"),
                ("does the {a} cost less than the {b}", "does the {b} cost more than the {a}")),
    "heavier": (("is the {a} heavier than the {b}", "is the {b} lighter than the {a}"),
                ("does the {a} weigh more than the {b}", "does the {b} weigh less than the {a}")),
    "older": (("is the {a} older than the {b}", "is the {b} newer than the {a}"),
              ("was the {a} made before the {b}", "was the {b} made after the {a}")),
    "sturdier": (("is the {a} sturdier than the {b}", "is the {b} flimsier than the {a}"),
                 ("will the {a} last longer than the {b}", "will the {b} wear out before the {a}")),
    "bigger": (("is the {a} bigger than the {b}", "is the {b} smaller than the {a}"),
               ("does the {a} take up more room than the {b}", "does the {b} take up less room than the {a}")),
}  # fmt: skip


def draw_question(rng: Random, shop: Shop) -> Question:
    """A random question; four in ten compare two goods."""
    corner = shop.departments[shop.corners.draw(rng)]
    good = corner.goods.draw(rng)
    colour = COLOURS.draw(rng) if rng.random() < 0.55 else ""
    material = corner.materials.draw(rng) if rng.random() < 0.45 else ""
    size = SIZES.draw(rng) if rng.random() < 0.3 else ""
    if rng.random() < 0.4:
        other = shop.departments[shop.corners.draw(rng)].goods.draw(rng, good)
        return Question(pick(rng, tuple(COMPARE)), good, size, colour, material, other)
    recipient = shop.recipients.draw(rng) if rng.random() < 0.35 else ""
    return Question(pick(rng, tuple(ASK)), good, size, colour, material, recipient=recipient)


def ask(question: Question, rng: Random) -> str:
    """One of the ways to ask."""
    thing = noun(question, rng, many=False)
    if question.other:
        a_first, b_first = pick(rng, COMPARE[question.ask])
        return sentence(pick(rng, (a_first, b_first)).format(a=thing, b=question.other), "?")
    if question.recipient:
        thing = join(thing, pick(rng, ("for my {}", "meant for my {}")).format(question.recipient))
    text = pick(rng, ASK[question.ask]).format(thing)
    polite = rng.random()
    if polite < 0.2:
        text = pick(rng, ("excuse me, {}", "tell me, {}", "sorry to trouble you, {}", "one more thing: {}")).format(
            text
        )
    elif polite < 0.3 and question.ask in ("where", "price", "deliver", "wrap", "try"):
        text += ", please"
    return sentence(text, "?")


def twist(question: Question, rng: Random, shop: Shop) -> Question:
    """A question that looks alike and asks something else: the goods swapped, or one word of the meaning changed."""
    corner = shop.departments[shop.department_of[question.good]]
    if question.other and rng.random() < 0.7:
        # adjectives stay in front of the first thing asked about, hence are swapped too
        return replace(question, good=question.other, other=question.good)
    changes = [("ask", tuple(COMPARE if question.other else ASK)), ("good", corner.goods)]
    changes += [("colour", COLOURS)] * 2 if question.colour else []
    changes += [("material", corner.materials)] * 2 if question.material else []
    changes += [("size", ("small", "big", "tiny", "huge"))] if question.size else []
    changes += [("recipient", shop.recipients)] if question.recipient else []
    field, values = pick(rng, changes)
    value = getattr(question, field)
    while value == getattr(question, field) or value == question.other:
        value = pick(rng, values)
    return replace(question, **{field: value})


def about_field(record: Visit | Stock, field: str, rng: Random, shop: Shop) -> str:
    """A question that only the value of `field` answers.

    >>> from random import Random
    >>> from contrast_kit.data.toyshop.shops import TOYSHOP
    >>> about_field(Visit("Clara", "buy", 2, "kite", day="on Monday"), "day", Random(1), TOYSHOP)
    'On what day were two kites bought by Clara?'
    """
    if field in ("colour", "material"):
        record = replace(record, **{field: ""})
    goods = counted(record, rng)
    many = noun(record, rng, many=True)
    if isinstance(record, Stock):
        one = record.number == 1
        be, do, stand = ("is", "does", "the " + noun(record, rng, False)) if one else ("are", "do", "the " + goods)
        ways = {
            "number": (
                f"how many {many} are there {record.shelf}",
                f"how many {many} will you find {record.shelf}",
            ),
            "colour": (
                f"what colour {be} {stand} {record.shelf}",
                f"in which colour {do} {stand} {record.shelf} come",
            ),
            "material": (
                f"what {be} {stand} {record.shelf} made of",
                f"of what {be} {stand} {record.shelf} made",
            ),
            "shelf": (
                f"where {be} {stand}",
                f"where in the shop {do} {stand} stand",
                f"where will you find {stand}",
            ),
            "price": (
                f"how much {do} {stand} {record.shelf} cost",
                f"what is the price of {stand} {record.shelf}",
            ),
        }
        return sentence(pick(rng, ways[field]), "?")
    said = ACTIONS[record.action]
    base, past, participle = said[0] if field == "recipient" else pick(rng, said)
    who, be = record.who, "was" if record.number == 1 else "were"
    these = many if record.number > 1 else noun(record, rng, many=False)
    ways = {
        "who": (f"who {past} {goods}", f"who was it that {past} {goods}", f"by whom {be} {goods} {participle}"),
        "number": (f"how many {many} did {who} {base}", f"how many {many} were {participle} by {who}"),
        "colour": (f"what colour {be} the {these} that {who} {past}",),
        "material": (f"what {be} the {these} made of that {who} {past}",),
        "place": (f"where did {who} {base} {goods}", f"where {be} {goods} {participle} by {who}"),
        "day": (f"on which day did {who} {base} {goods}", f"on what day {be} {goods} {participle} by {who}"),
        "hour": (f"at what time did {who} {base} {goods}", f"at which hour {be} {goods} {participle} by {who}"),
        "recipient": (f"for whom did {who} {base} {goods}", f"for whom {be} {goods} {participle} by {who}"),
    }  # fmt: skip
    return sentence(pick(rng, ways[field]), "?")
