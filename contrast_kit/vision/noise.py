"""Noise on pictures, and on words and pictures together: CAPT's x̂ of a pair (section 4.1), after LXMERT.

A pair is a text beside a picture, and a picture is its regions: a batch has, besides the keys of a text,

| key | shape | what |
|---|---|---|
| `regions` | [B, R, F] float | a feature of each region |
| `boxes` | [B, R, 4] float | its corners x1, y1, x2, y2, as shares of the picture's width and height |
| `region_mask` | [B, R] | 1 for a region, 0 for padding |
| `image_id` | [B] long, ≥ 0 | equal for equal pictures |

`MaskRegions` and `MaskPair` are noises as in `masking.noise`: (batch, generator, vocabulary) → view. `mismatched`
makes the wrong pairs of image-text matching.

Letters: B examples, R regions, F features of a region, N regions of a batch.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.checks import Probability, Settings
from contrast_kit.masking.masks import BERT_SPLIT, check_split
from contrast_kit.masking.noise import Batch, Noise, Vocabulary, named

PICTURE = ("regions", "boxes", "region_mask")
"""The keys of a batch that an encoder reads of the picture."""
TEXT = ("input_ids", "attention_mask", "maskable", "token_type_ids", "text_id")
"""The keys of a batch that belong to the text, and move with it."""


@dataclass(frozen=True)
class MaskRegions(Settings):
    """Select regions at random, and hide the feature of most. LXMERT's "masked object prediction", on pictures alone.

    Each real region is drawn with probability p. Of the drawn, 80 % are hidden, 10 % get the feature of a region of
    *another picture* of the batch (without one they are hidden), and 10 % stay. All boxes stay: they tell the places.

    The view has `region_selected` [B, R] bool, what was drawn and is to be recovered; `region_targets` [B, R, F], the
    features before; and `region_hidden` [B, R] bool. A hidden feature is zero here, so that nothing of it is left, and
    an encoder puts a *learned* vector there. (LXMERT leaves the zero. Its first layer maps it to the bias, which also
    begins at zero, and a LayerNorm divides by that: the first gradient is some thousand times too large.)

    Boxes that overlap show the same pixels. So a region that was not replaced is hidden too where its box has an IoU
    above `overlap` with one that was hidden or replaced; it is to be recovered only if it was drawn itself.

    >>> import torch
    >>> left, over, right = [0.0, 0.0, 0.4, 1.0], [0.0, 0.0, 0.5, 1.0], [0.6, 0.0, 1.0, 1.0]  # `over` lies over `left`
    >>> batch = {"regions": torch.ones(1, 3, 2), "boxes": torch.tensor([[left, over, right]])}
    >>> batch["region_mask"] = torch.ones(1, 3, dtype=torch.long)
    >>> view = MaskRegions(p=0.4)(batch, torch.Generator().manual_seed(5))
    >>> view["region_selected"], view["region_hidden"]
    (tensor([[False,  True, False]]), tensor([[ True,  True, False]]))
    """

    p: Probability = 0.15
    """Probability that a region is drawn. LXMERT: 0.15; CAPT prints it for words only, 0.15."""
    split: tuple[float, float, float] = BERT_SPLIT
    """Of the drawn: share that is hidden, gets another picture's feature, or stays. LXMERT's code: 80/10/10."""
    overlap: Probability = 0.4
    """The IoU above which a region is hidden along with another. Not in LXMERT, whose boxes overlap and are masked one
    by one; 0.4 is that of Lu et al. 2020, "12-in-1". 1: none is hidden along with another."""

    def __post_init__(self):
        super().__post_init__()
        check_split(self.split)

    def __call__(
        self,
        batch: Batch,
        generator: torch.Generator | None,
        vocabulary: Vocabulary | None = None,
    ) -> dict[str, Tensor]:
        features = batch["regions"]
        boxes = batch["boxes"]
        real = batch["region_mask"].bool()
        # [B, R]: decides as in masks
        u = torch.rand(real.shape, generator=generator, device=real.device)
        # [B, R, F], [B]
        others, donors = _features_of_other_pictures(batch, real, generator)
        to_hide, _, to_keep = self.split
        drawn = real & (u < self.p)
        hidden = drawn & (u < self.p * to_hide)
        replaced = drawn & (u < self.p * (1 - to_keep)) & ~hidden
        # No other picture.
        hidden = hidden | (replaced & ~donors[:, None])
        replaced = replaced & donors[:, None]
        # [B, R, R]
        near = (overlaps(boxes) > self.overlap) & (hidden | replaced)[:, None, :]
        hidden = hidden | (near.any(2) & real & ~replaced)  # [B, R]
        # [B, R, F]
        noisy = torch.where(replaced[..., None], others, features).masked_fill(
            hidden[..., None], 0.0
        )
        return {
            **batch,
            "regions": noisy,
            "region_hidden": hidden,
            "region_selected": drawn,
            "region_targets": features,
        }


@dataclass(frozen=True)
class MaskPair(Settings):
    """Noise on the words or on the regions of a pair: CAPT's x̂, "masking part of visual features or textual words".

    CAPT 4.1 does not say whether one example may lose both. `which="either"` flips a coin for each example; "both" puts
    both noises on every example, as LXMERT's code does. A word that is masked along with its region can be read off
    neither.

    The view has the keys of the words' noise (`selected`, `targets`) and those of `MaskRegions`.

    >>> import torch
    >>> from contrast_kit.masking.noise import Mask
    >>> ids = torch.tensor([[1, 11, 12, 2]])
    >>> batch = {"input_ids": ids, "maskable": ids > 2, "regions": torch.ones(1, 1, 2)}
    >>> batch |= {"boxes": torch.tensor([[[0.0, 0.0, 0.5, 0.5]]]), "region_mask": torch.ones(1, 1)}
    >>> noise = MaskPair(words=Mask(p=1.0), regions=MaskRegions(p=1.0))
    >>> view = noise(batch, torch.Generator().manual_seed(0), {"mask_id": 3, "vocab_size": 20})
    >>> view["selected"].any().item(), view["region_selected"].any().item()  # the coin said: words
    (True, False)
    """

    words: str | Noise = "mask"
    """The noise on the text: a name, or any noise of `noise`."""
    regions: MaskRegions = MaskRegions()
    """The noise on the picture."""
    which: Literal["either", "both"] = "either"
    """Whether one example gets either or both."""

    def __post_init__(self):
        super().__post_init__()
        named(self.words)

    def __call__(
        self,
        batch: Batch,
        generator: torch.Generator | None,
        vocabulary: Vocabulary,
    ) -> dict[str, Tensor]:
        words = named(self.words)(batch, generator, vocabulary)
        picture = self.regions(batch, generator)
        if self.which == "either":
            # [B]
            heads = (
                torch.rand(
                    len(batch["regions"]),
                    generator=generator,
                    device=batch["regions"].device,
                )
                < 0.5
            )
            words = _undone(words, batch, ~heads)
            picture = _undone(picture, batch, heads)
        return picture | words | {"regions": picture["regions"]}


def mismatched(
    batch: Batch, p: float = 0.5, *, generator: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Give some pictures the text of another picture: the wrong pairs of image-text matching (LXMERT 3.1.3).

    Each example, with probability p, keeps its picture and gets the text of another example, drawn among those of
    *other pictures*. Two captions of one picture are both true of it. So may be the caption of another picture: where
    the batch has `true_of` [B, B] bool (row i, column j: text i is true of picture j), such a text is not drawn.

    Args:
        batch: a batch of pairs; without `image_id` all its pictures count as different.
        p: LXMERT: 0.5. With 0, no text is swapped.
        generator: where the draws come from.

    Returns:
        The batch without `true_of`, the text keys (`TEXT`) of the swapped rows replaced, and `matched` [B] long, 1
        where text and picture belong together. An example for which the batch has no other text stays as it is.
        Answers, labels and regions stay those of the picture: an answer means nothing where `matched` is 0.

    Example:
        >>> import torch
        >>> batch = {"input_ids": torch.tensor([[7], [8], [9]]), "image_id": torch.tensor([0, 0, 1])}
        >>> batch |= {"regions": torch.ones(3, 1, 2), "region_mask": torch.ones(3, 1)}
        >>> batch["boxes"] = torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(3, 1, 4)
        >>> view = mismatched(batch, p=1.0, generator=torch.Generator().manual_seed(0))
        >>> view["input_ids"].flatten(), view["matched"]  # rows 0 and 1 show one picture, so both get row 2's
        (tensor([9, 9, 7]), tensor([0, 0, 0]))
    """
    checks.probability("p", p)
    device, size = batch["regions"].device, len(batch["regions"])
    pictures = batch.get("image_id", torch.arange(size, device=device))  # [B]
    allowed = pictures[:, None] != pictures[None, :]  # [B, B]: picture i, text j
    if "true_of" in batch:
        allowed &= ~batch["true_of"].T
    u = torch.rand(size, generator=generator, device=device)  # [B]
    v = torch.rand(size, size, generator=generator, device=device)  # [B, B]
    swapped = (u < p) & allowed.any(1)  # [B]
    # [B]
    source = torch.where(
        swapped,
        v.masked_fill(~allowed, -1.0).argmax(1),
        torch.arange(size, device=device),
    )
    view = {key: value for key, value in batch.items() if key != "true_of"}
    for key in TEXT:
        if key in view:
            view[key] = view[key][source]
    return view | {"matched": (~swapped).long()}


def overlaps(boxes: Tensor) -> Tensor:
    """IoU of every two boxes of a picture: the area they share over the area of both, [..., R, 4] → [..., R, R].

    >>> import torch
    >>> overlaps(torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.25, 0.0, 0.75, 1.0]]))
    tensor([[1.0000, 0.3333],
            [0.3333, 1.0000]])
    """
    boxes = checks.floats(boxes, "boxes")
    # [..., R, R, 2]
    low = torch.maximum(boxes[..., :, None, :2], boxes[..., None, :, :2])
    high = torch.minimum(boxes[..., :, None, 2:], boxes[..., None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)  # [..., R, R]
    area = (boxes[..., 2:] - boxes[..., :2]).prod(-1)  # [..., R]
    return shared / (area[..., :, None] + area[..., None, :] - shared).clamp(
        min=torch.finfo(boxes.dtype).tiny
    )


def check_pair(batch: Batch, width: int | None = None) -> None:
    """Raise a ValueError for a batch whose pictures an encoder would read wrongly.

    A key is missing; features are not `width` wide, or NaN. `Pictures` checks boxes and padding.
    """
    missing = [key for key in PICTURE if key not in batch]
    if missing:
        raise ValueError(
            f"A pair of text and picture needs {', '.join(PICTURE)}, and this batch has no {missing[0]}: make it with "
            "data.Regions; region_mask says which regions are not padding."
        )
    features = batch["regions"]
    if width is not None and features.shape[2] != width:
        raise ValueError(
            f"These regions have {features.shape[2]} features each, but the encoder was built for {width}: build it "
            f"with features={features.shape[2]}, or use the detector it was trained with."
        )
    if checks.reads(features) and not torch.isfinite(features).all():
        raise ValueError(
            "A region has NaN or infinity among its features: leave it out, or look at the detector."
        )


def _features_of_other_pictures(batch, real, generator):
    """For each place one region of another picture, drawn uniformly, [B, R, F]; and whether there is one, [B]."""
    pictures = batch.get("image_id", torch.arange(len(real), device=real.device))  # [B]
    shown = pictures[:, None].expand_as(real)[real]  # [N]: the picture of each region
    candidates = pictures[:, None] != shown[None, :]  # [B, N]
    any_other = candidates.any(1)  # [B]
    weights = (candidates | ~any_other[:, None]).float()  # a row must not be all zero
    # [B, N] -> [B, R]
    drawn = torch.multinomial(
        weights, real.shape[1], replacement=True, generator=generator
    )
    return batch["regions"][real][drawn], any_other  # [B, R, F] -> [N, F] -> [B, R, F]


def _undone(view, batch, rows):
    """The view with the noise undone in some rows [B]: their entries are the batch's, their flags False."""
    undone = dict(view)
    for key, value in view.items():
        here = rows.view(-1, *[1] * (value.dim() - 1))  # [B, 1, ...]
        if key in batch:
            undone[key] = torch.where(here, batch[key], value)
        elif value.dtype == torch.bool:
            undone[key] = value & ~here
    return undone
