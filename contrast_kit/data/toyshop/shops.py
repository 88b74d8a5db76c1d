"""The two shops: departments with goods, people who come in, places where things happen."""

from __future__ import annotations

from dataclasses import dataclass

from contrast_kit.data.toyshop.words import (
    ACTION_BAG,
    COLOURS,
    DAYS,
    HOURS,
    NUMBERS,
    PART_AXES,
    PRICES,
    SIZES,
    Bag,
    read,
)


@dataclass(frozen=True)
class Department:
    """One corner of a shop. `kind` is the noun that covers all its goods: a drum is a musical toy."""

    name: str
    kind: str
    goods: Bag
    parts: Bag
    materials: Bag
    axes: tuple[str, ...]


class Shop:
    """Everything a record of one shop may name, read from `<name>.toml`. People map to the pronoun they take."""

    def __init__(self, name: str) -> None:
        table = read(f"{name}.toml")
        self.name = name
        self.departments: dict[str, Department] = {}
        self.department_of: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        for row in table["departments"]:
            bags = {field: Bag(row[field]) for field in ("goods", "parts", "materials")}
            axes = (*PART_AXES, "price", *row["axes"])
            corner = Department(row["name"], row["kind"], axes=axes, **bags)
            self.departments[corner.name] = corner
            self.department_of |= dict.fromkeys((corner.kind, *corner.goods), corner.name)
            self.kinds[corner.kind] = corner.name
        self.people: dict[str, str] = {}
        for woman, man in zip(
            table["women"], table["men"], strict=True
        ):  # by turns, so that neither is the rarer
            self.people |= {_person(woman): "she", _person(man): "he"}
        self.corners = Bag(self.departments)
        self.names = Bag(self.people)
        self.recipients = Bag(table["recipients"])
        self.reasons = Bag(table["reasons"])
        self.places = Bag(table["places"])
        self.shelves = Bag(table["shelves"])
        purposes = ("for ", "as ", "against ", "before the first")
        self.manners = Bag(reason for reason in self.reasons if not reason.startswith(purposes))
        self.values = {
            "who": self.names,
            "recipient": self.recipients,
            "reason": self.reasons,
            "place": self.places,
            "shelf": self.shelves,
            "number": NUMBERS,
            "price": PRICES,
            "size": SIZES,
            "colour": COLOURS,
            "day": DAYS,
            "hour": HOURS,
            "action": ACTION_BAG,
        }
        """What each field of a record may say, but for those that depend on the goods."""

    def corner(self, good: str) -> Department:
        """The department that has a good."""
        return self.departments[self.department_of[good]]


def _person(word: str) -> str:
    if word[0].isupper():
        return word
    return f"the {word}"


TOYSHOP, OTHERSHOP = Shop("toyshop"), Shop("othershop")
SHOPS = {shop.name: shop for shop in (TOYSHOP, OTHERSHOP)}


def home(good: str) -> Shop:
    """The shop that has a good, or a kind of goods; they have none in common.

    >>> home("kite").name, home("gnome").name
    ('toyshop', 'othershop')
    """
    if good in OTHERSHOP.department_of:
        return OTHERSHOP
    return TOYSHOP
