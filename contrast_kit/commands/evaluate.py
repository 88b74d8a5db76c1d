"""`python -m contrast_kit evaluate FOLDER`: one table for any saved encoder."""

import os
import sys
from pathlib import Path

from contrast_kit.commands.options import add_table, parser_of
from contrast_kit.tasks import standard
from contrast_kit.tasks.standard.report import PARTS

EXAMPLES = """examples:

  on tasks that are made here, on any machine:
    python -m contrast_kit evaluate runs/cmlm

  on real files: GLUE's folders (or glue_data), and blimp with BLiMP's 67 files:
    python -m contrast_kit evaluate roberta-base --data my_data --out runs/roberta --limit 5000 --pairs 200

Whatever the folder holds of these is measured. The table is printed, and written as evaluation.csv.
"""


def main(arguments: list[str]) -> int:
    """Measure as the arguments say; 0, or 1 with one sentence on stderr."""
    what = "Measure a saved encoder: GLUE probes, similarity, minimal pairs, geometry, beside random weights."
    parser = parser_of("evaluate", description=what, epilog=EXAMPLES)
    add_table(parser, "evaluate")
    words = "Parts to measure. Here: all."
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), help=words
    )
    options = parser.parse_args(arguments)
    folder = Path(options.folder)
    name = options.folder
    if (folder / "encoder").is_dir():  # what `train` wrote
        name = folder / "encoder"
    try:
        table = standard.evaluate(
            name,
            options.data or os.environ.get("CONTRAST_KIT_REAL_DATA"),
            parts=options.only,
            limit=options.limit or None,
            pairs=options.pairs or None,
            pooling=options.pooling,
            progress=not options.quiet,
        )
        home = options.out or (folder if folder.is_dir() else Path())
        home.mkdir(parents=True, exist_ok=True)
        table.to_csv(home / "evaluation.csv", index=False)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    shown = table.to_string(index=False, float_format="%.2f", na_rep="–")
    print(f"\n{shown}\n\nThe table is in {home / 'evaluation.csv'}.")
    return 0
