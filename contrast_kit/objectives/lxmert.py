"""LXMERT: masked words, masked regions, and whether text and picture match.

Pre-training of "LXMERT: Learning Cross-Modality Encoder Representations from Transformers" (Tan & Bansal 2019), on
which CAPT builds for words and pictures (section 4.1).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks, losses
from contrast_kit.encoder.cross_modal import CrossModalEncoder, States
from contrast_kit.encoder.encoder import View
from contrast_kit.masking.noise import Noise, named
from contrast_kit.masking.regions import MaskPair, mismatched
from contrast_kit.objectives.base import Objective, mlm_count, mlm_sum

NAMES = {"objects": losses.masked_objects, "attributes": losses.masked_attributes}
"""What a detector names in a region: the key of its labels in a batch, and the loss."""
RELEASED_SHARE = 0.15
"""LXMERT's code averages region losses over all regions and multiplies by 1/0.15."""


@dataclass(frozen=True)
class LXMERTConfig:
    """What LXMERT's pre-training leaves to choose; the defaults are its paper's, but for overlapping boxes."""

    noise: str | Noise = MaskPair(which="both")
    """What hides words and regions. LXMERT's code: 15 % of both at once, 80/10/10. `MaskRegions()` alone, or a noise on
    words alone, such as "mask", leaves out the losses on the other kind."""
    regions: Literal["masked", "lxmert"] = "masked"
    """Where the losses on objects and attributes fall. "masked": on the masked regions, as both papers print. "lxmert":
    on *all* regions, times 1/0.15, as its released code has it; there the input shows the answer, and the model
    learns to copy."""
    confidence: bool = True
    """Weight each object and attribute by the detector's confidence. LXMERT's code: True; the papers print nothing."""
    mismatch: float = 0.5
    """Share of the pictures that get another picture's text, for image-text matching. LXMERT: 0.5. 0: no such loss."""
    recover_mismatched: bool = True
    """Whether masked words and regions of a mismatched pair are to be recovered too. LXMERT's code: True. There the
    picture does not help to find a word: half of the examples teach the model to ignore it."""
    qa: bool = False
    """Answer the questions among the texts (`answer_scores` in the batch). LXMERT: True. CAPT prints "three other
    pre-training tasks", without this one: False."""

    def __post_init__(self):
        named(self.noise)
        checks.choice("regions", self.regions, ("masked", "lxmert"))
        checks.probability("mismatch", self.mismatch)


class LXMERT(Objective):
    """Recover masked words and regions, and tell whether text and picture match: L = L_MLM + L_MRM + L_ITM (+ L_QA).

    One view, `"noisy"`: some pictures get another picture's text (`masking.regions.mismatched`), and then the
    noise falls on the pair as it is. The local losses, each a mean, are simply summed:

    * `mlm`: the masked words;
    * `objects`, `attributes`, `features`: the masked regions (`losses.regions`), each where the batch has its labels;
    * `itm`: matched or not, a softmax over two; `itm_accuracy` is logged beside it;
    * `qa`, if asked for: the answer, on matched pairs.

    No contrast, so chunks are free. Batches are those of `data.Regions`; the encoder is a `CrossModalEncoder`.

    Relation to its neighbours: `CAPTPairs` adds the contrast; `MLM` on the same encoder reads whole pictures and
    recovers words alone. `Answer` and `TwoPictures` fine-tune what it has trained.

    Raises TypeError for an encoder of texts, ValueError for a batch without pictures, and for `qa` without answers.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.data.pictures import random_pictures
        >>> rows = [{"text": "the red kite flies", "image_id": 0}, {"text": "a small drum", "image_id": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, random_pictures().standardised())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4)
        >>> sorted(ck.objectives.LXMERT(encoder)(pairs.batch([0, 1])))
        ['attributes', 'features', 'itm', 'itm_accuracy', 'loss', 'mlm', 'objects']
    """

    Config = LXMERTConfig
    in_tables = "LXMERT"
    contrastive = False

    def build(self) -> None:
        check_reads_pairs(self)

    @property
    def weights(self) -> dict[str, float]:
        """1 each, "the sum of all the above training objectives" (CAPT 4.1)."""
        return dict.fromkeys(("mlm", *NAMES, "features", "itm", "qa"), 1.0)

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        pairs = self.pairs(batch, generator)
        return {"noisy": named(self.config.noise)(pairs, generator, self.encoder.vocabulary)}

    def pairs(self, batch: View, generator: torch.Generator | None) -> View:
        """The batch in which some pictures have another picture's text, with `matched` [B]."""
        if self.config.qa and "answer_scores" not in batch:
            raise ValueError(
                "qa=True needs answer_scores [B, A] in the batch, a row of zeros for a text that asks none."
            )
        return mismatched(batch, self.config.mismatch, generator=generator)

    def states(self, name: str, view: View) -> States:
        """The states of the words, [B, T, D], and of the regions, [B, R, D]."""
        return self.encoder.states(view)

    def local_sums(self, name: str, hidden: States, view: View) -> dict[str, Tensor]:
        return self.pair_sums(hidden, view)

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return self.pair_counts(view)

    def pair_sums(self, states: States, view: View) -> dict[str, Tensor]:
        """The local losses of a noisy view, summed, by name; `pair_counts` has the same names."""
        found = {}
        if "targets" in view:
            found["mlm"] = mlm_sum(self.encoder, states.words, view | {"selected": selected_words(self.config, view)})
        if "region_targets" in view:
            found |= self.region_sums(states.regions, view)
        if self.config.mismatch:
            logits, matched = self.encoder.match_logits(states.words), view["matched"]  # [B, 2], [B]
            found["itm"] = nn.functional.cross_entropy(checks.floats(logits, "logits"), matched, reduction="sum")
            found["itm_accuracy"] = (logits.argmax(1) == matched).sum().to(found["itm"])
        if self.config.qa:
            asked = asks(view)  # [B]
            logits = self.encoder.answer_logits(states.words)[asked]  # [B, A] -> [M, A]
            found["qa"] = losses.one_answer(logits, view["answer_scores"][asked], reduction="sum")
        return found

    def region_sums(self, regions: Tensor, view: View) -> dict[str, Tensor]:
        """The losses on what the chosen regions show. The region head runs at these alone."""
        drawn, named_at = selected_regions(self.config, view)  # [B, R] each
        shown = self.encoder.region_logits(regions[named_at])  # [B, R, D] -> [M, D] -> [M, C]
        found = {}
        for key in [key for key in NAMES if key in view]:
            certain = view.get(f"{key[:-1]}_confidence") if self.config.confidence else None  # [B, R]
            certain = None if certain is None else certain[named_at]  # [M]
            found[key] = NAMES[key](shown[key], view[key][named_at], confidence=certain, reduction="sum")
        predicted, targets = shown["features"][drawn[named_at]], view["region_targets"][drawn]  # [M, F] each
        return found | {"features": losses.masked_features(predicted, targets, reduction="sum")}

    def pair_counts(self, view: View) -> dict[str, Tensor]:
        """How many terms each of `pair_sums` has."""
        found = {}
        if "targets" in view:
            found["mlm"] = mlm_count({"selected": selected_words(self.config, view)})
        if "region_targets" in view:
            drawn, named_at = selected_regions(self.config, view)  # [B, R] each
            shown = {key: (view[key][named_at] != -100).sum() for key in NAMES if key in view}
            shown["features"] = drawn.sum()
            if self.config.regions == "lxmert":
                shown = dict.fromkeys(shown, named_at.sum() * RELEASED_SHARE)
            found |= shown
        size = torch.full((), len(view["matched"]), device=view["matched"].device)
        found |= {"itm": size, "itm_accuracy": size} if self.config.mismatch else {}
        return found | ({"qa": asks(view).sum()} if self.config.qa else {})


def selected_words(config: LXMERTConfig, view: View) -> Tensor:
    """The words to recover, [B, T]."""
    return view["selected"] if config.recover_mismatched else view["selected"] & view["matched"].bool()[:, None]


def selected_regions(config: LXMERTConfig, view: View) -> tuple[Tensor, Tensor]:
    """The regions whose feature is to be recovered, and those to name, which include the former, [B, R] each."""
    drawn, real = view["region_selected"], view["region_mask"].bool()
    if not config.recover_mismatched:
        drawn, real = (at & view["matched"].bool()[:, None] for at in (drawn, real))
    return drawn, real if config.regions == "lxmert" else drawn


def asks(view: View) -> Tensor:
    """The examples with an answer to learn, [B]: a matched pair whose text is a question with a known answer."""
    return view["matched"].bool() & (view["answer_scores"] > 0).any(1)


def check_reads_pairs(objective: Objective) -> None:
    """Refuse an encoder that reads texts only."""
    if not isinstance(objective.encoder, CrossModalEncoder):
        raise TypeError(
            f"{type(objective).__name__} trains a CrossModalEncoder, such as CrossModalEncoder.tiny(tokenizer, "
            f"features=…), not {type(objective.encoder).__name__}: it reads pictures beside the texts."
        )
