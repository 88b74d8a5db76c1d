"""Searches, sweeps and transfers: no kept score of other runs, no setting over what is varied, points that diverge."""

import math
from dataclasses import replace

import pytest
from conftest import make_encoder

from contrast_kit import checks, tasks
from contrast_kit.data import toyshop
from contrast_kit.objectives import MLM, SCL, FineTune
from contrast_kit.tasks import (
    Pipeline,
    Protocol,
    Sweep,
    grid,
    prompting,
    protocols,
    searching,
    squad,
    submission,
    sweeps,
)
from contrast_kit.tasks.searching import explore
from contrast_kit.tasks.vectors import encoder_hash


@pytest.fixture(scope="module")
def asked(start):
    questions = toyshop.rows("squad", "train")[:12]
    return {"train": questions[:8], "validation": questions[8:]}


QUICK = Protocol(
    "quick", sizes=(20,), draws=1, seeds=(0,), validation=30, most_test={"sst2": 30}, epochs={20: 1}, lr=1e-3
)  # fmt: skip
RATES = {"lr": (1e-4, 1e-3)}


def scored(protocol, data, *args, folder=None, **options):
    """In place of `run`: a table of one run, as all of them score alike."""
    row = dict(method="searched", task="x", n=20, draw=0, seed=0, metric="accuracy", validation=0.5, test=protocol.lr)
    return tasks.Results(tasks.results.table_of([row]), protocol)


# Kept scores


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        (dict(draws=2), "draws"),
        (dict(first_draw=5), "first_draw"),
        (dict(seeds=(0, 1)), "seeds"),
        (dict(sizes=(20, 40), epochs={20: 1, 40: 1}), "epochs, sizes"),
        (dict(report="top", top=1), "report, top"),
        (dict(batch_size=8), "batch_size"),
        (dict(split_seed=1), "rows, split_seed"),
    ],
)
def test_a_search_never_takes_the_kept_scores_of_other_runs(opinions, start, tmp_path, monkeypatch, changes, differ):
    monkeypatch.setattr(searching, "run", scored)
    go = dict(grid=RATES, folder=tmp_path, progress=False)
    tasks.search(QUICK, opinions, start, **go)
    same = replace(QUICK, name="renamed", lr=1e-4, ddof=0)  # nothing here is in a score: lr is what is searched
    assert len(tasks.search(same, opinions, start, **go).table) == 2
    with pytest.raises(ValueError, match=f"search.csv holds a search with other {differ}: choose another folder"):
        tasks.search(replace(QUICK, **changes), opinions, start, **go)


def test_a_search_names_the_settings_and_the_method_that_differ(opinions, start, tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "run", scored)
    go = dict(grid=RATES, folder=tmp_path, progress=False)
    tasks.search(QUICK, opinions, start, max_length=16, **go)
    with pytest.raises(ValueError, match="with other max_length=: choose"):
        tasks.search(QUICK, opinions, start, max_length=32, **go)
    with pytest.raises(ValueError, match="with other max_length=, method: choose"):
        tasks.search(QUICK, opinions, start, "SCL", **go)
    with pytest.raises(ValueError, match="with other start: choose"):
        tasks.search(QUICK, opinions, make_encoder(start.tokenizer, seed=9), max_length=16, **go)
    kept = tmp_path / "search.csv"
    kept.write_text("lr,score,setting\n0.001,0.5,0123456789ab-mean\n")  # as it was before: a hash
    with pytest.raises(ValueError, match="of an earlier version of the kit: choose another folder"):
        tasks.search(QUICK, opinions, start, max_length=16, **go)


def test_a_search_of_readers_never_takes_the_kept_scores_of_other_runs(asked, start, tmp_path, monkeypatch):
    monkeypatch.setattr(squad, "run", lambda data, start, *, protocol, **options: scored(protocol, data))
    plan, go = replace(protocols.SQUAD, seeds=(0,)), dict(grid=RATES, folder=tmp_path)
    kept = squad.search(asked, start, protocol=plan, steps=1, **go)
    assert squad.search(asked, start, protocol=plan, steps=1, **go).table.equals(kept.table)
    with pytest.raises(ValueError, match="with other seeds, steps=: choose another folder"):
        squad.search(asked, start, protocol=replace(plan, seeds=(1, 2)), steps=6, **go)
    other = asked | {"train": asked["train"][:6]}
    with pytest.raises(ValueError, match="with other rows: choose another folder"):
        squad.search(other, start, protocol=plan, steps=1, **go)


# Settings over what is varied


@pytest.mark.parametrize(
    ("changes", "searched", "settings", "says"),
    [
        ({}, RATES, dict(lr=1e-3), "The search varies lr, and lr= would override it"),
        ({}, {"post_lr": (1e-4, 1e-3)}, dict(lr=1e-3), "varies post_lr, and lr= would"),
        ({}, {"epochs": (1, 2)}, dict(steps=3), "varies epochs, and steps= would"),
        (dict(steps=3), {"epochs": (1, 2)}, {}, "the protocol's steps override it"),
        (dict(choose=RATES), RATES, {}, "the protocol's choose overrides it"),
        (dict(fine_tuning={"lr": 1e-3}), RATES, {}, "the protocol's fine_tuning overrides it"),
        (dict(choose=RATES), {"batch_size": (4, 8)}, dict(lr=1e-3), "quick chooses lr itself"),
        ({}, RATES, dict(seed=3), "give the protocol its seeds"),
    ],
)
def test_a_setting_over_what_is_searched_is_refused(opinions, start, asked, changes, searched, settings, says):
    """All points would be one and the same run."""
    plan = replace(QUICK, **changes)
    with pytest.raises(ValueError, match=says):
        tasks.search(plan, opinions, start, grid=searched, progress=False, **settings)
    with pytest.raises(ValueError, match=says):
        squad.search(asked, start, protocol=plan, grid=searched, **settings)


def test_what_a_pipeline_does_not_use_is_not_searched(opinions, start):
    """All points would be one and the same run."""
    for pipeline in (Pipeline(tune=SCL, frozen=True), Pipeline(tune=SCL, prompt=prompting.TEMPLATES["sst2"])):
        with pytest.raises(ValueError, match="has a setting 'lam' to be searched"):
            tasks.search(QUICK, opinions, start, pipeline, grid={"lam": (0.1, 0.9)}, progress=False)
    with pytest.raises(ValueError, match="A frozen encoder is probed, which takes no lr"):
        tasks.search(QUICK, opinions, start, "probe", grid={"lr": (1e-3, 1e-2)}, progress=False)


def test_a_setting_over_what_is_swept_or_drawn_is_refused(opinions, start, asked, monkeypatch):
    for module in (grid, sweeps, submission, squad):
        monkeypatch.setattr(module, "fine_tune", None)  # nothing may be trained before
    sizes = Sweep(QUICK, "batch_size", (4, 20))
    with pytest.raises(ValueError, match="The sweep varies batch_size, and batch_size= would override it"):
        tasks.sweep(sizes, opinions, start, ["FT"], batch_size=20, progress=False)
    seeds = "give the protocol its seeds"
    with pytest.raises(ValueError, match=seeds):
        tasks.sweep(sizes, opinions, start, ["FT"], seed=1, progress=False)
    with pytest.raises(ValueError, match=seeds):
        squad.run(asked, start, seed=1)
    with pytest.raises(ValueError, match=seeds):
        tasks.transfer(opinions, opinions, start, target_protocol=QUICK, seed=1)
    with pytest.raises(ValueError, match=seeds):
        tasks.best_of_seeds(start, opinions, seed=1)


def test_transfer_refuses_what_has_no_head_to_carry_over(opinions, start, monkeypatch):
    monkeypatch.setattr(sweeps, "fine_tune", None)  # not even the first method's source is trained
    go = dict(source_protocol=QUICK, target_protocol=QUICK, progress=False)
    for headless in (Pipeline(frozen=True), prompting.TEMPLATES["sst2"].pipeline()):
        with pytest.raises(ValueError, match="transfer fine-tunes a head: give a pipeline without frozen and prompt"):
            tasks.transfer(opinions, opinions, start, {"FT": Pipeline(), "other": headless}, **go)


# Files that are no longer what was written


def damages(text):
    header, first, *_ = text.splitlines()
    yield ""
    yield "\x00\x01,,\n"
    yield text.replace("seed", "sed").replace("score", "scor")
    yield f"{header}\n{first.replace('accuracy,', 'accuracy,x').replace(',0.5,', ',x0.5,')}\n"
    yield "a,b\n1,2,3\n4,5,6,7\n"


def test_a_damaged_table_of_runs_or_points_is_named(opinions, start, asked, tmp_path, monkeypatch):
    tasks.run(QUICK, opinions, start, ["FT"], folder=tmp_path, progress=False)
    monkeypatch.setattr(grid, "_run_one", None)  # nothing runs again
    file = tmp_path / "results.csv"
    for text in damages(file.read_text()):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"results.csv is damaged, or no table of runs: remove it"):
            tasks.run(QUICK, opinions, start, ["FT"], folder=tmp_path, progress=False)
        with pytest.raises(ValueError, match=r"results.csv is damaged, or no table of runs: remove it"):
            squad.run(asked, start, folder=tmp_path)
    explore(RATES, lambda point: (0.5, True), folder=tmp_path)
    file = tmp_path / "search.csv"
    for text in damages(file.read_text()):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"search.csv (is damaged, or no table|holds a search over)"):
            explore(RATES, None, folder=tmp_path)


# Fields of a protocol that a call cannot heed

ROWS = [("temperature", 0.3, None), ("fraction", 0.5, None), ("shots", 4, None)]


@pytest.mark.parametrize(("name", "value", "without"), ROWS)
def test_transfer_refuses_to_choose_the_rows_of_its_source(opinions, start, monkeypatch, name, value, without):
    monkeypatch.setattr(sweeps, "fine_tune", None)  # nothing is trained before
    source = replace(QUICK, **{name: value})
    says = rf"^transfer .* so it cannot heed the {name} of quick: take .*replace\(protocol, {name}={without}\)\.$"
    with pytest.raises(ValueError, match=says):
        tasks.transfer(opinions, opinions, start, source_protocol=source, target_protocol=QUICK)
    if name == "temperature":  # nor has it a paraphraser for the targets
        with pytest.raises(ValueError, match=says):
            tasks.transfer(opinions, opinions, start, source_protocol=QUICK, target_protocol=source)


@pytest.mark.parametrize(("name", "value", "without"), [*ROWS, ("choose", {"lr": (1e-4, 1e-3)}, r"\{\}")])
def test_best_of_seeds_refuses_to_choose_rows_or_a_point(opinions, start, monkeypatch, name, value, without):
    monkeypatch.setattr(submission, "fine_tune", None)
    says = rf"^best_of_seeds trains .* so it cannot heed the {name} of quick: take .*{name}={without}\)\.$"
    with pytest.raises(ValueError, match=says):
        tasks.best_of_seeds(start, opinions, protocol=replace(QUICK, **{name: value}))


def test_post_training_may_start_from_a_fine_tuned_objective(opinions, start):
    small = tasks.TaskData(opinions.task, {name: rows.select(range(20)) for name, rows in opinions.splits.items()})
    plan = replace(QUICK, sizes=(None,), epochs={None: 1}, post_epochs={None: 1})
    tapt, tuned = {"TAPT": Pipeline(post=MLM)}, FineTune(start, classes=2)
    assert tasks.best_of_seeds(tuned, small, tapt["TAPT"], protocol=plan).run.steps == 2
    go = dict(source_protocol=plan, target_protocol=plan, progress=False)
    assert len(tasks.transfer(small, small, tuned, tapt, **go).table) == 1


def test_a_stop_in_the_post_training_of_a_source_is_a_stop(opinions, start, monkeypatch):
    def stops(*args, **options):
        raise grid.Stopped

    monkeypatch.setattr(sweeps, "post_train", stops)
    go = dict(source_protocol=replace(QUICK, post_epochs={20: 1}), target_protocol=QUICK, progress=False)
    with pytest.raises(KeyboardInterrupt):
        tasks.transfer(opinions, opinions, start, {"TAPT": Pipeline(post=MLM)}, **go)


def test_transfer_chooses_the_source_models_point_by_validation(opinions, start, tmp_path, monkeypatch):
    source = replace(QUICK, sizes=(None,), epochs={None: 1}, choose={"lr": (1e-4, 1e-3, 1e-9)})
    small = tasks.TaskData(opinions.task, opinions.splits | {"train": opinions.train.select(range(64))})
    go = dict(source_protocol=source, target_protocol=QUICK, folder=tmp_path, progress=False)
    real, tried = sweeps.fine_tune, []

    def watched(*args, **options):
        tuned = real(*args, **options)
        tried.append((options["lr"], tuned))
        tuned.validation = [row | {"accuracy": float(options["lr"] == 1e-3)} for row in tuned.validation]
        return tuned

    monkeypatch.setattr(sweeps, "fine_tune", watched)
    starts = tasks.transfer(small, opinions, start, ["FT"], **go).table["start"]
    assert [lr for lr, _ in tried] == [1e-4, 1e-3, 1e-9]
    hashes = [encoder_hash(tuned.objective) for _, tuned in tried]
    assert set(starts) == {hashes[1]} and len(set(hashes)) > 1
    monkeypatch.setattr(sweeps, "fine_tune", None)
    assert set(tasks.transfer(small, opinions, start, ["FT"], **go).table["start"]) == {hashes[1]}
    with pytest.raises(ValueError, match="quick chooses lr itself, by validation"):
        tasks.transfer(small, opinions, start, ["FT"], **go, lr=1e-3)
    go["source_protocol"] = replace(source, test="validation")
    with pytest.raises(ValueError, match="quick chooses lr by validation rows, but holds none out"):
        tasks.transfer(small, opinions, start, ["FT"], **go)


@pytest.mark.parametrize(("name", "value", "without"), [*ROWS, ("choose", {"clip": (0.5, 1.0)}, r"\{\}")])
def test_squad_refuses_to_choose_rows_or_a_point(asked, start, monkeypatch, name, value, without):
    monkeypatch.setattr(squad, "fine_tune", None)
    plan = replace(protocols.SQUAD, validation=1, **{name: value})
    says = rf"^squad.run trains .* so it cannot heed the {name} of COCO-LM SQuAD 2.0: .*{name}={without}\)\.$"
    for call in (squad.run, squad.search):
        with pytest.raises(ValueError, match=says):
            call(asked, start, protocol=plan)


@pytest.mark.parametrize("call", [squad.run, squad.search])
def test_squad_has_no_rows_to_pick_runs_by(asked, start, monkeypatch, call):
    monkeypatch.setattr(squad, "fine_tune", None)
    with pytest.raises(ValueError, match="report must be one of 'mean', 'median', not 'best'"):
        call(asked, start, protocol=replace(protocols.SQUAD, report="best", validation=1))


# Points that diverge


def test_a_point_that_diverges_counts_as_the_worst_and_is_kept(opinions, start, tmp_path):
    go = dict(grid={"lr": (1e-3, 1e9)}, folder=tmp_path, progress=False)
    longer = replace(QUICK, epochs={20: 6})
    with pytest.warns(UserWarning, match="lr=1000000000.0 diverged and counts as the worst point: Step"):
        found = tasks.search(longer, opinions, start, **go)
    assert found.complete and found.best == {"lr": 1e-3} and math.isnan(found.table["score"][1])
    assert found.ranked["lr"].tolist() == [1e-3, 1e9]
    again = tasks.search(longer, opinions, start, **go)  # without a warning, since nothing runs
    assert again.table["score"].tolist() == pytest.approx(found.table["score"].tolist(), nan_ok=True)


def test_the_search_goes_on_near_the_best_point_that_did_not_diverge(tmp_path):
    def measure(point):
        if point["lr"] < 3:
            raise checks.NotFiniteError("A prediction is not finite.")
        return -10.0 * point["lr"], True

    with pytest.warns(UserWarning, match="lr=2 diverged"), pytest.warns(UserWarning, match="lr=1 diverged"):
        found = explore({"lr": (1, 2, 3, 4, 5)}, measure, first={"lr": 2}, folder=tmp_path)
    assert found.table["lr"].tolist() == [2, 1, 3, 4, 5] and found.best == {"lr": 3}


def test_where_all_points_diverge_that_is_the_error(tmp_path):
    def diverges(point):
        raise FloatingPointError("Step 2 is not finite.")

    says = r"All points of the search diverged \(2 ran\)"
    with pytest.warns(UserWarning, match="lr=0.001 diverged"), pytest.raises(FloatingPointError, match=says):
        explore(RATES, diverges, folder=tmp_path)
    with pytest.raises(FloatingPointError, match=says):
        explore(RATES, None, folder=tmp_path)  # nothing is measured again
    with pytest.raises(ValueError, match="No point ran to its end"):
        explore(RATES, diverges, seconds=1e-9).best  # noqa: B018
