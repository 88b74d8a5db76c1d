"""Pictures as a model reads them: a few regions each, with a feature, a box, and what a detector saw in it.

Letters: `P` pictures, `R` regions of the richest picture, `F` width of a feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit import arguments, checks, picture_checks
from contrast_kit.masking.regions import check_pair

NONE = -100
"""The class of a region without one (a padded region, or one whose attribute nobody named): no loss counts it."""

REGION_KEYS = (
    "regions",
    "boxes",
    "region_mask",
    "objects",
    "attributes",
    "object_confidence",
    "attribute_confidence",
)
"""What a batch tells of each picture, in this order."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """The regions of many pictures, checked once: what `Regions` joins to texts.

    Args:
        ids: [P] long, the number of each picture, which rows of text call `image_id`; each once.
        regions: [P, R, F] floating point, features. Standardise them (`standardised`) before training on them.
        boxes: [P, R, 4], the corners x1, y1, x2, y2 of each region, divided by the picture's width and height.
        region_mask: [P, R] bool, False for padding, which stands behind the regions.
        objects, attributes: [P, R] long, the classes that a detector *predicted*; -100 where there is none.
        object_confidence, attribute_confidence: [P, R] from 0 to 1, the probability that it gave to them.
        object_names, attribute_names: the names of the classes; empty where they are not known.

    A detector's prediction is not the truth. LXMERT trains on it all the same, weighted by its confidence.

    Raises:
        TypeError, ValueError: a tensor of another shape or kind; a box in pixels, or with x2 ≤ x1; a NaN; a picture
            without a region; a class that has no name.

    Example:
        >>> from contrast_kit.data.pictures import random_pictures
        >>> pictures = random_pictures(3, regions=4, width=6)
        >>> len(pictures), pictures.regions.shape, pictures.rows([2, 0]).tolist()
        (3, torch.Size([3, 4, 6]), [2, 0])
    """

    ids: Tensor
    regions: Tensor
    boxes: Tensor
    region_mask: Tensor
    objects: Tensor
    attributes: Tensor
    object_confidence: Tensor
    attribute_confidence: Tensor
    object_names: tuple[str, ...] = ()
    attribute_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.tensors(ids=self.ids, **{key: getattr(self, key) for key in REGION_KEYS})
        for key in ("object_names", "attribute_names"):
            object.__setattr__(self, key, tuple(arguments.strings(key, getattr(self, key), "names of classes")))
        regions = checks.floats(self.regions, "regions")
        if regions.dim() != 3 or not regions.numel():
            raise ValueError(f"regions must be [P, R, F], one feature for each region, got {list(regions.shape)}.")
        self._check_shapes()
        self._check_mask()
        check_pair({"regions": regions, "boxes": self.boxes, "region_mask": self.region_mask})
        for name in ("object", "attribute"):
            self._check_classes(name, getattr(self, f"{name}s"), getattr(self, f"{name}_names"))
            self._check_confidence(name, getattr(self, f"{name}_confidence"))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """F, the width of a feature."""
        return self.regions.shape[2]

    def rows(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Where the pictures with these numbers stand, as a tensor like `ids`.

        Raises `ValueError` for a picture that is not here.
        """
        wanted = checks.integers(ids, None, self.ids.device, "ids")
        order = self.ids.argsort()
        at = torch.searchsorted(self.ids[order], wanted).clamp(max=len(self) - 1)  # like ids
        found = order[at]
        if missing := wanted[self.ids[found] != wanted].flatten().tolist():
            others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise ValueError(
                f"There is no picture {missing[0]}{others} among these {len(self)}: leave out the rows that name it, "
                "or give the pictures of all splits."
            )
        return found

    def standardised(self, on: Sequence[int] | Tensor | None = None) -> Pictures:
        """The same pictures with each of the F columns at mean 0 and deviation 1 *over the regions of `on`*.

        `on` holds the numbers of the training pictures (None: all of these pictures). Mean and deviation are theirs,
        whatever else is standardised with them: a test picture must not shift its own scale. Padding stays zero.
        """
        rows = torch.arange(len(self)) if on is None else self.rows(on).unique()
        seen = self.regions[rows][self.region_mask[rows]]  # [regions of `on`, F]
        mean, deviation = seen.mean(0), seen.std(0, correction=0)
        deviation = torch.where(deviation > 1e-6 * (1 + mean.abs()), deviation, torch.ones_like(deviation))
        scaled = (self.regions - mean) / deviation
        return replace(self, regions=scaled.masked_fill(~self.region_mask[:, :, None], 0))

    def only(self, ids: Sequence[int] | Tensor) -> Pictures:
        """The pictures with these numbers, in this order."""
        rows = self.rows(ids)
        return replace(self, ids=self.ids[rows], **{key: getattr(self, key)[rows] for key in REGION_KEYS})

    def _check_shapes(self) -> None:
        p, r, _ = self.regions.shape
        if self.ids.is_floating_point() or self.ids.dtype == torch.bool or self.ids.shape != (p,):
            raise ValueError(f"ids must be {p} distinct integers, one for each picture, got {checks.shown(self.ids)}.")
        numbers, times = self.ids.unique(return_counts=True)
        if (times > 1).any():
            number = int(numbers[times > 1][0])
            raise ValueError(f"ids must be distinct, and {int(times[times > 1][0])} pictures have the number {number}.")
        for key in REGION_KEYS[1:]:
            shape = (p, r, 4) if key == "boxes" else (p, r)
            if getattr(self, key).shape != shape:
                raise ValueError(
                    f"{key} must be {list(shape)}, as many as there are regions, got {list(getattr(self, key).shape)}."
                )

    def _check_mask(self) -> None:
        mask = self.region_mask
        if mask.dtype != torch.bool:
            raise TypeError(f"region_mask must be bool, True for a region and False for padding, not {mask.dtype}.")
        if (mask[:, 1:] & ~mask[:, :-1]).any():
            raise ValueError("Padding must stand behind the regions of a picture, not between them.")

    def _check_classes(self, name: str, classes: Tensor, names: tuple[str, ...]) -> None:
        if classes.is_floating_point() or classes.dtype == torch.bool:
            raise TypeError(f"{name}s must be classes (integers), not {classes.dtype}.")
        top = len(names) if names else int(classes.max()) + 1
        wrong = (classes != NONE) & ((classes < 0) | (classes >= top))
        if wrong.any():
            raise ValueError(
                f"Picture {self._first(wrong)} has the {name} class {int(classes[wrong][0])}; classes are "
                f"0 … {top - 1}, and {NONE} where there is none."
            )
        if (classes[~self.region_mask] != NONE).any():
            raise ValueError(f"A padded region must have the {name} class {NONE}: it is not a region.")

    def _check_confidence(self, name: str, confidence: Tensor) -> None:
        picture_checks.shares(checks.floats(confidence, f"{name}_confidence"), f"{name}_confidence")

    def _first(self, wrong: Tensor) -> int:
        """The number of the first picture with a True in [P, …]."""
        return int(self.ids[wrong.flatten(1).any(1).nonzero()[0]])


def stack_pictures(
    pictures: Sequence[Mapping[str, Any]], object_names: Sequence[str] = (), attribute_names: Sequence[str] = ()
) -> Pictures:
    """`Pictures` from one dict for each: `image_id`, `regions` [r, F], `boxes` [r, 4], and the rest if known.

    Pictures with fewer regions than the richest are padded behind. `objects` and `attributes` that are not given
    are -100, confidences 1. Raises what `Pictures` raises, and `ValueError` for no pictures, or for features of
    another width than the first picture's.

    >>> import torch
    >>> one = {"image_id": 7, "regions": torch.ones(2, 3), "boxes": [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]}
    >>> two = {"image_id": 9, "regions": torch.ones(1, 3), "boxes": [[0, 0, 1, 1]]}
    >>> stack_pictures([one, two]).region_mask.tolist()
    [[True, True], [True, False]]
    """
    pictures = arguments.listed("pictures", pictures, "dicts, one for each picture")
    regions = _features(pictures)  # [r, F] each
    ids = checks.integers([picture["image_id"] for picture in pictures], len(pictures), torch.device("cpu"), "image_id")
    columns = {"regions": pad_sequence(regions, batch_first=True)}  # [P, R, F]
    counts = [len(rows) for rows in regions]
    for key, (shape, kind, unknown, padding) in BESIDE.items():
        rows = [_beside(picture, key, (r, *shape), kind, unknown) for picture, r in zip(pictures, counts, strict=True)]
        columns[key] = pad_sequence(rows, batch_first=True, padding_value=padding)  # [P, R, …]
    columns["region_mask"] = torch.arange(max(counts)) < torch.tensor(counts)[:, None]  # [P, R]
    return Pictures(ids, **columns, object_names=object_names, attribute_names=attribute_names)


BESIDE: dict[str, tuple[tuple[int, ...], torch.dtype, float, float]] = {
    "boxes": ((4,), torch.float32, 0, 0),
    "objects": ((), torch.long, NONE, NONE),
    "attributes": ((), torch.long, NONE, NONE),
    "object_confidence": ((), torch.float32, 1, 0),
    "attribute_confidence": ((), torch.float32, 1, 0),
}
"""What is told of a region besides its feature: shape, kind, and the value that stands for unknown, or for padding."""


def _features(pictures: list[Any]) -> list[Tensor]:
    """The features [r, F] of each picture: at least one picture, and all from one detector."""
    if not pictures:
        raise ValueError("There are no pictures: give at least one.")
    if not all(isinstance(picture, Mapping) and {"image_id", "regions"} <= picture.keys() for picture in pictures):
        raise TypeError("Each picture must be a dict with image_id and regions, and boxes.")
    features = [_tensor(picture, "regions", torch.float32) for picture in pictures]
    width = features[0].shape[-1] if features[0].dim() else 0
    for picture, rows in zip(pictures, features, strict=True):
        if rows.dim() != 2 or rows.shape[1] != width:
            raise ValueError(
                f"The features of picture {picture['image_id']} are {list(rows.shape)}, those of the first "
                f"picture are {width} wide: all must come from one detector."
            )
    return features


def _beside(picture: Mapping[str, Any], key: str, shape: tuple[int, ...], kind: torch.dtype, unknown: float) -> Tensor:
    """What a picture tells of its regions, [r, …]."""
    rows = _tensor(picture, key, kind) if key in picture else torch.full(shape, unknown, dtype=kind)
    if rows.shape != shape:
        raise ValueError(
            f"{key} of picture {picture['image_id']} is {list(rows.shape)}, but it has {shape[0]} regions: "
            f"give {list(shape)}."
        )
    return rows


def _tensor(picture: Mapping[str, Any], key: str, kind: torch.dtype) -> Tensor:
    try:
        return torch.as_tensor(picture[key], dtype=kind, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        shown = checks.shown(picture[key])
        raise TypeError(f"{key} of picture {picture['image_id']} must be a tensor of numbers, not {shown}.") from None


def random_pictures(n: int = 8, regions: int = 5, width: int = 6, seed: int = 0, classes: int = 4) -> Pictures:
    """`n` pictures of noise with 2 … `regions` regions each, numbered from 0: for tests and examples.

    A feature tells its object and its attribute, with noise, so that a probe has something to find; a quarter of
    the attributes are -100.
    """
    draw = torch.Generator().manual_seed(int(seed))
    patterns = torch.randn(2, classes, width, generator=draw)
    made = []
    for picture in range(n):
        r = regions if picture == 0 else int(torch.randint(min(2, regions), regions + 1, (), generator=draw))
        objects = torch.randint(classes, (r,), generator=draw)
        attributes = torch.randint(classes, (r,), generator=draw)
        low = torch.rand(r, 2, generator=draw) * 0.6
        seen = patterns[0, objects] + patterns[1, attributes] + 0.3 * torch.randn(r, width, generator=draw)  # [r, F]
        made.append(
            {
                "image_id": picture,
                "regions": seen,
                "boxes": torch.cat([low, low + 0.1 + 0.3 * torch.rand(r, 2, generator=draw)], 1),  # [r, 4]
                "objects": objects,
                "attributes": torch.where(torch.rand(r, generator=draw) < 0.25, NONE, attributes),
                "object_confidence": torch.rand(r, generator=draw),
                "attribute_confidence": torch.rand(r, generator=draw),
            }
        )
    names = [[f"{kind} {i}" for i in range(classes)] for kind in ("object", "attribute")]
    return stack_pictures(made, *names)
