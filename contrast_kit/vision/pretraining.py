"""Words and pictures: LXMERT's masked words, masked regions and matching; and CAPT's contrast of pairs on top of them.

Pre-training of "LXMERT: Learning Cross-Modality Encoder Representations from Transformers" (Tan & Bansal 2019), on
which section 4 of "CAPT: Contrastive Pre-Training for Learning Denoised Sequence Representations" builds.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit.checks import Probability, Settings, floats
from contrast_kit.encoder.encoder import View
from contrast_kit.masking.noise import Noise, named
from contrast_kit.objectives.base import Objective, mlm_count, mlm_sum, texts_of
from contrast_kit.objectives.capt import CAPT, CAPTConfig
from contrast_kit.vision import losses
from contrast_kit.vision.encoder import States
from contrast_kit.vision.noise import MaskPair, mismatched

NAMES = ("objects", "attributes")
"""What a detector names in a region: the keys of its labels in a batch."""
RELEASED_SHARE = 0.15
"""LXMERT's code averages region losses over all regions and multiplies by 1/0.15."""


@dataclass(frozen=True)
class LXMERTConfig(Settings):
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
    mismatch: Probability = 0.5
    """Share of the pictures that get another picture's text, for image-text matching. LXMERT: 0.5. 0: no such loss."""
    recover_mismatched: bool = True
    """Whether masked words and regions of a mismatched pair are to be recovered too. LXMERT's code: True. There the
    picture does not help to find a word: half of the examples teach the model to ignore it."""
    qa: bool = False
    """Answer the questions among the texts (`answer_scores` in the batch). LXMERT: True. CAPT prints "three other
    pre-training tasks", without this one: False."""

    def __post_init__(self) -> None:
        super().__post_init__()
        named(self.noise)


class LXMERT(Objective):
    """Recover masked words and regions, and tell whether text and picture match: L = L_MLM + L_MRM + L_ITM (+ L_QA).

    One view, `"noisy"`: some pictures get another picture's text (`vision.mismatched`), and then the
    noise falls on the pair as it is. The local losses, each a mean, are simply summed:

    * `mlm`: the masked words;
    * `objects`, `attributes`, `features`: the masked regions (`vision.losses`), each where the batch has its labels;
    * `itm`: matched or not, a softmax over two; `itm_accuracy` is logged beside it;
    * `qa`, if asked for: the answer, on matched pairs.

    No contrast, so chunks are free. Batches are those of `data.Regions`; the encoder is a `CrossModalEncoder`.

    Relation to its neighbours: `CAPTPairs` adds the contrast; `MLM` on the same encoder reads whole pictures and
    recovers words alone. `Answer` and `TwoPictures` fine-tune what it has trained.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"text": "the red kite flies", "image_id": 0}, {"text": "a small drum", "image_id": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, ck.data.scenes.pictures())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=64, objects=14, attributes=8)
        >>> sorted(ck.vision.LXMERT(encoder)(pairs.batch([0, 1])))
        ['attributes', 'features', 'itm', 'itm_accuracy', 'loss', 'mlm', 'objects']
    """

    Config = LXMERTConfig
    in_tables = "LXMERT"
    contrastive = False

    @property
    def weights(self):
        """1 each, "the sum of all the above training objectives" (CAPT 4.1)."""
        return dict.fromkeys(("mlm", *NAMES, "features", "itm", "qa"), 1.0)

    def views(self, batch, generator=None):
        pairs = self.pairs(batch, generator)
        return {
            "noisy": named(self.config.noise)(pairs, generator, self.encoder.vocabulary)
        }

    def pairs(self, batch, generator):
        """The batch in which some pictures have another picture's text, with `matched` [B]."""
        return mismatched(batch, self.config.mismatch, generator=generator)

    def states(self, name, view):
        """The states of the words, [B, T, D], and of the regions, [B, R, D]."""
        return self.encoder.states(view)

    def local_sums(self, name, hidden, view):
        return self.pair_sums(hidden, view)

    def term_counts(self, name, view):
        return self.pair_counts(view)

    def pair_sums(self, states: States, view: View) -> dict[str, Tensor]:
        """The local losses of a noisy view, summed, by name; `pair_counts` has the same names."""
        sums = {}
        if "targets" in view:
            sums["mlm"] = mlm_sum(
                self.encoder,
                states.words,
                view | {"selected": selected_words(self.config, view)},
            )
        if "region_targets" in view:
            sums |= self.region_sums(states.regions, view)
        if self.config.mismatch:
            # [B, 2], [B]
            logits, matched = self.encoder.match_logits(states.words), view["matched"]
            sums["itm"] = nn.functional.cross_entropy(
                floats(logits, "logits"), matched, reduction="sum"
            )
            sums["itm_accuracy"] = (logits.argmax(1) == matched).sum().to(sums["itm"])
        if self.config.qa:
            asked = asks(view)  # [B]
            logits = self.encoder.answer_logits(states.words)[asked]  # [B, A] -> [M, A]
            sums["qa"] = losses.one_answer(
                logits, view["answer_scores"][asked], reduction="sum"
            )
        return sums

    def region_sums(self, regions: Tensor, view: View) -> dict[str, Tensor]:
        """The losses on what the chosen regions show. The region head runs at these alone."""
        drawn, to_name = selected_regions(self.config, view)  # [B, R] each
        # [B, R, D] -> [M, D] -> [M, C]
        shown = self.encoder.region_logits(regions[to_name])
        sums = {}
        for key in NAMES:
            if key in view:
                confidence = None
                if self.config.confidence:
                    confidence = view[f"{key[:-1]}_confidence"][to_name]  # [M]
                sums[key] = losses.masked_objects(
                    shown[key], view[key][to_name], confidence=confidence, reduction="sum"
                )
        # [M, F] each
        predicted, targets = (
            shown["features"][drawn[to_name]],
            view["region_targets"][drawn],
        )
        return sums | {
            "features": losses.masked_features(predicted, targets, reduction="sum")
        }

    def pair_counts(self, view: View) -> dict[str, Tensor]:
        """How many terms each of `pair_sums` has."""
        counts = {}
        if "targets" in view:
            counts["mlm"] = mlm_count({"selected": selected_words(self.config, view)})
        if "region_targets" in view:
            drawn, to_name = selected_regions(self.config, view)  # [B, R] each
            of_regions = {
                key: (view[key][to_name] != -100).sum() for key in NAMES if key in view
            }
            of_regions["features"] = drawn.sum()
            if self.config.regions == "lxmert":
                of_regions = dict.fromkeys(of_regions, to_name.sum() * RELEASED_SHARE)
            counts |= of_regions
        if self.config.mismatch:
            counts |= dict.fromkeys(("itm", "itm_accuracy"), texts_of(view))
        if self.config.qa:
            counts["qa"] = asks(view).sum()
        return counts


def selected_words(config: LXMERTConfig, view: View) -> Tensor:
    """The words to recover, [B, T]."""
    if config.recover_mismatched:
        return view["selected"]
    return view["selected"] & view["matched"].bool()[:, None]


def selected_regions(config: LXMERTConfig, view: View) -> tuple[Tensor, Tensor]:
    """The regions whose feature is to be recovered, and those to name, which include the former, [B, R] each."""
    drawn, real = view["region_selected"], view["region_mask"].bool()
    if not config.recover_mismatched:
        matched = view["matched"].bool()[:, None]
        drawn, real = drawn & matched, real & matched
    return drawn, real if config.regions == "lxmert" else drawn


def asks(view: View) -> Tensor:
    """The examples with an answer to learn, [B]: a matched pair whose text is a question with a known answer."""
    return view["matched"].bool() & (view["answer_scores"] > 0).any(1)


@dataclass(frozen=True)
class CAPTPairsConfig(LXMERTConfig, CAPTConfig):
    """The settings of `CAPTConfig` and of `LXMERTConfig`; the ones below differ in default or meaning."""

    noise: str | Noise = MaskPair(which="either")
    """What turns x into x̂. Paper (4.1): "masking part of visual features or textual words"; it prints no rates. Here
    15 %, as in section 3.1, of one of the two in each example."""
    mlm: bool = True
    """All local losses on x̂: MLM, MRM, ITM. False: the contrast alone; then take `mismatch=0` too."""
    queue: int = 8192
    """Capacity of the memory queue in vectors. Paper: 8192, eight steps of its batch of 512. In a trial (one seed,
    not recorded) a queue of four steps, from random weights, collapsed: the contrast fell back to the logarithm of the
    number of its candidates, with all vectors equal, and image-text matching, which reads the same [CLS], stayed at
    chance. For a small model take `queue=0`."""
    ignore_duplicates: bool = True
    """True: pairs of one picture are not negatives of each other, in batch or queue; all its captions are true of it.
    Paper: eq. 2 leaves nothing out; its data has five captions and many questions for each picture."""


class CAPTPairs(CAPT):
    """Learn vectors of pairs that do not follow the noise: L = L_MLM + L_MRM + L_ITM + L_capt (CAPT, section 4).

    Views: `"clean"`, the pair x, and `"noisy"`, its corrupted version x̂. Image-text matching first gives some pictures
    another picture's text, and **both** views are of the pair after that: a wrong pair is corrupted as it is, else its
    two views would mean different things. Local losses: `LXMERT`'s, on x̂ alone. Contrast: `CAPT`'s, with its queue and
    temperature, on [CLS].

    In the denominator of an anchor: 2n - 1 + Q terms, less those of `ignore_duplicates`. `facts` say what is the same:
    `text_id` is the picture's `image_id` for a matched pair, and for a mismatched one an id of that text with that
    picture. So two captions of one picture are not negatives, but a wrong caption of it is one.

    It encodes each pair twice where `LXMERT` does once: equal steps mean twice the passes.

    Relation to its neighbours: `contrast_weight=0` is `LXMERT`; `CAPT` reads texts alone.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"text": "the red kite flies", "image_id": 0}, {"text": "a small drum", "image_id": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, ck.data.scenes.pictures())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=64, objects=14, attributes=8)
        >>> sorted(ck.vision.CAPTPairs(encoder, queue=0)(pairs.batch([0, 1])))
        ['attributes', 'contrast', 'features', 'itm', 'itm_accuracy', 'loss', 'mlm', 'objects', 'tau']
    """

    Config = CAPTPairsConfig
    in_tables = "CAPT for pairs"
    states, pairs, pair_sums = LXMERT.states, LXMERT.pairs, LXMERT.pair_sums
    region_sums, pair_counts = LXMERT.region_sums, LXMERT.pair_counts

    @classmethod
    def paper(cls) -> CAPTPairsConfig:
        """The objective of section 4.1, with the printed sums of eq. 2 to 4; it goes with `CrossModalEncoder.lxmert`.

        It predicts "region objects"; where a batch has them there are also losses on features,
        as in LXMERT's paper, and on attributes, as in its code.
        """
        return CAPTPairsConfig(
            tau="adaptive", queue=8192, reduction="sum", ignore_duplicates=False
        )

    @property
    def weights(self):
        contrast = {"contrast": self.config.contrast_weight}
        return LXMERT.weights.fget(self) | contrast if self.config.mlm else contrast

    def views(self, batch, generator=None):
        pairs = self.pairs(batch, generator)
        return {
            "clean": pairs,
            "noisy": named(self.config.noise)(pairs, generator, self.encoder.vocabulary),
        }

    def vectors(self, name, hidden, view):
        return super().vectors(name, hidden.words, view)

    def local_sums(self, name, hidden, view):
        return self.pair_sums(hidden, view) if self._has_local_losses(name, view) else {}

    def term_counts(self, name, view):
        return self.pair_counts(view) if self._has_local_losses(name, view) else {}

    def _has_local_losses(self, name: str, view: View) -> bool:
        return name == "noisy" and self.config.mlm

    def facts(self, batch, views):
        """Of each pair as it is in the views: `matched`, `image_id`, and, in `text_id`, what counts as the same."""
        facts = super().facts(views["clean"], views)
        if "text_id" in facts:
            picture = batch.get("image_id", batch["text_id"])  # [B]
            own = -2 - (picture * 2**31 + facts["text_id"])  # -1 is the queue's "unknown"
            facts["text_id"] = torch.where(facts["matched"].bool(), picture, own)  # [B]
        return facts
