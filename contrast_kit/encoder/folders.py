"""Folders that hold a model, written and opened so that transformers and sentence-transformers read them alike."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tokenizers import normalizers
from torch import nn
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.utils import cached_file, logging

from contrast_kit._util import choose, seeded, shipped, warn

POOLINGS = {"first": "cls", "mean": "mean"}
"""Our pooling, and sentence-transformers' word for it."""
NO_SHAPE = (
    "transformers_version",
    "architectures",
    "dtype",
    "_name_or_path",
    "taught_without_words",
)
"""Entries of a configuration that no vector depends on, and that change when a model is saved or opened."""
QUIETLY = (
    "_raise_exceptions_for_missing_entries",
    "_raise_exceptions_for_connection_errors",
)
COPY_HEAD = "copy_head.safetensors"  # what ELECTRA and COCO-LM write beside their encoder


def located(name: str | Path) -> str | Path:
    """The folder of an encoder that comes with the kit, such as "kit/books-mlm"; any other name as it is.

    Example:
        >>> located("roberta-base"), Path(located("kit/books-mlm")).name
        ('roberta-base', 'books-mlm')
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if str(name).startswith("kit/"):
        ours = {f"kit/{place.name}": place for place in shipped("checkpoints").iterdir()}
        return choose(ours, str(name), "encoder of the kit")
    return name


def read(
    name: str | Path, kind: type = AutoModelForMaskedLM
) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    """A model in float32, whatever precision it was saved in, and its tokenizer: from a folder, else from the hub.

    `kind` is transformers' class that opens it. Weights of the head that the checkpoint does not hold are drawn from
    seed 0, with a warning.

    FileNotFoundError says what to do where there is neither such a folder nor a hub in reach; ValueError where weights
    of the body are missing, which would be random.
    """
    # Without a dtype it would be the file's own.
    options = dict(dtype=torch.float32, output_loading_info=True)
    with without_bars(), seeded(0):  # for what is missing: the same at each opening
        try:
            model, info = kind.from_pretrained(name, **options)
            tokenizer = AutoTokenizer.from_pretrained(name)
        except OSError as error:
            reason = str(error).strip().splitlines()[0]
            raise FileNotFoundError(
                f"{str(name)!r} is no folder with a model and its tokenizer, and the hub gives none ({reason}): use a "
                "folder that save_pretrained wrote, or Encoder.tiny(tokenizer)."
            ) from error
    missing = [key for key in sorted(info["missing_keys"]) if ".pooler." not in key]
    lost = [key for key in missing if key.startswith(f"{model.base_model_prefix}.")]
    if lost:
        raise ValueError(
            f"{name} does not hold all weights that its config.json names: {lost[0]} is missing, of {len(lost)}. "
            "Those would be random, so it is not opened."
        )
    if missing:
        warn(
            f"{name} holds no vocabulary head, so {len(missing)} weights of it are new, drawn from seed 0: word scores "
            "mean nothing yet, and fit(…, warm_heads=0.1) trains them before anything else.",
        )
    return model, tokenizer


def write(
    folder: str | Path, model: nn.Module, tokenizer: PreTrainedTokenizerBase
) -> Path:
    """Write a model and its tokenizer into a folder, which is made; returns it."""
    folder = Path(folder).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    with without_bars():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_for_sentences(folder: Path, encoder: Any) -> None:
    """Write the files that tell sentence-transformers an encoder's pooling, and whether it divides by the length."""
    (folder / COPY_HEAD).unlink(missing_ok=True)  # of an encoder that was there before
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    if encoder.normalizes:
        paths["Normalize"] = "2_Normalize"
    modules = []
    for i, (kind, path) in enumerate(paths.items()):
        (folder / path).mkdir(exist_ok=True)
        kind = f"sentence_transformers.models.{kind}"
        modules.append(dict(idx=i, name=str(i), path=path, type=kind))
    pooling = dict(
        word_embedding_dimension=encoder.width, pooling_mode=POOLINGS[encoder.pooling]
    )
    limits = dict(max_seq_length=encoder.max_length)
    files = {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": limits,
    }
    for name, entries in files.items():
        (folder / name).write_text(json.dumps(entries, indent=2), encoding="utf-8")


def sentence_settings(
    folder: str | Path, tokenizer: PreTrainedTokenizerBase, pooling: str | None = None
) -> tuple[str, bool]:
    """What a folder of sentence-transformers does with the states: our word for its pooling ("first" where it names
    none), and whether it divides by the length. The tokenizer gets the limit and the small letters of the folder.

    ValueError for a pooling that is not ours (the maximum, say) or another module behind it, such as a `Dense` layer,
    unless the caller chose a `pooling` to take instead. Warns of a prompt that the folder puts before each text.
    """
    limits = beside(folder, "sentence_bert_config.json") or {}
    if limits.get("max_seq_length"):
        tokenizer.model_max_length = min(
            limits["max_seq_length"], tokenizer.model_max_length
        )
    if limits.get("do_lower_case"):
        whole = tokenizer.backend_tokenizer
        steps = filter(None, [normalizers.Lowercase(), whole.normalizer])
        whole.normalizer = normalizers.Sequence(list(steps))
    prompts = beside(folder, "config_sentence_transformers.json") or {}
    prompt = prompts.get("prompts", {}).get(prompts.get("default_prompt_name"))
    if prompt:
        warn(
            f"{folder} puts {prompt!r} before each text, and this kit does not: write it into your texts."
        )
    modules = beside(folder, "modules.json") or []
    paths = {module["type"].rsplit(".", 1)[-1]: module["path"] for module in modules}
    if pooling is None:
        config = beside(folder, f"{paths.get('Pooling', '1_Pooling')}/config.json")
        modes = [
            *pooling_modes(config),
            *(paths.keys() - {"Transformer", "Pooling", "Normalize"}),
        ]
        ours = [name for name, theirs in POOLINGS.items() if [theirs] == modes]
        if not ours:
            raise ValueError(
                f"{folder} makes its vectors by {' and '.join(modes) or 'no pooling'}, which is not applied here: say "
                "from_pretrained(…, pooling='mean') to take the Transformer with that pooling alone."
            )
        pooling = ours[0]
    return pooling, "Normalize" in paths


def pooling_modes(config: dict[str, Any] | None) -> list[str]:
    """The poolings that a folder's file names: in one entry, or, up to version 5, in an entry for each.

    >>> pooling_modes({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    ['mean']
    """
    if config is None:
        return ["cls"]
    modes = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
    modes = config.get("pooling_mode", modes)
    return re.findall(r"(?:pooling_mode_)?(\w+?)(?:_tokens?)?\b", str(modes))


def beside(name: str | Path, file: str) -> Any:
    """What a JSON file beside a model says, in a folder or on the hub; None where there is no such file."""
    path = cached_file(str(name), file, **dict.fromkeys(QUIETLY, False))
    if path:
        return json.loads(Path(path).read_text("utf-8"))
    return None


def architecture(model: nn.Module) -> dict[str, Any]:
    """A model's configuration: heads, activation, positions and so on, without what saving it changes."""
    return {
        name: value
        for name, value in model.config.to_dict().items()
        if name not in NO_SHAPE
    }


@contextmanager
def without_bars() -> Iterator[None]:
    """No progress bar for a local file, which loads faster than one could read it; no report, since ours follows."""
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
