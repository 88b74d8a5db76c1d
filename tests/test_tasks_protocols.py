"""Protocols: what is drawn, what is held out, what is reported, and a grid that can be stopped."""

import math
import os
import re
import signal
from collections import Counter
from dataclasses import replace
from operator import eq

import numpy as np
import pandas as pd
import pytest
from conftest import Asked

import contrast_kit as ck
from contrast_kit import papers, tasks
from contrast_kit.data.paraphrase import Toyshop
from contrast_kit.data.toyshop.wordings import meanings
from contrast_kit.objectives import CMLM, CSSL, MLM, SCL, FineTune
from contrast_kit.tasks import Pipeline, Protocol, protocols, runs
from contrast_kit.tasks.probes import encoder_hash
from contrast_kit.tasks.results import Results, interval, read, selected_runs
from contrast_kit.tasks.runs import plan_runs

QUICK = Protocol(
    "quick", sizes=(20,), draws=2, seeds=(31, 42), validation=40, most_test={"sst2": 60}, epochs={20: 4},
    lr=1e-3, evaluate_every=4, post_epochs={20: 2}, post_lr=1e-3,
)  # fmt: skip
ONE = replace(QUICK, draws=1, seeds=(31,))


@pytest.fixture
def spy(monkeypatch):
    """Watch a function of `tasks.runs`: the arguments of each call are noted."""

    def watch(name):
        calls, real = [], getattr(runs, name)
        monkeypatch.setattr(
            runs,
            name,
            lambda *args, **options: calls.append(args) or real(*args, **options),
        )
        return calls

    return watch


# Draws


def test_stratified_draws_keep_the_distribution():
    labels, n = np.array([0] * 3000 + [1] * 5000 + [2] * 2000), 1000
    rows = tasks.draw(labels, n, seed=1, stratified=True)
    assert len(rows) == len(set(rows)) == n
    counts = Counter(labels[rows].tolist())
    assert all(abs(counts[c] - n * share) <= 1 for c, share in enumerate((0.3, 0.5, 0.2)))
    rare = np.array([0] * 990 + [1] * 10)  # every class is drawn where there is room
    assert Counter(rare[tasks.draw(rare, 20, seed=0, stratified=True)].tolist()) == {
        0: 19,
        1: 1,
    }


def test_draws_are_a_function_of_their_seed_and_may_overlap():
    labels = np.arange(2000) % 2
    first, again, other = (tasks.draw(labels, 500, seed=[0, d]) for d in (0, 0, 1))
    assert first == again != other
    assert 60 < len(set(first) & set(other)) < 190  # 125 expected: "with replacement"


def test_per_class_draws_the_same_number_of_each_class():
    labels = np.array([0] * 900 + [1] * 100)
    rows = tasks.draw(labels, 40, seed=0, per_class=True)
    assert Counter(labels[rows].tolist()) == {0: 20, 1: 20}
    for n, words in (
        (41, "do not divide"),
        (400, "Class 1 has 100"),
        (1001, "do not divide"),
    ):
        with pytest.raises(ValueError, match=words):
            tasks.draw(labels, n, seed=0, per_class=True)
    with pytest.raises(ValueError, match="1000 rows, fewer than the 1001"):
        tasks.draw(labels, 1001, seed=0)


# Held-out rows


def glue_like(name, rows):
    """A task whose test labels are secret, as GLUE's are."""
    from datasets import Dataset

    secret = [row | {"label": -1} for row in rows[:5]]
    splits = {"validation": Dataset.from_list(rows), "test": Dataset.from_list(secret)}
    return tasks.TaskData(tasks.get_task(name), splits)


def held_out(data, **changes):
    return tasks.hold_out(data, Protocol("held out", **changes))


def dots(count):
    return [{"sentence": f"text {i}", "label": int(i % 4 == 0)} for i in range(count)]


def test_cmlm_divides_the_validation_rows():
    held = held_out(glue_like("sst2", dots(1200)), validation=500, test="rest")
    assert (len(held.validation), len(held.test)) == (500, 700)
    assert not set(held.validation["sentence"]) & set(held.test["sentence"])
    qqp, most = glue_like("qqp", dots(3000)), {"qqp": 2000}
    capped = held_out(qqp, most_test=most)
    assert (len(capped.validation), len(capped.test)) == (500, 2000)
    capped = held_out(qqp, test="validation", most_test=most)
    assert capped.validation is None and len(capped.test) == 2000


def test_scl_takes_half_to_test_and_500_of_the_rest_by_class():
    held = held_out(glue_like("sst2", dots(1600)), test="half", stratified=True)
    assert (len(held.validation), len(held.test)) == (500, 800)
    assert (sum(held.validation["label"]), sum(held.test["label"])) == (125, 200)
    assert not set(held.validation["sentence"]) & set(held.test["sentence"])


def test_labelled_test_rows_are_taken_as_they_are(opinions):
    held = held_out(opinions, validation=100)
    assert (
        len(held.validation) == 100 and held.test["sentence"] == opinions.test["sentence"]
    )
    for data, tested in ((opinions, 500), (glue_like("sst2", dots(40)), 40)):
        without = held_out(data, validation=0)
        assert without.validation is None and len(without.test) == tested
    whole = held_out(opinions, test="validation")
    assert whole.validation is None and len(whole.test) == 500


def test_the_hash_sees_every_row_label_and_order():
    rows = dots(6)
    base = tasks.split_hash(rows[:3], rows[3:])
    changed = [rows[0], rows[1] | {"label": 1 - rows[1]["label"]}, rows[2]]
    others = [
        tasks.split_hash(part, rows[3:]) for part in (rows[:2], changed, rows[2::-1])
    ]
    assert base == tasks.split_hash(rows[:3], rows[3:]) and base not in others


# The papers' protocols


def test_the_papers_numbers():
    cmlm, full = protocols.CMLM, protocols.CMLM_FULL
    assert (cmlm.sizes, cmlm.draws, cmlm.seeds) == ((20, 100, 1000), 5, (31, 42, 53))
    assert cmlm.epochs == {20: 350, 100: 100, 1000: 10}
    assert cmlm.post_epochs == {20: 200, 100: 50, 1000: 5}
    assert (cmlm.lr, cmlm.batch_size, cmlm.post_batch_size) == (1e-5, 16, 8)
    assert cmlm.grid_for("sst2") == papers.CMLM_SEARCH
    assert full.epochs == full.post_epochs == {None: 3}  # section 4.7
    assert full.lr == full.post_lr == 3e-5 and full.seeds == cmlm.seeds
    for paper in (protocols.SCL_FEW_SHOT, protocols.SCL_FULL, protocols.SCL_TRANSFER):
        assert paper.draws * len(paper.seeds) == 10 and paper.stratified
        assert (paper.lr, paper.batch_size, paper.test) == (1e-5, 16, "half")
    for paper in (protocols.COCO_LM, protocols.CAPT):
        assert (paper.draws, len(paper.seeds), paper.report) == (1, 5, "median")
    noise, sizes = protocols.SCL_NOISE, protocols.SCL_BATCH_SIZE
    assert list(noise) == [None, 0.3, 0.5, 0.7, 0.9] and list(sizes) == [16, 64, 256]
    for T, plan in noise.items():  # "as in Section 4"
        assert (plan.temperature, plan.copies, plan.sizes) == (T, 3, (100,))
    for size, plan in sizes.items():
        assert (plan.batch_size, plan.sizes, plan.lr) == (size, (None,), 1e-5)


# What is reported


def table_of(protocol, **columns):
    rows = []
    for method, tests in columns.items():
        for i, (validation, test) in enumerate(tests):
            d, s = divmod(i, len(protocol.seeds))
            row = dict(method=method, task="sst2", n=20, draw=d, seed=protocol.seeds[s])
            rows.append(row | dict(metric="accuracy", validation=validation, test=test))
    return Results(pd.DataFrame(rows), protocol)


def test_the_top_runs_are_picked_by_validation_never_by_test():
    values = [(0.5, 0.99), (0.9, 0.70), (0.8, 0.60), (0.7, 0.80), (0.6, 0.98)]
    protocol = Protocol("top", draws=5, seeds=(0,), report="top", top=3)
    table = table_of(protocol, FT=values)
    assert selected_runs(table.table, protocol)["test"].tolist() == [0.70, 0.60, 0.80]
    row = table.summary().iloc[0]
    assert row["reported"] == pytest.approx(0.70) and row["mean"] == pytest.approx(0.814)
    assert row["rule"] == "mean of the top 3 by validation"
    best = Results(table.table, replace(protocol, report="best"))
    assert best.summary()["reported"][0] == 0.70
    tied = table.table.assign(validation=0.8).iloc[::-1]  # of equals, the earlier draw
    assert Results(tied, best.protocol).summary()["reported"][0] == 0.99


def test_the_median_is_the_median_and_without_a_protocol_the_mean_is_reported():
    median = dict(
        draws=1, seeds=(0, 1, 2, 3, 4), validation=0, test="validation", report="median"
    )
    results = table_of(
        Protocol("median", **median), FT=[(None, x) for x in (0.1, 0.9, 0.5, 0.6, 0.2)]
    )
    row = results.summary().iloc[0]
    assert row["reported"] == 0.5 and row["mean"] == pytest.approx(0.46)
    without = Results(results.table, None)
    row = without.summary().iloc[0]
    assert row["reported"] == row["mean"] and row["rule"] == "mean of all runs"
    assert row["reported_sd"] == row["sd"]


T_1 = 12.7062  # Student's t at 0.975 with one degree of freedom


def test_the_interval_counts_draws_not_runs():
    """Two draws × two seeds: the seeds agree, the draws do not. Four observations would look far surer."""
    row = (
        table_of(QUICK, FT=[(0, 0.50), (0, 0.52), (0, 0.70), (0, 0.72)]).summary().iloc[0]
    )
    half = T_1 * np.std([0.51, 0.71], ddof=1) / math.sqrt(2)
    assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-4)
    assert (
        row["sd"] == pytest.approx(np.std([0.5, 0.52, 0.7, 0.72], ddof=1))
        and row["runs"] == 4
    )
    assert interval(np.array([0.5])) == (None, None)


def test_differences_count_draws_not_runs():
    better = [(0, 0.5 + d) for d in (0.10, 0.12, 0.20, 0.22)]
    row = table_of(QUICK, FT=[(0, 0.5)] * 4, SCL=better).differences("FT").iloc[0]
    half = T_1 * np.std([0.11, 0.21], ddof=1) / math.sqrt(2)
    assert (
        row["high"] - row["difference"] == pytest.approx(half, rel=1e-4)
        and row["pairs"] == 4
    )
    assert row["sd"] == pytest.approx(np.std([0.10, 0.12, 0.20, 0.22], ddof=1))


def test_paired_differences_remove_the_luck_of_the_draw():
    base = [(0, x) for x in (0.50, 0.60, 0.70, 0.80, 0.90)]
    better = [
        (0, x + d) for (_, x), d in zip(base, (0.02, 0.03, 0.02, 0.03, 0.00), strict=True)
    ]
    protocol = Protocol("pairs", draws=5, seeds=(0,))
    table = table_of(protocol, FT=base, SCL=better)
    row = table.differences("FT").iloc[0]
    assert (
        row["difference"] == pytest.approx(0.02)
        and row["pairs"] == 5
        and row["wins"] == 0.9
    )
    assert row["low"] > 0  # though the two methods' own intervals overlap widely
    summary = table.summary().set_index("method")
    assert summary.loc["SCL", "low"] < summary.loc["FT", "high"]
    with pytest.raises(ValueError, match="no run of 'CE'"):
        table.differences("CE")
    several = table.table.assign(
        split=[f"rows of draw {draw}" for draw in table.table["draw"]]
    )
    assert Results(several, protocol).differences("FT").equals(table.differences("FT"))
    several.loc[several.index[-1], "split"] = "other rows"  # the same draw of other data
    with pytest.raises(ValueError, match="SCL and FT had other rows at the same draw"):
        Results(several, protocol).differences("FT")


# The grid

METHODS = ["FT", "SCL", "TAPT", "CMLM"]


@pytest.fixture(scope="module")
def whole(opinions, start):
    return tasks.run(QUICK, opinions, start, progress=False)


def test_runs_are_not_picked_by_rows_that_nobody_holds_out(opinions, start):
    """GLUE's secret test: all validation rows are tested on, so `run` has none to pick by; it says so at once."""
    with pytest.raises(
        ValueError, match="picks runs by validation rows, but holds none out"
    ):
        tasks.run(protocols.GLUE_TEST, opinions, start)


def test_a_run_of_a_protocol_is_one_tidy_table(whole, start):
    table = whole.table
    assert whole.complete and len(table) == 4 * 2 * 2
    assert list(dict.fromkeys(table["method"])) == METHODS
    assert set(table["task"]) == {"toyshop/sst2"} and set(table["seed"]) == {31, 42}
    assert table["test"].between(0, 1).all() and table["validation"].between(0, 1).all()
    assert (table["steps"] == 8).all()  # 4 epochs of ceil(20 / 16) updates
    assert (
        set(whole.summary()["method"]) == set(METHODS)
        and len(whole.differences("FT")) == 3
    )
    # all methods share rows and start, which stays as it was
    assert (table.groupby("draw")["split"].nunique() == 1).all() and table[
        "split"
    ].nunique() == 2
    assert set(table["start"]) == {encoder_hash(start)}
    post = table.set_index(["method", "draw", "seed"])["post"]
    assert (post["FT"] == "").all() and (post["SCL"] == "").all()
    assert post[["TAPT", "CMLM"]].nunique() == 8


def test_draws_of_other_numbers_leave_the_held_out_rows_as_they_are(
    opinions, start, whole
):
    later = replace(QUICK, first_draw=1)
    table = tasks.run(later, opinions, start, ["FT"], progress=False).table.set_index(
        "draw"
    )
    ours = whole.table[whole.table["method"] == "FT"].set_index("draw")
    assert set(table.index) == {1, 2}
    for column in ("split", "test"):  # the same run, whoever else ran
        assert table.loc[1, column].tolist() == ours.loc[1, column].tolist()
    assert not set(table.loc[2, "split"]) & set(ours["split"])
    hashes = [
        tasks.split_hash(*tasks.hold_out(opinions, plan).parts) for plan in (later, QUICK)
    ]
    assert hashes[0] == hashes[1]


def test_fine_tuning_begins_where_post_training_ended(opinions, start, spy):
    """Not at the start again, while the table tells of post-trained weights; a probe likewise."""
    tuned, probed = spy("fine_tune"), spy("fit_probe")
    methods = {"FT": Pipeline(), "TAPT": Pipeline(post=MLM)}
    methods["probe"] = Pipeline(post=CMLM, frozen=True)
    table = tasks.run(ONE, opinions, start, methods, progress=False).table
    begun = [tasks.weights_hash(args[0]) for args in tuned + probed]
    assert begun == [post or tasks.weights_hash(start) for post in table["post"]]
    assert len(set(begun)) == 3
    held = tasks.hold_out(opinions, ONE)  # a run is selected by the rows held out for it
    for args in tuned:
        assert args[2]["sentence"] == held.validation["sentence"]


def same(a, b):
    pd.testing.assert_frame_equal(
        a.drop(columns="seconds"), b.drop(columns="seconds"), check_dtype=False
    )


@pytest.mark.parametrize("stop", [pytest.param(1, marks=pytest.mark.full), 6])
def test_a_stopped_protocol_continues_where_it_was(
    opinions, start, whole, tmp_path, monkeypatch, spy, stop
):
    real, calls = runs.fine_tune, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == stop + 1:
            raise KeyboardInterrupt
        return real(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "fine_tune", interrupted)
        first = tasks.run(QUICK, opinions, start, folder=tmp_path, progress=False)
    assert not first.complete and len(first.table) == stop == len(
        read(tmp_path / "results.csv")
    )
    calls = spy("fine_tune")
    second = tasks.run(QUICK, opinions, start, folder=tmp_path, progress=False)
    assert len(calls) == 16 - stop and second.complete
    same(second.table, whole.table)
    third = replace(QUICK, draws=3)  # a third draw: two runs more, the rest stays
    more = tasks.run(third, opinions, start, ["FT"], folder=tmp_path, progress=False)
    assert len(more.table) == 6 and len(calls) == 16 - stop + 2


def test_the_stop_button_ends_a_protocol_between_two_updates(opinions, start, tmp_path):
    class Pressed(FineTune):
        def views(self, batch, generator=None):
            os.kill(os.getpid(), signal.SIGINT)
            return super().views(batch, generator)

    methods = {"FT": Pipeline(), "pressed": Pipeline(tune=Pressed)}
    result = tasks.run(QUICK, opinions, start, methods, folder=tmp_path, progress=False)
    assert not result.complete and result.table["method"].tolist() == ["FT"]
    first = {"pressed": methods["pressed"]}  # before any run the table is empty
    assert tasks.run(QUICK, opinions, start, first, progress=False).table.empty


def test_runs_of_other_settings_are_refused(opinions, start, tmp_path):
    tasks.run(ONE, opinions, start, ["FT"], folder=tmp_path, progress=False)
    mended = opinions.train.map(lambda row: {"label": 1 - row["label"]})
    relabelled = tasks.TaskData(
        opinions.task, opinions.splits | {"train": mended}, opinions.name
    )
    task = replace(opinions.task, metrics=("f1", "accuracy"))
    another = tasks.TaskData(task, opinions.splits, opinions.name)
    others = [(replace(ONE, lr=2e-3), opinions, start, ["FT"])]
    others += [(ONE, opinions, start, {"FT": Pipeline(tune=SCL)})]
    others += [(ONE, opinions, ck.Encoder(start.model, start.tokenizer, "mean"), ["FT"])]
    others += [(ONE, relabelled, start, ["FT"]), (ONE, another, start, ["FT"])]
    for other in others:
        with pytest.raises(ValueError, match="other rows: choose another folder"):
            tasks.run(*other, folder=tmp_path, progress=False)


def test_what_cannot_be_drawn_anew_is_run_once(opinions, start):
    """Five draws of all rows are one run five times: as independent ones, they had an interval of no width."""

    def draws(**changes):
        protocol = replace(
            QUICK, draws=3, first_draw=4, epochs={20: 1, None: 1}, **changes
        )
        planned = plan_runs(protocol, [opinions], {"FT": Pipeline()})
        return Counter((one.size, one.draw) for one in planned)

    assert draws(sizes=(20, None)) == {(20, 4): 2, (20, 5): 2, (20, 6): 2, (None, 4): 2}
    assert draws(sizes=(None,), fraction=0.01) == {(None, 4): 2}
    assert len(draws(sizes=(None,), temperature=0.5)) == 3  # each draw paraphrases anew
    few = opinions.splits | {"train": opinions.train.select(range(20))}
    plan = replace(QUICK, draws=3, seeds=(31,), sizes=(None,), epochs={None: 1})
    small = tasks.TaskData(opinions.task, few, "mine")
    found = tasks.run(plan, small, start, ["FT"], progress=False).summary()
    assert found["runs"].item() == 1 and found[["low", "high"]].isna().all(axis=None)


def test_further_texts_reach_post_training_only(opinions, start, spy):
    post, tune = spy("post_train"), spy("fine_tune")
    tasks.run(
        ONE, opinions, start, {"more": Pipeline(post=MLM, unlabeled=30)}, progress=False
    )
    read, labelled = post[0][2]["idx"], tune[0][1]["idx"]
    assert len(read) == 50 and len(labelled) == 20 and set(labelled) < set(read)


def test_cssl_is_a_post_training_method(opinions, start):
    """CMLM's table 1 has five methods; all carry their post-trained weights into fine-tuning."""
    cssl = Pipeline(post=CSSL, paraphraser=Toyshop())
    table = tasks.run(ONE, opinions, start, {"CSSL": cssl}, progress=False).table
    assert table["post"][0] != "" and table["post"][0] != table["start"][0]
    assert cssl.description == "CSSL by Toyshop(temperature=0.0) → FineTune"


# Noise


def test_noise_adds_three_rows_to_one(opinions, start, spy, tmp_path):
    calls, kept = spy("fine_tune"), []
    how = dict(paraphraser=Toyshop(), progress=False)
    for T in (None, 0.3, 0.9):
        tasks.run(replace(ONE, temperature=T), opinions, start, ["FT"], **how)
    rows = [args[1] for args in calls]
    assert [len(each) for each in rows] == [20, 80, 80]
    originals = list(rows[0]["sentence"])
    for noisy in rows[1:]:  # the same draw, with its labels, and noise after it
        said = [row["sentence"] for row in noisy]
        assert said[:20] == originals
        assert [row["label"] for row in noisy] == list(rows[0]["label"]) * 4
        kept.append(sum(map(eq, map(meanings, originals), map(meanings, said[20:40]))))
    assert kept[0] > kept[1]
    noisy = replace(ONE, temperature=0.3)
    tasks.run(noisy, opinions, start, ["FT"], folder=tmp_path, **how)
    # by somebody else it would be other noise
    how["paraphraser"] = Toyshop(temperature=1.0)
    with pytest.raises(ValueError, match="another folder"):
        tasks.run(noisy, opinions, start, ["FT"], folder=tmp_path, **how)


def test_no_setting_overrides_a_grid(opinions, start):
    plan = replace(ONE, choose={"lr": (1e-3, 1e-4)})
    with pytest.raises(ValueError, match="grid varies lr, and lr= would override it"):
        tasks.run(plan, opinions, start, lr=1e-3)


def test_runs_that_a_table_cannot_tell_apart_are_refused(opinions, start):
    table = table_of(ONE, FT=[(0, 0.5)]).table
    named = r"method FT, task sst2, n 20, draw 0, seed 31, .* rename the method"
    with pytest.raises(ValueError, match=named):
        Results(pd.concat([table, table]), ONE)
    both = Results(pd.concat([table, table.assign(method="again")]), ONE)
    assert both.differences("FT")[["difference", "pairs"]].values.tolist() == [[0.0, 1]]
    with pytest.raises(ValueError, match="give each data set a name of its own"):
        tasks.run(ONE, [opinions, opinions], start, ["FT"], progress=False)


def test_protocols_draw_any_rows_into_a_batch_in_both_stages():
    """As the papers do: among few rows of like length the same ones would meet in every epoch."""
    every = [
        each for each in vars(protocols).values() if isinstance(each, protocols.Protocol)
    ]
    assert len(every) >= 9
    for protocol in every:
        assert protocol.training(protocol.sizes[0])["group_by_length"] is False
    assert protocols.CMLM.post_training(20)["group_by_length"] is False


# What a baseline is given is what a method is given


def imbalanced(count, parts=("train", "validation", "test")):
    """Rows of two classes, one of them a fifth."""
    splits = {}
    for part in parts:
        rows = [
            {"sentence": f"{part} {i}", "label": int(i % 5 == 0)} for i in range(count)
        ]
        splits[part] = rows
    return tasks.TaskData("sst2", splits)


def learnt_from(plan, data, **options):
    """The training texts and labels of each run of a protocol."""
    seen = []

    def said(texts, y, new):
        return seen.append((texts, y.tolist())) or y[:1].repeat(len(new))  # noqa: E731

    tasks.baseline(plan, data, said, **options)
    return seen


FEW = Protocol(
    "few", sizes=(20,), draws=1, seeds=(0,), validation=20, most_test={"sst2": 30}
)


def test_each_draw_has_noise_of_its_own_and_the_seeds_of_a_draw_share_it():
    plan = replace(FEW, draws=2, seeds=(31, 42), validation=0, temperature=0.7, copies=2)
    say = Asked()
    learnt_from(plan, imbalanced(100), paraphraser=say)
    assert say.asked == [(0.7, 0), (0.7, 1)] * 2 + [(0.7, 2), (0.7, 3)] * 2


def test_a_protocol_draws_by_class_and_by_its_split_seed():
    data = imbalanced(100)
    for changes, positive in (({"stratified": True}, 4), ({"per_class": True}, 10)):
        assert sum(learnt_from(replace(FEW, **changes), data)[0][1]) == positive
    for plan in (FEW, replace(FEW, sizes=(None,), validation=0, fraction=0.2)):
        texts = [
            learnt_from(replace(plan, split_seed=seed), data)[0][0] for seed in (0, 0, 1)
        ]
        assert texts[0] == texts[1] != texts[2] and len(texts[0]) == 20
    held = [
        held_out(data, validation=20, most_test={"sst2": 30}, split_seed=seed)
        for seed in (0, 1)
    ]
    assert held[0].validation != held[1].validation and held[0].test != held[1].test
    assert len(held[0].test) == 30 and held[0].test != data.test[:30]
    assert held[0].validation != data.validation[:20]


@pytest.mark.parametrize(("test", "positive"), [("half", (20, 40)), ("rest", (20, 60))])
def test_one_split_is_divided_by_class_and_by_the_seed(test, positive):
    data = imbalanced(400, ("train", "validation"))
    plan = replace(FEW, validation=100, test=test, stratified=True, most_test={})
    held = [tasks.hold_out(data, replace(plan, split_seed=seed)) for seed in (0, 1)]
    for each in held:
        counts = (
            sum(row["label"] for row in part) for part in (each.validation, each.test)
        )
        assert tuple(counts) == positive
    for part in ("validation", "test"):
        one, other = ({row["sentence"] for row in getattr(each, part)} for each in held)
        assert one != other


def test_a_pair_is_joined_for_a_baseline():
    rows = [
        {"sentence1": f"a{i}", "sentence2": f"b{i}", "label": i % 2} for i in range(40)
    ]
    data = tasks.TaskData("mrpc", dict.fromkeys(("train", "validation", "test"), rows))
    seen = learnt_from(replace(FEW, validation=0), data)
    assert all(re.fullmatch(r"a(\d+) b\1", text) for text in seen[0][0])
