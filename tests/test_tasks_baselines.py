"""A baseline on the very draws of a protocol, and what results and printed tables say in numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.tasks import protocols
from contrast_kit.tasks.results import Results

SMALL = replace(
    protocols.CMLM,
    sizes=(20,),
    draws=2,
    seeds=(31, 42),
    validation=40,
    most_test={"sst2": 60},
)


def test_a_baseline_has_the_rows_of_the_runs():
    data = tasks.load("toyshop/sst2")
    encoder = ck.Encoder.tiny(
        ck.data.train_tokenizer(data.train["sentence"][:200], vocab_size=300)
    )
    once = replace(SMALL, steps=1, epochs={}, evaluate_every=1)
    ran = tasks.run(once, data, encoder, ["FT"], progress=False)
    counted = tasks.baseline(once, data)
    assert counted.table["split"].tolist() == ran.table["split"].tolist()
    both = Results(pd.concat([ran.table, counted.table]), once)
    assert both.differences("FT")["pairs"].tolist() == [4]


def test_a_baseline_predicts_what_it_is_given():
    data = tasks.load("toyshop/sst2")
    seen = []

    def commonest(texts, labels, unseen):
        seen.append((len(texts), len(labels), len(unseen)))
        return np.full(len(unseen), np.bincount(labels).argmax())

    found = tasks.baseline(SMALL, data, commonest).table
    assert set(seen) == {(20, 20, 40), (20, 20, 60)}
    held = tasks.hold_out(data, SMALL)
    share = np.mean([row["label"] for row in held.test])
    assert found["test"].round(6).isin([round(share, 6), round(1 - share, 6)]).all()


def test_the_recorded_draws_can_be_drawn_again():
    """So that a notebook can count words on the rows of runs that were made elsewhere."""
    kinds, rows = ("opinion", "shelf", "visit", "visit and opinion"), []
    for text in toyshop.corpus(26_500)[20_000:]:
        rows.append({"text": text, "label": kinds.index(toyshop.kind_of(text))})
    parts = {"train": rows[:5_000], "validation": rows[5_000:5_500], "test": rows[5_500:]}
    task = tasks.Task("kind", ("text",), kinds, ("accuracy",))
    plan = replace(protocols.CMLM, sizes=(20,), seeds=(31,), validation=150)
    plan = replace(plan, most_test={"kind": 500})
    counted = tasks.baseline(plan, tasks.TaskData(task, parts, "toyshop/kind")).table
    recorded = ck.data.recorded("few_shot_20").query("method == 'FT' and seed == 31")
    assert counted["split"].tolist() == recorded["split"].tolist()


def results(scores):
    """scores: method -> [draws, seeds]."""
    rows = []
    for method, of in scores.items():
        for (draw, seed), value in np.ndenumerate(np.asarray(of)):
            key = dict(method=method, task="t", n=20, draw=draw, seed=seed)
            rows.append(key | dict(metric="accuracy", test=value))
    return Results(pd.DataFrame(rows), SMALL)


def test_intervals_are_the_differences():
    rng = np.random.default_rng(0)
    of = results(
        {"FT": rng.random((4, 3)), "A": rng.random((4, 3)), "B": rng.random((4, 3))}
    )
    found, table = of.intervals("FT"), of.differences("FT").set_index("method")
    assert list(found) == ["A", "B"]
    assert found["B"] == tuple(table.loc["B", ["difference", "low", "high"]])
    other = of.table.assign(task="another")
    with pytest.raises(ValueError, match="several tasks or sizes"):
        Results(pd.concat([of.table, other]), SMALL).intervals("FT")
