"""`python -m contrast_kit train METHOD …`: from data to a saved encoder, in one process or many."""

import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import contrast_kit as ck
from contrast_kit._util import meant
from contrast_kit.commands import recipes
from contrast_kit.commands.options import add_fields, add_table, parser_of
from contrast_kit.data.drafts import draft_of
from contrast_kit.data.rows import column
from contrast_kit.objectives import CSSL, METHODS, FineTune, Objective
from contrast_kit.training import checkpoint, distributed

SHOP = "toyshop/text"
EXAMPLES = """examples:

  a minute on any machine, with text that is made here:
    python -m contrast_kit train cmlm --data toyshop/text --folder runs/cmlm

  your own text (a file, a folder, or a data set of the hub), on one GPU, with 2,047 negatives per anchor:
    python -m contrast_kit train simcse --data my.txt --scale base --batch-size 2048 --chunk-size 64 \\
        --precision bf16 --folder runs/simcse

  post-train a model that exists:
    python -m contrast_kit train cmlm --data my.txt --scale base --start roberta-base --lr 1e-5 --folder runs/post

  a method of your own, the class Mine in mine.py:
    python -m contrast_kit train mine:Mine --data my.txt --folder runs/mine

  on all GPUs of a machine; each batch is shared among them, and loss and gradient stay those of one:
    accelerate launch -m contrast_kit train coco-lm --data my.txt --scale base --folder runs/coco
    torchrun --nproc-per-node 4 -m contrast_kit train coco-lm --data my.txt --scale base --folder runs/coco

The same command again continues from the last checkpoint in --folder, also on another number of processes. Ctrl-C stops
after the current step and saves. In Python ck.Encoder.from_pretrained("runs/…/encoder") opens the trained encoder.
"""


def main(arguments: list[str]) -> int:
    """Train as the arguments say; 0, 1 with one sentence on stderr, or 2 for an unknown method."""
    method = arguments[0] if arguments else "--help"
    if method in ("-h", "--help"):
        print(_general_help())
        return 0
    own = ":" in method
    if method not in METHODS and not own:
        print(f"There is no method {method!r}; {meant(method, METHODS)}", file=sys.stderr)
        return 2
    try:
        run(parse(arguments))
    except (ValueError, TypeError, OSError, FloatingPointError) as error:
        if own:  # whoever wrote the method wants to see where
            raise
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 1
    finally:
        distributed.stop()
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options, with those of config and training as dicts `config` and `training`."""
    cls = recipes.class_of(arguments[0])
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--scale", default="tiny", choices=recipes.SCALES)
    first.add_argument("--start")
    chosen, _ = first.parse_known_args(arguments)
    recipe = recipes.recipe(arguments[0], chosen.scale, start=chosen.start is not None)
    options = _parser(cls, recipe).parse_args(arguments[1:])
    values = vars(options)

    def of(kind: type) -> dict[str, Any]:
        return {
            name: values[name] for name in kind.__dataclass_fields__ if name in values
        }

    training = of(ck.Training)
    if "epochs" in training or "steps" in training:  # one replaces the other
        training = {"epochs": None, "steps": None} | training
    options.config = recipe.config | of(cls.Config)
    options.training = recipe.training | training
    options.method, options.recipe = arguments[0], recipe
    return options


def _general_help() -> str:
    methods = "".join(
        f"  {name:<10} {_first_line(cls)}\n" for name, cls in METHODS.items()
    )
    return (
        "usage: python -m contrast_kit train METHOD --data DATA --folder FOLDER [options]\n\n"
        "Train an encoder with one of the methods. train METHOD --help lists every setting.\n\n"
        f"methods:\n{methods}"
        "  module:Class  an Objective of your own, in a module that Python can import from this folder\n\n"
        f"{EXAMPLES}"
    )


def _first_line(cls: type) -> str:
    return (cls.__doc__ or cls.__name__).strip().split("\n")[0]


def _parser(cls: type[Objective], recipe: recipes.Recipe) -> argparse.ArgumentParser:
    """The parser of a method: its settings, with the defaults of a recipe."""
    here = "Values after “Here” are the defaults at this --scale."
    parser = parser_of(
        f"train {cls.__name__}",
        usage="python -m contrast_kit train METHOD --data DATA --folder FOLDER [options]",
        description=f"{_first_line(cls)} {here} {recipe.ours}",
        epilog=EXAMPLES,
    )
    for table in ("data and model", "the run"):
        add_table(parser.add_argument_group(table), table)
    parser.set_defaults(limit=recipe.limit, words=recipe.vocab_size)
    method = parser.add_argument_group(f"the method ({cls.__name__})")
    add_fields(method, cls.Config, recipe.config)
    add_fields(parser.add_argument_group("training"), ck.Training, recipe.training)
    return parser


def run(options: argparse.Namespace) -> ck.Run:
    """Train with parsed options: data, encoder, objective, plan, fit; then save."""
    distributed.start()
    first = distributed.rank() == 0
    if options.data is None:
        options.data = SHOP
        _say(
            f"No --data: this trains on {SHOP}, sentences about a toy shop that are made here."
        )
    rows, columns = _rows(options)
    encoder = _encoder(options, rows, columns)
    training = ck.Training.of(options.training).for_encoder(encoder.pretrained)
    objective = _objective(options, encoder, rows)
    texts = _texts(objective, rows, columns, min(training.max_length, encoder.max_length))
    if len(texts) < training.batch_size:
        _say(
            f"Warning: {options.data} holds {len(texts)} texts only, fewer than a batch of {training.batch_size}."
        )
    kept = checkpoint.checkpoints(options.folder) if options.folder else []
    if kept and not options.fresh:
        _check_resumed(kept[-1], objective, training, texts)
    if options.plan and first:
        print(
            ck.plan(objective, texts, training, processes=distributed.count()), flush=True
        )
    if kept and not options.fresh:
        _say(f"Going on from {kept[-1]}.")
    done = ck.fit(
        objective,
        texts,
        training,
        folder=options.folder,
        resume=options.folder is not None and not options.fresh,
        progress=not options.quiet,
    )
    if first:
        _keep(done, options)
    # No process leaves before the first has written.
    distributed.anywhere(False, encoder.device)
    return done


FLAGS = {"objective": "METHOD", "architecture": "--scale", "data": "--data"}
"""Which option makes a setting whose name is not the option's."""


def _check_resumed(
    newest: Path, objective: Objective, training: ck.Training, texts: ck.data.Texts
) -> None:
    """Refuse a folder of other settings before anything is measured, and name the option that differs."""
    try:
        state = json.loads((newest / checkpoint.STATE).read_text("utf-8"))
    except ValueError:
        return  # damaged, as `fit` will say
    asked = checkpoint.settings(objective, training, texts)
    try:
        checkpoint.check_settings(newest, state["settings"], asked)
    except ValueError as error:
        raise ValueError(re.sub(r"with ([\w.]+) =", _with_flag, str(error))) from error


def _with_flag(setting: re.Match) -> str:
    place, _, field = setting[1].partition(".")
    if place in FLAGS:
        return f"with {FLAGS[place]} ({setting[1]}) ="
    return f"with --{field or place} =".replace("_", "-")


def _say(message: str) -> None:
    """Print a message once, however many processes there are."""
    if distributed.rank() == 0:
        print(message, flush=True)


def _rows(options: argparse.Namespace) -> tuple[Any, tuple[str, ...]]:
    """The rows that hold text of the split that was asked for, and their columns of text."""
    cls = recipes.class_of(options.method)
    reads_labels = issubclass(cls, FineTune) or ":" in options.method
    how = {"label": options.label}
    if not reads_labels:
        how = {"labels": ()}  # no label can stop a method that reads none
    splits = ck.data.load(options.data, unit=options.unit, **how)
    if options.part not in splits:
        raise ValueError(
            f"There is no split (--part) {options.part!r}; {meant(options.part, splits)} The files of a folder are "
            "splits by their names, train.csv, validation.csv and test.csv; one file is train."
        )
    rows = splits[options.part]
    if options.columns:
        columns = tuple(options.columns.split(","))
    else:
        columns = ck.data.text_columns(rows.column_names)
    if not reads_labels and "label" in rows.column_names:
        rows = rows.remove_columns("label")
    if options.limit and options.limit < len(rows):
        _say(f"Reading the first {options.limit:,} of {len(rows):,} texts (--limit).")
        rows = rows.select(range(options.limit))
    texts = zip(*(column(rows, name) for name in columns), strict=True)
    full = [
        place for place, row in enumerate(texts) if "".join(filter(None, row)).strip()
    ]
    if len(full) < len(rows):
        _say(f"Warning: {len(rows) - len(full):,} rows hold no text and are left out.")
        rows = rows.select(full)
    return rows, columns


def _encoder(
    options: argparse.Namespace, rows: Any, columns: tuple[str, ...]
) -> ck.Encoder:
    """The encoder to start from. The first process trains the vocabulary of a new one, once, and keeps it."""
    if options.start:
        return ck.Encoder.from_pretrained(options.start, pooling=options.pooling)
    length = max(128, options.training.get("max_length", ck.Training.max_length))
    kept = options.folder / "vocabulary" if options.folder else None
    first = distributed.rank() == 0
    if kept and first and not checkpoint.checkpoints(options.folder):
        shutil.rmtree(kept, ignore_errors=True)  # of a command that failed
    if kept is None or (first and not kept.exists()):
        texts = [text for name in columns for text in rows[name] if text]
        tokenizer = ck.data.train_tokenizer(
            texts, options.words, max_length=max(512, length)
        )
    if kept is not None:
        from transformers import PreTrainedTokenizerFast

        if first and not kept.exists():
            options.folder.mkdir(parents=True, exist_ok=True)
            with draft_of(kept) as draft:
                tokenizer.save_pretrained(draft)
        # The others wait until the first has written it.
        distributed.anywhere(False, distributed.start())
        tokenizer = PreTrainedTokenizerFast.from_pretrained(kept)
    shape = dict(options.recipe.encoder)
    if options.pooling:
        shape["pooling"] = options.pooling
    return ck.Encoder.build(
        options.scale,
        tokenizer,
        seed=options.training.get("seed", 0),
        max_length=length,
        **shape,
    )


def _objective(options: argparse.Namespace, encoder: ck.Encoder, rows: Any) -> Objective:
    cls, config = recipes.class_of(options.method), dict(options.config)
    if issubclass(cls, FineTune):
        if "label" not in rows.column_names:
            raise ValueError(
                f"{options.method} learns labels: name their column with --label."
            )
        config["classes"] = rows
    return cls(encoder, seed=options.training.get("seed", 0), **config)


def _texts(
    objective: Objective, rows: Any, columns: tuple[str, ...], length: int
) -> ck.data.Texts:
    """The data as token ids; for CSSL with two wordings of each text."""
    tokenizer = objective.encoder.tokenizer
    if not isinstance(objective, CSSL):
        return ck.data.Texts(rows, tokenizer, columns, length)
    if f"{columns[0]}/0" not in rows.column_names:
        paraphraser = ck.data.paraphrase.Toyshop()
        some = rows[columns[0]][:1_000]
        if paraphraser(some) == some:
            raise ValueError(
                "The data holds no paraphrases, and the toyshop's grammar has other words for none of these texts: "
                "give a table with two wordings of each, columns text, text/0 and text/1 (reworded makes them)."
            )
        _say(
            "The data holds no paraphrases; the toyshop's grammar makes them. It knows its own sentences only."
        )
        rows = ck.data.paraphrase.reworded(rows, paraphraser, columns)
    return ck.data.Paraphrased(rows, tokenizer, columns, length)


def _keep(done: ck.Run, options: argparse.Namespace) -> None:
    """Write the encoder and the history; then print where they are."""
    if options.folder is None:
        print(
            f"{done}\nNothing was kept: give --folder to keep checkpoints and the encoder."
        )
        return
    saved, file = options.folder / "encoder", options.folder / "history.csv"
    history = done.history.to_csv(index=False).encode()
    # A finished run asked for again changes no file; the history is written last.
    if not (saved.is_dir() and file.exists() and file.read_bytes() == history):
        done.encoder.save_pretrained(saved)
        file.write_bytes(history)
    print(done)
    if done.interrupted:
        print(f"Stopped after step {done.steps}; the same command goes on from there.")
    print(
        f'The encoder is in {saved}; open it with ck.Encoder.from_pretrained("{saved}").'
    )
