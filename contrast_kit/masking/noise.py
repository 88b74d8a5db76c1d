"""Noise: a batch in, a corrupted view of it out, which the methods call x̂, made from x.

A noise is anything that can be called as `noise(batch, generator, vocabulary) -> view`:

* `batch` is a dict of tensors, examples first; it is not changed;
* `generator` draws everything that is random, so that a run can be repeated;
* `vocabulary` is what the encoder says of its tokens, `encoder.vocabulary` = `{"mask_id": …, "vocab_size": …}`;
* the view is again such a dict, its rows in the same order. Where the noise fell on tokens it also has `selected`
  [B, T] bool and `targets` [B, T], the original ids: a masked language model then recovers `targets[selected]`. A view
  without them has nothing to recover.

An objective that takes a noise never looks into the view, so a noise for image regions, or for words and regions
together, is one more function of this form. These six apply the noises of CAPT's Table 1 to token
ids (all but XLNet's, which changes the order of prediction and not the text):

| name                     | class                | whose            | what falls on the text                          |
|--------------------------|----------------------|------------------|-------------------------------------------------|
| `"mask"`                 | `Mask`               | BERT, RoBERTa    | 15 % of tokens: [MASK], a random one, or itself |
| `"spans"`                | `MaskSpans`          | SpanBERT         | the same share in runs of neighbouring tokens   |
| `"replace"`              | `Replace`            | ELECTRA, simpler | 15 % of tokens become tokens drawn uniformly    |
| `"shuffle"`              | `Shuffle`            | CAPT 5.2         | tokens change places, none further than 3       |
| `"mask+shuffle"`         | `MaskAndShuffle`     | StructBERT       | both                                            |
| `"mask+shuffle+replace"` | `MaskShuffleReplace` | BART             | all three                                       |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit.masking.masks import (
    BERT_SPLIT,
    Masked,
    allowed,
    check_split,
    complementary_random_mask,
    dynamic_random_mask,
    masked_view,
)
from contrast_kit.masking.order import check_window, shuffle
from contrast_kit.masking.spans import check_spans, span_mask

Batch = Mapping[str, Tensor]
Vocabulary = Mapping[str, int]
Noise = Callable[[Batch, torch.Generator | None, Vocabulary], dict[str, Tensor]]
"""(batch, generator, vocabulary) -> view."""


@dataclass(frozen=True)
class Mask:
    """Select tokens at random; most become [MASK]. "We randomly mask 15 % tokens of x" (CAPT 3.1, after BERT).

    `masking.dynamic_random_mask` on a batch: returns a view with `selected` and `targets`.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 20}
    >>> view = Mask(p=1.0, split=(1, 0, 0))(batch, None, vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[1, 3, 3, 3, 3, 2]]), tensor([11, 12, 13, 14]))
    """

    p: float = 0.15
    """Probability that a token is selected."""
    split: tuple[float, float, float] = BERT_SPLIT
    """Of the selected: share that becomes [MASK], a random token, or stays."""
    kind: str = field(default="mask", init=False, repr=False)

    def __post_init__(self):
        checks.probability("p", self.p)
        check_split(self.split)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary):
        ids, maskable = batch["input_ids"], allowed(batch)
        masked = dynamic_random_mask(ids, maskable, self.p, split=self.split, generator=generator, **vocabulary)
        return masked_view(batch, masked)


@dataclass(frozen=True)
class MaskSpans:
    """Select whole spans until the share p of each text is selected. SpanBERT's noise: `masking.span_mask`.

    A masked token can then not be read off its neighbour, so the same 15 % are harder to recover.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 20}
    >>> view = MaskSpans(p=0.5)(batch, None, vocabulary)
    >>> view["selected"].sum()
    tensor(2)
    """

    p: float = 0.15
    """Share of the tokens of each text to select."""
    split: tuple[float, float, float] = BERT_SPLIT
    """As in `Mask`, drawn once for each span."""
    span_p: float = 0.2
    """The chance that a span ends after each token."""
    max_span: int = 10
    """The longest span in tokens."""
    kind: str = field(default="spans", init=False, repr=False)

    def __post_init__(self):
        checks.probability("p", self.p)
        check_split(self.split)
        check_spans(self.span_p, self.max_span)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary):
        options = dict(split=self.split, span_p=self.span_p, max_span=self.max_span, generator=generator)
        return masked_view(batch, span_mask(batch["input_ids"], allowed(batch), self.p, **options, **vocabulary))


@dataclass(frozen=True)
class Replace:
    """Put random tokens, drawn uniformly from the vocabulary, in place of selected ones.

    ELECTRA draws them from a small masked language model (`masking.replace`, and the objectives that train such a
    model); here nothing is learned.

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 900}
    >>> view = Replace(p=1.0)(batch, torch.Generator().manual_seed(0), vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[  1, 703, 397, 783, 701,   2]]), tensor([11, 12, 13, 14]))
    """

    p: float = 0.15
    """Probability that a token is replaced (in one draw out of V, by itself)."""
    kind: str = field(default="replace", init=False, repr=False)

    def __post_init__(self):
        checks.probability("p", self.p)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary):
        return Mask(self.p, split=(0.0, 1.0, 0.0))(batch, generator, vocabulary)


@dataclass(frozen=True)
class Shuffle:
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
    kind: str = field(default="shuffle", init=False, repr=False)

    def __post_init__(self):
        check_window(self.window)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary | None = None):
        ids = batch["input_ids"]
        moved = shuffle(ids, allowed(batch), self.window, generator=generator)
        return masked_view(batch, Masked(moved, selected=moved != ids))


@dataclass(frozen=True)
class MaskAndShuffle:
    """Shuffle, then mask; whatever was touched is to be recovered. StructBERT's two kinds of noise at once.

    `targets` are the ids of the *original* order, at masked positions too. (StructBERT shuffles few trigrams; here the
    shuffle is CAPT's, on the whole text.)

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 900}
    >>> view = MaskAndShuffle(p=0.5)(batch, torch.Generator().manual_seed(0), vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[ 1, 12, 13, 11,  3,  2]]), tensor([11, 12, 13, 14]))
    """

    p: float = 0.15
    """Probability that a token is selected for masking."""
    window: int = 3
    """k: no token moves further than this."""
    split: tuple[float, float, float] = BERT_SPLIT
    """As in `Mask`."""
    kind: str = field(default="mask+shuffle", init=False, repr=False)

    def __post_init__(self):
        checks.probability("p", self.p)
        check_split(self.split)
        check_window(self.window)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary):
        shuffled = Shuffle(self.window)(batch, generator, vocabulary)
        masked = Mask(self.p, self.split)(shuffled, generator, vocabulary)
        return masked_view(batch, Masked(masked["input_ids"], selected=masked["selected"] | shuffled["selected"]))


@dataclass(frozen=True)
class MaskShuffleReplace:
    """Shuffle, mask a share of the tokens, replace a share of the others: what CAPT's Table 1 says of BART.

    Whatever was touched is to be recovered, `targets` in the *original* order. The table gives no shares: 15 % each is
    ours, and no token is both masked and replaced. (BART itself masks spans of unknown length and shuffles sentences; a
    view here keeps its length, so that each position can be recovered.)

    >>> import torch
    >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2]])
    >>> batch, vocabulary = {"input_ids": ids, "maskable": ids > 2}, {"mask_id": 3, "vocab_size": 900}
    >>> view = MaskShuffleReplace(p=0.4, p_replace=0.4)(batch, torch.Generator().manual_seed(0), vocabulary)
    >>> view["input_ids"], view["targets"][view["selected"]]
    (tensor([[ 1, 41, 13, 11,  3,  2]]), tensor([11, 12, 13, 14]))
    """

    p: float = 0.15
    """Probability that a token becomes [MASK]."""
    window: int = 3
    """k: no token moves further than this."""
    p_replace: float = 0.15
    """Probability that a token that is not masked becomes one drawn uniformly."""
    kind: str = field(default="mask+shuffle+replace", init=False, repr=False)

    def __post_init__(self):
        checks.probability("p", self.p)
        checks.probability("p_replace", self.p_replace)
        check_window(self.window)

    def __call__(self, batch: Batch, generator: torch.Generator | None, vocabulary: Vocabulary):
        masked = MaskAndShuffle(self.p, self.window, split=(1.0, 0.0, 0.0))(batch, generator, vocabulary)
        ids, options = masked["input_ids"], dict(split=(0.0, 1.0, 0.0), generator=generator, **vocabulary)
        hidden = ids == vocabulary["mask_id"]
        replaced = complementary_random_mask(ids, allowed(batch), hidden, self.p_replace, **options)
        return masked_view(batch, Masked(replaced.input_ids, selected=masked["selected"] | replaced.selected))


_ALL = (Mask(), MaskSpans(), Replace(), Shuffle(), MaskAndShuffle(), MaskShuffleReplace())
NAMED: dict[str, Noise] = {noise.kind: noise for noise in _ALL}
"""The six with their default settings, which are the papers' where one prints them."""


def named(noise: str | Noise) -> Noise:
    """A noise by its name, with its default settings; a noise itself is returned as it is.

    Raises a ValueError for an unknown name, and a TypeError for what is neither a name nor callable.

    >>> named("shuffle")
    Shuffle(window=3)
    """
    if isinstance(noise, str):
        arguments.known(noise, NAMED, "noise", "(a function will do, too)")
        return NAMED[noise]
    arguments.of_kind("noise", noise, Callable, "a name, or a function of (batch, generator, vocabulary)")
    return noise
