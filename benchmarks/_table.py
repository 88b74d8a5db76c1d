"""A table on disk that grows run by run, so that a stopped benchmark continues where it was."""

import csv
from pathlib import Path


class Table:
    """A CSV that grows by one row at a time and knows which rows it has."""

    def __init__(self, path: Path, keys: tuple[str, ...]) -> None:
        self.path, self.keys, self.grew = path, keys, False
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        known = csv.DictReader(lines)
        self.rows, self.columns = list(known), known.fieldnames

    def has(self, *key: object) -> bool:
        return any([row[k] for k in self.keys] == [str(part) for part in key] for row in self.rows)

    def add(self, row: dict) -> None:
        """Write a row under the columns that the table has: in its order, empty where the row lacks one."""
        row = {k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in row.items()}
        new = not self.columns
        self.columns = self.columns or list(row)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns, restval="", lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)
        self.grew = True
        print(*row.values(), flush=True)
