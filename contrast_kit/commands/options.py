"""Command-line options made from dataclasses: each field an option, its docstring the help."""

import argparse
import ast
import dataclasses
import inspect
import textwrap
from typing import Any


def field_docs(cls: type) -> dict[str, str]:
    """What stands below each field of a dataclass, its parents' fields included.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.commands.options import field_docs
        >>> field_docs(ck.Training)["chunk_size"][:42]
        'Examples encoded at once: as small as memo'
    """
    docs: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(parent):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
        for field, text in zip(body, body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return docs


def add_fields(group: Any, cls: type, defaults: dict[str, Any], leave_out: tuple[str, ...] = ()) -> None:
    """Add an option for each field of a dataclass; what is not given does not appear in the result.

    Args:
        group: an argparse parser or group.
        cls: the dataclass.
        defaults: what to name as default in the help, where it differs from the field's own.
        leave_out: fields without an option.
    """
    docs = field_docs(cls)
    for field in dataclasses.fields(cls):
        if field.name in leave_out or not field.init:
            continue
        default = defaults.get(field.name, field.default)
        words = f"{docs.get(field.name, '')} Here: {default!r}.".strip()
        group.add_argument(
            "--" + field.name.replace("_", "-"),
            dest=field.name,
            default=argparse.SUPPRESS,
            metavar=_metavar(default),
            type=value,
            help=words.replace("%", "%%"),
        )


def value(text: str) -> Any:
    """What a word of the command line means: a number, yes or no, none, several values with commas, or itself.

    Example:
        >>> from contrast_kit.commands.options import value
        >>> value("1e-3"), value("no"), value("0.8,0.1,0.1"), value("nt_xent"), value("none")
        (0.001, False, (0.8, 0.1, 0.1), 'nt_xent', None)
    """
    known = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if text.lower() in known:
        return known[text.lower()]
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, int | float | tuple) else text


def _metavar(default: Any) -> str:
    if isinstance(default, bool):
        return "yes|no"
    kinds = {int: "N", float: "X", tuple: "X,X", str: "NAME"}
    return kinds.get(type(default), "VALUE")
