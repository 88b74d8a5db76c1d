"""Tables of runs that were made once and kept, each with where it comes from: `data/recorded/`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit import arguments, checks
from contrast_kit._names import meant
from contrast_kit._shipped import shipped

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDER = shipped("recorded")


def recorded(name: str, folder: str | Path = FOLDER) -> "DataFrame":
    """A recorded table, with its provenance in `.attrs`: device, versions, commit, settings, seconds.

    What a notebook shows from here was measured by the script that the provenance names, and can be measured again.
    Some tables grew over several sittings: options of further sittings are not in the command, and the commit is that
    of the last rows.

    Args:
        name: such as "scoreboard" for `data/recorded/scoreboard.csv` and `scoreboard.json`.
        folder: where the tables are.

    Raises:
        FileNotFoundError: there is no such table in the folder, or it has no provenance.

    Example:
        >>> import contrast_kit as ck
        >>> table = ck.data.recorded("scoreboard")
        >>> sorted(table.attrs)[:3]
        ['command', 'commit', 'device']
    """
    import pandas as pd

    if not isinstance(name, str):
        raise TypeError(f"A recorded table has a name, such as 'scoreboard', not {checks.shown(name)}.")
    folder = arguments.path("folder", folder, "where recorded tables lie")
    if name != Path(name).as_posix() or Path(name).is_absolute() or ".." in Path(name).parts:
        raise FileNotFoundError(f"{name!r} is not the name of a recorded table, such as 'scoreboard'.")
    table, origin = (folder / f"{name}.{kind}" for kind in ("csv", "json"))
    if not table.exists():
        have = sorted(path.stem for path in folder.glob("*.csv"))
        raise FileNotFoundError(f"No recorded table is called {name!r}; {meant(name, have)}")
    if not origin.exists():
        raise FileNotFoundError(f"{table.name} has no {origin.name} beside it that says where its numbers come from.")
    frame = pd.read_csv(table)
    frame.attrs = json.loads(origin.read_text("utf-8"))
    return frame
