"""What the toyshop's grammar can say in several ways: other words of the same meaning, clauses in another order.

Every exchange is taken from the grammar, so without mistakes the meaning is kept *by construction*: the grammar would
write either text for the same record. With them, words are mistaken for others of their kind, and because it is known
which words mean the same, it can be told how much was lost: `meanings`.
"""

import re
from collections import Counter, defaultdict
from functools import cache
from random import Random
from typing import NamedTuple

from contrast_kit.data.toyshop.grammar import PATTERNS
from contrast_kit.data.toyshop.words import SHOPS, WORDS, article, pick, plural

Meaning = tuple[str, str]
"""The kind of a phrase, and the name of what it says."""

_DOUBLED = re.compile(r"(?<![\w'-])([\w'-]+) \1(?![\w'-])")
_TWO_CLAUSES: list[str] = PATTERNS["second_thoughts"]


def meanings(text: str) -> Counter:
    """The meanings of the phrases in a sentence, and how often each stands there."""
    phrases = _phrases()
    named = phrases.pattern.findall(_lower(text))
    return Counter(phrases.meaning_of.get(phrase, phrase) for phrase in named)


def reworded(text: str, chance: float, rng: Random) -> str:
    """A paraphrase of one text, different from it where a few tries find one. Mistakes are made once, in the first:
    else those texts that only a mistake can change would have more of them.
    """
    if not any(isinstance(meaning, tuple) for meaning in meanings(text)):
        return text  # no phrase of the grammar is in it
    meant = {}
    for _ in range(10):
        again = _with_other_words(_with_other_clauses(text, rng), chance, rng, meant)
        if " i " not in text:
            again = again.replace(" i ", " I ")
        if text[:1].isupper():
            again = again[:1].upper() + again[1:]
        if again != text and _doubled(again) <= _doubled(text):
            return again
    return text


def _doubled(text):
    """Words that stand twice in a row: "what she bought for him" must not become "what she paid for for him"."""
    return set(_DOUBLED.findall(text.lower()))


def _with_other_words(text, chance, rng, meant):
    """Every phrase in a wording of its meaning, or by mistake in one of another. `meant` remembers which, by a phrase's
    meaning and how often it stood before.
    """
    phrases = _phrases()
    times = Counter()

    def other(match: re.Match) -> str:
        before = match[1] or ""
        phrase = match[2]
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
        return article(phrase) if before else phrase

    return phrases.with_article.sub(other, _lower(text))


def _with_other_clauses(text, rng):
    """A review with a second thought, with its clauses in another order; any other text as it is."""
    lower = _lower(text)
    body = lower.removesuffix(".")
    clauses = {name: f"(?P<{name}>[^,:]+)" for name in ("main", "foil")}
    for pattern in _TWO_CLAUSES:
        match = re.fullmatch(pattern.format(**clauses), body)
        if match and lower != body:
            return pick(rng, _TWO_CLAUSES).format(**match.groupdict()) + "."
    return lower


def _lower(text):
    """The text without its first capital, unless the first word is a name."""
    first = text.split(" ", 1)[0].rstrip(",.").removesuffix("'s")
    if any(first in shop.people for shop in SHOPS.values()):
        return text
    return (text[:1].lower() + text[1:]).replace(" I ", " i ")


class _Phrases(NamedTuple):
    """All phrases with their meaning, and what finds them in a text."""

    meaning_of: dict[str, Meaning]
    ways: dict[Meaning, list[str]]
    # Meanings of one kind, which can be mistaken for each other.
    alike: dict[str, list[Meaning]]
    pattern: re.Pattern
    with_article: re.Pattern  # "a treasure" first, then "a" + "big"


@cache
def _phrases():
    by_phrase = defaultdict(set)
    for meaning, phrases in _all_groups():
        for phrase in phrases:
            by_phrase[phrase].add(meaning)
    # a hunt is no treasure; "a little" has two meanings: "a little dull", "a little robot"
    by_phrase |= {"a treasure hunt": set(), "a little": set()}
    # a phrase of two meanings ("selected": chose, chosen) is left alone
    meaning_of = {
        phrase: min(names) for phrase, names in by_phrase.items() if len(names) == 1
    }
    ways = {}
    alike = defaultdict(list)
    for meaning, phrases in _all_groups():
        known = [phrase for phrase in phrases if phrase in meaning_of]
        if known and meaning not in ways:
            ways[meaning] = known
            alike[meaning[0]].append(meaning)
    longest_first = sorted(map(re.escape, by_phrase), key=len, reverse=True)
    any_phrase = rf"({'|'.join(longest_first)})(?![\w'-])"
    sides = [side for axis in WORDS.axes.values() for side in axis.values()]
    adjectives = "|".join(re.escape(word) for side in sides for word in side)
    degree = (
        rf"a little(?= (?:{adjectives})(?![\w'-]))"  # and not the size of a little robot
    )
    pattern = re.compile(
        rf"(?<![\w'-]){any_phrase.replace(re.escape('a little'), degree)}"
    )
    with_article = re.compile(rf"(?<![\w'-])(an? )??{any_phrase}")
    return _Phrases(meaning_of, ways, alike, pattern, with_article)


def _all_groups():
    """The phrases of every meaning: those of one meaning are the same, those of one kind can be confused."""
    for axis, sides in WORDS.axes.items():
        for side, words in sides.items():
            yield ("adjective", f"{axis} {side}"), words
    for kind, sides in WORDS.judging.items():
        for side, words in sides.items():
            yield (kind, side), words
    yield ("degree", "strong"), WORDS.degree["3"]
    yield ("degree", "weak"), [word for word in WORDS.degree["1"] if word != "a little"]
    for strength in ("3", "1"):
        ways = WORDS.denial[strength]
        yield ("denial", strength), [way.removesuffix(" {}") for way in ways]
    for kind in ("size", "colour", "day", "hour"):
        for name in WORDS.values[kind]:
            yield (kind.replace("day", "hour"), name), WORDS.same.get(name, [name])
    yield ("opens", "opinion"), ("i must say that", "i think that")
    for action, ways in WORDS.actions.items():
        _, past, participle = zip(*ways, strict=True)
        if action == "find":  # "you will find", "i found it dull": other meanings too
            continue
        yield ("action", f"{action} past"), past
        if participle != past:
            yield ("action", f"{action} participle"), participle
    for shop in SHOPS.values():
        for corner in shop.departments:
            for good in (*corner["good"], corner["kind"]):
                yield ("good", good), [good]
                yield ("goods", good), [plural(good)]
            for kind in ("part", "material"):
                for name in corner[kind]:
                    yield (f"{kind} {name.endswith('s')}", name), [name]
        for person in shop.people:
            yield ("person", person), [person]
