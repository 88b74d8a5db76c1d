"""How each paper turns many runs into one number: protocols as data.

A protocol says how many rows are drawn, how often, with which seeds, which rows select and which test, how long to
train, and what is reported. The named ones are the papers' own: `CMLM`, `CMLM_FULL`, `SCL_FEW_SHOT`, `SCL_FULL`,
`SCL_TRANSFER`, `COCO_LM`, `COCO_LM_LARGE`, `SQUAD`, `CAPT`, `LM_BFF_MNLI`, `COCO_LM_PROMPTS`, `GLUE_TEST`. Their
numbers stand in `protocols.toml`, each with the section that prints it. `SCL_NOISE`, `SCL_BATCH_SIZE` and
`MNLI_FRACTIONS` are ablations: dicts of a protocol by each value, which `tasks.run` takes one by one.

`dataclasses.replace` makes another, such as one with the learning rate and the few epochs that a tiny encoder needs:

>>> from dataclasses import replace
>>> from contrast_kit.tasks import protocols
>>> quick = replace(protocols.CMLM, sizes=(20,), epochs={20: 10}, lr=5e-4)
>>> quick.draws * len(quick.seeds), quick.report
(15, 'mean')
>>> [plan.batch_size for plan in protocols.SCL_BATCH_SIZE.values()]
[16, 64, 256]
"""

import tomllib
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from contrast_kit.data import papers
from contrast_kit.tasks.protocol import Protocol

NONE = {"all": None, "none": None}


def _value(cell: Any) -> Any:
    """What a cell of the file stands for."""
    if isinstance(cell, dict):
        return {_key(key): _value(each) for key, each in cell.items()}
    if isinstance(cell, list):
        return tuple(map(_value, cell))
    if isinstance(cell, str) and cell.startswith("papers."):
        return reduce(getitem, cell.split(".")[1:], vars(papers))
    return NONE.get(cell, cell)


def _key(word: str) -> str | int | None:
    return int(word) if word.isdigit() else NONE.get(word, word)


def _protocols() -> dict[str, Any]:
    """The protocols of the file by name, and the dicts of protocols where one varies."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    found: dict[str, Any] = {"": Protocol("")}
    for name, row in rows.items():
        fields = _value(row)
        base, varied = fields.pop("like", ""), fields.pop("vary", {})
        found[name] = plan = replace(found[base], **fields)
        for field, values in varied.items():
            found[name] = {value: replace(plan, **{field: value}) for value in values}
    del found[""]
    return found


globals().update(_protocols())
