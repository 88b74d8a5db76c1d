"""Search in order of promise, and GLUE's submission."""

import zipfile
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import REAL, real_data

from contrast_kit import papers, tasks
from contrast_kit.objectives import CMLM, MLM, SCL
from contrast_kit.tasks import Pipeline, Protocol, protocols, searching, submission
from contrast_kit.tasks.points import distance, points
from contrast_kit.tasks.searching import explore

QUICK = Protocol(
    "quick", sizes=(20,), draws=1, seeds=(0, 1), validation=30, most_test={"sst2": 30}, epochs={20: 1}, lr=1e-3,
    evaluate_every=4, post_epochs={20: 1},
)  # fmt: skip

# The order


GRID = {"lr": (1, 2, 3, 4, 5, 6), "epochs": (2, 3, 5, 10)}


def peak(point):
    return -abs(point["lr"] - 5) - abs(GRID["epochs"].index(point["epochs"]) - 2), True


def test_the_first_point_is_the_papers_and_each_next_one_is_near_the_best_so_far():
    found = explore(GRID, peak, first={"lr": 2, "epochs": 2})
    order = [found.point(row) for row in range(len(found.table))]
    assert found.complete and len(order) == 24 == len({tuple(point.values()) for point in order})
    assert order[0] == {"lr": 2, "epochs": 2} and found.best == {"lr": 5, "epochs": 5}
    for i in range(1, 24):
        best = max(order[:i], key=lambda point: (peak(point)[0], -order.index(point)))
        left = [point for point in points(GRID) if point not in order[:i]]
        assert distance(GRID, order[i], best) == min(distance(GRID, point, best) for point in left)


def test_with_a_budget_the_promising_points_run():
    """The peak is five steps from the start; in the grid's own order it is the nineteenth of 24 points."""
    found = explore(GRID, peak, first={"lr": 2, "epochs": 2}, budget=14)
    assert len(found.table) == 14 and not found.complete and found.best == {"lr": 5, "epochs": 5}
    assert [tuple(point.values()) for point in points(GRID)].index((5, 5)) == 18
    assert found.ranked["score"].is_monotonic_decreasing
    assert len(explore(GRID, peak, seconds=1e-9).table) == 0


def test_a_search_goes_on_and_refuses_another_grid(tmp_path):
    tried = []

    def stopped(point):
        tried.append(point)
        return peak(point)[0], len(tried) < 4

    first = explore(GRID, stopped, first={"lr": 2}, folder=tmp_path)
    assert len(first.table) == 3 and not first.complete
    again = explore(GRID, peak, first={"lr": 2}, budget=8, folder=tmp_path)
    unbroken = explore(GRID, peak, first={"lr": 2}, budget=8)
    assert again.table.equals(unbroken.table)
    with pytest.raises(ValueError, match="holds a search over lr, epochs: choose another folder"):
        explore({"lr": (1, 2)}, peak, folder=tmp_path)
    with pytest.raises(ValueError, match="not on this grid"):
        explore(GRID | {"lr": (7, 8)}, peak, folder=tmp_path)
    with pytest.raises(ValueError, match="with other rows: choose another folder"):
        explore(GRID, peak, folder=tmp_path, setting={"rows": "others"})
    with pytest.raises(TypeError, match="setting must be a dict of what decides"):
        explore(GRID, peak, setting="others")
    for wrong in (dict(budget=0), dict(seconds=0)):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explore(GRID, peak, **wrong)
    with pytest.raises(ValueError, match="no value twice"):
        explore({"lr": (1, 1)}, peak)


# Protocols


def test_the_papers_grids_are_what_runs(opinions, start, monkeypatch):
    """CMLM's 30 points reach the objective that post-trains, SCL's the one that fine-tunes, COCO-LM's the protocol."""
    seen = []

    def run(protocol, data, start, methods, **options):
        seen.append((protocol, methods["searched"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(searching, "run", run)
    for protocol, method in ((protocols.CMLM, "CMLM"), (protocols.SCL_FEW_SHOT, "SCL"), (protocols.COCO_LM, "FT")):
        with pytest.raises(KeyboardInterrupt):
            tasks.search(protocol, opinions, start, method)
    (cmlm, pipeline), (_, scl), (coco, _) = seen
    assert pipeline.post.func is CMLM and cmlm == protocols.CMLM  # α = 0.5, p_c = 0.7: the paper's own point first
    assert (pipeline.post.keywords["contrast_weight"], pipeline.post.keywords["p_c"]) == (0.5, 0.7)
    assert scl.tune.func is SCL and (coco.lr, coco.epochs, coco.warmup) == (2e-5, {None: 3}, 0.06)
    assert len(list(points(papers.settings.CMLM_SEARCH))) == 30
    assert len(list(points(protocols.COCO_LM.grid_for("rte")))) == 4 * 2 * 2 * 4
    assert len(list(points(protocols.COCO_LM.grid_for("qqp")))) == 3 * 4
    with pytest.raises(ValueError, match="prints no grid for sst2"):
        tasks.search(QUICK, opinions, start)
    with pytest.raises(KeyboardInterrupt):  # with its draws, shots alone would be refused
        tasks.search(replace(QUICK, draws=2), opinions, start, grid={"draws": (1,), "shots": (4,)})
    with pytest.raises(ValueError, match="has a setting 'depth'"):
        tasks.search(QUICK, opinions, start, grid={"depth": (1, 2)})
    for protocol, method, name in ((protocols.CMLM, "CMLM", "contrast_weight"), (protocols.SCL_FEW_SHOT, "SCL", "lam")):
        with pytest.raises(ValueError, match=f"{name}' to be searched: choose a method that has it, method='{method}'"):
            tasks.search(protocol, opinions, start)  # by the default method, which has no such setting
    with pytest.raises(TypeError, match="for one task"):
        tasks.search(protocols.CMLM, [opinions], start)


def test_a_search_selects_by_validation_and_continues_in_its_folder(opinions, start, tmp_path, monkeypatch):
    go = dict(grid={"lr": (1e-6, 1e-3, 1e-2), "epochs": (1, 3)}, folder=tmp_path, progress=False)
    found = tasks.search(QUICK, opinions, start, budget=2, **go)
    assert found.table[["lr", "epochs"]].iloc[0].tolist() == [1e-3, 1] and not found.complete
    results = tasks.run(QUICK, opinions, start, {"searched": Pipeline()}, progress=False)
    assert found.table["score"][0] == pytest.approx(results.table["validation"].mean())
    calls, real = [], searching.run
    monkeypatch.setattr(searching, "run", lambda *a, **o: calls.append(a[0].lr) or real(*a, **o))
    more = tasks.search(QUICK, opinions, start, budget=3, **go)
    assert len(calls) == 1 and more.table["score"][:2].tolist() == pytest.approx(found.table["score"].tolist())
    assert len(list(tmp_path.glob("lr=*/results.csv"))) == 3
    with pytest.raises(ValueError, match="other batch_size"):
        tasks.search(replace(QUICK, batch_size=8), opinions, start, **go)
    mended = opinions.train.map(lambda row: {"label": 1 - row["label"]})
    with pytest.raises(ValueError, match="other rows"):
        tasks.search(QUICK, tasks.TaskData(opinions.task, opinions.splits | {"train": mended}), start, **go)


def test_a_search_begins_with_what_the_pipeline_was_given(opinions, start):
    given = Pipeline(post=partial(CMLM, contrast_weight=1.0))
    found = tasks.search(
        QUICK, opinions, start, given, grid={"contrast_weight": (0.1, 0.5, 1.0)}, budget=1, progress=False
    )
    assert found.table["contrast_weight"].tolist() == [1.0]


def test_without_validation_rows_points_are_compared_as_the_papers_do(opinions, start):
    plan = replace(protocols.COCO_LM, seeds=(0, 1, 2), sizes=(20,), epochs={20: 1}, fine_tuning={}, lr=1e-3)
    small = tasks.TaskData(opinions.task, {n: rows.select(range(40)) for n, rows in opinions.splits.items()}, "small")
    found = tasks.search(plan, small, start, grid={"lr": (1e-3,)}, progress=False)
    runs = tasks.run(plan, small, start, {"searched": Pipeline()}, progress=False)
    assert found.table["score"][0] == pytest.approx(runs.table["test"].median()) and found.complete


def test_without_validation_rows_sizes_count_alike_and_mismatched_rows_do_not():
    row = dict(method="FT", task="mnli", seed=0, draw=0, metric="accuracy", validation=None, test_mismatched=0.1)
    runs = ((0, 20, 0.4), (1, 20, 0.4), (0, 1000, 0.8))
    table = pd.DataFrame([row | dict(seed=seed, n=n, test=test) for seed, n, test in runs])
    protocol = replace(protocols.COCO_LM, mismatched=True)
    assert searching._score(tasks.results.Results(table, protocol)) == pytest.approx((0.4 + 0.8) / 2)


# The submission


def constant(value=0):
    return {file.name: np.full(file.rows, value) for file in submission.FILES}


def test_the_zip_has_all_files_with_labels_as_the_server_names_them(tmp_path):
    made = constant() | {"STS-B.tsv": np.linspace(-0.2, 5.4, 1379), "MNLI-mm.tsv": np.arange(9847) % 3}
    made |= {"RTE.tsv": np.arange(3000) % 2, "CoLA.tsv": np.arange(1063) % 2}
    del made["WNLI.tsv"], made["AX.tsv"]
    zipped = zipfile.ZipFile(tasks.write_submission(tmp_path / "new" / "glue.zip", made))
    names = ["CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI-m", "MNLI-mm", "QNLI", "RTE", "WNLI", "AX"]
    assert zipped.namelist() == [f"{name}.tsv" for name in names]
    tables = {n: [line.split("\t") for line in zipped.read(n).decode().splitlines()] for n in zipped.namelist()}
    for file in submission.FILES:
        assert tables[file.name][0] == ["index", "prediction"] and len(tables[file.name]) == file.rows + 1
        assert [row[0] for row in tables[file.name][1:3]] == ["0", "1"]
    said = {name: [row[1] for row in table[1:4]] for name, table in tables.items()}
    assert said["MNLI-mm.tsv"] == ["entailment", "neutral", "contradiction"]
    assert said["RTE.tsv"][:2] == ["entailment", "not_entailment"] and said["CoLA.tsv"][:2] == ["0", "1"]
    assert said["QNLI.tsv"][0] == "entailment" and said["WNLI.tsv"][0] == "0" and said["AX.tsv"][0] == "entailment"
    scores = [float(row[1]) for row in tables["STS-B.tsv"][1:]]
    assert min(scores) == 0 and max(scores) == 5 and tables["STS-B.tsv"][1][1] == "0.000"
    again = tasks.write_submission(tmp_path / "again.zip", made)
    assert again.read_bytes() == (tmp_path / "new" / "glue.zip").read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"RTE.tsv": np.zeros(2999, int)}, "RTE.tsv has 3,000 rows"),
        ({"RTE.tsv": np.full(3000, 2)}, "RTE.tsv wants the classes 0 to 1"),
        ({"RTE.tsv": np.zeros(3000)}, "as whole numbers"),
        ({"STS-B.tsv": np.full(1379, np.nan)}, "STS-B.tsv is not finite"),
        ({"SNLI.tsv": [0]}, "no file 'SNLI.tsv'"),
        ({"RTE.tsv": None}, "no predictions for RTE.tsv"),
    ],
)
def test_what_the_server_would_refuse_is_refused_here(change, says, tmp_path):
    made = {name: values for name, values in (constant() | change).items() if values is not None}
    with pytest.raises(ValueError, match=says):
        tasks.write_submission(tmp_path / "glue.zip", made)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="end in .zip"):
        tasks.write_submission(tmp_path / "glue.tar", constant())


def test_the_best_of_ten_seeds_is_picked_by_the_validation_rows(opinions, start, monkeypatch):
    small = tasks.TaskData(opinions.task, {n: rows.select(range(40)) for n, rows in opinions.splits.items()})
    tuned, real = [], submission.fine_tune
    monkeypatch.setattr(
        submission, "fine_tune", lambda *a, **o: tuned.append((o["seed"], real(*a, **o))) or tuned[-1][1]
    )
    plan = replace(protocols.GLUE_TEST, epochs={None: 1}, lr=3e-3)
    best = tasks.best_of_seeds(start, small, protocol=plan)
    assert [seed for seed, _ in tuned] == list(range(10)) == list(protocols.GLUE_TEST.seeds)
    scores = [one.best["accuracy"] for _, one in tuned]
    assert best is tuned[int(np.argmax(scores))][1] and len(set(scores)) > 1
    for ax in (None, small.validation):  # which the model of MNLI answers
        assert list(tasks.predict_test(best, small, ax=ax)) == ["SST-2.tsv"]
    with pytest.raises(ValueError, match="was fine-tuned on sst2: it cannot answer rte"):  # two classes there too
        tasks.predict_test(best, tasks.load("toyshop/rte"))
    with pytest.raises(ValueError, match="without frozen and prompt"):
        tasks.best_of_seeds(start, small, "probe")


def test_each_file_of_mnli_holds_the_answers_to_its_own_rows(monkeypatch):
    monkeypatch.setattr(tasks.FineTuned, "predict", lambda self, rows: np.array([row["label"] for row in rows]))
    tuned = tasks.FineTuned(tasks.get_task("mnli"), None, None, 0)
    parts = {name: [{"label": n}] * 3 for n, name in enumerate(("test_matched", "test_mismatched"))}
    found = tasks.predict_test(tuned, tasks.TaskData("mnli", parts), ax=[{"label": 2}])
    assert {name: said.tolist() for name, said in found.items()} == {
        "MNLI-m.tsv": [0] * 3, "MNLI-mm.tsv": [1] * 3, "AX.tsv": [2],
    }  # fmt: skip


def test_what_fills_a_file(tmp_path):
    made = {name: values for name, values in constant(1).items() if name not in ("STS-B.tsv", "WNLI.tsv", "AX.tsv")}
    path = tasks.write_submission(tmp_path / "glue.zip", made, fill=("STS-B.tsv", "WNLI.tsv", "AX.tsv"))
    zipped = zipfile.ZipFile(path)
    said = {name: zipped.read(name).decode().splitlines()[1].split("\t")[1] for name in zipped.namelist()}
    assert said == dict.fromkeys(("CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv"), "1") | dict.fromkeys(
        ("QNLI.tsv", "RTE.tsv"), "not_entailment"
    ) | dict.fromkeys(("MNLI-m.tsv", "MNLI-mm.tsv"), "neutral") | {
        "STS-B.tsv": "2.500", "WNLI.tsv": "0", "AX.tsv": "entailment",
    }  # fmt: skip


def test_the_best_of_seeds_is_fine_tuned_from_its_own_post_training_and_of_equals_the_first(start, monkeypatch):
    begun, rows = [], [{"sentence": "a kite", "label": 1}]
    data = tasks.TaskData("sst2", {"train": rows, "validation": rows})

    def tune(begin, *rows, seed, **options):
        begun.append((begin, seed))
        return SimpleNamespace(best={"accuracy": 0.5}, run=SimpleNamespace(interrupted=False), seed=seed)

    monkeypatch.setattr(submission, "post_train", lambda *a, seed, **o: f"post-trained {seed}")
    monkeypatch.setattr(submission, "fine_tune", tune)
    plan = replace(protocols.GLUE_TEST, seeds=(3, 4), post_epochs={None: 1})
    best = tasks.best_of_seeds(start, data, Pipeline(post=MLM), protocol=plan)
    assert begun == [("post-trained 3", 3), ("post-trained 4", 4)] and best.seed == 3


@pytest.mark.real_data
@real_data
def test_the_servers_row_counts_are_those_of_the_files():
    for task, name in (("SST-2", "SST-2.tsv"), ("STS-B", "STS-B.tsv"), ("MRPC", "MRPC.tsv"), ("RTE", "RTE.tsv")):
        rows = tasks.load(f"{REAL}/glue_data/{task}").splits["test"]
        assert len(rows) == next(file.rows for file in submission.FILES if file.name == name)
