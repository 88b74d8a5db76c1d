"""The auxiliary model of ELECTRA and COCO-LM: a small masked language model that corrupts texts for the main one.

It learns masked language modelling beside the main model, and its *samples* stand where the masks were (COCO-LM, eq.
1). No gradient of the main model's losses goes back through a sample. It is thrown away at the end.
"""

import copy
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM

from contrast_kit import checks, masking
from contrast_kit.data.texts import frame_of
from contrast_kit.encoder.encoder import Encoder, View, evaluating
from contrast_kit.encoder.hf_folders import COPY_HEAD, located
from contrast_kit.losses.tokens import mlm_terms
from contrast_kit.objectives.base import Objective, cut
from contrast_kit.objectives.coco_lm.token_losses import CopyHead, Task, set_word_scores, token_counts, token_sums

TOKENS_AT_ONCE = 2**14
"""Tokens for which samples are drawn at once: the scores of a million tokens must not all be in memory."""


@dataclass(frozen=True)
class ReleasedCode:
    """What the papers' texts leave open or lack, but the released code has: switches, and the scale of the losses."""

    mask_cls: bool = False
    """With `mask_special`: the first token may be masked too. The paper does not say; the released code: off."""
    sample_dropout: bool = False
    """Dropout while sampling. Paper: off, "slightly improves" (appendix D); on in ELECTRA's own code, so perhaps in the
    paper's rows of ELECTRA too."""
    reduction: Literal["mean", "paper_sum"] = "mean"
    """Token losses as means over their tokens (the released code's scale, to which λ = 50 belongs), or as printed:
    summed over a sequence's tokens, averaged over sequences (E Σ_i). There L_copy is n/|M| ≈ 7 times heavier."""
    diagnostics: bool = True
    """Also log, untrained, what figure 8 shows: copy and correction accuracies, and the auxiliary model's own."""


@dataclass(frozen=True)
class CorruptionConfig(ReleasedCode):
    """How texts are corrupted; the defaults are COCO-LM's (section 3.3, appendices B and D)."""

    p_m: float = 0.15
    """Probability that a token is masked for the auxiliary model, and so may be replaced. The paper: 0.15."""
    split: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Of these: share that becomes [MASK], a random word, or stays. The paper speaks of "[MASK] symbols" only, and so
    does its code; BERT's 80/10/10 does not help here, where the main model never sees a [MASK]."""
    mask_special: bool = True
    """Special tokens may be masked too: "We follow the RoBERTa setting" (appendix D). False: words only."""
    auxiliary: Literal["shallow", "narrow", "random", "given"] = "shallow"
    """"shallow": the main model's width, fewer layers (COCO-LM). "narrow": all layers, a third of the width, joined to
    the same word vectors by a projection (ELECTRA's, and table 3 "w. ELECTRA's Auxiliary"). "random": no model at all,
    words drawn uniformly (table 3). "given": a trained one, of any size (table 3, "w. Converged Auxiliary")."""
    auxiliary_layers: int | None = None
    """Layers of the shallow auxiliary. Paper: 4 under 12, and 6 under 24. None: a third of the main model's."""
    share: Literal["words", "embeddings", "nothing"] = "words"
    """What the two models have in common. Paper: "all token embeddings", at the input and in both vocabulary heads.
    "embeddings" adds absolute positions and the embeddings' LayerNorm, as the released code does."""

    def __post_init__(self):
        checks.choice("auxiliary", self.auxiliary, ("shallow", "narrow", "random", "given"))
        checks.choice("share", self.share, ("words", "embeddings", "nothing"))
        checks.choice("reduction", self.reduction, ("mean", "paper_sum"))
        checks.probability("p_m", self.p_m)
        masking.check_split(self.split)
        if self.share == "embeddings" and self.auxiliary == "narrow":
            raise ValueError("A narrow auxiliary has embeddings of another build: share='words' or 'nothing'.")
        if self.auxiliary_layers is not None:
            checks.count("auxiliary_layers", self.auxiliary_layers, "the depth of the shallow auxiliary")


def draw_words(encoder: Encoder, view: View, generator: torch.Generator | None = None) -> Tensor:
    """Words drawn from an encoder's masked LM at the selected positions of a view, the originals elsewhere: [B, T]."""
    logits = encoder.mlm_logits(encoder(view)[view["selected"]])  # [B, T, D] → [M, D] → [M, V]
    known = logits[:, : len(encoder.tokenizer)]  # a model may embed more words, which no text can hold
    return masking.replace(view["targets"], view["selected"], known, generator=generator)


class Auxiliary(nn.Module):
    """A masked language model to sample from, trained on the same masks: an encoder with BERT's head (with projection).

    `sample_dropout` keeps dropout on while sampling. `frozen`: never trained, and `sums` is not called. What draws is
    `draws_words`: the trainer lets several processes that draw for one batch share the work.
    """

    draws_words = staticmethod(draw_words)

    def __init__(self, encoder: Encoder, sample_dropout: bool = False, frozen: bool = False):
        super().__init__()
        self.encoder, self.sample_dropout, self.frozen = encoder, sample_dropout, frozen
        if frozen:
            encoder.requires_grad_(False)

    @torch.no_grad()
    def sample(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """X^MLM of eq. 1, [B, T]: a word drawn from p_MLM at each selected position, the original elsewhere.

        No gradient, no dropout unless it is asked for. In slices: the scores of a large batch are never all in memory.
        """
        with evaluating(self.encoder):
            self.encoder.train(self.sample_dropout)
            parts = cut(view, max(1, TOKENS_AT_ONCE // view["input_ids"].shape[1]))
            return torch.cat([self.draws_words(self.encoder, part, generator) for part in parts])  # [B, T]

    def sums(self, hidden: Tensor, view: View, diagnostics: bool = True) -> dict[str, Tensor]:
        """From its states [B, T, D]: the masked-LM loss, summed over the selected positions; how many were right."""
        at = self.encoder.strategy.positions(view["selected"])  # M positions
        targets, weight = at.rows(view["targets"]), at.weights(hidden.new_ones(len(hidden), dtype=torch.float32))
        others = targets if diagnostics else None
        found = self.encoder.word_loss(mlm_terms, at.rows(hidden), targets, weight, others=others)
        right = {"aux_acc": ((found.best == targets) & (weight > 0)).sum()} if diagnostics else {}
        return {"aux_mlm": found.total} | right


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


class Corrupting(Objective):
    """What ELECTRA, All-Token MLM and COCO-LM have in common: an auxiliary model, and the text that it corrupts.

    Views: `"masked"`, what the auxiliary learns from (none where it is not trained), and `"corrupted"`, X^MLM, with
    `original`, X^orig, and `selected`, M. There the main model learns its `task`, with its `copy_head`.

    Args: those of every `Objective`, and
        converged: a trained auxiliary model, which is copied and kept as it is (table 3, "w. Converged Auxiliary").
    """

    task: Task
    copy_head: CopyHead | None
    token_options: dict[str, Any] = {}  # noqa: RUF012 - of `token_sums`

    def __init__(
        self, encoder: Encoder, config: Any = None, *, converged: Encoder | None = None, seed: int = 0, **changes: Any
    ):
        if converged is not None:
            changes["auxiliary"] = "given"
        super().__init__(encoder, config, seed=seed, **changes)
        self.frame = frame_of(encoder.tokenizer)  # special tokens before a text and after it
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
            torch.default_generator.manual_seed(int(seed) + 1)  # not the numbers that may have made the main model
            self.auxiliary = make_auxiliary(encoder, self.config, converged).to(encoder.model.dtype)
        if self.task != "rtd":
            set_word_scores(encoder, self.config.lm_projection, self.config.head_biases)  # for good, so last of all
        self.register_load_state_dict_post_hook(Corrupting.set_progress)  # a finished run takes no step when resumed

    @property
    def auxiliary_weight(self) -> dict[str, float]:
        """1 for the auxiliary's own loss (eq. 4), where it is trained."""
        return {} if self.auxiliary.frozen else {"aux_mlm": 1.0}

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        """The views `"masked"` and `"corrupted"`: mask, sample, and put the samples in the masked places (eq. 1)."""
        config, ids = self.config, batch["input_ids"]
        allowed = batch["attention_mask"].bool() if config.mask_special else masking.allowed(batch)  # [B, T]
        if config.mask_special and not config.mask_cls:
            allowed = allowed & (allowed.cumsum(1) > self.frame[0])  # not what opens a text
        options = dict(split=config.split, generator=generator, **self.encoder.vocabulary)
        masked = masking.masked_view(batch, masking.dynamic_random_mask(ids, allowed, config.p_m, **options))
        masked["read"] = masked["selected"]  # the auxiliary's states there are all that its loss and its samples need
        sampled = self.auxiliary.sample(masked, generator)  # [B, T]
        corrupted = {**batch, "input_ids": sampled, "original": ids, "selected": masked["selected"]}
        return ({} if self.auxiliary.frozen else {"masked": masked}) | {"corrupted": corrupted}

    def states(self, name: str, view: View) -> Tensor:
        """The last states, [B, T, D]: the auxiliary's for `"masked"`, the main model's for other views."""
        return (self.auxiliary.encoder if name == "masked" else self.encoder)(view)

    def local_sums(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """For `"masked"` the auxiliary's masked LM; on X^MLM what the main model loses at its task (`token_sums`)."""
        if name == "masked":
            return self.auxiliary.sums(hidden, view, self.config.diagnostics)
        if name != "corrupted":
            return {}
        options = self.token_options | {"diagnostics": self.config.diagnostics}
        return token_sums(self.encoder, self.copy_head, hidden, view, self.task, **options)

    def set_progress(self, *_: Any) -> None:
        """Detection teaches the main model no words: its configuration says so from then on, and `Prompt` reads it."""
        config = vars(self.encoder.model.config)
        config.pop("taught_without_words", None)
        config |= {"taught_without_words": "replaced token detection"} if self.task == "rtd" else {}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        """What these sums are divided by: tokens, or sequences (`"paper_sum"`)."""
        config = self.config
        if name != "masked":
            return token_counts(view, self.task, config.reduction, config.diagnostics)
        selected = view["selected"].sum()
        sequences = torch.full_like(selected, len(view["selected"]))
        counts = {"aux_mlm": sequences if config.reduction == "paper_sum" else selected}
        return counts | ({"aux_acc": selected} if config.diagnostics else {})

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write the encoder's folder, and beside it the copy head and the config for `from_pretrained`; returns it."""
        folder = self.encoder.save_pretrained(folder)
        made = {"objective": type(self).__name__, "config": json.dumps(asdict(self.config))}
        save_file(self.copy_head.state_dict() if self.copy_head else {}, folder / COPY_HEAD, made)
        return folder

    @classmethod
    def from_pretrained(cls, name: str | Path, converged: Encoder | None = None) -> Self:
        """The encoder and copy head that `save_pretrained` wrote. The auxiliary model is a new one, or `converged`.
        FileNotFoundError: no such folder, or `save_pretrained` of an encoder wrote it. ValueError: another method's."""
        if not (file := Path(located(name)).expanduser() / COPY_HEAD).is_file():
            raise FileNotFoundError(f"{name} has no {COPY_HEAD}: name a folder of {cls.__name__}.save_pretrained.")
        found = safe_open(file, "pt").metadata()
        if (of := found.get("objective", "COCOLM")) != cls.__name__:
            raise ValueError(f"{name} holds what {of} learned: open it with {of}.from_pretrained.")
        made = json.loads(found["config"])
        made |= {"split": tuple(made["split"]), "auxiliary": made["auxiliary"].replace("given", "shallow")}
        objective = cls(Encoder.from_pretrained(name), cls.Config(**made), converged=converged)
        if head := load_file(file):
            objective.copy_head.load_state_dict(head)
        return objective


def make_auxiliary(main: Encoder, config: CorruptionConfig, given: Encoder | None = None) -> nn.Module:
    """The auxiliary model that a config asks for, for a main model. TypeError or ValueError: `given` is not an encoder,
    is missing or not asked for, or has another vocabulary."""
    if (given is not None) != (config.auxiliary == "given"):
        raise ValueError("A trained auxiliary model is passed as converged=encoder, with auxiliary='given'.")
    if config.auxiliary == "random":
        return RandomWords(main.vocabulary["vocab_size"])
    if given is not None:
        if not isinstance(given, Encoder):
            kind = type(given).__name__
            raise TypeError(f"converged is a trained Encoder, such as Encoder.from_pretrained(folder), not {kind}.")
        if given.vocabulary != main.vocabulary:
            raise ValueError("The given auxiliary model must have been trained with the main model's tokenizer.")
        return Auxiliary(copy.deepcopy(given), config.sample_dropout, frozen=True)
    model = narrow(main) if config.auxiliary == "narrow" else shallow(main, config.auxiliary_layers)
    if config.share != "nothing":
        words = main.model.get_input_embeddings()
        model.set_input_embeddings(words)
        if model.get_output_embeddings().weight.shape != words.weight.shape:
            kind = type(main.model).__name__
            raise ValueError(f"{kind} reads and scores words by vectors of two widths: share='nothing'.")
        model.get_output_embeddings().weight = words.weight
    if config.share == "embeddings":
        mine, theirs = model.base_model.embeddings, main.model.base_model.embeddings
        mine.position_embeddings, mine.LayerNorm = theirs.position_embeddings, theirs.LayerNorm
    return Auxiliary(Encoder(model, main.tokenizer), config.sample_dropout)


def shallow(main: Encoder, layers: int | None = None) -> nn.Module:
    """A new model of the main one's build with `layers` layers; by default a third of the main one's, at least one."""
    config = copy.deepcopy(main.model.config)
    config.num_hidden_layers = layers or max(1, config.num_hidden_layers // 3)
    try:
        return type(main.model)(config)
    except (TypeError, ValueError, AssertionError) as error:  # Longformer: a window for each layer
        kind = type(main.model).__name__
        raise ValueError(f"A {kind} cannot be made shallower ({error}): auxiliary='narrow', or 'given'.") from error


def narrow(main: Encoder) -> nn.Module:
    """ELECTRA's generator: all layers, a third of the heads (rounded), the rest in proportion but for word vectors."""
    config = main.model.config
    if not hasattr(config, "hidden_dropout_prob") or not hasattr(config, "layer_norm_eps"):
        kind = type(main.model).__name__
        raise ValueError(f"A {kind} has no settings to build a narrow auxiliary from: auxiliary='shallow', or 'given'.")
    heads = max(1, round(config.num_attention_heads / 3))
    width = heads * (config.hidden_size // config.num_attention_heads)
    same = ("vocab_size", "num_hidden_layers", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps")
    shared = {name: getattr(config, name) for name in (*same, "pad_token_id")}
    words = main.model.get_input_embeddings().embedding_dim
    sizes = dict(embedding_size=words, hidden_size=width, num_attention_heads=heads)
    sizes |= dict(intermediate_size=4 * width, max_position_embeddings=main.max_length)
    return ElectraForMaskedLM(ElectraConfig(**shared, **sizes))
