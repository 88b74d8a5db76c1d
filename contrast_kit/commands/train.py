"""`python -m contrast_kit train METHOD …`: from data to a saved encoder, in one process or many."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import contrast_kit as ck
from contrast_kit.commands import asked, methods, recipes
from contrast_kit.commands.options import Parser, add_fields, no_file, one_of
from contrast_kit.commands.rows import in_other_words, rows_of, too_few
from contrast_kit.commands.trackers import Tracker
from contrast_kit.data.drafts import draft_of
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import CSSL, METHODS, FineTune, Objective
from contrast_kit.training import checkpoint, distributed

SETTINGS = ("method", *asked.TEXT, "vocab_size", "pooling", "scale")
"""What settings.json tells beside all settings of the method and of the training."""
SWITCHES = ("--fresh", "--packing", "--no-packing", "--no-plan", "--quiet")
"""The options without a value."""
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
    """Train as the arguments say; 0, or 1 with one sentence on stderr."""
    try:
        options = parse(arguments)
        if options is not None:
            run(options)
    except (ValueError, TypeError, OSError, FloatingPointError) as error:
        where = methods.place_of(error, named(arguments) or "")
        print(f"{str(error) or type(error).__name__}{where}", file=sys.stderr)
        return 1
    finally:
        distributed.stop()
    return 0


def parse(arguments: list[str]) -> argparse.Namespace | None:
    """The options, with those of config and training as dicts `config` and `training`; None where help was printed."""
    method = named(arguments)
    if method not in METHODS and not methods.is_own(method or ""):
        wanted = [method] if method else [word for word in arguments if word in ("-h", "--help")]
        _general().parse_args(wanted)  # prints help, or says what is wrong, and exits
        return None
    scale = argparse.ArgumentParser(add_help=False)
    scale.add_argument("--scale", type=one_of(recipes.SCALES), default="tiny")
    scale.add_argument("--start")
    first = scale.parse_known_args(arguments)[0]
    cls = methods.class_of(method)
    recipe = recipes.recipe_of(cls, first.scale, start=first.start is not None)
    given = vars(_parser(method, recipe).parse_args(arguments))
    training = {f: given.pop(f) for f in ck.Training.__dataclass_fields__ if f in given}
    config = {f: given.pop(f) for f in cls.Config.__dataclass_fields__ if f in given}
    ours = dict(recipe.config)
    if config.get("contrast", "info_nce") in ("simsiam", None):  # which have no temperature
        ours.pop("tau", None)
    for given_one, other in (("epochs", "steps"), ("steps", "epochs")):
        if given_one in training and other not in training:
            training = {other: None} | training
    return argparse.Namespace(**given, config=ours | config, training=recipe.training | training, recipe=recipe)


def named(arguments: list[str]) -> str | None:
    """The method among the arguments: the first word that is neither an option nor the value of one.

    Example:
        >>> from contrast_kit.commands.train import named
        >>> named(["--folder", "cmlm", "--quiet", "simcse"])
        'simcse'
    """
    before = ["", *arguments]
    pairs = zip(arguments, before, strict=False)
    return next((word for word, last in pairs if not word.startswith("-") and not _asks(last)), None)


def _asks(word: str) -> bool:
    """Whether a word is an option whose value is the next word."""
    return word.startswith("--") and "=" not in word and word not in (*SWITCHES, "--help")


def _general() -> argparse.ArgumentParser:
    """The parser without a method: its help lists the methods."""
    listed = "".join(f"  {name:<10} {_first_line(cls)}\n" for name, cls in METHODS.items())
    listed += "  module:Class  an Objective of your own, in a module that Python can import from this folder\n"
    parser = Parser(
        prog="python -m contrast_kit train",
        usage="python -m contrast_kit train METHOD --data DATA --folder FOLDER [options]",
        description="Train an encoder with one of the methods. train METHOD --help lists every setting.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"methods:\n{listed}\n{EXAMPLES}",
    )
    parser.add_argument("method", type=one_of(METHODS), metavar="METHOD", help=argparse.SUPPRESS)
    return parser


def _count(text: str) -> int:
    """A number of texts."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of texts, 1 or more, not {text!r}")
    return int(text)


def _first_line(cls: type) -> str:
    return (cls.__doc__ or f"{cls.__name__}.").strip().split("\n")[0]


def _parser(method: str, recipe: recipes.Recipe) -> argparse.ArgumentParser:
    """The parser of a method: its settings, with the defaults of a recipe."""
    cls = methods.class_of(method)
    parser = Parser(
        prog=f"python -m contrast_kit train {method}",
        usage=f"python -m contrast_kit train {method} --data DATA --folder FOLDER [options]",
        description=_first_line(cls) + " Values after “Here” are the defaults at this --scale. " + recipe.ours,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("method", choices=[method], help=argparse.SUPPRESS)
    _add_data(parser.add_argument_group("data and model").add_argument, recipe)
    _add_run(parser.add_argument_group("the run").add_argument)
    add_fields(parser.add_argument_group(f"the method ({cls.__name__})"), cls.Config, recipe.config, ("classes",))
    add_fields(parser.add_argument_group("training"), ck.Training, recipe.training, leave_out=("packing",))
    return parser


def _add_data(add: Callable, recipe: recipes.Recipe) -> None:
    data = "A name of data.available(), a file, a folder, or a data set of the hub. Here: toyshop/text."
    scale = (
        "Size of a new encoder, and all defaults with it: tiny (2 layers of width 128, a minute on a CPU), small (6 × "
        "256, minutes on a GPU), base (12 × 768, as the papers), large (24 × 1024). Here: tiny."
    )
    start = (
        "Start from this encoder, a folder or a name on the hub, instead of a new one. The defaults are then those for "
        "post-training: the paper's method, and a rate that lets the encoder keep what it knows."
    )
    words = f"Size of the vocabulary that is trained on the data for a new encoder. Here: {recipe.vocab_size}."
    pooling = recipe.encoder.get("pooling", "first")
    pooling = f"The vector of a text: its first token's, or the mean. Here: {pooling}, or that of --start."
    add("--data", default="toyshop/text", help=data)
    columns = "The column of the text, or the two of a pair: review, or question,answer. Here: found by name."
    add("--part", default="train", help="The split of the data. Here: train.")
    unit = "What of running text is one text: sentence, paragraph or line. Here: sentence."
    add("--unit", type=one_of(("sentence", "paragraph", "line")), metavar="sentence|paragraph|line", help=unit)
    add("--columns", metavar="NAME", help=columns)
    add("--label", default="label", metavar="NAME", help="The column of the labels. Here: label.")
    limit = f"Take the first N texts only. Here: {recipe.limit or 'all'}."
    add("--limit", type=_count, default=recipe.limit, help=limit)
    add("--scale", type=one_of(recipes.SCALES), metavar="|".join(recipes.SCALES), default="tiny", help=scale)
    add("--start", help=start)
    add("--words", dest="vocab_size", type=_count, default=recipe.vocab_size, metavar="WORDS", help=words)
    add("--pooling", type=one_of(("first", "mean")), metavar="first|mean", help=pooling)


def _add_run(add: Callable) -> None:
    folder = "Keep checkpoints, vocabulary, history.csv and the encoder here; without it nothing is kept."
    fresh = "Refuse a folder that already holds checkpoints, instead of continuing from them."
    packing = "Compute nothing on padding: for texts of different lengths in a batch. Here: for mlm, on a CPU."
    log = "Also log each row of the history to one of accelerate's trackers: tensorboard, wandb, …"
    add("--folder", type=no_file, help=folder)
    add("--fresh", action="store_true", help=fresh)
    add("--log", metavar="TRACKER", help=log)
    add("--packing", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=packing)
    add("--no-plan", dest="plan", action="store_false", help="Do not measure and print the plan first.")
    add("--quiet", action="store_true", help="No progress line.")


def run(options: argparse.Namespace) -> ck.Run:
    """Train with parsed options: data, encoder, objective, plan, fit; then save."""
    distributed.start()
    first = distributed.rank() == 0
    training = ck.Training.of(options.training)
    if options.folder:
        asked.check(options)
    rows = rows_of(options)
    encoder = _encoder(options, rows)
    objective = _objective(options, encoder, rows)
    texts = _texts(objective, rows, min(training.max_length, encoder.max_length))
    if first and (few := too_few(options, len(texts), training.batch_size)):
        print(few, file=sys.stderr, flush=True)
    if first and options.plan:
        print(ck.plan(objective, texts, training, processes=distributed.count()), flush=True)
    if options.folder and first and not options.fresh and checkpoint.found(options.folder):
        print(f"Going on from {checkpoint.found(options.folder)[-1]}.", flush=True)
    with Tracker(options.log, options.folder, _settings(options)) as tracker:
        done = ck.fit(
            objective,
            texts,
            training,
            folder=options.folder,
            resume=options.folder is not None and not options.fresh,
            progress=not options.quiet,
            callback=tracker.log,
        )
    if first:
        _keep(done, options)
    distributed.anywhere(False, encoder.device)  # no process leaves before the first has written
    return done


def _encoder(options: argparse.Namespace, rows: Any) -> Encoder:
    """The encoder to start from. The first process trains the vocabulary of a new one, once, and keeps it."""
    if options.start:
        return Encoder.from_pretrained(options.start, pooling=options.pooling)
    tokenizer = _kept_tokenizer(options, rows) if options.folder else _tokenizer(options, rows)
    shape = options.recipe.encoder | ({"pooling": options.pooling} if options.pooling else {})
    shape |= {"seed": options.training.get("seed", 0), "max_length": _length(options)}
    return Encoder.build(options.scale, tokenizer, **shape)


def _length(options: argparse.Namespace) -> int:
    """The longest text, in tokens, that a new encoder takes."""
    return max(128, options.training.get("max_length", ck.Training.max_length))


def _kept_tokenizer(options: argparse.Namespace, rows: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    kept = options.folder / "vocabulary"
    if not kept.exists() and checkpoint.found(options.folder):
        raise ValueError(f"{kept} is not there, with which the run in that folder began: name another --folder.")
    if distributed.rank() == 0 and not kept.exists():
        with draft_of(kept) as draft:
            _tokenizer(options, rows).save_pretrained(draft)
            shutil.copy(options.folder / asked.FILE, draft)
    distributed.anywhere(False, distributed.start())  # the others wait until the first has written it
    return PreTrainedTokenizerFast.from_pretrained(kept)


def _tokenizer(options: argparse.Namespace, rows: Any) -> Any:
    return ck.data.train_tokenizer(ck.data.sentences(rows), options.vocab_size, max_length=max(512, _length(options)))


def _objective(options: argparse.Namespace, encoder: Encoder, rows: Any) -> Objective:
    classes = {"classes": rows} if issubclass(methods.class_of(options.method), FineTune) else {}
    return methods.made(options.method, encoder, seed=options.training.get("seed", 0), **classes, **options.config)


def _texts(objective: Objective, rows: Any, length: int) -> ck.data.Texts:
    """The data as token ids; for CSSL with two paraphrases of each text."""
    tokenizer = objective.encoder.tokenizer
    if not isinstance(objective, CSSL):
        return ck.data.Texts(rows, tokenizer, max_length=length)
    if not any(name.endswith("/0") for name in rows.column_names):
        rows = in_other_words(rows)
    return ck.data.Paraphrased(rows, tokenizer, max_length=length)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given, for a tracker."""
    chosen = {name: getattr(options, name) for name in SETTINGS}
    return chosen | options.config | options.training


def _keep(done: ck.Run, options: argparse.Namespace) -> None:
    """Write the encoder and the history; print where they are."""
    print(done)
    if options.folder is None:
        print("Nothing was kept: give --folder to keep checkpoints and the encoder.")
        return
    done.history.to_csv(options.folder / "history.csv", index=False)
    settings = _settings(options) | asdict(done.objective.config) | asdict(done.training)
    (options.folder / "settings.json").write_text(json.dumps(settings, indent=1, default=str) + "\n")
    saved, far = done.encoder.save_pretrained(options.folder / "encoder"), ""
    if done.interrupted:
        print(f"Stopped after step {done.steps}; the same command goes on from there.")
        far = " so far"
    print(f'The encoder{far} is in {saved}; open it with ck.Encoder.from_pretrained("{saved}").')
