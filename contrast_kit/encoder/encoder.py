"""The Transformer that all methods share: a Hugging Face masked-LM model, its pooling and its vocabulary head.

Letters in shape comments: B examples, T tokens, D width, V vocabulary, M masked positions, N texts.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from contrast_kit import fast
from contrast_kit._util import choose, seeded, warn
from contrast_kit.data.texts import frame_of
from contrast_kit.encoder import folders, word_head
from contrast_kit.encoder.build import check_tokenizer, checked_model, text_model

View = dict[str, Tensor]
"""A batch-like dict of tensors, each with the examples first, so that a view can be cut into chunks by slicing."""


class Positions:
    """The M chosen positions of a view: how to take their rows."""

    def __init__(self, where: Tensor) -> None:
        # [M]; this waits for a GPU, once
        self.index = where.flatten().nonzero().squeeze(1)

    def rows(self, x: Tensor) -> Tensor:
        """[B, T, …] → [M, …]."""
        return x.flatten(0, 1).index_select(0, self.index)

    labels = rows
    """Of ids [B, T] those that a loss asks for, [M]: here those of all rows."""


class Padded:
    """The plain form: texts padded to the longest, a row per chosen position. `fast` has others with equal results."""

    fixed_shapes = False

    def hidden_states(self, model: nn.Module, inputs: View) -> Tensor:
        """Last hidden states of padded texts, [B, T, D]."""
        if inputs["input_ids"].device.type != "cpu":
            inputs = inputs | {"attention_mask": fast.quick_mask(model, inputs)}
        return model.base_model(**inputs).last_hidden_state

    def positions(self, where: Tensor, share: float | None = None) -> Positions:
        """The positions at which `where` [B, T] is True; `share` says how many are expected."""
        return Positions(where)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Inside, everything is in evaluation mode; afterwards each part is in the mode it had, even where parts differ."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


class BaseEncoder(nn.Module):
    """What the encoders of texts and of pairs have in common: a model, a tokenizer, pooling and word scores.

    `pretrained` is True for a loaded checkpoint. `strategy` says how hidden states are computed and positions chosen:
    `Padded`, or one of `fast` (`ck.faster`).
    """

    new_model: Any
    """Makes a model of a named shape: `build.text_model` or `build.pair_model`."""

    def __init__(
        self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, pooling: str = "first"
    ):
        super().__init__()
        choose(folders.POOLINGS, pooling, "pooling")
        if pooling == "first" and not frame_of(tokenizer)[0]:
            warn(
                "This tokenizer puts no token such as [CLS] before a text, so its first word would stand for it (and "
                "may be masked): take pooling='mean'."
            )
        self.model = checked_model(model, tokenizer)
        self.tokenizer, self.pooling = tokenizer, pooling
        # In a plain list: they are parts of the model.
        self.head = word_head.modules(model)
        self.projection, self.strategy = True, Padded()
        loaded = [getattr(p, "_is_hf_initialized", False) for p in model.parameters()]
        self.pretrained = any(loaded)  # not drawn

    @classmethod
    def tiny(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """2 layers × 128, 2 heads (pairs: 1 language, 1 vision and 2 cross layers × 96, 4 heads): for a laptop."""
        return cls.build("tiny", tokenizer, **options)

    @classmethod
    def small(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """6 layers × 256, 4 heads, FFN 1024 (CAPT Table 4; pairs: 3 language, 2 vision and 2 cross layers × 256)."""
        return cls.build("small", tokenizer, **options)

    @classmethod
    def build(
        cls,
        shape: str,
        tokenizer: PreTrainedTokenizerBase,
        *,
        seed: int = 0,
        pooling: str = "first",
        **options: Any,
    ) -> Self:
        """A randomly initialised encoder of a named shape, for the vocabulary of `tokenizer`.

        Args:
            shape: a key of `SHAPES`, or, for pairs, of `PAIR_SHAPES`.
            tokenizer: decides the size of the embedding table.
            seed: of the initial weights; the caller's random state is left as it was.
            pooling: `"first"` or `"mean"`.
            options: those of `text_model` (or `pair_model`), and single changes to the shape, for example
                `num_hidden_layers=4`.

        Raises:
            ValueError: an unknown shape, or a tokenizer without a mask or a padding token. TypeError: no such option.
        """
        check_tokenizer(tokenizer)
        with seeded(seed):
            model = cls.new_model(shape, tokenizer, **options)
        return cls(model, tokenizer, pooling)

    @property
    def width(self) -> int:
        """D, the size of a hidden state and of a sequence vector."""
        return self.model.config.hidden_size

    @property
    def vocabulary(self) -> dict[str, int]:
        """What the functions of `masking` need to know of the vocabulary: `mask_id` and `vocab_size`."""
        return dict(mask_id=self.tokenizer.mask_token_id, vocab_size=len(self.tokenizer))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def pool(self, hidden: Tensor, view: View) -> Tensor:
        """One vector per sequence, [B, T, D] → [B, D]: the first token's state, or the mean over real tokens."""
        if self.pooling == "first":
            return hidden[:, 0]  # [B, D]
        real = view["attention_mask"].unsqueeze(-1).to(hidden.dtype)  # [B, T, 1]
        return (hidden * real).sum(1) / real.sum(1).clamp(min=1)  # [B, D]

    def mlm_logits(self, hidden: Tensor) -> Tensor:
        """Word scores of chosen positions, [M, D] → [M, V], by the model's own vocabulary head or the plain one.

        Give it `hidden[selected]`: with 30,000 words, the head at every position costs more than a small Transformer.
        """
        rows = hidden
        if torch.is_autocast_enabled(hidden.device.type):
            rows = fast.filled_up(hidden)
        for module in self.head:
            rows = module(rows)
        return rows[: len(hidden)]

    def word_scores(self, states: Tensor) -> Tensor:
        """Word scores of chosen positions, [M, D] → [M, V], for `losses.mlm` and its kin: `mlm_logits(states)`.

        Too many to hold, they are `fast.WordScores` in place of a tensor: the losses then make them block after block.
        """
        *projection, words = self.head
        many = len(states) * self.model.config.vocab_size > 2 * fast.scores_at_once(
            states.device
        )
        if (many or self.strategy.fixed_shapes) and isinstance(words, nn.Linear):
            for module in projection:
                states = module(states)
            return fast.WordScores(states, words.weight, words.bias)
        return self.mlm_logits(states)

    @torch.no_grad()
    def vectors(self, views: Iterable[View], normalize: bool = False) -> Tensor:
        """Sequence vectors [N, D] of the examples of several views, in evaluation mode; of length 1 if `normalize`."""
        with evaluating(self):
            vectors = torch.cat([self.pool(self(view), view) for view in views])
        return nn.functional.normalize(vectors, dim=-1) if normalize else vectors


class Encoder(BaseEncoder):
    """A Transformer that turns a view into hidden states, a sequence vector, and word scores on request.

    It wraps a Hugging Face masked-LM model (`RobertaForMaskedLM`, `BertForMaskedLM`, …) and keeps its weights, so a
    folder written by `save_pretrained` opens in `AutoModel`, `AutoModelForMaskedLM` and `SentenceTransformer`.

    Args:
        model: a transformers `…ForMaskedLM` whose modules besides the base model form its vocabulary head, in order.
        tokenizer: the tokenizer the model was, or will be, trained with; it must have a mask and a padding token.
        pooling: `"first"`, the last hidden state of the first token (CMLM eq. 8, COCO-LM's h_[CLS]); or `"mean"`,
            the mean over real tokens. Never the `pooler_output` of BERT, which adds a layer no paper here uses.

    `projection` is True: word scores come from the model's own vocabulary head. After `use_plain_head()` it is False:
    they are h · x, as for COCO-LM's main model. `normalizes` is True where its folder has a `Normalize` module:
    `encode` then gives vectors of length 1, as sentence-transformers does.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum"]
        >>> tokenizer = ck.data.train_tokenizer(texts, vocab_size=60)
        >>> encoder = ck.Encoder.tiny(tokenizer)
        >>> encoder.encode(texts).shape
        torch.Size([2, 128])
    """

    new_model = staticmethod(text_model)
    normalizes = False

    @classmethod
    def base(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """12 layers × 768, 12 heads, FFN 3072 (RoBERTa-base). Options as in `build`, which also makes a "large" one."""
        return cls.build("base", tokenizer, **options)

    @classmethod
    def from_pretrained(cls, name: str | Path, pooling: str | None = None) -> Self:
        """Open a checkpoint: a folder that `save_pretrained` wrote, any BERT- or RoBERTa-like folder, or a hub name.

        Args:
            name: a local folder (looked at first), `"kit/books-mlm"`, or a hub name such as `"roberta-base"`.
            pooling: `"first"` or `"mean"`; by default what the folder says, else `"first"`.

        Raises:
            FileNotFoundError: neither such a folder nor a hub in reach; says what to do.
            ValueError: not all of a model; another pooling; a vocabulary head that cannot be taken apart.

        Example:
            >>> import tempfile
            >>> import contrast_kit as ck
            >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), pooling="mean")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     again = ck.Encoder.from_pretrained(encoder.save_pretrained(folder))
            >>> again.pooling, torch.equal(again.encode("a kite"), encoder.encode("a kite"))
            ('mean', True)
        """
        name = folders.located(name)
        model, tokenizer = folders.read(name)
        pooling, normalizes = folders.sentence_settings(name, tokenizer, pooling)
        # In evaluation mode, as transformers opens a model; `fit` trains it with dropout.
        encoder = cls(model, tokenizer, pooling).eval()
        encoder.normalizes = normalizes
        word_head.check(encoder)
        return encoder

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write one folder that transformers and sentence-transformers open offline and read alike; returns it."""
        if not self.projection:
            word_head.make_transparent(self.model)
        folder = folders.write(folder, self.model, self.tokenizer)
        folders.write_for_sentences(folder, self)
        return folder

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included: what the model's positions and the tokenizer allow."""
        length = self.model.config.max_position_embeddings
        embeddings = getattr(self.model.base_model, "embeddings", None)
        offset = getattr(
            getattr(embeddings, "position_embeddings", None), "padding_idx", None
        )
        if offset is not None:
            length -= offset + 1
        return min(length, self.tokenizer.model_max_length)

    def forward(self, view: View) -> Tensor:
        """Last hidden states [B, T, D] of a view with `input_ids` and `attention_mask`, both [B, T].

        `token_type_ids` are read too, if the model knows types.
        """
        keys = ["input_ids", "attention_mask"]
        if (
            "token_type_ids" in view
            and getattr(self.model.config, "type_vocab_size", 1) > 1
        ):
            keys.append("token_type_ids")
        return self.strategy.hidden_states(self.model, {key: view[key] for key in keys})

    def use_packing(self, on: bool = True) -> None:
        """From here on compute nothing on padding: the same states, faster where texts differ in length."""
        self.strategy = Padded()
        if on:
            self.strategy = fast.Packed(self.model, self.strategy)
        else:
            fast.unpack(self.model)

    def use_plain_head(self) -> None:
        """From here on word scores are h · x, without projection (COCO-LM, appendix D) and without bias.

        ValueError: a head that a folder cannot omit.
        """
        word_head.projection(self.model)
        self.projection, self.head = False, [self.model.get_output_embeddings()]
        word_head.remove_bias(self.model)

    def view_of(self, texts: list, max_length: int | None = None) -> View:
        """Strings, or pairs of them, as one view on the encoder's device, cut to its `max_length` or less.

        Padded on the right, whatever side the tokenizer prefers: a sequence vector is the *first* token's.
        """
        limit = min(max_length or self.max_length, self.max_length)
        options = dict(
            padding=True, padding_side="right", truncation=True, return_tensors="pt"
        )
        return self.tokenizer(list(texts), max_length=limit, **options).to(self.device)

    def encode(
        self,
        texts: str | list,
        batch_size: int = 64,
        max_length: int | None = None,
        normalize: bool = False,
    ) -> Tensor:
        """Sequence vectors [N, D] of N texts, in their order, in evaluation mode, on the encoder's device.

        Args:
            texts: strings, or pairs of strings; one string counts as a list of one.
            batch_size: texts encoded at once, the longest first, so that a batch has little padding.
            max_length: cut texts to this many tokens; by default, and at most, the encoder's `max_length`.
            normalize: divide each vector by its length, as the contrastive losses do. An encoder that `normalizes`
                always does.
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
        lengths = torch.tensor([len("".join(text)) for text in texts])  # [N]
        order = lengths.argsort(descending=True, stable=True)
        views = (
            self.view_of([texts[i] for i in batch], max_length)
            for batch in order.split(batch_size)
        )
        vectors = self.vectors(views, normalize or self.normalizes)
        return vectors[order.argsort().to(vectors.device)]
