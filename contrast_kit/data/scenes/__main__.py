"""`python -m contrast_kit.data.scenes --write data/scenes` makes the shipped files."""

import argparse
from pathlib import Path

from contrast_kit.data.scenes.tables import sample, sha256, tasks
from contrast_kit.data.toyshop.tables import tsv


def main() -> None:
    """Read the command line; write the samples and the hashes of all rows, or print some rows."""
    parser = argparse.ArgumentParser(
        prog="python -m contrast_kit.data.scenes",
        description="Language on drawn shelves.",
    )
    parser.add_argument(
        "--write",
        metavar="FOLDER",
        help="write a sample of each task, and the sha256 of all rows",
    )
    chosen = parser.parse_args()
    for task in tasks():
        if chosen.write:
            Path(chosen.write, f"{task}.tsv").write_bytes(tsv(sample(task)))
        else:
            print(tsv(sample(task, 5)).decode())
    if chosen.write:
        Path(chosen.write, "rows.sha256").write_text(sha256(), encoding="utf-8")


if __name__ == "__main__":
    main()
