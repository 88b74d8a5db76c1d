"""The auxiliary model of ELECTRA and COCO-LM: a small masked language model that corrupts texts for the main one.

It learns masked language modelling beside the main model, and its *samples* stand where the masks were (COCO-LM, eq.
1). No gradient of the main model's losses goes back through a sample. It is thrown away at the end.
"""

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM

from contrast_kit import checks, losses, masking
from contrast_kit.checks import Count, Probability, Settings
from contrast_kit.encoder.encoder import Encoder, View, evaluating
from contrast_kit.objectives.base import cut, words_at

TOKENS_AT_ONCE = 2**14
"""Tokens for which samples are drawn at once: the scores of a million tokens must not all be in memory."""


@dataclass(frozen=True)
class CorruptionConfig(Settings):
    """How texts are corrupted; the defaults are COCO-LM's (section 3.3, appendices B and D)."""

    p_m: Probability = 0.15
    """Probability that a token is masked for the auxiliary model, and so may be replaced. The paper: 0.15."""
    split: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Of these: share that becomes [MASK], a random word, or stays. The paper speaks of "[MASK] symbols" only, and so
    does its code; BERT's 80/10/10 does not help here, where the main model never sees a [MASK]."""
    mask_special: bool = True
    """Special tokens may be masked too: "We follow the RoBERTa setting" (appendix D). False: words only. The first
    token never is, as in the released code; the paper does not say."""
    auxiliary: Literal["shallow", "narrow", "random", "given"] = "shallow"
    """"shallow": the main model's width, fewer layers (COCO-LM). "narrow": all layers, a third of the width, joined to
    the same word vectors by a projection (ELECTRA's, and table 3 "w. ELECTRA's Auxiliary"). "random": no model at all,
    words drawn uniformly (table 3). "given": a trained one, of any size (table 3, "w. Converged Auxiliary")."""
    auxiliary_layers: Count | None = None
    """Layers of the shallow auxiliary. Paper: 4 under 12, and 6 under 24. None: a third of the main model's."""
    share_words: bool = True
    """Whether the two models share "all token embeddings", at the input and in both vocabulary heads. Paper: yes; the
    released code shares absolute positions and the embeddings' LayerNorm too."""
    reduction: Literal["mean", "paper_sum"] = "mean"
    """Token losses as means over their tokens (the released code's scale, to which λ = 50 belongs), or as printed:
    summed over a sequence's tokens, averaged over sequences (E Σ_i). There L_copy is n/|M| ≈ 7 times heavier."""
    diagnostics: bool = True
    """Also log, untrained, what figure 8 shows: copy and correction accuracies, and the auxiliary model's own."""


class Auxiliary(nn.Module):
    """A masked language model to sample from, trained on the same masks: an encoder with BERT's head (with projection).

    `frozen`: never trained.
    """

    def __init__(self, encoder: Encoder, frozen: bool = False):
        super().__init__()
        self.encoder, self.frozen = encoder, frozen
        if frozen:
            encoder.requires_grad_(False)

    @torch.no_grad()
    def sample(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """X^MLM of eq. 1, [B, T]: a word drawn from p_MLM at each selected position, the original elsewhere.

        No gradient, and no dropout: that "slightly improves" (appendix D). In slices: the scores of a large batch are
        never all in memory.
        """
        with evaluating(self.encoder):
            parts = cut(view, max(1, TOKENS_AT_ONCE // view["input_ids"].shape[1]))
            return torch.cat([self._draw(part, generator) for part in parts])  # [B, T]

    def _draw(self, view: View, generator: torch.Generator | None) -> Tensor:
        selected = view["selected"]  # [B, T]
        positions = self.encoder.strategy.positions(selected)
        hidden = positions.rows(self.encoder(view))  # [B, T, D] → [M, D]
        # A model may embed more, which no text can hold.
        words = len(self.encoder.tokenizer)
        logits = self.encoder.mlm_logits(hidden)[:, :words]  # [M, D] → [M, V]
        with checks.unchecked(self.encoder.strategy.fixed_shapes):  # more rows than M
            return masking.replace(view["targets"], selected, logits, generator=generator)

    def sums(
        self, hidden: Tensor, view: View, diagnostics: bool = True
    ) -> dict[str, Tensor]:
        """From its states [B, T, D]: the masked-LM loss, summed over the selected positions; how many were right."""
        scores, positions = words_at(self.encoder, hidden, view["selected"])
        labels = positions.labels(view["targets"])  # [M]
        sums = {"aux_mlm": losses.mlm(scores, labels, reduction="sum")}
        if diagnostics:
            sums["aux_acc"] = (losses.guesses(scores, labels).best == labels).sum()
        return sums


class RandomWords(nn.Module):
    """The auxiliary that knows nothing: uniform words at the selected positions (table 3, "w. Random Replacements")."""

    frozen = True

    def __init__(self, vocab_size: int):
        super().__init__()
        self.vocab_size = vocab_size

    def sample(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """X with uniformly drawn words where it was selected, [B, T]."""
        ids = view["targets"]
        words = torch.randint(
            self.vocab_size, ids.shape, generator=generator, device=ids.device
        )
        return torch.where(view["selected"], words, ids)


def make_auxiliary(
    main: Encoder, config: CorruptionConfig, given: Encoder | None = None
) -> nn.Module:
    """The auxiliary model that a config asks for, for a main model.

    Raises a ValueError if `given` is missing or not asked for, or has another vocabulary.
    """
    if (given is not None) != (config.auxiliary == "given"):
        raise ValueError(
            "A trained auxiliary model is passed as converged=encoder, with auxiliary='given'."
        )
    if config.auxiliary == "random":
        return RandomWords(main.vocabulary["vocab_size"])
    if given is not None:
        if given.vocabulary != main.vocabulary:
            raise ValueError(
                "The given auxiliary model must have been trained with the main model's tokenizer."
            )
        return Auxiliary(copy.deepcopy(given), frozen=True)
    model = (
        narrow(main)
        if config.auxiliary == "narrow"
        else shallow(main, config.auxiliary_layers)
    )
    if config.share_words:
        words = main.model.get_input_embeddings()
        model.set_input_embeddings(words)
        model.get_output_embeddings().weight = words.weight
    return Auxiliary(Encoder(model, main.tokenizer))


def shallow(main: Encoder, layers: int | None = None) -> nn.Module:
    """A new model of the main one's build with `layers` layers; by default a third of the main one's, at least one."""
    config = copy.deepcopy(main.model.config)
    config.num_hidden_layers = layers or max(1, config.num_hidden_layers // 3)
    return type(main.model)(config)


def narrow(main: Encoder) -> nn.Module:
    """ELECTRA's generator: all layers, a third of the heads (rounded), the rest in proportion but for word vectors."""
    config = main.model.config
    heads = max(1, round(config.num_attention_heads / 3))
    width = heads * (config.hidden_size // config.num_attention_heads)
    sizes = dict(
        model_type="electra",
        embedding_size=main.model.get_input_embeddings().embedding_dim,
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=heads,
        max_position_embeddings=main.max_length,
        type_vocab_size=2,  # ELECTRA's own
    )
    return ElectraForMaskedLM(ElectraConfig.from_dict(config.to_dict() | sizes))
