"""Pages from the docstrings: one for each room of the kit."""

import ast
import functools
import importlib
import inspect
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import contrast_kit as ck

ROOT = Path(ck.__file__).parents[1]
ROOMS = {
    "contrast_kit": "the encoder, the training loop, the plan of a run",
    "contrast_kit.data": "text in, batches out",
    "contrast_kit.masking": "ids in, ids out: every kind of noise",
    "contrast_kit.losses": "every equation as a pure function",
    "contrast_kit.objectives": "one paper, one file",
    "contrast_kit.objectives.schedules": "temperatures and rates that move",
    "contrast_kit.vision": "words and pictures",
    "contrast_kit.geometry": "what training did to the space, in numbers",
    "contrast_kit.plots": "the same in pictures",
    "contrast_kit.explore": "panels to touch",
    "contrast_kit.data.paraphrase": "the same in other words",
    "contrast_kit.tasks": "what an encoder is good for",
    "contrast_kit.tasks.standard": "standard examinations of any saved encoder",
    "contrast_kit.data.papers": "the published settings and tables",
    "contrast_kit.exercises": "checks for the exercises of the notebooks",
    "contrast_kit.fast": "what is only for speed",
}
SECTION = re.compile(r"(Args|Returns|Raises|Yields|See also|Examples?|Attributes):")
LONGEST = 80
"""The most lines of source that a page folds in; longer source is only named."""


def write(folder: Path) -> None:
    """Write all pages, and the list of them."""
    folder.mkdir()
    for room in ROOMS:
        (folder / f"{short(room)}.md").write_text(page(room), encoding="utf-8")
    lines = [f"- [`{alias(room)}`]({short(room)}.md): {what}" for room, what in ROOMS.items()]
    contents = "\n".join(map(short, ROOMS))
    head = "# The library\n\nWhat `help()` says, from the docstrings; the source is folded in below each entry.\n\n"
    (folder / "index.md").write_text(
        head + "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{contents}\n```\n", encoding="utf-8"
    )


def short(room: str) -> str:
    return room.removeprefix("contrast_kit.")


def alias(room: str) -> str:
    return room.replace("contrast_kit", "ck", 1)


@functools.cache
def public(room: str) -> dict[str, Any]:
    """The public names of a room and what they are, without modules; after a method the settings it has."""
    module = importlib.import_module(room)
    # A room offers what its __init__ imports from the kit; a file, what it defines.
    own = "contrast_kit" if hasattr(module, "__path__") else room
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", own).startswith(own)
    ]
    found = {name: getattr(module, name) for name in names}
    for name in list(found):
        if "Config" in getattr(found[name], "__dict__", {}):
            found[f"{name}.Config"] = found[name].Config
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


@functools.cache
def typeset() -> dict[str, str]:
    """The equations of equations.toml by the function that computes them, each with its paper, as Markdown."""
    found: dict[str, str] = {}
    listed = tomllib.loads((ROOT / "docs" / "equations.toml").read_text("utf-8"))
    for given in listed["equation"] + listed["docstring"]:
        for name in given["code"]:
            found[name] = found.get(name, "") + f"\n\n*{given['paper']}*:\n\n$${given['latex']}$$\n"
    return found


@functools.cache
def places() -> dict[str, str]:
    """Names as a docstring writes them, `nt_xent` or `losses.nt_xent`, to their full names, if just one room has it."""
    full: dict[str, list[str]] = {}
    for room in ROOMS:
        for name in public(room):
            for written in {name, f"{short(room)}.{name}", f"{alias(room)}.{name}", f"{room}.{name}"}:
                full.setdefault(written, []).append(f"{room}.{name}")
    return {name: found[0] for name, found in full.items() if len(found) == 1}


def page(room: str) -> str:
    """A room's page in Markdown."""
    module = importlib.import_module(room)
    what = ROOMS[room]
    head = [f"# `{alias(room)}`: {what}", "", markdown(module.__doc__ or ""), ""]
    return "\n".join(head + [entry(f"{room}.{name}", value) for name, value in public(room).items()])


def entry(name: str, value: Any) -> str:
    """A function, class or constant with its signature, its docstring and its source."""
    if inspect.isclass(value):
        inside = [described(name, value), fields(value), methods(value), source(value)]
        return fence("py:class", name + signature(value), "\n\n".join(filter(None, inside)))
    if callable(value) and hasattr(value, "__name__"):
        said = f"{described(name, value)}\n\n{source(value)}"
        return fence("py:function", name + signature(value), said)
    shown = textwrap.shorten(repr(value), 300, placeholder=" …")
    return fence("py:data", name, f"```text\n{shown}\n```")


def described(name: str, value: Any) -> str:
    """The docstring with its equations set; what it writes in their place for `help()` is folded."""
    text = markdown(inspect.getdoc(value) or "")
    if name not in typeset():
        return text
    fold = "<details class='ck-source'><summary>as help() writes it</summary>\n\n{}\n\n</details>\n"
    first, _, rest = text.partition("\n\n")
    rest = re.sub(r"```text\n.*?```", lambda plain: fold.format(plain[0]), rest, flags=re.DOTALL)
    return f"{first}{typeset()[name]}\n{rest}"


def fence(directive: str, argument: str, body: str, ticks: int = 6) -> str:
    start = "" if body.startswith(":") else "\n"  # options stand right below
    return f"{'`' * ticks}{{{directive}}} {argument}\n{start}{body.strip()}\n{'`' * ticks}\n"


def signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "()"
    text = re.sub(r"<(?:function |class ')?([\w.]+)[^>]*>", r"\1", text)
    modules = r"\b(?:torch|typing|collections\.abc|contrast_kit(?:\.\w+)*|transformers(?:\.\w+)*)\.(?=\w)"
    return re.sub(modules, "", text)


def fields(value: type) -> str:
    """The fields of a class that have a docstring of their own, with their defaults."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    except (OSError, TypeError, SyntaxError):
        return ""
    lines = []
    for one, after in zip(tree.body, tree.body[1:], strict=False):
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if isinstance(one, ast.AnnAssign) and isinstance(said, str) and not ast.unparse(one.target).startswith("_"):
            default = f" = {ast.unparse(one.value)}" if one.value is not None else ""
            text = " ".join(inspect.cleandoc(said).split())
            lines.append(f"- `{ast.unparse(one.target)}{default}`: {inline(text)}")
    return "\n".join(["**Fields**", "", *lines]) if lines else ""


def methods(value: type) -> str:
    """The public methods and properties that the class itself defines and describes."""
    found = []
    for name, member in vars(value).items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        described = inspect.getdoc(plain) if inspect.isfunction(plain) or isinstance(plain, property) else None
        if name.startswith("_") or not described:
            continue
        kind = "py:property" if isinstance(plain, property) else "py:method"
        head = name if isinstance(plain, property) else name + signature(plain)
        options = ":classmethod:\n" if isinstance(member, classmethod) else ""
        found.append(fence(kind, head, f"{options}\n{markdown(described)}", ticks=5))
    return "\n".join(found)


def source(value: Any) -> str:
    """Where it stands, and what it says without its docstring, folded."""
    try:
        value = inspect.unwrap(value)
        lines, first = inspect.getsourcelines(value)
        path = Path(inspect.getsourcefile(value)).relative_to(ROOT)
    except (OSError, TypeError, ValueError):
        return ""
    if len(lines) > LONGEST:
        return f"`{path}`, line {first}"
    text = without_docstring(textwrap.dedent("".join(lines)))
    folded = f'<details class="ck-source"><summary>{path}, line {first}</summary>'
    return f"{folded}\n\n````{{code-block}} python\n{text.rstrip()}\n````\n\n</details>"


def without_docstring(text: str) -> str:
    node = ast.parse(text).body[0]
    if not getattr(node, "body", None) or ast.get_docstring(node) is None:
        return text
    lines, said = text.splitlines(), node.body[0]
    return "\n".join(lines[: said.lineno - 1] + lines[said.end_lineno :])


# -- docstrings, in the kit's own form, as Markdown --------------------------------------------------------------------


def markdown(text: str) -> str:
    """A docstring as Markdown: sections with a name in bold, equations and examples as code, names as links."""
    made, lines = [], inspect.cleandoc(text).splitlines()
    while lines:
        line = lines.pop(0)
        if SECTION.fullmatch(line.strip()) and not line.startswith(" "):
            block = taken(lines, lambda each: not each or each.startswith(" "))
            inside = textwrap.dedent("\n".join(block)).strip("\n")
            listed = line.split(":")[0] in ("Args", "Raises", "Attributes")
            made += ["", f"**{line.rstrip(':')}**", "", items(inside) if listed else markdown(inside), ""]
        elif line.lstrip().startswith(">>>"):
            block = [line, *taken(lines, lambda each: bool(each.strip()))]
            made += ["", "```python", textwrap.dedent("\n".join(block)), "```", ""]
        elif line.startswith("    ") and (not made or not made[-1].strip()):
            block = [line, *taken(lines, lambda each: not each or each.startswith("    "))]
            made += ["```text", textwrap.dedent("\n".join(block)).strip("\n"), "```", ""]
        else:
            if line.startswith(("* ", "- ")) and made and not made[-1].lstrip().startswith(("* ", "- ", "  ")):
                made.append("")
            made.append(inline(line))
    return "\n".join(made)


def taken(lines: list[str], wanted) -> list[str]:
    """Take lines from the front while they are wanted."""
    count = next((i for i, line in enumerate(lines) if not wanted(line)), len(lines))
    block, lines[:] = lines[:count], lines[count:]
    return block


def items(block: str) -> str:
    """`name: text` with lines below it, as a list."""
    found = []
    for line in block.splitlines():
        head = re.match(r"(\*{0,2}[\w.*, ]+?): (.*)", line)
        if line.startswith(" ") or not head:
            found.append(f"  {inline(line.strip())}")
        else:
            found.append(f"- `{head[1]}`: {inline(head[2])}")
    return "\n".join(found)


def inline(line: str) -> str:
    """A line of prose: what Markdown would read as its own is escaped, and names of the kit become links."""
    bullet = re.match(r"\s*[*-] ", line)
    start = bullet.end() if bullet else 0
    parts = re.split(r"(`[^`]+`)", line[start:])
    for i, part in enumerate(parts):
        if part.startswith("`") and part.endswith("`") and len(part) > 2:
            name = places().get(part[1:-1].rstrip("()"))
            parts[i] = f"{{py:obj}}`{part[1:-1]} <{name}>`" if name else part
        else:
            parts[i] = re.sub(r"([*<$\\])", r"\\\1", part)
    return line[:start] + "".join(parts)
