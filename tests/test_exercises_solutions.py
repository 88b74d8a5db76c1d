"""Every printed solution of the course is given to its checker, and stands where it spoils nothing.

A solution is a ```python fence inside <details> whose <summary> begins with "Solution"; it defines a name that a cell
of the notebook gives to `ck.exercises.check`.
"""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from contrast_kit import exercises
from contrast_kit.exercises import judge

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
DETAILS = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Course:
    """What a notebook asks, and how it solves it."""

    def __init__(self, path):
        self.name, self.number = path.stem, path.stem.partition("_")[0]
        cells = nbformat.read(path, as_version=4).cells
        self.code = [cell for cell in cells if cell.cell_type == "code"]
        self.trees = [
            ast.parse(re.sub(r"^[%!].*", "", cell.source, flags=re.MULTILINE))
            for cell in self.code
        ]
        self.asked = dict(pair for tree in self.trees for pair in checks(tree))
        self.solutions = []
        for cell in cells:
            if cell.cell_type == "markdown":
                for summary, text in DETAILS.findall(cell.source):
                    if summary.startswith("Solution"):
                        self.solutions += FENCE.findall(text)

    def names_at_hand(self):
        """What the notebook imports: a solution may use it, as the reader may."""
        scope = {}
        for tree in self.trees:
            found = [
                node
                for node in tree.body
                if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            exec(compile(ast.Module(found, []), "imports of the notebook", "exec"), scope)
        return scope


def checks(tree):
    """The exercises that a cell checks, each with the name of the answer that it gives."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            "exercises.check"
        ):
            exercise, answer = node.args
            assert isinstance(answer, ast.Name), (
                f"{exercise.value}: give check a name, not an expression"
            )
            yield exercise.value, answer.id


def bound(tree):
    """The names that a cell, or one of its statements, defines at its top."""
    for node in tree.body if isinstance(tree, ast.Module) else [tree]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                x.id
                for target in targets
                for x in ast.walk(target)
                if isinstance(x, ast.Name)
            )


def uses(node, name):
    """How often a cell reads this name; a function's own variable of that name is another one."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        own = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
        own |= {
            x.id
            for x in ast.walk(node)
            if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
        if name in own:
            return 0
    here = (
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )
    return here + sum(uses(child, name) for child in ast.iter_child_nodes(node))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem, scope="module")
def course(request):
    return Course(request.param)


def test_a_notebook_asks_its_own_exercises(course):
    """Of a notebook in two parts either may ask them: 07 and 07b."""
    assert {name[:2] for name in course.asked} <= {course.number[:2]} and set(
        course.asked
    ) <= set(exercises.names())


def test_each_exercise_is_asked_once():
    asked = [name for path in NOTEBOOKS for name in Course(path).asked]
    # The docstring of `exercise` registers an example, 99.double, where both run in one process.
    assert sorted(asked) == [
        name for name in exercises.names() if not name.startswith("99.")
    ]


def test_each_exercise_has_a_solution_that_its_checker_takes(course):
    scope = course.names_at_hand()
    solved = set()
    for source in course.solutions:
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            raise AssertionError(
                f"a solution is no Python ({error}):\n{source}"
            ) from error
        defined = {
            name: answer
            for name, answer in course.asked.items()
            if answer in set(bound(tree))
        }
        assert defined, f"this solution defines nothing that is checked here:\n{source}"
        exec(compile(tree, "solution", "exec"), scope)
        for name, answer in defined.items():
            assert judge(name, scope[answer]).right, judge(name, scope[answer])
            solved.add(name)
    assert solved == set(course.asked), "each exercise needs a solution in <details>"


def test_what_the_reader_wrote_is_never_overwritten_nor_needed(course):
    """So that a wrong answer breaks nothing below it, and a right one is not replaced."""
    for name, answer in course.asked.items():
        given = [i for i, tree in enumerate(course.trees) if answer in set(bound(tree))]
        assert len(given) == 1, f"{name}: {answer} is defined in {len(given)} cells"
        for tree in course.trees[given[0] + 1 :]:
            in_checks = sum(other == answer for _, other in checks(tree))
            assert uses(tree, answer) == in_checks, (
                f"{name}: a later cell uses the reader's {answer}"
            )


def test_the_stored_notebook_is_unsolved(course):
    for tree, cell in zip(course.trees, course.code, strict=True):
        if list(checks(tree)):
            said = "".join(
                out.get("text", "") or out.get("data", {}).get("text/plain", "")
                for out in cell.outputs
            )
            assert said.count("not yet answered") == len(list(checks(tree))), said
