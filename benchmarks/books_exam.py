"""What the encoders of `books.py` are good for: grammar, similarity, and real tasks by probe and by fine-tuning.

    python benchmarks/books_exam.py --data DATA kit/books-mlm                    # beside new weights of its shape
    python benchmarks/books_exam.py --data DATA kit/books-mlm runs/electra/encoder runs/coco-lm/encoder
    python benchmarks/books_exam.py --data DATA kit/books-mlm --parts glue sts   # without the hour of fine-tuning

DATA holds GLUE's folders (or `glue_data`) and `blimp`. Fine-tuning: SST-2, STS-B, MRPC and RTE, at most
`--rows` training rows, three epochs, tested on GLUE's validation rows. A rate is chosen for each encoder and task on
300 training rows that are then left out for all (table `books_exam_rates`); the seeds draw the head, the order of the
rows and dropout. A stopped run continues: a row that is in the table is not measured again. BLiMP masks each word, so
it is not asked of encoders that were not taught words (ELECTRA's), nor of those that never read a [MASK] (COCO-LM's:
`--no-blimp NAME`). These have a copy head beside them, if they were saved with it, which doubts words that do not
belong: there a sentence's score is the sum of log p_copy over its tokens, one pass where masked LM takes one per token.
New weights have the first encoder's shape. In the table an encoder has the name of its folder, or of the folder around
`encoder`.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from _origin import write_origin
from _table import Table
from safetensors import safe_open

import contrast_kit as ck
from contrast_kit.data.texts import special_ids
from contrast_kit.encoder.folders import located
from contrast_kit.tasks.standard import has_word_head, random_twin

PARTS = ("glue", "sts", "blimp", "geometry", "fine-tuned")
TASKS = ("sst2", "stsb", "mrpc", "rte")
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
CHOSEN_ON = 300
NEW = "new weights"


class Results(Table):
    """The table, which also knows the rate that an earlier sitting chose."""

    def rate(self, *key: str) -> float | None:
        names = ("encoder", "part", "measurement", "sizes")
        return next((float(row["lr"]) for row in self.rows if tuple(row[n] for n in names) == key), None)


def measured(name: str, encoder: ck.Encoder, options: argparse.Namespace, table: Results) -> None:
    """Probes, similarity, minimal pairs and geometry of `contrast_kit.tasks.standard`; nothing in them is drawn."""
    size = dict(limit=options.limit, pairs=options.pairs, progress=False)
    sizes = f"{options.limit} rows, {options.pairs} pairs"
    for part in [part for part in options.parts if part != "fine-tuned"]:
        done = any((row["encoder"], row["part"], row["sizes"]) == (name, part, sizes) for row in table.rows)
        if done or (part == "blimp" and (name in options.no_blimp or not has_word_head(encoder))):
            continue
        measurements = ck.tasks.standard.evaluate(encoder, options.data, parts=(part,), **size)
        for found in measurements.to_dict("records"):
            measurement = f"{found['measurement']}, {found['data']}"
            for who, column in ((name, "value"), (NEW, "random weights"), (found["baseline is"], "baseline")):
                if who != "–" and not table.has(who, part, measurement, sizes, 0):
                    table.add(row(who, part, measurement, sizes, 0, found[column]))


@torch.no_grad()
def copied(objective: ck.objectives.Objective, texts: list[str]) -> torch.Tensor:
    """Σ_t log p_copy(w_t) of each text, [N]: how sure a copy head is that every word is original."""
    scores, special = [], torch.tensor(special_ids(objective.encoder.tokenizer))
    for start in range(0, len(texts), 100):
        view = objective.encoder.view_of(texts[start : start + 100])
        p = torch.nn.functional.logsigmoid(objective.copy_head(objective.encoder(view)))  # [B, T]
        scores.append((p * ~torch.isin(view["input_ids"], special)).sum(1))
    return torch.cat(scores)


def detected(name: str, home: str, options: argparse.Namespace, table: Results) -> None:
    """BLiMP by the copy head that lies beside an encoder, if one does."""
    head = Path(located(home)) / "copy_head.safetensors"
    key = ("blimp", "by its copy head, minimal pairs", f"{options.pairs} pairs", 0)
    if head.is_file() and not table.has(name, *key):
        kind = getattr(ck.objectives, safe_open(head, "pt").metadata().get("objective", "COCOLM"))
        objective = kind.from_pretrained(home).eval()
        found = ck.tasks.standard.blimp(partial(copied, objective), options.data, limit=options.pairs, progress=False)
        table.add(row(name, *key, 100 * found.loc["all", "accuracy"]))


def within_words(name: str, encoder: ck.Encoder, options: argparse.Namespace, table: Results) -> None:
    """BLiMP where the later tokens of a word are masked with each: what pieces gave away about their words."""
    key = ("blimp", "within words, minimal pairs", f"{options.pairs} pairs", 0)
    if name not in options.no_blimp and has_word_head(encoder) and not table.has(name, *key):
        likely = partial(ck.tasks.standard.pseudo_log_likelihoods, encoder, whole_words=True)
        found = ck.tasks.standard.blimp(likely, options.data, limit=options.pairs, progress=False)
        table.add(row(name, *key, 100 * found.loc["all", "accuracy"]))


def fine_tuned(name: str, start: ck.Encoder, options: argparse.Namespace, table: Results) -> None:
    """One row per task and seed, with the rate beside the value."""
    tried = Table(options.out / "books_exam_rates.csv", ("encoder", "measurement", "sizes", "lr"))
    for task in options.tasks:
        home = options.data / "glue_data"
        data = ck.tasks.load(f"glue/{task}", folder=home if home.is_dir() else options.data)
        sizes = f"{options.rows} rows, {options.epochs} epochs, {options.precision}"
        key = ("fine-tuned", f"{task}, {data.task.metrics[0]}", sizes)
        missing = [seed for seed in options.seeds if not table.has(name, *key, seed)]
        if not missing:
            continue
        rows = data.train.shuffle(seed=0).select(range(min(len(data.train), options.rows + CHOSEN_ON)))
        held, train = rows.select(range(CHOSEN_ON)), rows.select(range(CHOSEN_ON, len(rows)))

        def value(lr: float, seed: int, test: object, data=data, train=train) -> float:
            how = dict(epochs=options.epochs, lr=lr, seed=seed, warmup=0.06, precision=options.precision)
            tuned = ck.tasks.fine_tune(start, train, task=data.task, **how)
            if tuned.run.interrupted:
                raise KeyboardInterrupt  # the same command goes on
            metric = data.task.metrics[0]
            return 100 * ck.tasks.score(data.task, tuned.predict(test), test["label"])[metric]

        chosen = table.rate(name, *key)
        if chosen is None:
            chosen = searched(tried, (name, *key[1:]), partial(value, seed=100, test=held))
        for seed in missing:
            found = value(chosen, seed, data.validation)
            table.add(row(name, *key, seed, found, lr=chosen))


def searched(tried: Table, key: tuple[str, ...], value: Callable[[float], float]) -> float:
    """The rate with the highest value; each is tried once, and kept."""
    for lr in RATES:
        if not tried.has(*key, lr):
            tried.add(dict(zip(tried.keys, (*key, lr), strict=True)) | {"value": value(lr)})
    found = [row for row in tried.rows if tuple(row[name] for name in tried.keys[:-1]) == key]
    return float(max(found, key=lambda row: float(row["value"]))["lr"])


def counted(options: argparse.Namespace, table: Results) -> None:
    """SST-2 by words alone, from the rows that fine-tuning reads: counts, and TF-IDF, with a logistic regression.

    The strength of the regression is cross-validated on these rows. Nothing is drawn, so there is one row of each.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegressionCV

    sizes = f"{options.rows} rows, {options.epochs} epochs, {options.precision}"
    key = ("fine-tuned", "sst2, accuracy", sizes, 0)
    home = options.data / "glue_data"
    data = ck.tasks.load("glue/sst2", folder=home if home.is_dir() else options.data)
    train = data.train.shuffle(seed=0).select(range(CHOSEN_ON, CHOSEN_ON + options.rows))
    for name, words in (("counting words", CountVectorizer()), ("TF-IDF", TfidfVectorizer(sublinear_tf=True))):
        if not table.has(name, *key):
            seen, asked = words.fit_transform(train["sentence"]), words.transform(data.validation["sentence"])
            strengths = [10.0**power for power in range(-3, 4)]
            model = LogisticRegressionCV(Cs=strengths, cv=5, max_iter=5_000).fit(seen, train["label"])
            right = model.score(asked, data.validation["label"])
            table.add(row(name, *key, round(100 * right, 3)))


def row(
    encoder: str, part: str, measurement: str, sizes: str, seed: int, value: float, lr: float | str = ""
) -> dict[str, object]:
    which = {"encoder": encoder, "part": part, "measurement": measurement, "sizes": sizes, "seed": seed}
    return which | {"value": value, "lr": lr}


def called(home: str) -> str:
    """What an encoder is called in the table."""
    path = Path(home)
    return home if home.startswith("kit/") else path.parent.name if path.name == "encoder" else path.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="+", help="folders of encoders, or the kit's own")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("build/recorded"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="tasks to fine-tune for")
    parser.add_argument("--no-blimp", nargs="*", default=[], metavar="NAME", help="encoders that never read a [MASK]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=4_000, help="training rows of a task at most")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32", help="precision of fine-tuning")
    parser.add_argument("--limit", type=int, default=2_000, help="rows of a split for a probe")
    parser.add_argument("--pairs", type=int, default=50, help="minimal pairs of each phenomenon")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    table = Results(options.out / "books_exam.csv", ("encoder", "part", "measurement", "sizes", "seed"))
    began = time.time()
    homes = {called(home): home for home in options.encoders}
    if len(homes) < len(options.encoders):
        parser.error("two of these encoders have one name: rename a folder.")
    if unknown := set(options.no_blimp) - set(homes):
        parser.error(f"--no-blimp: {unknown.pop()} is none of {', '.join(homes)}.")
    start = {name: ck.Encoder.from_pretrained(home) for name, home in homes.items()}
    for name, encoder in start.items():
        measured(name, encoder, options, table)
        if "blimp" in options.parts:
            detected(name, homes[name], options, table)
    start[NEW] = random_twin(next(iter(start.values())))
    for name, encoder in start.items() if "blimp" in options.parts else ():
        within_words(name, encoder, options, table)
    for name, encoder in start.items() if "fine-tuned" in options.parts else ():
        fine_tuned(name, encoder, options, table)
    if "fine-tuned" in options.parts and "sst2" in options.tasks:
        counted(options, table)
    if table.grew:
        names = ("tasks", "rows", "epochs", "precision", "pairs", "limit")
        settings = {name: getattr(options, name) for name in names}
        write_origin(table.path, "books_exam", time.time() - began, settings)


if __name__ == "__main__":
    main()
