"""Paraphrases of toyshop sentences: other words of the same meaning, clauses in another order.

Every exchange is taken from the toyshop's own grammar, so at temperature 0 the meaning is kept *by construction*: the
grammar would write either text for the same record. Above that, words are mistaken for others of their kind, and
because it is known which words mean the same, it can be told how much was lost: `same_meaning`.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from random import Random

from contrast_kit import checks
from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.words import ACTIONS, article, pick, plural
from contrast_kit.paraphrase.base import Paraphraser, check_temperature


@dataclass
class Toyshop(Paraphraser):
    """Say a sentence of the toyshop, from the corpus or any task, of either shop, in other words of its grammar.

    Each phrase that the grammar can say in several ways (charming, delightful, lovely; "far from", "by no means") is
    said in one of them, and the order of two clauses is drawn anew ("although the fur is dull, …" ↔ "…, even though the
    fur is dull"). With probability e^(-1/T), Boltzmann's factor for a mistake that costs 1, a phrase is mistaken for
    another of its kind: an adjective for any other, perhaps of the opposite side, a colour for a colour, a toy for a
    toy. T = 0.3, 0.5, 0.7, 0.9 mistake 4, 14, 24 and 33 % of the phrases. A text without such a phrase stays as it is.

    Args:
        temperature: used where a call gives none.

    Relation to its neighbours: `data.toyshop.paraphrase` tells the *record* of a corpus sentence anew, in another
    sentence pattern; this class knows only words, but needs no record.

    Example:
        >>> from contrast_kit.paraphrase import Toyshop
        >>> texts = ["Although the fur is somewhat dull, this big kite is a joy."]
        >>> Toyshop()(texts, seed=1)
        ['The fur is moderately tedious, but this big kite is a winner.']
    """

    temperature: float = 0.0

    def __post_init__(self):
        check_temperature(self.temperature)

    def _say_again(self, texts: list[str], temperature: float | None, seed: int) -> list[str]:
        temperature = self.temperature if temperature is None else temperature
        chance = math.exp(-1 / temperature) if temperature else 0.0
        return [_paraphrase(text, chance, Random(f"{seed}/{text}")) for text in texts]


def same_meaning(first: str, second: str) -> bool:
    """Whether two toyshop sentences have phrases of the same meanings: what a paraphrase must keep.

    >>> from contrast_kit.paraphrase import same_meaning
    >>> same_meaning("This kite is very charming.", "The kite is really lovely.")
    True
    >>> same_meaning("This kite is very charming.", "The kite is really ugly.")
    False
    """
    return _meanings(first) == _meanings(second)


def _meanings(text: str) -> Counter:
    if not isinstance(text, str):
        raise TypeError(f"same_meaning compares two sentences (strings), not {checks.shown(text)}.")
    phrases = _phrases()
    found = phrases.pattern.findall(_lower(text))
    return Counter(phrases.group_of.get(phrase, phrase) for phrase in found)


def _paraphrase(text: str, chance: float, rng: Random) -> str:
    """A paraphrase of one text, different from it where a few tries find one. Mistakes are made once, in the first:
    else those texts that only a mistake can change would have more of them.
    """
    if not any(isinstance(meaning, tuple) for meaning in _meanings(text)):
        return text  # no phrase of the grammar is in it
    meant: dict[tuple, tuple] = {}
    for _ in range(10):
        said = _with_other_words(_with_other_clauses(text, rng), chance, rng, meant)
        said = said if " i " in text else said.replace(" i ", " I ")
        said = said[:1].upper() + said[1:] if text[:1].isupper() else said
        if said != text and _doubled(said) <= _doubled(text):
            return said
    return text


_DOUBLED = re.compile(r"(?<![\w'-])([\w'-]+) \1(?![\w'-])", re.IGNORECASE)


def _doubled(text: str) -> set[str]:
    """Words that stand twice in a row: "what she bought for him" must not become "what she paid for for him"."""
    return {word.lower() for word in _DOUBLED.findall(text)}


def _with_other_words(text: str, chance: float, rng: Random, meant: dict[tuple, tuple]) -> str:
    """Every phrase in a wording of its meaning, or by mistake in one of another. `meant` remembers which, by a phrase's
    meaning and how often it stood before.
    """
    phrases, seen = _phrases(), Counter()

    def other(match: re.Match) -> str:
        group = phrases.group_of.get(match[2])
        if group is None:
            return match[0]
        place, wrong = (group, seen[group]), rng.random() < chance and len(phrases.kinds[group[0]]) > 1
        seen[group] += 1
        if place not in meant:
            meant[place] = pick(rng, [name for name in phrases.kinds[group[0]] if name != group]) if wrong else group
        phrase = pick(rng, phrases.groups[meant[place]])
        if match[1] is None:
            return phrase
        return article(phrase) if match[1].strip() in ("a", "an") else match[1] + phrase

    return phrases.with_article.sub(other, _lower(text))


# Two clauses, main and foil, in the five ways of `data.toyshop.reviews`
_CLAUSES = (
    (re.compile(r"^although (?P<foil>[^,:]+), (?P<main>[^,:]+)\.$"), "although {foil}, {main}."),
    (re.compile(r"^(?P<foil>[^,:]+), but (?P<main>[^,:]+)\.$"), "{foil}, but {main}."),
    (re.compile(r"^(?P<main>[^,:]+), even though (?P<foil>[^,:]+)\.$"), "{main}, even though {foil}."),
    (re.compile(r"^(?P<foil>[^,:]+), and yet (?P<main>[^,:]+)\.$"), "{foil}, and yet {main}."),
    (
        re.compile(r"^never mind that (?P<foil>[^,:]+): (?P<main>[^,:]+)\.$"),
        "never mind that {foil}: {main}.",
    ),
)


def _with_other_clauses(text: str, rng: Random) -> str:
    """A review with a second thought, with its clauses in another order; any other text as it is."""
    lower = _lower(text)
    for pattern, _ in _CLAUSES:
        if match := pattern.match(lower):
            return pick(rng, _CLAUSES)[1].format(**match.groupdict())
    return lower


def _lower(text: str) -> str:
    """The text without its first capital, unless the first word is a name."""
    first = text.split(" ", 1)[0].rstrip(",.").removesuffix("'s")
    if not text or any(first in shop.people for shop in SHOPS.values()):
        return text
    text = text[0].lower() + text[1:]
    return text.replace(" I ", " i ")


class _Phrases:
    """All phrases with their meaning: `group_of[phrase]` is (kind, name); `groups` and `kinds` lead back."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], tuple[str, ...]] = {}
        for kind, name, phrases in _all_groups():
            self.groups[kind, name] = tuple(phrases)
        found: dict[str, set] = {}
        for group, phrases in self.groups.items():
            for phrase in phrases:
                found.setdefault(phrase, set()).add(group)
        found |= {
            "a treasure hunt": set(),
            "a little": set(),
        }  # a hunt is no treasure; "a little" has two meanings: "a little dull", "a little robot"
        # a phrase of two meanings ("selected": chose, chosen) is left alone
        self.group_of = {phrase: groups.pop() for phrase, groups in found.items() if len(groups) == 1}
        self.groups = {
            group: tuple(phrase for phrase in phrases if phrase in self.group_of)
            for group, phrases in self.groups.items()
        }
        self.groups = {group: phrases for group, phrases in self.groups.items() if phrases}
        self.kinds: dict[str, list[tuple[str, str]]] = {}
        for group in self.groups:
            self.kinds.setdefault(group[0], []).append(group)
        longest_first = sorted(map(re.escape, found), key=len, reverse=True)
        words_ = rf"({'|'.join(longest_first)})(?![\w'-])"
        said_of = "|".join(re.escape(word) for sides in words.AXES.values() for bag in sides for word in bag)
        degree = rf"a little(?= (?:{said_of})(?![\w'-]))"  # and not the size of a little robot
        self.pattern = re.compile(rf"(?<![\w'-]){words_.replace(re.escape('a little'), degree)}")
        self.with_article = re.compile(rf"(?<![\w'-])(an? )??{words_}")  # "a treasure" first, then "a" + "big"


@cache
def _phrases() -> _Phrases:
    return _Phrases()


def _all_groups():
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
