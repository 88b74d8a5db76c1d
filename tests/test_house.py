"""The house: which room may know which, and how much of it a reader has to walk through."""

import ast
import io
import runpy
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest
from table_of_mutants import MUTANTS

ROOT = Path(__file__).parents[1]
KIT = ROOT / "contrast_kit"

# From the ground up: a room may import from the rooms before it, never from those after it.
ROOMS = (
    "_util",
    "checks",
    "fast",
    "losses",
    "masking",
    "geometry",
    "data",
    "encoder",
    "objectives",
    "training",
    "vision",
    "plots",
    "tasks",
    "exercises",
    "explore",
    "commands",
)
CORE = ("losses", "masking", "geometry", "encoder", "objectives", "training")
"""The rooms that a reader of the papers reads."""
TORCH_ONLY = ("checks", "losses", "masking", "geometry")
"""Rooms of pure functions: of other libraries they import torch alone."""


def imports(file: Path) -> set[str]:
    """The modules that a file imports, wherever in it: `contrast_kit.data.texts`, `torch`."""
    package = ["contrast_kit", *file.relative_to(KIT).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            whole = module == "contrast_kit"
            found |= (
                {f"{module}.{name.name}" for name in node.names} if whole else {module}
            )
    return found


def room(file: Path) -> str:
    return file.relative_to(KIT).parts[0].removesuffix(".py")


FILES = sorted(
    file
    for file in KIT.rglob("*.py")
    if file.parent != KIT or file.stem not in ("__init__", "__main__")
)


def test_every_file_belongs_to_a_room_of_the_list():
    assert {room(file) for file in FILES} == set(ROOMS)


def test_no_room_imports_from_a_room_above_it():
    up = []
    for file in FILES:
        for module in imports(file):
            other = (
                [*module.split("."), ""][1] if module.startswith("contrast_kit.") else ""
            )
            if other in ROOMS and ROOMS.index(other) > ROOMS.index(room(file)):
                up.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not up, up


def test_files_of_one_room_do_not_import_each_other_in_a_circle():
    edges = {}
    for file in FILES:
        me = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        edges[me] = {module for module in imports(file) if module != me}
    done, path = set(), []

    def visit(module):
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module in edges and module not in done:
            path.append(module)
            for other in sorted(edges[module]):
                if not other.startswith(module + "."):  # a package and its own files
                    visit(other)
            path.pop()
            done.add(module)

    for module in edges:
        if not module.endswith("__init__"):
            visit(module)


@pytest.mark.parametrize("name", TORCH_ONLY)
def test_rooms_of_pure_functions_import_torch_alone(name):
    for file in FILES:
        if room(file) == name:
            outside = {m.split(".")[0] for m in imports(file)} - {"contrast_kit", "torch"}
            standard = {m for m in outside if m in sys.stdlib_module_names}
            assert outside == standard, (
                f"{file.relative_to(ROOT)} imports {outside - standard}"
            )


# -- what the house weighs: tokens of Python without comments and docstrings, which denser lines cannot flatter ------

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip


def words_of(text):
    """The tokens of a file, without comments, docstrings and the strings below fields."""
    tree = ast.parse(text)
    prose = set()
    for node in ast.walk(tree):
        for part in (
            getattr(node, "body", None)
            if isinstance(getattr(node, "body", None), list)
            else ()
        ):
            if (
                isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
            ):
                prose.update(range(part.lineno, part.end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        token
        for token in tokens
        if token.type not in LAYOUT and token.start[0] not in prose
    ]


def weigh(files):
    """Tokens, lines of code, conditional expressions, walruses and raises of some files."""
    weight = Counter()
    for file in files:
        text = file.read_text(encoding="utf-8")
        tokens = words_of(text)
        weight["tokens"] += len(tokens)
        weight["lines"] += len({token.start[0] for token in tokens})
        kinds = Counter(type(node).__name__ for node in ast.walk(ast.parse(text)))
        weight += Counter({name: kinds[name] for name in ("IfExp", "NamedExpr", "Raise")})
    return weight


PACKAGE, CORE_TO_READ, TESTS = 132_700, 30_000, 190_000
"""What they may weigh, in tokens without comments and docstrings. Promised are 140,000, 30,000 and 190,000: what is
between is room for a new idea, and an old one should leave before it is used up."""
CONDITIONALS, WALRUSES, RAISES, TOKENS_A_LINE = 205, 1, 215, 9.0


def test_the_package_is_small():
    weight = weigh(KIT.rglob("*.py"))
    assert weight["tokens"] <= PACKAGE
    assert weight["tokens"] <= TOKENS_A_LINE * weight["lines"]
    assert weight["IfExp"] <= CONDITIONALS
    assert weight["NamedExpr"] <= WALRUSES
    assert weight["Raise"] <= RAISES


def test_the_core_can_be_read():
    assert weigh(file for file in FILES if room(file) in CORE)["tokens"] <= CORE_TO_READ


def test_the_tests_are_no_second_house():
    assert weigh((ROOT / "tests").rglob("*.py"))["tokens"] <= TESTS


def test_few_rooms_know_each_other():
    arrows = set()
    for file in FILES:
        for module in imports(file):
            if module.startswith("contrast_kit."):
                arrows.add((room(file), module.split(".")[1]))
    arrows = {
        (lower, upper) for lower, upper in arrows if lower != upper and upper in ROOMS
    }
    assert len(ROOMS) <= 16 and len(arrows) <= 65, sorted(arrows)


LONG = {"fast/tiles.py", "losses/contrast.py"}
"""Files of more than 400 lines and functions of more than 80: to become shorter, none to join them."""


def test_a_file_and_a_function_hold_one_idea():
    long = set()
    for file in FILES:
        text, name = file.read_text(encoding="utf-8"), file.relative_to(KIT).as_posix()
        if len(text.splitlines()) > 400:
            long.add(name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 80:
                long.add(f"{name}: {node.name}")
    assert long <= LONG, long - LONG


@pytest.fixture(scope="module")
def measure():
    return runpy.run_path(str(ROOT / "benchmarks" / "reading_path.py"))


LIMITS = {"MLM": 7, "SimCSE": 7, "SCL": 7, "CMLM": 9, "CAPT": 9, "COCOLM": 12}
"""Files that the loss of one batch runs through."""


def test_the_loss_of_one_batch_runs_through_few_files(measure):
    methods = measure["methods"]()
    for name, limit in LIMITS.items():
        objective, batch = methods[name]
        objective(batch)  # what loads at first use is loaded now
        files = measure["files_of"](
            measure["calls_of"](lambda o=objective, b=batch: o(b))
        )
        assert 3 <= len(files) <= limit, f"{name}: {sorted(files)}"


WAYS = {
    "losses.sup_con": (9, 3),
    "data.load of two CSV files": (40, 3),
    "one step of fit with CMLM": (250, 16),
}
"""Calls of the kit's functions, and files in which they stand."""


def test_everyday_calls_take_a_short_way(measure):
    for name, calls in measure["ways"]().items():
        most_calls, most_files = WAYS[name]
        assert 0 < calls.total() <= most_calls, (name, calls)
        assert len(measure["files_of"](calls)) <= most_files, (
            name,
            measure["files_of"](calls),
        )


def test_code_for_speed_stands_behind_one_door():
    """What a reader reads meets `fast` by its name alone, never a file inside it."""
    for file in FILES:
        if room(file) in ("losses", "masking", "objectives", "encoder", "geometry"):
            inside = {
                module
                for module in imports(file)
                if module.startswith("contrast_kit.fast.")
            }
            assert not inside - {"contrast_kit.fast"}, (
                f"{file.relative_to(ROOT)}: {inside}"
            )


@pytest.mark.parametrize(
    ("what", "file", "right"),
    [mutant[:3] for mutant in MUTANTS],
    ids=lambda given: given[:24],
)
def test_a_mutant_replaces_a_line_that_is_there(what, file, right):
    """Else `python tests/mutants.py` would have nothing to say of it: bring its table up to date."""
    assert right in (KIT / file).read_text(), what
