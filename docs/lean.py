"""What keeps a page small: formulas as MathML, and only those icons and styles that it uses."""

import html
import re
import shutil
from pathlib import Path

PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
"""Names, brackets and blanks of code: they have the colour of the text."""
SIGN = re.compile(r'<(i|span) class="([^"]*\bfa(?:s|-solid) [^"]*)"([^>]*)></\1>')
RULES = re.compile(r"([^{}]+)\{((?:[^{}]|\{[^{}]*\})*)\}")


def formula(latex: str, display: bool = False) -> str:
    r"""LaTeX as MathML. ValueError: the converter has left a command as it was.

    >>> formula(r"\tau", False)
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow><mi>&#x003C4;</mi></mrow></math>'
    """
    from latex2mathml.converter import convert

    made = convert(latex.replace("{aligned}", "{align*}"), display="block" if display else "inline")
    if left := re.search(r"\\[A-Za-z]+", made):
        raise ValueError(f"{left[0]} in {latex!r} has no MathML.")
    letters = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')
    return letters.sub(lambda word: f"<mi>{re.sub('<[^>]*>', '', word[0])}</mi>", made)


def numbered(latex: str) -> str:
    r"""A formula on lines of its own, its \tag at the right."""
    tag = re.search(r"\\tag\{(.*?)\}", latex)
    body = formula(latex.replace(tag[0], "") if tag else latex, display=True)
    number = f'<span class="ck-tag">({html.escape(tag[1])})</span>' if tag else ""
    return f'<div class="math">{body}{number}</div>\n'


def without_ballast(folder: Path) -> None:
    """Icons into the pages in place of a library of 2,000, style sheets without the rules that no page uses, and the
    search only where one searches.
    """
    library = folder / "_static" / "scripts" / "fontawesome.js"
    drawings = drawn(library.read_text("utf-8"))
    words: set[str] = set()
    for path in folder.rglob("*.html"):
        text = path.read_text("utf-8")
        needless = "fontawesome" if path.name == "search.html" else "fontawesome|search(?:tools|index)|language_data"
        text = re.sub(rf"\n[^\n]*<script[^>]*(?:{needless})\.js[^>]*></script>", "", text)
        text = SIGN.sub(lambda sign: icon(sign[2], sign[3], drawings), text)
        path.write_text(PLAIN.sub(r"\1", text), encoding="utf-8")
        words |= set(re.findall(r"[\w-]+", text))
    shutil.rmtree(library.parent / "fontawesome", ignore_errors=True)
    library.unlink()
    for path in folder.rglob("_static/**/*.js"):
        words |= set(re.findall(r"[\w-]+", path.read_text("utf-8")))
    for path in folder.rglob("_static/**/*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        path.write_text(used(text, words), encoding="utf-8")


def drawn(library: str) -> dict[str, tuple[str, str, str]]:
    """The solid icons of Font Awesome by name: width, height and path."""
    entry = re.compile(r'"?([a-z][\w-]*)"?: ?\[(\d+), ?(\d+), ?\[[^\]]*\], ?"\w+", ?"([^"]+)"\]')
    return {name: (width, height, path) for name, width, height, path in entry.findall(library)}


def icon(classes: str, attributes: str, drawings: dict[str, tuple[str, str, str]]) -> str:
    """`<i class="fa-solid fa-bars">` as the drawing itself."""
    name = next(name[3:] for name in classes.split() if name[3:] in drawings)
    width, height, path = drawings[name]
    return (
        f'<svg class="svg-inline--fa {classes}"{attributes} viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<path fill="currentColor" d="{path}"/></svg>'
    )


def used(css: str, words: set[str]) -> str:
    """The rules of which some selector names no class that occurs nowhere; rules inside @media and the like too."""
    statement = re.compile(r"@(?:import|charset)[^;{]*;")
    kept = statement.findall(css)
    for head, body in RULES.findall(statement.sub("", css)):
        if "@font-face" in head and "Awesome" in body:
            continue
        if head.strip().startswith(("@media", "@supports", "@layer")):
            if inside := used(body, words):
                kept.append(f"{head.strip()}{{{inside}}}")
        elif head.strip().startswith("@") or any(wanted(each, words) for each in head.split(",")):
            kept.append(f"{head.strip()}{{{body.strip()}}}")
    return "\n".join(kept)


def wanted(selector: str, words: set[str]) -> bool:
    return set(re.findall(r"[.#]([A-Za-z_][\w-]*)", selector)) <= words
