"""SQuAD 2.0: train a reader, find its best answers, choose when it should say that there is none, score as the
official script does.

    data = ck.data.load("toyshop/squad")
    reader = ck.tasks.squad.fine_tune(encoder, data["train"], epochs=3, lr=5e-4)
    threshold = reader.choose_threshold(data["validation"])
    reader.evaluate(data["test"], threshold)
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contrast_kit.data.rows import as_rows
from contrast_kit.data.squad import Windows
from contrast_kit.encoder import Encoder
from contrast_kit.tasks.answers import apply_threshold, best_threshold, score
from contrast_kit.tasks.fine_tuning import in_batches
from contrast_kit.tasks.probes import encoder_hash
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.protocols import SQUAD
from contrast_kit.tasks.results import Results, collect, digest
from contrast_kit.tasks.span import Span
from contrast_kit.tasks.splits import split_hash
from contrast_kit.training import Run, fit


@dataclass
class Reader:
    """A fine-tuned `Span` objective, with the window settings that it was trained with."""

    objective: Span
    run: Run | None = None
    max_length: int = 384
    stride: int = 128

    @torch.no_grad()
    def answers(self, rows: Any) -> dict[str, tuple[str, float]]:
        """For each question its best answer, and the null score: how much better "no answer" scores than that.

        An answer's score is that of its start plus that of its end; both lie in one window, the end not before the
        start. Where there are several windows, the best answer of all of them counts, and "no answer" has its lowest
        score. No answer is empty. `answers.apply_threshold` decides. By `id`.

        Args:
            rows: questions, as `Windows` takes them; their answers are not read.
        """
        blank = {"answers": {"text": [], "answer_start": []}}
        rows = [row | blank for row in map(dict, as_rows(rows))]
        encoder = self.objective.encoder
        length = min(self.max_length, encoder.max_length)
        windows = Windows(rows, encoder.tokenizer, length, stride=self.stride)
        best = [("", -np.inf)] * len(rows)
        nulls = np.full(len(rows), np.inf)
        for chosen, view in in_batches(windows, self.objective, 32):
            each = self.objective.logits(view).cpu().numpy()  # [B, T, 2]
            for window, logits in zip(chosen.tolist(), each, strict=True):
                row = int(windows.row_of[window])
                nulls[row] = min(nulls[row], logits[0].sum())
                for start, end, value in spans(logits):
                    text = windows.answer(window, start, end)
                    if text.strip():
                        best[row] = max(best[row], (text, value), key=itemgetter(1))
                        break
        scored = zip(rows, best, nulls.tolist(), strict=True)
        return {row["id"]: (text, null - value) for row, (text, value), null in scored}

    def choose_threshold(
        self,
        rows: Any,
        metric: str = "f1",
    ) -> float:
        """The threshold of "no answer" that is best on these rows; test on others."""
        return best_threshold(self.answers(rows), rows, metric)

    def evaluate(
        self,
        rows: Any,
        threshold: float = 0.0,
    ) -> dict[str, float]:
        """EM and F1, as `answers.score`. The threshold 0 trusts the scores as they are."""
        return score(apply_threshold(self.answers(rows), threshold), rows)


def spans(
    logits: np.ndarray, n: int = 20, max_answer: int = 30
) -> list[tuple[int, int, float]]:
    """The best (start, end, score) of a window's logits [T, 2], [CLS] left out, the best first.

    Among the n best starts and ends; an answer has at most `max_answer` tokens. Neither is printed; both are usual.

    >>> spans(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]]), n=2, max_answer=2)[:2]
    [(1, 2, 5.0), (2, 2, 4.0)]
    """
    places = 1 + np.flatnonzero(np.isfinite(logits[1:, 0]))
    starts, ends = (
        places[np.argsort(-logits[places, i], kind="stable")[:n]] for i in (0, 1)
    )
    i, j = np.meshgrid(starts, ends, indexing="ij")  # [n, n]
    legal = (i <= j) & (j - i < max_answer)
    i, j = i[legal], j[legal]
    values = logits[i, 0] + logits[j, 1]
    order = np.argsort(-values, kind="stable")
    return list(zip(*(x[order].tolist() for x in (i, j, values)), strict=True))


def fine_tune(
    start: Encoder,
    train: Any,
    *,
    batch_size: int = 32,
    lr: float = 3e-5,
    max_length: int = 384,
    stride: int = 128,
    seed: int = 0,
    dropout: float = 0.1,
    progress: bool = False,
    **settings: Any,
) -> Reader:
    """Train a reader around a *copy* of `start`.

    Args:
        start: the encoder; it gets a new head.
        train: questions with their answers, as `Windows` takes them.
        batch_size, lr: windows in an update; COCO-LM searches 16 and 32, and 2e-5 to 5e-5 for its base model (table 8).
        max_length, stride: of the windows. COCO-LM: 512 tokens.
        seed: of the head, the order and dropout; `dropout` is that before the new head.
        settings: other settings of `Training`. Without `epochs` or `steps` all windows are read twice.

    Example:
        >>> import contrast_kit as ck
        >>> rows = ck.data.load("toyshop/squad")["train"].select(range(40))
        >>> tokenizer = ck.data.train_tokenizer(rows["context"], vocab_size=300)
        >>> reader = ck.tasks.squad.fine_tune(ck.Encoder.tiny(tokenizer, max_length=256), rows, steps=1, max_length=256)
        >>> sorted(reader.evaluate(rows))[:3]
        ['HasAns_exact', 'HasAns_f1', 'HasAns_total']
    """
    objective = Span(copy.deepcopy(start), seed=seed, dropout=dropout)
    length = min(max_length, start.max_length)
    windows = Windows(train, start.tokenizer, length, stride=stride)
    if not settings.keys() & {"steps", "epochs"}:
        settings["epochs"] = 2
    settings |= dict(batch_size=batch_size, lr=lr, seed=seed, max_length=length)
    run = fit(objective, windows, progress=progress, **settings)
    return Reader(objective, run, length, stride)


def evaluate_across(
    answers: Mapping[str, tuple[str, float]], rows: Any
) -> dict[str, float]:
    """EM and F1 on all rows, the threshold of each half chosen on the other half.

    The halves share no paragraph, so the threshold for a question was chosen without it, its answer or its paragraph,
    and yet all rows are tested. `best_f1` and `best_exact` are what the official script also prints: with the threshold
    chosen on the very rows that are tested, which flatters.
    """
    rows = as_rows(rows)
    paragraphs = dict.fromkeys(row["context"] for row in rows)
    side = {context: number % 2 for number, context in enumerate(paragraphs)}
    halves: list[list] = [[], []]
    for row in rows:
        halves[side[row["context"]]].append(row)
    predictions: dict[str, str] = {}
    for half, other in (halves, halves[::-1]):
        said = {row["id"]: answers[row["id"]] for row in half}
        predictions |= apply_threshold(said, best_threshold(answers, other))
    result = score(predictions, rows)
    for metric in ("exact", "f1"):
        best = apply_threshold(answers, best_threshold(answers, rows, metric))
        result[f"best_{metric}"] = score(best, rows)[metric]
    return result


def run(
    data: Mapping[str, Any],
    start: Encoder,
    *,
    protocol: Protocol = SQUAD,
    folder: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> Results:
    """COCO-LM's SQuAD runs: one reader for each seed on `data["train"]`, tested on `data["validation"]`.

    Args:
        data: splits, from `data.load("squad_v2")`, `data.load("toyshop/squad")`.
        start: the encoder.
        protocol: its seeds, epochs, rate, batch and what is reported.
        folder: keeps `results.csv`, rewritten after each run; the same call continues from there.
        progress, settings: further arguments of `fine_tune`.

    Returns:
        the `Results`: `test` is F1 in percent, `test_exact` EM (`evaluate_across`), and so on.

    Raises:
        ValueError: for a folder with other runs.
    """
    train, validation = data["train"], data["validation"]
    options = protocol.training(None) | settings
    options.pop("evaluate_every")
    facts = {"split": split_hash(train, validation), "start": encoder_hash(start)}
    setting = digest(sorted(options.items()), facts)

    def make(key: tuple) -> dict[str, Any]:
        reader = fine_tune(start, train, seed=key[-1], progress=progress, **options)
        if reader.run.interrupted:
            raise KeyboardInterrupt
        row = facts | {"metric": "f1", "validation": None, "steps": reader.run.steps}
        scores = evaluate_across(reader.answers(validation), validation)
        row["test"] = scores.pop("f1")
        return row | {f"test_{name}": value for name, value in scores.items()}

    keys = [("Span", "SQuAD", len(train), 0, seed) for seed in protocol.seeds]
    plan = dict.fromkeys(keys, setting)
    table, complete = collect(plan, make, folder)
    return Results(table, protocol, complete)
