"""`python -m contrast_kit.data.toyshop --write data/toyshop` makes the shipped files."""

import argparse

from contrast_kit.data.toyshop.tables import write


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(prog="python -m contrast_kit.data.toyshop")
    parser.add_argument(
        "--write", metavar="FOLDER", required=True, help="where the files go"
    )
    print(f"{write(parser.parse_args().write) / 1e6:.2f} MB written")


if __name__ == "__main__":
    main()
