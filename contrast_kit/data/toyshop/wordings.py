"""What the toyshop's grammar can say in several ways: other words of the same meaning, clauses in another order.

Every exchange is taken from the grammar, so without mistakes the meaning is kept *by construction*: the grammar would
write either text for the same record. With them, words are mistaken for others of their kind, and because it is known
which words mean the same, it can be told how much was lost: `meanings`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.words import ACTIONS, article, pick, plural

Meaning = tuple[str, str]
"""The kind of a phrase, and the name of what it says."""


def meanings(text: str) -> Counter:
    """The meanings of the phrases in a sentence, and how often each stands there."""
    phrases = _phrases()
    return Counter(phrases.meaning_of.get(phrase, phrase) for phrase in phrases.pattern.findall(_lower(text)))


def reworded(text: str, chance: float, rng: Random) -> str:
    """A paraphrase of one text, different from it where a few tries find one. Mistakes are made once, in the first:
    else those texts that only a mistake can change would have more of them.
    """
    if not any(isinstance(meaning, tuple) for meaning in meanings(text)):
        return text  # no phrase of the grammar is in it
    meant: dict[tuple[Meaning, int], Meaning] = {}
    for _ in range(10):
        again = _with_other_words(_with_other_clauses(text, rng), chance, rng, meant)
        if " i " not in text:
            again = again.replace(" i ", " I ")
        if text[:1].isupper():
            again = again[:1].upper() + again[1:]
        if again != text and _doubled(again) <= _doubled(text):
            return again
    return text


_DOUBLED = re.compile(r"(?<![\w'-])([\w'-]+) \1(?![\w'-])", re.IGNORECASE)


def _doubled(text: str) -> set[str]:
    """Words that stand twice in a row: "what she bought for him" must not become "what she paid for for him"."""
    return {word.lower() for word in _DOUBLED.findall(text)}


def _with_other_words(text: str, chance: float, rng: Random, meant: dict[tuple[Meaning, int], Meaning]) -> str:
    """Every phrase in a wording of its meaning, or by mistake in one of another. `meant` remembers which, by a phrase's
    meaning and how often it stood before.
    """
    phrases, times = _phrases(), Counter()

    def other(match: re.Match) -> str:
        meaning = phrases.meaning_of.get(match[2])
        if meaning is None:
            return match[0]
        place, alike = (meaning, times[meaning]), phrases.alike[meaning[0]]
        wrong = rng.random() < chance and len(alike) > 1
        times[meaning] += 1
        if place not in meant:
            meant[place] = meaning
            if wrong:
                meant[place] = pick(rng, [name for name in alike if name != meaning])
        phrase = pick(rng, phrases.ways[meant[place]])
        if match[1] is None:
            return phrase
        if match[1].strip() in ("a", "an"):
            return article(phrase)
        return match[1] + phrase

    return phrases.with_article.sub(other, _lower(text))


# Two clauses, main and foil, in the five ways of `data.toyshop.reviews`
_MAIN, _FOIL = "(?P<main>[^,:]+)", "(?P<foil>[^,:]+)"
_CLAUSES = (
    "although {foil}, {main}.",
    "{foil}, but {main}.",
    "{main}, even though {foil}.",
    "{foil}, and yet {main}.",
    "never mind that {foil}: {main}.",
)


def _with_other_clauses(text: str, rng: Random) -> str:
    """A review with a second thought, with its clauses in another order; any other text as it is."""
    lower = _lower(text)
    for form in _CLAUSES:
        match = re.fullmatch(form.replace(".", r"\.").format(main=_MAIN, foil=_FOIL), lower)
        if match:
            return pick(rng, _CLAUSES).format(**match.groupdict())
    return lower


def _lower(text: str) -> str:
    """The text without its first capital, unless the first word is a name."""
    first = text.split(" ", 1)[0].rstrip(",.").removesuffix("'s")
    if not text or any(first in shop.people for shop in SHOPS.values()):
        return text
    return (text[0].lower() + text[1:]).replace(" I ", " i ")


class _Phrases(NamedTuple):
    """All phrases with their meaning, and what finds them in a text."""

    meaning_of: dict[str, Meaning]
    ways: dict[Meaning, tuple[str, ...]]
    alike: dict[str, list[Meaning]]  # meanings of one kind, which can be mistaken for each other
    pattern: re.Pattern
    with_article: re.Pattern  # "a treasure" first, then "a" + "big"


@cache
def _phrases() -> _Phrases:
    ways = {(kind, name): tuple(phrases) for kind, name, phrases in _all_groups()}
    found: dict[str, set[Meaning]] = {}
    for meaning, phrases in ways.items():
        for phrase in phrases:
            found.setdefault(phrase, set()).add(meaning)
    # a hunt is no treasure; "a little" has two meanings: "a little dull", "a little robot"
    found |= {"a treasure hunt": set(), "a little": set()}
    # a phrase of two meanings ("selected": chose, chosen) is left alone
    meaning_of = {phrase: next(iter(each)) for phrase, each in found.items() if len(each) == 1}
    ways = {meaning: tuple(filter(meaning_of.__contains__, phrases)) for meaning, phrases in ways.items()}
    ways = {meaning: phrases for meaning, phrases in ways.items() if phrases}
    alike: dict[str, list[Meaning]] = {}
    for meaning in ways:
        alike.setdefault(meaning[0], []).append(meaning)
    longest_first = sorted(map(re.escape, found), key=len, reverse=True)
    any_phrase = rf"({'|'.join(longest_first)})(?![\w'-])"
    adjectives = "|".join(re.escape(word) for sides in words.AXES.values() for bag in sides for word in bag)
    degree = rf"a little(?= (?:{adjectives})(?![\w'-]))"  # and not the size of a little robot
    pattern = re.compile(rf"(?<![\w'-]){any_phrase.replace(re.escape('a little'), degree)}")
    return _Phrases(meaning_of, ways, alike, pattern, re.compile(rf"(?<![\w'-])(an? )??{any_phrase}"))


def _all_groups() -> Iterator[tuple[str, str, Iterable[str]]]:
    """Kind, name and phrases of every meaning: those of one name mean the same, those of one kind can be confused."""
    for axis, sides in words.AXES.items():
        for side, bag in zip(("good", "bad"), sides, strict=True):
            yield "adjective", f"{axis} {side}", bag
    for kind, sides in (("verdict", words.VERDICTS), ("praise", words.PRAISE), ("moved", words.MOVED)):
        for side, bag in sides.items():
            yield kind, str(side), bag
    for side, bag in words.FEEL.items():
        yield "feel", str(side), bag
    yield "degree", "strong", words.STRONG
    yield "degree", "weak", [word for word in words.WEAK if word != "a little"]
    for name, ways in (("strong", words.STRONG_NOT), ("weak", words.WEAK_NOT)):
        yield "denial", name, [way.removesuffix(" {}") for way in ways]
    for size in words.SIZES:
        yield "size", size, words.SAME_SIZE.get(size, (size,))
    for colour in words.COLOURS:
        yield "colour", colour, (colour,)
    for time in (*words.DAYS, *words.HOURS):
        yield "time", time, words.SAME_TIME.get(time, (time,))
    yield "opens", "opinion", ("i must say that", "i think that")
    for action, ways in ACTIONS.items():
        if action == "find":  # "you will find", "i found it dull": other meanings too
            continue
        for at, form in ((1, "past"), (2, "participle")):
            forms = [way[at] for way in ways]
            if form == "participle" and forms == [way[1] for way in ways]:
                continue  # bought, bought
            yield "action", f"{action} {form}", forms
    for shop in SHOPS.values():
        for department in shop.departments.values():
            for good in (*department.goods, department.kind):
                yield "good", good, (good,)
                yield "goods", good, (plural(good),)
            for kind, bag in (("part", department.parts), ("material", department.materials)):
                for name in bag:
                    yield f"{kind}{' many' if name.endswith('s') else ''}", name, (name,)
        for person in shop.people:
            yield "person", person, (person,)
