"""Command-line options made from dataclasses: each field an option, its docstring the help.

Argparse does the parsing. transformers' HfArgumentParser cannot carry these configs: it splits tuples into characters,
refuses `none` for optional numbers and CAPT's `tau: float | Literal["adaptive"]`, and reads no docstrings. tyro reads
them and carries all but CAPT's `noise`, but spells yes-or-no options and tuples differently and brings four packages.
"""

import argparse
import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from contrast_kit._names import meant

CONSTANTS = {"yes": True, "true": True, "no": False, "false": False, "none": None}


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that asks which option was meant."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            hint = meant(unknown[0].split("=")[0], set(re.findall(r"--[a-z][\w-]*", self.format_help())))
            near = f"; {hint}" if hint.startswith("did") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """The `type` of an option that takes one of some names: as argparse's `choices`, but asks which was meant."""

    def known(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is none of its values; {meant(text, names)}")
        return text

    return known


def no_file(text: str) -> Path:
    """The `type` of an option that names a folder, there or not."""
    if Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text} is a file, so it can hold no others: name a folder")
    return Path(text)


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
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
        except (OSError, TypeError):  # made by make_dataclass, or typed in: it has no source
            continue
        for field, text in zip(body, body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return docs


def add_fields(group: Any, cls: type, defaults: dict[str, Any], leave_out: tuple[str, ...] = ()) -> None:
    """Add an option for each field of a dataclass to a group; an option that is not given is not in the result.

    `defaults` are shown in the help where they differ from the fields' own; fields in `leave_out` get no option. One
    that has no default must be given.
    """
    docs, hints = field_docs(cls), {}
    with suppress(NameError):  # of a name that is imported for type checkers only
        hints = get_type_hints(cls)  # annotations that are text, as under `from __future__ import annotations`, read
    for field in dataclasses.fields(cls):
        if field.name in leave_out or not field.init:
            continue
        made = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        default = defaults.get(field.name, made)
        needed = default is dataclasses.MISSING
        hint = hints.get(field.name, field.type)
        literals = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
        names = [name for literal in literals for name in get_args(literal)]
        told = "It must be given." if needed else f"Here: {default!r}."
        group.add_argument(
            "--" + field.name.replace("_", "-"),
            default=argparse.SUPPRESS,
            required=needed,
            metavar="yes|no" if isinstance(default, bool) else "|".join(map(str, names)) or "VALUE",
            type=partial(parse_value, names=names, kinds=get_args(hint) or (hint,)),
            help=f"{docs.get(field.name, '')} {told}".strip().replace("%", "%%"),
        )
    for old, new in getattr(cls, "former_fields", {}).items():
        if old not in docs:
            option = "--" + old.replace("_", "-")
            group.add_argument(option, dest=new, default=argparse.SUPPRESS, type=parse_value, help=argparse.SUPPRESS)


def parse_value(text: str, names: Sequence[str] = (), kinds: Collection[Any] = ()) -> Any:
    """The value of an option: one of `names`, a number, yes or no, none, a tuple with commas, or the text itself.

    Where `kinds`, the field's types, are text alone (and None), "no" and "12" are texts: a language, say.

    Example:
        >>> from contrast_kit.commands.options import parse_value
        >>> parse_value("1e-3"), parse_value("no"), parse_value("0.8,0.1,0.1"), parse_value("nt_xent")
        (0.001, False, (0.8, 0.1, 0.1), 'nt_xent')
    """
    if text in names or set(kinds) == {str}:
        return text
    if set(kinds) == {str, NoneType}:
        return None if text.lower() == "none" else text
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, int | float | tuple) else text
