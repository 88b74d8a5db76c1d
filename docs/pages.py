"""The pages around the notebooks: the front, the index of equations, the panels, what was recorded and measured."""

import base64
import csv
import functools
import html
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import api
import course as stored
import type_model

from contrast_kit.explore import _page

DOCS = Path(__file__).resolve().parent
LONGEST = 20
"""Rows of a recorded table that a page shows; the whole table can be downloaded."""
EQUATIONS = """# Equation, code, test, picture

Each equation of the four papers (but CMLM's eq. 5, which only names the encoder's states) and a few of others: the
function that computes it, the test that shows that it does, and a picture of what it does. Where a paper prints another
form of it, that is said.
"""
PANELS_HEAD = """# Panels

They compute in this page, without Python and without a network; what JavaScript computes here is tested to be what
Python computes in the notebooks. Each can be had as a single file for a lecture.
"""
LEDGER = """# Ledger: what the papers claim, and what became of it

A tile is one test of one claim of a paper; its colour is the verdict. Choose a paper or a verdict; touch a tile to see
its interval beside zero and beside the lead that the paper prints.
"""
RECORDED = """# The recorded tables

Those that the course shows, each with the command that measured it. Where a table grew over several sittings, the
commit is that of its last rows, and the options of later sittings are not in the command.
"""
PANELS = {
    "loss_playground": "Vectors on a circle, and what a loss does with them",
    "mask_explorer": "A sentence in two masked views",
    "temperature_and_queue": "Who pushes, at which temperature",
    "embedding_map": "A map of sentences",
    "live_training": "A training run",
    "two_networks": "COCO-LM's two networks",
}


def write(course: dict[str, Any], root: Path, source: Path) -> None:
    """Every page but notebooks and API."""
    written = {
        "index": front(course, root, source),
        "type": typed(),
        **{name: glossary(root, name) for name in ("three_ways", "for_lecturers", "glossary")},
        "faq": faq(root),
        "equations": equations(course, root, source),
        "panels": panels(course, source),
        "ledger": ledger(root / "data" / "recorded"),
        "recorded": recorded(root / "data" / "recorded", source),
        "benchmarks": benchmarks(root),
    }
    for name, text in written.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")


def glossary(root: Path, name: str = "glossary") -> str:
    """A page of the course that is no notebook: here notebooks are one folder lower, and names of the kit lead to their
    pages."""
    text = (root / "notebooks" / f"{name}.md").read_text("utf-8")
    text = re.sub(r"\(#[\w-]+\)", lambda link: link[0].lower(), text)
    text = re.sub(r"`ck\.([\w.]+)`", r"{py:obj}`ck.\1 <contrast_kit.\1>`", text)
    return re.sub(r"\((\w+\.ipynb)\)", r"(notebooks/\1)", text)


def faq(root: Path) -> str:
    """Questions and answers; what lies outside the site is named, not linked."""
    text = (root / "docs" / "faq.md").read_text("utf-8")
    text = text.replace("](../notebooks/", "](notebooks/")
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"`\1`", text)


# -- the front ---------------------------------------------------------------------------------------------------------


def front(course: dict[str, Any], root: Path, source: Path) -> str:
    """The first page: a panel that lives, the README's number, and a card for each notebook with its row in words."""
    cards, readme = [], (root / "README.md").read_text("utf-8")
    for name, notebook in course.items():
        title = html.escape(re.match(r"# (.*)", notebook.cells[0].source)[1])
        row = re.search(rf"\(notebooks/{name}\.ipynb\) \| (.*) \| (.*) \| (.*) \|", readme)
        if row is None:
            raise ValueError(f"The README's table has no row for {name}.")
        level, minutes, said = map(html.escape, row.groups())
        picture = chosen(name, root, source) or thumbnail(course, name, "", source)
        image = f'<img src="{picture[0]}" alt="" loading="lazy">' if picture else ""
        said = f"<span>{said[0].upper()}{said[1:]}.</span><small>{level} · {minutes} min</small>"
        cards.append(f'<a href="notebooks/{name}.html">{image}<b>{title}</b>{said}</a>')
    question, before, after = demo(readme)
    made = {
        "ALIVE": stored.living(first_panels(course)["loss_playground"][1], "panel-front"),
        "BEFORE": before, "AFTER": after, "QUESTION": question,
        "COURSE": '<div class="ck-course">\n' + "\n".join(cards) + "\n</div>",
        "NOTEBOOKS": "\n".join(f"notebooks/{name}" for name in course),
    }  # fmt: skip
    text = (DOCS / "index.md").read_text("utf-8")
    return re.sub(r"%([A-Z]+)%", lambda name: made[name[1]], text)


def demo(readme: str) -> tuple[str, str, str]:
    """What the README's demo asks, and its two numbers."""
    shown = readme.partition("## See it learn")[2].partition("\n## ")[0]
    before, after = re.search(r"before: ([\d.]+)\nafter: +([\d.]+)", shown).groups()
    return shown.strip().partition("\n\n```")[0].rstrip(":"), before.lstrip("0"), after.lstrip("0")


def chosen(name: str, root: Path, source: Path) -> tuple[str, str] | None:
    """The thumbnail of a notebook."""
    picture = root / "pictures" / "thumbnails" / f"{name}.png"
    if not picture.exists():
        return None
    (source / "thumbnails").mkdir(exist_ok=True)
    (source / "thumbnails" / picture.name).write_bytes(picture.read_bytes())
    return f"thumbnails/{picture.name}", ""


def thumbnail(course: dict[str, Any], name: str, section: str, source: Path) -> tuple[str, str] | None:
    """The first figure of a notebook's section (of the notebook, for ""), as a file of the site, and its words."""
    for where, title, cell, output, place in stored.figures({name: course[name]}):
        if where == name and section in ("", title):
            file = source / "thumbnails" / f"{stored.key(output)}.png"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(base64.b64decode(output["data"]["image/png"]))
            return f"thumbnails/{file.name}", stored.words(title, cell, output, place)
    return None


def typed() -> str:
    """The page on which one types a sentence, with what was measured of its encoder."""
    model = type_model.written()
    text = (DOCS / "type.md").read_text("utf-8")
    text = text.replace("%SHARES%", listed(f"{moment['share']:.2f}" for moment in model["moments"]))
    return text.replace("%STEPS%", listed(map(str, model["steps"])))


def listed(words: Any) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}"


# -- equation, code, test, picture -------------------------------------------------------------------------------------


def equations(course: dict[str, Any], root: Path, source: Path) -> str:
    """The index, each entry checked against the code, the tests and the notebooks that it names."""
    lines = [EQUATIONS]
    for given in tomllib.loads((DOCS / "equations.toml").read_text("utf-8"))["equation"]:
        lines += equation(given, course, root, source)
    return "\n".join(lines)


def equation(given: dict[str, Any], course: dict[str, Any], root: Path, source: Path) -> list[str]:
    known = {f"{room}.{name}" for room in api.ROOMS for name in api.public(room)}
    if unknown := set(given["code"]) - known:
        raise ValueError(f"{given['paper']} names {unknown.pop()}, which the kit does not have.")
    code = ", ".join(f"{{py:obj}}`{api.alias(name)} <{name}>`" for name in given["code"])
    tests = [test(root / "tests", each) for each in given["tests"]]
    name, section = given["picture"]
    anchor = headings(course, name).get(section)
    if anchor is None:
        raise ValueError(f"{given['paper']} shows the section {section!r}, which {name} does not have.")
    picture = thumbnail(course, name, section, source)
    shown = [f"[![{bracketed(picture[1])}]({picture[0]})](notebooks/{name}.ipynb#{anchor})", ""] if picture else []
    return [
        f"## {given['title']} ({given['paper']})", "", "$$", given["latex"], "$$", "",
        *([f"- **As printed**: {given['printed']}"] if "printed" in given else []),
        f"- **Code**: {code}", f"- **Test**: {', '.join(tests)}",
        f"- **Picture**: [{name[:2]} · {section.split(' · ')[-1]}](notebooks/{name}.ipynb#{anchor})", "", *shown,
    ]  # fmt: skip


def bracketed(text: str) -> str:
    return re.sub(r"([\[\]\\*_`<$])", r"\\\1", text)


def test(folder: Path, name: str) -> str:
    """`file::function` with its line; refused where there is no such test."""
    file, function = name.split("::")
    for number, line in enumerate((folder / file).read_text("utf-8").splitlines(), start=1):
        if re.match(rf"def {function}\(", line):
            return f"`{function}` (tests/{file}, line {number})"
    raise ValueError(f"There is no test {name}.")


def headings(course: dict[str, Any], name: str) -> dict[str, str]:
    """The sections of a notebook, and the anchors that MyST gives them."""

    found, taken = {}, set()
    for cell in course[name].cells:
        if cell.cell_type != "markdown":
            continue
        for title in re.findall(r"^#+ (.*)", cell.source, re.MULTILINE):
            slug = re.sub(r"[^\w\u4e00-\u9fff\- ]", "", re.sub(r"[*`]", "", title.strip().lower())).replace(" ", "-")
            unique, count = slug, 1
            while unique in taken:
                unique, count = f"{slug}-{count}", count + 1
            taken.add(unique)
            found.setdefault(title, unique)
    return found


# -- panels ------------------------------------------------------------------------------------------------------------


def first_panels(course: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """The first stored panel of each kind, with the notebook that it stands in."""
    first: dict[str, tuple[str, Any]] = {}
    for name, _, _, output, _ in stored.figures(course):
        given = output["data"].get(_page.KIND)
        if given:
            first.setdefault(json.loads(given)["scripts"][0][-1], (name, output))
    return first


def panels(course: dict[str, Any], source: Path) -> str:
    """The first stored panel of each kind, live, and each as a file for a lecture."""
    first = first_panels(course)
    lines = [PANELS_HEAD]
    (source / "downloads").mkdir()
    for kind, title in PANELS.items():
        if kind in first:
            name, output = first[kind]
            alone = _page.PAGE.format(title=title, panel=_page.fragment(output["data"][_page.KIND], "panel"))
            (source / "downloads" / f"{kind}.html").write_text(alone, encoding="utf-8")
            lines += [f"## {title}", "", f"From [{name[:2]}](notebooks/{name}.ipynb); as a file:",
                      f"{{download}}`{kind}.html <downloads/{kind}.html>`.", "",
                      "```{raw} html", stored.living(output, f"panel-{kind}"), "```", ""]  # fmt: skip
    if not first:
        lines.append("The stored notebooks hold none yet: store them again with `make notebooks`.")
    return "\n".join(lines)


# -- what was recorded -------------------------------------------------------------------------------------------------


def ledger(folder: Path) -> str:
    """The ledger as a wall of tiles, what its page says of the rules, and all its rows as a table."""
    _, _, told = (folder / "ledger.md").read_text("utf-8").partition("\n")
    rules, _, papers = told.partition("\n## ")
    verdicts = tomllib.loads((DOCS / "verdicts.toml").read_text("utf-8"))
    wall = {"rows": records(folder / "ledger.csv"), "verdicts": verdicts}
    data = json.dumps(wall, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    lines = [LEDGER, "```{raw} html", f'<div class="ck-wall"><script type="application/json">{data}</script></div>']
    lines += ['<script src="_static/wall.js"></script>', "```", "", "## The rules", rules]
    lines += ["", "<details><summary>All rows as a table</summary>", "", f"## {papers}", "", "</details>", ""]
    return "\n".join(lines)


def records(path: Path) -> list[dict[str, str]]:
    """The rows of a table, by the names of its columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recorded(folder: Path, source: Path) -> str:
    """Every recorded table with what it says of its origin."""
    lines = [RECORDED, ""]
    for path in sorted(folder.glob("*.csv")):
        origin = path.with_suffix(".json")
        lines += [f"## {path.stem}", ""]
        if origin.exists():
            lines += [f"- **{name}**: `{text}`" for name, text in facts(json.loads(origin.read_text("utf-8"))).items()]
            lines.append("")
        (source / "downloads").mkdir(exist_ok=True)
        (source / "downloads" / path.name).write_bytes(path.read_bytes())
        given = rows(path)
        more = f" Shown: the first {LONGEST} of {len(given) - 1} rows." if len(given) - 1 > LONGEST else ""
        lines += [f"{{download}}`{path.name} <downloads/{path.name}>`.{more}", ""]
        lines += ["<details><summary>The table</summary>", "", *table(given[: LONGEST + 1]), "", "</details>", ""]
    return "\n".join(lines)


def facts(origin: dict[str, Any]) -> dict[str, str]:
    """Where a table comes from, in one line each."""
    flat = {name: value for name, value in origin.items() if not isinstance(value, dict)}
    for name, value in origin.items():
        if isinstance(value, dict):
            flat[name] = ", ".join(f"{key} {each}" for key, each in value.items())
    return {name: str(value).replace("`", "'").replace("\n", " ") for name, value in flat.items()}


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def table(given: list[list[str]]) -> list[str]:
    """Rows as HTML, the first as the head; numbers to the right."""
    if not given:
        return []
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in given[0])
    body = "".join(f"<tr>{''.join(map(cell, line))}</tr>" for line in given[1:])
    return [f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>']


def cell(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return f"<td>{html.escape(text)}</td>"
    return f'<td style="text-align:right">{text}</td>'


@functools.cache
def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def benchmarks(root: Path) -> str:
    """The page of numbers, below it their history, and the recorded rows of every benchmark."""
    history = (root / "benchmarks" / "HISTORY.md").read_text("utf-8")
    text = (root / "benchmarks" / "README.md").read_text("utf-8") + re.sub("^#", "\n##", history, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)  # files of the repository, not pages
    lines = [text, "", "## All recorded rows", ""]
    for path in sorted((root / "data" / "recorded" / "benchmarks").glob("*.json")):
        record = _json(path)
        names = list(dict.fromkeys(name for row in record.get("rows", []) for name in row))
        given = [names, *([shown(row.get(name, "")) for name in names] for row in record.get("rows", []))]
        said = ", ".join(str(record[name]) for name in ("device", "when", "commit") if name in record)
        head = f"<details><summary>{path.stem}: {html.escape(said)}</summary>"
        lines += [head, "", *table(given), "", "</details>", ""]
    return "\n".join(lines)


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
