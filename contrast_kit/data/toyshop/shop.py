"""What a shop is: departments with goods, people who come in, places where things happen."""

from __future__ import annotations

from dataclasses import dataclass

from contrast_kit.data.toyshop.words import PART_AXES, Bag


@dataclass(frozen=True)
class Department:
    """One corner of a shop. `kind` is the noun that covers all its goods: a drum is a musical toy."""

    name: str
    kind: str
    goods: Bag
    parts: Bag
    materials: Bag
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Shop:
    """Everything a record of one shop may name. People map to the pronoun they take."""

    name: str
    departments: dict[str, Department]
    people: dict[str, str]
    recipients: Bag
    reasons: Bag
    places: Bag
    shelves: Bag

    def __post_init__(self) -> None:
        # looked up for every sentence, hence computed once
        where = {good: corner.name for corner in self.departments.values() for good in (corner.kind, *corner.goods)}
        object.__setattr__(self, "department_of", where)
        manner = (r for r in self.reasons if not r.startswith(("for ", "as ", "against ", "before the first")))
        object.__setattr__(self, "manners", Bag(manner))
        object.__setattr__(self, "names", Bag(self.people))
        object.__setattr__(self, "corners", Bag(self.departments))
        object.__setattr__(self, "kinds", {corner.kind: corner.name for corner in self.departments.values()})


def department(name: str, kind: str, goods: str, parts: str, materials: str, axes: str) -> Department:
    """A department from lists of words parted by commas, each from common to rare."""
    own = (*PART_AXES, "price", *Bag.of(axes))
    return Department(name, kind, Bag.of(goods), Bag.of(parts), Bag.of(materials), own)


def shop(
    name: str,
    departments: list[Department],
    women: str,
    men: str,
    recipients: str,
    reasons: str,
    places: str,
    shelves: str,
) -> Shop:
    """A shop from its departments and lists of words."""
    people: dict[str, str] = {}
    for woman, man in zip(Bag.of(women), Bag.of(men), strict=True):  # by turns, so that neither pronoun is the rarer
        people |= {_person(woman): "she", _person(man): "he"}
    corners = {corner.name: corner for corner in departments}
    return Shop(name, corners, people, Bag.of(recipients), Bag.of(reasons), Bag.of(places), Bag.of(shelves))


def _person(word: str) -> str:
    return word if word[0].isupper() else f"the {word}"
