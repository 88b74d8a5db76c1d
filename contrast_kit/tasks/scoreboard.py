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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from contrast_kit import geometry, objectives
from contrast_kit.data import Texts
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.masking import noise
from contrast_kit.objectives.base import mlm_count, mlm_sum
from contrast_kit.tasks.metrics import TABLES, spearman
from contrast_kit.tasks.pairs import Pairs, hard_pairs
from contrast_kit.tasks.probes import linear_probe, vectors_of
from contrast_kit.tasks.table import TaskData, first_rows, load

PROBE_STRENGTH = 1.0  # fixed, as in the recorded runs: one table, one probe


class BesideMLM:
    """Before an objective in a class: masked LM of equal weight on one more copy of its first view, which is masked."""

    weights = {"contrast": 1.0, "mlm": 1.0}

    def views(self, batch, generator=None):
        views = super().views(batch, generator)
        first = next(iter(views.values()))
        masked = noise.Mask()(first, generator, self.encoder.vocabulary)
        return views | {"masked": masked}

    def local_sums(self, name, hidden, view):
        return {"mlm": mlm_sum(self.encoder, hidden, view)} if name == "masked" else {}

    def term_counts(self, name, view):
        return {"mlm": mlm_count(view)} if name == "masked" else {}

    def contrasted(self, name):
        return name != "masked"


class SimCSEAndMLM(BesideMLM, objectives.SimCSE):
    """SimCSE beside masked LM."""


METHODS = objectives.METHODS | {"simcse + mlm": SimCSEAndMLM}
CONTESTANTS = {
    name: partial(METHODS[row.pop("method")], **row)
    for name, row in TABLES["contestants"].items()
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
    """Such pairs with at most a third of their words in common."""
    graded: list[tuple[str, str, float]]
    """Pairs with a score of similarity."""
    probes: Mapping[str, TaskData] = field(default_factory=dict)
    """Labelled tasks for the linear probe; all their rows are used."""

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
        columns = (graded[name] for name in ("sentence1", "sentence2", "label"))
        return cls(
            toyshop.probe_pairs(pairs, seed=seed),
            hard_pairs(pairs, seed),
            list(zip(*columns, strict=True)),
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
        self, tokenizer: PreTrainedTokenizerBase, idf: list[str] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.weights = torch.ones(len(tokenizer))  # [V]
        if idf is not None:
            parts = (idf[i : i + 500] for i in range(0, len(idf), 500))
            documents = sum((self.encode(part) > 0).sum(0) for part in parts)  # [V]
            self.weights = ((1 + len(idf)) / (1 + documents)).log() + 1

    def encode(self, texts: list[str]) -> Tensor:
        """Counts [N, V]; special tokens are not counted."""
        rows, size = self.tokenizer(list(texts))["input_ids"], len(self.tokenizer)
        counts = torch.stack(
            [torch.bincount(torch.tensor(ids), minlength=size) for ids in rows]
        )
        counts[:, self.tokenizer.all_special_ids] = 0
        return counts * self.weights


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

    def __init__(self, encoder: Encoder | WordCounts, texts: list[str]) -> None:
        self.encoder = encoder
        self.mean = vectors_of(encoder, texts).mean(0)  # [N, D] -> [D]

    def encode(self, texts: list[str]) -> Tensor:
        """Centred vectors [N, D]."""
        return vectors_of(self.encoder, texts) - self.mean


def measure(
    encoder: Encoder | WordCounts | Centred, suite: EvalSuite
) -> dict[str, float]:
    """One row of the scoreboard; the columns are explained at the top of this module.

    Args:
        encoder: not changed; an `Encoder`, or a control with `encode(texts)`.
        suite: the data to measure with.

    Returns:
        column -> number; `noise` for an `Encoder` alone, and NaN where all texts have the same vector: no distance is
        left to measure it by.

    Example:
        >>> import contrast_kit as ck
        >>> suite = ck.tasks.scoreboard.EvalSuite.toyshop(pairs=40, rows=100)
        >>> tokenizer = ck.data.train_tokenizer([text for pair in suite.pairs for text in pair], vocab_size=300)
        >>> row = ck.tasks.scoreboard.measure(ck.tasks.scoreboard.WordCounts(tokenizer), suite)
        >>> row["auc"] > 0.9, row["auc_hard"] < row["auc"]
        (True, True)
    """
    *sides, scores = zip(*suite.graded, strict=True)
    graded = (vectors_of(encoder, texts) for texts in sides)
    row = {"sts": spearman(geometry.pair_cosines(*graded).numpy(), scores)}
    for name, data in suite.probes.items():
        how = dict(task=data.task, strength=PROBE_STRENGTH)
        found = linear_probe(encoder, data.train, data.validation, **how)
        row[name] = found[data.task.metrics[0]]
    # [N, D] each
    a, b = (vectors_of(encoder, texts) for texts in zip(*suite.pairs, strict=True))
    hard = (vectors_of(encoder, texts) for texts in zip(*suite.hard, strict=True))
    row |= {
        "auc": _auc(a, b),
        "auc_hard": _auc(*hard),
        "alignment": geometry.alignment(a, b).item(),
        "uniformity": geometry.uniformity(a).item(),
        "effective_rank": geometry.effective_rank(a).item(),
    }
    if isinstance(encoder, Encoder):
        row["noise"] = _noise_sensitivity(encoder, [text for text, _ in suite.pairs])
    return row


def with_at_most(data: TaskData, rows: int) -> TaskData:
    """The task with the first `rows` rows of its training and validation splits."""
    splits = {
        name: first_rows(getattr(data, name), rows) for name in ("train", "validation")
    }
    return replace(data, splits=splits)


def _auc(a: Tensor, b: Tensor) -> float:
    """How well cosines tell pairs [N, D] from random ones."""
    found = geometry.pair_cosines(a, b), geometry.random_pair_cosines(a)
    return geometry.separation(*found).item()


@torch.no_grad()
def _noise_sensitivity(encoder: Encoder, texts: list[str]) -> float:
    """How far 15 % masking moves a text, in distances between texts; NaN for a collapsed encoder."""
    texts, length = list(dict.fromkeys(texts)), min(128, encoder.max_length)
    batch = Texts(texts, encoder.tokenizer, max_length=length).batch(range(len(texts)))
    generator = torch.Generator().manual_seed(0)
    vectors = []
    with evaluating(encoder):
        for view in (batch, noise.Mask()(batch, generator, encoder.vocabulary)):
            view = {key: value.to(encoder.device) for key, value in view.items()}
            vectors.append(encoder.pool(encoder(view), view).float().cpu())
    try:
        return geometry.noise_sensitivity(*vectors).item()
    except ValueError:
        return float("nan")
