"""contrast_kit: understand, and do, contrastive pre-training of language models.

>>> import contrast_kit as ck
>>> import torch
>>> a = torch.eye(4)  # four sequences, seen twice, each orthogonal to the others
>>> ck.losses.nt_xent(a, a, tau=1.0)  # log(1 + 6 / e): one positive, six negatives each
tensor(1.1654)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors; at run time __getattr__ does the same, at first use
    from contrast_kit import (
        data,
        exercises,
        explore,
        fast,
        geometry,
        losses,
        masking,
        objectives,
        plots,
        tasks,
        training,
        vision,
    )
    from contrast_kit.data import papers
    from contrast_kit.encoder import Encoder
    from contrast_kit.fast import faster
    from contrast_kit.objectives import schedules
    from contrast_kit.training import Plan, Run, Training, fit, plan
    from contrast_kit.vision import CrossModalEncoder

__version__ = "0.1.0"

__all__ = [
    "CrossModalEncoder",
    "Encoder",
    "Plan",
    "Run",
    "Training",
    "data",
    "exercises",
    "explore",
    "fast",
    "faster",
    "fit",
    "geometry",
    "losses",
    "masking",
    "objectives",
    "papers",
    "plan",
    "plots",
    "schedules",
    "tasks",
    "training",
    "vision",
]

_HOME = {
    "CrossModalEncoder": "vision",
    "Encoder": "encoder",
    "Plan": "training",
    "Run": "training",
    "Training": "training",
    "faster": "fast",
    "fit": "training",
    "papers": "data",
    "plan": "training",
    "schedules": "objectives",
}


def __getattr__(name: str) -> Any:
    # Rooms load at first use, so that `python -m contrast_kit check` can say what is missing in one sentence.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f"{__name__}.{_HOME.get(name, name)}")
    globals()[name] = getattr(room, name) if name in _HOME else room
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
