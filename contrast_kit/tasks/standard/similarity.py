"""Semantic textual similarity: SimCSE's table of seven tasks, with its aggregation named.

Spearman's correlation of cosines with human scores, times 100, without any training. STS12 to STS16 have several
subsets each, and papers differ in what they do with them (SimCSE, table B.1):

| `aggregation` | what | who |
|---|---|---|
| `"all"` | one correlation over the rows of all subsets together | SimCSE, Sentence-BERT |
| `"mean"` | the mean of the subsets' correlations | DeCLUTR |
| `"weighted"` | their mean, weighted by the number of rows | BERT-flow, BERT-whitening |

The same vectors give different numbers, so a table that does not name its aggregation cannot be compared.
"""

import copy
import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from contrast_kit import data
from contrast_kit.data import glue
from contrast_kit.encoder import Encoder
from contrast_kit.geometry import pair_cosines
from contrast_kit.tasks.metrics import spearman

if TYPE_CHECKING:
    from pandas import DataFrame

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")

Rows = Sequence[tuple[str, str, float]]
"""First text, second text, score."""


def read_sts(folder: str | Path) -> dict[str, dict[str, Rows]]:
    """The tasks that a folder holds, each as subsets of rows, in SentEval's layout or GLUE's.

    `STS/STS12-en-test/STS.input.*.txt` beside `STS.gs.*.txt`, `STS/STSBenchmark/sts-test.csv`,
    `SICK/SICK_test_annotated.txt`; pairs without a score are left out, as in SentEval. Where the test set of STS-B has
    no scores, as in GLUE's folder `STS-B`, its validation rows are the task `"STS-B validation"`, which is a different
    number. Raises `FileNotFoundError` where none of them is there.
    """
    folder = Path(folder).expanduser()
    tasks: dict[str, dict[str, Rows]] = {}
    for year in YEARS:
        files = sorted(place(folder, f"{year}-en-test").glob("STS.input.*.txt"))
        tasks[year] = {
            file.stem.removeprefix("STS.input."): _year_rows(file) for file in files
        }
    benchmark, glue_folder = (
        place(folder, "STSBenchmark/sts-test.csv"),
        place(folder, "STS-B"),
    )
    if benchmark.exists():
        tasks["STS-B"] = {"": triples(glue.sts_rows(benchmark))}
    elif glue_folder.exists():
        tasks["STS-B validation"] = {"": triples(data.load(glue_folder)["validation"])}
    sick = place(folder, "SICK/SICK_test_annotated.txt")
    if sick.exists():
        tasks["SICK-R"] = {"": _sick_rows(sick)}
    tasks = {task: subsets for task, subsets in tasks.items() if subsets}
    if not tasks:
        raise FileNotFoundError(
            f"{folder} holds none of STS12-en-test … STS16-en-test, STSBenchmark, SICK, STS-B: name SentEval's folder "
            "data/downstream, or GLUE's."
        )
    return tasks


def sts(
    encoder: Any,
    tasks: Mapping[str, Mapping[str, Rows] | Rows],
    aggregation: Literal["all", "mean", "weighted"] = "all",
) -> "DataFrame":
    """Spearman × 100 of an encoder on STS tasks, one column each and their mean, with two controls that learnt nothing.

    Args:
        encoder: an `Encoder`, not changed; its own pooling counts. Or another model with `encode(texts)`,
            such as a `SentenceTransformer`.
        tasks: task → subset → rows, from `read_sts` or of one's own; rows without subsets count as one subset.
        aggregation: `"all"`, `"mean"` or `"weighted"`; the index of the table names it.

    Returns:
        a DataFrame with the rows "encoder", "random weights" (the same build; for an `Encoder` only) and "TF-IDF".
        "mean" is over the columns that are there, so it is SimCSE's "Avg." only with all seven.

    >>> import contrast_kit as ck
    >>> texts = ["a red kite", "a small drum", "the kite is red"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), pooling="mean")
    >>> rows = [(texts[0], texts[2], 4.0), (texts[0], texts[1], 1.0), (texts[1], texts[1], 5.0)]
    >>> float(ck.tasks.standard.sts(encoder, {"mine": rows}).loc["TF-IDF", "mine"])
    100.0
    """
    from pandas import DataFrame

    contestants = {"encoder": encoder}
    if isinstance(encoder, Encoder):
        contestants["random weights"] = random_twin(encoder)
    table: dict[str, dict[str, float]] = {name: {} for name in (*contestants, "TF-IDF")}
    for task, subsets in tasks.items():
        subsets = subsets if isinstance(subsets, Mapping) else {"": subsets}
        pairs = [row[:2] for rows in subsets.values() for row in rows]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        similarity = {name: by_vectors(each, texts) for name, each in contestants.items()}
        for name, cosines in (similarity | {"TF-IDF": tf_idf(texts)}).items():
            table[name][task] = _aggregated(subsets, cosines, aggregation)
    frame = DataFrame.from_dict(table, orient="index")
    frame["mean"] = [float(np.mean(list(row.values()))) for row in table.values()]
    frame.index.name = f"Spearman × 100, {aggregation}"
    return frame


def _aggregated(
    subsets: Mapping[str, Rows],
    similarity: Callable,
    aggregation: str,
) -> float:
    cosines, scores = [], []
    for rows in subsets.values():
        first, second, wanted = zip(*rows, strict=True)
        cosines.append(np.asarray(similarity(first, second), dtype=np.float64))
        scores.append(np.asarray(wanted, dtype=np.float64))
    if aggregation == "all":
        return 100 * spearman(np.concatenate(cosines), np.concatenate(scores))
    each = [spearman(*pair) for pair in zip(cosines, scores, strict=True)]
    weights = {"mean": None, "weighted": [len(wanted) for wanted in scores]}[aggregation]
    return 100 * float(np.average(each, weights=weights))


def by_vectors(encoder: Any, texts: list[str]) -> Callable:
    """A function that gives the cosine of each pair of these texts, [N]; each text is encoded once."""
    vectors = torch.as_tensor(encoder.encode(texts)).float().cpu()  # [N, D]
    place = {text: row for row, text in enumerate(texts)}

    def cosines(*sides: Sequence[str]) -> Tensor:
        return pair_cosines(*(vectors[[place[text] for text in side]] for side in sides))

    return cosines


def tf_idf(texts: Sequence[str]) -> Callable:
    """A function that gives the cosine of each pair, [N], of word counts in which rare words weigh more.

    Vectors by scikit-learn's `TfidfVectorizer` on the same texts; 0 where a text has no word. They know only how often
    a word occurs in what they are tested on; what does not beat them has only found words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    counts = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit(texts)

    def cosines(*sides: Sequence[str]) -> np.ndarray:
        a, b = (
            counts.transform(side) for side in sides
        )  # [N, V] sparse, rows of length 1
        return np.asarray(a.multiply(b).sum(1)).ravel()  # [N, V] → [N]

    return cosines


def random_twin(encoder: Encoder, seed: int = 10_007) -> Encoder:
    """An encoder of the same build, tokenizer, pooling and head, with freshly drawn weights: it has learnt nothing.

    The default `seed` is one that no user is likely to have built the encoder with, or the two would be identical.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), seed=5)
    >>> twin = random_twin(encoder)
    >>> twin.encode("a kite").shape, torch.equal(twin.encode("a kite"), encoder.encode("a kite"))
    (torch.Size([1, 128]), False)
    """
    # Weights are drawn on the CPU: no other stream is touched.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = type(encoder.model)(copy.deepcopy(encoder.model.config))
    twin = Encoder(model, encoder.tokenizer, encoder.pooling)
    twin.normalizes = encoder.normalizes
    if not encoder.projection:
        bias = encoder.model.get_output_embeddings().bias
        twin.use_plain_head(bias=bias is not None and bias.requires_grad)
    return twin.to(encoder.device).eval()


def triples(rows: Any) -> list[tuple[str, str, float]]:
    """The pairs of rows of STS-B that have a score."""
    table = zip(rows["sentence1"], rows["sentence2"], rows["label"], strict=True)
    return [row for row in table if row[2] != -1]


def place(folder: Path, name: str) -> Path:
    """Where a file or folder lies in one of the layouts; a path that does not exist where it lies in none."""
    roots = (folder, folder / "STS", folder / "glue_data", folder / "sts")
    return next((root / name for root in roots if (root / name).exists()), folder / name)


def _year_rows(file: Path) -> Rows:
    """The pairs of one year's file that have a score in the file beside it; a third field is left out."""
    gold = file.with_name(file.name.replace("STS.input.", "STS.gs."))
    texts, scores = (
        path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
        for path in (file, gold)
    )
    rows = []
    for text, score in zip(texts, scores, strict=True):
        if score.strip():
            first, second = text.split("\t")[:2]
            rows.append((first, second, float(score)))
    return rows


def _sick_rows(file: Path) -> Rows:
    from pandas import read_csv

    names = ["sentence_A", "sentence_B", "relatedness_score"]
    rows = read_csv(
        file,
        sep="\t",
        quoting=csv.QUOTE_NONE,
        dtype={names[2]: float},
    )[names]
    return list(rows.itertuples(index=False, name=None))
