"""The aims of the rows, and whether they were reached.

An aim is a bound on one number of a row, or on its ratio to the same number of another row of that size. Only full
sizes are judged. Rows that are not contenders of ours have none.
"""

import re

# part, pattern of the row's name, number, "most" or "least", bound, row that it is set over
AIMS = (
    ("G1", "mlm, (as it is|compiled), length 128", "ms", "most", 58, None),
    ("G1", "mlm, (as it is|compiled), length 128", "mfu", "least", 0.39, None),
    ("G1", "mlm, compiled, length 128", "tokens_a_second", "least", 1.1, "transformers, compiled, length 128"),
    ("G2", "packed", "tokens_a_second", "least", 0.93, "dense"),
    ("G2", "packed", "tokens_a_second", "least", 1, "padded"),
    ("G3", "ours.*", "ms", "most", 60, None),
    ("G3", "ours.*", "mib", "most", 1024, None),
    ("G4", "ours, products in bfloat16", "ms", "most", 45, None),
    ("G4", "ours, products in TF32", "ms", "most", 100, None),
    ("G4", "ours, products in bfloat16", "mib", "most", 1024, None),
    ("G5", "ours, products in bfloat16", "ms", "most", 6000, None),
    ("G6", ".*, as it is, 2 layers x 32", "waits", "most", 0, None),
    ("G6", "mlm, as it is, 2 layers x 32", "steps_a_second", "least", 400, None),
    ("G6", "mlm, as it is, 2 layers x 32", "steps_a_second", "least", 3.7, "transformers, 2 layers x 32"),
    ("G7", ".*", "millions_a_second", "least", 1000, None),
)  # fmt: skip


def judge(rows: list[dict], size: str = "full") -> list[str]:
    """One line for each aim of each row: met, not met, or not known where a number is missing."""
    lines = []
    for part, pattern, key, way, bound, other in AIMS:
        for row in rows:
            if (row["part"], row["size"]) != (part, size) or not re.fullmatch(pattern, row["what"]):
                continue
            value, over = row.get(key), 1.0
            if other:
                same = [one for one in rows if (one["what"], one["size"]) == (other, size)]
                over = same[0].get(key) if same else None
            told = "not known"
            if value is not None and over:
                share = value / over
                met = share <= bound if way == "most" else share >= bound
                told = f"{share:.4g}, {'met' if met else 'NOT MET'}"
            sign = "≤" if way == "most" else "≥"
            of = f" of {other}" if other else ""
            lines.append(f"{part}  {row['what']:<50} {key}{of} {sign} {bound}: {told}")
    return lines
