"""`python -m contrast_kit bench …`: run the benchmarks of a checkout."""

import subprocess
import sys
from pathlib import Path

import contrast_kit


def main(arguments: list[str]) -> int:
    """Hand the arguments to `benchmarks/` and return its exit status; 1 with a sentence where there is none."""
    folder = find()
    if folder is None:
        print(
            "The benchmarks are not part of the installed package: get a checkout of the project and run this in it.",
            file=sys.stderr,
        )
        return 1
    return subprocess.run([sys.executable, str(folder), *arguments], check=False).returncode


def find() -> Path | None:
    """The folder `benchmarks` here, or beside the package; None where neither is one that can be run."""
    beside = Path(contrast_kit.__file__).resolve().parent.parent
    for place in (Path.cwd(), beside):
        if (place / "benchmarks" / "__main__.py").is_file():
            return place / "benchmarks"
    return None
