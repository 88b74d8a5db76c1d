"""The aim of each row, and whether it was reached: the aims were set before anything ran on a GPU.

An aim is a bound on one number of a row, or on its ratio to another row. Rows that are not contenders of ours have
none; G8 has none either: its curves are to be looked at. At sizes that only try the code nothing is judged.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Row = dict[str, object]
Find = Callable[[str, str], Row]


@dataclass(frozen=True)
class Aim:
    """`value(row, find)` of the rows of a part whose name matches is at least, or at most, a bound.

    `find(part, what)` gives another row, {} where there is none; a value that cannot be made is None.
    """

    part: str
    rows: str
    what: str
    value: Callable[[Row, Find], float | None]
    least: float | None = None
    most: float | None = None

    @property
    def words(self) -> str:
        return f"{self.what} {'≥' if self.most is None else '≤'} {self.least if self.most is None else self.most:g}"

    def met(self, value: float) -> bool:
        return value >= self.least if self.most is None else value <= self.most


def number(key: str) -> Callable[[Row, Find], float | None]:
    return lambda row, find: row.get(key)


def share(key: str, part: str, other: str, inverse: bool = False) -> Callable[[Row, Find], float | None]:
    """This row's number over another row's; inverse for numbers that should be small."""

    def value(row: Row, find: Find) -> float | None:
        mine, theirs = row.get(key), find(part, other).get(key)
        if not mine or not theirs:
            return None
        return theirs / mine if inverse else mine / theirs

    return value


def of_a_step(row: Row, find: Find) -> float | None:
    """Masking's share of the time of a masked-LM step on as many tokens, texts of 128 (G1)."""
    masked, trained = row.get("millions_a_second"), find("G1", "mlm, length 128").get("tokens_a_second")
    return trained / (1e6 * masked) if masked and trained else None


OURS = r"(mlm|electra|coco-lm|cmlm|capt|scl)(, fixed capacity|, compiled)?, length "
AIMS = (
    Aim("G1", OURS + "128", "MFU", number("mfu"), least=0.5),
    Aim("G1", OURS + "512", "MFU", number("mfu"), least=0.55),
    *(
        Aim("G1", f"mlm.*, length {n}", "times transformers", share("ms", "G1", f"transformers, length {n}", True), 2.5)
        for n in (128, 512)
    ),
    Aim("G1", "mlm.*, length 128", "times transformers compiled",
        share("ms", "G1", "transformers compiled, length 128", True), least=1.3),
    Aim("G2", "packed", "of dense", share("tokens_a_second", "G2", "dense"), least=0.93),
    Aim("G2", "packed", "times padded transformers", share("tokens_a_second", "G2", "transformers, padded"), least=4),
    Aim("G3", "ours.*", "MiB", number("mib"), most=1024),
    Aim("G4", "ours, products in bfloat16", "ms", number("ms"), most=30),
    Aim("G4", "ours, products in bfloat16", "MiB", number("mib"), most=1024),
    Aim("G5", "ours, products in bfloat16", "ms", number("ms"), most=2600),
    Aim("G6", ".*2 layers x 32", "waits", number("waits"), most=0),
    Aim("G6", "mlm, 2 layers x 32", "times transformers",
        share("steps_a_second", "G6", "transformers, 2 layers x 32"), least=8),
    Aim("G7", ".*", "million tokens a second", number("millions_a_second"), least=1000),
    Aim("G7", ".*", "of a step", of_a_step, most=0.01),
)  # fmt: skip


def judge(rows: list[Row], part: str) -> Iterator[str]:
    """Write the aims of a part into its rows, `row["aims"]`: what, value, met; and give one line for each."""

    def find(part: str, what: str) -> Row:
        return next((row for row in rows if (row["part"], row["what"]) == (part, what)), {})

    for row in rows:
        for aim in AIMS:
            if not aim.part == part == row["part"] or not re.fullmatch(aim.rows, row["what"]):
                continue
            value = aim.value(row, find)
            met = None if value is None else aim.met(value)
            told = "not known" if met is None else f"{value:.4g}, {'met' if met else 'not met'}"
            row.setdefault("aims", []).append({"aim": aim.words, "value": value, "met": met})
            yield f"{part}  {row['what']:<46} aim: {aim.words}: {told}"
