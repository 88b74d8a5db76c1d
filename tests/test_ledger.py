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
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "ledger.csv"), recorded, check_dtype=False, rtol=1e-3
    )
    page = (FOLDER.parent / "data" / "recorded" / "ledger.md").read_text()
    assert page == script["page"](ledger)


def test_it_holds_all_four_papers_and_every_kind_of_verdict(ledger):
    assert len(ledger) >= 24
    assert set(ledger["paper"]) == {"CMLM", "COCO-LM", "SCL", "CAPT"}
    assert set(ledger["verdict"]) == {"held", "not held", "unclear", "untestable here"}
    assert ledger[["claim", "tested", "scale", "source", "place"]].notna().all(axis=None)
    assert not ledger.duplicated(["paper", "place", "claim", "tested"]).any()


def test_a_measured_claim_names_the_command_and_the_commit_of_its_table(script, ledger):
    measured = ledger[
        ledger["low"].notna() & ~ledger["source"].str.startswith("papers.table")
    ]
    assert len(measured) >= 30 and ledger.loc[ledger["command"].notna()].index.equals(
        measured.index
    )
    page = script["page"](ledger)
    for source, rows in measured.groupby("source"):
        origin = ck.data.recorded(source).attrs
        assert set(rows["command"]) == {origin["command"]} and set(rows["commit"]) == {
            origin["commit"]
        }
        assert (
            f"| `{source}` | {len(rows)} | `{origin['command']}` | {origin['commit']} |"
            in page
        )


def test_both_contrasts_of_cmlm_stand_in_it_where_both_were_run(ledger):
    """The rows of one alone would hide that the other, with 20 labels, is clearly below TAPT."""
    rows = ledger[ledger["claim"].str.startswith("post-training with CMLM beats")]
    of = rows["tested"].str.extract(r"CMLM \((\w+)\) − (\w+)")
    of["n"] = rows["claim"].str.extract(r"with ([\d,]+)")[0].str.replace(",", "")
    assert (
        of[of["n"] != "1000"].groupby([1, "n"])[0].agg(set).tolist()
        == [{"printed", "InfoNCE"}] * 4
    )
    assert set(of.loc[rows["tested"].str.contains("MRPC"), 0]) == {"printed", "InfoNCE"}
    worst = rows.loc[rows["effect"][of[1] == "TAPT"].idxmin()]
    assert (worst["verdict"], worst["effect"]) == (
        "not held",
        pytest.approx(-1.207, abs=5e-4),
    )


def test_a_verdict_follows_its_interval(ledger):
    doubts = (
        "still guess",
        "hardly finds a replaced word",
        "in three seeds of five",
        "one pre-training run each",
    )
    aside = ledger["set_aside"].fillna(False).astype(bool)
    assert (
        aside.equals(ledger["tested"].str.contains("|".join(doubts)))
        and aside.sum() >= 15
    )
    assert (
        ledger.loc[aside, "verdict"] == "unclear"
    ).all()  # who has not learned its task, or ran once
    measured = ledger[ledger["low"].notna() & ~aside]
    assert len(measured) >= 15
    assert ((measured["verdict"] == "held") == (measured["low"] > 0)).all()
    assert ((measured["verdict"] == "not held") == (measured["high"] <= 0)).all()
    assert (measured["low"] <= measured["effect"]).all() and (
        measured["effect"] <= measured["high"]
    ).all()


@pytest.mark.parametrize(
    ("words", "effect", "verdict"),
    [
        ("13 of 16", 11, "not held"),
        ("on all 8 tasks", 5, "not held"),
        ("0.8 points on NLVR2", 0.72, "not held"),
        ("up to 7.5 %", 8.939, "not held"),
        ("MLM and the contrast both contribute", 15, "held"),
        ("CSSL is even worse", 2, "held"),
        ("improve the 5 tasks", 4, "unclear"),
        ("MNLI is significantly hurt", -0.45, "unclear"),
        ("improves them significantly", 1, "unclear"),
        ("2.5 and 7 points on average", 7, "held"),
        ("2.9 points on Amazon-2 and 0.4 on Yelp-2", 2.9, "held"),
        ("at all noise levels", 11, "not held"),
        ("5 of 6 datasets", 5, "held"),
    ],
)
def test_what_the_papers_print_against_their_own_tables(ledger, words, effect, verdict):
    row = ledger[ledger["claim"].str.contains(words, regex=False)].iloc[0]
    assert (row["effect"], row["verdict"]) == (pytest.approx(effect, abs=5e-4), verdict)


def test_who_is_in_doubt_has_not_learned_its_task_in_the_tables():
    told = ck.data.recorded("scoreboard_learned")
    part = told[told["steps"] == 5_000].pivot_table(
        index="method", columns="part", values="value"
    )
    assert (
        part.loc["ELECTRA", "copy_acc_replaced"]
        < 0.1
        < part.loc["COCO-LM", "copy_acc_replaced"]
    )
    half = told.set_index("method").loc["word frequencies", "value"] / 2
    assert part.loc["CAPT", "mlm"] > half > part.loc["CAPT (no queue)", "mlm"]
    each = told[
        (told["method"] == "CAPT") & (told["part"] == "mlm") & (told["steps"] == 5_000)
    ]
    assert (each["value"] > 5).sum() == 3 and len(each) == 5  # "in three seeds of five"


def test_differences_are_paired_by_draw():
    table = pd.DataFrame(
        [
            (m, d, s, x)
            for m, shift in (("a", 0.1), ("b", 0))
            for d in range(3)
            for s, x in ((0, d + shift), (1, d))
        ],
        columns=["method", "draw", "seed", "test"],
    )
    difference = benchmark_script("_ledger_rows")["difference"]
    assert difference(table, "a", "b").tolist() == pytest.approx(
        [5, 5, 5]
    )  # points; mean of two seeds


def test_beside_each_trial_stands_what_the_paper_prints_of_it(ledger):
    """By hand, from the papers' tables: of the same task, or the median of the table's tasks where the task is ours."""
    lead = ledger.set_index(["tested", "claim"])["printed"]

    def of(tested, claim):
        return lead[[tested in a and claim in b for a, b in lead.index]].iloc[0]  # noqa: E731

    assert of("CMLM (printed) − TAPT, real SST-2", "with 20 labels") == pytest.approx(
        0.45
    )  # .7371 − .7326
    assert of("CMLM (InfoNCE) − TAPT, real SST-2", "with 100 labels") == pytest.approx(
        0.29
    )
    assert of("CMLM (printed) − TAPT, real MRPC", "with 1,000 labels") == pytest.approx(
        0.09
    )
    assert of("FT − CSSL (wordings", "SST-2 with 20 labels") == pytest.approx(-0.05)
    assert of("FT − (CE + SCL), real MRPC", "worse than plain") == pytest.approx(10.66)
    assert of("CE + SCL − CE, real SST-2", "with 100 labels") == pytest.approx(1.7)
    assert of("CE + SCL − CE, toyshop/opinion", "with 20 labels") == pytest.approx(
        3.4
    )  # of 2.2, 10.7 and 3.4
    assert of("LXMERT, equal passes", "VQA at the end") == pytest.approx(0.49)
    assert of("COCO-LM − ELECTRA, fine-tuned", "beats ELECTRA") == pytest.approx(1.7)
    assert of("COCO-LM − MLM, both", "beats MLM") == pytest.approx(
        -0.5
    )  # SST-2: 93.2 and 93.7
    early = ledger["claim"].str.contains("early in fine-tuning")
    assert ledger.loc[early | ledger["low"].isna(), "printed"].isna().all()


def test_the_page_says_what_luck_alone_would_bring(script, ledger):
    trials = ledger[ledger["p"].notna()]
    asked = trials[trials["set_aside"] == False]  # noqa: E712
    assert (
        (asked["p"] < 0.05) == asked["verdict"].isin(["held", "not held"])
    ).all()  # one test, told twice
    p = sorted(asked["p"])
    holm = next(i for i, each in enumerate(p) if each > 0.05 / (len(p) - i))
    fair = max(i + 1 for i, each in enumerate(p) if each <= 0.05 * (i + 1) / len(p))
    said = script["luck"](ledger)
    assert f"Of {len(trials)} trials {len(trials) - len(asked)} are set aside" in said
    assert (
        f"{holm} are left if not even one" in said
        and f"and {fair} if one in twenty" in said
        and 0 < holm < fair
    )
    of_text = ledger[ledger["p"].isna()]["verdict"].value_counts()
    assert f"{of_text['held']} of the" in said and f"{of_text['not held']} of the" in said
