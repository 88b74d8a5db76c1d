"""Searches and transfers: chosen by validation, kept in a folder, and never by the test rows."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pandas as pd
import pytest

from contrast_kit import papers, tasks
from contrast_kit.objectives import CMLM, MLM, SCL, FineTune
from contrast_kit.tasks import Pipeline, Protocol, Results, protocols, runs, studies
from contrast_kit.tasks.runs import points

QUICK = Protocol(
    "quick",
    sizes=(20,),
    draws=1,
    seeds=(0, 1),
    validation=30,
    most_test={"sst2": 30},
    epochs={20: 1},
    lr=1e-3,
    evaluate_every=4,
    post_epochs={20: 1},
)


def test_the_papers_grids_are_what_runs(opinions, start, monkeypatch):
    """CMLM's 30 points reach the objective that post-trains, SCL's the one that fine-tunes, COCO-LM's the protocol."""
    seen = []

    def run(protocol, data, start, methods, **options):
        seen.append((protocol, methods["searched"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "run", run)
    for protocol, method in (
        (protocols.CMLM, "CMLM"),
        (protocols.SCL_FEW_SHOT, "SCL"),
        (protocols.COCO_LM, "FT"),
    ):
        with pytest.raises(KeyboardInterrupt):
            task = opinions if method != "FT" else tasks.load("toyshop/sst2")
            tasks.search(protocol, task, start, method)
    (_, pipeline), (_, scl), (coco, _) = seen
    assert pipeline.post.func is CMLM and pipeline.post.keywords == {
        "contrast_weight": 0.01,
        "p_c": 0.1,
    }
    assert scl.tune.func is SCL and (coco.lr, coco.epochs, coco.warmup) == (1e-5, {None: 2}, 0.06)
    assert len(points(papers.CMLM_SEARCH)) == 30
    assert len(points(protocols.COCO_LM.grid_for("rte"))) == 4 * 2 * 2 * 4
    assert len(points(protocols.COCO_LM.grid_for("qqp"))) == 3 * 4


def test_a_search_selects_by_validation_and_continues_in_its_folder(
    opinions, start, tmp_path, monkeypatch
):
    go = dict(grid={"lr": (1e-6, 1e-3), "epochs": (1, 3)}, folder=tmp_path, progress=False)
    first = tasks.search(QUICK, opinions, start, budget=2, **go)
    assert len(first.table) == 2 and len(list(tmp_path.glob("lr=*/results.csv"))) == 2
    every = tasks.search(QUICK, opinions, start, **go)
    table = every.table.set_index(["lr", "epochs"])["score"]
    results = tasks.run(QUICK, opinions, start, {"searched": Pipeline()}, progress=False)
    assert table[1e-3, 1] == pytest.approx(results.table["validation"].mean())
    assert table[tuple(every.best.values())] == table.max() == every.ranked["score"][0]
    monkeypatch.setattr(runs, "fine_tune", None)  # all runs are in the folder
    assert tasks.search(QUICK, opinions, start, **go).table.equals(every.table)
    with pytest.raises(ValueError, match="made with other settings"):
        tasks.search(replace(QUICK, batch_size=8), opinions, start, **go)
    with pytest.raises(ValueError, match="grid varies lr, and lr= would override it"):
        tasks.search(QUICK, opinions, start, lr=1e-3, **go)
    with pytest.raises(ValueError, match="has a setting 'depth'"):
        tasks.search(QUICK, opinions, start, grid={"depth": (1, 2)})


def test_points_are_compared_as_scl_compares_them():
    """By the top runs of each size where those are reported; without validation rows by the reported number."""
    columns = dict(method="FT", task="mine", seed=0, metric="accuracy", test=0.5)
    rows = [(20, draw, value) for draw, value in enumerate((0.1, 0.6, 0.8))] + [(100, 0, 0.9)]
    table = pd.DataFrame(
        [columns | dict(n=n, draw=draw, validation=value) for n, draw, value in rows]
    )
    top = replace(protocols.SCL_FEW_SHOT, top=2)
    assert studies._compared_by(Results(table, top)) == pytest.approx((0.7 + 0.9) / 2)
    assert studies._compared_by(Results(table, protocols.CMLM)) == pytest.approx((0.5 + 0.9) / 2)
    runs = ((0, 20, 0.4), (1, 20, 0.4), (0, 1000, 0.8))
    facts = columns | dict(task="mnli", draw=0, validation=None, test_mismatched=0.1)
    table = pd.DataFrame([facts | dict(seed=seed, n=n, test=test) for seed, n, test in runs])
    assert studies._compared_by(Results(table, protocols.COCO_LM)) == pytest.approx((0.4 + 0.8) / 2)


def test_a_point_that_diverges_counts_as_the_worst(opinions, start):
    few = replace(QUICK, seeds=(0,), epochs={20: 3})
    found = tasks.search(few, opinions, start, grid={"lr": (1e-3, 1e15)}, progress=False)
    assert found.table["score"].isna().tolist() == [False, True] and found.best == {"lr": 1e-3}
    with pytest.raises(FloatingPointError, match="All 1 points of the search diverged"):
        tasks.search(few, opinions, start, grid={"lr": (1e15,)}, progress=False)


def test_transfer_chooses_the_source_models_point_by_validation(
    opinions, start, tmp_path, monkeypatch
):
    source = replace(
        QUICK, sizes=(None,), seeds=(0,), epochs={None: 1}, choose={"lr": (1e-4, 1e-3, 1e-9)}
    )
    small = tasks.TaskData(
        opinions.task, opinions.splits | {"train": opinions.train.select(range(64))}
    )
    go = dict(source_protocol=source, target_protocol=QUICK, folder=tmp_path, progress=False)
    real, tried = runs.fine_tune, []

    def watched(*args, **options):
        tuned = real(*args, **options)
        tried.append((options["lr"], tuned))
        tuned.validation = [
            row | {"accuracy": float(options["lr"] == 1e-3)} for row in tuned.validation
        ]
        return tuned

    monkeypatch.setattr(runs, "fine_tune", watched)
    starts = tasks.transfer(small, opinions, start, ["FT"], **go).table["start"]
    assert [lr for lr, _ in tried[:3]] == [1e-4, 1e-3, 1e-9]
    hashes = [tasks.encoder_hash(tuned.objective) for _, tuned in tried[:3]]
    assert set(starts) == {hashes[1]} and len(set(hashes)) > 1
    monkeypatch.setattr(runs, "fine_tune", None)
    assert set(tasks.transfer(small, opinions, start, ["FT"], **go).table["start"]) == {hashes[1]}


def test_post_training_may_start_from_a_fine_tuned_objective_and_a_stop_in_it_is_a_stop(
    opinions, start, monkeypatch
):
    small = tasks.TaskData(
        opinions.task, {name: rows.select(range(20)) for name, rows in opinions.splits.items()}
    )
    plan = replace(QUICK, sizes=(None,), seeds=(0,), epochs={None: 1}, post_epochs={None: 1})
    go = dict(source_protocol=plan, target_protocol=plan, progress=False)
    tapt = {"TAPT": Pipeline(post=MLM)}
    assert len(tasks.transfer(small, small, FineTune(start, classes=2), tapt, **go).table) == 1
    monkeypatch.setattr(runs, "fit", lambda *a, **o: SimpleNamespace(interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        tasks.transfer(small, small, start, tapt, **go)


def test_a_search_begins_with_what_the_pipeline_was_given(opinions, start):
    given = Pipeline(post=partial(CMLM, contrast_weight=1.0))
    _, pipeline = studies.with_point(QUICK, given, {"p_c": 0.3, "lr": 1e-4})
    assert pipeline.description == "CMLM(contrast_weight=1.0, p_c=0.3) → FineTune"
