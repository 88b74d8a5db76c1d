"""Protocols: what is drawn, what is held out, what is reported, and a grid that can be stopped."""

import math
import os
import re
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import REAL, Asked, make_encoder, real_data

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import Batches
from contrast_kit.data.paraphrase import Toyshop, same_meaning
from contrast_kit.objectives import CMLM, CSSL, MLM, SCL, FineTune
from contrast_kit.tasks import Pipeline, Protocol, Sweep, protocols, studies
from contrast_kit.tasks import runs as runs_module
from contrast_kit.tasks.probes import encoder_hash
from contrast_kit.tasks.results import Results, interval, read, selected_runs, write
from contrast_kit.tasks.runs import held_rows, plan_runs

QUICK = Protocol(
    "quick", sizes=(20,), draws=2, seeds=(31, 42), validation=40, most_test={"sst2": 60}, epochs={20: 4},
    lr=1e-3, evaluate_every=4, post_epochs={20: 2}, post_lr=1e-3,
)  # fmt: skip


def test_test_rows_labelled_none_are_as_secret_as_those_of_minus_one(opinions):
    for secret in (None, -1):
        rows = [{"sentence": "a red kite", "label": secret}] * 50
        with pytest.raises(ValueError, match="are secret"):
            tasks.TaskData(opinions.task, {**opinions.splits, "test": rows}, "mine").test  # noqa: B018


# Draws


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_stratified_draws_keep_the_distribution(n):
    labels = np.array([0] * 3000 + [1] * 5000 + [2] * 2000)
    rows = tasks.draw(labels, n, seed=1, stratified=True)
    assert len(rows) == len(set(rows)) == n
    counts = Counter(labels[rows].tolist())
    assert all(abs(counts[c] - n * share) <= 1 for c, share in enumerate((0.3, 0.5, 0.2)))


def test_draws_are_a_function_of_their_seed_and_may_overlap():
    labels = np.arange(2000) % 2
    first, again, other = (tasks.draw(labels, 500, seed=[0, d]) for d in (0, 0, 1))
    assert first == again != other
    assert (
        60 < len(set(first) & set(other)) < 190
    )  # 125 expected: drawn with replacement between draws


def test_every_class_is_drawn_where_there_is_room():
    labels = np.array([0] * 990 + [1] * 10)
    assert Counter(labels[tasks.draw(labels, 20, seed=0, stratified=True)].tolist()) == {
        0: 19,
        1: 1,
    }


def test_per_class_draws_the_same_number_of_each_class():
    labels = np.array([0] * 900 + [1] * 100)
    rows = tasks.draw(labels, 40, seed=0, per_class=True)
    assert Counter(labels[rows].tolist()) == {0: 20, 1: 20}
    with pytest.raises(ValueError, match="do not divide"):
        tasks.draw(labels, 41, seed=0, per_class=True)
    with pytest.raises(ValueError, match="Class 1 has 100"):
        tasks.draw(labels, 400, seed=0, per_class=True)
    with pytest.raises(ValueError, match="cannot be taken"):
        tasks.draw(labels, 1001, seed=0)


# Held-out rows


def glue_like(name, rows):
    """A task whose test labels are secret, as GLUE's are."""
    secret = [row | {"label": -1} for row in rows[:5]]
    from datasets import Dataset

    splits = {"validation": Dataset.from_list(rows), "test": Dataset.from_list(secret)}
    return tasks.TaskData(tasks.get_task(name), splits)


def dots(count):
    return [{"sentence": f"text {i}", "label": int(i % 4 == 0)} for i in range(count)]


def test_cmlm_divides_the_validation_rows():
    held = tasks.hold_out(glue_like("sst2", dots(1200)), validation=500, test="rest")
    assert (len(held.validation), len(held.test)) == (500, 700)
    assert not set(held.validation["sentence"]) & set(held.test["sentence"])
    capped = tasks.hold_out(glue_like("qqp", dots(3000)), validation=500, most_test=2000)
    assert (len(capped.validation), len(capped.test)) == (500, 2000)
    capped = tasks.hold_out(glue_like("qqp", dots(3000)), test="validation", most_test=2000)
    assert capped.validation is None and len(capped.test) == 2000


def test_scl_takes_half_to_test_and_500_of_the_rest_by_class():
    held = tasks.hold_out(glue_like("sst2", dots(1600)), test="half", stratified=True)
    assert (len(held.validation), len(held.test)) == (500, 800)
    assert (sum(held.validation["label"]), sum(held.test["label"])) == (125, 200)
    assert not set(held.validation["sentence"]) & set(held.test["sentence"])


def test_labelled_test_rows_are_taken_as_they_are(opinions):
    held = tasks.hold_out(opinions, validation=100)
    assert len(held.validation) == 100 and held.test["sentence"] == opinions.test["sentence"]
    for data, tested in ((opinions, 500), (glue_like("sst2", dots(40)), 40)):
        without = tasks.hold_out(data, validation=0)
        assert without.validation is None and len(without.test) == tested
    whole = tasks.hold_out(opinions, test="validation")
    assert whole.validation is None and len(whole.test) == 500


def test_the_hash_sees_every_row_label_and_order():
    rows = dots(6)
    base = tasks.split_hash(rows[:3], rows[3:])
    changed = [
        row | {"label": 1 - row["label"]} if i == 1 else row for i, row in enumerate(rows[:3])
    ]
    others = [tasks.split_hash(rows[:2], rows[2:]), tasks.split_hash(changed, rows[3:])]
    others += [tasks.split_hash(rows[2::-1], rows[3:])]
    assert base == tasks.split_hash(rows[:3], rows[3:]) and base not in others


# The papers' protocols


def test_the_papers_numbers():
    cmlm = protocols.CMLM
    assert (cmlm.sizes, cmlm.draws, cmlm.seeds, cmlm.runs) == ((20, 100, 1000), 5, (31, 42, 53), 15)
    assert (cmlm.epochs, cmlm.post_epochs) == (
        {20: 350, 100: 100, 1000: 10},
        {20: 200, 100: 50, 1000: 5},
    )
    assert (cmlm.lr, cmlm.post_lr, cmlm.batch_size, cmlm.post_batch_size) == (1e-5, 1e-5, 16, 8)
    assert (cmlm.evaluate_every, cmlm.validation, cmlm.most_test) == (100, 500, {"qqp": 2000})
    assert cmlm.grid_for("sst2") == {
        "contrast_weight": (0.01, 0.1, 0.3, 0.5, 0.7, 1), "p_c": (0.1, 0.3, 0.5, 0.7, 0.9),
    }  # fmt: skip
    full = protocols.CMLM_FULL  # section 4.7
    assert (full.epochs, full.post_epochs, full.lr, full.post_lr) == (
        {None: 3},
        {None: 3},
        3e-5,
        3e-5,
    )
    assert (full.runs, full.batch_size, full.post_batch_size) == (
        3,
        16,
        8,
    ) and cmlm.warmup == full.warmup == 0
    scl = protocols.SCL_FEW_SHOT
    assert (scl.draws, scl.report, scl.top, scl.test, scl.stratified) == (
        10,
        "top",
        3,
        "half",
        True,
    )
    assert (protocols.SCL_FULL.runs, protocols.SCL_FULL.report) == (10, "best")
    assert protocols.SCL_TRANSFER.sizes == (40,) and protocols.SCL_TRANSFER.per_class
    for paper in (scl, protocols.SCL_FULL, protocols.SCL_TRANSFER):
        assert (paper.runs, paper.lr, paper.batch_size) == (10, 1e-5, 16)
    assert protocols.CAPT.epochs == {None: 10}  # RoBERTa's recipes, as the grid
    assert protocols.CAPT.grid_for("rte") == {"lr": (1e-5, 2e-5, 3e-5), "batch_size": (16, 32)}
    for paper in (protocols.COCO_LM, protocols.CAPT):
        assert (paper.runs, paper.report) == (5, "median")


# What is reported


def runs(protocol, **columns):
    rows = []
    for method, tests in columns.items():
        for i, (validation, test) in enumerate(tests):
            d, s = divmod(i, len(protocol.seeds))
            row = dict(
                method=method, task="sst2", n=20, draw=d, seed=protocol.seeds[s], metric="accuracy"
            )
            rows.append(row | dict(validation=validation, test=test))
    return Results(pd.DataFrame(rows), protocol)


def test_the_top_runs_are_picked_by_validation_never_by_test():
    values = [(0.5, 0.99), (0.9, 0.70), (0.8, 0.60), (0.7, 0.80), (0.6, 0.98)]
    protocol = Protocol("top", draws=5, seeds=(0,), report="top", top=3)
    table = runs(protocol, FT=values)
    assert selected_runs(table.table, protocol)["test"].tolist() == [0.70, 0.60, 0.80]
    row = table.summary().iloc[0]
    assert row["reported"] == pytest.approx(0.70) and row["mean"] == pytest.approx(0.814)
    assert row["rule"] == "mean of the top 3 by validation"
    best = Results(table.table, replace(protocol, report="best")).summary().iloc[0]
    assert best["reported"] == 0.70


def test_the_median_is_the_median():
    protocol = Protocol(
        "median", draws=1, seeds=(0, 1, 2, 3, 4), validation=0, test="validation", report="median"
    )
    row = runs(protocol, FT=[(None, x) for x in (0.1, 0.9, 0.5, 0.6, 0.2)]).summary().iloc[0]
    assert row["reported"] == 0.5 and row["mean"] == pytest.approx(0.46)


def test_the_interval_counts_draws_not_runs():
    """Two draws × two seeds: the seeds agree, the draws do not. Four observations would look far surer."""
    protocol = replace(QUICK, draws=2)
    row = runs(protocol, FT=[(0, 0.50), (0, 0.52), (0, 0.70), (0, 0.72)]).summary().iloc[0]
    half = 12.7062 * np.std([0.51, 0.71], ddof=1) / math.sqrt(2)  # t(0.975, 1)
    assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-4)
    assert row["sd"] == pytest.approx(np.std([0.5, 0.52, 0.7, 0.72], ddof=1)) and row["runs"] == 4
    assert interval(np.array([0.5])) == (None, None)


def test_paired_differences_remove_the_luck_of_the_draw():
    base = [(0, x) for x in (0.50, 0.60, 0.70, 0.80, 0.90)]
    better = [(0, x + d) for (_, x), d in zip(base, (0.02, 0.03, 0.02, 0.03, 0.00), strict=True)]
    protocol = Protocol("pairs", draws=5, seeds=(0,))
    table = runs(protocol, FT=base, SCL=better)
    row = table.differences("FT").iloc[0]
    assert row["difference"] == pytest.approx(0.02) and row["pairs"] == 5 and row["wins"] == 0.9
    assert row["low"] > 0  # though the two methods' own intervals overlap widely
    summary = table.summary().set_index("method")
    assert summary.loc["SCL", "low"] < summary.loc["FT", "high"]
    with pytest.raises(ValueError, match="no runs of 'CE'"):
        table.differences("CE")
    several = table.table.assign(split=[f"rows of draw {draw}" for draw in table.table["draw"]])
    assert Results(several, protocol).differences("FT").equals(table.differences("FT"))
    several.loc[several.index[-1], "split"] = (
        "other rows"  # the same draw of other data, or from another protocol
    )
    with pytest.raises(ValueError, match="SCL and FT had other rows at the same draw"):
        Results(several, protocol).differences("FT")


def test_an_interval_has_the_level_that_is_asked():
    base = [(0, x) for x in (0.50, 0.60, 0.75, 0.80)]
    better = [(0, x + d) for (_, x), d in zip(base, (0.02, 0.03, 0.02, 0.05), strict=True)]
    table = runs(Protocol("pairs", draws=4, seeds=(0,)), FT=base, SCL=better)
    for tell in (lambda level: table.summary(level), lambda level: table.differences("FT", level)):
        half, wide = (tell(level).iloc[0] for level in (0.5, 0.95))
        # Student's t with three degrees of freedom: 0.7649 at 0.75, 3.1824 at 0.975
        assert half["high"] - half["low"] == pytest.approx(
            0.7649 / 3.1824 * (wide["high"] - wide["low"]), rel=1e-3
        )


def test_differences_count_draws_not_runs():
    protocol = Protocol("pairs", draws=2, seeds=(0, 1))
    base = [(0, 0.5)] * 4
    better = [(0, 0.5 + d) for d in (0.10, 0.12, 0.20, 0.22)]
    row = runs(protocol, FT=base, SCL=better).differences("FT").iloc[0]
    half = 12.7062 * np.std([0.11, 0.21], ddof=1) / 2**0.5  # t(0.975, 1)
    assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-4) and row["pairs"] == 4
    assert row["sd"] == pytest.approx(np.std([0.10, 0.12, 0.20, 0.22], ddof=1))


def test_without_a_protocol_the_mean_of_all_runs_is_reported():
    table = runs(
        Protocol("two", draws=2, seeds=(0,)),
        FT=[(0.1, 0.5), (0.2, 0.6)],
        SCL=[(0.3, 0.7), (0.4, 0.9)],
    ).table
    results = Results(table, None)
    found = results.summary().set_index("method")
    assert found.loc["FT", ["reported", "rule"]].tolist() == [
        pytest.approx(0.55),
        "mean of all runs",
    ]
    assert found.loc["FT", "reported_sd"] == pytest.approx(np.std([0.5, 0.6], ddof=1))
    assert repr(results) == "no protocol: 4 runs"
    assert results.differences("FT")["difference"].tolist() == [pytest.approx(0.25)]


def test_tables_come_back_as_they_were_written(tmp_path):
    table = pd.DataFrame(
        {"method": ["FT"], "split": ["0012345e6789"], "post": [""], "test": [1 / 3], "draw": [1]}
    )
    for name in ("task", "metric", "start", "setting"):
        table[name] = "000000000012"
    path = write(table, tmp_path / "table.csv")
    assert read(path) == table.to_dict("records")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # no draft is left


# The grid

ALL = {
    "FT": Pipeline(),
    "SCL": Pipeline(tune=SCL),
    "TAPT": Pipeline(post=MLM),
    "CMLM": Pipeline(post=CMLM),
}


@pytest.fixture(scope="module")
def whole(opinions, start, tmp_path_factory):
    return tasks.run(
        QUICK, opinions, start, folder=tmp_path_factory.mktemp("whole"), progress=False
    )


def test_runs_are_not_picked_by_rows_that_nobody_holds_out(opinions, start):
    """GLUE's secret test: all validation rows are tested on, so `run` has none to pick by; it says so at once."""
    with pytest.raises(
        ValueError, match="GLUE test picks runs by validation rows, but holds none out"
    ):
        tasks.run(tasks.PROTOCOLS["glue_test"], opinions, start)


def test_a_run_of_a_protocol_is_one_tidy_table(whole):
    table = whole.table
    assert whole.complete and len(table) == 4 * QUICK.runs
    assert list(dict.fromkeys(table["method"])) == ["FT", "SCL", "TAPT", "CMLM"]
    assert set(table["task"]) == {"toyshop/sst2"} and set(table["seed"]) == {31, 42}
    assert table["test"].between(0, 1).all() and table["validation"].between(0, 1).all()
    assert (table["steps"] == 8).all()  # 4 epochs of ceil(20 / 16) updates
    assert set(whole.summary()["method"]) == set(ALL) and len(whole.differences("FT")) == 3


def test_all_methods_share_rows_and_start(whole):
    table = whole.table
    assert (table.groupby("draw")["split"].nunique() == 1).all() and table["split"].nunique() == 2
    assert table["start"].nunique() == 1


def test_draws_of_other_numbers_leave_the_held_out_rows_as_they_are(opinions, start, whole):
    later = replace(QUICK, first_draw=QUICK.draws - 1, draws=2)
    table = tasks.run(later, opinions, start, {"FT": Pipeline()}, progress=False).table
    ours = whole.table[whole.table["method"] == "FT"].set_index(["draw", "seed"])
    same = table.set_index(["draw", "seed"]).loc[QUICK.draws - 1]
    assert set(table["draw"]) == {QUICK.draws - 1, QUICK.draws}
    assert same["split"].unique() == ours.loc[QUICK.draws - 1, "split"].unique()
    assert (
        same["test"].tolist() == ours.loc[QUICK.draws - 1, "test"].tolist()
    )  # the same run, whoever else ran
    assert not set(table[table["draw"] == QUICK.draws]["split"]) & set(ours["split"])
    assert tasks.split_hash(*held_rows(later, opinions).parts) == tasks.split_hash(
        *held_rows(QUICK, opinions).parts
    )


def test_post_trained_weights_are_carried(whole):
    post = whole.table.set_index(["method", "draw", "seed"])["post"]
    assert (post["FT"] == "").all() and (post["SCL"] == "").all()
    trained = post[["TAPT", "CMLM"]]
    assert trained.nunique() == 8 and not set(trained) & set(whole.table["start"])


def test_fine_tuning_begins_where_post_training_ended(opinions, start, monkeypatch):
    """Not at the start again, while the table tells of post-trained weights; a probe likewise."""
    from contrast_kit.tasks import runs as grid

    begun = []

    def watched(real):
        return lambda encoder, *a, **o: (
            begun.append(tasks.weights_hash(encoder)),
            real(encoder, *a, **o),
        )[1]

    for name in ("fine_tune", "fit_probe"):
        monkeypatch.setattr(grid, name, watched(getattr(grid, name)))
    methods = {
        "FT": Pipeline(),
        "TAPT": Pipeline(post=MLM),
        "probe": Pipeline(post=CMLM, frozen=True),
    }
    table = tasks.run(
        replace(QUICK, draws=1, seeds=(31,)), opinions, start, methods, progress=False
    ).table
    assert (
        begun == [post or tasks.weights_hash(start) for post in table["post"]]
        and len(set(begun)) == 3
    )


def test_a_run_is_selected_by_the_rows_held_out_for_it(opinions, start, monkeypatch):
    from contrast_kit.tasks import runs as grid

    seen, real = [], grid.fine_tune
    monkeypatch.setattr(grid, "fine_tune", lambda *a, **o: (seen.append(a[2]), real(*a, **o))[1])
    tasks.run(replace(QUICK, draws=1, seeds=(31,)), opinions, start, ["FT"], progress=False)
    held = held_rows(QUICK, opinions)
    assert [rows["sentence"] for rows in seen] == [held.validation["sentence"]]


def test_the_start_is_left_as_it_was(opinions, start, whole):
    assert encoder_hash(start) == whole.table["start"].iloc[0]


def same(a, b):
    pd.testing.assert_frame_equal(
        a.drop(columns="seconds"), b.drop(columns="seconds"), check_dtype=False
    )


@pytest.mark.parametrize("stop", [pytest.param(1, marks=pytest.mark.full), 6])
def test_a_stopped_protocol_continues_where_it_was(
    opinions, start, whole, tmp_path, monkeypatch, stop
):
    from contrast_kit.tasks import runs as grid

    real, calls = grid.fine_tune, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == stop + 1:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(grid, "fine_tune", interrupted)
    first = tasks.run(QUICK, opinions, start, folder=tmp_path, progress=False)
    assert (
        not first.complete
        and len(first.table) == stop
        and "again with the same folder" in repr(first)
    )
    assert len(read(tmp_path / "results.csv")) == stop
    calls.clear()
    monkeypatch.setattr(grid, "fine_tune", lambda *a, **o: (calls.append(1), real(*a, **o))[1])
    second = tasks.run(QUICK, opinions, start, folder=tmp_path, progress=False)
    assert len(calls) == 16 - stop and second.complete
    same(second.table, whole.table)
    more = tasks.run(
        replace(QUICK, draws=3), opinions, start, ["FT"], folder=tmp_path, progress=False
    )
    assert (
        len(more.table) == 6 and len(calls) == 16 - stop + 2
    )  # a third draw: two runs more, the rest stays


def test_the_stop_button_ends_a_protocol_between_two_updates(opinions, start, tmp_path):
    class Pressed(FineTune):
        def views(self, batch, generator=None):
            os.kill(os.getpid(), signal.SIGINT)
            return super().views(batch, generator)

    methods = {"FT": Pipeline(), "pressed": Pipeline(tune=Pressed)}
    result = tasks.run(QUICK, opinions, start, methods, folder=tmp_path, progress=False)
    assert not result.complete and result.table["method"].tolist() == ["FT"]


def test_runs_of_other_settings_are_refused(opinions, start, tmp_path):
    one = replace(QUICK, draws=1, seeds=(31,))
    tasks.run(one, opinions, start, ["FT"], folder=tmp_path, progress=False)
    with pytest.raises(ValueError, match="another folder"):
        tasks.run(replace(one, lr=2e-3), opinions, start, ["FT"], folder=tmp_path, progress=False)
    with pytest.raises(ValueError, match="another folder"):
        tasks.run(one, opinions, start, {"FT": Pipeline(tune=SCL)}, folder=tmp_path, progress=False)
    with pytest.raises(ValueError, match="another folder"):
        tasks.run(
            one, opinions, ck.Encoder(start.model, start.tokenizer, "mean"), ["FT"], folder=tmp_path
        )
    cleaned = opinions.train.map(
        lambda row: {"label": 1 - row["label"]}
    )  # as many rows, of which each was mended
    relabelled = tasks.TaskData(opinions.task, opinions.splits | {"train": cleaned}, opinions.name)
    with pytest.raises(ValueError, match="other rows: choose another folder"):
        tasks.run(one, relabelled, start, ["FT"], folder=tmp_path, progress=False)
    for changes in (dict(metrics=("macro_f1", "accuracy")), dict(columns=("other",))):
        another = tasks.TaskData(replace(opinions.task, **changes), opinions.splits, opinions.name)
        with pytest.raises(ValueError, match="choose another folder"):
            tasks.run(one, another, start, ["FT"], folder=tmp_path, progress=False)


def test_what_cannot_be_drawn_anew_is_run_once(opinions, start):
    """Five draws of all rows are one run five times: as independent ones, they had an interval of no width."""

    def draws(paraphraser=None, **changes):
        protocol = replace(
            QUICK, draws=3, first_draw=4, seeds=(31, 42), epochs={20: 1, None: 1}, **changes
        )
        planned = plan_runs(protocol, [opinions], {"FT": Pipeline()})
        return Counter((one.size, one.draw) for one in planned)

    assert draws(sizes=(20, None)) == {(20, 4): 2, (20, 5): 2, (20, 6): 2, (None, 4): 2}
    assert draws(sizes=(None,), fraction=0.01) == {(None, 4): 2}
    assert (
        len(draws(sizes=(None,), temperature=0.5, paraphraser=Toyshop())) == 3
    )  # each draw paraphrases anew
    small = tasks.TaskData(
        opinions.task, opinions.splits | {"train": opinions.train.select(range(20))}, "mine"
    )
    whole = replace(QUICK, draws=3, seeds=(31,), sizes=(None,), epochs={None: 1})
    found = tasks.run(whole, small, start, ["FT"], progress=False).summary()
    assert found["runs"].item() == 1 and found[["low", "high"]].isna().all(axis=None)


def test_further_texts_reach_post_training_only(opinions, start, monkeypatch):
    from contrast_kit.tasks import runs as grid

    seen = {}
    real_post, real_tune = grid.post_train, grid.fine_tune
    monkeypatch.setattr(
        grid, "post_train", lambda *a, **o: (seen.update(post=a[2]), real_post(*a, **o))[1]
    )
    monkeypatch.setattr(
        grid, "fine_tune", lambda *a, **o: (seen.update(tune=a[1]), real_tune(*a, **o))[1]
    )
    one = replace(QUICK, draws=1, seeds=(31,))
    tasks.run(one, opinions, start, {"more": Pipeline(post=MLM, unlabeled=30)}, progress=False)
    assert len(seen["post"]) == 50 and len(seen["tune"]) == 20
    assert set(seen["tune"]["idx"]) < set(seen["post"]["idx"])


def test_transfer_starts_from_the_task_model(opinions, start):
    model = tasks.fine_tune(start, opinions.train.select(range(64)), task="sst2", steps=4, lr=1e-3)
    other = tasks.load("othershop/sst2")
    quick = replace(
        protocols.SCL_TRANSFER,
        draws=2,
        top=1,
        epochs={40: 1},
        lr=1e-3,
        most_test={"sst2": 50},
        validation=30,
    )
    result = tasks.run(
        quick, other, model.objective, {"CE": Pipeline(), "CE + SCL": Pipeline(SCL)}, progress=False
    )
    assert set(result.table["start"]) == {encoder_hash(model.objective)}
    assert set(result.table["n"]) == {40} and set(result.table["task"]) == {"othershop/sst2"}


# CSSL, noise, sweeps, transfer


def test_cssl_is_a_post_training_method(opinions, start):
    """CMLM's table 1 has five methods; all carry their post-trained weights into fine-tuning."""
    cssl = Pipeline(post=CSSL, paraphraser=Toyshop())
    one = replace(QUICK, draws=1, seeds=(31,))
    methods = {
        "FT": Pipeline(),
        "TAPT": ALL["TAPT"],
        "CMLM": ALL["CMLM"],
        "CSSL": cssl,
        "SCL": ALL["SCL"],
    }
    table = tasks.run(one, opinions, start, methods, progress=False).table.set_index("method")
    assert list(table.index) == ["FT", "TAPT", "CMLM", "CSSL", "SCL"]
    assert table["post"][["TAPT", "CMLM", "CSSL"]].nunique() == 3 and table["post"]["FT"] == ""
    assert cssl.description == "CSSL by Toyshop(temperature=0.0) → FineTune"


NOISY = Sweep(replace(QUICK, name="noisy", draws=1, seeds=(31,)), "temperature", (None, 0.3, 0.9))


def test_noise_adds_three_rows_to_one(opinions, start, monkeypatch):
    from contrast_kit.tasks import runs as grid

    real, seen = grid.fine_tune, []
    monkeypatch.setattr(grid, "fine_tune", lambda *a, **o: (seen.append(a[1]), real(*a, **o))[1])
    swept = tasks.sweep(NOISY, opinions, start, ["FT"], paraphraser=Toyshop(), progress=False)
    assert [len(rows) for rows in seen] == [20, 80, 80] and swept.complete
    originals = list(seen[0]["sentence"])
    for rows in seen[1:]:  # the same draw, with its labels, and noise after it
        assert [row["sentence"] for row in rows[:20]] == originals
        assert [row["label"] for row in rows] == list(seen[0]["label"]) * 4
    kept = [
        sum(same_meaning(rows[i]["sentence"], rows[20 + i]["sentence"]) for i in range(20))
        for rows in seen[1:]
    ]
    assert kept[0] > kept[1]
    assert swept.table["temperature"].tolist() == ["none", 0.3, 0.9]
    assert set(swept.summary()["n"]) == {20} and len(swept.summary()) == 3


def test_a_sweep_continues_and_its_values_do_not_mix(opinions, start, tmp_path, monkeypatch):
    go = dict(folder=tmp_path, paraphraser=Toyshop(), progress=False)
    first = tasks.sweep(NOISY, opinions, start, ["FT", "SCL"], **go)
    assert len(list(tmp_path.glob("temperature=*/results.csv"))) == 3
    monkeypatch.setattr(
        "contrast_kit.tasks.runs.fine_tune", None
    )  # another run would now be an error
    again = tasks.sweep(NOISY, opinions, start, ["FT", "SCL"], **go)
    same(again.table, first.table)
    assert first.differences("FT")["temperature"].tolist() == ["none", 0.3, 0.9]
    with pytest.raises(
        ValueError, match="another folder"
    ):  # by somebody else it would be other noise
        tasks.sweep(
            NOISY,
            opinions,
            start,
            ["FT", "SCL"],
            **(go | {"paraphraser": Toyshop(temperature=1.0)}),
        )


def test_the_papers_sweeps():
    noise, sizes = protocols.SCL_NOISE, protocols.SCL_BATCH_SIZE
    assert noise.values == (None, 0.3, 0.5, 0.7, 0.9) and noise.base.copies == 3
    assert (
        noise.base.sizes == (100,) and noise.base.report == "top"
    )  # "as in Section 4 for few-shot"
    assert {p.batch_size for p in sizes.protocols.values()} == {
        16,
        64,
        256,
    } and sizes.base.sizes == (None,)
    assert len({p.lr for p in sizes.protocols.values()}) == 1


def test_batch_sizes_change_the_updates(opinions, start):
    steps = Sweep(replace(QUICK, draws=1, seeds=(31,)), "steps", (1, 2))
    swept = tasks.sweep(
        steps, opinions, start, ["FT"], progress=False
    )  # the runs have a column `steps` as well
    assert swept.table["protocol's steps"].tolist() == swept.table["steps"].tolist() == [1, 2]
    assert swept.summary()["steps"].tolist() == [1, 2]
    sizes = Sweep(replace(QUICK, draws=1, seeds=(31,)), "batch_size", (5, 20))
    table = tasks.sweep(sizes, opinions, start, ["SCL"], progress=False).table
    assert table.set_index("batch_size")["steps"].to_dict() == {5: 16, 20: 4}


def test_transfer_trains_each_methods_own_source(opinions, start, tmp_path, monkeypatch):
    first = replace(protocols.SCL_FULL, sizes=(64,), epochs={64: 1}, lr=1e-3, validation=30)
    small = tasks.TaskData(
        opinions.task, {name: opinions.splits[name].select(range(64)) for name in opinions.splits}
    )
    then = replace(
        protocols.SCL_TRANSFER,
        draws=2,
        top=1,
        epochs={40: 1},
        lr=1e-3,
        most_test={"sst2": 50},
        validation=30,
    )
    targets = [tasks.load("othershop/sst2"), opinions]
    go = dict(source_protocol=first, target_protocol=then, folder=tmp_path, progress=False)
    result = tasks.transfer(small, iter(targets), start, **go)
    table = result.table
    assert (
        len(table) == 2 * 2 * 2
        and set(table["task"]) == {"othershop/sst2", "toyshop/sst2"}
        and result.complete
    )
    assert (table.groupby("method")["start"].nunique() == 1).all() and table["start"].nunique() == 2
    assert (
        table.groupby(["task", "draw"])["split"].nunique() == 1
    ).all()  # the methods see the same rows
    monkeypatch.setattr(
        "contrast_kit.tasks.runs.fine_tune", None
    )  # the source models come from the folder
    same(tasks.transfer(small, targets, start, **go).table, table)
    with pytest.raises(
        TypeError, match="callable"
    ):  # but not for a source that is trained otherwise
        tasks.transfer(small, targets, start, **go | dict(source_protocol=replace(first, lr=2e-3)))
    mended = small.train.map(lambda row: {"label": 1 - row["label"]})
    with pytest.raises(TypeError, match="callable"):  # nor for one of other labels
        tasks.transfer(
            tasks.TaskData(small.task, small.splits | {"train": mended}), targets, start, **go
        )


def test_runs_that_a_table_cannot_tell_apart_are_refused(opinions, start):
    one = replace(QUICK, draws=2, seeds=(31,), steps=1, epochs={}, evaluate_every=1)
    table = tasks.run(one, opinions, start, ["FT"], progress=False).table
    with pytest.raises(
        ValueError,
        match=r"method FT, task toyshop/sst2, n 20, draw 0, seed 31, .* rename the method",
    ):
        Results(pd.concat([table, table]), one)
    both = Results(pd.concat([table, table.assign(method="again")]), one)
    assert both.differences("FT")[["difference", "pairs"]].values.tolist() == [[0.0, 2]]
    with pytest.raises(ValueError, match="give each data set a name of its own"):
        tasks.run(one, [opinions, opinions], start, ["FT"], progress=False)


def test_protocols_draw_any_rows_into_a_batch_in_both_stages():
    """As the papers do: among few rows of like length the same ones would meet in every epoch."""
    every = [each for each in vars(protocols).values() if isinstance(each, protocols.Protocol)]
    assert len(every) >= 9
    for protocol in every:
        assert protocol.training(protocol.sizes[0])["group_by_length"] is False
    assert protocols.CMLM.post_training(20)["group_by_length"] is False
    lengths, met = np.random.default_rng(0).integers(5, 40, 100), {}
    for grouped in (True, False):
        batches = Batches(lengths, 16, group_by_length=grouped)
        together = [set(batch) for epoch in range(50) for batch in batches.epoch(epoch)]
        met[grouped] = np.mean(
            [len(set().union(*(b for b in together if row in b))) - 1 for row in range(100)]
        )
    assert met[True] < 45 and met[False] > 95  # other rows that a row meets in 50 epochs, of 99


@pytest.mark.real_data
@real_data
def test_both_protocols_on_real_sst2(tmp_path):
    data = tasks.load("glue/sst2", folder=Path(REAL, "glue_data"))
    vocabulary = ck.data.train_tokenizer(list(data.train["sentence"][:5000]), vocab_size=1000)
    encoder = make_encoder(vocabulary)
    for protocol in (protocols.CMLM, protocols.SCL_FEW_SHOT):
        quick = replace(protocol, sizes=(20,), epochs={20: 2}, draws=2, top=1, seeds=(31,), lr=1e-3)
        result = tasks.run(quick, data, encoder, ["FT", "SCL"], progress=False)
        assert len(result.table) == 4 and result.table["test"].between(0.3, 0.7).all()
    held = tasks.hold_out(data, test="half", stratified=True)
    assert (len(held.test), len(held.validation)) == (436, 436)  # of 872: 500 are not left


def test_of_equals_the_earlier_draw_is_reported():
    rows = [
        dict(
            method="FT",
            task="sst2",
            n=20,
            draw=d,
            seed=0,
            metric="accuracy",
            validation=0.8,
            test=t,
        )
        for d, t in ((2, 0.1), (0, 0.9), (1, 0.5))
    ]
    protocol = Protocol("ties", draws=3, seeds=(0,), report="best")
    assert Results(pd.DataFrame(rows), protocol).summary()["reported"][0] == 0.9


def imbalanced(count, parts=("train", "validation", "test")):
    rows = [{"sentence": f"text {i}", "label": int(i % 5 == 0)} for i in range(count)]
    return tasks.TaskData(
        "sst2",
        {
            name: [{**row, "sentence": f"{name} {row['sentence']}"} for row in rows]
            for name in parts
        },
    )


def learnt_from(plan, data, **options):
    """The training texts and labels of each run of a protocol."""
    seen = []
    said = lambda texts, y, new: seen.append((texts, y.tolist())) or y[:1].repeat(len(new))  # noqa: E731
    tasks.baseline(plan, data, said, **options)
    return seen


def test_each_draw_has_noise_of_its_own_and_the_seeds_of_a_draw_share_it():
    plan = Protocol(
        "noisy", sizes=(20,), draws=2, seeds=(31, 42), validation=0, temperature=0.7, copies=2
    )
    say = Asked()
    learnt_from(plan, imbalanced(100), paraphraser=say)
    assert say.asked == [(0.7, 0), (0.7, 1)] * 2 + [(0.7, 2), (0.7, 3)] * 2


def test_a_protocol_draws_by_class_and_by_its_split_seed():
    plan = Protocol("few", sizes=(20,), draws=1, seeds=(0,), validation=20, most_test={"sst2": 30})
    data = imbalanced(100)
    for changes, positive in (({"stratified": True}, 4), ({"per_class": True}, 10)):
        assert sum(learnt_from(replace(plan, **changes), data)[0][1]) == positive
    one, same, other = (
        learnt_from(replace(plan, split_seed=seed), data)[0][0] for seed in (0, 0, 1)
    )
    assert one == same != other
    held = [tasks.hold_out(data, validation=20, most_test=30, seed=seed) for seed in (0, 1)]
    assert held[0].validation != held[1].validation and held[0].test != held[1].test
    assert (
        len(held[0].test) == 30
        and held[0].test != data.test[:30]
        and held[0].validation != data.validation[:20]
    )


def test_a_part_of_the_rows_is_drawn_by_the_split_seed():
    plan = Protocol(
        "part", sizes=(None,), draws=1, seeds=(0,), validation=0, fraction=0.2, epochs={None: 1}
    )
    one, same, other = (
        learnt_from(replace(plan, split_seed=seed), imbalanced(100))[0][0] for seed in (0, 0, 1)
    )
    assert one == same != other and len(one) == 20


@pytest.mark.parametrize(("test", "positive"), [("half", (20, 40)), ("rest", (20, 60))])
def test_one_split_is_divided_by_class_and_by_the_seed(test, positive):
    data = imbalanced(400, ("train", "validation"))
    plan = Protocol(
        "half", sizes=(20,), draws=1, seeds=(0,), validation=100, test=test, stratified=True
    )
    held = [held_rows(replace(plan, split_seed=seed), data) for seed in (0, 1)]
    for each in held:
        assert (
            tuple(sum(row["label"] for row in part) for part in (each.validation, each.test))
            == positive
        )
    for part in ("validation", "test"):
        one, other = ({row["sentence"] for row in getattr(each, part)} for each in held)
        assert one != other


def test_a_pair_is_joined_for_a_baseline():
    rows = [{"sentence1": f"a{i}", "sentence2": f"b{i}", "label": i % 2} for i in range(40)]
    plan = Protocol("few", sizes=(20,), draws=1, seeds=(0,), validation=0)
    seen = learnt_from(
        plan, tasks.TaskData("mrpc", {"train": rows, "validation": rows, "test": rows})
    )
    assert all(re.fullmatch(r"a(\d+) b\1", text) for text in seen[0][0])


def test_a_source_model_is_selected_by_its_validation_rows_and_has_the_first_seed(monkeypatch):
    seen, data = [], imbalanced(100)

    def tune(begin, train, validation, *, seed, **options):
        seen.append((train, validation, seed))
        return SimpleNamespace(
            best={"accuracy": 0.5}, run=SimpleNamespace(interrupted=False), objective="the model"
        )

    monkeypatch.setattr(runs_module, "fine_tune", tune)
    plan = Protocol("source", sizes=(None,), draws=1, seeds=(7, 8), validation=20, epochs={None: 1})
    assert studies.source_model(data, None, Pipeline(), plan, None) == "the model"
    assert seen == [(data.train, held_rows(plan, data).validation, 7)]
