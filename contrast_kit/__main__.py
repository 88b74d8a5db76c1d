"""The kit without a notebook: `python -m contrast_kit train`, `evaluate`, `bench` and `check`."""

import sys

HELP = """usage: python -m contrast_kit COMMAND …

  train     train an encoder with one of the methods; continues where it was stopped
  evaluate  measure a saved encoder: GLUE probes, similarity, minimal pairs, geometry
  bench     measure losses, steps and whole methods beside other libraries, on this machine
  check     print what is installed, which device there is, and what a bug report needs

--help after a command tells more:

  python -m contrast_kit train --help
  python -m contrast_kit train coco-lm --help
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 after an error, 2 for unknown commands and options."""
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if command in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0
    if command == "check":  # works on machines where nothing else can be imported
        from contrast_kit.commands import check

        return check.main()
    if command == "train":
        from contrast_kit.commands import train

        return train.main(rest)
    if command == "evaluate":
        from contrast_kit.commands import evaluate

        return evaluate.main(rest)
    if command == "bench":
        from contrast_kit.commands import bench

        return bench.main(rest)
    print(f"There is no command {command!r}; there are train, evaluate, bench and check.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
