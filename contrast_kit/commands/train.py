"""`python -m contrast_kit train METHOD …`: from data to a saved encoder, in one process or many."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import contrast_kit as ck
from contrast_kit.commands import recipes
from contrast_kit.commands.options import add_fields
from contrast_kit.commands.trackers import Tracker
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import CSSL, FineTune, Objective
from contrast_kit.training import checkpoint, distributed

EXAMPLES = """examples:

  a minute on any machine, with text that is made here:
    python -m contrast_kit train cmlm --data toyshop/text --folder runs/cmlm

  your own text (a file, a folder, or a data set of the hub), on one GPU, with 2,047 negatives an anchor:
    python -m contrast_kit train simcse --data my.txt --scale base --batch-size 2048 --chunk-size 64 \\
        --precision bf16 --folder runs/simcse

  post-train a model that exists:
    python -m contrast_kit train cmlm --data my.txt --scale base --start roberta-base --lr 1e-5 --folder runs/post

  on all GPUs of a machine; each batch is shared among them, and loss and gradient stay those of one:
    accelerate launch -m contrast_kit train coco-lm --data my.txt --scale base --folder runs/coco
    torchrun --nproc-per-node 4 -m contrast_kit train coco-lm --data my.txt --scale base --folder runs/coco

The same command again goes on from the last checkpoint in --folder, also on another number of processes. Ctrl-C stops
after the present step and saves. In Python ck.Encoder.from_pretrained("runs/…/encoder") opens the trained encoder.
"""


def main(arguments: list[str]) -> int:
    """Train as the arguments say; 0, or 1 with one sentence on stderr."""
    asked = parse(arguments)
    if asked is None:
        return 0
    try:
        run(asked)
    except (ValueError, TypeError, OSError, FloatingPointError) as error:
        print(f"{type(error).__name__}: {error}" if not str(error) else str(error), file=sys.stderr)
        return 1
    finally:
        distributed.stop()
    return 0


def parse(arguments: list[str]) -> argparse.Namespace | None:
    """The options, with those of config and training as dicts `config` and `training`; None where help was asked."""
    method = next((word for word in arguments if word in recipes.METHODS), None)
    if method is None:
        _general().parse_args(arguments)  # prints help, or says what is wrong, and exits
        return None
    scale = argparse.ArgumentParser(add_help=False)
    scale.add_argument("--scale", choices=recipes.SCALES, default="tiny")
    recipe = recipes.recipe(method, scale.parse_known_args(arguments)[0].scale)
    parser, given = _parser(method, recipe), argparse.Namespace()
    parser.parse_args(arguments, given)
    found = vars(given)
    training = {f: found.pop(f) for f in list(found) if f in ck.Training.__dataclass_fields__}
    of_method = recipes.METHODS[method].Config.__dataclass_fields__
    config = {f: found.pop(f) for f in list(found) if f in of_method}
    if "epochs" in training:
        training = {"steps": None} | training
    return argparse.Namespace(
        **found, config=recipe.config | config, training=recipe.training | training, recipe=recipe
    )


def _general() -> argparse.ArgumentParser:
    """The parser that only tells of the methods."""
    parser = argparse.ArgumentParser(
        prog="python -m contrast_kit train",
        usage="python -m contrast_kit train METHOD --data DATA --folder FOLDER [options]",
        description="Train an encoder with one of the methods. train METHOD --help lists every setting.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="methods:\n"
        + "\n".join(f"  {name:<10} {_first_line(cls)}" for name, cls in recipes.METHODS.items())
        + "\n\n"
        + EXAMPLES,
    )
    parser.add_argument("method", choices=list(recipes.METHODS), metavar="METHOD", help=argparse.SUPPRESS)
    return parser


def _first_line(cls: type) -> str:
    return cls.__doc__.split("\n")[0]


def _parser(method: str, recipe: recipes.Recipe) -> argparse.ArgumentParser:
    cls = recipes.METHODS[method]
    parser = argparse.ArgumentParser(
        prog=f"python -m contrast_kit train {method}",
        usage=f"python -m contrast_kit train {method} --data DATA --folder FOLDER [options]",
        description=_first_line(cls) + " Values under “Here” are those of --scale.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("method", choices=[method], help=argparse.SUPPRESS)
    _add_data(parser.add_argument_group("data and model"), recipe)
    _add_run(parser.add_argument_group("the run"))
    add_fields(parser.add_argument_group(f"the method ({cls.__name__})"), cls.Config, recipe.config, ("classes",))
    add_fields(parser.add_argument_group("training"), ck.Training, recipe.training)
    return parser


def _add_data(group: Any, recipe: recipes.Recipe) -> None:
    pooling = recipe.encoder.get("pooling", "first")
    add = group.add_argument
    add(
        "--data",
        default="toyshop/text",
        help="A name of data.available(), a file, a folder, or a data set of the hub. Here: toyshop/text.",
    )
    add("--part", default="train", help="Which split of it. Here: train.")
    add(
        "--limit",
        type=int,
        default=recipe.limit,
        help=f"Take only the first N texts. Here: {recipe.limit or 'all'}.",
    )
    add(
        "--scale",
        choices=recipes.SCALES,
        default="tiny",
        help="Size of a new encoder, and all defaults with it: tiny (2 layers of width 128, a minute on a CPU), small "
        "(6 × 256, minutes on a GPU), base (12 × 768, as the papers), large (24 × 1024). Here: tiny.",
    )
    add("--start", help="Go on from this encoder, a folder or a name on the hub, instead of from a new one.")
    add(
        "--words",
        type=int,
        default=recipe.words,
        help=f"Size of the vocabulary that is trained on the data for a new encoder. Here: {recipe.words}.",
    )
    add(
        "--pooling",
        choices=("first", "mean"),
        help=f"The vector of a text: its first token's, or the mean. Here: {pooling}, or that of --start.",
    )


def _add_run(group: Any) -> None:
    add = group.add_argument
    add(
        "--folder",
        type=Path,
        help="Where checkpoints, vocabulary, history.csv and the encoder go; without it nothing is kept.",
    )
    add(
        "--fresh",
        action="store_true",
        help="Refuse a folder that already holds checkpoints, instead of going on from them.",
    )
    add(
        "--log",
        metavar="TRACKER",
        help="Also log each row of the history to one of accelerate's trackers: tensorboard, wandb, …",
    )
    add("--no-plan", dest="plan", action="store_false", help="Do not measure and print the plan first.")
    add("--quiet", action="store_true", help="No progress line.")


def run(asked: argparse.Namespace) -> ck.Run:
    """Everything after the options are read."""
    distributed.start()
    first = distributed.rank() == 0
    training = ck.Training.of(asked.training)
    rows = _rows(asked)
    encoder = _encoder(asked, rows)
    objective = _objective(asked, encoder, rows)
    texts = _texts(objective, rows, min(training.max_length, encoder.max_length))
    if first and asked.plan:
        print(ck.plan(objective, texts, training, processes=distributed.count()), flush=True)
    if asked.folder and first and not asked.fresh and checkpoint.found(asked.folder):
        print(f"Going on from {checkpoint.found(asked.folder)[-1]}.", flush=True)
    with Tracker(asked.log, asked.folder, _settings(asked)) as tracker:
        done = ck.fit(
            objective,
            texts,
            training,
            folder=asked.folder,
            resume=asked.folder is not None and not asked.fresh,
            progress=not asked.quiet,
            callback=tracker.log,
        )
    if first:
        _keep(done, asked)
    distributed.anywhere(False, encoder.device)  # nobody leaves before the first has written
    return done


def _rows(asked: argparse.Namespace) -> Any:
    """The rows of the split that was asked for."""
    splits = ck.data.load(asked.data)
    if asked.part not in splits:
        raise ValueError(f"{asked.data} has no split {asked.part!r}; there are {', '.join(splits)} (--part).")
    rows = splits[asked.part]
    return rows.select(range(min(asked.limit, len(rows)))) if asked.limit else rows


def _encoder(asked: argparse.Namespace, rows: Any) -> Encoder:
    """The encoder to start from. A new one's vocabulary is trained once, by the first process, and kept."""
    if asked.start:
        return Encoder.from_pretrained(asked.start, pooling=asked.pooling)
    kept = asked.folder / "vocabulary" if asked.folder else None
    if kept is None:
        tokenizer = _tokenizer(asked, rows)
    else:
        if distributed.rank() == 0 and not kept.exists():
            draft = kept.with_name(".vocabulary.draft")
            _tokenizer(asked, rows).save_pretrained(draft)
            os.replace(draft, kept)
        from transformers import PreTrainedTokenizerFast

        distributed.anywhere(False, distributed.start())  # the first has written it
        tokenizer = PreTrainedTokenizerFast.from_pretrained(kept)
    options = asked.recipe.encoder | ({"pooling": asked.pooling} if asked.pooling else {})
    length = asked.training.get("max_length", ck.Training.max_length)
    return Encoder.build(
        asked.scale, tokenizer, seed=asked.training.get("seed", 0), max_length=max(128, length), **options
    )


def _tokenizer(asked: argparse.Namespace, rows: Any) -> Any:
    return ck.data.train_tokenizer(ck.data.sentences(rows), vocab_size=asked.words)


def _objective(asked: argparse.Namespace, encoder: Encoder, rows: Any) -> Objective:
    cls = recipes.METHODS[asked.method]
    options = {"classes": rows} if issubclass(cls, FineTune) else {}
    return cls(encoder, seed=asked.training.get("seed", 0), **options, **asked.config)


def _texts(objective: Objective, rows: Any, length: int) -> ck.data.Texts:
    """The data as token ids; for CSSL with two paraphrases of each text."""
    tokenizer = objective.encoder.tokenizer
    if not isinstance(objective, CSSL):
        return ck.data.Texts(rows, tokenizer, max_length=length)
    if not any(name.endswith("/0") for name in rows.column_names):
        from contrast_kit.paraphrase import Toyshop, reworded

        print("The data holds no paraphrases: the toyshop's grammar makes them, which knows its own sentences only.")
        rows = reworded(rows, Toyshop())
    return ck.data.Paraphrased(rows, tokenizer, max_length=length)


def _settings(asked: argparse.Namespace) -> dict[str, Any]:
    """What a tracker notes of the run."""
    return {
        "method": asked.method,
        "data": asked.data,
        "scale": asked.scale,
        **asked.config,
        **asked.training,
    }


def _keep(done: ck.Run, asked: argparse.Namespace) -> None:
    """Write the encoder and the history, and say where they are."""
    print(done)
    if asked.folder is None:
        print("Nothing was kept: give --folder to keep checkpoints and the encoder.")
        return
    done.history.to_csv(asked.folder / "history.csv", index=False)
    (asked.folder / "settings.json").write_text(json.dumps(_settings(asked), indent=1, default=str) + "\n")
    if done.interrupted:
        print(f"Stopped after step {done.steps}; the same command goes on from there.")
        return
    saved = done.encoder.save_pretrained(asked.folder / "encoder")
    print(f'The encoder is in {saved}; open it with ck.Encoder.from_pretrained("{saved}").')
