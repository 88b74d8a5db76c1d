"""Protocols as printed: which metric, which rows, which settings and head, whose deviation; and the frozen probe."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection

from contrast_kit import tasks
from contrast_kit.objectives import MLM, FineTune
from contrast_kit.tasks import Pipeline, Protocol, probes, protocols
from contrast_kit.tasks.results import Results

QUICK = Protocol(
    "quick", sizes=(20,), draws=1, seeds=(31,), validation=30, epochs={20: 1}, lr=1e-3
)


def small(name, rows=30):
    data = tasks.load(f"toyshop/{name}")
    parts = {
        split: r if split == "train" else r.select(range(rows))
        for split, r in data.splits.items()
    }
    return tasks.TaskData(data.task, parts, data.name)


@pytest.mark.parametrize(
    ("protocol", "task", "metric"),
    [
        (protocols.CAPT, "stsb", "pearson"),
        (protocols.SCL_FEW_SHOT, "cola", "accuracy"),
    ],
)
def test_each_paper_selects_and_reports_by_its_metric(
    protocol, task, metric, start, monkeypatch
):
    """CAPT 3.2: "Pearson correlation for STS-B"; COCO-LM, table 1: Spearman; SCL selects by "validation accuracy"."""
    from contrast_kit.tasks import runs as grid

    plan = replace(QUICK, metrics=protocol.metrics, test=protocol.test, validation=20)
    seen, real = [], grid.fine_tune
    monkeypatch.setattr(
        grid, "fine_tune", lambda *a, **o: seen.append(real(*a, **o)) or seen[-1]
    )
    data = small(task, 40)
    row = tasks.run(plan, data, start, ["FT"], progress=False).table.iloc[0]
    assert row["metric"] == metric == seen[0].task.metrics[0]
    held = tasks.hold_out(data, plan)
    assert row["test"] == pytest.approx(seen[0].evaluate(held.test)[metric])
    if protocol.test != "validation":
        assert row["validation"] == pytest.approx(
            max(each[metric] for each in seen[0].validation)
        )


def test_mnli_is_tested_on_both_kinds_of_rows_where_a_paper_prints_both(start):
    for protocol in (protocols.CMLM, protocols.COCO_LM):
        assert protocol.mismatched
    for protocol in (
        protocols.CMLM_FULL,
        protocols.CAPT,
        protocols.SCL_FEW_SHOT,
    ):  # one MNLI
        assert not protocol.mismatched
    data = small("mnli")
    both = tasks.run(
        replace(QUICK, mismatched=True), data, start, ["FT", "SCL"], progress=False
    )
    few = data.train.select(tasks.draw(data.train["label"], 20, [0, 0, 20]))
    held = tasks.hold_out(data, QUICK)
    how = dict(task="mnli", seed=31, **QUICK.training(20))
    tuned = tasks.fine_tune(start, few, held.validation, **how)
    row = both.table.iloc[0]
    assert (
        row["test_mismatched"]
        == tuned.evaluate(data.splits["test_mismatched"])["accuracy"]
    )
    assert row["test"] == tuned.evaluate(data.splits["test_matched"])["accuracy"]
    summary = both.summary().set_index(["task", "method"])
    assert summary.loc[("toyshop/mnli-mm", "FT"), "reported"] == row["test_mismatched"]
    assert len(both.differences("FT")) == 2
    plan = replace(QUICK, test="validation", mismatched=True)
    dev = tasks.hold_out(data, plan)
    assert dev.mismatched["premise"] == data.splits["validation_mismatched"]["premise"]
    assert tasks.hold_out(small("sst2"), plan).mismatched is None


def test_glues_secret_mismatched_rows_are_not_tested_on():
    from datasets import Dataset

    rows = [
        {"premise": f"p {i}", "hypothesis": f"h {i}", "label": i % 3} for i in range(60)
    ]
    secret = Dataset.from_list([row | {"label": -1} for row in rows[:5]])
    parts = {
        f"validation_{kind}": Dataset.from_list(rows[a:])
        for kind, a in (("matched", 0), ("mismatched", 20))
    }
    parts |= {f"test_{kind}": secret for kind in ("matched", "mismatched")}
    data = tasks.TaskData(tasks.get_task("mnli"), parts)
    held = tasks.hold_out(data, replace(QUICK, validation=20, mismatched=True))
    assert len(held.mismatched) == 40 and (len(held.validation), len(held.test)) == (
        20,
        40,
    )


def test_coco_lm_and_capt_hand_on_all_their_settings(opinions, start, monkeypatch):
    """Table 7: no clipping, 512 tokens, 0.01, Adam's 1e-6 and (0.9, 0.98); RoBERTa's: clip 0, 512 tokens, 0.1."""
    from contrast_kit.tasks import fine_tuning

    seen, real = [], fine_tuning.fit
    monkeypatch.setattr(
        fine_tuning, "fit", lambda o, *a, **k: seen.append((o, a[1])) or real(o, *a, **k)
    )
    for plan in (protocols.COCO_LM, protocols.CAPT):
        quick = replace(plan, sizes=(20,), seeds=(0,), epochs={20: 1})
        tasks.run(
            quick,
            small("sst2"),
            start,
            {"FT": Pipeline(), "own": Pipeline(partial(FineTune, head="linear"))},
        )
    for (objective, training), decay in zip(seen[::2], (0.01, 0.1), strict=True):
        assert (training.clip, training.max_length, training.weight_decay) == (
            None,
            512,
            decay,
        )
        assert (training.eps, training.betas, training.decay) == (
            1e-6,
            (0.9, 0.98),
            "linear",
        )
        # CAPT 3.2: "extra multi-layer perceptrons" on [CLS]; RoBERTa's: dense, tanh, linear, with dropout before each
        assert objective.config.head == "tanh" and objective.head.dense is not None
    assert all(
        objective.config.head == "linear" for objective, _ in seen[1::2]
    )  # the pipeline's own


def test_scls_deviation_is_that_of_its_top_three():
    runs = [(0.5, 0.99), (0.9, 0.70), (0.8, 0.60), (0.7, 0.80), (0.6, 0.98)]
    table = pd.DataFrame(runs, columns=["validation", "test"]).assign(
        method="CE", task="sst2", n=20, draw=range(5), seed=0, metric="accuracy"
    )
    protocol, top = protocols.SCL_FEW_SHOT, [0.7, 0.6, 0.8]
    row = Results(table, protocol).summary().iloc[0]
    assert row["reported"] == pytest.approx(0.7)
    assert row["reported_sd"] == pytest.approx(np.std(top, ddof=1))
    assert row["sd"] == pytest.approx(np.std(table["test"], ddof=1)) != row["reported_sd"]
    population = Results(table, replace(protocol, ddof=0)).summary().iloc[0]
    assert population["reported_sd"] == pytest.approx(np.std(top))
    best = Results(table, replace(protocol, report="best")).summary()
    assert np.isnan(best["reported_sd"][0])  # of one run


# The frozen probe


def test_a_frozen_probe_is_a_row_of_the_table(start):
    methods = {
        "probe": tasks.PIPELINES["probe"],
        "TAPT → probe": Pipeline(post=MLM, frozen=True),
    }
    plan = replace(QUICK, draws=2, post_epochs={20: 1}, post_lr=1e-3)
    data = small("sst2", 60)
    table = tasks.run(plan, data, start, methods, progress=False).table.set_index(
        "method"
    )
    assert (table.loc["probe", "steps"] == 0).all() and (
        table.loc["probe", "post"] == ""
    ).all()
    assert (table.loc["TAPT → probe", "post"] != "").all()
    held = tasks.hold_out(data, QUICK)
    train = data.train.select(tasks.draw(data.train["label"], 20, [0, 0, 20]))
    by_hand = tasks.linear_probe(start, train, held.test, task="sst2", seed=31)[
        "accuracy"
    ]
    assert table.loc["probe", "test"].iloc[0] == by_hand


class Vectors:
    """An encoder whose vectors are given."""

    def __init__(self, table):
        self.table = table

    def encode(self, texts):
        import torch

        return torch.stack([torch.tensor(self.table[text]) for text in texts])


def noisy(count, width, seed, telling=20):
    """Some directions that tell a little of the label, and many that tell nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=count)
    x = rng.normal(size=(count, width))
    x[:, :telling] += 0.25 * (2 * y[:, None] - 1)
    rows = [{"sentence": f"{seed} {i}", "label": int(y[i])} for i in range(count)]
    return rows, {f"{seed} {i}": x[i] for i in range(count)}


def test_the_strength_is_chosen_on_the_training_rows_and_beats_a_fit_by_heart(
    monkeypatch,
):
    (train, first), (test, second) = noisy(160, 100, 0), noisy(800, 100, 1)
    encoder = Vectors(first | second)
    chosen = probes.fit_probe(encoder, train, task="sst2")
    assert chosen.strength < 1
    by_heart = tasks.linear_probe(encoder, train, test, task="sst2", strength=1.0)[
        "accuracy"
    ]
    assert chosen.evaluate(test)["accuracy"] > by_heart + 0.03
    assert tasks.linear_probe(encoder, train, test, task="sst2") == chosen.evaluate(test)
    assert probes.fit_probe(encoder, train, task="sst2", strength=0.5).strength == 0.5
    monkeypatch.setattr(
        probes, "_cross_validated", None
    )  # a fixed strength asks for no folds
    tasks.linear_probe(encoder, train, test, task="sst2", strength=1.0)


def test_the_strength_of_scores_and_of_very_few_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 40))
    rows = [
        {"sentence1": f"a {i}", "sentence2": f"b {i}", "label": float(x[i, 0])}
        for i in range(90)
    ]
    table = {f"{side} {i}": x[i] for i in range(90) for side in "ab"}
    task = tasks.get_task("stsb")
    probe = probes.fit_probe(Vectors(table), rows[:60], task=task)
    assert (
        probe.strength in probes.STRENGTHS and probe.evaluate(rows[60:])["spearman"] > 0.8
    )
    few, vectors = noisy(6, 3, 2)
    for row, label in zip(few, (0, 0, 0, 0, 0, 1), strict=True):
        row["label"] = label
    assert (
        probes.fit_probe(Vectors(vectors), few, task="sst2").strength == 1.0
    )  # one row of a class: no folds


@pytest.mark.parametrize("task", ["sst2", "stsb"])
def test_a_probe_standardises_and_a_smaller_strength_is_simpler(task):
    rows, vectors = noisy(60, 5, 0)
    rows = [
        {**row, "sentence1": row["sentence"], "sentence2": row["sentence"]}
        for row in rows
    ]
    if task == "stsb":
        rows = [{**row, "label": float(vectors[row["sentence"]][0])} for row in rows]
    scaled = {text: x * [1e-3, 1, 10, 1, 100] for text, x in vectors.items()}
    fit = partial(probes.fit_probe, train=rows, task=task)
    one, other = (
        fit(Vectors(of), strength=0.01).model[-1].coef_ for of in (vectors, scaled)
    )
    assert np.allclose(one, other, atol=1e-4)
    sizes = [
        np.abs(fit(Vectors(vectors), strength=s).model[-1].coef_).sum()
        for s in (1e-3, 1e-2, 1.0)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2] / 2


def test_cross_validation_sees_all_classes_of_rows_in_their_order_in_every_fold(
    monkeypatch,
):
    seen, real = [], sklearn.model_selection.cross_val_score

    def watched(model, x, y, *, cv, scoring):
        assert scoring == "neg_log_loss"
        seen.extend(np.mean(y[fold]) for _, fold in cv.split(x, y))
        return real(model, x, y, cv=cv, scoring=scoring)

    monkeypatch.setattr(sklearn.model_selection, "cross_val_score", watched)
    monkeypatch.setattr(probes, "MOST_ROWS", 60)
    rows, vectors = noisy(120, 20, 0)
    rows = [
        row | {"label": int(i > 99)} for i, row in enumerate(rows)
    ]  # as files often are, one class after the other
    probes.fit_probe(Vectors(vectors), rows, task="sst2")
    assert seen and max(seen) - min(seen) < 0.06 and 0.05 < np.mean(seen) < 0.35
