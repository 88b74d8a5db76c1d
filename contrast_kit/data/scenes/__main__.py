"""`python -m contrast_kit.data.scenes --write data/scenes` makes the shipped files."""

import argparse
from pathlib import Path

from contrast_kit.data.scenes.tables import sample, sha256, tasks
from contrast_kit.data.toyshop.tables import tsv


def main() -> None:
    """Read the command line; write a sample of each task, and the sha256 of all rows."""
    parser = argparse.ArgumentParser(prog="python -m contrast_kit.data.scenes")
    parser.add_argument(
        "--write", metavar="FOLDER", required=True, help="where the files go"
    )
    folder = Path(parser.parse_args().write)
    for task in tasks():
        (folder / f"{task}.tsv").write_bytes(tsv(sample(task)))
    (folder / "rows.sha256").write_text(sha256(), encoding="utf-8")


if __name__ == "__main__":
    main()
