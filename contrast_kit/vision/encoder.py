"""An encoder of words and pictures: LXMERT, the model on which CAPT builds (section 4.1).

Words go through language layers, regions through vision layers, and then both through cross layers, in which each reads
the other. Letters: B examples, T tokens, R regions, F features of a region, D width, A answers, H heads.
"""

from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import (
    AutoModelForPreTraining,
    LxmertConfig,
    LxmertForPreTraining,
    PreTrainedTokenizerBase,
)

from contrast_kit._util import choose
from contrast_kit.encoder import folders
from contrast_kit.encoder.build import PAIR_SHAPES, changed
from contrast_kit.encoder.encoder import BaseEncoder, View
from contrast_kit.vision.noise import check_pair

HIDDEN = "hidden_region.safetensors"
"""The file in a saved folder that holds the one vector which transformers' LXMERT does not have."""


class States(NamedTuple):
    """The last hidden states of a pair: of its words [B, T, D], and of its regions [B, R, D]."""

    words: Tensor
    regions: Tensor


def pair_model(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    features: int = 2048,
    objects: int = 1600,
    attributes: int = 400,
    answers: int = 2,
    max_length: int = 512,
    dropout: float = 0.1,
    **changes: int | float,
) -> nn.Module:
    """An LXMERT of a named shape, for a detector's regions.

    Args:
        features: F, the width of a region's feature. objects, attributes: how many of each the detector names.
            The defaults of these three are those of LXMERT's detector.
        answers: A, how many answers pre-training knows, if it asks questions (LXMERT: 9500). `Answer` has its own.
        max_length: the longest text, in tokens; the tokenizer's limit holds, too.
        dropout: of hidden states and attention (CAPT: 0.1).
        changes: single changes to the shape, for example `x_layers=1` or `initializer_range=0.02`.
    """
    sizes = choose(PAIR_SHAPES, shape, "shape of a CrossModalEncoder")
    config = LxmertConfig(
        **changed(sizes, changes, sizes),
        vocab_size=len(tokenizer),
        visual_feat_dim=features,
        num_object_labels=objects,
        num_attr_labels=attributes,
        num_qa_labels=answers,
        hidden_dropout_prob=float(dropout),
        attention_probs_dropout_prob=float(dropout),
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LxmertForPreTraining(config)


class CrossModalEncoder(BaseEncoder):
    """An LXMERT that turns pairs of text and picture into hidden states, a vector per pair, and scores on request.

    It wraps transformers' `LxmertForPreTraining` without changing it and uses its parts one by one, at the positions a
    loss needs, so a folder written by `save_pretrained` opens in `AutoModelForPreTraining`, `AutoModel` and
    `LxmertForQuestionAnswering`. transformers' own loss is not used: it puts object and attribute losses on all
    regions, is NaN for a batch without a masked word, and takes one answer where there are ten.

    A view has, besides the keys of a text, `regions` [B, R, F], `boxes` [B, R, 4] (corners x1, y1, x2, y2 as shares of
    the picture), `region_mask` [B, R], and, if it is noisy, `region_hidden` [B, R]: `data.Regions` and
    `vision.noise` make them. A hidden region is the learned vector `hidden_region` [F] at its box.

    Calling it returns, as `Encoder` does, the states of the *words*, [B, T, D], which have read the picture: a method
    for texts can train it, without masking the picture. The vector of a pair is the state of [CLS].

    As in LXMERT, and as its folders require, position 0 and token type 0 have no vector of their own: [CLS] is not told
    its place.

    Args:
        model: a transformers `LxmertForPreTraining`.
        tokenizer: the tokenizer the model was, or will be, trained with; it must have a mask and a padding token.

    Reading a view raises what `vision.noise.check_pair` does. `Encoder` reads texts alone.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"text": "the red kite", "image_id": 0}, {"text": "a small drum", "image_id": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, ck.data.scenes.pictures())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=64, objects=14, attributes=8)
        >>> encoder.encode(pairs).shape, encoder.states(pairs.batch([0, 1])).regions.shape
        (torch.Size([2, 96]), torch.Size([2, 5, 96]))
    """

    new_model = staticmethod(pair_model)

    def __init__(
        self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, pooling: str = "first"
    ):
        super().__init__(model, tokenizer, pooling)
        # Like a standardised feature: a vector of zeros would have a gradient some thousand times larger (MaskRegions).
        random = torch.Generator().manual_seed(0)
        self.features = model.config.visual_feat_dim  # F
        # [F]
        self.hidden_region = nn.Parameter(torch.randn(self.features, generator=random))

    @classmethod
    def lxmert(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """9 language, 5 vision and 5 cross layers × 768, 12 heads: LXMERT's and CAPT's. Options as in `build`."""
        return cls.build("lxmert", tokenizer, **options)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """Open a checkpoint: a folder of `save_pretrained`, or any LXMERT, such as "unc-nlp/lxmert-base-uncased".

        Raises:
            FileNotFoundError: neither such a folder nor a hub in reach; says what to do. ValueError: not all of one.
        """
        name = folders.located(name)
        encoder = cls(*folders.read(name, AutoModelForPreTraining))
        file = Path(name) / HIDDEN
        if file.exists():
            encoder.load_state_dict(load_file(file), strict=False)
        return encoder.eval()

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write one folder that transformers opens offline, and that holds the vector of hidden regions beside it."""
        folder = folders.write(folder, self.model, self.tokenizer)
        vector = self.hidden_region.detach().cpu().contiguous()
        save_file({"hidden_region": vector}, folder / HIDDEN)
        return folder

    @property
    def max_length(self) -> int:
        """The longest text in tokens; LXMERT counts positions from 0."""
        return min(
            self.model.config.max_position_embeddings, self.tokenizer.model_max_length
        )

    def forward(self, view: View) -> Tensor:
        """Last hidden states of the words [B, T, D], after they have read the regions."""
        return self.states(view).words

    def states(self, view: View) -> States:
        """Last hidden states of words [B, T, D] and regions [B, R, D]."""
        output = self._run(view)
        return States(output.language_output, output.vision_output)

    def attention(self, view: View) -> Tensor:
        """Where the words look: weights [B, layers, H, T, R] over the regions, of each cross layer; rows sum to 1."""
        return torch.stack(
            self._run(view, output_attentions=True).cross_encoder_attentions, dim=1
        )

    def _run(self, view: View, **options: bool) -> Any:
        check_pair(view, self.features)
        vector = self.hidden_region
        regions = view["regions"].to(vector.dtype)  # [B, R, F]
        if "region_hidden" in view:
            # [B, R, F]
            regions = torch.where(view["region_hidden"][..., None], vector, regions)
        return self.model.lxmert(
            input_ids=view["input_ids"],
            attention_mask=view["attention_mask"],
            token_type_ids=view.get("token_type_ids"),
            visual_feats=regions,
            visual_pos=view["boxes"].to(vector.dtype),
            visual_attention_mask=view["region_mask"],
            **options,
        )

    def pair_vector(self, words: Tensor) -> Tensor:
        """What LXMERT's heads read of a pair: tanh of a dense map of [CLS], its pooler; [B, T, D] → [B, D].

        `pool` gives [CLS] itself, for the contrast.
        """
        return self.model.lxmert.pooler(words)

    def match_logits(self, words: Tensor) -> Tensor:
        """Scores of "another picture's text" and "text and picture match", [B, T, D] → [B, 2]."""
        return self.model.cls.seq_relationship(self.pair_vector(words))

    def answer_logits(self, words: Tensor) -> Tensor:
        """Scores of the answers, [B, T, D] → [B, A]."""
        return self.model.answer_head(self.pair_vector(words))

    def region_logits(self, regions: Tensor) -> dict[str, Tensor]:
        """What chosen regions show, [M, D] → "objects" [M, C], "attributes" [M, C'], "features" [M, F]."""
        scores = self.model.obj_predict_head(regions)
        return dict(
            objects=scores["obj"], attributes=scores["attr"], features=scores["feat"]
        )

    def new_answer_head(self, answers: int) -> None:
        """Draw the answer head anew, for this many answers. A saved folder keeps it."""
        layers = self.model.answer_head.logit_fc  # linear, gelu, LayerNorm, linear
        self.model.config.num_qa_labels = self.model.num_qa_labels = answers
        layers[-1] = nn.Linear(2 * self.width, answers).to(layers[-1].weight)
        layers[2].reset_parameters()
        for linear in (layers[0], layers[-1]):  # as LXMERT begins
            nn.init.normal_(linear.weight, std=self.model.config.initializer_range)
            nn.init.zeros_(linear.bias)

    def encode(self, pairs: Any, batch_size: int = 64, normalize: bool = False) -> Tensor:
        """Vectors [N, D] of N pairs, in their order, in evaluation mode, on the encoder's device.

        Args:
            pairs: a `data.Regions`.
            batch_size: pairs encoded at once.
            normalize: divide each vector by its length, as the contrastive losses do.
        """
        places, to = range(len(pairs)), self.device
        batches = (pairs.batch(places[i : i + batch_size]) for i in places[::batch_size])
        views = ({key: value.to(to) for key, value in batch.items()} for batch in batches)
        return self.vectors(views, normalize)
