"""One suite of measurements for every encoder, one row of numbers each, to set methods side by side.

An `EvalSuite` holds the data: pairs that mean the same, graded pairs, labelled rows, and a noise. `measure` runs it on
an encoder, whose weights stay as they are, and returns one row:

| column             | question                                                             | better  |
|--------------------|----------------------------------------------------------------------|---------|
| `sts`              | do cosines rank pairs as the graded scores do? Spearman, zero-shot   | higher  |
| `<task>`           | can a linear probe read the label off the vector? the task's metric  | higher  |
| `auc`, `auc_hard`  | are similar pairs closer than random ones? hard: few words in common | higher  |
| `alignment`        | mean squared distance of similar pairs (Wang & Isola 2020)           | lower   |
| `uniformity`       | log mean exp(−2 d²) of all pairs (same paper)                        | lower   |
| `effective_rank`   | how many directions are in use?                                      | –       |
| `noise`            | how far does 15 % masking move a text, in distances between texts?   | lower   |

No single column shows that an encoder is good: vectors spread evenly at random win uniformity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from contrast_kit import geometry, objectives
from contrast_kit.data import Texts
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.masking import noise
from contrast_kit.tasks.metrics import spearman
from contrast_kit.tasks.pairs import PairCosines, Pairs, hard_pairs
from contrast_kit.tasks.probes import probe, vectors_of
from contrast_kit.tasks.table import TaskData, first_rows, load

# Ours, not the papers': the encoder pools by the mean, and all that contrast without labels share one temperature,
# except CAPT, whose triangle is printed. Its queue suits a small run (8,192 vectors would date from a much older
# encoder).
TAU = 0.05
PROBE_STRENGTH = 1.0  # fixed, as in the recorded runs: one table, one probe
_of = objectives.METHODS
CONTESTANTS: dict[str, Callable[[Encoder], objectives.Objective]] = {
    "MLM": _of["mlm"],
    "ELECTRA": _of["electra"],
    "All-Token MLM": _of["all-token"],
    "COCO-LM": partial(_of["coco-lm"], tau=TAU),
    "CMLM (printed)": _of["cmlm"],
    "CMLM (InfoNCE)": partial(
        _of["cmlm"],
        contrast="info_nce",
        tau=TAU,
        contrast_weight=1.0,
    ),
    "CAPT": partial(_of["capt"], queue=512),
    "CAPT (no queue)": partial(_of["capt"], queue=0),
    "SimCSE": partial(_of["simcse"], tau=TAU),
    "SimCSE + MLM": partial(
        _of["simcse"],
        tau=TAU,
        mlm_weight=1.0,
    ),
    "SCL (labels)": partial(_of["scl"], classes=2),
    "CSSL (wordings)": partial(_of["cssl"], tau=TAU),
}
"""The rows of the scoreboard: each makes an objective around a new encoder, with the settings of notebook 09 and its
recorded runs. Only SCL sees labels; CSSL needs pairs of wordings (`data.Paraphrased`), all others take plain texts."""


@dataclass
class EvalSuite:
    """The data that every encoder is measured with.

    >>> from contrast_kit.tasks import scoreboard
    >>> suite = scoreboard.EvalSuite.toyshop(pairs=40, rows=100)
    >>> len(suite.pairs), len(suite.hard), list(suite.probes)
    (40, 40, ['sst2', 'cola'])
    """

    pairs: Pairs
    """Pairs of texts that mean the same."""
    hard: Pairs
    """Such pairs with at most a third of their words in common, which counting words does not find."""
    graded: list[tuple[str, str, float]]
    """Pairs with a score of similarity."""
    probes: Mapping[str, TaskData] = field(default_factory=dict)
    """Labelled tasks for the linear probe; all their rows are used."""
    disturb: noise.Noise = field(default_factory=noise.Mask)
    """The noise whose effect is measured."""

    @classmethod
    def toyshop(
        cls,
        pairs: int = 600,
        rows: int = 1_000,
        tasks: tuple[str, ...] = ("sst2", "cola"),
        seed: int = 1,
        split: str = "validation",
    ) -> "EvalSuite":
        """A suite from the toyshop: `pairs` pairs of each kind, `rows` rows of each split of each probe.

        `seed` draws the pairs; the graded pairs are those of `split`. Choose settings on one suite, report on another.
        """
        from contrast_kit.data import toyshop

        graded = first_rows(load("toyshop/stsb").splits[split], rows)
        return cls(
            toyshop.probe_pairs(pairs, seed=seed),
            hard_pairs(pairs, seed),
            list(
                zip(
                    graded["sentence1"], graded["sentence2"], graded["label"], strict=True
                )
            ),
            {name: with_at_most(load(f"toyshop/{name}"), rows) for name in tasks},
        )


class WordCounts:
    """A control that has learnt nothing: a bag of words. A text's vector counts how often it has each token.

    It has the methods that `measure` calls on an encoder, so that every number can have a bag of words beside it. With
    `idf`, a list of texts, a count is weighted by how rare the token is among them (TF-IDF): log((1 + N) / (1 + n)) + 1
    for a token that n of the N texts have.

    >>> import contrast_kit as ck
    >>> texts = ["the kite is red", "is the kite red", "a small drum"]
    >>> bag = ck.tasks.scoreboard.WordCounts(ck.data.train_tokenizer(texts, vocab_size=60))
    >>> ck.losses.cosine_matrix(bag.encode(texts)).round(decimals=2)[0]
    tensor([1., 1., 0.])
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        idf: list[str] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = {
            "mask_id": tokenizer.mask_token_id,
            "vocab_size": len(tokenizer),
        }
        self.weights = torch.ones(len(tokenizer))  # [V]
        if idf is not None:
            parts = (
                idf[i : i + 500]
                for i in range(
                    0,
                    len(idf),
                    500,
                )
            )
            documents = sum((self.encode(part) > 0).sum(0) for part in parts)  # [V]
            self.weights = ((1 + len(idf)) / (1 + documents)).log() + 1

    def encode(self, texts: list[str]) -> Tensor:
        """Counts [N, V]; special tokens are not counted."""
        return self.encode_view(_batch(texts, self.tokenizer))

    def encode_view(self, view: Mapping[str, Tensor]) -> Tensor:
        """Counts of each row of a view, [B, T] -> [B, V]."""
        special = torch.tensor(self.tokenizer.all_special_ids)
        size, rows = len(self.tokenizer), view["input_ids"]
        rows = [
            torch.bincount(ids[~torch.isin(ids, special)], minlength=size) for ids in rows
        ]
        return torch.stack(rows) * self.weights


class Centred:
    """A control: an encoder whose vectors are centred: the mean vector of some texts is subtracted.

    Centring opens the narrow cone without any training. A contrast has to do more than that.

    >>> import contrast_kit as ck
    >>> texts = ["the kite is red", "a small drum", "the green train stops"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), pooling="mean")
    >>> centred = ck.tasks.scoreboard.Centred(encoder, texts)
    >>> before, after = (ck.geometry.anisotropy(each.encode(texts)).item() for each in (encoder, centred))
    >>> before > 0.5, after < 0
    (True, True)
    """

    def __init__(
        self,
        encoder: Encoder | WordCounts,
        texts: list[str],
    ) -> None:
        self.encoder, self.tokenizer = encoder, encoder.tokenizer
        self.vocabulary = encoder.vocabulary
        self.mean = encoder.encode(texts).mean(0).float().cpu()  # [N, D] -> [D]

    def encode(self, texts: list[str]) -> Tensor:
        """Centred vectors [N, D]."""
        return vectors_of(self.encoder, texts) - self.mean

    def encode_view(self, view: Mapping[str, Tensor]) -> Tensor:
        """Centred vectors of the rows of a view, [B, T] -> [B, D]."""
        return _encode_view(self.encoder, view) - self.mean


def measure(
    encoder: Encoder | WordCounts | Centred, suite: EvalSuite
) -> dict[str, float]:
    """One row of the scoreboard; the columns are explained at the top of this module.

    Args:
        encoder: not changed; an `Encoder`, or a control with `encode(texts)`, `encode_view(view)`, `tokenizer` and
            `vocabulary`.
        suite: the data to measure with.

    Returns:
        column -> number; `noise` is NaN where all texts have the same vector: no distance is left to measure it by.

    Example:
        >>> import contrast_kit as ck
        >>> suite = ck.tasks.scoreboard.EvalSuite.toyshop(pairs=40, rows=100)
        >>> tokenizer = ck.data.train_tokenizer([text for pair in suite.pairs for text in pair], vocab_size=300)
        >>> row = ck.tasks.scoreboard.measure(ck.tasks.scoreboard.WordCounts(tokenizer), suite)
        >>> row["auc"] > 0.9, row["auc_hard"] < row["auc"]
        (True, True)
    """
    a, b = (
        vectors_of(encoder, texts) for texts in zip(*suite.pairs, strict=True)
    )  # [N, D] each
    first, second, scores = zip(*suite.graded, strict=True)
    cosines = geometry.pair_cosines(
        vectors_of(encoder, first), vectors_of(encoder, second)
    )
    row = {"sts": spearman(cosines.numpy(), scores)}
    for name, data in suite.probes.items():
        scores = probe(encoder, data, strength=PROBE_STRENGTH)
        row[name] = scores[data.task.metrics[0]]
    hard = (vectors_of(encoder, texts) for texts in zip(*suite.hard, strict=True))
    return row | {
        "auc": _auc(a, b),
        "auc_hard": _auc(*hard),
        "alignment": geometry.alignment(a, b).item(),
        "uniformity": geometry.uniformity(a).item(),
        "effective_rank": geometry.effective_rank(a).item(),
        "noise": _noise_sensitivity(encoder, suite),
    }


def with_at_most(data: TaskData, rows: int) -> TaskData:
    """The task with the first `rows` rows of its training and validation splits."""
    splits = {
        name: first_rows(getattr(data, name), rows) for name in ("train", "validation")
    }
    return replace(data, splits=splits)


def _auc(a: Tensor, b: Tensor) -> float:
    """How well cosines tell pairs [N, D] from random ones."""
    return PairCosines(geometry.pair_cosines(a, b), geometry.random_pair_cosines(a)).auc


def _noise_sensitivity(encoder: Any, suite: EvalSuite) -> float:
    """How far the suite's noise moves a text, in distances between texts; NaN for a collapsed encoder."""
    texts = list(dict.fromkeys(text for text, _ in suite.pairs))
    batch = _batch(
        texts,
        encoder.tokenizer,
        min(128, getattr(encoder, "max_length", 128)),
    )
    noisy = suite.disturb(
        batch,
        torch.Generator().manual_seed(0),
        encoder.vocabulary,
    )
    before, after = (_encode_view(encoder, view) for view in (batch, noisy))
    try:
        return geometry.noise_sensitivity(before, after).item()
    except ValueError:
        return float("nan")


def _encode_view(encoder: Any, view: Mapping[str, Tensor]) -> Tensor:
    """The vectors of a view, [B, T] -> [B, D], in evaluation mode."""
    if hasattr(encoder, "encode_view"):  # a control
        return encoder.encode_view(view)
    with evaluating(encoder), torch.no_grad():
        view = {key: value.to(encoder.device) for key, value in view.items()}
        return encoder.pool(encoder(view), view).float().cpu()


def _batch(
    texts: list[str], tokenizer: PreTrainedTokenizerBase, limit: int = 128
) -> dict[str, Tensor]:
    return Texts(
        list(texts),
        tokenizer,
        max_length=limit,
    ).batch(range(len(texts)))
