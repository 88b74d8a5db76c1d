"""Mistakes made on purpose, to see that a test notices each: `python tests/mutants.py [word …]`.

A mutant is one line of the kit with a likely mistake in it: `table_of_mutants.py` has them, each with the test that
should fail. The kit and its tests are copied to a temporary folder; there one mutant at a time is put in place of the
right line, its test is run, and the line is put back. *Killed* is good: the test failed. A mutant that survived is a
mistake that nobody would notice, so write the test that kills it. pytest does not collect this file; words choose
mutants.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from table_of_mutants import MUTANTS

ROOT = Path(__file__).resolve().parent.parent


def copied(folder: Path) -> Path:
    """The repository in another folder, without what git, the environment and runs left in it."""
    out = shutil.ignore_patterns(
        ".*", "__pycache__", "notebooks", "runs", "site", "*.egg-info"
    )
    return Path(shutil.copytree(ROOT, folder / "copy", ignore=out))


def outcome(copy: Path, test: str) -> int:
    """What pytest returns for the tests of a file with these words in their names: 0 if they pass, 1 if one fails."""
    file, names = test.split(": ")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-qx",
        "-p",
        "no:cacheprovider",
        f"tests/test_{file}.py",
        "-k",
        names,
    ]
    return subprocess.run(
        command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True
    ).returncode


def fate(copy: Path, file: str, right: str, mistake: str, test: str) -> str:
    """What becomes of one mutant."""
    place = copy / "contrast_kit" / file
    before = place.read_text()
    if right not in before:
        return "NOT THERE: the line has changed"
    place.write_text(before.replace(right, mistake))
    try:
        returned = outcome(copy, test)
    finally:
        place.write_text(before)
    return {0: "SURVIVED", 1: "killed"}.get(
        returned, f"NO TEST: pytest returned {returned}"
    )


def main() -> None:
    chosen = [
        mutant for mutant in MUTANTS if all(word in mutant[0] for word in sys.argv[1:])
    ]
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        for test in dict.fromkeys(mutant[-1] for mutant in chosen):
            if returned := outcome(copy, test):
                sys.exit(
                    f"Without a mutant, {test} does not pass: pytest returned {returned}."
                )
        for what, *mutant in chosen:
            print(f"{what:<24} {fate(copy, *mutant)}", flush=True)


if __name__ == "__main__":
    main()
