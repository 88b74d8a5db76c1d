"""Words that every shop shares: numbers, places in time, verbs, opinions; and how words are drawn and inflected.

A word list is a `Bag`: ordered from common to rare, drawn with a probability proportional to `1 / (rank +
2)`. That is what gives the corpus its Zipf-like spread. Every draw, but for some of `toyshop.triples`, is made from
`random.Random.random()` alone, the one method whose values Python promises to keep from version to version, so a seed
gives the same sentences everywhere.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


def pick(rng: Random, items: Sequence[T]) -> T:
    """Draw one item, all equally likely.

    >>> from random import Random
    >>> pick(Random(0), ["red", "blue", "green"])
    'green'
    """
    return items[int(rng.random() * len(items))]


class Bag(tuple):
    """Words from common to rare; `draw` picks the word of rank r (from 0) with probability proportional to 1/(r+2).

    >>> from random import Random
    >>> colours = Bag.of("red, blue, green")
    >>> colours.draw(Random(0)), colours.draw(Random(0), other_than="green")
    ('green', 'blue')
    """

    cumulative: list[float]

    def __new__(cls, items: Iterable[Any]) -> Bag:
        bag = super().__new__(cls, items)
        bag.cumulative = list(accumulate(1 / (rank + 2) for rank in range(len(bag))))
        return bag

    @classmethod
    def of(cls, words: str) -> Bag:
        """A bag from one string of words parted by commas."""
        return cls(" ".join(word.split()) for word in words.split(",") if word.strip())

    def draw(self, rng: Random, other_than: Any = None) -> Any:
        """One item by its weight; never `other_than`."""
        while True:
            item = self[bisect(self.cumulative, rng.random() * self.cumulative[-1])]
            if item != other_than:
                return item


IRREGULAR = {"sheep": "sheep", "wolf": "wolves", "mouse": "mice", "fish": "fish", "bookshelf": "bookshelves"}


def plural(noun: str) -> str:
    """The plural of an English noun phrase whose last word is its head.

    >>> [plural(noun) for noun in ("kite", "music box", "fairy", "toy", "sheep")]
    ['kites', 'music boxes', 'fairies', 'toys', 'sheep']
    """
    *front, head = noun.split(" ")
    if head in IRREGULAR:
        head = IRREGULAR[head]
    elif head.endswith(("s", "x", "ch", "sh")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeiou":
        head = head[:-1] + "ies"
    else:
        head += "s"
    return " ".join([*front, head])


def article(phrase: str) -> str:
    """`phrase` with "a" or "an" before it.

    >>> article("owl"), article("ukulele"), article("hourglass"), article("kite")
    ('an owl', 'a ukulele', 'an hourglass', 'a kite')
    """
    vowel = phrase[0] in "aeiou" and not phrase.startswith(("uni", "uku", "use"))
    return ("an " if vowel or phrase.startswith("hour") else "a ") + phrase


COUNTS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
NUMBERS = Bag([1, 2, 3, 4, 6, 5, 12, 7, 8, 10, 9, 11])
PRICES = Bag([5, 3, 4, 2, 10, 6, 8, 7, 9, 12, 11])
DAYS = Bag.of("on Saturday, on Monday, on Friday, on Wednesday, on Tuesday, on Thursday, on Sunday")
HOURS = Bag.of(
    "at noon, at ten o'clock, at three o'clock, at nine o'clock, at four o'clock, at two o'clock, at half past five, "
    "at eleven o'clock, at half past eight, at a quarter to six"
)
SAME_TIME = {"at noon": ("at noon", "at midday")}

SIZES = Bag(["small", "big", "tiny", "huge", "tall", "short", "wide", "narrow"])
SAME_SIZE = {
    "small": ("small", "little"), "big": ("big", "large"), "tiny": ("tiny", "miniature"),
    "huge": ("huge", "enormous", "gigantic"), "wide": ("wide", "broad"),
}  # fmt: skip
# no size of the first word's row can be true where the second's is
OPPOSITE_SIZES = {
    "small": ("big", "huge"), "tiny": ("big", "huge"), "big": ("small", "tiny"), "huge": ("small", "tiny"),
    "tall": ("short",), "short": ("tall",), "wide": ("narrow",), "narrow": ("wide",),
}  # fmt: skip
COLOURS = Bag.of(
    "red, blue, green, yellow, white, black, brown, pink, orange, purple, grey, golden, silver, scarlet, turquoise, "
    "violet, crimson, cream, lilac, emerald, navy, ivory, amber, maroon, mauve, indigo, beige, teal, peach, charcoal"
)
# shades that one eye may call the same; colours that share no row contradict each other
SHADES = tuple(
    frozenset(shades.split())
    for shades in (
        "red scarlet crimson maroon", "blue turquoise navy indigo teal",
        "green emerald turquoise teal", "grey charcoal silver",
         "yellow golden amber", "white cream ivory beige",
        "pink peach", "purple violet lilac mauve indigo", "black charcoal",
         "orange amber peach", "brown beige maroon",
    )
)  # fmt: skip

# action -> ways to say it, each "base past participle"; a phrasal verb writes its particle after "+"
ACTIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    action: tuple(
        tuple(f"{form} {rest[0]}" if rest else form for form in forms.split())
        for forms, *rest in (way.strip().split("+") for way in ways.split(","))
    )
    for action, ways in {
        "buy": "buy bought bought, purchase purchased purchased, pay paid paid+for",
        "admire": "admire admired admired, gaze gazed gazed+at, marvel marvelled marvelled+at",
        "choose": "choose chose chosen, pick picked picked+out, select selected selected",
        "return": "return returned returned, bring brought brought+back, take took taken+back",
        "find": "find found found, discover discovered discovered",
        "order": "order ordered ordered, request requested requested",
        "lose": "lose lost lost, mislay mislaid mislaid",
        "mend": "mend mended mended, repair repaired repaired, fix fixed fixed",
        "break": "break broke broken, damage damaged damaged",
        "wrap": "wrap wrapped wrapped, parcel parcelled parcelled+up",
        "hide": "hide hid hidden, conceal concealed concealed, tuck tucked tucked+away",
        "test": "test tested tested, try tried tried+out",
        "reserve": "reserve reserved reserved, put put put+aside, set set set+aside",
        "clean": "clean cleaned cleaned, dust dusted dusted+off",
        "count": "count counted counted",
        "sketch": "sketch sketched sketched, draw drew drawn",
        "unpack": "unpack unpacked unpacked, unwrap unwrapped unwrapped",
        "sell": "sell sold sold",
        "donate": "donate donated donated, give gave given+away",
        "photograph": "photograph photographed photographed",
        "borrow": "borrow borrowed borrowed",
        "steal": "steal stole stolen, swipe swiped swiped",
        "swap": "swap swapped swapped, trade traded traded",
        "measure": "measure measured measured",
        "praise": "praise praised praised, commend commended commended",
        "carry": "carry carried carried+off, cart carted carted+off",
    }.items()
}
ACTION_BAG = Bag(ACTIONS)
FOR_SOMEONE = frozenset(
    Bag.of("buy, choose, find, order, mend, wrap, hide, reserve, clean, sketch, unpack, borrow, steal")
)

# Opinions: axis -> (good words, bad words). "not <bad word>" is how negation says a good thing.
AXES: dict[str, tuple[Bag, Bag]] = {
    axis: (Bag.of(good), Bag.of(bad))
    for axis, (good, bad) in {
        "worth": ("good, nice, pleasant, decent, likeable", "bad, poor, unpleasant, nasty, mediocre"),
        "charm": (
            "charming, delightful, lovely, appealing, endearing",
            "ugly, charmless, unlovely, off-putting, repellent",
        ),
        "effect": (
            "impressive, striking, memorable, dazzling",
            "disappointing, forgettable, underwhelming, feeble",
        ),
        "pleasure": (
            "pleasing, satisfying, agreeable, gratifying",
            "annoying, irritating, tiresome, exasperating",
        ),
        "making": ("well made, well crafted, polished, refined", "badly made, shoddy, slapdash, crude"),
        "taste": ("tasteful, elegant, graceful, stylish", "tasteless, vulgar, garish, tacky"),
        "price": (
            "affordable, cheap, inexpensive, reasonably priced",
            "overpriced, expensive, costly, pricey",
        ),
        "fun": ("fun, amusing, entertaining, enjoyable", "boring, dull, tedious, dreary"),
        "strength": ("sturdy, solid, robust, durable", "flimsy, fragile, rickety, brittle"),
        "ease": ("simple, straightforward, handy, practical", "confusing, baffling, fiddly, impractical"),
        "look": ("bright, cheerful, lively, vivid", "drab, dingy, gloomy, lifeless"),
        "wit": ("clever, ingenious, inventive, imaginative", "silly, unimaginative, witless, uninspired"),
        "state": ("clean, tidy, fresh, presentable", "grubby, shabby, tatty, grimy"),
        "trust": ("reliable, dependable, trusty", "unreliable, faulty, temperamental"),
        "safety": ("safe, harmless, gentle", "dangerous, hazardous, unsafe"),
        "touch": ("soft, cuddly, silky, huggable", "scratchy, itchy, prickly, coarse"),
        "sound": ("tuneful, melodious, mellow, harmonious", "shrill, tinny, jarring, deafening"),
        "speed": ("fast, speedy, nippy, swift", "slow, sluggish, plodding"),
        "growth": ("healthy, vigorous, thriving, lush", "sickly, withered, limp, straggly"),
        "edge": ("sharp, keen, precise", "blunt, wobbly, inaccurate"),
        "comfort": ("comfortable, cosy, snug, roomy", "uncomfortable, cramped, draughty, poky"),
    }.items()
}
PART_AXES = (
    "worth",
    "charm",
    "effect",
    "pleasure",
    "making",
    "taste",
)  # what can be said of a part as well as of the whole
STRONG = Bag.of(
    "very, really, extremely, truly, remarkably, exceptionally, incredibly, thoroughly, unusually, decidedly"
)
WEAK = Bag.of("rather, fairly, somewhat, pretty, a little, a bit, moderately, slightly")
STRONG_NOT = (
    "not at all {}",
    "far from {}",
    "anything but {}",
    "not in the least {}",
    "by no means {}",
)
PLAIN_NOT = ("not {}", "hardly {}", "scarcely {}")
WEAK_NOT = (
    "not very {}",
    "not particularly {}",
    "not exactly {}",
    "not especially {}",
    "not terribly {}",
    "none too {}",
)

# the axis "worth": the overall verdict of a review
VERDICTS = {
    1: Bag.of(
        "a joy, a delight, a treat, a triumph, a pleasure, a marvel, a gem, a wonder, a treasure, a "
        "masterpiece, a hit, a bargain, a blessing, a winner, a success"
    ),
    -1: Bag.of(
        "a disappointment, a nuisance, a letdown, a failure, a disaster, a waste of money, a bore, a "
        "mess, a flop, a mistake, a swindle, an eyesore, a headache, a chore, a dud"
    ),
}  # fmt: skip
PRAISE = {
    1: Bag.of(
        "wonderful, superb, excellent, splendid, marvellous, fantastic, brilliant, outstanding, "
        "magnificent, fabulous, glorious, terrific, exquisite, heavenly"
    ),
    -1: Bag.of(
        "terrible, awful, dreadful, horrible, appalling, dismal, atrocious, abysmal, miserable, pathetic, "
        "ghastly, lousy, wretched, woeful"
    ),
}  # fmt: skip
MOVED = {
    1: Bag.of("delighted, charmed, enchanted, thrilled, cheered, amused, captivated, enthralled"),
    -1: Bag.of("disappointed, annoyed, bored, irritated, frustrated, upset, exasperated, dismayed"),
}
FEEL = {
    1: Bag.of("love, adore, treasure, cherish, enjoy, appreciate"),
    -1: Bag.of("hate, dislike, regret, loathe, detest, resent"),
}
