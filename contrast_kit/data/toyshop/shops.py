"""The two shops: departments with goods, people who come in, places where things happen."""

from typing import Any

from contrast_kit.data.toyshop.words import WORDS, read

PURPOSES = ("for ", "as ", "against ", "before the first")


class Shop:
    """Everything a record of one shop may name, read from `<name>.toml`. People map to the pronoun they take.

    A department is a dict: its `name`; its `kind`, the noun that covers all its goods (a drum is a musical toy); and
    for each field of a record what it may say of these goods.
    """

    def __init__(self, name: str) -> None:
        table = read(f"{name}.toml")
        self.name = name
        self.people: dict[str, str] = table["people"]
        self.values = WORDS.values | table["values"]
        self.values |= {"who": list(self.people), "action": list(WORDS.actions)}
        reasons = self.values["reason"]
        self.values["manner"] = [reason for reason in reasons if not reason.startswith(PURPOSES)]
        self.departments: list[dict[str, Any]] = []
        for row in table["departments"]:
            row["axis"] = [*WORDS.part_axes, "price", *row["axis"]]
            self.departments.append(self.values | row)


SHOPS = {name: Shop(name) for name in ("toyshop", "othershop")}
TOYSHOP, OTHERSHOP = SHOPS.values()
PRONOUN = TOYSHOP.people | OTHERSHOP.people
CORNER = {
    good: corner
    for shop in SHOPS.values()
    for corner in shop.departments
    for good in (corner["kind"], *corner["good"])
}
"""A good of either shop, or a kind of goods → its department; the shops have no good in common."""
KIND = {good: corner["kind"] for good, corner in CORNER.items()}
