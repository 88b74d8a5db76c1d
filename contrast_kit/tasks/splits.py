"""Which rows train, select and test: a pure function of the seed, and a hash that shows it."""

import hashlib
import json
from collections.abc import Iterable, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.data.rows import as_rows
from contrast_kit.tasks.metrics import as_labels
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.table import TaskData


def draw(
    labels: Any,
    n: int | None,
    seed: int | list[int],
    *,
    stratified: bool = False,
    per_class: bool = False,
    among: Any = None,
) -> list[int]:
    """Row numbers of a few-shot draw: n different rows. Other seeds give draws that may share rows with it.

    Args:
        labels: [N], one for each row.
        n: how many rows in all; None takes every row.
        seed: of the draw.
        stratified: each class in proportion (SCL: "taking the label distribution … into account"), rounded so that
            the sum is n, and at least one of each class where n allows. Scores are drawn without strata.
        per_class: the same number of each class (SCL 5.4: 20 per class), n in all.
        among: row numbers to draw from; by default all.

    Raises:
        ValueError: if there are not enough rows, or n does not divide evenly into the classes.

    >>> labels = [0] * 70 + [1] * 30
    >>> rows = draw(labels, 10, seed=0, stratified=True)
    >>> sum(labels[row] for row in rows), len(set(rows))
    (3, 10)
    """
    labels, seed = as_labels(labels), _seeds(seed)
    checks.switch("stratified", stratified)
    checks.switch("per_class", per_class)
    rows = np.arange(len(labels)) if among is None else _row_numbers(among, len(labels))
    if n is None:
        return rows.tolist()
    checks.count("n", n, "a number of rows", least=0)
    if not 1 <= n <= len(rows):
        raise ValueError(f"A draw of {n} rows cannot be taken from {len(rows)}.")
    order = np.random.default_rng(seed).permutation(rows)
    if np.issubdtype(labels.dtype, np.floating) or not (stratified or per_class):
        return order[:n].tolist()
    classes, counts = np.unique(labels[rows], return_counts=True)
    wanted = _equal(n, classes) if per_class else _in_proportion(n, counts)
    chosen = []
    for label, count in zip(classes, wanted, strict=True):
        of_class = order[labels[order] == label]
        if len(of_class) < count:
            raise ValueError(f"Class {label} has {len(of_class)} rows, fewer than the {count} that are wanted.")
        chosen.append(of_class[:count])
    joined = np.concatenate(chosen)
    return joined[np.random.default_rng(seed).permutation(len(joined))].tolist()


def shots(labels: Any, k: int, seed: int) -> tuple[list[int], list[int]]:
    """Row numbers of k rows of each class to train on, and of k others of each to select by.

    LM-BFF's way of drawing: shuffle all rows by numpy's older generator, then take each class's first k and next k. On
    the rows of GLUE's own training file these are LM-BFF's own splits.

    Raises:
        ValueError: where a class has fewer than 2k rows, or the labels are scores.

    >>> train, validation = shots([0, 1] * 50, 3, seed=13)
    >>> len(train), len(validation), set(train) & set(validation)
    (6, 6, set())
    """
    labels = as_labels(labels)
    checks.count("k", k, "a number of rows of each class")
    checks.count("seed", seed, "a number to draw by", least=0, most=2**32 - 1)  # the largest that this generator takes
    if np.issubdtype(labels.dtype, np.floating):
        raise ValueError("Shots are counted by class, and these labels are scores.")
    order = np.arange(len(labels))
    np.random.RandomState(seed).shuffle(order)
    by_class: dict[int | str, list[int]] = {}
    for row in order.tolist():
        by_class.setdefault(labels[row].item(), []).append(row)
    for label, rows in by_class.items():
        if len(rows) < 2 * k:
            raise ValueError(f"Class {label} has {len(rows)} rows, fewer than the {2 * k} that are wanted.")
    first = [row for rows in by_class.values() for row in rows[:k]]
    return first, [row for rows in by_class.values() for row in rows[k : 2 * k]]


def _seeds(seed: Any) -> list[int]:
    """A seed for numpy's generators: a whole number, or several for a draw of its own. None would differ each time.

    numpy treats 5 and [5] as the same seed.
    """
    several = [seed] if isinstance(seed, Integral) else arguments.listed("seed", seed, "whole numbers")
    for one in several or [None]:
        checks.count("seed", one, "a number to draw by", least=0, most=np.inf)  # numpy takes 128 bits and more
    return several


def _row_numbers(among: Any, n: int) -> np.ndarray:
    """Row numbers of n rows, each once."""
    rows = arguments.listed("among", among, "row numbers")
    whole = all(isinstance(row, Integral) and not isinstance(row, bool) and 0 <= row < n for row in rows)
    if not whole or len(set(rows)) < len(rows):
        raise ValueError(f"among must be different row numbers from 0 to {n - 1}, not {checks.shown(among)}.")
    return np.array(rows, int)


def _equal(n: int, classes: np.ndarray) -> list[int]:
    if n % len(classes):
        raise ValueError(f"{n} rows do not divide into {len(classes)} classes of one size.")
    return [n // len(classes)] * len(classes)


def _in_proportion(n: int, counts: np.ndarray) -> np.ndarray:
    """Shares of n in proportion to counts, by largest remainder; at least one each where n allows."""
    exact = n * counts / counts.sum()
    shares = np.floor(exact).astype(int)
    for place in np.argsort(-(exact - shares), kind="stable")[: n - shares.sum()]:
        shares[place] += 1
    while n >= len(counts) and (shares == 0).any():
        shares[shares.argmax()] -= 1
        shares[shares.argmin()] += 1
    return shares


@dataclass(frozen=True)
class HeldOut:
    """Rows to select by and rows to test with, and a note on how they were divided."""

    validation: Any
    test: Any
    note: str
    mismatched: Any = None
    """MNLI's mismatched rows, to test with as well as `test`, where they are asked for."""

    @cached_property
    def hash(self) -> str:
        """The `split_hash` of all these rows."""
        return split_hash(*self.parts)

    @property
    def parts(self) -> tuple:
        """The rows to select by, to test with, and any mismatched ones."""
        return (self.validation, self.test, *([] if self.mismatched is None else [self.mismatched]))


def hold_out(
    data: Any,
    *,
    validation: int = 500,
    test: str = "rest",
    most_test: int | None = None,
    stratified: bool = False,
    seed: int = 0,
    mismatched: bool = False,
) -> HeldOut:
    """Rows to select by and rows to test with, disjoint. All runs of a protocol share them.

    GLUE's test labels are secret, so the papers divide the original validation rows, and so does this. Where both
    splits have labels (toyshop), they are taken as they are.

    Args:
        data: a `TaskData`. For MNLI, the matched rows are divided.
        validation: rows to select by, or as many as possible: never more than half (RTE has 277 rows in all).
            0 keeps none.
        test: `"rest"`, all others (CMLM); `"half"`, half of the original rows, before the validation rows are drawn
            (SCL); `"validation"`, the original validation rows themselves, for protocols without selection.
        most_test: an upper limit on the test rows (CMLM's QQP: 2,000).
        stratified: where one split is divided, both parts keep the classes' proportions (SCL).
        seed: of the division.
        mismatched: for MNLI, also give all mismatched rows to test with, from the split that `test` comes from.

    Raises:
        ValueError: where no split with labels is left to divide.
    """
    _check(data, validation, test, most_test, stratified, mismatched)
    if mismatched:
        held = hold_out(data, validation=validation, test=test, most_test=most_test, stratified=stratified, seed=seed)
        return replace(held, mismatched=_mismatched(data, test))
    splits = {}
    for name in ("validation", "test"):
        try:
            splits[name] = getattr(data, name)
        except ValueError:
            continue
    if test == "validation":
        if "validation" not in splits:
            raise ValueError(f"{data.task.name} has no validation rows with labels.")
        tested = _at_most(splits["validation"], most_test, seed)
        return HeldOut(None, tested, f"tested on {len(tested)} of the {len(splits['validation'])} validation rows")
    if len(splits) == 2:
        count = min(validation, len(splits["validation"]))
        kept = draw(labels_of(splits["validation"]), count, seed) if count else []
        tested = _at_most(splits["test"], most_test, seed)
        note = f"{len(kept)} validation rows, {len(tested)} test rows, as the data has them"
        return HeldOut(select_rows(splits["validation"], kept) if kept else None, tested, note)
    if not splits:
        raise ValueError(
            f"{data.task.name} has neither validation nor test rows with labels: divide the training rows, parts = "
            "data.train.train_test_split(0.2, seed=0) and give TaskData(data.task, {'train': parts['train'], "
            "'validation': parts['test']})."
        )
    (name, rows), labels = next(iter(splits.items())), labels_of(next(iter(splits.values())))
    half = len(rows) // 2
    tests = draw(labels, half, [seed, 1], stratified=stratified) if test == "half" else []
    left = sorted(set(range(len(rows))) - set(tests))
    count = min(validation, half)
    kept = draw(labels, count, [seed, 2], stratified=stratified, among=left) if count else []
    if test == "rest":
        tests = sorted(set(left) - set(kept))
    short = f" (fewer than {validation}: there are {len(rows)} in all)" if count < validation else ""
    tested = _at_most(select_rows(rows, tests), most_test, seed)
    note = f"{count} rows to select by{short} and {len(tested)} to test with, both of the {name} rows"
    return HeldOut(select_rows(rows, kept) if kept else None, tested, note)


def _check(data: Any, validation: Any, test: Any, most_test: Any, stratified: Any, mismatched: Any) -> None:
    """Check the arguments of `hold_out`, except its seed, which `draw` checks."""
    arguments.of_kind("data", data, TaskData, "what tasks.load gives")
    checks.choice("test", test, ("rest", "half", "validation"))
    checks.count("validation", validation, "a number of rows to select by", least=0)
    if most_test is not None:
        checks.count("most_test", most_test, "a number of rows to test with")
    checks.switch("stratified", stratified)
    checks.switch("mismatched", mismatched)


def _mismatched(data: Any, test: str) -> Any:
    """The labelled mismatched rows, from the test split if it has some and `test` does not say otherwise."""
    for name in ("validation",) if test == "validation" else ("test", "validation"):
        rows = data.splits.get(f"{name}_mismatched")
        if rows is not None and (labels_of(rows) != -1).any():
            return rows
    return None


def select_rows(rows: Any, chosen: list[int]) -> Any:
    """The chosen rows, in the order given."""
    return rows.select(chosen) if hasattr(rows, "select") else [rows[i] for i in chosen]


def numbered(rows: Any) -> Any:
    """Rows that come one after another, from a generator or as the values of a dict, as a list."""
    return list(rows) if isinstance(rows, Iterable) and not hasattr(rows, "__getitem__") else rows


def _at_most(rows: Any, most: int | None, seed: int) -> Any:
    if most is None or len(rows) <= most:
        return rows
    return select_rows(rows, draw(np.zeros(len(rows), int), most, [seed, 3]))


def split_hash(*parts: Any) -> str:
    """Twelve hexadecimal digits that change with any text, any label, or the order of rows.

    >>> split_hash([{"sentence": "a kite", "label": 1}], None)
    '...'
    """
    digest = hashlib.sha256()
    for part in parts:
        for row in _rows(part):
            digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False, default=plain).encode())
        digest.update(b"|")
    return digest.hexdigest()[:12]


def _rows(part: Any) -> Any:
    """The rows of a part, with strings as they are; no rows where it is empty or None."""
    part = numbered(part)
    sized = isinstance(part, Sized) and getattr(part, "shape", None) != ()  # a tensor of one number has no length
    if part is None or (sized and not len(part)):
        return []
    rows = as_rows(part)
    return [row["text"] for row in rows] if isinstance(part[0], str) else rows


def plain(value: Any) -> Any:
    """A Python number or list in place of a numpy or torch one, which JSON cannot write."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"A row holds {checks.shown(value)}: only texts, numbers and lists of them make a hash.")
    return value.tolist()
