"""`python -m contrast_kit lab`: the course in JupyterLab, in a copy that is the reader's own."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from contrast_kit._util import shipped
from contrast_kit.commands.options import add_table, parser_of

JUPYTER = Path(__file__).parent / "jupyter"
"""A folder of Jupyter settings: no news during a course and no question about it, and the glossary opens for reading,
not for editing. A reader's own settings take precedence."""
ABOUT = {
    "usage": "python -m contrast_kit lab [--folder FOLDER] [--only-copy] [options of JupyterLab]",
    "description": "Copy the notebooks of the course to a folder of your own and open them in JupyterLab.\n"
    "A copy that is there stays as it is: delete it, or name another folder, to get a newer one.",
    "epilog": "Options that are not listed go to JupyterLab, such as --no-browser or --port=8899.",
}


def main(arguments: list[str]) -> int:
    """Copy the notebooks and open JupyterLab on them; its exit status, or 1 with one sentence on stderr."""
    parser = parser_of("lab", **ABOUT)
    add_table(parser, "lab")
    options, further = parser.parse_known_args(arguments)
    folder = options.folder.resolve()
    try:
        copy_course(folder)
    except OSError as error:
        message = f"The notebooks cannot be copied to {folder} ({error}): name another --folder."
        print(message, file=sys.stderr)
        return 1
    if options.only_copy:
        print(f"The notebooks are in {folder}.")
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        message = (
            "JupyterLab is not installed here: pip install 'contrast-kit[notebooks]'"
        )
        print(message, file=sys.stderr)
        return 1
    _trust(folder)
    first = sorted(folder.glob("*.ipynb"))[0].name
    paths = [os.environ.get("JUPYTER_CONFIG_PATH"), str(JUPYTER)]
    env = os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}
    # Beside another busy program, torch threads that spin while they wait are many times slower.
    env.setdefault("OMP_WAIT_POLICY", "passive")
    opened = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{first}"]
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", *opened, *further]
    try:
        return subprocess.run(command, env=env, check=False).returncode
    except KeyboardInterrupt:  # JupyterLab has asked and been answered
        return 0


def copy_course(to: Path) -> None:
    """Copy the notebooks of the course and their glossary to a folder; what is there stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy_course(Path(folder))
    ...     len(list(Path(folder).glob("00_*.ipynb")))
    1
    """
    to.mkdir(parents=True, exist_ok=True)
    origin = shipped("notebooks")
    for file in [*origin.glob("*.ipynb"), *origin.glob("*.md")]:
        if not (to / file.name).exists():
            shutil.copyfile(file, to / file.name)


def _trust(folder: Path) -> None:
    """Sign the unchanged copies, as `jupyter trust` does: in unsigned notebooks Lab shows no drawings."""
    from nbformat import read
    from nbformat.sign import NotebookNotary

    for notebook in shipped("notebooks").glob("*.ipynb"):
        copy = folder / notebook.name
        if copy.read_bytes() == notebook.read_bytes():
            NotebookNotary().sign(read(copy, 4))
