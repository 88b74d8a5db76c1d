"""`python -m contrast_kit.data.toyshop --write data/toyshop` makes the shipped files."""

import argparse

from contrast_kit.data.toyshop import corpus
from contrast_kit.data.toyshop.tables import write


def main() -> None:
    """Read the command line; write the files, or print some sentences."""
    parser = argparse.ArgumentParser(
        prog="python -m contrast_kit.data.toyshop",
        description="The toyshop's text.",
    )
    parser.add_argument("--write", metavar="FOLDER", help="write all shipped files under FOLDER")
    parser.add_argument(
        "--show",
        metavar="N",
        type=int,
        default=10,
        help="print N sentences of the corpus (10)",
    )
    chosen = parser.parse_args()
    if chosen.write:
        print(f"{write(chosen.write) / 1e6:.2f} MB written under {chosen.write}")
    else:
        print(*corpus(chosen.show), sep="\n")


if __name__ == "__main__":
    main()
