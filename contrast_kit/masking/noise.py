"""Noise: a batch in, a corrupted view of it out, which the methods call x̂, made from x.

A noise is anything that can be called as `noise(batch, generator, vocabulary) -> view`:

* `batch` is a dict of tensors, examples first; it is not changed;
* `generator` draws everything that is random, so that a run can be repeated;
* `vocabulary` is what the encoder says of its tokens, `encoder.vocabulary` = `{"mask_id": …, "vocab_size": …}`;
* the view is again such a dict, its rows in the same order. Where the noise fell on tokens it also has `selected`
  [B, T] bool and `targets` [B, T], the original ids: a masked language model then recovers `targets[selected]`. A view
  without them has nothing to recover.

An objective that takes a noise never looks into the view, so a noise for image regions, or for words and regions
together, is one more function of this form. These four, and sums of them, apply the noises of CAPT's Table 1 to token
ids (all but XLNet's, which changes the order of prediction and not the text):

| name                     | noise                            | whose          | what falls on the text               |
|--------------------------|----------------------------------|----------------|--------------------------------------|
| `"mask"`                 | `Mask`                           | BERT, RoBERTa  | 15 %: [MASK], a random one, itself   |
| `"spans"`                | `MaskSpans`                      | SpanBERT       | the same share in runs of neighbours |
| `"replace"`              | `Replace`                        | ELECTRA, plain | 15 % become tokens drawn uniformly   |
| `"shuffle"`              | `Shuffle`                        | CAPT 5.2       | tokens change places, by 3 at most   |
| `"mask+shuffle"`         | `Shuffle() + Mask()`             | StructBERT     | both                                 |
| `"mask+shuffle+replace"` | `Shuffle() + Mask() + Replace()` | BART           | all three                            |
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from contrast_kit._util import choose
from contrast_kit.checks import Count, Probability, Settings
from contrast_kit.masking.masks import (
    BERT_SPLIT,
    Masked,
    allowed,
    dynamic_random_mask,
    masked_view,
    span_mask,
)
from contrast_kit.masking.order import shuffle

Batch = Mapping[str, Tensor]
Vocabulary = Mapping[str, int]
Noise = Callable[[Batch, torch.Generator | None, Vocabulary], dict[str, Tensor]]
"""(batch, generator, vocabulary) -> view."""


class TextNoise(Settings):
    """The base of the noises on tokens: its settings are checked, and `+` puts one noise on top of another."""

    def __add__(self, other: "TextNoise") -> "Both":
        return Both(self, other)


@dataclass(frozen=True)
class Mask(TextNoise):
    """Select tokens at random; most become [MASK]. "We randomly mask 15 % tokens of x" (CAPT 3.1, after BERT).

    `masking.dynamic_random_mask` on a batch: returns a view with `selected` and `targets`.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 20}
    >>> view = Mask(p=1.0, split=(1, 0, 0))(batch, None, vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[1, 3, 3, 3, 3, 2]]), tensor([11, 12, 13, 14]))
    """

    p: Probability = 0.15
    """Probability that a token is selected."""
    split: tuple[float, float, float] = BERT_SPLIT
    """Of the selected: share that becomes [MASK], a random token, or stays."""

    def __call__(self, batch, generator, vocabulary):
        ids, maskable = batch["input_ids"], allowed(batch)
        options = dict(split=self.split, generator=generator, words=batch.get("words"))
        masked = dynamic_random_mask(ids, maskable, self.p, **options, **vocabulary)
        return masked_view(batch, masked)


@dataclass(frozen=True)
class MaskSpans(TextNoise):
    """Select whole spans until the share p of each text is selected. SpanBERT's noise: `masking.span_mask`.

    A masked token can then not be read off its neighbour, so the same 15 % are harder to recover.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 20}
    >>> view = MaskSpans(p=0.5)(batch, None, vocabulary)
    >>> view["selected"].sum()
    tensor(2)
    """

    p: Probability = 0.15
    """Share of the tokens of each text to select."""
    split: tuple[float, float, float] = BERT_SPLIT
    """As in `Mask`, drawn once for each span."""
    span_p: Probability = 0.2
    """The chance that a span ends after each token, above 0."""
    max_span: Count = 10
    """The longest span in tokens."""

    def __call__(self, batch, generator, vocabulary):
        ids = batch["input_ids"]
        options = asdict(self) | dict(generator=generator, **vocabulary)
        return masked_view(batch, span_mask(ids, allowed(batch), **options))


@dataclass(frozen=True)
class Replace(TextNoise):
    """Put random tokens, drawn uniformly from the vocabulary, in place of selected ones; a [MASK] stays.

    ELECTRA draws them from a small masked language model (`masking.replace`, and the objectives that train such a
    model); here nothing is learned.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 900}
    >>> view = Replace(p=1.0)(batch, torch.Generator().manual_seed(0), vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[  1, 703, 397, 783, 701,   2]]), tensor([11, 12, 13, 14]))
    """

    p: Probability = 0.15
    """Probability that a token is replaced (in one draw out of V, by itself)."""

    def __call__(self, batch, generator, vocabulary):
        ids = batch["input_ids"]
        free = allowed(batch) & (ids != vocabulary["mask_id"])
        options = dict(split=(0.0, 1.0, 0.0), generator=generator, **vocabulary)
        return masked_view(batch, dynamic_random_mask(ids, free, self.p, **options))


@dataclass(frozen=True)
class Shuffle(TextNoise):
    """Let tokens change places within a window (CAPT 5.2: k = 3): `masking.shuffle`.

    `selected` are the positions at which the token has changed. There the original is to be recovered: the model
    learns to "reorder words", as the paper puts it. It does not say which token-level loss goes with shuffling;
    this reading is ours (and StructBERT's).

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch = {"input_ids": ids, "maskable": ids > 2}
    >>> view = Shuffle()(batch, torch.Generator().manual_seed(0), {})
    >>> view["input_ids"], view["selected"].int()
    (tensor([[ 1, 12, 13, 11, 14,  2]]), tensor([[0, 1, 1, 1, 0, 0]], dtype=torch.int32))
    """

    window: int = 3
    """k: no token moves further than this."""

    def __call__(self, batch, generator, vocabulary=None):
        moved = shuffle(
            batch["input_ids"], allowed(batch), self.window, generator=generator
        )
        return masked_view(batch, Masked(moved, selected=moved != batch["input_ids"]))


@dataclass(frozen=True)
class Both(TextNoise):
    """One noise, and then another on what it left: `Shuffle() + Mask()`.

    Whatever was touched is to be recovered, and `targets` are the ids of the *original* order, at masked positions too.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 900}
    >>> view = (Shuffle() + Mask(p=0.5))(batch, torch.Generator().manual_seed(0), vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[ 1, 12, 13, 11,  3,  2]]), tensor([11, 12, 13, 14]))
    """

    first: TextNoise
    second: TextNoise

    def __call__(self, batch, generator, vocabulary):
        before = self.first(batch, generator, vocabulary)
        after = self.second(before, generator, vocabulary)
        touched = before["selected"] | after["selected"]
        return masked_view(batch, Masked(after["input_ids"], touched))


NAMED: dict[str, Noise] = {
    "mask": Mask(),
    "spans": MaskSpans(),
    "replace": Replace(),
    "shuffle": Shuffle(),
    # StructBERT shuffles few trigrams; here the shuffle is CAPT's, on the whole text.
    "mask+shuffle": Shuffle() + Mask(),
    # CAPT's table gives no shares: 15 % each is ours, and no token is both masked and replaced. (BART itself masks
    # spans of unknown length and shuffles sentences; here each position can be recovered.)
    "mask+shuffle+replace": Shuffle() + Mask(split=(1.0, 0.0, 0.0)) + Replace(),
}
"""The noises of CAPT's Table 1 with their default settings, which are the papers' where one prints them."""


def named(noise: str | Noise) -> Noise:
    """A noise by its name, with its default settings; a noise itself is returned as it is.

    >>> named("shuffle")
    Shuffle(window=3)
    """
    if callable(noise):
        return noise
    return choose(NAMED, noise, "noise")
