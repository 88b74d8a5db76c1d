"""The papers' published tables of results, and how they trained. Facts, as printed, in `data/papers`; none measured.

Our numbers come from small encoders and short runs, theirs from RoBERTa and days of training: show them side by side,
never in one column.
"""

import csv
from ast import literal_eval
from typing import TYPE_CHECKING, Any

from contrast_kit._util import choose, shipped

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("setting", "split", "group", "task", "n", "batch_size", "method")
"""Columns of a table that say what a row is about; all others are printed numbers."""


def available() -> dict[str, dict[int, str]]:
    """The tables that `table` knows: by paper, their numbers with their captions.

    >>> from contrast_kit import papers
    >>> papers.available()["cmlm"][2]
    'Full-size training sets: MCC for CoLA, accuracy elsewhere; mean of 3 seeds'
    """
    captions: dict[str, dict[int, str]] = {}
    for row in _rows("tables"):
        captions.setdefault(row["paper"], {})[row["number"]] = row["caption"]
    return captions


def table(paper: str, number: int) -> "pd.DataFrame":
    """A published table, one row per printed row; its caption is in `.attrs["caption"]`.

    Numbers are as printed (CMLM: fractions; the others: percent). Where a deviation is printed, a column `… sd` stands
    beside the mean, in the mean's unit (CMLM prints it in units of 10^-2). Where two numbers are printed in one cell
    (COCO-LM's MNLI), they become two columns. What is not printed is NaN.

    Args:
        paper: `"cmlm"`, `"scl"`, `"coco_lm"` or `"capt"`.
        number: the table's number in the paper. Tables of sentences, of kinds of noise and, but for SCL's, of the sizes
            of GLUE's tasks are not here; those of settings are in `training` and its neighbours.

    Raises:
        ValueError: for a paper or a table that is not here; the message names those that are.

    >>> from contrast_kit import papers
    >>> papers.table("scl", 4)[["n", "method", "SST-2", "SST-2 sd"]].head(2)
        n    method  SST-2  SST-2 sd
    0  20        CE   85.9       2.1
    1  20  CE + SCL   88.1       3.3
    """
    import pandas as pd

    captions = choose(available(), paper, "paper")
    caption = choose(
        {str(known): text for known, text in captions.items()},
        str(number),
        f"table of {paper}",
    )
    unit = next(row["sd_unit"] for row in _rows("tables") if row["paper"] == paper)
    printed = pd.read_csv(shipped("papers") / f"{paper}_{number}.csv", dtype=str)
    frame = pd.DataFrame()
    for column in printed:
        if column in KEYS:
            frame[column] = printed[column]
            continue
        parts = printed[column].str.split("±", expand=True).astype(float)
        frame[column] = parts[0]
        if 1 in parts:
            frame[f"{column} sd"] = (parts[1] * unit).round(6)
    frame = frame.astype(
        {column: int for column in ("n", "batch_size") if column in frame}
    )
    frame.attrs["caption"] = caption
    return frame


def training(method: str, setting: str | int) -> dict[str, Any]:
    """How a paper trained a method, as settings of `Training`; a new dict, free to change.

    Args:
        method: a key of `TRAINING`.
        setting: one of its settings: `"base"`, `"large"`, `"full size"`; `100` or `"100"` for a number of texts.

    Raises:
        ValueError: for a method or setting that no paper here prints; the message names those that are printed.

    >>> from contrast_kit import papers
    >>> papers.training("CMLM", 100)
    {'epochs': 50, 'batch_size': 8, 'lr': 1e-05, 'warmup': 0.0, 'group_by_length': False}
    >>> papers.training("CAPT", "base")
    Traceback (most recent call last):
    ValueError: There is no setting of CAPT 'base'; there are small, large.
    """
    settings = choose(TRAINING, method, "method with printed settings")
    # COCO-LM, section 3.3: a batch is "a random set". No paper here groups texts by their length, as `Training` does.
    return choose(settings, str(setting), f"setting of {method}") | {
        "group_by_length": False
    }


def coco_lm_model(setting: str) -> dict[str, Any]:
    """The model of a setting of COCO-LM: a row of `COCO_LM_MODELS`."""
    return dict(choose(COCO_LM_MODELS, setting, "setting of COCO-LM"))


def _rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of `data/papers`, without its empty cells; numbers and tuples as Python's."""
    with (shipped("papers") / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            {key: _value(cell) for key, cell in row.items() if cell}
            for row in csv.DictReader(file)
        ]


def _value(cell: str) -> Any:
    try:
        return literal_eval(cell)
    except (ValueError, SyntaxError):
        return cell


def _by(*keys: str, of: str) -> dict[str, Any]:
    """The rows of a file, by the words in one of its columns, or of two."""
    tree: dict[str, Any] = {}
    for row in _rows(of):
        row.pop("source", None)
        names = [str(row.pop(key, "")) for key in keys]
        branch = tree
        for name in names[:-1]:
            branch = branch.setdefault(name, {})
        branch[names[-1]] = row
    return tree


TRAINING = _by("method", "setting", of="training")
"""Training settings by method, then by the name of the setting: a number of texts, or a size of model."""
CMLM_POST_EPOCHS = {
    int(name): row["epochs"] for name, row in TRAINING["CMLM"].items() if name.isdigit()
}
CMLM_FINE_TUNING_EPOCHS = {
    int(name): row["epochs"] for name, row in TRAINING["FT"].items() if name.isdigit()
}
_FINE_TUNING = _by("paper", of="fine_tuning")
COCO_LM_FINE_TUNING = _FINE_TUNING["COCO-LM"]
CAPT_FINE_TUNING = _FINE_TUNING["CAPT"]
_SEARCH = _by("paper", "task", of="search")
CMLM_SEARCH, CAPT_SEARCH = _SEARCH["CMLM"][""], _SEARCH["CAPT"][""]
COCO_LM_SEARCH = {model: _SEARCH[f"COCO-LM {model}"] for model in ("base", "large++")}
"""What COCO-LM searched for each task, by the size of model: tables 7 and 8. Those of base also hold for base++."""
LM_BFF = _rows("lm_bff")[0] | {"fine_tuning": _FINE_TUNING["LM-BFF"]}
"""LM-BFF, section 3.3 and its scripts, which COCO-LM's table 4 follows with other learning rates (section 5.3)."""
LM_BFF_TEMPLATES = _by("task", of="lm_bff_templates")
"""LM-BFF's manual templates and label words of GLUE's tasks, as `tasks.prompting.Template` takes them."""
COCO_LM_MODELS = _by("setting", of="coco_lm_models")
"""COCO-LM's models, by the name of their setting."""
COCO_LM_TABLE_3 = _by("row", of="coco_lm_ablations")
"""COCO-LM's table 3, row by row, as changes of `COCOLMConfig`: `COCOLM(encoder, **COCO_LM_TABLE_3["CLM Only"])`.

Two rows are not a matter of the config alone. "w/o. Rel-Pos" is an encoder built without relative positions. "w.
Converged Auxiliary" needs a trained one: `COCOLM(encoder, converged=trained)`. The paper does not say whether the rows
under "CLM Setup" keep the contrast (here they do), nor how "CLM w/o. Copy" names words (here by a softmax at M alone),
nor whether ELECTRA's auxiliary model has relative positions and samples with dropout (here neither)."""
