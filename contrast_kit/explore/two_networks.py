"""COCO-LM's two networks at work on a typed sentence: one corrupts it, one corrects it, its views are contrasted."""

import functools
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch

from contrast_kit import arguments
from contrast_kit.explore._networks import KINDS, Networks, Worked
from contrast_kit.explore._panel import (
    TEMPERATURES,
    Panel,
    beside,
    button,
    draw_number,
    row,
    scripts,
    sentence_line,
    slider,
    stepped_slider,
    widgets,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


class TwoNetworks(Panel):
    """A sentence corrupted, corrected and contrasted. See `two_networks`."""

    def __init__(
        self, model: Any, sentence: str, others: Sequence[str], p_m: float, keep: float, tau: float, seed: int
    ):
        self.networks, self.others = Networks(model), others
        self._vectors = self.networks.encoder.encode(self.others, normalize=True)  # [N, D]
        self._asked, self._worked = None, None
        self.sentence = sentence_line("sentence", sentence)
        self.p_m, self.keep = slider("hidden, p_m", p_m, 0, 1), slider("the crop keeps", keep, 0.1, 1)
        self.tau = stepped_slider("τ", TEMPERATURES, tau)
        self.seed = draw_number(seed)
        again = button("draw again", self.again, "other words hidden, other words drawn")
        self.board = _board_widget()(rows=list(ROWS), kinds=KINDS)
        names = ("sentence", "p_m", "keep", "tau", "seed")
        handles = {name: (getattr(self, name), "value") for name in names}
        self.assemble(handles, self.sentence, row(self.p_m, self.keep), row(self.tau, self.seed, again), self.board)

    def again(self) -> Self:
        """Hide other words, and draw anew."""
        return self.set(seed=self.seed.value + 1)

    def worked(self) -> Worked:
        """What the two networks did with the sentence, word by word. ValueError for an empty or a very long one."""
        asked = self.sentence.value, self.p_m.value, self.keep.value, self.seed.value
        if asked != self._asked:
            self._worked, self._asked = self.networks.work(*asked), asked
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
        texts = [" ".join(seen.crop), *self.others]
        rows = [
            {"text": text, "cosine": cosine, "share": share, "role": "negative" if i else "positive"}
            for i, (text, cosine, share) in enumerate(zip(texts, cosines.tolist(), shares.tolist(), strict=True))
        ]
        return [rows[0], *sorted(rows[1:], key=lambda each: -each["cosine"])]

    def draw(self) -> None:
        try:
            seen, found = self.worked(), self.candidates()
        except ValueError as error:  # half-typed: the last picture stays
            self.line.value = html.escape(str(error))
            return
        self.board.seen = {
            "stacks": [
                {"words": [tokens[i] for tokens in seen.rows], "kind": seen.kinds[i], "hidden": seen.hidden[i],
                 "drawn": seen.drawn[i], "read": seen.read[i], "here": seen.here[i]}
                for i in range(len(seen.kinds))
            ],
            "bars": found[: 1 + SHOWN],
            "more": len(found) - 1 - SHOWN,
        }  # fmt: skip
        super().draw()

    def words(self) -> str:
        seen, first = self.worked(), self.candidates()[0]
        count = {kind: seen.kinds.count(kind) for kind in KINDS}
        replaced = count["restored"] + count["missed"] + count["wrong"]
        verdict = (
            f"{count['restored']} restored, {count['wrong']} turned into yet another word, {count['missed']} missed"
        )
        spoiled = f"; {count['spoiled']} of the sentence's own words changed without need" if count["spoiled"] else ""
        return (
            f"Of {sum(seen.hidden)} hidden words, {count['same']} were drawn as they had been and {replaced} replaced: "
            f"<b>{verdict}</b>{spoiled}. The contrast gives the crop <b>{first['share']:.0%}</b> of the softmax, among "
            f"{len(self.others)} other sentences."
        )

    def figure(self) -> "Figure":
        """The four rows as `plots.mask_heatmap` draws them, and the weights of the contrast below."""
        from contrast_kit import plots

        seen, found = self.worked(), self.candidates()
        kinds = [["special" if kind == "special" else "untouched" for kind in seen.kinds] for _ in ROWS]
        for i, (before, _, drawn, read) in enumerate(zip(*seen.rows, strict=True)):
            if seen.hidden[i]:
                kinds[1][i], kinds[2][i] = "mask", "kept" if drawn == before else "random"
            if read != drawn or seen.kinds[i] == "missed":
                kinds[3][i] = "kept" if read == before else "random"
        legend = {"kept": "the sentence's own word again", "random": "another word", "special": "special"}
        board = plots.mask_heatmap(dict(zip(ROWS, seen.rows, strict=True)), kinds, legend=legend)
        cosines = [each["cosine"] for each in found]
        return beside(board, plots.negative_weights(cosines[1:], self.tau.value, cosines[0]), columns=1)


def two_networks(
    model: Any,
    sentence: str = SENTENCE,
    others: Sequence[str] = OTHERS,
    p_m: float = 0.3,
    *,
    keep: float = 0.9,
    tau: float = 0.1,
    seed: int = 0,
) -> TwoNetworks:
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
        TypeError: for something that is neither an encoder nor a COCOLM with a copy head.
        ValueError: a temperature that the slider does not have, no other sentences, or a COCOLM with `scl_head=True`.
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
    widgets()
    others = arguments.strings("others", others, "sentences")
    if not others:
        raise ValueError("others must be a list of at least one sentence: the negatives of the contrast.")
    return TwoNetworks(model, sentence, others, p_m, keep, tau, seed)


@functools.cache
def _board_widget() -> type:
    import anywidget
    import traitlets

    class Board(anywidget.AnyWidget):
        """The widget in the page: a stack of four words for each place, and the candidates of the contrast."""

        _esm = scripts("shared", "canvas", "two_networks")
        rows = traitlets.List(traitlets.Unicode()).tag(sync=True)
        kinds = traitlets.Dict().tag(sync=True)  # kind of a place -> how the page words it
        seen = traitlets.Dict().tag(sync=True)

    return Board
