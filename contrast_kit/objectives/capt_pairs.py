"""CAPT on words and pictures: LXMERT's local losses, and CAPT's contrast of a pair with its corrupted self.

Section 4 of "CAPT: Contrastive Pre-Training for Learning Denoised Sequence Representations".
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from contrast_kit.encoder.cross_modal import States
from contrast_kit.encoder.encoder import View
from contrast_kit.masking.noise import Noise, named
from contrast_kit.masking.regions import MaskPair
from contrast_kit.objectives.base import ExampleInfo
from contrast_kit.objectives.capt import CAPT, CAPTConfig
from contrast_kit.objectives.lxmert import LXMERT, LXMERTConfig, check_reads_pairs


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

    def __post_init__(self):
        CAPTConfig.__post_init__(self)
        LXMERTConfig.__post_init__(self)


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
        >>> from contrast_kit.data.pictures import random_pictures
        >>> rows = [{"text": "the red kite flies", "image_id": 0}, {"text": "a small drum", "image_id": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, random_pictures().standardised())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4)
        >>> sorted(ck.objectives.CAPTPairs(encoder, queue=0)(pairs.batch([0, 1])))
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
        return CAPTPairsConfig(tau="adaptive", queue=8192, reduction="sum", ignore_duplicates=False)

    def build(self) -> None:
        check_reads_pairs(self)
        super().build()

    @property
    def weights(self) -> dict[str, float]:
        return (LXMERT.weights.fget(self) if self.config.mlm else {}) | {"contrast": self.config.contrast_weight}

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        pairs = self.pairs(batch, generator)
        return {"clean": pairs, "noisy": named(self.config.noise)(pairs, generator, self.encoder.vocabulary)}

    def vectors(self, name: str, hidden: States, view: View) -> dict[str, Tensor]:
        return super().vectors(name, hidden.words, view)

    def local_sums(self, name: str, hidden: States, view: View) -> dict[str, Tensor]:
        return self.pair_sums(hidden, view) if self._has_local_losses(name, view) else {}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return self.pair_counts(view) if self._has_local_losses(name, view) else {}

    def _has_local_losses(self, name: str, view: View) -> bool:
        return name == "noisy" and self.config.mlm

    def facts(self, batch: View, views: dict[str, View]) -> ExampleInfo:
        """Of each pair as it is in the views: `matched`, `image_id`, and, in `text_id`, what counts as the same."""
        facts = super().facts(views["clean"], views)
        if "text_id" in facts:
            picture = batch.get("image_id", batch["text_id"])  # [B]
            own = -2 - (picture * 2**31 + facts["text_id"])  # -1 is the queue's "unknown"
            facts["text_id"] = torch.where(facts["matched"].bool(), picture, own)  # [B]
        return facts
