"""Command-line options made from dataclasses: each field an option, its docstring the help.

Argparse does the parsing. transformers' HfArgumentParser cannot carry these configs: it splits tuples into characters,
refuses `none` for optional numbers and CAPT's `tau: float | Literal["adaptive"]`, and reads no docstrings.
"""

import argparse
import ast
import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from contrast_kit._util import meant

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CONSTANTS = {"yes": True, "true": True, "no": False, "false": False, "none": None}


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that takes options from `options.toml` and asks which option was meant."""

    def __init__(self, command: str, **how: Any) -> None:
        look = argparse.RawDescriptionHelpFormatter
        program = f"python -m contrast_kit {command}"
        super().__init__(program, formatter_class=look, allow_abbrev=False, **how)
        self.register("type", "int", int)
        self.register("type", "path", Path)
        self.register("action", "yes or no", argparse.BooleanOptionalAction)

    def add_table(self, name: str, group: Any = None, **words: Any) -> None:
        """Add the options of a table to a group, or to the parser itself."""
        for flag, option in TABLES[name].items():
            text = option["help"].format(**words)
            (group or self).add_argument(flag, **option | {"help": text})

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            known = set(re.findall(r"--[a-z][\w-]*", self.format_help()))
            hint = meant(unknown[0].split("=")[0], known)
            self.error(f"unrecognized arguments: {' '.join(unknown)}; {hint}")
        return options


def field_docs(cls: type) -> dict[str, str]:
    """The docstring below each field of a dataclass, its parents' fields included.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.commands.options import field_docs
        >>> field_docs(ck.Training)["chunk_size"][:42]
        'Examples encoded at once: as small as memo'
    """
    docs: dict[str, str] = {}
    for parent in filter(dataclasses.is_dataclass, reversed(cls.__mro__)):
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
        for field, text in zip(body, body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return docs


def add_fields(
    group: Any, cls: type, defaults: Mapping[str, Any], leave_out: Sequence[str] = ()
) -> None:
    """Add an option for each field of a dataclass to a group; an option that is not given is not in the result.

    `defaults` are shown in the help where they differ from the fields' own; fields in `leave_out` get no option.
    """
    docs, hints, made = field_docs(cls), get_type_hints(cls), cls()
    for field in dataclasses.fields(cls):
        if field.name in leave_out:
            continue
        default = defaults.get(field.name, getattr(made, field.name))
        names = names_in(hints[field.name])
        words = "yes|no" if isinstance(default, bool) else "VALUE"
        group.add_argument(
            "--" + field.name.replace("_", "-"),
            default=argparse.SUPPRESS,
            metavar="|".join(map(str, names)) or words,
            type=partial(parse_value, names=names),
            help=f"{docs.get(field.name, '')} Here: {default!r}.".strip().replace(
                "%", "%%"
            ),
        )


def names_in(hint: Any) -> list[Any]:
    """The names that a `Literal` in an annotation allows."""
    literals = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
    return [name for literal in literals for name in get_args(literal)]


def parse_value(text: str, names: Sequence[str] = ()) -> Any:
    """The value of an option: one of `names`, a number, yes or no, none, a tuple with commas, or the text itself.

    Example:
        >>> from contrast_kit.commands.options import parse_value
        >>> parse_value("1e-3"), parse_value("no"), parse_value("0.8,0.1,0.1"), parse_value("nt_xent")
        (0.001, False, (0.8, 0.1, 0.1), 'nt_xent')
    """
    if text in names:
        return text
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | tuple) else text
