"""`python -m contrast_kit bench NAME …`: run a benchmark of a checkout."""

import ast
import subprocess
import sys
from pathlib import Path

import contrast_kit
from contrast_kit._names import meant

HELP = """usage: python -m contrast_kit bench NAME [options]

Each benchmark runs this kit and other libraries side by side on this machine and prints ratios: a time alone says
little. bench NAME --help lists its options; benchmarks/README.md has recorded results and their commands.
"""


def main(arguments: list[str]) -> int:
    """Run the named benchmark and return its exit status; 1 without a checkout, 2 for an unknown name."""
    folder = find_folder()
    if folder is None:
        sentence = (
            "The benchmarks are not part of the installed package: get a checkout of the project and run this in it."
        )
        print(sentence, file=sys.stderr)
        return 1
    scripts = benchmarks(folder)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP)
        for name, script in scripts.items():
            print(f"  {name:<14} {_first_line(script)}")
        return 0
    name, *rest = arguments
    if name not in scripts:
        print(f"There is no benchmark {name!r}; {meant(name, scripts)}", file=sys.stderr)
        return 2
    return subprocess.run([sys.executable, str(scripts[name]), *rest], check=False).returncode


def find_folder() -> Path | None:
    """The folder `benchmarks` of the checkout in which the package, or the working directory, lies; None without one.

    A folder of that name in another project does not count.
    """
    beside = Path(contrast_kit.__file__).resolve().parent.parent
    for place in (beside, Path.cwd()):
        if (place / "contrast_kit").is_dir() and (place / "benchmarks" / "_origin.py").is_file():
            return place / "benchmarks"
    return None


def benchmarks(folder: Path) -> dict[str, Path]:
    """The benchmarks in a folder by name: scripts, and folders with a `__main__.py`."""
    scripts = {file.stem: file for file in folder.glob("*.py") if not file.name.startswith("_")}
    rooms = {file.parent.name: file.parent for file in folder.glob("*/__main__.py")}
    return dict(sorted((scripts | rooms).items()))


def _first_line(script: Path) -> str:
    """The first line of its docstring."""
    file = script / "__main__.py" if script.is_dir() else script
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n")[0]
