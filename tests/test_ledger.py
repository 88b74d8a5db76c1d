"""The ledger: what is recorded is what the tables say now, and every verdict follows its own rule."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import benchmark_script

import contrast_kit as ck
from contrast_kit.tasks import interval

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout")


@pytest.fixture(scope="module")
def script():
    return benchmark_script("ledger")


@pytest.fixture(scope="module")
def ledger(script):
    return script["ledger"]()


@pytest.fixture(scope="module")
def tried(ledger):
    return ledger[ledger["kind"] == "trial"]


def row_of(ledger, tested, claim=""):
    """The one row whose test and claim hold these words."""
    of = ledger["tested"].str.contains(tested, regex=False)
    (row,) = ledger[of & ledger["claim"].str.contains(claim, regex=False)].to_dict(
        "records"
    )
    return row


def test_the_recorded_ledger_is_made_of_the_recorded_tables(script, ledger, tmp_path):
    ledger.to_csv(tmp_path / "ledger.csv", index=False)
    recorded = ck.data.recorded("ledger")
    again = pd.read_csv(tmp_path / "ledger.csv")
    pd.testing.assert_frame_equal(again, recorded, check_dtype=False, rtol=1e-3)
    page = (FOLDER.parent / "data" / "recorded" / "ledger.md").read_text(encoding="utf-8")
    assert page == script["page"](ledger)


def test_it_holds_all_four_papers_and_only_the_verdicts_that_it_explains(script, ledger):
    assert set(ledger["paper"]) == {"CMLM", "COCO-LM", "SCL", "CAPT"}
    sums = ledger["kind"] == "arithmetic"
    assert set(ledger[~sums]["verdict"]) == set(script["TRIED"])
    assert set(ledger[sums]["verdict"]) == {*script["SUMS"], "inconclusive"}
    assert ledger[["claim", "tested", "scale", "source", "place"]].notna().all(axis=None)
    assert not ledger.duplicated(["paper", "claim", "tested", "scale"]).any()


def test_a_trial_names_the_command_and_the_commit_of_its_tables(script, ledger, tried):
    assert ledger.index[ledger["command"].notna()].equals(tried.index)
    page = script["page"](ledger)
    for row in tried.to_dict("records"):
        for name in row["source"].split(" + "):
            origin = ck.data.recorded(name).attrs
            assert (
                origin["command"] in row["command"] and origin["commit"] in row["commit"]
            )
            assert f"| `{name}` | " in page


def test_every_verdict_on_a_trial_follows_the_rule(tried):
    """The rule once more, in other words: from the interval, the printed lead, p, and the number of trials."""
    assert (tried["low"] <= tried["effect"]).all() and (
        tried["effect"] <= tried["high"]
    ).all()
    asked = tried[tried["void"].isna()].sort_values("p")
    assert (tried.loc[tried["void"].notna(), "verdict"] == "void").all() and len(
        asked
    ) >= 60
    fair = np.flatnonzero(asked["p"] <= 0.05 * np.arange(1, len(asked) + 1) / len(asked))
    last = asked["p"].iloc[
        fair.max()
    ]  # Benjamini and Hochberg: the largest p under the line, and all below
    for row in asked.to_dict("records"):
        if row["low"] > 0:
            verdict = "held" if row["p"] <= min(0.01, last) else "weakly held"
        elif row["high"] <= 0:
            verdict = "not held"
        else:
            verdict = (
                "smaller than printed" if row["high"] < row["printed"] else "inconclusive"
            )
        assert row["verdict"] == verdict, row["tested"]


def test_opposite_tasks_are_two_rows_and_more_draws_are_pooled(ledger):
    """The mean of a gain and a loss had read "unclear", and thirty draws "held" beside seventy "unclear"."""
    grammar = row_of(ledger, "CAPT (no queue) − MLM, grammar")
    opinions = row_of(ledger, "CAPT (no queue) − MLM, opinions")
    assert grammar["effect"] == pytest.approx(12.43, abs=0.01)
    assert grammar["verdict"] == "held"
    assert (opinions["effect"], opinions["verdict"]) == (
        pytest.approx(-4.96, abs=0.01),
        "not held",
    )
    sst2 = ledger[ledger["scale"] == "MiniLM, 100 draws"].set_index("tested")
    assert sst2["effect"].tolist() == pytest.approx([1.52, 0.51], abs=0.01)
    assert sst2["verdict"].tolist() == ["held", "smaller than printed"]


def test_a_trial_too_small_to_decide_says_how_many_draws_would(script, ledger):
    row = row_of(ledger, "CMLM (printed) − TAPT, MRPC")
    half = (row["high"] - row["low"]) / 2
    assert row["verdict"] == "inconclusive" and row["needed"] == pytest.approx(
        30 * (half / row["printed"]) ** 2, rel=0.2
    )
    assert f"about {row['needed']:,.0f} draws would do" in script["page"](ledger)
    known = ledger[ledger["needed"].notna()]
    assert (known["high"] - known["low"] > 4 * known["printed"] - 0.01).all()


def test_both_contrasts_of_cmlm_stand_in_it_where_both_were_run(ledger):
    """The rows of one alone would hide that the other, with 20 labels, is clearly below TAPT."""
    both = r"CMLM \(\w+\) − (TAPT|FT)(?!.* on (2|66),)"  # one of them reads 2,000, 66,500
    rows = ledger[ledger["tested"].str.match(both)]
    forms = rows["tested"].str.extract(r"CMLM \((\w+)\) − (.*)")
    assert all(len(each) == 2 for _, each in forms.groupby([1, rows["scale"]])[0])
    worst = rows.loc[rows["effect"].idxmin()]
    assert (worst["verdict"], worst["effect"]) == (
        "not held",
        pytest.approx(-1.253, abs=5e-4),
    )


@pytest.mark.parametrize(
    ("words", "effect", "verdict"),
    [
        ("13 of 16", 11, "misprint"),
        ("on all 8 tasks", 5, "misprint"),
        ("0.8 points on NLVR2", 0.72, "misprint"),
        ("up to 7.5 %", 8.939, "misprint"),
        ("MLM and the contrast both contribute", 15, "agrees"),
        ("CSSL is even worse", 2, "agrees"),
        ("MNLI is significantly hurt", -0.45, "inconclusive"),
        ("improves them significantly", 1, "inconclusive"),
        ("2.5 and 7 points on average", 7, "agrees"),
        ("2.9 points on Amazon-2 and 0.4 on Yelp-2", 2.9, "agrees"),
        ("at all noise levels", 11, "misprint"),
        ("5 of 6 datasets", 5, "agrees"),
    ],
)
def test_what_the_papers_print_beside_their_own_tables(ledger, words, effect, verdict):
    row = ledger[ledger["claim"].str.contains(words, regex=False)].iloc[0]
    assert (row["effect"], row["verdict"]) == (pytest.approx(effect, abs=5e-4), verdict)


def test_who_is_void_has_not_learned_its_task_in_the_tables():
    told = ck.data.recorded("scoreboard_learned")
    part = told[told["steps"] == 5_000].pivot_table(
        index="method", columns="part", values="value"
    )
    found = part["copy_acc_replaced"]
    assert found["ELECTRA"] < 0.1 < found["COCO-LM"]
    half = told.set_index("method").loc["word frequencies", "value"] / 2
    assert part.loc["CAPT", "mlm"] > half > part.loc["CAPT (no queue)", "mlm"]
    each = told[
        (told["method"] == "CAPT") & (told["part"] == "mlm") & (told["steps"] == 5_000)
    ]
    assert (each["value"] > 5).sum() == 3 and len(each) == 5  # "in three seeds of five"
    words = ck.data.recorded("few_labels_words").query(
        "task == 'sst2' and method != 'as it was'"
    )
    guesses = (
        (words["loss"] > words["loss_of_frequencies"])
        .groupby(words["from"])
        .agg(["all", "any"])
    )
    assert guesses.T.to_dict("list") == {
        "MiniLM": [True, True],
        "MiniLM, masked LM": [False, False],
        "kit/books-mlm": [False, False],
    }
    pictures = ck.data.recorded("pictures_nlvr2").query(
        "given == 'both' and share == '1/1'"
    )
    right = pictures.groupby("start")["accuracy"].mean()
    assert (
        right[["CAPT", "LXMERT, equal steps"]].max()
        < 0.55
        < right["LXMERT, equal passes"]
    )


def test_no_claim_is_typed_twice_and_every_table_is_recorded():
    claims = tomllib.loads((FOLDER / "ledger.toml").read_text(encoding="utf-8"))["claim"]
    assert len({(claim["paper"], claim["says"]) for claim in claims}) == len(claims)
    assert all(("untried" in claim) != ("test" in claim) for claim in claims)


def test_differences_are_paired_by_draw(monkeypatch):
    rows = [
        (method, draw, seed, score)
        for method, shift in (("a", 0.1), ("b", 0))
        for draw in range(3)
        for seed, score in ((0, draw + shift), (1, draw))
    ]
    table = pd.DataFrame(rows, columns=["method", "draw", "seed", "test"])
    monkeypatch.setattr(ck.data, "recorded", lambda name: table)
    differences = benchmark_script("_ledger_trials")["differences"]
    assert differences({"table": ["t"]}, "a", "b", None) == pytest.approx(
        [5, 5, 5]
    )  # points; mean of two seeds
    assert (
        interval(differences({"table": ["t"], "pair": ["draw", "seed"]}, "a", "b", None))[
            0
        ]
        < 5
    )


def test_beside_each_trial_stands_what_the_paper_prints_of_it(ledger):
    """By hand, from the papers' tables: of the same task, or the median of the table's tasks where the task is ours."""

    def of(tested, scale, claim=""):
        return row_of(ledger[ledger["scale"].str.startswith(scale)], tested, claim)[
            "printed"
        ]

    assert of("CMLM (printed) − TAPT, SST-2, 20", "MiniLM, 30") == pytest.approx(
        0.45
    )  # .7371 − .7326
    assert of("CMLM (InfoNCE) − TAPT, SST-2, 100", "MiniLM, 30") == pytest.approx(0.29)
    assert of("CMLM (printed) − TAPT, MRPC", "MiniLM") == pytest.approx(0.09)
    assert of("FT − CSSL, SST-2; wordings by Apertium, 20", "MiniLM") == pytest.approx(
        -0.05
    )
    assert of("FT − CE + SCL, MRPC", "MiniLM") == pytest.approx(10.66)
    assert of("CE + SCL − FT, SST-2, 100", "MiniLM, 100") == pytest.approx(1.7)
    assert of("CE + SCL − FT, opinions of the toyshop, 20", "tiny") == pytest.approx(
        3.4
    )  # of 2.2, 10.7 and 3.4
    assert of("LXMERT, equal passes, questions", "tiny", "VQA") == pytest.approx(0.49)
    assert of("COCO-LM − ELECTRA, grammar", "tiny") == pytest.approx(1.7)
    assert of("kit/books-coco-lm − post-mlm, SST-2, 2,000", "kit") == pytest.approx(
        -0.5
    )  # 93.2 and 93.7
    early = ledger["claim"].str.contains("early in fine-tuning")
    assert ledger.loc[early, "printed"].isna().all()
