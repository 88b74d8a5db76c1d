"""The recorded tables of `words_and_pictures`, beside thresholds that were set before the runs.

    python benchmarks/pictures_verdicts.py --out data/recorded     # a second; reads the tables, trains nothing

`pictures_numbers` has a row for each method and seed: what was measured before fine-tuning, and the end of each
fine-tuning beside its controls. `pictures_verdicts` has one for each question and method: what minus what, threshold,
the mean over seeds with its 95 % interval, and `verdict`: "reached" where the whole interval is on the right side, "by
the mean" where the mean is, else "not reached". Where about 0 is expected the threshold is an interval, ±0.05. To be
above chance reaches nothing: that verdict is "above chance" where the whole interval is, else "not clear of chance".
"""

import argparse
from pathlib import Path

import pandas as pd
from _origin import write_origin

from contrast_kit.tasks import interval

TASKS = ("vqa", "gqa", "nlvr2")
NEAR = 0.05
CHANCE = ("N4", "N5")  # the questions whose threshold is what guessing scores
QUESTIONS = [  # question, what, minus what, at least (None: about 0 is expected)
    ("N1 words: right − another picture", "word_right", "word_wrong", 0.20),
    ("N1 words: another − no picture", "word_wrong", "word_none", None),
    *(
        (f"N2 {task}: {one} − {other}", f"{task} {one}", f"{task} {other}", least)
        for task in ("vqa", "gqa")
        for one, other, least in (
            ("accuracy", "question alone", 0.25),
            ("shuffled", "question alone", None),
            ("question alone", "question prior", None),
            ("picture alone", "picture prior", None),
        )
    ),
    ("N3 objects: text − no text", "object_with_text", "object_without_text", 0.10),
    ("N4 matching: another text", "auc_other", None, 0.5),
    ("N4 matching: one word changed", "auc_one_word", None, 0.5),
    ("N5 nlvr2: accuracy", "nlvr2 accuracy", None, 0.5),
    ("N5 nlvr2: consistency", "nlvr2 consistency", None, 1 / 16),
]


def numbers(folder: Path) -> pd.DataFrame:
    """A row for each method and seed: the columns of `pictures_pretraining`, and the end of each fine-tuning."""
    read = {name: pd.read_csv(folder / f"pictures_{name}.csv") for name in ("pretraining", *TASKS)}
    priors = pd.read_csv(folder / "vision_priors.csv").query("type == 'all'").set_index(["data", "sees"])["score"]
    found = read["pretraining"].set_index(["method", "seed"])
    for task in TASKS:
        ends = read[task].query("share == '1/1'").set_index(["given", "start", "seed"]).sort_index()
        for column in ends.columns.intersection(["accuracy", "shuffled", "consistency"]):
            found[f"{task} {column}"] = ends.loc["both"][column]
        for one in ("question", "picture") * (task != "nlvr2"):
            by_seed = ends.loc[(f"{one} alone", "random"), "accuracy"]
            found[f"{task} {one} alone"] = found.index.get_level_values("seed").map(by_seed)
            found[f"{task} {one} prior"] = priors[f"scenes/{task}", f"{one} only"]
    return found


def verdicts(found: pd.DataFrame) -> pd.DataFrame:
    """One row for each question and method that has the numbers."""
    rows = []
    for question, one, other, least in QUESTIONS:
        for method in dict.fromkeys(found.index.get_level_values("method")):
            of = found.loc[method]
            values = (of[one] - (0 if other is None else of[other])).dropna()
            if method == "random" or values.empty:
                continue
            mean, (low, high) = values.mean(), interval(values.to_numpy())
            threshold = f"within ±{NEAR}" if least is None else f"≥ {least:.2f}"
            says = verdict(mean, low, high, least)
            if question.startswith(CHANCE):
                threshold = f"chance: {least:.2f}"
                says = "above chance" if says == "reached" else "not clear of chance"
            row = {"question": question, "method": method, "seeds": len(values), "threshold": threshold}
            rows.append(row | {"mean": mean, "low": low, "high": high, "verdict": says})
    return pd.DataFrame(rows)


def verdict(mean: float, low: float | None, high: float | None, least: float | None) -> str:
    """How much of the interval lies on the right side of the threshold."""
    low, high = (mean if bound is None else bound for bound in (low, high))
    if least is None:
        passed = [abs(mean) <= NEAR, max(-low, high) <= NEAR]
    else:
        passed = [mean >= least, low >= least]
    return ("not reached", "by the mean", "reached")[sum(passed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    folder = parser.parse_args().out
    found = numbers(folder)
    for name, table in (("pictures_numbers", found.reset_index()), ("pictures_verdicts", verdicts(found).round(4))):
        path = folder / f"{name}.csv"
        table.to_csv(path, index=False, lineterminator="\n")
        write_origin(path, "pictures_verdicts", 0, {})


if __name__ == "__main__":
    main()
