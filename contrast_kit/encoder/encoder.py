"""The Transformer that all methods share: a Hugging Face masked-LM model, its pooling and its vocabulary head.

Letters in shape comments: B examples, T tokens, D width, V vocabulary, M masked positions, N texts.
"""

from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from contrast_kit._checks import check_texts, check_tokenizer
from contrast_kit.encoder import hf_folders, mlm_head, plain_head, relative_positions
from contrast_kit.encoder.hf_folders import POOLINGS
from contrast_kit.encoder.presets import SHAPES as SHAPES
from contrast_kit.encoder.presets import new_model
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.fast import packed


class Encoder(nn.Module):
    """A Transformer that turns a view into hidden states, a sequence vector, and word scores where asked.

    It wraps a Hugging Face masked-LM model (`RobertaForMaskedLM`, `BertForMaskedLM`, …) without changing it, so a
    folder written by `save_pretrained` opens in `AutoModel`, `AutoModelForMaskedLM` and `SentenceTransformer`.

    Args:
        model: a transformers `…ForMaskedLM` whose modules besides the base model form its vocabulary head, in order.
        tokenizer: the tokenizer the model was, or will be, trained with; it must have a mask token.
        pooling: `"first"`, the last hidden state of the first token (CMLM eq. 8, COCO-LM's h_[CLS]); or `"mean"`,
            the mean over real tokens. Never the `pooler_output` of BERT, which adds a layer no paper here uses.

    `projection` is True: the vocabulary head is the model's own, projection and all. After `use_plain_head()`, as for
    COCO-LM's main model, word scores are h · x; a saved folder then holds a projection that changes nothing
    (`plain_head`), so it opens and fills masks as any other.

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
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {POOLINGS}, not {pooling!r}.")
        check_tokenizer(tokenizer)
        rows = model.get_input_embeddings().num_embeddings
        if len(tokenizer) > rows:
            raise ValueError(
                f"The tokenizer has {len(tokenizer)} tokens but the model embeds only {rows}: "
                "open both from the same folder, or train the tokenizer first and build the model for it."
            )
        self.model, self.tokenizer, self.pooling = relative_positions.prepare(model), tokenizer, pooling
        self.projection, self.packed = True, False
        self.slots: float | None = None
        self.joined = False  # encode the views of a batch together (`joined`)
        self.ahead: dict[int, torch.Tensor] = {}  # states already made, by the id of a view's input_ids

    # -- construction ------------------------------------------------------------------------------------------

    @classmethod
    def tiny(cls, tokenizer: PreTrainedTokenizerBase, **options) -> "Encoder":
        """2 layers × 128, 2 heads, FFN 512: the size that a laptop trains in a minute. Options as in `build`."""
        return cls.build("tiny", tokenizer, **options)

    @classmethod
    def small(cls, tokenizer: PreTrainedTokenizerBase, **options) -> "Encoder":
        """6 layers × 256, 4 heads, FFN 1024 (CAPT Table 4, small). Options as in `build`."""
        return cls.build("small", tokenizer, **options)

    @classmethod
    def base(cls, tokenizer: PreTrainedTokenizerBase, **options) -> "Encoder":
        """12 layers × 768, 12 heads, FFN 3072 (RoBERTa-base). Options as in `build`."""
        return cls.build("base", tokenizer, **options)

    @classmethod
    def large(cls, tokenizer: PreTrainedTokenizerBase, **options) -> "Encoder":
        """24 layers × 1024, 16 heads, FFN 4096 (RoBERTa-large). Options as in `build`."""
        return cls.build("large", tokenizer, **options)

    @classmethod
    def build(
        cls,
        shape: str,
        tokenizer: PreTrainedTokenizerBase,
        *,
        seed: int = 0,
        pooling: str = "first",
        max_length: int = 512,
        dropout: float = 0.1,
        relative_positions: bool | RelativePositions = False,
        **shape_changes: int,
    ) -> "Encoder":
        """A randomly initialised RoBERTa of a named shape, for the vocabulary of `tokenizer`.

        Args:
            shape: `"tiny"`, `"small"`, `"base"` or `"large"`.
            tokenizer: decides the size of the embedding table.
            seed: of the initial weights; the caller's random state is left as it was.
            pooling: `"first"` or `"mean"`.
            max_length: the longest input, in tokens.
            dropout: of hidden states and attention (0.1 in all four papers).
            relative_positions: True adds T5's relative positions (COCO-LM's models; the model is then an MPNet, which
                is RoBERTa with just these), a `RelativePositions` says how many buckets.
            shape_changes: single changes to the shape, for example `num_hidden_layers=4`.

        Raises:
            TypeError, ValueError: for a shape that has no name here, or what is no tokenizer with a mask token.
        """
        check_tokenizer(tokenizer)
        model = new_model(
            shape,
            tokenizer,
            seed=seed,
            max_length=max_length,
            dropout=dropout,
            relative_positions=relative_positions,
            **shape_changes,
        )
        return cls(model, tokenizer, pooling)

    @classmethod
    def from_pretrained(cls, name: str | Path, pooling: str | None = None) -> "Encoder":
        """Open a checkpoint: a folder that `save_pretrained` wrote, any BERT- or RoBERTa-like folder, or a hub name.

        Args:
            name: a local folder (looked at first) or a hub name such as `"roberta-base"`.
            pooling: `"first"` or `"mean"`; by default what the folder says, else `"first"`.

        Raises:
            FileNotFoundError: if there is neither such a folder nor a hub that could be reached; says what to do.
            ValueError: if the folder pools in another way, or the model's vocabulary head cannot be taken apart.

        Example:
            >>> import tempfile
            >>> import contrast_kit as ck
            >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), pooling="mean")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     again = ck.Encoder.from_pretrained(encoder.save_pretrained(folder))
            >>> again.pooling, torch.equal(again.encode("a kite"), encoder.encode("a kite"))
            ('mean', True)
        """
        model, tokenizer = hf_folders.read(name)
        if (limit := hf_folders.max_length_of(name)) is not None:
            tokenizer.model_max_length = min(limit, tokenizer.model_max_length)
        encoder = cls(model, tokenizer, pooling or hf_folders.pooling_of(name) or "first")
        mlm_head.check(model, dict(tokenizer(tokenizer.mask_token, return_tensors="pt")))
        return encoder

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write one folder that transformers and sentence-transformers open offline, with the same vectors.

        Beside the model and the tokenizer it holds the two small files in which sentence-transformers keeps the
        pooling. Returns the folder.
        """
        folder = Path(folder).expanduser()
        if not self.projection:
            plain_head.make_transparent(self.model)
        hf_folders.write(folder, self.model, self.tokenizer, self.pooling, self.max_length)
        return folder

    # -- what it is --------------------------------------------------------------------------------------------

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
        config = self.model.config
        positions = config.max_position_embeddings
        embeddings = getattr(self.model.base_model, "embeddings", None)
        offset = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        positions = positions if offset is None else positions - offset - 1
        return min(positions, self.tokenizer.model_max_length)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    # -- what it computes --------------------------------------------------------------------------------------

    def forward(self, view: dict[str, torch.Tensor]) -> torch.Tensor:
        """Last hidden states of a view.

        Args:
            view: `input_ids` [B, T] and `attention_mask` [B, T] (and `token_type_ids`, if the model knows types).

        Returns:
            hidden states [B, T, D].
        """
        if id(view["input_ids"]) in self.ahead:
            return self.ahead[id(view["input_ids"])]  # [B, T, D]
        inputs = {key: view[key] for key in ("input_ids", "attention_mask")}
        if "token_type_ids" in view and getattr(self.model.config, "type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = view["token_type_ids"]
        if self.packed:
            return packed.hidden_states(self.model.base_model, inputs)  # [B, T, D]
        if self.slots is not None:
            inputs["attention_mask"] = packed.ready_made(self.model, inputs["attention_mask"])
        return self.model.base_model(**inputs).last_hidden_state  # [B, T, D]

    def pool(self, hidden: torch.Tensor, view: dict[str, torch.Tensor]) -> torch.Tensor:
        """One vector per sequence, [B, T, D] → [B, D]: the first token's state, or the mean over real tokens."""
        if self.pooling == "first":
            return hidden[:, 0]  # [B, D]
        real = view["attention_mask"].unsqueeze(-1).to(hidden.dtype)  # [B, T, 1]
        return (hidden * real).sum(1) / real.sum(1)  # [B, D]

    def mlm_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Word scores of chosen positions, [M, D] → [M, V], by the model's own vocabulary head.

        Give it `hidden[selected]`, not all positions: at 15 % masking and 30,000 words the head on every position
        costs more than the Transformer below it. After `use_plain_head()` they are h · x.
        """
        if not self.projection:
            return plain_head.scores(self.model, hidden)
        return mlm_head.scores(self.model, hidden)

    def word_layer(self, hidden: torch.Tensor) -> tuple[torch.Tensor, nn.Linear] | None:
        """The two halves of `mlm_logits`: what its last layer reads, [M, D], and that layer, [M, D] → [M, V].

        For losses that never hold all scores (`losses.words`). None for a head that is not known well enough.
        """
        states = mlm_head.states(self.model, hidden) if self.projection else hidden
        return None if states is None else (states, self.model.get_output_embeddings())

    def use_packing(self, on: bool = True) -> None:
        """From here on compute nothing on padding (`packed`): the same states, faster where texts differ in length."""
        if on:
            packed.prepare(self.model)
        self.packed = on

    def use_plain_head(self, bias: bool = False) -> None:
        """From here on word scores are h · x, without projection (COCO-LM, appendix D) or, unless asked, bias."""
        self.projection = False
        if not bias:
            plain_head.remove_bias(self.model)

    def view_of(self, texts: list, max_length: int | None = None) -> dict[str, torch.Tensor]:
        """Strings, or pairs of them, as one view on the encoder's device, cut to its `max_length` or less.

        Padded on the right, whatever side the tokenizer likes: a sequence vector is the *first* token's.
        """
        return self.tokenizer(
            texts,
            padding=True,
            padding_side="right",
            truncation=True,
            max_length=min(max_length or self.max_length, self.max_length),
            return_tensors="pt",
        ).to(self.device)

    @torch.no_grad()
    def encode(
        self, texts: str | list, batch_size: int = 64, max_length: int | None = None, normalize: bool = False
    ) -> torch.Tensor:
        """Sequence vectors of texts, in evaluation mode, longest first so that a batch is little padded.

        Args:
            texts: N strings, or N pairs of strings; one string counts as a list of one.
            batch_size: texts encoded at once.
            max_length: cut texts to this many tokens; by default, and at most, the encoder's `max_length`.
            normalize: divide each vector by its length, as the contrastive losses do.

        Returns:
            vectors [N, D], on the encoder's device, in the order of `texts`.

        Raises:
            ValueError: if there is no text, or an empty one, or `batch_size` is below 1.
            TypeError: for something else than strings or pairs of them, such as whole rows.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}.")
        texts = [texts] if isinstance(texts, str) else list(texts)
        check_texts(texts)
        size = [len(text) if isinstance(text, str) else sum(map(len, text)) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: -size[i])
        was_training = self.training
        self.eval()
        try:
            rows = []
            for start in range(0, len(order), batch_size):
                chosen = [texts[i] for i in order[start : start + batch_size]]
                view = self.view_of(chosen, max_length)
                rows.append(self.pool(self(view), view))  # [batch, D]
        finally:
            self.train(was_training)
        vectors = torch.cat(rows)  # [N, D], longest text first
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        vectors = vectors[back.to(vectors.device)]
        return nn.functional.normalize(vectors, dim=-1) if normalize else vectors
