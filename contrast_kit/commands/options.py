"""Command-line options made from dataclasses: each field an option, its docstring the help.

Argparse does the parsing. transformers' HfArgumentParser cannot carry these configs: it splits tuples into characters,
refuses `None` for optional numbers and CAPT's `tau: float | Literal["adaptive"]`, and reads no docstrings.
"""

import argparse
import ast
import dataclasses
import inspect
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_FIELD = re.compile(
    r'^    (\w+): .+(?:\n    [ \])].*)*\n    """([\s\S]*?)"""', re.MULTILINE
)


def parser_of(command: str, **how: Any) -> argparse.ArgumentParser:
    """An `ArgumentParser` whose options may come from `options.toml`."""
    look = argparse.RawDescriptionHelpFormatter
    program = f"python -m contrast_kit {command}"
    parser = argparse.ArgumentParser(
        program, formatter_class=look, allow_abbrev=False, **how
    )
    parser.register("type", "int", int)
    parser.register("type", "path", Path)
    return parser


def add_table(group: Any, name: str) -> None:
    """Add the options of a table to a parser, or to a group of its options."""
    for flag, option in TABLES[name].items():
        group.add_argument(flag, **option)


def field_docs(cls: type) -> dict[str, str]:
    """The docstring below each field of a dataclass, its parents' fields included.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.commands.options import field_docs
        >>> field_docs(ck.Training)["chunk_size"][:42]
        'Examples encoded at once: as small as memo'
    """
    parents = filter(dataclasses.is_dataclass, reversed(cls.__mro__))
    sources = "".join(map(inspect.getsource, parents))
    return {name: " ".join(text.split()) for name, text in _FIELD.findall(sources)}


def add_fields(group: Any, cls: type, defaults: Mapping[str, Any]) -> None:
    """Add an option for each field of a dataclass to a group; an option that is not given is not in the result.

    `defaults` are shown in the help where they differ from the fields' own.
    """
    docs, made = field_docs(cls), cls()
    for field in dataclasses.fields(cls):
        default = defaults.get(field.name, getattr(made, field.name))
        text = f"{docs.get(field.name, '')} Here: {default!r}.".strip()
        group.add_argument(
            "--" + field.name.replace("_", "-"),
            default=argparse.SUPPRESS,
            metavar="VALUE",
            type=parse_value,
            help=text.replace("%", "%%"),
        )


def parse_value(text: str) -> Any:
    """The value of an option, written as in Python; what is none there is a name, such as `nt_xent`.

    Example:
        >>> from contrast_kit.commands.options import parse_value
        >>> parse_value("1e-3"), parse_value("False"), parse_value("0.8,0.1,0.1"), parse_value("nt_xent")
        (0.001, False, (0.8, 0.1, 0.1), 'nt_xent')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
