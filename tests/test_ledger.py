"""The ledger: what is recorded is what the tables say now, and every verdict follows its own rule."""

from pathlib import Path

import pandas as pd
import pytest
from conftest import benchmark_script

import contrast_kit as ck

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout")


@pytest.fixture(scope="module")
def script():
    return benchmark_script("ledger")


@pytest.fixture(scope="module")
def ledger(script):
    return script["ledger"]()


def test_the_recorded_ledger_is_made_of_the_recorded_tables(script, ledger, tmp_path):
    ledger.to_csv(tmp_path / "ledger.csv", index=False)
    recorded = ck.data.recorded("ledger")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "ledger.csv"), recorded, check_dtype=False, rtol=1e-3)
    page = (FOLDER.parent / "data" / "recorded" / "ledger.md").read_text()
    assert page == script["page"](ledger)


def test_it_holds_all_four_papers_and_every_kind_of_verdict(ledger):
    assert len(ledger) >= 24
    assert set(ledger["paper"]) == {"CMLM", "COCO-LM", "SCL", "CAPT"}
    assert set(ledger["verdict"]) == {"held", "not held", "unclear", "untestable here"}
    assert ledger[["claim", "tested", "scale", "source", "place"]].notna().all(axis=None)
    assert not ledger.duplicated(["paper", "place", "claim", "tested"]).any()


def test_a_measured_claim_names_the_command_and_the_commit_of_its_table(script, ledger):
    measured = ledger[ledger["low"].notna() & ~ledger["source"].str.startswith("papers.table")]
    assert len(measured) >= 30 and ledger.loc[ledger["command"].notna()].index.equals(measured.index)
    page = script["page"](ledger)
    for source, rows in measured.groupby("source"):
        origin = ck.data.recorded(source).attrs
        assert set(rows["command"]) == {origin["command"]} and set(rows["commit"]) == {origin["commit"]}
        assert f"| `{source}` | {len(rows)} | `{origin['command']}` | {origin['commit']} |" in page


def test_both_contrasts_of_cmlm_stand_in_it_where_both_were_run(ledger):
    """The rows of one alone would hide that the other, with 20 labels, is clearly below TAPT."""
    rows = ledger[ledger["claim"].str.startswith("post-training with CMLM beats")]
    of = rows["tested"].str.extract(r"CMLM \((\w+)\) − (\w+)")
    of["n"] = rows["claim"].str.extract(r"with ([\d,]+)")[0].str.replace(",", "")
    assert of[of["n"] != "1000"].groupby([1, "n"])[0].agg(set).tolist() == [{"printed", "InfoNCE"}] * 4
    assert set(of.loc[rows["tested"].str.contains("MRPC"), 0]) == {"printed", "InfoNCE"}
    worst = rows.loc[rows["effect"][of[1] == "TAPT"].idxmin()]
    assert (worst["verdict"], worst["effect"]) == ("not held", pytest.approx(-1.207, abs=5e-4))


def test_a_verdict_follows_its_interval(ledger):
    doubts = ("still guesses", "hardly finds a replaced word", "in three seeds of five", "one pre-training run each")
    guessing = ledger["tested"].str.contains("|".join(doubts))
    assert guessing.any()  # who has not learned its task, or ran once, decides nothing
    assert (ledger.loc[guessing, "verdict"] == "unclear").all()
    measured = ledger[ledger["low"].notna() & ~guessing]
    assert len(measured) >= 15
    assert ((measured["verdict"] == "held") == (measured["low"] > 0)).all()
    assert ((measured["verdict"] == "not held") == (measured["high"] <= 0)).all()
    assert (measured["low"] <= measured["effect"]).all() and (measured["effect"] <= measured["high"]).all()


@pytest.mark.parametrize(
    ("words", "effect", "verdict"),
    [
        ("13 of 16", 11, "not held"),
        ("on all 8 tasks", 5, "not held"),
        ("0.8 points on NLVR2", 0.72, "not held"),
        ("up to 7.5 %", 8.939, "not held"),
        ("at all noise levels", 11, "not held"),
        ("5 of 6 datasets", 5, "held"),
    ],
)
def test_what_the_papers_print_against_their_own_tables(ledger, words, effect, verdict):
    row = ledger[ledger["claim"].str.contains(words, regex=False)].iloc[0]
    assert (row["effect"], row["verdict"]) == (pytest.approx(effect, abs=5e-4), verdict)


def test_who_is_in_doubt_has_not_learned_its_task_in_the_tables():
    told = ck.data.recorded("scoreboard_learned")
    part = told[told["steps"] == 5_000].pivot_table(index="method", columns="part", values="value")
    assert part.loc["ELECTRA", "copy_acc_replaced"] < 0.1 < part.loc["COCO-LM", "copy_acc_replaced"]
    half = told.set_index("method").loc["word frequencies", "value"] / 2
    assert part.loc["CAPT", "mlm"] > half > part.loc["CAPT (no queue)", "mlm"]
    each = told[(told["method"] == "CAPT") & (told["part"] == "mlm") & (told["steps"] == 5_000)]
    assert (each["value"] > 5).sum() == 3 and len(each) == 5  # "in three seeds of five"


def test_differences_are_paired_by_draw(script):
    table = pd.DataFrame(
        [(m, d, s, x) for m, shift in (("a", 0.1), ("b", 0)) for d in range(3) for s, x in ((0, d + shift), (1, d))],
        columns=["method", "draw", "seed", "test"],
    )
    assert script["difference"](table, "a", "b").tolist() == pytest.approx([5, 5, 5])  # points; mean of two seeds
