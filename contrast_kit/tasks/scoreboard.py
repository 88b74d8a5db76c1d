"""The same questions put to every encoder: one row of numbers each, to set methods side by side.

An `Exam` holds what is asked: pairs that mean the same, graded pairs, labelled rows, and a noise. `measure` puts it to
an encoder, whose weights stay as they are, and returns one row:

| column             | asks                                                                 | better  |
|--------------------|----------------------------------------------------------------------|---------|
| `sts`              | do cosines rank pairs as the graded scores do? Spearman, zero-shot   | higher  |
| `<task>`           | can a linear probe read the label off the vector? the task's metric  | higher  |
| `auc`, `auc_hard`  | are similar pairs closer than random ones? hard: few words in common | higher  |
| `alignment`        | mean squared distance of similar pairs (Wang & Isola 2020)           | lower   |
| `uniformity`       | log mean exp(−2 d²) of all pairs (same)                              | lower   |
| `effective_rank`   | how many directions are in use                                       | –       |
| `noise`            | how far 15 % masking moves a text, in distances between texts        | lower   |

No column alone says that an encoder is good: vectors that are spread evenly at random win uniformity.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from transformers import PreTrainedTokenizerBase

from contrast_kit import geometry, objectives
from contrast_kit.encoder import Encoder
from contrast_kit.masking import noise
from contrast_kit.tasks.metrics import spearman
from contrast_kit.tasks.probes import first_rows, linear_probe
from contrast_kit.tasks.table import TaskData, load

Pairs = list[tuple[str, str]]

# What is ours and not the papers': the encoder pools by the mean, one temperature serves all that contrast sentences,
# and CAPT's queue is one that a small run can bear (8,192 vectors of a moving encoder are older than the run).
TAU = 0.05
METHODS: dict[str, Callable[[Encoder], objectives.Objective]] = {
    "MLM": objectives.MLM,
    "ELECTRA": objectives.ELECTRA,
    "All-Token MLM": objectives.AllTokenMLM,
    "COCO-LM": lambda encoder: objectives.COCOLM(encoder, tau=TAU),
    "CMLM": lambda encoder: objectives.CMLM(encoder, contrast="info_nce", tau=TAU, alpha=1.0),
    "CAPT": lambda encoder: objectives.CAPT(encoder, tau=TAU, queue=256),
    "SimCSE": lambda encoder: objectives.SimCSE(encoder, tau=TAU),
    "SimCSE + MLM": lambda encoder: objectives.SimCSE(encoder, tau=TAU, mlm_weight=1.0),
    "SCL (labels)": lambda encoder: objectives.SCL(encoder, classes=2),
}
"""Every method around a new encoder, as notebook 09 and its recorded runs train it; SCL alone sees labels."""


@dataclass
class Exam:
    """What every encoder is asked.

    >>> from contrast_kit.tasks import scoreboard
    >>> exam = scoreboard.Exam.toyshop(pairs=40, rows=100)
    >>> len(exam.pairs), len(exam.hard), list(exam.probes)
    (40, 40, ['sst2', 'cola'])
    """

    pairs: Pairs
    """Pairs of texts that mean the same."""
    hard: Pairs
    """Such pairs with at most a third of their words in common, which counting words does not see."""
    graded: list[tuple[str, str, float]]
    """Pairs with a score of similarity."""
    probes: Mapping[str, TaskData] = field(default_factory=dict)
    """Labelled tasks for the linear probe, already as small as they shall be."""
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
    ) -> "Exam":
        """Made of the toyshop: `pairs` pairs of each kind, `rows` rows of each split of each probe.

        `seed` draws the pairs and `split` has the graded pairs: choose settings on others than those you report.
        """
        from contrast_kit.data import toyshop

        hard = [pair for pair in toyshop.probe_pairs(20 * pairs, seed=seed) if overlap(*pair) <= 1 / 3]
        graded = load("toyshop/stsb")
        graded = first_rows(graded.train if split == "train" else graded.validation, rows)
        first, second = graded["sentence1"], graded["sentence2"]
        return cls(
            toyshop.probe_pairs(pairs, seed=seed),
            hard[:pairs],
            list(zip(first, second, graded["label"], strict=True)),
            {name: small(load(f"toyshop/{name}"), rows) for name in tasks},
        )


class WordCounts:
    """A control that has learnt nothing and knows no order: a text is the list of how often it has each token.

    It can be asked whatever an encoder can, so that every measure has its bag of words beside it.

    >>> import contrast_kit as ck
    >>> texts = ["the kite is red", "is the kite red", "a small drum"]
    >>> bag = ck.tasks.scoreboard.WordCounts(ck.data.train_tokenizer(texts, vocab_size=60))
    >>> ck.losses.cosine_matrix(bag.encode(texts)).round(decimals=2)[0]
    tensor([1., 1., 0.])
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = {"mask_id": tokenizer.mask_token_id, "vocab_size": len(tokenizer)}

    def encode(self, texts: list[str]) -> Tensor:
        """Counts [N, V]; special tokens are not counted."""
        return self.of_view(_batch(texts, self.tokenizer))

    def of_view(self, view: Mapping[str, Tensor]) -> Tensor:
        """Counts of each row of a view, [B, T] -> [B, V]."""
        special = torch.tensor(self.tokenizer.all_special_ids)
        rows = []
        for ids in view["input_ids"]:  # row by row: [B, T, V] would be large
            words = ids[~torch.isin(ids, special)]
            rows.append(one_hot(words, len(self.tokenizer)).sum(0))  # [T, V] -> [V]
        return torch.stack(rows).float()


class Centred:
    """A control: an encoder from whose vectors the mean vector of some texts is taken away.

    That opens the narrow cone without any training. What a contrast is praised for must be more than this.

    >>> import contrast_kit as ck
    >>> texts = ["the kite is red", "a small drum", "the green train stops"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), pooling="mean")
    >>> centred = ck.tasks.scoreboard.Centred(encoder, texts)
    >>> before, after = (ck.geometry.anisotropy(each.encode(texts)).item() for each in (encoder, centred))
    >>> before > 0.5, after < 0
    (True, True)
    """

    def __init__(self, encoder: Encoder, texts: list[str]) -> None:
        self.encoder, self.tokenizer, self.vocabulary = encoder, encoder.tokenizer, encoder.vocabulary
        self.mean = encoder.encode(texts).mean(0).float().cpu()  # [N, D] -> [D]

    def encode(self, texts: list[str]) -> Tensor:
        """Vectors [N, D] with the mean taken away."""
        return self.encoder.encode(texts).float().cpu() - self.mean

    def of_view(self, view: Mapping[str, Tensor]) -> Tensor:
        """The same of each row of a view, [B, T] -> [B, D]."""
        return _of_view(self.encoder, view) - self.mean


def measure(encoder: Encoder | WordCounts | Centred, exam: Exam) -> dict[str, float]:
    """One row of the scoreboard; the columns are explained above.

    Args:
        encoder: not changed; anything with `encode(texts) -> [N, D]` and the means to read a view.
        exam: what to ask.

    Returns:
        column -> number; `noise` is NaN where all texts have one vector, so that there is no distance to measure in.

    Example:
        >>> import contrast_kit as ck
        >>> exam = ck.tasks.scoreboard.Exam.toyshop(pairs=40, rows=100)
        >>> tokenizer = ck.data.train_tokenizer([text for pair in exam.pairs for text in pair], vocab_size=300)
        >>> row = ck.tasks.scoreboard.measure(ck.tasks.scoreboard.WordCounts(tokenizer), exam)
        >>> row["auc"] > 0.9, row["auc_hard"] < row["auc"]
        (True, True)
    """
    a, b = (_vectors(encoder, [pair[side] for pair in exam.pairs]) for side in (0, 1))  # [N, D] each
    similar, random = geometry.pair_cosines(a, b), geometry.random_pair_cosines(a)
    hard = [_vectors(encoder, [pair[side] for pair in exam.hard]) for side in (0, 1)]
    first, second, scores = zip(*exam.graded, strict=True)
    cosines = geometry.pair_cosines(_vectors(encoder, first), _vectors(encoder, second))
    clean, moved = _with_noise(encoder, list(dict.fromkeys(pair[0] for pair in exam.pairs)), exam.disturb)
    row = {"sts": spearman(cosines.numpy(), scores)}
    for name, data in exam.probes.items():
        row[name] = linear_probe(encoder, data.train, data.validation, task=data.task)[data.task.metrics[0]]
    return row | {
        "auc": geometry.separation(similar, random).item(),
        "auc_hard": geometry.separation(geometry.pair_cosines(*hard), geometry.random_pair_cosines(hard[0])).item(),
        "alignment": geometry.alignment(a, b).item(),
        "uniformity": geometry.uniformity(a).item(),
        "effective_rank": geometry.effective_rank(a).item(),
        "noise": _noise(clean, moved),
    }


def overlap(a: str, b: str) -> float:
    """The share of two texts' words that both have: |A ∩ B| / |A ∪ B|.

    >>> overlap("The red kite.", "the red drum")
    0.5
    """
    one, other = (set(re.findall(r"\w+", text.lower())) for text in (a, b))
    return len(one & other) / len(one | other)


def small(data: TaskData, rows: int) -> TaskData:
    """The task with at most so many rows a split."""
    splits = {name: first_rows(getattr(data, name), rows) for name in ("train", "validation")}
    return replace(data, splits=splits)


def _noise(clean: Tensor, moved: Tensor) -> float:
    try:
        return geometry.noise_sensitivity(clean, moved).item()
    except ValueError:  # collapsed
        return float("nan")


def _vectors(encoder: Any, texts: Any) -> Tensor:
    return encoder.encode(list(texts)).float().cpu()  # [N, D]


def _with_noise(encoder: Any, texts: list[str], disturb: noise.Noise) -> tuple[Tensor, Tensor]:
    """Vectors of the texts as they are and with noise on them, [N, D] each."""
    batch = _batch(texts, encoder.tokenizer)
    noisy = disturb(batch, torch.Generator().manual_seed(0), encoder.vocabulary)
    return _of_view(encoder, batch), _of_view(encoder, noisy)


def _of_view(encoder: Any, view: Mapping[str, Tensor]) -> Tensor:
    """The vectors of a view, [B, T] -> [B, D], in evaluation mode."""
    if hasattr(encoder, "of_view"):  # a control
        return encoder.of_view(view)
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.no_grad():
            view = {key: value.to(encoder.device) for key, value in view.items()}
            return encoder.pool(encoder(view), view).float().cpu()
    finally:
        encoder.train(was_training)


def _batch(texts: list[str], tokenizer: PreTrainedTokenizerBase) -> dict[str, Tensor]:
    from contrast_kit.data import Texts

    return Texts(texts, tokenizer).batch(range(len(texts)))
