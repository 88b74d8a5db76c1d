"""Prompt-based fine-tuning: ask the masked LM itself, with a word for each class.

COCO-LM's table 4, after "Making Pre-trained Language Models Better Few-shot Learners" (LM-BFF; Gao, Fisch & Chen 2021).
`tasks.prompting` writes the prompts.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from contrast_kit.checks import Count
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.scl import FineTune, FineTuneConfig


class Demonstrations(NamedTuple):
    """Solved examples, by class: `tasks.prompting.demonstrations` makes them from the training rows."""

    # Token ids with the label word in its place, [T] each, their separator at the end.
    solved: list[list[Tensor]]
    # Token ids of the same row as a question, by which it is recognised.
    asked: list[list[tuple[int, ...]]]


@dataclass(frozen=True)
class PromptConfig(FineTuneConfig):
    """What prompting varies besides the number of classes. It has no head: `head` and `dropout` are unused."""

    words: tuple[str, ...] = ()
    """The label word of each class, in the order of the label integers: ("terrible", "great")."""
    samples: Count = 16
    """Draws of demonstrations over which a prediction's logits are averaged. LM-BFF: 16; MNLI, with many rows: 4."""
    max_length: Count = 128
    """Tokens at which a prompt with its demonstrations is cut. LM-BFF: 128; MNLI: 256."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            isinstance(self.words, str)
            or len(self.words) != self.classes
            or len(set(self.words)) < len(self.words)
        ):
            raise ValueError(
                f"Prompting needs a word for each of the {self.classes} classes and no word twice, not {self.words}."
            )


class Prompt(FineTune):
    """Fine-tuning without new weights: the class whose *word* the masked LM expects at the [MASK] of a prompt.

    p(y | x) = softmax over the classes of w_{M(y)} · h_{[MASK]}, with M(y) the label word of class y; the loss is its
    cross-entropy. Only the label words stand in the denominator, not the vocabulary. Each text holds exactly one
    [MASK]: `tasks.prompting.prompts` puts it there. With `demonstrations`, one solved example of each class follows
    each text, drawn afresh at each use: never the text itself, if its class has another; a prediction averages the
    *logits* of several draws. Further arguments as for `FineTune`; there are as many classes as words.

    Relation to its neighbours: `FineTune` learns a new head on the sequence vector; this keeps the masked LM's own.

    Raises ValueError for a missing label word; for one that is several tokens *at the mask*, after a space (to RoBERTa
    "great" and " great" are different tokens); for a text without exactly one [MASK]; and for an encoder without word
    scores: ELECTRA's main model, which names no words. (COCO-LM's does, though it never saw a [MASK].)

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"sentence": "a fine kite", "label": 1}, {"sentence": "a dull drum", "label": 0}]
        >>> tokenizer = ck.data.train_tokenizer(["a fine kite . a dull drum . it was good bad"], vocab_size=90)
        >>> asked = ck.tasks.prompting.prompts(rows, "{sentence} . it was {mask} .", tokenizer)
        >>> objective = ck.tasks.Prompt(ck.Encoder.tiny(tokenizer), words=("bad", "good"))
        >>> sorted(objective(ck.data.Texts(asked, tokenizer).batch([0, 1])))
        ['accuracy', 'ce', 'loss']
    """

    Config = PromptConfig
    in_tables = ""  # its settings are in `papers.LM_BFF`, which is a search

    def __init__(
        self,
        encoder: Any,
        config: Any = None,
        *,
        demonstrations: Demonstrations | None = None,
        **changes: Any,
    ):
        if config is None and changes.get("classes") is None:
            changes["classes"] = len(changes.get("words", ())) or None
        super().__init__(encoder, config, **changes)
        self.demonstrations = demonstrations

    def build(self):
        if not has_word_head(self.encoder):
            raise ValueError(
                "This encoder was never taught words and has no word scores to prompt: take FineTune, or an encoder of "
                "MLM or COCO-LM. (If it has learnt words since, set encoder.model.config.taught_without_words = None.)"
            )
        self.head = nn.Identity()  # what `tasks.fine_tune` carries along: nothing
        # [C]
        ids = torch.tensor(
            [word_id(self.encoder.tokenizer, word) for word in self.config.words]
        )
        if len(ids.unique()) < len(ids):
            raise ValueError(
                f"Two of the label words {self.config.words} are one token to this tokenizer."
            )
        self.register_buffer("word_ids", ids, persistent=False)

    def views(self, batch, generator=None):
        view = super().views(batch, generator)["text"]
        return {"text": self.with_demonstrations(view, generator)}

    def with_demonstrations(self, view: View, generator: torch.Generator | None) -> View:
        """Each text followed by one solved example of each class, freshly drawn: [B, T] -> [B, T']."""
        if self.demonstrations is None:
            return view
        texts = zip(view["input_ids"], view["attention_mask"].bool(), strict=True)
        # [T'] each
        rows = [self._demonstrated(text[real], generator) for text, real in texts]
        pad = self.encoder.tokenizer.pad_token_id
        new = {
            "input_ids": pad_sequence(rows, batch_first=True, padding_value=pad),
            "attention_mask": pad_sequence(
                list(map(torch.ones_like, rows)), batch_first=True
            ),
        }
        return {name: value for name, value in view.items() if value.ndim == 1} | new

    def _demonstrated(self, text: Tensor, generator: torch.Generator | None) -> Tensor:
        """One text and its demonstrations, cut to `max_length` tokens: [T] -> [T']."""
        question, parts = tuple(text.tolist()), [text]
        draw = dict(generator=generator, device=generator.device if generator else "cpu")
        for solved, asked in zip(*self.demonstrations, strict=True):
            others = [
                row for row, other in zip(solved, asked, strict=True) if other != question
            ]
            others = others or solved
            parts.append(others[int(torch.randint(len(others), (), **draw))].to(text))
        return torch.cat(parts)[: min(self.config.max_length, self.encoder.max_length)]

    def predicted_logits(self, view, generator=None):
        """The mean of the logits over `samples` draws of demonstrations, [B, C]; without them the logits."""
        if self.demonstrations is None:
            return self.logits(view)
        views = (
            self.with_demonstrations(view, generator) for _ in range(self.config.samples)
        )
        return sum(map(self.logits, views)) / self.config.samples

    def scores(self, hidden, view):
        """The masked LM's scores of the label words at the [MASK] of each text, [B, C]."""
        masked = view["input_ids"] == self.encoder.tokenizer.mask_token_id  # [B, T]
        counts = masked.sum(1)  # [B]
        if (counts != 1).any():
            raise ValueError(
                f"A prompt holds exactly one mask token, but a text here has {int(counts[counts != 1][0])}: write it "
                "with tasks.prompting.prompts, and take a max_length that does not cut it off."
            )
        hidden = hidden[masked]  # [B, T, D] -> [B, D]
        return self.encoder.mlm_logits(hidden)[:, self.word_ids]  # [B, V] -> [B, C]


def has_word_head(encoder: Encoder) -> bool:
    """Whether the encoder was taught words: ELECTRA teaches none, and transformers makes a random head where a folder
    holds none.
    """
    config = encoder.model.config
    kinds = " ".join(config.architectures or ["MaskedLM"])
    if getattr(config, "taught_without_words", None):
        return False
    # BERT's pre-training has word scores, ELECTRA's does not
    other = "PreTraining" in kinds and config.model_type != "electra"
    return other or "MaskedLM" in kinds


def word_id(tokenizer: Any, word: str) -> int:
    """The token of a label word as it stands in running text, after a space; ValueError if it is not one known token.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["it was great"] * 9, vocab_size=60)
    >>> tokenizer.convert_ids_to_tokens(word_id(tokenizer, "great"))
    'great'
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
