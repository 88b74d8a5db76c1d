"""What two networks do with one sentence: hide, draw, read and correct, and the vectors of the views."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from contrast_kit import masking
from contrast_kit.checks import normalise
from contrast_kit.data.texts import frame_of, special_ids
from contrast_kit.encoder.encoder import Encoder, evaluating
from contrast_kit.objectives.auxiliary import Auxiliary
from contrast_kit.objectives.coco_lm import COCOLM, p_lm

MOST, BEST = 64, 5  # tokens of a sentence, words named at a place
RATIO = 100
"""An encoder without a copy head changes a word where another one is this many times as probable."""

KINDS = {
    "left": "left alone",
    "same": "hidden, and drawn as it had been",
    "restored": "replaced, and restored",
    "wrong": "replaced, and turned into yet another word",
    "missed": "replaced, and not noticed",
    "spoiled": "right, and changed without need",
    "special": "no word",
}


class Worked(NamedTuple):
    """What happened to each of T tokens; the rows are the sentence, what stayed visible, X^MLM, its correction."""

    rows: list[list[str]]
    hidden: list[bool]
    kinds: list[str]  # of `KINDS`
    drawn: list[list[tuple[str, float]]]  # the small network's most probable words where it drew one, else none
    read: list[list[tuple[str, float]]]  # the large network's
    here: list[float]  # the large network's probability of the word in the corrupted sentence
    crop: list[str]
    vectors: Tensor  # [3, D], of length 1: the sentence, X^MLM, X^crop


class Networks:
    """A small network that draws words and a large one that reads: those of a COCOLM, or one encoder as both.

    Raises a TypeError for anything else, and a ValueError for a COCOLM whose contrast has a head of its own: the panel
    shows the vectors of the encoder.
    """

    def __init__(self, model: Any):
        if isinstance(model, COCOLM) and model.copy_head is not None:
            if model.scl_head is not None:
                raise ValueError("With scl_head=True the contrast is not on the encoder's own vectors: leave it out.")
            self.encoder, self.small, self.copy_head = model.encoder, model.auxiliary, model.copy_head
        elif isinstance(model, Encoder):
            self.encoder, self.small, self.copy_head = model, Auxiliary(model), None
        else:
            raise TypeError(
                "The panel shows an Encoder that has learned masked language modelling, or an objectives.COCOLM with "
                f"its copy head, not {type(model).__name__}."
            )

    @torch.no_grad()
    def work(self, sentence: str, p_m: float, keep: float, seed: int) -> Worked:
        """Hide words with probability p_m, draw others, read and correct them; and crop the sentence to `keep`.

        Raises a ValueError for a sentence without a word, or of more than `MOST` tokens.
        """
        encoder, tokenizer = self.encoder, self.encoder.tokenizer
        ids = torch.tensor([tokenizer(sentence)["input_ids"]])  # [1, T]
        words = ~torch.isin(ids, torch.tensor(special_ids(tokenizer)))
        if not words.any():
            raise ValueError("Type a sentence: there is no word yet that could be hidden.")
        if ids.shape[1] > min(MOST, encoder.max_length):
            raise ValueError(f"There is room for {min(MOST, encoder.max_length)} tokens, this has {ids.shape[1]}.")
        with evaluating(encoder, self.small):
            return self._work(ids.to(encoder.device), words.to(encoder.device), p_m, keep, seed)

    def _work(self, ids: Tensor, words: Tensor, p_m: float, keep: float, seed: int) -> Worked:
        encoder, draw = self.encoder, torch.Generator(self.encoder.device).manual_seed(int(seed))
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        options = dict(split=(1.0, 0.0, 0.0), generator=draw, **encoder.vocabulary)
        masked = masking.masked_view(batch, masking.dynamic_random_mask(ids, words, p_m, **options))
        corrupted = self.small.sample(masked, draw)  # [1, T]
        small = getattr(self.small, "encoder", None)  # uniform draws use no network
        hidden = masked["selected"][0]
        drawn = torch.zeros(0) if small is None else small.mlm_logits(small(masked)[0][hidden]).softmax(-1)  # [M, V]
        read, corrected = self._read(corrupted[0], words[0])  # [T, V], [T]
        how = dict(pad_id=encoder.tokenizer.pad_token_id, specials=frame_of(encoder.tokenizer), generator=draw)
        crop = masking.crop(ids, batch["attention_mask"], keep, **how)
        before, after = how["specials"]
        kept = crop.input_ids[0][crop.attention_mask[0].bool()]
        views = [
            batch,
            batch | {"input_ids": corrupted},
            {"input_ids": crop.input_ids, "attention_mask": crop.attention_mask},
        ]
        vectors = torch.cat([encoder.pool(encoder(view), view) for view in views])  # [3, D]
        place = iter(range(len(drawn)))
        return Worked(
            rows=[self._tokens(row) for row in (ids[0], masked["input_ids"][0], corrupted[0], corrected)],
            hidden=hidden.tolist(),
            kinds=_kinds(ids[0], corrupted[0], corrected, hidden, words[0]),
            drawn=[self._best(drawn[i]) if h and (i := next(place, None)) is not None else [] for h in hidden.tolist()],
            read=[self._best(p) if word else [] for p, word in zip(read, words[0].tolist(), strict=True)],
            here=read.gather(1, corrupted[0][:, None]).squeeze(1).tolist(),
            crop=self._tokens(kept[before : len(kept) - after]),
            vectors=normalise(vectors.float(), "vectors"),
        )

    def _read(self, ids: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """The large network's probabilities [T, V] at each token of the corrupted sentence [T], and its correction."""
        encoder, batch = self.encoder, {"input_ids": ids[None], "attention_mask": torch.ones_like(ids)[None]}
        if self.copy_head is not None:
            states = encoder(batch)[0]  # [T, D]
            found = p_lm(encoder.mlm_logits(states), self.copy_head(states), ids)  # [T, V]
            return found, torch.where(words, found.argmax(-1), ids)
        at = words.nonzero().squeeze(1)  # [W]
        covered = ids.expand(len(at), -1).clone()  # [W, T]
        covered[torch.arange(len(at)), at] = encoder.tokenizer.mask_token_id
        states = encoder({"input_ids": covered, "attention_mask": torch.ones_like(covered)})  # [W, T, D]
        logits = encoder.mlm_logits(states[torch.arange(len(at)), at])  # [W, D] -> [W, V]
        found = logits.new_zeros(len(ids), logits.shape[1])  # [T, V]
        found[at] = logits.softmax(-1)
        best, here = found.max(-1), found.gather(1, ids[:, None]).squeeze(1)
        return found, torch.where(words & (best.values > RATIO * here), best.indices, ids)

    def _best(self, probabilities: Tensor) -> list[tuple[str, float]]:
        best = probabilities.topk(min(BEST, len(probabilities)))
        return list(zip(self._tokens(best.indices), best.values.tolist(), strict=True))

    def _tokens(self, ids: Tensor) -> list[str]:
        return [
            token.replace("Ġ", "").replace("▁", "")
            for token in self.encoder.tokenizer.convert_ids_to_tokens(ids.tolist())
        ]


def _kinds(original: Tensor, corrupted: Tensor, corrected: Tensor, hidden: Tensor, words: Tensor) -> list[str]:
    kinds = []
    for before, drawn, after, was_hidden, is_word in zip(
        *(x.tolist() for x in (original, corrupted, corrected, hidden, words)), strict=True
    ):
        if not is_word:
            kinds.append("special")
        elif drawn != before:
            kinds.append("restored" if after == before else "missed" if after == drawn else "wrong")
        elif after != before:
            kinds.append("spoiled")
        else:
            kinds.append("same" if was_hidden else "left")
    return kinds
