"""Folders that hold a model, written and opened so that transformers and sentence-transformers find the same there."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

from contrast_kit.data import hub

# Our pooling: sentence-transformers' word for it, and the key in the files that its versions up to 5 wrote.
THEIR_POOLINGS = {"first": ("cls", "pooling_mode_cls_token"), "mean": ("mean", "pooling_mode_mean_tokens")}
POOLINGS = tuple(THEIR_POOLINGS)


def read(name: str | Path, kind: type = AutoModelForMaskedLM) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    """A masked-LM model, in float32 whatever precision it was saved in, and its tokenizer: local, else from the hub.

    `kind` is transformers' class that opens it, for a model of another kind.
    FileNotFoundError says what to do where there is neither such a folder nor a hub in reach.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise FileNotFoundError(
                f"{folder} holds no config.json, so it is no saved model; name the folder that does "
                "(a vocabulary alone is opened by data.open_tokenizer)."
            )
        return _open(folder, kind)
    with hub.access(str(name), kind="model", local="a folder that save_pretrained wrote, or Encoder.tiny(tokenizer)"):
        return _open(name, kind)


def _open(name: str | Path, kind: type) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    with without_bars():
        model = kind.from_pretrained(name, dtype=torch.float32)  # else it is the file's own
        return model, AutoTokenizer.from_pretrained(name)


def write(folder: Path, model: nn.Module, tokenizer: PreTrainedTokenizerBase, pooling: str, max_length: int) -> None:
    """Write a model, its tokenizer, and the small files that tell sentence-transformers the pooling."""
    folder.mkdir(parents=True, exist_ok=True)
    with without_bars():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    st = "sentence_transformers.models."
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": st + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": st + "Pooling"},
    ]
    flags = {key: pooling == ours for ours, (_, key) in THEIR_POOLINGS.items()}
    width = {"word_embedding_dimension": model.config.hidden_size}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "modules.json").write_text(json.dumps(modules, indent=2))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(width | flags, indent=2))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_length}))


def pooling_of(folder: str | Path) -> str | None:
    """The pooling that a folder names, or None where it names none; ValueError if it is not ours (the maximum, say)."""
    file = Path(folder).expanduser() / "1_Pooling" / "config.json"
    if not file.exists():
        return None
    found = json.loads(file.read_text())
    modes = found.get("pooling_mode") or [key for key, on in found.items() if key.startswith("pooling_mode") and on]
    modes = [modes] if isinstance(modes, str) else modes
    for ours, theirs in THEIR_POOLINGS.items():
        if len(modes) == 1 and modes[0] in theirs:
            return ours
    raise ValueError(
        f"{folder} pools by {' and '.join(modes) or 'nothing'}, which is none of {', '.join(POOLINGS)}: say which "
        "of these to take, from_pretrained(…, pooling='mean')."
    )


def max_length_of(folder: str | Path) -> int | None:
    """The longest input, in tokens, that a sentence-transformers folder names, or None where it names none."""
    file = Path(folder).expanduser() / "sentence_bert_config.json"
    return json.loads(file.read_text()).get("max_seq_length") if file.exists() else None


@contextmanager
def without_bars() -> Iterator[None]:
    """No bar for reading or writing a local file: it is over before one could read it."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
