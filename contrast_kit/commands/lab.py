"""`python -m contrast_kit lab`: the course in JupyterLab, in a copy that is the reader's own."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from contrast_kit._util import shipped
from contrast_kit.commands.options import Parser

JUPYTER = Path(__file__).parent / "jupyter"
"""A folder of Jupyter settings: no news during a course and no question about it, and the glossary opens for reading,
not for editing. A reader's own settings take precedence."""
COPIED = ".copied.json"
ABOUT = {
    "usage": "python -m contrast_kit lab [--folder FOLDER] [--only-copy] [options of JupyterLab]",
    "description": "Copy the notebooks of the course to a folder of your own and open them in JupyterLab.\n"
    "What you change there stays when the kit gets newer notebooks; the others are renewed.",
    "epilog": "Options that are not listed go to JupyterLab, such as --no-browser or --port=8899.",
}


def main(arguments: list[str]) -> int:
    """Copy the notebooks and open JupyterLab on them; its exit status, or 1 with one sentence on stderr."""
    parser = Parser("lab", **ABOUT)
    parser.add_table("lab")
    options, further = parser.parse_known_args(arguments)
    try:
        kept = copy_course(options.folder)
    except OSError as error:
        print(
            f"The notebooks cannot be copied to {options.folder} ({error}): name another --folder.",
            file=sys.stderr,
        )
        return 1
    if kept:
        print(
            f"{', '.join(kept)}: changed by you and by the project, so yours stay. Rename one to get the new one."
        )
    if options.only_copy:
        print(f"The notebooks are in {options.folder}.")
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        print(
            "JupyterLab is not installed here: pip install 'contrast-kit[notebooks]'",
            file=sys.stderr,
        )
        return 1
    _trust(options.folder)
    first = sorted(options.folder.glob("*.ipynb"))[0]
    here, first = Path.cwd(), first.resolve()
    root = here if first.is_relative_to(here) else first.parent
    paths = [os.environ.get("JUPYTER_CONFIG_PATH"), str(JUPYTER)]
    env = os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}
    # Beside another busy program, torch threads that spin while they wait are many times slower.
    env.setdefault("OMP_WAIT_POLICY", "passive")
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    opened = [
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{first.relative_to(root).as_posix()}",
    ]
    command = [sys.executable, "-m", "jupyterlab", *opened, *as_root, *further]
    try:
        return subprocess.run(command, env=env, check=False).returncode
    except KeyboardInterrupt:  # JupyterLab has asked and been answered
        return 0


def copy_course(to: Path) -> list[str]:
    """Copy the notebooks of the course and their glossary to a folder; what the reader changed there stays.

    A copy that the reader left as it was is renewed when the project has a newer one. Returns the names of notebooks
    that both have changed. The folder of the originals is left as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy_course(Path(folder)), len(list(Path(folder).glob("00_*.ipynb")))
    ([], 1)
    """
    origin = shipped("notebooks")
    if to.resolve() == origin.resolve():
        return []
    to.mkdir(parents=True, exist_ok=True)
    record = to / COPIED
    try:
        known = json.loads(record.read_text(encoding="utf-8"))
    except (
        FileNotFoundError,
        ValueError,
    ):  # none yet, or half of one: then a copy that differs is the reader's own
        known = {}
    kept = []
    for notebook in sorted([*origin.glob("*.ipynb"), *origin.glob("*.md")]):
        copy, now = to / notebook.name, _digest(notebook)
        if not copy.exists() or _digest(copy) in (known.get(notebook.name), now):
            shutil.copyfile(notebook, copy)
            known[notebook.name] = now
        elif known.get(notebook.name) != now:
            kept.append(notebook.name)
    record.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return kept


def _trust(folder: Path) -> None:
    """Sign the unchanged copies, as `jupyter trust` does: in unsigned notebooks Lab shows no drawings."""
    from nbformat import read
    from nbformat.reader import NotJSONError
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for notebook in shipped("notebooks").glob("*.ipynb"):
        copy = folder / notebook.name
        if copy.is_file() and _digest(copy) == _digest(notebook):
            with suppress(NotJSONError):
                notary.sign(read(copy, 4))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
