"""`python -m contrast_kit evaluate FOLDER`: one table for any saved encoder, and a section for its model card."""

import argparse
import os
import sys
from pathlib import Path

from contrast_kit.commands.options import Parser
from contrast_kit.tasks import standard
from contrast_kit.tasks.standard.report import PARTS

EXAMPLES = """examples:

  on tasks that are made here, on any machine:
    python -m contrast_kit evaluate runs/cmlm

  on real files: GLUE's folders (or glue_data), SentEval's STS, and blimp with BLiMP's 67 files:
    python -m contrast_kit evaluate roberta-base --data my_data --out runs/roberta --limit 5000 --pairs 200

Whatever the folder holds of these is measured. The table is printed, and written as evaluation.csv and evaluation.md.
"""


def main(arguments: list[str]) -> int:
    """Measure as the arguments say; 0, or 1 with one sentence on stderr."""
    options = _parser().parse_args(arguments)
    folder = Path(options.folder)
    name = options.folder
    if (folder / "encoder").is_dir():  # what `train` wrote
        name = folder / "encoder"
    try:
        report = standard.evaluate(
            name,
            options.data or os.environ.get("CONTRAST_KIT_REAL_DATA"),
            parts=options.only,
            limit=options.limit or None,
            pairs=options.pairs or None,
            pooling=options.pooling,
            progress=not options.quiet,
        )
        table, card = report.write(options.out or (folder if folder.is_dir() else "."))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\n{report}\n\nThe table is in {table}, and the section for a model card in {card}.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m contrast_kit evaluate",
        description="Measure a saved encoder: GLUE probes, similarity, minimal pairs, geometry, beside random weights.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    data = "Folder with GLUE, STS and BLiMP. Here: the one that CONTRAST_KIT_REAL_DATA names, else the toyshop's tasks."
    add(
        "folder",
        metavar="FOLDER",
        help="What `train` wrote, any folder with a masked language model, or a hub name.",
    )
    add("--data", help=data)
    add(
        "--out",
        type=Path,
        help="Where to write the table. Here: FOLDER itself; for a hub name, this folder.",
    )
    add(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), help="Parts to measure. Here: all."
    )
    add(
        "--limit",
        type=int,
        default=2_000,
        help="Rows of each split for a probe; 0 takes all. Here: 2000.",
    )
    add(
        "--pairs",
        type=int,
        default=50,
        help="Pairs of each phenomenon of BLiMP; 0 takes all. Here: 50.",
    )
    add(
        "--pooling",
        choices=("first", "mean"),
        help="The vector of a text. Here: what FOLDER says, else first.",
    )
    add("--quiet", action="store_true", help="Do not say what is being measured.")
    return parser
