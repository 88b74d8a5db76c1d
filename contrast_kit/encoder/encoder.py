"""The Transformer that all methods share: a Hugging Face masked-LM model, its pooling and its vocabulary head.

Letters in shape comments: B examples, T tokens, D width, V vocabulary, M masked positions, N texts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from contrast_kit import arguments, checks, fast, method_checks
from contrast_kit.encoder import hf_folders, inputs, mlm_head
from contrast_kit.encoder.presets import Presets
from contrast_kit.losses.tokens import guesses

View = dict[str, Tensor]
"""A batch-like dict of tensors, each with the examples first, so that a view can be cut into chunks by slicing."""


class Words(NamedTuple):
    """What the softmax over the vocabulary says at M positions; only `total` has a gradient."""

    total: Tensor  # []: the loss, summed over positions
    log_q: Tensor  # [M]: log-probability of the label
    best: Tensor | None = None  # [M]: the most probable word
    log_best: Tensor | None = None  # [M]: its log-probability
    log_other: Tensor | None = None  # [M]: that of `others`


class Positions:
    """The M chosen positions of a view: how to take their rows, and the weight of each row."""

    def __init__(self, where: Tensor) -> None:
        self.where = where  # [B, T] bool
        self.index = where.flatten().nonzero().squeeze(1)  # [M]; this waits for a GPU, once

    def rows(self, x: Tensor) -> Tensor:
        """[B, T, …] → [M, …]."""
        return x.flatten(0, 1).index_select(0, self.index)

    def labels(self, ids: Tensor) -> Tensor:
        """Of ids [B, T] those that a loss asks for, [M]."""
        return self.rows(ids)

    # leaves with objectives' rewrite
    def weights(self, each: Tensor) -> Tensor:
        """The weight of each row, [M]: the entry of `each` [B] for its text."""
        return self.rows(each.unsqueeze(1).expand(self.where.shape))  # [B] → [B, T] → [M]


@contextmanager
def evaluating(*modules: nn.Module) -> Iterator[None]:
    """Inside, everything is in evaluation mode; afterwards each part is in the mode it had, even where parts differ."""
    modes = [(part, part.training) for module in modules for part in module.modules()]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


class Padded:
    """The plain form: texts padded to the longest, a row per chosen position. `fast` has others with equal results."""

    fixed_shapes = False

    def hidden_states(self, model: nn.Module, inputs: View, read: Tensor | None = None) -> Tensor:
        """Last hidden states of padded texts, [B, T, D]."""
        mask = inputs["attention_mask"]  # [B, T]: transformers asks whether it hides anything, and waits for the GPU
        if mask.device.type != "cpu" and model.config.model_type in ("roberta", "bert", "electra"):
            inputs = inputs | {"attention_mask": fast.ready_made_mask(model, mask)}
        return model.base_model(**inputs).last_hidden_state

    def positions(self, where: Tensor, share: float | None = None) -> Positions:
        """The positions at which `where` [B, T] is True; `share` says how many are expected."""
        return Positions(where)


class Encoder(Presets, nn.Module):
    """A Transformer that turns a view into hidden states, a sequence vector, and word scores on request.

    It wraps a Hugging Face masked-LM model (`RobertaForMaskedLM`, `BertForMaskedLM`, …) and keeps its weights, so a
    folder written by `save_pretrained` opens in `AutoModel`, `AutoModelForMaskedLM` and `SentenceTransformer`.

    Args:
        model: a transformers `…ForMaskedLM` whose modules besides the base model form its vocabulary head, in order.
        tokenizer: the tokenizer the model was, or will be, trained with; it must have a mask and a padding token.
        pooling: `"first"`, the last hidden state of the first token (CMLM eq. 8, COCO-LM's h_[CLS]); or `"mean"`,
            the mean over real tokens. Never the `pooler_output` of BERT, which adds a layer no paper here uses.

    `projection` is True: word scores come from the model's own vocabulary head. After `use_plain_head()` it is False:
    they are h · x, as for COCO-LM's main model. `pretrained` is True for a loaded checkpoint, `normalizes` where
    sentence-transformers divides its vectors by their length. `strategy` says how hidden states are computed: `Padded`,
    or one of `fast` (`ck.faster`).

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum"]
        >>> tokenizer = ck.data.train_tokenizer(texts, vocab_size=60)
        >>> encoder = ck.Encoder.tiny(tokenizer)
        >>> encoder.encode(texts).shape
        torch.Size([2, 128])
    """

    def __init__(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, pooling: str = "first"):
        super().__init__()
        checks.choice("pooling", pooling, tuple(hf_folders.POOLINGS))
        inputs.check_tokenizer(tokenizer)
        self.model, self.tokenizer, self.pooling = inputs.checked_model(model, tokenizer), tokenizer, pooling
        self.projection, self.strategy, self.normalizes = True, Padded(), False
        self.pretrained = any(getattr(p, "_is_hf_initialized", False) for p in model.parameters())  # loaded, not drawn
        self._head = mlm_head.modules(self.model)

    @classmethod
    def from_pretrained(cls, name: str | Path, pooling: str | None = None) -> "Encoder":
        """Open a checkpoint: a folder that `save_pretrained` wrote, any BERT- or RoBERTa-like folder, or a hub name.

        Args:
            name: a local folder (looked at first), `"kit/books-mlm"`, or a hub name such as `"roberta-base"`.
            pooling: `"first"` or `"mean"`; by default what the folder says, else `"first"`.

        Raises:
            FileNotFoundError: neither such a folder nor a hub in reach; says what to do.
            ValueError: no masked LM, or not all of one; another pooling; a vocabulary head that cannot be taken apart.

        Example:
            >>> import tempfile
            >>> import contrast_kit as ck
            >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), pooling="mean")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     again = ck.Encoder.from_pretrained(encoder.save_pretrained(folder))
            >>> again.pooling, torch.equal(again.encode("a kite"), encoder.encode("a kite"))
            ('mean', True)
        """
        model, tokenizer = hf_folders.read(name := hf_folders.located(name))
        hf_folders.read_as_there(name, tokenizer)
        encoder = cls(model, tokenizer, (hf_folders.pooling_of(name) or "first") if pooling is None else pooling)
        mlm_head.check(model, one := encoder.view_of([tokenizer.mask_token]))
        inputs.check_alone(model, one, encoder.view_of([tokenizer.mask_token, 5 * tokenizer.mask_token]))
        encoder.pretrained, encoder.normalizes = True, hf_folders.normalizes(name, pooling)
        return encoder.eval()  # as transformers opens a model; `fit` trains it with dropout

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write one folder that transformers and sentence-transformers open offline and read alike; returns it."""
        folder = arguments.path("folder", folder, "where the encoder is saved")
        if not self.projection:
            mlm_head.make_transparent(self.model)
        hf_folders.write(folder, self)
        method_checks.warn_own_pooling(self, Encoder.pool)
        return folder

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """D, the size of a hidden state and of a sequence vector."""
        return self.model.config.hidden_size

    @property
    def vocabulary(self) -> dict[str, int]:
        """What the functions of `masking` need to know of the vocabulary: `mask_id` and `vocab_size`."""
        return {"mask_id": self.tokenizer.mask_token_id, "vocab_size": len(self.tokenizer)}

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included: what the model's positions and the tokenizer allow."""
        positions = self.model.config.max_position_embeddings
        embeddings = getattr(self.model.base_model, "embeddings", None)
        offset = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        positions = positions if offset is None else positions - offset - 1
        return min(positions, self.tokenizer.model_max_length)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    # -- what it computes --------------------------------------------------------------------------------------------

    def forward(self, view: View) -> Tensor:
        """Last hidden states [B, T, D] of a view with `input_ids` and `attention_mask`, both [B, T].

        `token_type_ids` are read too, if the model knows types. A `read` among them, bool [B, T], says whose states
        are looked at: those of other tokens may then be left out, and are NaN (`fast.last_layer`).
        """
        inputs = {key: view[key] for key in ("input_ids", "attention_mask")}
        if "token_type_ids" in view and getattr(self.model.config, "type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = view["token_type_ids"]
        return self.strategy.hidden_states(self.model, inputs, view.get("read"))  # [B, T, D]

    def pool(self, hidden: Tensor, view: View) -> Tensor:
        """One vector per sequence, [B, T, D] → [B, D]: the first token's state, or the mean over real tokens."""
        if self.pooling == "first":
            return hidden[:, 0]  # [B, D]
        real = view["attention_mask"].unsqueeze(-1).to(hidden.dtype)  # [B, T, 1]
        return (hidden * real).sum(1) / real.sum(1)  # [B, D]

    def mlm_logits(self, hidden: Tensor) -> Tensor:
        """Word scores of chosen positions, [M, D] → [M, V], by the model's own vocabulary head or the plain one.

        Give it `hidden[selected]`: with 30,000 words, the head at every position costs more than a small Transformer.
        """
        rows = fast.filled_up(hidden) if fast.compiled_by_shape(hidden) else hidden
        for module in self._head if self.projection else [self.model.get_output_embeddings()]:
            rows = module(rows)
        return rows if len(rows) == len(hidden) else rows[: len(hidden)]

    # leaves with objectives' rewrite
    def word_loss(
        self, terms: Callable[..., Tensor], states: Tensor, labels: Tensor, *rows: Tensor, others: Tensor | None = None
    ) -> Words:
        """Sum a token loss over M positions, in float32 or better: Σ_i terms(log q_i, rows_i), as `Words`.

        q_i = exp(s_i[y_i]) / Σ_{v in V} exp(s_i[v]) for the word scores s_i = `mlm_logits(states)[i]` and the label
        y_i; all V words stand in the denominator. Many scores are never held all at once (`fast.vocabulary`).

        Args:
            terms: gives [M] from log q [M] and `rows`: `losses.tokens.mlm_terms` for masked language modelling.
            states: hidden states [M, D]. labels: ids [M].
            rows: further inputs of `terms`, positions first.
            others: ids [M]: also find the best word, and the log-probabilities of it and of these, without gradient.

        Raises:
            ValueError, NotFiniteError: labels outside the vocabulary; a loss that is NaN or infinite.
        """
        scores = self.word_scores(states)
        if isinstance(scores, fast.WordScores):
            total = scores.total(terms, labels, *rows, others=others)
            return Words(total, *scores.guesses(labels, others))
        log_q = -nn.functional.cross_entropy(checks.floats(scores, "logits"), labels, reduction="none")  # [M]
        found = Words(terms(log_q, *rows).sum(), log_q.detach())
        checks.finite(found.total, "The loss over the vocabulary")
        return found if others is None else Words(found.total, *guesses(scores, labels, others))

    def word_scores(self, states: Tensor) -> Tensor:
        """Word scores of chosen positions, [M, D] → [M, V], for `losses.mlm` and its kin: `mlm_logits(states)`.

        Too many to hold, they are `fast.WordScores` in place of a tensor: the losses then make them block after block.
        """
        if not self.strategy.fixed_shapes:
            few = len(states) * self.model.config.vocab_size <= 2 * fast.scores_at_once(states.device)
            if few or mlm_head.states(self.model, states[:0]) is None:
                return self.mlm_logits(states)
        states, linear = self.word_layer(states)
        return fast.WordScores(states, linear.weight, linear.bias)

    def word_layer(self, hidden: Tensor) -> tuple[Tensor, nn.Linear] | None:
        """What the last layer of `mlm_logits` reads, [M, D], and that layer, [M, D] → [M, V]; None if unknown."""
        states = mlm_head.states(self.model, hidden) if self.projection else hidden
        return None if states is None else (states, self.model.get_output_embeddings())

    def use_packing(self, on: bool = True) -> None:
        """From here on compute nothing on padding: the same states, faster where texts differ in length."""
        checks.switch("on", on)
        self.strategy = fast.Packed(self.model, Padded()) if on else fast.Packed.undone(self.model, Padded())

    def use_plain_head(self, bias: bool = False) -> None:
        """From here on word scores are h · x, without projection (COCO-LM, appendix D) and, unless asked for, bias.

        ValueError: word vectors x of another width than the states h, as ALBERT's; a head that a folder cannot omit.
        """
        checks.switch("bias", bias)
        mlm_head.check_plain(self.model)
        self.projection = False
        if not bias:
            mlm_head.remove_bias(self.model)

    def view_of(self, texts: list, max_length: int | None = None) -> View:
        """Strings, or pairs of them, as one view on the encoder's device, cut to its `max_length` or less.

        Padded on the right, whatever side the tokenizer prefers: a sequence vector is the *first* token's.
        """
        options = dict(padding=True, padding_side="right", truncation=True, return_tensors="pt")
        texts, limit = inputs.list_of_texts(texts), self.max_length if max_length is None else max_length
        special = self.tokenizer.num_special_tokens_to_add(pair=any(not isinstance(text, str) for text in texts))
        arguments.length(limit, special)
        return self.tokenizer(texts, max_length=min(limit, self.max_length), **options).to(self.device)

    @torch.no_grad()
    def encode(
        self, texts: str | list, batch_size: int = 64, max_length: int | None = None, normalize: bool = False
    ) -> Tensor:
        """Sequence vectors [N, D] of N texts, in their order, in evaluation mode, on the encoder's device.

        Args:
            texts: strings, or pairs of strings; one string counts as a list of one.
            batch_size: texts encoded at once, the longest first, so that a batch has little padding.
            max_length: cut texts to this many tokens; by default, and at most, the encoder's `max_length`.
            normalize: divide each vector by its length, as the contrastive losses do.

        Raises:
            ValueError: no text, an empty one, a `batch_size` below 1, or a `max_length` without room for text.
            TypeError: a text that is neither a string nor a pair of strings, such as a whole row.
        """
        checks.count("batch_size", batch_size, "a number of texts")
        checks.switch("normalize", normalize)
        texts = inputs.list_of_texts(texts)
        order = inputs.longest_first(texts)
        rows = []
        with evaluating(self):
            for start in range(0, len(order), batch_size):
                view = self.view_of([texts[i] for i in order[start : start + batch_size]], max_length)
                rows.append(self.pool(self(view), view))  # [batch, D]
        vectors = torch.cat(rows)[torch.tensor(order, device=rows[0].device).argsort()]  # [N, D], in the texts' order
        return nn.functional.normalize(vectors, dim=-1) if normalize else vectors
