"""One sentence, two masked views of it, and two sliders for how much each of them hides."""

import json
from typing import Any, Self

import torch

import contrast_kit as ck
from contrast_kit.data.texts import special_ids
from contrast_kit.explore._panel import (
    Panel,
    button,
    control,
    draw_number,
    maskable_in,
    slider,
    view_of,
)

MASKERS = ("complementary", "two random masks", "two span masks")
SPLITS = {"80/10/10": (0.8, 0.1, 0.1), "[MASK] only": (1.0, 0.0, 0.0)}
BERTS = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
}
MOST = 128
"""Tokens that the picture has room for."""
SENTENCE = "The grandmother bought three red kites on Saturday, and she believes that they are dazzling."


class MaskExplorer(Panel):
    """Type a sentence, move two sliders, and see what each of two views hides.

    View 0 selects each token with probability p_m (CMLM, eq. 1). View 1, for "complementary", selects each token *that
    view 0 left* with probability p_c (eq. 2); for "two random masks" any token, and for "two span masks" runs of tokens
    (CAPT, table 1), so that some are hidden in both. One draw decides where each token stands in line: a larger
    probability only adds to the selected ones.

    Args:
        tokenizer: a fast tokenizer of transformers, such as `ck.data.train_tokenizer(texts)`.
        sentence: the first sentence.
        p_m, p_c: the two probabilities, 0 to 1.
        masker: "complementary", "two random masks" or "two span masks".
        seed: of the draw.

    Returns:
        A panel; `set(sentence=…, p_m=…, p_c=…, masker=…, split=…, seed=…)` moves it, `views()` gives the ids.

    Raises:
        ValueError: for a probability that is none. TraitError: for an unknown masker.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> tokenizer = ck.data.train_tokenizer(["the red kite flies over the shelf"], vocab_size=60)
        >>> panel = ck.explore.mask_explorer(tokenizer, "the red kite flies", p_m=0.5, p_c=1.0)
        >>> ids, maskable, view0, view1 = panel.views()
        >>> bool(((view0.selected | view1.selected) == maskable).all())  # p_c = 1: an exact complement
        True
    """

    script, stand_in = ("mask_explorer",), "mask_numbers"

    def __init__(
        self,
        tokenizer: Any,
        sentence: str = SENTENCE,
        p_m: float = 0.15,
        p_c: float = 0.7,
        *,
        masker: str = "complementary",
        seed: int = 0,
    ):
        self.tokenizer = tokenizer
        self.view = view_of(self.script, seen=[])
        again = button("draw again", self.again)
        controls = {
            "sentence": control("Text", "sentence", sentence, "700px"),
            "p_m": slider("p_m, of view 0", p_m, 0, 1),
            "p_c": slider("p_c, of view 1", p_c, 0, 1),
            "masker": control("Dropdown", "masker", masker, options=MASKERS),
            "split": control(
                "Dropdown", "selected become", "80/10/10", options=tuple(SPLITS)
            ),
            "seed": draw_number(seed),
        }
        self.assemble(
            controls, ["sentence"], ["p_m", "p_c"], ["masker", "split", "seed", again]
        )

    def again(self) -> Self:
        """Draw the masks anew, at the same rates."""
        return self.set(seed=self.seed.value + 1)

    def views(
        self,
    ) -> tuple[torch.Tensor, torch.Tensor, "ck.masking.Masked", "ck.masking.Masked"]:
        """The ids [1, T], which of them may be masked, and the two views."""
        ids, maskable = maskable_in(self.tokenizer, self.sentence.value, MOST)
        options = dict(
            mask_id=self.tokenizer.mask_token_id, vocab_size=len(self.tokenizer)
        )
        options["split"] = SPLITS[self.split.value]
        draw = ck.masking.dynamic_random_mask
        if self.masker.value == "two span masks":
            draw = ck.masking.span_mask
        # Each view has its own stream, so that moving one slider leaves the other view alone.
        options["generator"] = torch.Generator().manual_seed(2 * self.seed.value)
        view0 = draw(ids, maskable, self.p_m.value, **options)
        options["generator"] = torch.Generator().manual_seed(2 * self.seed.value + 1)
        rest = (self.p_c.value,)
        if self.masker.value == "complementary":
            draw = ck.masking.complementary_random_mask
            rest = (view0.selected, self.p_c.value)
        return ids, maskable, view0, draw(ids, maskable, *rest, **options)

    def words(self) -> str:
        _, maskable, view0, view1 = self.views()
        n = int(maskable.sum())
        first, second = int(view0.selected.sum()), int(view1.selected.sum())
        both = int((view0.selected & view1.selected).sum())
        lost = "none is hidden in both"
        if both:
            lost = f"<b>{both} hidden in both</b>: neither view can tell what stood there"
        return (
            f"Of {n} tokens, view 0 selects {first} ({first / n:.0%}) and view 1 selects {second} "
            f"({second / n:.0%}); {lost}."
        )

    def seen(self) -> list[dict[str, Any]]:
        """The sentence and its two views: the name, the tokens and the kinds of each row."""
        ids, maskable, *views = self.views()
        words = self.tokenizer.convert_ids_to_tokens
        special = _never_masked(self.tokenizer)
        original = words(ids[0].tolist())
        unmasked = ck.masking.Masked(ids, torch.zeros_like(maskable))
        seen = []
        for name, view in zip(
            ("sentence", "view 0", "view 1"), (unmasked, *views), strict=True
        ):
            tokens = words(view.input_ids[0].tolist())
            marks = view.selected[0], self.tokenizer.mask_token, special
            kinds = ck.plots.mask_kinds(tokens, original, *marks)
            seen.append({"name": name, "tokens": tokens, "kinds": kinds})
        return seen

    def show(self) -> None:
        self.view.seen = self.seen()

    def figure(self) -> Any:
        """Both views below the sentence, as `plots.mask_heatmap` draws them."""
        seen = self.seen()
        title = (
            f"{self.masker.value}, p_m = {self.p_m.value:.2f}, p_c = {self.p_c.value:.2f}"
        )
        tokens, kinds = (
            {row["name"]: row[what] for row in seen} for what in ("tokens", "kinds")
        )
        return ck.plots.mask_heatmap(
            tokens, kinds, title=title, legend={"special": "special"}
        )

    def page_state(self) -> dict[str, Any]:
        """The vocabulary, and what else it takes to split words as BERT does. ValueError: it does so in another way."""
        tokenizer = self.tokenizer
        inside = json.loads(tokenizer.backend_tokenizer.to_str())
        normalizer = inside["normalizer"] or {}
        # German ones, for example, lower letters and keep the accents.
        if (
            not BERTS.items() <= normalizer.items()
            or inside["model"]["type"] != "WordPiece"
        ):
            raise ValueError("A page splits words as BERT does, and in no other way.")
        made = {
            "vocab": tokenizer.convert_ids_to_tokens(range(len(tokenizer))),
            "special": tokenizer.all_special_tokens,
            "mask": tokenizer.mask_token,
            "fixed": _never_masked(tokenizer),
            "lowercase": normalizer["lowercase"],
            "unknown": tokenizer.unk_token,
            "first": tokenizer.cls_token,
            "last": tokenizer.sep_token,
        }
        return {"tokenizer": made, "splits": SPLITS, "most": MOST}


def _never_masked(tokenizer):
    """The special tokens but [UNK], which stands for a word."""
    return tokenizer.convert_ids_to_tokens(special_ids(tokenizer))


mask_explorer = MaskExplorer
"""The name by which notebooks make the panel."""
