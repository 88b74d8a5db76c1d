"""Tables of runs that were made once and kept, each with where it comes from: `data/recorded/`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit._util import meant, shipped

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

    names = [path.stem for path in sorted(Path(folder).glob("*.csv"))]
    if name not in names:
        raise FileNotFoundError(
            f"No recorded table is called {name!r}; {meant(name, names)}"
        )
    table = pd.read_csv(Path(folder) / f"{name}.csv")
    table.attrs = json.loads((Path(folder) / f"{name}.json").read_text("utf-8"))
    return table
