"""Claims asked again of the tables recorded here, at a scale that anyone can repeat; and those that cannot be."""

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
from _ledger_rows import UNCLEAR, UNTESTABLE, Row, difference, entry, printed_lead, run

import contrast_kit as ck
from contrast_kit.tasks import interval

SOLVED = "; MiniLM solves its contrast before any training"  # 0.003 and 0.00004 of 2.08 nats among 8 (not recorded)


def film_runs(few: pd.DataFrame, start: str, told_of: str = "") -> Iterator[Row]:
    """Real film reviews with few labels, from a public encoder: as many draws in each row as it says."""
    films = few[(few["task"] == "glue/sst2") & (few["from"] == start)]
    again = ck.data.recorded("few_labels_again").query("`from` == @start")
    other = ", other draws (thirty, then forty)"
    for table, told, source in ((films, told_of, "few_labels"), (again, other, "few_labels_again")):
        for n, film in table.groupby("n"):
            if "CE + SCL" not in set(film["method"]):
                continue
            draws = film[film["method"] == "CE + SCL"]["draw"].nunique()
            yield run(
                "scl",
                "5.2, table 4",
                f"CE + SCL beats CE on SST-2 with {n} labels",
                f"CE + SCL − CE, real SST-2{told}",
                f"MiniLM (RoBERTa-large in the paper), {draws} draws",
                difference(film, "CE + SCL", "FT"),
                source,
                printed_lead("scl", 4, "CE + SCL", "CE", "SST-2", n),
            )
    for n, film in films.groupby("n"):
        if "CSSL → FT" in set(film["method"]):
            told = told_of + SOLVED + ("; FT on another machine" if n == 20 else "")
            yield run(
                "cmlm",
                "4.6",
                f"CSSL is worse than plain fine-tuning on SST-2 with {n} labels",
                f"FT − CSSL (wordings by Apertium), real SST-2{told}",
                f"MiniLM (RoBERTa-base in the paper), {film[film['method'] == 'CSSL → FT']['draw'].nunique()} draws",
                difference(film, "FT", "CSSL → FT"),
                "few_labels",
                printed_lead("cmlm", 1, "FT", "CSSL", "SST-2", n),
            )
    words = ck.data.recorded("few_labels_words").query("task == 'sst2' and `from` == @start")
    for n, film in films.groupby("n"):
        after = words[words["n"] == n].set_index("method")
        guessing = after["loss"] > after["loss_of_frequencies"]  # MiniLM comes without a head for words
        forms = [f for f in ("printed", "InfoNCE") if f"CMLM ({f}) → FT" in set(film["method"])]
        for form, other in itertools.product(forms, ("TAPT → FT", "FT")):
            one, beaten = f"CMLM ({form}) → FT", other.split()[0]
            elsewhere = start == "MiniLM" and (n == 20 or beaten == "FT")
            told = told_of + (f"; {beaten} on another machine" if elsewhere else "")
            told += "; the paper's table has the printed form" if form == "InfoNCE" else ""
            yield run(
                "cmlm",
                "4.6, table 1",
                f"post-training with CMLM beats {beaten} on SST-2 with {n} labels",
                f"CMLM ({form}) − {beaten}, real SST-2{told}",
                f"MiniLM (RoBERTa-base in the paper), {film[film['method'] == one]['draw'].nunique()} draws",
                difference(film, one, other),
                "few_labels",
                printed_lead("cmlm", 1, "CMLM", beaten, "SST-2", n),
                "its masked LM still guesses: no better than word frequencies" if guessing[one] else "",
            )


def news_runs(few: pd.DataFrame) -> Iterator[Row]:
    """Pairs of sentences from the news: of SCL, two papers say opposite things."""
    news = few[(few["task"] == "glue/mrpc") & (few["from"] == "MiniLM") & (few["n"] == 1_000)]
    added = difference(news, "CE + SCL", "FT")
    yield run(
        "scl",
        "5.1, table 2",
        "CE + SCL beats CE on MRPC (all its rows)",
        "CE + SCL − CE, real MRPC, 1,000 labels",
        f"MiniLM (RoBERTa-large in the paper), {len(added)} draws",
        added,
        "few_labels",
        printed_lead("scl", 2, "CE + SCL", "CE", "MRPC"),
    )
    yield run(
        "cmlm",
        "4.6, table 1",
        "SCL is worse than plain fine-tuning on MRPC with 1,000 labels",
        "FT − (CE + SCL), real MRPC",
        f"MiniLM (RoBERTa-base in the paper), {len(added)} draws",
        -added,
        "few_labels",
        printed_lead("cmlm", 1, "FT", "SCL", "MRPC", 1_000),
    )
    if "CSSL → FT" in set(news["method"]):
        reworded = difference(news, "CSSL → FT", "FT")
        yield run(
            "cmlm",
            "4.6",
            "CSSL achieves competitive results with 1,000 labels (on MRPC it is ahead of FT)",
            f"CSSL (wordings by Apertium) − FT, real MRPC{SOLVED}",
            f"MiniLM (RoBERTa-base in the paper), {len(reworded)} draws",
            reworded,
            "few_labels",
            printed_lead("cmlm", 1, "CSSL", "FT", "MRPC", 1_000),
        )
    for form, ours in (("printed", ""), ("InfoNCE", "; the paper's table has the printed form")):
        one = f"CMLM ({form}) → FT"
        beyond = difference(news, one, "TAPT → FT")
        chose = difference(news.assign(test=news["validation"]), one, "TAPT → FT")  # the rows that chose the step
        low, high = interval(chose)
        other_rows = f"; on the 150 rows that chose the step {chose.mean():.2f} ({low:.2f} to {high:.2f})"
        yield run(
            "cmlm",
            "4.6, table 1",
            "post-training with CMLM beats TAPT with 1,000 labels (on MRPC the paper's table has them level)",
            f"CMLM ({form}) − TAPT, real MRPC{ours}{other_rows}",
            f"MiniLM (RoBERTa-base in the paper), {len(beyond)} draws",
            beyond,
            "few_labels",
            printed_lead("cmlm", 1, "CMLM", "TAPT", "MRPC", 1_000),
        )


def few_label_runs() -> Iterator[Row]:
    few, text = ck.data.recorded("few_labels"), ck.data.recorded("few_labels_text")
    shop = few[(few["task"] == "toyshop/opinion") & (few["from"] == "MLM, other shop")]
    after = "after masked LM of the other shop, 30 draws"  # from new weights all intervals hold zero: notebook 10b
    by_size = {n: (shop[shop["n"] == n], "toyshop/opinion", after, "few_labels") for n in (20, 100)}
    sizes = ck.data.recorded("few_shot_sizes").replace({"method": {"CMLM → FT": "CMLM (InfoNCE) → FT"}})
    by_size[1_000] = sizes[sizes["n"] == 1_000], "toyshop/kind", "5 draws × 3 seeds", "few_shot_sizes"
    pairs = []
    for other in ("TAPT", "FT"):  # with 1,000 labels CMLM was run with InfoNCE alone
        pairs += [("CMLM (printed)", other, (20, 100)), ("CMLM (InfoNCE)", other, (20, 100, 1_000))]
    for one, other, numbers in [*pairs, ("FT", "CSSL", (20, 100))]:  # of CSSL the paper says it of 20 and 100
        beats = f"post-training with CMLM beats {other}"
        for n in numbers:
            table, task, draws, source = by_size[n]
            names = [name if name == "FT" else f"{name} → FT" for name in (one, other)]
            less = " (it says so of 3 tasks in 8)" if one != "FT" and n == 20 else ""
            ours = "; the paper's table has the printed form" if "InfoNCE" in one else ""
            yield run(
                "cmlm",
                "4.6" if one == "FT" else "4.6, table 1",
                f"{'CSSL is worse than plain fine-tuning' if one == 'FT' else beats} with {n:,} labels{less}",
                f"{one} − {other}, {task}{ours}",
                f"tiny encoder, {draws}",
                difference(table, *names),
                source,
                printed_lead("cmlm", 1, one.split()[0], other, n=n),
            )
    of = text[text["method"] == "CMLM (printed) → FT"]
    yield run(
        "cmlm",
        "4.8",
        "more unlabeled texts help CMLM",
        "2,000 further texts minus the 20 read as much, 20 labels",
        f"tiny encoder (the paper: 100 labels, four tasks), {after}",
        difference(of, "2,000 more", "20, as much reading", key="text"),
        "few_labels_text",
    )
    for n in (20, 100):
        yield run(
            "scl",
            "5.2, table 4",
            f"CE + SCL beats CE with {n} labels",
            "CE + SCL − CE, toyshop/opinion",
            f"tiny encoder, {after}",
            difference(by_size[n][0], "CE + SCL", "FT"),
            "few_labels",
            printed_lead("scl", 4, "CE + SCL", "CE", n=n),
        )
    yield from film_runs(few, "MiniLM")
    yield from film_runs(few, "MiniLM, masked LM", ", from MiniLM after masked LM on novels")
    yield from news_runs(few)
    noise = ck.data.recorded("few_shot_noise")
    noisy = noise[noise.temperature != "none"]
    yield run(
        "scl",
        "5.3, table 5",
        "CE + SCL is more robust to noisy augmented training sets",
        "CE + SCL − CE, toyshop/opinion, mean of four temperatures",
        "tiny encoder, 100 labels, 10 draws",
        difference(noisy, "CE + SCL", "CE"),
        "few_shot_noise",
    )


def picture_runs() -> Iterator[Row]:
    """CAPT beside LXMERT on drawn shelves: the claims of CAPT's figure 3, which is of GQA alone, and of table 3.

    The paper names no budget, so LXMERT stands beside it twice: after as many steps, and as many passes.
    """
    for task in ("vqa", "gqa", "nlvr2"):
        name = f"pictures_{task}"
        try:
            table = ck.data.recorded(name)
        except (FileNotFoundError, ValueError):
            continue
        table = table[table.given == "both"].assign(test=table.accuracy)
        for share, place, words in (("1/8", "5.3, figure 3", "early in fine-tuning"), ("1/1", "table 3", "at the end")):
            rows = table[table.share == share]
            if share == "1/8" and task != "gqa":
                continue  # of these nobody has claimed it
            means = rows.groupby("start")["test"].mean()
            for other in ("LXMERT, equal steps", "LXMERT, equal passes"):
                guesses = task == "nlvr2" and means[["CAPT", other]].max() < 0.55  # of two answers
                column = {"vqa": "VQA-test-std", "gqa": "GQA-test-std", "nlvr2": "NLVR2-test-p"}[task]
                yield run(
                    "capt",
                    place,
                    f"beats LXMERT on {task.upper()} {words}",
                    f"CAPT (no queue, from new weights) − {other}, scenes/{task}, {share} of fine-tuning",
                    f"tiny encoder, {rows.seed.nunique()} seeds",
                    difference(rows, "CAPT", other, key="start", unit=("seed",)),
                    name,
                    printed_lead("capt", 3, "CAPT", "LXMERT", column) if share == "1/1" else None,
                    "both still guess" if guesses else "",
                )


def scoreboard_runs() -> Iterator[Row]:
    """The long runs of `scoreboard.py`, paired by seed."""
    board, learned = ck.data.recorded("scoreboard"), ck.data.recorded("scoreboard_learned")
    end = board[board.steps == 5_000].set_index(["method", "seed"])
    tuned = ck.data.recorded("scoreboard_tuned").pivot(index=["method", "seed"], columns="task", values="score")
    parts = learned[learned.steps == 5_000].pivot(index=["method", "seed"], columns="part", values="value")

    def at_half(seed: int) -> float:
        """COCO-LM's probe at half of the processor seconds that ELECTRA took, interpolated between two looks."""
        rows = board[(board.method == "COCO-LM") & (board.seed == seed)].sort_values("seconds")
        return np.interp(end.loc[("ELECTRA", seed), "seconds"] / 2, rows.seconds, rows.cola)

    electra = end.loc["ELECTRA", "cola"]
    early = pd.Series({seed: at_half(seed) for seed in electra.index}) - electra
    score = tuned[["cola", "sst2"]].mean(axis=1)  # as GLUE's average: whatever each task is measured by
    doubt = {  # who has not learned its own task decides nothing
        "ELECTRA": "ELECTRA hardly finds a replaced word here",
        "CAPT": "CAPT with its queue names words by their frequency in three seeds of five",
    }
    copies = parts["copy_acc_original"]
    claims = [  # paper, place, claim, tested, the gap of each seed, and the method in doubt
        (
            "coco_lm",
            "5.1, table 1",
            "beats MLM after fine-tuning",
            "COCO-LM − MLM, fine-tuned: mean of toyshop/cola and toyshop/sst2",
            score["COCO-LM"] - score["MLM"],
            "",
        ),
        (
            "coco_lm",
            "5.1, table 1",
            "beats ELECTRA after fine-tuning",
            "COCO-LM − ELECTRA, fine-tuned: mean of toyshop/cola and toyshop/sst2",
            score["COCO-LM"] - score["ELECTRA"],
            "ELECTRA",
        ),
        (
            "coco_lm",
            "1, figure 3",
            "the MNLI accuracy of ELECTRA in half of the hours",
            "probe of toyshop/cola: COCO-LM after half of ELECTRA's processor seconds − ELECTRA at its end",
            early,
            "ELECTRA",
        ),
        (
            "coco_lm",
            "5.3, figure 8",
            "All-Token MLM copies worse than CLM",
            "copy accuracy at original tokens, COCO-LM − All-Token MLM",
            copies["COCO-LM"] - copies["All-Token MLM"],
            "",
        ),
        (
            "coco_lm",
            "5.3",
            "All-Token MLM pre-trains worse than replaced token detection",
            "ELECTRA − All-Token MLM, fine-tuned: mean of toyshop/cola and toyshop/sst2",
            score["ELECTRA"] - score["All-Token MLM"],
            "ELECTRA",
        ),
        (
            "capt",
            "abstract",
            "representations become invariant to the noise",
            "distance that 15 % masks move a text, in distances between texts: MLM − CAPT (no queue)",
            end.loc["MLM", "noise"] - end.loc["CAPT (no queue)", "noise"],
            "",
        ),
        (
            "capt",
            "abstract",
            "… and transfer better for it",
            "CAPT (no queue) − MLM, fine-tuned: mean of toyshop/cola and toyshop/sst2",
            score["CAPT (no queue)"] - score["MLM"],
            "",
        ),
        (
            "capt",
            "5.1, figure 3",
            "a longer queue raises the score",
            "sts, CAPT − CAPT (no queue), both with the adaptive temperature",
            end.loc["CAPT", "sts"] - end.loc["CAPT (no queue)", "sts"],
            "CAPT",
        ),
    ]
    coco = ck.papers.table("coco_lm", 1).query("setting == 'base'").set_index("method")["AVG"]
    leads = {
        f"beats {name} after fine-tuning": coco["COCO-LM"] - coco[f"{row} (Ours)"]
        for name, row in (("MLM", "RoBERTa"), ("ELECTRA", "ELECTRA"))
    }
    for paper, place, claim, tested, gap, method in claims:
        values = 100 * gap.dropna().to_numpy()
        scale = f"tiny encoder, 5,000 steps, {len(values)} seeds"
        row = run(paper, place, claim, tested, scale, values, "scoreboard", leads.get(claim), doubt.get(method, ""))
        yield row | ({"unit": "hundredths"} if tested.startswith("distance") else {})


def books_runs() -> Iterator[Row]:
    """SST-2 after post-training on books: one pre-training run in each row, so no interval decides.

    On MRPC, STS-B and RTE no encoder learned its task (notebook 09b), so nothing follows from them.
    """
    exam = ck.data.recorded("books_exam")
    films = exam[(exam.part == "fine-tuned") & exam.measurement.str.startswith("sst2")]
    few, many = (films[films.sizes.str.startswith(f"{rows} rows")] for rows in (2000, 20000))
    tapt, mlm, electra = (
        (
            "cmlm",
            "4.6, table 1",
            "post-training with CMLM beats masked LM (the paper says it of the task's own text, with few labels)",
        ),
        ("coco_lm", "5.1, table 1", "beats MLM after fine-tuning"),
        ("coco_lm", "5.1, table 1", "beats ELECTRA after fine-tuning"),
    )
    coco = ck.papers.table("coco_lm", 1).query("setting == 'base'").set_index("method")["SST-2"]
    against = {mlm[2]: "RoBERTa (Ours)", electra[2]: "ELECTRA (Ours)"}
    for (paper, place, claim), told, one, other, asked in (
        (tapt, "CMLM (printed) − MLM", "post-cmlm", "post-mlm", few),
        (tapt, "CMLM (printed) − MLM, another run of both", "post-cmlm-seed-1", "post-mlm-seed-1", few),
        (tapt, "CMLM (InfoNCE; the table has the printed form) − MLM", "post-cmlm-info-nce", "post-mlm", few),
        (
            tapt,
            "CMLM (InfoNCE; the table has the printed form) − MLM, another run of both",
            "post-cmlm-info-nce-seed-1",
            "post-mlm-seed-1",
            few,
        ),
        (mlm, "COCO-LM − MLM", "kit/books-coco-lm", "post-mlm", few),
        (mlm, "COCO-LM − MLM, another run of both", "post-coco-lm-seed-1", "post-mlm-seed-1", few),
        (mlm, "COCO-LM − MLM, another run, 20,000 labels", "kit/books-coco-lm", "post-mlm-seed-1", many),
        (electra, "COCO-LM − ELECTRA", "kit/books-coco-lm", "post-electra", few),
        (electra, "COCO-LM − ELECTRA, another run of both", "post-coco-lm-seed-1", "post-electra-seed-1", few),
    ):
        score = asked.set_index(["encoder", "seed"])["value"]
        gap = (score.loc[one] - score.loc[other]).dropna()  # by seed
        printed = coco["COCO-LM"] - coco[beaten] if (beaten := against.get(claim)) else None
        yield run(
            paper,
            place,
            claim,
            f"{told}, both after kit/books-mlm, real sst2",
            f"4 × 256 encoder, {asked.sizes.iloc[0]}, {len(gap)} seeds of fine-tuning",
            gap.to_numpy(),
            "books_exam",
            printed,
            "one pre-training run each",
        )


def not_decided() -> Iterator[Row]:
    yield entry(
        "coco_lm",
        "5.2, figures 1, 5",
        "the contrast makes a more uniform and better aligned space",
        "needs COCO-LM without its contrast, of which no long run was recorded",
        "–",
        verdict=UNCLEAR,
        source="–",
    )
    for paper, place, claim, why in (
        ("scl", "5.2, table 4", "10.7 points on QNLI with 20 labels (RoBERTa-large)", "needs RoBERTa-large and QNLI"),
        ("scl", "5.4, table 7", "2.9 points on Amazon-2 after SST-2", "needs RoBERTa-large and the Amazon reviews"),
        ("coco_lm", "table 1", "85.2 F1 on SQuAD 2.0 (base)", "needs 16 GB of text and days of 64 GPUs"),
        ("capt", "table 3", "73.03 on VQA v2 test-std", "needs the VQA server, COCO pictures and a Faster R-CNN"),
    ):  # fmt: skip
        yield entry(paper, place, claim, why, "–", verdict=UNTESTABLE, source="–")
