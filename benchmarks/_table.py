"""A table on disk that grows run by run, so that a stopped benchmark continues where it was."""

import csv
from pathlib import Path


class Table:
    """A CSV that grows by one row at a time and knows which rows it has."""

    def __init__(self, path: Path, keys: tuple[str, ...]) -> None:
        self.path, self.keys, self.grew = path, keys, False
        self.rows = list(csv.DictReader(path.open(encoding="utf-8"))) if path.exists() else []

    def has(self, *key: object) -> bool:
        return any([row[k] for k in self.keys] == [str(part) for part in key] for row in self.rows)

    def add(self, row: dict) -> None:
        row = {k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in row.items()}
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)
        self.grew = True
        print(*row.values(), flush=True)
