"""Which rows train, select and test: a pure function of the seed, and a hash that shows it."""

import hashlib
import json
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy as np

from contrast_kit.data.rows import as_rows
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.table import DIVIDE, TaskData, labels_of, select_rows


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
    labels = np.asarray(labels)
    rows = np.arange(len(labels)) if among is None else np.asarray(among)
    if n is None:
        return rows.tolist()
    order = np.random.default_rng(seed).permutation(rows)
    if np.issubdtype(labels.dtype, np.floating) or not (stratified or per_class):
        return _enough(order[:n], n, "The data").tolist()
    classes, counts = np.unique(labels[rows], return_counts=True)
    if per_class and n % len(classes):
        raise ValueError(
            f"{n} rows do not divide into {len(classes)} classes of one size."
        )
    shares = (
        [n // len(classes)] * len(classes) if per_class else _in_proportion(n, counts)
    )
    chosen = [
        _enough(
            order[labels[order] == label][:share],
            share,
            f"Class {label}",
        )
        for label, share in zip(classes, shares, strict=True)
    ]
    joined = np.concatenate(chosen)
    return joined[np.random.default_rng(seed).permutation(len(joined))].tolist()


def _enough(
    rows: Any,
    n: int,
    name: str,
) -> Any:
    """The rows; raises where they are fewer than n: a smaller draw would pass for one of n."""
    if len(rows) < n:
        raise ValueError(
            f"{name} has {len(rows)} rows, fewer than the {n} that are wanted."
        )
    return rows


def _in_proportion(n: int, counts: np.ndarray) -> np.ndarray:
    """Shares of n in proportion to counts, by largest remainder; at least one each where n allows."""
    exact = n * counts / counts.sum()
    shares = np.floor(exact).astype(int)
    largest = np.argsort(-(exact - shares), kind="stable")
    shares[largest[: n - shares.sum()]] += 1
    while n >= len(counts) and (shares == 0).any():
        shares[shares.argmax()] -= 1
        shares[shares.argmin()] += 1
    return shares


def shots(
    labels: Any,
    k: int,
    seed: int,
) -> tuple[list[int], list[int]]:
    """Row numbers of k rows of each class to train on, and of k others of each to select by.

    LM-BFF's way of drawing: shuffle all rows by numpy's older generator, then take each class's first k and next k. On
    the rows of GLUE's own training file these are LM-BFF's own splits.

    Raises:
        ValueError: where a class has fewer than 2k rows.

    >>> train, validation = shots([0, 1] * 50, 3, seed=13)
    >>> len(train), len(validation), set(train) & set(validation)
    (6, 6, set())
    """
    order = np.arange(len(labels))
    np.random.RandomState(seed).shuffle(order)
    by_class: dict[Any, list[int]] = {}
    for row, label in zip(
        order.tolist(), np.asarray(labels)[order].tolist(), strict=True
    ):
        by_class.setdefault(label, []).append(row)
    chosen = [
        _enough(
            rows[: 2 * k],
            2 * k,
            f"Class {label}",
        )
        for label, rows in by_class.items()
    ]
    return sum((rows[:k] for rows in chosen), []), sum((rows[k:] for rows in chosen), [])


@dataclass(frozen=True)
class HeldOut:
    """Rows to select by and rows to test with."""

    validation: Any
    test: Any
    mismatched: Any = None
    """MNLI's mismatched rows, to test with as well as `test`, where they are asked for."""

    @property
    def parts(self) -> list:
        """The rows to select by, to test with, and any mismatched ones."""
        return [self.validation, self.test] + (
            [] if self.mismatched is None else [self.mismatched]
        )


def hold_out(data: TaskData, protocol: Protocol) -> HeldOut:
    """Rows to select by and rows to test with, disjoint. All runs of a protocol share them.

    GLUE's test labels are secret, so the papers divide the original validation rows, and so does this. Where both
    splits have labels (toyshop), they are taken as they are.

    Args:
        data: a `TaskData`. For MNLI, the matched rows are divided.
        protocol: its `validation` rows to select by, or as many as possible: never more than half (RTE has 277 rows in
            all). Its `test`: `"rest"`, all others (CMLM); `"half"`, half of the original rows, before the validation
            rows are drawn (SCL); `"validation"`, the original validation rows themselves, for protocols without
            selection. `stratified`: where one split is divided, both parts keep the classes' proportions (SCL).
            `mismatched`: for MNLI, also all mismatched rows to test with, from the split that `test` comes from.

    Raises:
        ValueError: where no split with labels is left to divide.

    >>> from contrast_kit import tasks
    >>> held = tasks.hold_out(tasks.load("toyshop/sst2"), tasks.protocols.CMLM)
    >>> len(held.validation), len(held.test)
    (500, 500)
    """
    test, seed = protocol.test, protocol.split_seed
    most = protocol.most_test.get(data.task.name)
    splits = ("validation",) if test == "validation" else ("test", "validation")
    labelled = [name for name in splits if data.labelled(name)]
    if not labelled:
        raise ValueError(f"{data.task.name} has no labelled rows to test with: {DIVIDE}")
    other = None
    for name in splits[::-1] if protocol.mismatched else ():
        if data.labelled(f"{name}_mismatched"):
            other = data.splits[f"{name}_mismatched"]
    rows, count = getattr(data, labelled[0]), protocol.validation
    if protocol.shots or test == "validation":
        count = 0
    tests, chosen, pool = list(range(len(rows))), [], getattr(data, labelled[-1])
    if len(labelled) == 2:
        chosen = draw(np.zeros(len(pool), int), min(count, len(pool)), seed)
    elif test != "validation":
        labels, half, left = labels_of(rows), len(rows) // 2, tests
        how = dict(stratified=protocol.stratified)
        if test == "half":
            tests = draw(labels, half, [seed, 1], **how)
            left = sorted(set(left) - set(tests))
        chosen = draw(labels, min(count, half), [seed, 2], **how, among=left)
        if test == "rest":
            tests = sorted(set(left) - set(chosen))
    if most is not None and len(tests) > most:
        tests = draw(np.zeros(len(rows), int), most, [seed, 3], among=tests)
    validation = select_rows(pool, chosen) if chosen else None
    return HeldOut(validation, select_rows(rows, tests), other)


def split_hash(*parts: Any) -> str:
    """Twelve hexadecimal digits that change with any text, any label, or the order of rows.

    >>> split_hash([{"sentence": "a kite", "label": 1}], None)
    '...'
    """
    plain = methodcaller("tolist")  # a numpy or torch number, which JSON cannot write
    digest = hashlib.sha256()
    for part in parts:
        for row in [] if part is None else as_rows(part):
            text = json.dumps(
                row,
                sort_keys=True,
                ensure_ascii=False,
                default=plain,
            )
            digest.update(text.encode())
        digest.update(b"|")
    return digest.hexdigest()[:12]
