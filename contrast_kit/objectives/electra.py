"""ELECTRA (replaced token detection) and All-Token MLM: two ways to learn from every token of a corrupted text.

As COCO-LM's paper describes and trains them (section 3.1 and "(Ours)"), in the frame that COCO-LM extends,
`Corrupting`.

Letters: B examples, T tokens, D width, V vocabulary, M masked positions, N any chosen positions. A *replaced* token is
one that differs from the original; a masked position whose sample happens to be the original is an original token.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from contrast_kit import losses
from contrast_kit._util import seeded
from contrast_kit.checks import Weight
from contrast_kit.data.texts import frame_of
from contrast_kit.encoder.encoder import Encoder, View
from contrast_kit.encoder.folders import COPY_HEAD, located
from contrast_kit.encoder.word_head import remove_bias
from contrast_kit.objectives.auxiliary import CorruptionConfig, make_auxiliary
from contrast_kit.objectives.base import Objective, random_mask, texts_of, words_at

LOSSES = ("aux_mlm", "rtd", "copy", "lm", "all_token")
"""The parts that are losses; the other parts on a corrupted text are diagnostics."""


class CopyHead(nn.Module):
    """w^T h, [..., D] → [...]: above 0 for "this token is original, copy it", as in ELECTRA's RTD head. Neither paper
    prints a bias; both implementations have one."""

    def __init__(self, width: int):
        super().__init__()
        self.w = nn.Linear(width, 1, bias=False)

    def forward(self, hidden):
        return self.w(hidden).squeeze(-1)


class Corrupting(Objective):
    """What ELECTRA, All-Token MLM and COCO-LM have in common: an auxiliary model, and the text that it corrupts.

    Views: `"masked"`, what the auxiliary learns from (none where it is not trained), and `"corrupted"`, X^MLM, with
    `original`, X^orig, and `selected`, M. There the main model learns its task, with its `copy_head`.

    Args: those of every `Objective`, and
        converged: a trained auxiliary model, which is copied and kept as it is (table 3, "w. Converged Auxiliary").
    """

    contrastive = False
    copy_head: CopyHead | None

    def __init__(
        self,
        encoder: Encoder,
        config: Any = None,
        *,
        converged: Encoder | None = None,
        seed: int = 0,
        **changes: Any,
    ):
        if converged is not None:
            changes["auxiliary"] = "given"
        super().__init__(encoder, config, seed=seed, **changes)
        # Special tokens before a text and after it.
        self.frame = frame_of(encoder.tokenizer)
        with seeded(seed + 1):  # not the numbers that may have made the main model
            auxiliary = make_auxiliary(encoder, self.config, converged)
        self.auxiliary = auxiliary.to(encoder.model.dtype)
        self.set_word_scores()  # for good, so last of all

    def build(self):
        self.copy_head = CopyHead(self.encoder.width)

    def set_word_scores(self):
        """The main model's word scores: without bias, and with or without their projection, as the config says."""
        # Of an earlier ELECTRA.
        vars(self.encoder.model.config).pop("taught_without_words", None)
        if self.config.lm_projection:
            remove_bias(self.encoder.model)
        else:
            self.encoder.use_plain_head()

    @property
    def auxiliary_weight(self) -> dict[str, float]:
        """1 for the auxiliary's own loss (eq. 4), where it is trained."""
        return {} if self.auxiliary.frozen else {"aux_mlm": 1.0}

    def views(self, batch, generator=None):
        """The views `"masked"` and `"corrupted"`: mask, sample, and put the samples in the masked places (eq. 1)."""
        if self.config.mask_special:
            real = batch["attention_mask"].bool()  # [B, T]
            # All but what opens a text.
            batch = {**batch, "maskable": real & (real.cumsum(1) > self.frame[0])}
        masked = random_mask(self, batch, generator)
        sampled = self.auxiliary.sample(masked, generator)  # [B, T]
        corrupted = {
            **batch,
            "input_ids": sampled,
            "original": batch["input_ids"],
            "selected": masked["selected"],
        }
        if self.auxiliary.frozen:
            return {"corrupted": corrupted}
        return {"masked": masked, "corrupted": corrupted}

    def states(self, name, view):
        """The last states, [B, T, D]: the auxiliary's for `"masked"`, the main model's for other views."""
        return self.auxiliary.encoder(view) if name == "masked" else self.encoder(view)

    def local_sums(self, name, hidden, view):
        """For `"masked"` the auxiliary's masked LM; on X^MLM what the main model loses, `token_sums`."""
        if name == "masked":
            return self.auxiliary.sums(hidden, view, self.config.diagnostics)
        return self.token_sums(hidden, view) if name == "corrupted" else {}

    def token_sums(self, hidden, view):
        """The summed token losses of the main model on X^MLM, from its states [B, T, D]."""
        raise NotImplementedError

    def term_counts(self, name, view):
        """What these sums are divided by: tokens, or sequences (`"paper_sum"`)."""
        if name == "masked":
            counts = dict.fromkeys(("aux_mlm", "aux_acc"), view["selected"].sum())
        elif name == "corrupted":
            counts = token_counts(view, everywhere="all_token" in self.weights)
        else:
            return {}
        if self.config.reduction == "paper_sum":
            counts |= {loss: texts_of(view) for loss in LOSSES if loss in counts}
        return counts

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write the encoder's folder, and beside it the copy head and the config for `from_pretrained`; returns it."""
        folder = self.encoder.save_pretrained(folder)
        about = {
            "objective": type(self).__name__,
            "config": json.dumps(asdict(self.config)),
        }
        save_file(
            self.copy_head.state_dict() if self.copy_head else {},
            folder / COPY_HEAD,
            about,
        )
        return folder

    @classmethod
    def from_pretrained(cls, name: str | Path, converged: Encoder | None = None) -> Self:
        """The encoder and copy head that `save_pretrained` wrote. The auxiliary model is a new one, or `converged`.

        Raises FileNotFoundError where an encoder's own `save_pretrained` wrote the folder, ValueError for another
        method's.
        """
        file = Path(located(name)).expanduser() / COPY_HEAD
        if not file.is_file():
            raise FileNotFoundError(
                f"{name} has no {COPY_HEAD}: name a folder of {cls.__name__}.save_pretrained."
            )
        about = safe_open(file, "pt").metadata()
        method = about.get("objective", "COCOLM")
        if method != cls.__name__:
            raise ValueError(
                f"{name} holds what {method} learned: open it with {method}.from_pretrained."
            )
        config = json.loads(about["config"])
        config["split"] = tuple(config["split"])
        config["auxiliary"] = config["auxiliary"].replace("given", "shallow")
        objective = cls(
            Encoder.from_pretrained(name), cls.Config(**config), converged=converged
        )
        head = load_file(file)
        if head:
            objective.copy_head.load_state_dict(head)
        return objective


def token_counts(view: View, everywhere: bool = False) -> dict[str, Tensor]:
    """What each sum on a corrupted view is divided by, from the view alone.

    Losses: `rtd`, `copy` and `all_token` over real tokens, `lm` over masked ones. Diagnostics, all of them shares
    (COCO-LM, figure 8):

    * `resampled`: of the masked positions, those whose sample is the original again;
    * `copy_acc_replaced`, `copy_acc_original`: of the real tokens, p_copy on the right side of 1/2;
    * `clm_acc_replaced`, `clm_acc_original`: of the tokens *at which the language model runs*, those whose first choice
      is the original. For COCO-LM these are the masked ones, so "original" means re-sampled there: no word scores are
      computed only to look at them. For All-Token MLM it runs `everywhere`.
    """
    real, selected = view["attention_mask"].bool(), view["selected"]  # [B, T] each
    same = view["input_ids"] == view["original"]
    named = real if everywhere else selected
    return {
        **dict.fromkeys(("rtd", "copy", "all_token"), real.sum()),
        **dict.fromkeys(("lm", "resampled"), selected.sum()),
        "copy_acc_replaced": (real & ~same).sum(),
        "copy_acc_original": (real & same).sum(),
        "clm_acc_replaced": (named & ~same).sum(),
        "clm_acc_original": (named & same).sum(),
    }


@torch.no_grad()
def copy_accuracies(copy_logits: Tensor, view: View) -> dict[str, Tensor]:
    """How many real tokens p_copy sees rightly, the replaced ones and the others, and how many were drawn again."""
    real, selected = view["attention_mask"].bool(), view["selected"]  # [B, T] each
    same, copied = view["input_ids"] == view["original"], copy_logits > 0
    return {
        "resampled": (selected & same).sum(),
        "copy_acc_replaced": (~copied & real & ~same).sum(),
        "copy_acc_original": (copied & real & same).sum(),
    }


@torch.no_grad()
def word_accuracies(
    scores: Tensor, copy_logits: Tensor | None, read: Tensor, original: Tensor
) -> dict[str, Tensor]:
    """At how many of N positions the most probable word is the original: the replaced ones, and the others.

    Under p_LM that is the word that was read, with p_copy(1) + p_copy(0) q, or the softmax's best, with p_copy(0) q.
    """
    guesses = losses.guesses(scores, original, read)
    right, same = guesses.best == original, read == original  # [N] each
    if copy_logits is not None:
        p_copy = copy_logits.to(guesses.log_q.dtype).sigmoid()
        # p_LM of the word that was read.
        p_read = p_copy + (1 - p_copy) * guesses.log_other.exp()
        right = torch.where(p_read >= (1 - p_copy) * guesses.log_best.exp(), same, right)
    return {
        "clm_acc_replaced": (right & ~same).sum(),
        "clm_acc_original": (right & same).sum(),
    }


# -- ELECTRA ---------------------------------------------------------------------------------------------------------


def detection_sums(
    objective: Corrupting, hidden: Tensor, view: View
) -> dict[str, Tensor]:
    """L_RTD over all real tokens, summed (COCO-LM 3.1)."""
    is_original = view["input_ids"] == view["original"]  # [B, T]
    logits = objective.copy_head(hidden)  # [B, T, D] → [B, T]
    loss = losses.replaced_token_detection(
        logits, is_original, view["attention_mask"], reduction="sum"
    )
    sums = {"rtd": loss}
    if objective.config.diagnostics:
        sums |= copy_accuracies(logits, view)
    return sums


@dataclass(frozen=True)
class ELECTRAConfig(CorruptionConfig):
    """ELECTRA as COCO-LM's paper trains it for comparison; samples are drawn without dropout, as COCO-LM draws them."""

    auxiliary: Literal["shallow", "narrow", "random", "given"] = "narrow"
    """ELECTRA's generator has all layers and a third of the width. "shallow" is the paper's row "RTD Only"."""
    lambda_rtd: Weight = 50.0
    """Weight of detection, a yes-or-no, beside the auxiliary's masked LM, a choice of words. ELECTRA: 50."""


class ELECTRA(Corrupting):
    """Replaced token detection: L = L_MLM^Aux + λ L_RTD (COCO-LM 3.1, after Clark et al. 2020).

    Views: `"masked"`, what the auxiliary model learns from, and `"corrupted"`, X^MLM of eq. 1 with its samples in the
    masked places, what the main model learns from. Local losses: `"aux_mlm"`, and `"rtd"` over *all* real tokens. No
    contrast. Arguments: as for `Corrupting`.

    Relation to its neighbours: the main model cannot name words; `AllTokenMLM` and `COCOLM` teach it to.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.ELECTRA(encoder, diagnostics=False)(batch))
        ['aux_mlm', 'loss', 'rtd']
    """

    Config = ELECTRAConfig
    in_tables = "ELECTRA"

    def set_word_scores(self):
        """Detection teaches the main model no words: its configuration says so, and `Prompt` reads it."""
        self.encoder.model.config.taught_without_words = "replaced token detection"

    @property
    def weights(self):
        return self.auxiliary_weight | {"rtd": self.config.lambda_rtd}

    token_sums = detection_sums


# -- All-Token MLM ---------------------------------------------------------------------------------------------------


def all_token_sums(
    objective: Corrupting, hidden: Tensor, view: View
) -> dict[str, Tensor]:
    """L_LM over all real tokens, with a copy mechanism that it learns along the way, summed (COCO-LM 3.3)."""
    copy_logits = objective.copy_head(hidden)  # [B, T, D] → [B, T]
    real = view["attention_mask"].bool()  # [B, T], N of them True
    scores, positions = words_at(objective.encoder, hidden, real, share=1.0)  # [N, V]
    # [N] each
    copying, read = positions.rows(copy_logits), positions.rows(view["input_ids"])
    original = positions.labels(view["original"])  # [N]
    sums = {
        "all_token": losses.all_token_lm(scores, copying, read, original, reduction="sum")
    }
    if objective.config.diagnostics:
        sums |= copy_accuracies(copy_logits, view)
        sums |= word_accuracies(scores, copying, read, original)
    return sums


@dataclass(frozen=True)
class AllTokenMLMConfig(CorruptionConfig):
    """ELECTRA's All-Token MLM, in the setting in which figure 8 compares it with COCO-LM."""

    lm_projection: bool = False
    """True gives the main model's word scores the projection of BERT's head. Default: none, as in COCO-LM."""


class AllTokenMLM(Corrupting):
    """Name the original word at *every* token of the corrupted text: L = L_MLM^Aux + L_LM over all tokens.

    p_copy is learned only as a part of the language model: no L_copy, no stop-gradient. COCO-LM's figure 8 shows why
    that is hard, table 3 ("All-Token LM Only") what it costs. In the denominator: V words at every token, in blocks.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.AllTokenMLM(encoder, diagnostics=False)(batch))
        ['all_token', 'aux_mlm', 'loss']
    """

    Config = AllTokenMLMConfig
    in_tables = "All-Token MLM"

    @property
    def weights(self):
        return self.auxiliary_weight | {"all_token": 1.0}

    token_sums = all_token_sums
