"""The kit from a terminal: `python -m contrast_kit lab`, `train`, `evaluate` and `check`."""

import importlib
import sys

COMMANDS = ("lab", "train", "evaluate", "check")
HELP = """usage: python -m contrast_kit COMMAND …

  lab       open the course in JupyterLab, in a copy that is yours
  train     train an encoder with one of the methods; continues where it was stopped
  evaluate  measure a saved encoder: GLUE probes, similarity, minimal pairs, geometry
  check     print what is installed, which device there is, and what a bug report needs

--version prints the version, and --help after a command tells more:

  python -m contrast_kit train --help
  python -m contrast_kit train coco-lm --help
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 after an error, 2 for unknown commands and options."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that lacks a letter does not end a long run.
            stream.reconfigure(errors="backslashreplace")
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if command in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0
    if command in ("-V", "--version", "version"):
        from contrast_kit import __version__

        print(f"contrast_kit {__version__}")
        return 0
    if command not in COMMANDS:
        from contrast_kit._util import meant

        print(
            f"There is no command {command!r}; {meant(command, COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    # Each is imported when it is asked for: `check` works on machines where nothing else can be imported.
    return importlib.import_module(f"contrast_kit.commands.{command}").main(rest)


if __name__ == "__main__":
    sys.exit(main())
