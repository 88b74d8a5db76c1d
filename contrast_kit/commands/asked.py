"""What a run's folder was begun with: which text, which start, which size. To go on with it, they must be the same."""

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

from contrast_kit.data import intact
from contrast_kit.data.drafts import draft_of
from contrast_kit.training import checkpoint, distributed

TEXT = ("data", "part", "unit", "columns", "label", "limit", "start")
"""What says which text is read, and by which encoder: in a folder that holds a run it stays what it was."""
FILE = "asked.json"
PLACES = ("data", "start")
"""What may name a place on the disk, in one spelling or another."""


def check(options: argparse.Namespace) -> None:
    """Refuse other text or another start than the folder's run had; without a checkpoint there yet, begin anew."""
    kept = options.folder / FILE
    asked = {name: getattr(options, name) for name in ("scale", *TEXT, "vocab_size")} | {"from": os.getcwd()}
    if distributed.rank() == 0 and not checkpoint.checkpoints(options.folder):
        with intact.one_writer(options.folder):  # which a run that has no checkpoint yet holds
            ours = options.folder / "vocabulary" / FILE  # not beside a vocabulary that the reader put there
            if ours.exists() and _other(_read(ours), asked):
                shutil.rmtree(ours.parent)
            with draft_of(kept) as draft:
                draft.write_text(json.dumps(asked))
    distributed.anywhere(False, distributed.start())  # the others wait until the first has written it
    before = _read(kept) if kept.exists() else {}
    if name := _other(before, asked):
        raise ValueError(
            f"{options.folder} was begun with {_option(name, before)}, and this is {_option(name, asked)}: use the "
            "same to go on, or another --folder."
        )


def _read(file: Path) -> dict[str, Any]:
    """What was asked, from its file."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError:  # no JSON, or not even text
        found = None
    if not isinstance(found, dict):
        raise ValueError(
            f"{file} is damaged, which says what that run was begun with: delete it to go on as before, or name "
            "another --folder."
        )
    return found


def _other(before: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """The first option that is not as it was; an option that was not kept then is none."""
    names = (name for name in asked if name in before and name != "from" and before[name] != asked[name])
    return next((name for name in names if not (name in PLACES and _place(name, before) == _place(name, asked))), None)


def _place(name: str, asked: dict[str, Any]) -> str | None:
    """The file or folder that an option names, however it is spelled; else the option as it is."""
    if asked[name] is None:
        return None
    place = os.path.join(asked.get("from", ""), os.path.expanduser(asked[name]))
    return os.path.realpath(place) if os.path.exists(place) else asked[name]


def _option(name: str, asked: dict[str, Any]) -> str:
    flag = {"vocab_size": "words"}.get(name, name)
    return f"no --{flag}" if asked[name] is None else f"--{flag} {asked[name]}"
