"""COCO-LM's two networks at work on a typed sentence: one corrupts it, one corrects it, its views are contrasted."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

import contrast_kit as ck
from contrast_kit.data.texts import frame_of
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.explore._panel import (
    TEMPERATURES,
    Panel,
    button,
    control,
    draw_number,
    maskable_in,
    slider,
    view_of,
)
from contrast_kit.objectives.auxiliary import Auxiliary
from contrast_kit.objectives.coco_lm import p_lm

SENTENCE = "The old woman opened the door and walked slowly into the garden."
OTHERS = (
    "The young man closed the window and ran quickly out of the house.",
    "An old woman sat in the garden and read a book.",
    "He opened the letter, and his hands began to tremble.",
    "The children were playing by the river when it began to rain.",
    "Nobody had lived in that house for twenty years.",
    "She told him that she would never come back.",
    "The train left the station at six in the morning.",
    "My brother has always been afraid of dogs.",
    "There was a light in the window of the little church.",
    "The king sent three of his men to the mountain.",
    "It was the best dinner they had eaten for a week.",
    "The doctor shook his head and went away without a word.",
)
ROWS = ("the sentence", "hidden", "corrupted", "corrected")
SHOWN = 6  # other sentences in the list of candidates
MOST, BEST = 64, 5  # tokens of a sentence, words named at a place
RATIO = 100
"""An encoder without a copy head changes a word where another one is this many times as probable."""

KINDS = {
    "left": "left alone",
    "same": "hidden, and drawn as it had been",
    "restored": "replaced, and restored",
    "wrong": "replaced, and turned into yet another word",
    "missed": "replaced, and not noticed",
    "needless": "right, and changed without need",
    "special": "no word",
}


class Worked(NamedTuple):
    """What happened to each of T tokens; the rows are the sentence, what stayed visible, X^MLM, its correction."""

    rows: list[list[str]]
    hidden: list[bool]
    kinds: list[str]  # of `KINDS`
    # The small network's most probable words where it drew one, else none.
    drawn: list[list[tuple[str, float]]]
    read: list[list[tuple[str, float]]]  # the large network's
    # The large network's probability of the word in the corrupted sentence.
    here: list[float]
    crop: list[str]
    vectors: Tensor  # [3, D], of length 1: the sentence, X^MLM, X^crop


class Networks:
    """A small network that draws words and a large one that reads: those of a COCOLM, or one encoder as both."""

    def __init__(self, model: Any):
        if isinstance(model, ck.objectives.COCOLM):
            if model.copy_head is None:
                raise ValueError("The panel shows a COCOLM with a copy head.")
            self.encoder, self.small = model.encoder, model.auxiliary
            self.copy_head = model.copy_head
        else:
            self.encoder, self.small, self.copy_head = model, Auxiliary(model), None

    @torch.no_grad()
    def work(self, sentence: str, p_m: float, keep: float, seed: int) -> Worked:
        """Hide words with probability p_m, draw others, read and correct them; and crop the sentence to `keep`.

        Raises a ValueError for a sentence without a word, or of more than `MOST` tokens.
        """
        encoder, tokenizer = self.encoder, self.encoder.tokenizer
        # [1, T] each
        ids, words = maskable_in(tokenizer, sentence, min(MOST, encoder.max_length))
        ids, words = ids.to(encoder.device), words.to(encoder.device)
        draw = torch.Generator(encoder.device).manual_seed(seed)
        with evaluating(encoder), evaluating(self.small):
            batch = _view(ids)
            options = dict(split=(1.0, 0.0, 0.0), generator=draw, **encoder.vocabulary)
            mask = ck.masking.dynamic_random_mask(ids, words, p_m, **options)
            masked = ck.masking.masked_view(batch, mask)
            hidden = masked["selected"][0]
            corrupted = self.small.sample(masked, draw)  # [1, T]
            read, corrected = self._read(corrupted[0], words[0])  # [T, V], [T]
            before, after = frame_of(tokenizer)
            options = dict(
                pad_id=tokenizer.pad_token_id, specials=(before, after), generator=draw
            )
            crop = ck.masking.crop(ids, batch["attention_mask"], keep, **options)
            views = [
                batch,
                batch | {"input_ids": corrupted},
                _view(crop.input_ids, crop.attention_mask),
            ]
            # [3, D]
            vectors = torch.cat([encoder.pool(encoder(view), view) for view in views])
            drawn = self._drawn(masked, hidden)
        kept = crop.input_ids[0][crop.attention_mask[0].bool()]
        rows = (ids[0], masked["input_ids"][0], corrupted[0], corrected)
        return Worked(
            rows=[self._tokens(row) for row in rows],
            hidden=hidden.tolist(),
            kinds=_kinds(ids[0], corrupted[0], corrected, hidden, words[0]),
            drawn=drawn,
            read=[
                self._best(p) if word else []
                for p, word in zip(read, words[0], strict=True)
            ],
            here=read.gather(1, corrupted[0][:, None]).squeeze(1).tolist(),
            crop=self._tokens(kept[before : len(kept) - after]),
            vectors=torch.nn.functional.normalize(vectors.float(), dim=1),
        )

    def _drawn(self, masked, hidden):
        """The small network's most probable words at each hidden place, and none elsewhere."""
        drawn = [[] for _ in hidden]
        small = getattr(self.small, "encoder", None)  # uniform draws use no network
        if small is not None:
            # [M, V]
            probabilities = small.mlm_logits(small(masked)[0][hidden]).softmax(-1)
            for place, p in zip(
                hidden.nonzero().flatten().tolist(), probabilities, strict=True
            ):
                drawn[place] = self._best(p)
        return drawn

    def _read(self, ids, words):
        """The large network's probabilities [T, V] at each token of the corrupted sentence [T], and its correction."""
        encoder = self.encoder
        if self.copy_head is not None:
            states = encoder(_view(ids[None]))[0]  # [T, D]
            read = p_lm(encoder.mlm_logits(states), self.copy_head(states), ids)  # [T, V]
            return read, torch.where(words, read.argmax(-1), ids)
        places = words.nonzero().squeeze(1)  # [W]
        each = torch.arange(len(places))
        covered = ids.repeat(len(places), 1)  # [W, T]
        covered[each, places] = encoder.tokenizer.mask_token_id
        states = encoder(_view(covered))  # [W, T, D]
        logits = encoder.mlm_logits(states[each, places])  # [W, D] -> [W, V]
        read = logits.new_zeros(len(ids), logits.shape[1])  # [T, V]
        read[places] = logits.softmax(-1)
        best, here = read.max(-1), read.gather(1, ids[:, None]).squeeze(1)
        return read, torch.where(words & (best.values > RATIO * here), best.indices, ids)

    def _best(self, probabilities):
        best = probabilities.topk(min(BEST, len(probabilities)))
        return list(zip(self._tokens(best.indices), best.values.tolist(), strict=True))

    def _tokens(self, ids):
        tokens = self.encoder.tokenizer.convert_ids_to_tokens(ids.tolist())
        return [token.replace("Ġ", "").replace("▁", "") for token in tokens]


def _view(ids, attention_mask=None):
    """Token ids as a view; without a mask all are tokens."""
    mask = torch.ones_like(ids) if attention_mask is None else attention_mask
    return {"input_ids": ids, "attention_mask": mask}


def _kinds(original, corrupted, corrected, hidden, words):
    kinds = []
    for before, drawn, after, was_hidden, is_word in zip(
        original, corrupted, corrected, hidden, words, strict=True
    ):
        if not is_word:
            kinds.append("special")
        elif drawn == before == after:
            kinds.append("same" if was_hidden else "left")
        elif drawn == before:
            kinds.append("needless")
        elif after == before:
            kinds.append("restored")
        else:
            kinds.append("missed" if after == drawn else "wrong")
    return kinds


class TwoNetworks(Panel):
    """Type a sentence, and watch it corrupted, corrected and contrasted: COCO-LM in one line.

    Some words are hidden; the small (auxiliary) network draws words in their place (COCO-LM, eq. 1); the large (main)
    one reads the result, without being told where, and says of each word whether it belongs there, and which one does.
    Then the corrupted sentence is the anchor of a contrast (eq. 3): its positive is a crop of the sentence as typed,
    its negatives are other sentences. Point at a word to see what each network thought of.

    With an `objectives.COCOLM` these are its own two networks: what is shown as corrected is the most probable word
    under p_LM, with its copy mechanism. With an `Encoder` alone, such as `Encoder.from_pretrained("kit/books-mlm")`,
    the encoder does both: it fills the hidden places, and then reads the corrupted sentence with each word covered in
    turn; a word is changed where another one is 100 times as probable.

    Args:
        model: an `Encoder` that has learned masked language modelling, or an `objectives.COCOLM` with a copy head.
        sentence: the first one.
        others: the negatives, at least one sentence.
        p_m: the probability that a word is hidden. The paper takes 0.15, and a short sentence then often loses none.
        keep: the share of words that the crop keeps.
        tau: the temperature; COCO-LM takes 1, at which hardly anything can be seen. One of the slider's values.
        seed: of all draws.

    Returns:
        A panel; `set(sentence=…, p_m=…, keep=…, tau=…, seed=…)` moves it, `worked()` says what happened to each word,
        `candidates()` what the contrast sees.

    Raises:
        ValueError: a COCOLM without a copy head. TraitError: a temperature that is no stop.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> tokenizer = ck.data.train_tokenizer(["the red kite flies", "a drum"], vocab_size=60)
        >>> panel = ck.explore.two_networks(ck.Encoder.tiny(tokenizer), "the red kite flies", ["a drum"], p_m=1.0)
        >>> panel.worked().rows[1]
        ['[CLS]', '[MASK]', '[MASK]', '[MASK]', '[MASK]', '[SEP]']
        >>> sum(each["share"] for each in panel.candidates())  # doctest: +ELLIPSIS
        1.0...
    """

    script = ("canvas", "two_networks")

    def __init__(
        self,
        model: Any,
        sentence: str = SENTENCE,
        others: Sequence[str] = OTHERS,
        p_m: float = 0.3,
        *,
        keep: float = 0.9,
        tau: float = 0.1,
        seed: int = 0,
    ):
        self.networks, self.others = Networks(model), list(others)
        # [N, D]
        self._vectors = self.networks.encoder.encode(self.others, normalize=True)
        self._asked, self._worked = None, None
        self.view = view_of(self.script, rows=list(ROWS), kinds=KINDS, seen={})
        again = button("draw again", self.again)
        controls = {
            "sentence": control("Text", "sentence", sentence, "700px"),
            "p_m": slider("hidden, p_m", p_m, 0, 1),
            "keep": slider("the crop keeps", keep, 0.1, 1),
            "tau": control("SelectionSlider", "τ", tau, options=TEMPERATURES),
            "seed": draw_number(seed),
        }
        self.assemble(controls, ["sentence"], ["p_m", "keep"], ["tau", "seed", again])

    def again(self) -> Self:
        """Hide other words, and draw anew."""
        return self.set(seed=self.seed.value + 1)

    def worked(self) -> Worked:
        """What the two networks did with the sentence, word by word. ValueError for an empty or a very long one."""
        asked = tuple(self.state[name] for name in ("sentence", "p_m", "keep", "seed"))
        if asked != self._asked:
            self._worked = self.networks.work(*asked)
            self._asked = asked
        return self._worked

    def candidates(self) -> list[dict[str, Any]]:
        """What stands in the denominator of eq. 3 for the corrupted sentence: the crop, and all other sentences.

        Each with its `text`, `cosine`, `share` of the softmax at τ, and `role`, "positive" or "negative"; the positive
        first, then the most similar ones.
        """
        seen = self.worked()
        vectors = torch.cat([seen.vectors[2:], self._vectors])  # [1 + N, D]
        cosines = vectors @ seen.vectors[1]  # [1 + N, D] @ [D] -> [1 + N]
        shares = (cosines / self.tau.value).softmax(dim=0)
        order = [0, *(1 + cosines[1:].argsort(descending=True, stable=True)).tolist()]
        texts = [" ".join(seen.crop), *self.others]
        return [
            {
                "text": texts[i],
                "cosine": cosines[i].item(),
                "share": shares[i].item(),
                "role": "negative" if i else "positive",
            }
            for i in order
        ]

    def show(self) -> None:
        seen, candidates = self.worked(), self.candidates()
        stacks = []
        for i, kind in enumerate(seen.kinds):
            stack = {
                name: getattr(seen, name)[i]
                for name in ("hidden", "drawn", "read", "here")
            }
            stacks.append(
                {"words": [tokens[i] for tokens in seen.rows], "kind": kind, **stack}
            )
        bars, more = candidates[: 1 + SHOWN], len(candidates) - 1 - SHOWN
        self.view.seen = {"stacks": stacks, "bars": bars, "more": more}

    def words(self) -> str:
        seen, first = self.worked(), self.candidates()[0]
        count = {kind: seen.kinds.count(kind) for kind in KINDS}
        return (
            f"Of {sum(seen.hidden)} hidden words, {count['same']} were drawn as they had been, "
            f"<b>{count['restored']} restored, {count['wrong']} turned into yet another word, "
            f"{count['missed']} missed</b>. The contrast gives the crop <b>{first['share']:.0%}</b> "
            f"of the softmax, among {len(self.others)} other sentences."
        )

    def figure(self) -> Any:
        """The four rows as `plots.mask_heatmap` draws them."""
        seen = self.worked()
        rows, kinds = dict(zip(ROWS, seen.rows, strict=True)), {}
        for name, row in rows.items():
            own = zip(row, seen.rows[0], strict=True)
            kinds[name] = ["untouched" if a == b else "random" for a, b in own]
        hidden = ["mask" if is_hidden else "untouched" for is_hidden in seen.hidden]
        legend = {"untouched": "the sentence's own word", "random": "another word"}
        return ck.plots.mask_heatmap(rows, kinds | {ROWS[1]: hidden}, legend=legend)


two_networks = TwoNetworks
"""The name by which notebooks make the panel."""
