"""What the toyshop's grammar can say in several ways: other words of the same meaning, clauses in another order.

Every exchange is taken from the grammar, so without mistakes the meaning is kept *by construction*: the grammar would
write either text for the same record. With them, words are mistaken for others of their kind, and because it is known
which words mean the same, it can be told how much was lost: `meanings`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.grammar import PATTERNS
from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.words import ACTIONS, SAME, article, pick, plural

Meaning = tuple[str, str]
"""The kind of a phrase, and the name of what it says."""

_DOUBLED = re.compile(r"(?<![\w'-])([\w'-]+) \1(?![\w'-])", re.IGNORECASE)
_TWO_CLAUSES: list[str] = PATTERNS["review"]["second_thoughts"]


def meanings(text: str) -> Counter:
    """The meanings of the phrases in a sentence, and how often each stands there."""
    phrases = _phrases()
    return Counter(
        phrases.meaning_of.get(phrase, phrase) for phrase in phrases.pattern.findall(_lower(text))
    )


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


def _doubled(text: str) -> set[str]:
    """Words that stand twice in a row: "what she bought for him" must not become "what she paid for for him"."""
    return {word.lower() for word in _DOUBLED.findall(text)}


def _with_other_words(
    text: str,
    chance: float,
    rng: Random,
    meant: dict[tuple[Meaning, int], Meaning],
) -> str:
    """Every phrase in a wording of its meaning, or by mistake in one of another. `meant` remembers which, by a phrase's
    meaning and how often it stood before.
    """
    phrases, times = _phrases(), Counter()

    def other(match: re.Match) -> str:
        before, phrase = match[1] or "", match[2]
        meaning = phrases.meaning_of.get(phrase)
        if meaning is None:
            return match[0]
        place = (meaning, times[meaning])
        times[meaning] += 1
        others = [name for name in phrases.alike[meaning[0]] if name != meaning]
        wrong = rng.random() < chance and others
        if place not in meant:
            meant[place] = pick(rng, others) if wrong else meaning
        phrase = pick(rng, phrases.ways[meant[place]])
        if before.strip() in ("a", "an"):
            return article(phrase)
        return before + phrase

    return phrases.with_article.sub(other, _lower(text))


def _with_other_clauses(text: str, rng: Random) -> str:
    """A review with a second thought, with its clauses in another order; any other text as it is."""
    lower = _lower(text)
    body = lower.removesuffix(".")
    clauses = {name: f"(?P<{name}>[^,:]+)" for name in ("main", "foil")}
    for pattern in _TWO_CLAUSES:
        match = re.fullmatch(pattern.format(**clauses), body)
        if match and lower != body:
            return pick(rng, _TWO_CLAUSES).format(**match.groupdict()) + "."
    return lower


def _lower(text: str) -> str:
    """The text without its first capital, unless the first word is a name."""
    first = text.split(" ", 1)[0].rstrip(",.").removesuffix("'s")
    if any(first in shop.people for shop in SHOPS.values()):
        return text
    return (text[:1].lower() + text[1:]).replace(" I ", " i ")


class _Phrases(NamedTuple):
    """All phrases with their meaning, and what finds them in a text."""

    meaning_of: dict[str, Meaning]
    ways: dict[Meaning, list[str]]
    alike: dict[str, list[Meaning]]  # meanings of one kind, which can be mistaken for each other
    pattern: re.Pattern
    with_article: re.Pattern  # "a treasure" first, then "a" + "big"


@cache
def _phrases() -> _Phrases:
    by_phrase: dict[str, set[Meaning]] = defaultdict(set)
    for kind, name, phrases in _all_groups():
        for phrase in phrases:
            by_phrase[phrase].add((kind, name))
    # a hunt is no treasure; "a little" has two meanings: "a little dull", "a little robot"
    by_phrase |= {"a treasure hunt": set(), "a little": set()}
    # a phrase of two meanings ("selected": chose, chosen) is left alone
    meaning_of = {phrase: min(names) for phrase, names in by_phrase.items() if len(names) == 1}
    ways: dict[Meaning, list[str]] = {}
    alike: dict[str, list[Meaning]] = defaultdict(list)
    for kind, name, phrases in _all_groups():
        known = [phrase for phrase in phrases if phrase in meaning_of]
        if known and (kind, name) not in ways:
            alike[kind].append((kind, name))
            ways[kind, name] = known
    longest_first = sorted(map(re.escape, by_phrase), key=len, reverse=True)
    any_phrase = rf"({'|'.join(longest_first)})(?![\w'-])"
    adjectives = "|".join(
        re.escape(word) for sides in words.AXES.values() for bag in sides.values() for word in bag
    )
    degree = rf"a little(?= (?:{adjectives})(?![\w'-]))"  # and not the size of a little robot
    pattern = re.compile(rf"(?<![\w'-]){any_phrase.replace(re.escape('a little'), degree)}")
    return _Phrases(
        meaning_of,
        ways,
        alike,
        pattern,
        re.compile(rf"(?<![\w'-])(an? )??{any_phrase}"),
    )


def _all_groups() -> Iterator[tuple[str, str, Iterable[str]]]:
    """Kind, name and phrases of every meaning: those of one name mean the same, those of one kind can be confused."""
    for axis, sides in words.AXES.items():
        for side, bag in sides.items():
            yield "adjective", f"{axis} {side}", bag
    for kind in ("VERDICTS", "PRAISE", "MOVED", "FEEL"):
        for side, bag in getattr(words, kind).items():
            yield kind, str(side), bag
    yield "degree", "strong", words.DEGREE[3]
    yield (
        "degree",
        "weak",
        [word for word in words.DEGREE[1] if word != "a little"],
    )
    for strength in (3, 1):
        yield (
            "denial",
            str(strength),
            [way.removesuffix(" {}") for way in words.DENIAL[strength]],
        )
    for kind, names in (
        ("size", words.SIZES),
        ("colour", words.COLOURS),
        ("time", words.DAYS + words.HOURS),
    ):
        for name in names:
            yield kind, name, SAME.get(name, [name])
    yield "opens", "opinion", ("i must say that", "i think that")
    for action, ways in ACTIONS.items():
        _, past, participle = zip(*ways, strict=True)
        if action == "find":  # "you will find", "i found it dull": other meanings too
            continue
        yield "action", f"{action} past", past
        if participle != past:
            yield "action", f"{action} participle", participle
    for shop in SHOPS.values():
        for department in shop.departments.values():
            for good in (*department.goods, department.kind):
                yield "good", good, [good]
                yield "goods", good, [plural(good)]
            for kind, bag in (
                ("part", department.parts),
                ("material", department.materials),
            ):
                for name in bag:
                    many = name.endswith("s")
                    yield f"{kind} {many}", name, [name]
        for person in shop.people:
            yield "person", person, [person]
