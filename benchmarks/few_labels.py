"""Few labels, with power: what post-training and a supervised contrast add to fine-tuning, and from which start.

    python benchmarks/few_labels.py --out data/recorded --work runs/few_labels     # ten hours of one core (estimated)
    python benchmarks/few_labels.py --only sst2 --starts MiniLM --methods "TAPT → FT"  # a part; the rest stays
    python benchmarks/few_labels.py --only mrpc --starts MiniLM --sizes 1000           # minutes a run: by itself

Thirty draws of the training rows, the same for every method, so that differences are taken in pairs. Every run is kept
in `--work`, and the same command continues where it was stopped. Six tables:

| table | what |
|---|---|
| `few_labels_rates` | the learning rate of each method, task, start and text: one of five, on draws of their own |
| `few_labels` | one row for each task, start, method, size and draw |
| `few_labels_text` | toyshop, 20 labels: post-training on 2,000 further texts, or reading the 20 as much as that |
| `few_labels_words` | whether post-training has learned its own task: masked LM on held-out rows, before and after |
| `few_labels_again` | with `--first-draw`: the same on draws that nothing was chosen by, to see what returns |
| `few_labels_starts` | whether the start has learned its own task: masked LM on unseen sentences of what it has read |

Tasks: the toyshop's opinions; real SST-2 and MRPC where CONTRAST_KIT_REAL_DATA names their folder. Starts: new weights
(`random`); masked LM on the *other* toyshop, or `kit/books-mlm`; and a public checkpoint, MiniLM, where that folder has
it, as it is and after masked LM on novels. CSSL on real text takes its two wordings from the program Apertium (apt
install apertium apertium-eng-spa apertium-eng-cat), and is left out where that is not installed. A method is tuned at
the rate of its last new stage: post-training takes the fine-tuning rate that plain fine-tuning chose. A rate that is in
the table is kept, for fewer labels too; without its row, or in another `--out`, it is chosen anew with the most. In
`few_labels` all post-training reads the labelled texts only, equally often. Counting words (TF-IDF and a logistic
regression) and a probe on frozen vectors are the controls; the probe's strength is cross-validated, so it has no rate.
"""

import argparse
import os
import runpy
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import _precision
import pandas as pd
import torch
from _origin import write_origin
from books import held_out_loss
from few_shot import PIPELINES, sentences, start

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.data.rows import column, column_names
from contrast_kit.objectives import CMLM
from contrast_kit.tasks import Pipeline, Protocol, TaskData
from contrast_kit.tasks.runs import plan_runs, post_train, rows_of

METHODS = {
    "FT": PIPELINES["FT"],
    "frozen probe": Pipeline(frozen=True),
    "TAPT → FT": PIPELINES["TAPT → FT"],
    "CMLM (printed) → FT": Pipeline(post=CMLM),
    "CMLM (InfoNCE) → FT": PIPELINES["CMLM → FT"],
    "CSSL → FT": PIPELINES["CSSL → FT"],
    "CE + SCL": PIPELINES["SCL"],
    (AGAIN := "FT, SCL's rate"): PIPELINES["FT"],  # how much of a difference is the luck of choosing a rate?
}
RATES = (3e-5, 1e-4, 3e-4, 1e-3, 2e-3)
COLUMNS = ["task", "from", "method", "n", "draw", "seed", "metric", "validation", "test", "split", "seconds"]
SENTENCES = 20_000
"""Sentences of each toyshop that a start reads."""
MORE = 2_000
"""Further texts of the same task, without their labels."""
READ = 2 * (20 + MORE)
"""Texts that either row of `few_labels_text` reads: all of them twice, or the 20 labelled ones 202 times."""
NOVELS = dict(steps=1_000, batch_size=64, lr=3e-4, warmup=0.1, warm_heads=0.1, group_by_length=False, max_length=128)
"""How MiniLM reads novels. It comes without a head for words: for a tenth of the steps only the new one is trained."""


def protocol(args: argparse.Namespace, sizes: tuple[int, ...]) -> Protocol:
    """CMLM's protocol, with many draws of one seed in place of a few draws of three."""
    return Protocol(
        "few labels",
        sizes=sizes,
        draws=args.draws,
        first_draw=args.first_draw,
        seeds=(0,),
        validation=150,
        most_test=dict.fromkeys(("opinion", "sst2", "mrpc"), args.test),
        epochs={20: 20, 100: 8, 1000: 3},
        post_epochs={20: 20, 100: 6, 1000: 2},
        group_by_length=True,  # as the recorded rows had it: what any rows change stands in HISTORY.md
        **({"batch_size": 8, "evaluate_every": 100} if sizes == (1_000,) else {"evaluate_every": 10}),
    )


def worlds(args: argparse.Namespace) -> dict[str, tuple[Callable[[], TaskData], dict[str, Callable], tuple[int, ...]]]:
    """By task: its data, the starts by name, and the numbers of labels. What is not here is left out, with a note."""
    words = toyshop.corpus(SENTENCES) + (other := toyshop.corpus(SENTENCES, shop="othershop"))
    shop = {"random": 0, "MLM, other shop": args.start_steps}
    made = {name: partial(start, other, words, steps, args.work / f"start-{steps}") for name, steps in shop.items()}
    found = {"opinion": (lambda: sentences()["opinion"], made, (20, 100))}
    if not (real := os.environ.get("CONTRAST_KIT_REAL_DATA")):
        print("CONTRAST_KIT_REAL_DATA is not set: real SST-2, MRPC and MiniLM are left out.")
        return found
    books = partial(ck.Encoder.from_pretrained, "kit/books-mlm")
    checkpoints = {"random": lambda: unlearned(books()), "kit/books-mlm": books}
    if (mini := Path(real, "models", "all-MiniLM-L6-v2")).is_dir():
        checkpoints["MiniLM"] = partial(ck.Encoder.from_pretrained, mini)
        checkpoints["MiniLM, masked LM"] = partial(reads, mini, Path(real, "corpus", "english_novels"), args.work)
    for name, sizes in {"sst2": (20, 100), "mrpc": (1_000,) if 1_000 in args.sizes else (100,)}.items():
        found[name] = (partial(tasks.load, f"glue/{name}", folder=Path(real, "glue_data")), checkpoints, sizes)
    return found


def unlearned(encoder: ck.Encoder) -> ck.Encoder:
    """An encoder of the same shape and words with new weights."""
    config = encoder.model.config
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    shape = {name: getattr(config, name) for name in names}
    return ck.Encoder.build("tiny", encoder.tokenizer, seed=0, pooling=encoder.pooling, **shape)


def reads(mini: Path, novels: Path, folder: Path) -> ck.Encoder:
    """MiniLM after masked LM on novels, so that its head for words has learned to read. Made once, kept in a folder."""
    folder = folder / "start-MiniLM"
    if not (folder / "config.json").exists():
        encoder = ck.Encoder.from_pretrained(mini)
        texts = ck.data.Texts(of_novels(novels)[0], encoder.tokenizer, max_length=NOVELS["max_length"])
        objective = ck.faster(ck.objectives.MLM(encoder), packing=True)
        ck.fit(objective, texts, folder=folder / "run", resume=True, save_every=100, **NOVELS)
        encoder.save_pretrained(folder)
    return ck.Encoder.from_pretrained(folder)


def of_novels(novels: Path) -> tuple[list[str], list[str]]:
    """Sentences of novels: those to read, and one in 45 that no encoder reads."""
    rows = list(ck.data.load(novels)["train"]["text"])
    return [row for i, row in enumerate(rows) if i % 45], rows[::45]


def learned(starts: dict[str, Callable[[], ck.Encoder]], task: str) -> pd.DataFrame:
    """Nats and share of right words of each start that masked LM made, on sentences that none of them has read."""
    if task == "opinion":
        lines = toyshop.corpus(SENTENCES + 1_000, shop="othershop")
        other, unseen = lines[:SENTENCES], lines[SENTENCES:]
    else:
        starts = {name: make for name, make in starts.items() if "MiniLM" in name}
        other, unseen = of_novels(Path(os.environ["CONTRAST_KIT_REAL_DATA"], "corpus", "english_novels"))
    rows = []
    for name, make in starts.items():
        encoder = make()
        rows.append({"start": name, **held_out_loss(encoder, unseen, ck.data.Texts(other, encoder.tokenizer))})
    return pd.DataFrame(rows).round(4)


def words(args, task: str, data: TaskData, come_from: str, encoder, rates: list[dict], n: int) -> list[dict]:
    """Masked LM on held-out texts, as the start was and after each post-training on the first draw."""
    plan, found = protocol(args, (n,)), {"as it was": encoder}
    for rate in rates:
        if (pipeline := METHODS[rate["method"]]).post and not pipeline.paraphraser:  # CSSL trains no words
            rows, _ = rows_of(next(plan_runs(plan, [data], {rate["method"]: pipeline})))
            how = replace(plan, post_lr=rate["post_lr"]).post_training(n) | precision(encoder)
            found[rate["method"]] = post_train(encoder, pipeline, rows, task=data.task, seed=0, **how)
    first = data.task.columns_in(column_names(data.train))[0]
    read, unseen = ck.data.Texts(column(data.train, first), encoder.tokenizer), column(data.validation, first)
    about = {"task": task, "from": come_from, "n": n}
    return [about | {"method": name} | held_out_loss(each, unseen, read) for name, each in found.items()]


def tuned(plan: Protocol, data: TaskData, encoder: ck.Encoder, pipeline: Pipeline, before: dict, folder: Path) -> dict:
    """The rates of one method: the five on other draws, by their mean validation score."""
    if pipeline.frozen:
        return {}
    key, scores = "post_lr" if pipeline.post else "lr", {}
    for rate in RATES:
        how = dict(folder=folder / f"{key}={rate}", progress=False, **precision(encoder))
        found = tasks.run(replace(plan, **before, **{key: rate}), data, encoder, {"searched": pipeline}, **how)
        if not found.complete:
            raise KeyboardInterrupt
        scores[rate] = round(found.table["validation"].mean(), 12)  # equal means tie, whatever their last bits
    return before | {key: max(scores, key=scores.get)}


def one_world(args: argparse.Namespace, task: str, data: TaskData, come_from: str, encoder, sizes: tuple) -> tuple:
    """All methods of one task and start: the rates that they chose, and their runs."""
    plan, rates, runs = protocol(args, sizes), [], []
    chosen, folder = recorded_rates(args.out, task, come_from, sizes[-1]), args.work / slug(f"{task}-{come_from}")
    for name in args.methods:
        if left_out(name, task, come_from, chosen):
            continue
        if METHODS[name].post and "FT" not in chosen:
            raise SystemExit(f"{name} takes the rate of FT, which {args.out} lacks for {task} from {come_from}.")
        known = chosen.get("CE + SCL" if name == AGAIN else name) or taken_over(args.out, task, come_from, name, chosen)
        before = known or ({"lr": chosen["FT"]["lr"]} if METHODS[name].post else {})
        before, tune = {key: rate for key, rate in before.items() if key != "n"}, known is None
        pipeline = pipeline_of(name, task)
        found_rates, found = one_method(args, plan, data, encoder, name, pipeline, before, folder, tune)
        chosen[name] = {"n": sizes[-1] if tune else known["n"], **found_rates}
        rates.append({"task": task, "from": come_from, "method": name, **chosen[name]})
        runs.append(found.table.assign(**{"from": come_from}))
        said = found.summary()[["n", "mean", "low", "high"]].round(4).values.tolist()
        print(task, come_from, name, found_rates, said)
    return rates, runs


def recorded_rates(out: Path, task: str, come_from: str, n: int) -> dict[str, dict[str, float]]:
    """The rates that methods chose in an earlier sitting with n labels or more, and keep (of several, with the fewest),
    and that number. Post-training takes the rate of plain fine-tuning."""
    if not (path := out / "few_labels_rates.csv").exists():
        return {}
    rows = pd.read_csv(path).query("task == @task and `from` == @come_from and n >= @n")
    rows = rows.sort_values("n", kind="stable").drop_duplicates("method")
    names = ("n", "lr", "post_lr")
    return {row.method: {name: row[name] for name in names if row[name] > 0} for _, row in rows.iterrows()}


def taken_over(out: Path, task: str, come_from: str, name: str, chosen: dict) -> dict[str, float] | None:
    """MRPC's runs take minutes, so that only FT chooses a rate there: CE + SCL takes FT's, and post-training the one
    that it chose for SST-2 from the same start."""
    if task != "mrpc" or name in ("FT", "frozen probe"):
        return None
    post = {"post_lr": recorded_rates(out, "sst2", come_from, 100)[name]["post_lr"]} if METHODS[name].post else {}
    return chosen["FT"] | post


def left_out(name: str, task: str, come_from: str, chosen: dict) -> bool:
    """Whether a method has nothing to do here."""
    if name == AGAIN:
        rates = [chosen.get(method, {}).get("lr") for method in ("CE + SCL", "FT")]
        return rates[0] in (None, rates[1])  # the rates are the same
    if task == "opinion":
        return False
    if METHODS[name].paraphraser and not shutil.which("apertium"):
        print("Apertium is not installed: CSSL on real text is left out.")
        return True
    return come_from == "random" and name not in ("FT", "frozen probe")  # a control there, and no more


def more_text(args: argparse.Namespace, task: str, data: TaskData, come_from: str, encoder, lr: float) -> tuple:
    """Post-training for 20 labels that reads `READ` texts: 2,000 further ones too, or the 20 alone, as much of them."""
    arms = {  # further texts, passes over all, rows a batch
        f"{MORE:,} more": (MORE, 2, 32),
        "20, as much reading": (0, READ / 20, 20),
    }
    rates, runs, folder = [], [], args.work / slug(f"{task}-{come_from}-text")
    for name in (name for name in args.methods if METHODS[name].post):
        for text, (unlabeled, passes, batch) in arms.items():
            pipeline = replace(METHODS[name], unlabeled=unlabeled)
            of = replace(protocol(args, (20,)), post_epochs={20: passes}, post_batch_size=batch)
            label, before = f"{name}, {text}", {"lr": lr}
            chosen, found = one_method(args, of, data, encoder, label, pipeline, before, folder)
            rates.append({"task": task, "from": come_from, "method": label, "n": 20, **chosen})
            runs.append(found.table.assign(**{"from": come_from, "method": name, "text": text}))
            print(label, chosen, found.summary()[["mean", "low", "high"]].round(4).values.tolist(), flush=True)
    return rates, runs


def one_method(
    args: argparse.Namespace, plan: Protocol, data, encoder, name: str, pipeline, before, folder, tune: bool = True
) -> tuple:
    """The rates that a method chose on other draws, and its runs."""
    other = replace(plan, first_draw=args.draws, draws=args.tune_draws, sizes=plan.sizes[-1:])
    chosen = tuned(other, data, encoder, pipeline, before, folder / f"tune-{slug(name)}") if tune else before
    how = dict(folder=folder / slug(name), progress=False, **precision(encoder))
    found = tasks.run(replace(plan, **chosen), data, encoder, {name: pipeline}, **how)
    if not found.complete:
        raise KeyboardInterrupt
    return chosen, found


def precision(encoder: ck.Encoder) -> dict:
    """For a wide encoder, what is faster here; a tiny one takes as long in bf16."""
    return {"precision": _precision.faster()} if encoder.width > 128 else {}


def pipeline_of(name: str, task: str) -> Pipeline:
    """A method; on real text CSSL's two wordings are made by Apertium, by way of Spanish and of Catalan."""
    if METHODS[name].paraphraser and task != "opinion":
        apertium = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "apertium.py"))
        return replace(METHODS[name], paraphraser=apertium["Apertium"]())
    return METHODS[name]


def slug(name: str) -> str:
    """A name as part of a path."""
    for found, instead in {" → ": "-", "/": "-", ", ": "-", " ": "-"}.items():
        name = name.replace(found, instead)
    return name


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    rates, runs, texts, known, tables = [], [], [], [], {}
    for task, (load, starts, sizes) in worlds(args).items():
        starts = {name: make for name, make in starts.items() if name in (args.starts or starts)}
        if task not in (args.only or [task]) or not starts:
            continue
        data = load()
        if task == "opinion" or "MiniLM, masked LM" in starts:
            tables["few_labels_starts"] = learned(starts, task)
        sizes = tuple(n for n in sizes if n in args.sizes)
        counted = tasks.baseline(protocol(args, sizes), data).table
        runs.append(counted.assign(**{"from": "no encoder", "seconds": 0.0}))
        for come_from, make in starts.items():
            found = one_world(args, task, data, come_from, make(), sizes)
            rates, runs = rates + found[0], runs + found[1]
            if not any(METHODS[rate["method"]].post for rate in found[0]):
                continue
            known += words(args, task, data, come_from, make(), found[0], sizes[-1])
            if task == "opinion" and come_from != "random" and 20 in sizes:
                chosen = recorded_rates(args.out, task, come_from, 20) | {rate["method"]: rate for rate in found[0]}
                read = more_text(args, task, data, come_from, make(), chosen["FT"]["lr"])
                rates, texts = rates + read[0], texts + read[1]
    if not runs:
        raise SystemExit("None of these tasks and starts is here: nothing was run.")
    whole = "few_labels_again" if args.first_draw else "few_labels"
    tables |= {whole: pd.concat(runs)[COLUMNS].round(4)}
    tables |= {} if args.first_draw else {"few_labels_rates": pd.DataFrame(rates)}
    if known:
        tables["few_labels_words"] = pd.DataFrame(known).round(4)
    if texts:
        tables["few_labels_text"] = pd.concat(texts)[[*COLUMNS, "text"]].round(4)
    settings = {name: getattr(args, name) for name in ("draws", "tune_draws", "test", "start_steps")}  # of all parts
    tables = {name: with_the_others(rows, args.out / f"{name}.csv") for name, rows in tables.items()}
    for name, rows in tables.items():
        tasks.results.write(rows, args.out / f"{name}.csv")
        spent = (rows if "seconds" in rows else tables[whole])["seconds"].sum()
        write_origin(args.out / f"{name}.csv", "few_labels", spent, settings)


def with_the_others(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """These rows, after those that the table has of other tasks, starts, methods and sizes."""
    if not path.exists():
        return rows
    before = pd.read_csv(path)
    key = [name for name in ("task", "from", "method", "n", "start") if name in rows]
    others = before[~before.set_index(key).index.isin(rows.set_index(key).index)]
    return pd.concat([others, rows], ignore_index=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/few_labels"), help="folder of the tables")
    parser.add_argument("--work", type=Path, default=Path("runs/few_labels"), help="folder of the runs")
    parser.add_argument("--only", nargs="*", help="tasks: opinion, sst2, mrpc; all by default")
    parser.add_argument("--starts", nargs="*", help="random, MiniLM and so on; all by default")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 100], help="numbers of labels")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--first-draw", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--tune-draws", type=int, default=5, help="draws of other rows by which rates are chosen")
    parser.add_argument("--test", type=int, default=500, help="the most test rows")
    parser.add_argument("--start-steps", type=int, default=3_000, help="updates of the masked LM on the other shop")
    return parser.parse_args()


if __name__ == "__main__":
    main()
