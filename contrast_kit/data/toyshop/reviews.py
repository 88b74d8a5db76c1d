"""Reviews: opinions as people write them, with second thoughts. The label is the main clause's."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.grammar import DENIALS, join, judged, noun, sentence
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import pick
from contrast_kit.data.toyshop.world import Opinion, draw_record


def verdict(about: str, polarity: int, rng: Random, shop: Shop) -> str:
    """An overall judgement of one thing, a fifth of them by denying the opposite."""
    deny = rng.random() < 0.2
    side = -polarity if deny else polarity
    noun_phrase, praise = words.VERDICTS[side].draw(rng), words.PRAISE[side].draw(rng)
    moved, feel, who = words.MOVED[side].draw(rng), words.FEEL[side].draw(rng), shop.names.draw(rng)
    how = pick(rng, ("", "simply", "quite", "truly", "really"))
    if deny:
        ways = (
            join(about, "is", pick(rng, ("not", "hardly", "by no means", "anything but")), noun_phrase),
            join("nobody could call", about, praise),
            join("i did not find", about, praise),
            join(who, "was not", moved, "by", about),
            join(who, "does not", feel, about),
            join("i cannot say that i", feel, about),
            join(about, "is far from", praise),
        )
    else:
        ways = (
            join(about, "is", how, noun_phrase),
            join(about, "is", how, praise),
            join("i found", about, how, praise),
            join(who, "was", how, moved, "by", about),
            join(pick(rng, ("i", "we")), how if how != "quite" else "", feel, about),
            join("everyone", "will", feel, about),
            join("what", noun_phrase, about, "is") if noun_phrase.startswith("a") else join(about, "is", praise),
        )
    return pick(rng, ways)


def judgement(record: Opinion, about: str, rng: Random) -> str:
    """The opinion of a record as a plain clause about `about`, a fifth of them by denying the opposite."""
    how = judged(record.axis, record.polarity, record.intensity, rng, negation=0.2)
    plain = how.startswith(DENIALS)
    return join(about, "is" if plain else pick(rng, ("is", "is", "is", "looks", "seems")), how)


def review(rng: Random, shop: Shop, polarity: int) -> tuple[str, Opinion]:
    """One review of the given polarity (1 or -1) and the opinion it gives.

    >>> from random import Random
    >>> from contrast_kit.data.toyshop.shops import TOYSHOP
    >>> text, opinion = review(Random(3), TOYSHOP, polarity=1)
    >>> opinion.polarity
    1
    """
    record = draw_record(rng, shop, Opinion, details=0)
    corner = shop.departments[shop.department_of[record.good]]
    record = replace(record, polarity=polarity, number=1)
    if rng.random() < 0.5:
        record = replace(record, colour=words.COLOURS.draw(rng))
    if rng.random() < 0.4:
        record = replace(record, material=corner.materials.draw(rng))
    about = join(pick(rng, ("the", "this", "the")), noun(record, rng, many=False))
    main = (judgement if rng.random() < 0.5 else lambda r, a, g: verdict(a, r.polarity, g, shop))(record, about, rng)
    share = rng.random()
    if share < 0.5:
        return sentence(main), record
    part = corner.parts.draw(rng)
    are = "are" if part.endswith("s") and part != "chassis" else "is"
    axis = pick(rng, words.PART_AXES)
    if share < 0.8:  # the second clause agrees
        extra = judged(axis, polarity, pick(rng, (1, 2, 3)), rng, negation=0.2)
        return sentence(f"{main}, and the {part} {are} {extra}"), record
    foil = f"the {part} {are} {judged(axis, -polarity, pick(rng, (1, 2)), rng, negation=0.3)}"
    ways = (
        f"although {foil}, {main}",
        f"{foil}, but {main}",
        f"{main}, even though {foil}",
        f"{foil}, and yet {main}",
        f"never mind that {foil}: {main}",
    )
    return sentence(pick(rng, ways)), record
