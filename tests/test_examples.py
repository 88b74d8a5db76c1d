"""The examples run as users run them, and learn."""

import re
import runpy
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import contrast_kit as ck
from contrast_kit.objectives import CMLM, SCL
from contrast_kit.tasks import Pipeline, Protocol, protocols

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_plain_loop_is_short_and_its_losses_fall(tmp_path, monkeypatch, capsys):
    """The contrast is nowhere near guessing at the end, and masked words are found better than at the start."""
    script = EXAMPLES / "plain_loop.py"
    assert len(script.read_text().splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    reports = [
        dict(re.findall(r"(\w+) (\d+\.\d+)", line))
        for line in capsys.readouterr().out.splitlines()
    ]
    first, last = (
        {part: float(value) for part, value in reports[i].items()} for i in (0, -1)
    )
    assert len(reports) == 4 and first.keys() == {"loss", "mlm", "contrast"}
    assert last["loss"] < first["loss"] - 1.5
    assert last["mlm"] < first["mlm"] - 1
    assert last["contrast"] < first["contrast"] - 2


@pytest.mark.full
def test_an_objective_learns_in_the_trainer_of_transformers(
    tmp_path, monkeypatch, capsys
):
    """And nobody tells it how far the run is: what a method changes along a run stands still, as the script says."""
    pytest.importorskip("accelerate")
    called = []
    for name in ("set_progress", "after_step"):
        monkeypatch.setattr(
            ck.objectives.CMLM, name, lambda *given, name=name: called.append(name)
        )
    script = EXAMPLES / "transformers_trainer.py"
    assert (
        len(script.read_text().splitlines()) <= 55
        and "`set_progress` and `after_step`" in script.read_text()
    )
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    lines = [line for line in capsys.readouterr().out.splitlines() if "held out" in line]
    first, last = (
        {part: float(x) for part, x in re.findall(r"(\w+) (\d+\.\d+)", line)}
        for line in lines
    )
    assert last["mlm"] < first["mlm"] - 1 and last["contrast"] < first["contrast"] - 2
    assert not called and not list(tmp_path.iterdir())


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_a_search_goes_where_it_is_promising_and_on_where_it_was_stopped(tmp_path):
    """The peak is five steps from the middle; in the grid's own order it is the nineteenth of 24 points."""
    explore = example("search_a_grid")["explore"]
    grid, measured = {"lr": (1, 2, 3, 4, 5, 6), "epochs": (2, 3, 5, 10)}, []

    def peak(point):
        measured.append(point)
        return -abs(point["lr"] - 5) - abs(grid["epochs"].index(point["epochs"]) - 2)

    best = explore(grid, peak, budget=14, file=tmp_path / "search.json")
    assert best[0] == (0, {"lr": 5, "epochs": 5}) and len(best) == len(measured) == 14
    assert (
        explore(grid, peak, budget=14, file=tmp_path / "search.json") == best
        and len(measured) == 14
    )
    assert (
        len(explore(grid, peak, budget=99, file=tmp_path / "search.json"))
        == 24
        == len(measured)
    )


QUICK = Protocol(
    "quick", sizes=(20,), draws=1, seeds=(0, 1), validation=30, most_test={"sst2": 30},
    epochs={20: 1, 40: 1}, lr=1e-3, evaluate_every=4, post_epochs={20: 1},
)  # fmt: skip


def test_a_point_of_a_grid_changes_the_protocol_or_the_objective():
    """CMLM's 30 points reach the objective that post-trains, SCL's the one that fine-tunes, COCO-LM's the protocol."""
    at_point = example("search_a_grid")["at_point"]
    first = lambda protocol, task: {k: v[0] for k, v in protocol.grid_for(task).items()}  # noqa: E731
    given = Pipeline(post=partial(CMLM, K=2))
    _, pipeline = at_point(protocols.CMLM, given, first(protocols.CMLM, "rte"))
    assert pipeline.description == "CMLM(K=2, contrast_weight=0.01, p_c=0.1) → FineTune"
    _, pipeline = at_point(
        QUICK, Pipeline(tune=SCL), first(protocols.SCL_FEW_SHOT, "rte")
    )
    assert pipeline.description == "SCL(lam=0.1, tau=0.1)"
    plan, _ = at_point(protocols.COCO_LM, given, first(protocols.COCO_LM, "rte"))
    assert (plan.lr, plan.epochs, plan.warmup) == (2e-5, {None: 2}, 0.06)


def test_points_are_compared_by_validation_or_as_the_paper_compares(
    opinions, start, tmp_path, monkeypatch
):
    names = example("search_a_grid")
    measure = names["of_protocol"](
        QUICK, opinions, start, Pipeline(), tmp_path, progress=False
    )
    results = ck.tasks.run(
        QUICK, opinions, start, {"searched": Pipeline()}, progress=False
    )
    assert measure({"lr": 1e-3}) == results.table["validation"].mean()
    assert measure({"lr": 1e15}) == float(
        "-inf"
    )  # a point that diverges counts as the worst
    columns = dict(method="FT", task=opinions.name, seed=0, metric="accuracy", test=0.5)
    rows = [(20, draw, value) for draw, value in enumerate((0.1, 0.6, 0.8))] + [
        (100, 0, 0.9)
    ]
    rows = [columns | dict(n=n, draw=draw, validation=value) for n, draw, value in rows]
    facts = columns | dict(draw=0, validation=None, test_mismatched=0.1)
    tests = ((0, 20, 0.4), (1, 20, 0.4), (0, 1000, 0.8))
    others = [facts | dict(seed=seed, n=n, test=test) for seed, n, test in tests]
    top = replace(protocols.SCL_FEW_SHOT, top=2)
    for protocol, table, score in (
        (top, rows, (0.7 + 0.9) / 2),  # by the top runs of each size
        (protocols.CMLM, rows, (0.5 + 0.9) / 2),
        (replace(top, report="best"), rows, (0.5 + 0.9) / 2),
        (
            protocols.COCO_LM,
            others,
            (0.4 + 0.8) / 2,
        ),  # without validation rows: as reported
    ):
        made = ck.tasks.Results(pd.DataFrame(table), protocol)
        monkeypatch.setattr(ck.tasks, "run", lambda *args, made=made, **options: made)
        measure = names["of_protocol"](protocol, opinions, start, Pipeline(), tmp_path)
        assert measure({}) == pytest.approx(score)


def test_transfer_trains_each_method_s_own_source(opinions, start, tmp_path):
    few = {name: rows.select(range(64)) for name, rows in opinions.splits.items()}
    source = ck.tasks.TaskData(opinions.task, few)
    first = replace(protocols.SCL_FULL, epochs={None: 1}, lr=1e-3, validation=30)
    then = replace(protocols.SCL_TRANSFER, draws=2, top=1, epochs={40: 1}, lr=1e-3)
    then = replace(then, most_test={"sst2": 50}, validation=30)
    targets = [ck.tasks.load("othershop/sst2"), opinions]
    go = dict(first=first, then=then, folder=tmp_path)
    result = example("transfer")["transfer"](source, targets, start, **go)
    table = result.table
    assert len(table) == 2 * 2 * 2 and result.complete and set(table["n"]) == {40}
    assert (table.groupby("method")["start"].nunique() == 1).all() and table[
        "start"
    ].nunique() == 2
    assert (table.groupby(["task", "draw"])["split"].nunique() == 1).all()
    held = ck.tasks.hold_out(source, first)
    how = dict(task="sst2", seed=0, **first.training(None))
    model = ck.tasks.fine_tune(start, source.train, held.validation, **how).objective
    assert set(table.query("method == 'CE'")["start"]) == {ck.tasks.encoder_hash(model)}


def test_the_submission_is_the_zip_that_the_server_takes(tmp_path, start, opinions):
    glue = example("glue_submission")
    made = {name: [0] * rows for name, (_, _, rows) in glue["FILES"].items()}
    made |= {
        "STS-B.tsv": np.linspace(-0.2, 5.4, 1379),
        "MNLI-mm.tsv": np.arange(9847) % 3,
    }
    del made["WNLI.tsv"], made["AX.tsv"]
    glue["write_submission"](tmp_path / "glue.zip", made)
    zipped = zipfile.ZipFile(tmp_path / "glue.zip")
    tables = {
        name: [line.split("\t") for line in zipped.read(name).decode().splitlines()]
        for name in glue["FILES"]
    }
    assert all(
        len(tables[name]) == rows + 1 for name, (_, _, rows) in glue["FILES"].items()
    )
    firsts = {name: [row[1] for row in table[1:4]] for name, table in tables.items()}
    assert tables["RTE.tsv"][:2] == [["index", "prediction"], ["0", "entailment"]]
    assert (
        firsts["MNLI-mm.tsv"] == ["entailment", "neutral", "contradiction"]
        and firsts["CoLA.tsv"][0] == "0"
    )
    assert firsts["STS-B.tsv"][0] == "0.000" and tables["STS-B.tsv"][-1][1] == "5.000"
    assert firsts["WNLI.tsv"][0] == "0" and firsts["AX.tsv"][0] == "entailment"
    with pytest.raises(ValueError, match="RTE.tsv has 3,000 rows"):
        glue["write_submission"](tmp_path / "glue.zip", made | {"RTE.tsv": [0]})
    few = {name: rows.select(range(40)) for name, rows in opinions.splits.items()}
    data = ck.tasks.TaskData(opinions.task, few)
    plan = replace(ck.tasks.protocols.GLUE_TEST, seeds=(0, 1), epochs={None: 1}, lr=3e-3)
    best = glue["best_of_seeds"](start, data, plan)
    assert list(glue["predict_test"](best, data)) == ["SST-2.tsv"]


def test_the_adapter_gives_mteb_the_encoder_s_vectors_and_cosines(encoder):
    adapter = example("mteb_tasks")["ForMTEB"](encoder)
    vectors = adapter.encode(
        [{"text": ["a red kite", ""]}, {"text": ["a drum"]}], batch_size=2
    )
    assert np.allclose(
        vectors, encoder.encode(["a red kite", ".", "a drum"]).numpy(), atol=1e-6
    )
    cosines = adapter.similarity(3 * vectors, vectors)
    assert cosines.shape == (3, 3) and torch.allclose(cosines.diagonal(), torch.ones(3))
    assert torch.allclose(adapter.similarity_pairwise(vectors, vectors), torch.ones(3))


def test_the_faq_shows_the_lines_of_the_plain_loop():
    faq = (EXAMPLES.parent / "docs" / "faq.md").read_text("utf-8")
    (block,) = re.findall(r"^```py\n(.*?)^```", faq, re.MULTILINE | re.DOTALL)
    calls = [line.split(" = ")[-1].removeprefix("loss") for line in block.splitlines()]
    script = (EXAMPLES / "plain_loop.py").read_text()
    assert calls == [
        'objective(batch)["loss"]',
        ".backward()",
        "optimizer.step()",
        "optimizer.zero_grad()",
    ]
    lines = (
        "loss = objective(",
        "loss.backward()",
        "optimizer.step()",
        "optimizer.zero_grad()",
    )
    assert all(line in script for line in lines)
