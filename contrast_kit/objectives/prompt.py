"""Prompt-based fine-tuning: ask the masked LM itself, with a word for each class.

COCO-LM's table 4, after "Making Pre-trained Language Models Better Few-shot Learners" (LM-BFF; Gao, Fisch & Chen 2021).
`tasks.prompting` writes the prompts.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.fine_tune import FineTune, FineTuneConfig


@dataclass(frozen=True)
class PromptConfig(FineTuneConfig):
    """What prompting varies beside the number of classes. It has no head: `head` and `dropout` have no use here."""

    words: tuple[str, ...] = ()
    """The label word of each class, in the order of the label integers: ("terrible", "great")."""

    def __post_init__(self):
        super().__post_init__()
        if len(self.words) != self.classes or len(set(self.words)) < len(self.words):
            raise ValueError(
                f"Prompting needs a word for each of the {self.classes} classes and no word twice, not {self.words}."
            )


class Prompt(FineTune):
    """Fine-tuning without a new weight: the class whose *word* the masked LM expects at the [MASK] of a prompt.

    p(y | x) = softmax over the classes of w_{M(y)} · h_{[MASK]}, with M(y) the label word of class y; the loss is its
    cross-entropy. Only the label words stand in the denominator, not the vocabulary. Each text holds exactly one
    [MASK]: `tasks.prompting.prompts` puts it there.

    Relation to its neighbours: `FineTune` learns a new head on the sequence vector; this keeps the masked LM's own.

    Raises ValueError for a missing label word; for one of several tokens *at the mask*, after a space (to RoBERTa
    "great" and " great" are different tokens); for a text without exactly one [MASK].

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"sentence": "a fine kite", "label": 1}, {"sentence": "a dull drum", "label": 0}]
        >>> tokenizer = ck.data.train_tokenizer(["a fine kite . a dull drum . it was good bad"], vocab_size=90)
        >>> asked = ck.tasks.prompting.prompts(rows, "{sentence} . it was {mask} .", tokenizer)
        >>> objective = ck.objectives.Prompt(ck.Encoder.tiny(tokenizer), words=("bad", "good"))
        >>> sorted(objective(ck.data.Texts(asked, tokenizer).batch([0, 1])))
        ['accuracy', 'ce', 'loss']
    """

    Config = PromptConfig

    def __init__(self, encoder: Any, config: Any = None, *, classes: Any = None, seed: int = 0, **changes: Any):
        if classes is None and config is None:
            classes = len(changes.get("words", ())) or None
        super().__init__(encoder, config, classes=classes, seed=seed, **changes)

    def build(self) -> None:
        self.head = nn.Identity()  # what `tasks.fine_tune` carries along: nothing
        ids = torch.tensor([word_id(self.encoder.tokenizer, word) for word in self.config.words])  # [C]
        if len(ids.unique()) < len(ids):
            raise ValueError(f"Two of the label words {self.config.words} are one token to this tokenizer.")
        self.register_buffer("word_ids", ids, persistent=False)

    def logits(self, view: View) -> Tensor:
        """The masked LM's scores of the label words at the [MASK] of each text, [B, C]."""
        masked = view["input_ids"] == self.encoder.tokenizer.mask_token_id  # [B, T]
        counts = masked.sum(1)  # [B]
        if (counts != 1).any():
            raise ValueError(
                f"A prompt holds exactly one mask token, but a text here has {int(counts[counts != 1][0])}: write it "
                "with tasks.prompting.prompts, and take a max_length that does not cut it off."
            )
        hidden = self.encoder(view)[masked]  # [B, T, D] -> [B, D]
        return self.encoder.mlm_logits(hidden)[:, self.word_ids]  # [B, V] -> [B, C]


def word_id(tokenizer: Any, word: str) -> int:
    """The token of a label word as it stands in running text, after a space; ValueError if it is not one known token.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["it was great"] * 9, vocab_size=300, kind="bpe")
    >>> tokenizer.convert_ids_to_tokens(word_id(tokenizer, "great"))
    'Ġgreat'
    """
    ids = tokenizer(f"a {word.strip()}", add_special_tokens=False)["input_ids"]
    before = tokenizer("a", add_special_tokens=False)["input_ids"]
    rest = ids[len(before) :] if ids[: len(before)] == before else ids
    if len(rest) != 1 or rest[0] == tokenizer.unk_token_id:
        pieces = " ".join(tokenizer.convert_ids_to_tokens(rest))
        raise ValueError(
            f"The label word {word!r} is no single token here ({pieces}): take another word of the same meaning."
        )
    return rest[0]
