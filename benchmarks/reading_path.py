"""How much code a reader meets: the files and lines that one `objective(batch)` runs, and what an equation imports.

    python benchmarks/reading_path.py

For each method, at its default settings on a tiny encoder, the files of `contrast_kit` in which a line is run by the
loss of one batch, and how many different lines; then the files that `losses.sup_con` stands on, found by following
imports; then the lines of the rooms that a reader reads. It counts; `tests/test_house.py` holds it to its limits.
"""

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import contrast_kit as ck

ROOT = Path(ck.__file__).parent
ROOMS = ("losses", "masking", "objectives", "encoder", "training")
"""Where the reading path goes."""
PICTURES = (
    "losses/regions.py",
    "masking/regions.py",
    "encoder/cross_modal.py",
    "objectives/lxmert.py",
    "objectives/capt_pairs.py",
    "objectives/answers.py",
)
"""What of these rooms only a reader of words and pictures reads; all others stay on the path of language."""


def lines_run(call: Callable[[], object]) -> dict[str, set[int]]:
    """The lines of each file of the kit that a call runs."""
    seen: dict[str, set[int]] = {}
    root = str(ROOT)

    def trace(frame, event, _):
        file = frame.f_code.co_filename
        if not file.startswith(root):
            return None
        if event == "line":
            seen.setdefault(file[len(root) + 1 :], set()).add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return seen


def methods() -> dict[str, tuple[ck.objectives.Objective, dict]]:
    """Each method on a tiny encoder, with a batch for it."""
    from contrast_kit.data.paraphrase import Toyshop, reworded

    rows = [row for row, _ in zip(ck.data.load("toyshop/sst2")["train"], range(16), strict=False)]
    texts = [row["sentence"] for row in rows]
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    batch = ck.data.Texts(rows, tokenizer).batch(range(16))
    pairs = ck.data.Paraphrased(reworded(texts, Toyshop()), tokenizer).batch(range(16))
    names = ("MLM", "SimCSE", "SCL", "CMLM", "CAPT", "ELECTRA", "AllTokenMLM", "COCOLM", "CSSL", "FineTune")
    encoders = {name: ck.Encoder.tiny(tokenizer, relative_positions=name == "COCOLM") for name in names}  # the papers'
    return {
        name: (getattr(ck.objectives, name)(encoders[name]), pairs if name == "CSSL" else batch) for name in names
    }


def closure(module: str) -> dict[str, int]:
    """The files on which a module stands, `"losses/contrast.py"` → its lines; packages' lists of names are left out."""
    found: dict[str, int] = {}
    left = [module]
    while left:
        file = _file(left.pop())
        if file is None or str(file.relative_to(ROOT)) in found:
            continue
        text = file.read_text()
        found[str(file.relative_to(ROOT))] = len(text.splitlines())
        package = ".".join(("contrast_kit", *file.relative_to(ROOT).parts[:-1]))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                base = _absolute(node, package)
                left += [base, *(f"{base}.{name.name}" for name in node.names)]
    return found


def _file(module: str) -> Path | None:
    """A module's file; None for what is not the kit's, and for a package that only lists names of its files."""
    if not module.startswith("contrast_kit."):
        return None
    path = ROOT.joinpath(*module.split(".")[1:])
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    package = path / "__init__.py"
    defines = package.is_file() and any(isinstance(x, ast.FunctionDef) for x in ast.parse(package.read_text()).body)
    return package if defines else None


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def room_lines() -> dict[str, int]:
    """Lines of the rooms that a reader of language reads, docstrings included; `picture_lines` has the others."""
    left_out = {ROOT / name for name in PICTURES}
    files = {room: set((ROOT / room).rglob("*.py")) - left_out for room in ROOMS}
    return {room: sum(len(f.read_text().splitlines()) for f in of) for room, of in files.items()}


def picture_lines() -> dict[str, int]:
    """Lines of each file that a reader of words and pictures reads in addition."""
    return {name: len((ROOT / name).read_text().splitlines()) for name in PICTURES}


def main() -> None:
    print(f"{'method':<12} files  lines run")
    for name, (objective, batch) in methods().items():
        objective(batch)  # what loads at first use is loaded now
        seen = lines_run(lambda o=objective, b=batch: o(b))
        print(f"{name:<12} {len(seen):>5}  {sum(map(len, seen.values())):>9}   {', '.join(sorted(seen))}")
    files = closure("contrast_kit.losses.contrast")
    print(f"\nlosses.sup_con stands on {len(files)} files, {sum(files.values()):,} lines: {', '.join(sorted(files))}")
    rooms = room_lines()
    print(f"\nreading path: {sum(rooms.values()):,} lines: {', '.join(f'{k} {v:,}' for k, v in rooms.items())}")
    more = picture_lines()
    print(f"words and pictures: {sum(more.values()):,} lines more: {', '.join(f'{k} {v:,}' for k, v in more.items())}")


if __name__ == "__main__":
    main()
