"""The auxiliary model of ELECTRA and COCO-LM: a small masked language model that corrupts texts for the main one.

It is trained by masked language modelling beside the main model, and its *samples* stand where the masks were
(COCO-LM, eq. 1). No gradient goes from the main model's losses back through a sample. It is thrown away in the end.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM

from contrast_kit import checks, masking
from contrast_kit.encoder.encoder import Encoder
from contrast_kit.fast.blocked_softmax import at_once
from contrast_kit.objectives.base import View
from contrast_kit.objectives.words import mlm_sum, positions
from contrast_kit.training import distributed

TOKENS_AT_ONCE = 2**14
"""Tokens from which samples are drawn at once. A batch of a million tokens must not need a million tokens' scores."""


@dataclass(frozen=True)
class CorruptionConfig:
    """How texts are corrupted; the defaults are COCO-LM's (section 3.3, appendices B and D)."""

    p_m: float = 0.15
    """Probability that a token is masked for the auxiliary model, and may so be replaced. The paper: 0.15."""
    split: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Of these: share that becomes [MASK], a random word, or stays. The paper speaks of "[MASK] symbols" only, and so
    does its code; BERT's 80/10/10 does not help here, where the main model never sees a [MASK]."""
    mask_special: bool = True
    """Special tokens may be masked too: "We follow the RoBERTa setting" (appendix D). False: words only."""
    mask_cls: bool = False
    """… and the first token as well? The paper does not say; the released code's flag for it is off."""
    auxiliary: Literal["shallow", "narrow", "random", "given"] = "shallow"
    """"shallow": the main model's width, fewer layers (COCO-LM). "narrow": all layers, a third of the width, joined to
    the same word vectors by a projection (ELECTRA's, and table 3 "w. ELECTRA's Auxiliary"). "random": no model at
    all, words drawn uniformly (table 3). "given": a trained one, kept as it is (table 3, "w. Converged Auxiliary")."""
    auxiliary_layers: int | None = None
    """Layers of the shallow auxiliary. Paper: 4 under 12, and 6 under 24. None: a third of the main model's."""
    share: Literal["words", "embeddings", "nothing"] = "words"
    """What the two models have in common. Paper: "all token embeddings", at the input and in both vocabulary heads.
    "embeddings" adds absolute positions and the embeddings' LayerNorm, as the released code does."""
    sample_dropout: bool = False
    """Dropout while sampling. Paper: off, "slightly improves" (appendix D). ELECTRA's own code leaves it on."""
    reduction: Literal["mean", "paper_sum"] = "mean"
    """Token losses as means over their tokens (the released code's scale, to which λ = 50 belongs), or as the printed
    E Σ_i: summed over a sequence's tokens, averaged over sequences. There L_copy is n/|M| ≈ 7 times heavier."""
    diagnostics: bool = True
    """Also log, untrained, what figure 8 shows: copy and correction accuracies, and the auxiliary model's own."""

    def __post_init__(self):
        choices = {
            "auxiliary": ("shallow", "narrow", "random", "given"),
            "share": ("words", "embeddings", "nothing"),
            "reduction": ("mean", "paper_sum"),
        }
        for name, allowed in choices.items():
            checks.choice(name, getattr(self, name), allowed)
        checks.probability("p_m", self.p_m)
        masking.check_split(self.split)
        if self.share == "embeddings" and self.auxiliary == "narrow":
            raise ValueError("A narrow auxiliary has embeddings of another build: share='words' or 'nothing'.")
        if self.auxiliary_layers is not None:
            checks.count("auxiliary_layers", self.auxiliary_layers, "the depth of the shallow auxiliary")


class Auxiliary(nn.Module):
    """A masked language model to sample from, trained on the same masks.

    Args:
        encoder: its Transformer, with a vocabulary head with projection, as BERT's.
        sample_dropout: keep dropout on while sampling.
        frozen: never trained; `sums` is then not to be called.
    """

    def __init__(self, encoder: Encoder, sample_dropout: bool = False, frozen: bool = False):
        super().__init__()
        self.encoder, self.sample_dropout, self.frozen = encoder, sample_dropout, frozen
        if frozen:
            encoder.requires_grad_(False)

    @torch.no_grad()
    def sample(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """X^MLM of eq. 1, [B, T]: a word drawn from p_MLM at each selected position, the original elsewhere.

        This pass is apart from that of `sums`: no gradient, and no dropout. Whether the model was in training mode
        before is restored. The view is taken in slices, so that the scores of a large batch never stand together.

        Several processes that sample for one batch share it: each reads its own rows and draws for all of them, so
        that everyone's draws are those of one process, and then they exchange what was sampled.
        """
        was_training, examples = self.encoder.training, len(view["selected"])
        mine = distributed.work(examples)
        self.encoder.train(self.sample_dropout)
        try:
            start, parts = 0, []
            for part in slices(view):
                size = len(part["selected"])
                own = slice(max(0, mine.start - start), min(size, max(0, mine.stop - start)))
                parts.append(self._sample(part, own, generator))
                start += size
        finally:
            self.encoder.train(was_training)
        sampled = torch.cat(parts)  # [B, T]
        return sampled if mine == slice(0, examples) else distributed.gather(sampled[mine], examples)

    def _sample(self, view: View, own: slice, generator: torch.Generator | None) -> Tensor:
        """Samples for the rows `own`; at other rows the same draws are made, for nothing."""
        if self.encoder.slots is not None:
            return self._sample_in_slots(view, generator)
        targets, selected = view["targets"], view["selected"]  # [B, T] each
        rows = {key: value[own] for key, value in view.items()}
        logits = None
        if len(rows["selected"]):
            logits = self.encoder.mlm_logits(self.encoder(rows)[rows["selected"]])  # [B, T, D] → [M, D] → [M, V]
        if len(rows["selected"]) < len(selected):
            before, here = int(selected[: own.start].sum()), int(rows["selected"].sum())
            known, size = logits, self.encoder.vocabulary["vocab_size"]
            logits = torch.zeros(int(selected.sum()), size, device=targets.device)  # [M, V]
            if known is not None:
                logits[before : before + here] = known
        return masking.replace(targets, selected, logits, generator=generator)

    def _sample_in_slots(self, view: View, generator: torch.Generator | None) -> Tensor:
        """The same without a wait for the device: draws for a fixed number of positions, block after block."""
        targets = view["targets"]  # [B, T]
        at = positions(self.encoder, view["selected"])
        states = at.rows(self.encoder(view))  # [B, T, D] → [M, D]
        words = []
        for block in states.split(max(1, at_once(states.device) // self.encoder.vocabulary["vocab_size"])):
            p = self.encoder.mlm_logits(block).float().softmax(-1)  # [R, D] → [R, V]
            waiting = torch.empty_like(p).exponential_(generator=generator)
            words.append((p / waiting).argmax(-1))  # the first of exponential clocks with rates p: a draw from p
        places = at.slots.where(at.counted, targets.numel())  # [M]; slots left over write into a bin at the end
        flat = torch.cat([targets.flatten(), targets.new_zeros(1)])  # [B*T + 1]
        return flat.scatter(0, places, torch.cat(words).to(targets.dtype))[:-1].view_as(targets)

    def sums(self, view: View, diagnostics: bool = True) -> dict[str, Tensor]:
        """The summed masked-LM loss over the selected positions, `"aux_mlm"`, and how many were right, `"aux_acc"`."""
        total, right = mlm_sum(self.encoder, self.encoder(view), view, hits=diagnostics)  # of [B, T, D]
        return {"aux_mlm": total, "aux_acc": right} if diagnostics else {"aux_mlm": total}


class RandomWords(nn.Module):
    """The auxiliary that knows nothing: uniform words at the selected positions (table 3, "w. Random Replacements")."""

    frozen = True

    def __init__(self, vocab_size: int):
        super().__init__()
        self.vocab_size = vocab_size

    def sample(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """X with uniformly drawn words where it was selected, [B, T]."""
        ids = view["targets"]
        words = torch.randint(self.vocab_size, ids.shape, generator=generator, device=ids.device)  # [B, T]
        return torch.where(view["selected"], words, ids)


def make_auxiliary(main: Encoder, config: CorruptionConfig, given: Encoder | None = None) -> nn.Module:
    """The auxiliary model that a config asks for, beside a main model.

    Raises:
        TypeError, ValueError: if `given` is no encoder, is missing or not asked for, or speaks another vocabulary.
    """
    if (given is not None) != (config.auxiliary == "given"):
        raise ValueError("A trained auxiliary model is passed as converged=encoder, with auxiliary='given'.")
    if config.auxiliary == "random":
        return RandomWords(main.vocabulary["vocab_size"])
    if given is not None:
        if not isinstance(given, Encoder):
            raise TypeError(
                f"converged is a trained Encoder, such as Encoder.from_pretrained(folder), not {type(given).__name__}."
            )
        if given.vocabulary != main.vocabulary:
            raise ValueError("The given auxiliary model must have been trained with the main model's tokenizer.")
        return Auxiliary(copy.deepcopy(given), config.sample_dropout, frozen=True)
    model = narrow(main) if config.auxiliary == "narrow" else shallow(main, config.auxiliary_layers)
    if config.share != "nothing":
        words = main.model.get_input_embeddings()
        model.set_input_embeddings(words)
        model.get_output_embeddings().weight = words.weight
    if config.share == "embeddings":
        mine, theirs = model.base_model.embeddings, main.model.base_model.embeddings
        mine.position_embeddings, mine.LayerNorm = theirs.position_embeddings, theirs.LayerNorm
    return Auxiliary(Encoder(model, main.tokenizer), config.sample_dropout)


def shallow(main: Encoder, layers: int | None = None) -> nn.Module:
    """A new model of the main one's build with `layers` layers; without, a third of them, and at least one."""
    config = copy.deepcopy(main.model.config)
    config.num_hidden_layers = layers or max(1, config.num_hidden_layers // 3)
    return type(main.model)(config)


def narrow(main: Encoder) -> nn.Module:
    """ELECTRA's generator: all layers, a third of the heads and of everything else, word vectors of the full width."""
    config = main.model.config
    head = config.hidden_size // config.num_attention_heads
    heads = max(1, round(config.num_attention_heads / 3))
    thin = ElectraConfig(
        vocab_size=config.vocab_size,
        embedding_size=config.hidden_size,
        hidden_size=heads * head,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=heads,
        intermediate_size=4 * heads * head,
        max_position_embeddings=main.max_length,
        hidden_dropout_prob=config.hidden_dropout_prob,
        attention_probs_dropout_prob=config.attention_probs_dropout_prob,
        layer_norm_eps=config.layer_norm_eps,
        pad_token_id=config.pad_token_id,
    )
    return ElectraForMaskedLM(thin)


def slices(view: View) -> Iterator[View]:
    """A view in slices of whole examples, of about `TOKENS_AT_ONCE` tokens."""
    examples, length = view["input_ids"].shape
    size = max(1, TOKENS_AT_ONCE // length)
    for start in range(0, examples, size):
        yield {key: value[start : start + size] for key, value in view.items()}
