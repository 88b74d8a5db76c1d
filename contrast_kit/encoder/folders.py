"""Folders that hold a model, written and opened so that transformers and sentence-transformers read them alike."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.utils import cached_file, logging

from contrast_kit._util import meant, shipped, warn

# Our pooling: sentence-transformers' word for it, and the key in the files that its versions up to 5 wrote.
POOLINGS = {
    "first": ("cls", "pooling_mode_cls_token"),
    "mean": ("mean", "pooling_mode_mean_tokens"),
}
NO_SHAPE = (
    "transformers_version",
    "architectures",
    "dtype",
    "_name_or_path",
    "taught_without_words",
)
"""Entries of a configuration that no vector depends on, and that change when a model is saved or opened."""
COPY_HEAD = "copy_head.safetensors"  # what ELECTRA and COCO-LM write beside their encoder


def located(name: str | Path) -> str | Path:
    """The folder of an encoder that comes with the kit, such as "kit/books-mlm"; any other name as it is.

    Example:
        >>> located("roberta-base"), Path(located("kit/books-mlm")).name
        ('roberta-base', 'books-mlm')
    """
    if Path(name).expanduser().is_dir():
        return Path(name).expanduser()
    if not str(name).startswith("kit/"):
        return name
    ours = {
        f"kit/{file.parent.name}": file.parent
        for file in sorted(shipped("checkpoints").glob("*/config.json"))
    }
    if str(name) not in ours:
        raise FileNotFoundError(f"The kit ships no encoder {str(name)!r}; {meant(name, ours)}")
    return ours[str(name)]


def read(
    name: str | Path, kind: type = AutoModelForMaskedLM
) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    """A model in float32, whatever precision it was saved in, and its tokenizer: from a folder, else from the hub.

    `kind` is transformers' class that opens it. Weights of the head that the checkpoint does not hold are drawn from
    seed 0, with a warning.

    FileNotFoundError says what to do where there is neither such a folder nor a hub in reach; ValueError where weights
    of the body are missing, which would be random.
    """
    options = dict(
        dtype=torch.float32, trust_remote_code=False, output_loading_info=True
    )  # else the file's own dtype
    with without_bars(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # for what is missing: the same at each opening
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


def write(folder: Path, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write a model and its tokenizer into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    with without_bars():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_for_sentences(folder: Path, encoder: Any) -> None:
    """Write the files that tell sentence-transformers an encoder's pooling, and whether it divides by the length."""
    (folder / COPY_HEAD).unlink(missing_ok=True)  # of an encoder that was there before
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    if encoder.normalizes:
        kinds["2_Normalize"] = "Normalize"
    modules = []
    for i, (path, kind) in enumerate(kinds.items()):
        (folder / path).mkdir(exist_ok=True)
        modules.append(
            {
                "idx": i,
                "name": str(i),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
        )
    pooling = {key: encoder.pooling == ours for ours, (_, key) in POOLINGS.items()}
    limits = {
        "max_seq_length": encoder.max_length,
        "do_lower_case": getattr(encoder.tokenizer, "small_letters", False),
    }
    (folder / "modules.json").write_text(json.dumps(modules, indent=2))
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": encoder.width} | pooling)
    )
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits))


class SentenceSettings(NamedTuple):
    """What a folder of sentence-transformers does with the states of a Transformer."""

    pooling: str
    normalizes: bool


def sentence_settings(
    folder: str | Path,
    tokenizer: PreTrainedTokenizerBase,
    pooling: str | None = None,
) -> SentenceSettings:
    """Read them, and give the tokenizer the limit and the small letters that the folder names.

    ValueError for a pooling that is not ours (the maximum, say) or another module behind it, such as a `Dense` layer,
    unless the caller chose a `pooling` to take instead. Warns of a prompt that the folder puts before each text.
    """
    modules = beside(folder, "modules.json") or []
    limits = beside(folder, "sentence_bert_config.json")
    if limits is None:  # sentence_roberta_config.json and the like, of old versions
        old = [beside(folder, file.name) for file in Path(folder).glob("sentence_*_config.json")]
        limits = old[0] if old else {}
    if limits.get("max_seq_length"):
        tokenizer.model_max_length = min(limits["max_seq_length"], tokenizer.model_max_length)
    if limits.get("do_lower_case"):
        small_letters(tokenizer)
    prompts = beside(folder, "config_sentence_transformers.json") or {}
    prompt = prompts.get("prompts", {}).get(prompts.get("default_prompt_name"))
    if prompt:
        warn(
            f"{folder} puts {prompt!r} before each text, and this kit does not: write it into your texts."
        )
    kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
    others = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if others and pooling is None:
        raise ValueError(
            f"{folder} has a module {others[0]} behind its pooling, which is not applied here: say "
            "from_pretrained(…, pooling='mean') to take the Transformer without it."
        )
    path = next(
        (module["path"] for module in modules if module["type"].endswith(".Pooling")),
        "1_Pooling",
    )
    return SentenceSettings(
        pooling or _pooling(folder, beside(folder, f"{path}/config.json")),
        "Normalize" in kinds,
    )


def _pooling(folder: str | Path, config: dict[str, Any] | None) -> str:
    """Our word for the pooling that a folder's file names; "first" where there is no such file."""
    if config is None:
        return "first"
    modes = config.get("pooling_mode") or [
        key for key, on in config.items() if key.startswith("pooling_mode") and on
    ]
    if isinstance(modes, str):
        modes = [modes]
    for ours, theirs in POOLINGS.items():
        if len(modes) == 1 and modes[0] in theirs:
            return ours
    raise ValueError(
        f"{folder} pools by {' and '.join(modes) or 'nothing'}, which is none of {', '.join(POOLINGS)}: say which "
        "of these to take, from_pretrained(…, pooling='mean')."
    )


def small_letters(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a fast tokenizer make small letters of a text before anything else; `small_letters` on it then says so."""
    from tokenizers import normalizers

    whole = tokenizer.backend_tokenizer
    if "Lowercase()" not in str(whole.normalizer):
        steps = [normalizers.Lowercase()]
        if whole.normalizer is not None:
            steps.append(whole.normalizer)
        whole.normalizer = normalizers.Sequence(steps)
    tokenizer.small_letters = True


def beside(name: str | Path, file: str) -> Any:
    """What a JSON file beside a model says, in a folder or on the hub; None where there is no such file."""
    path = Path(name) / file
    if not Path(name).is_dir():
        found = cached_file(
            str(name),
            file,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        path = Path(found or "nowhere")
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def architecture(model: nn.Module) -> dict[str, Any]:
    """A model's configuration: heads, activation, positions and so on, without what saving it changes."""
    return {name: value for name, value in model.config.to_dict().items() if name not in NO_SHAPE}


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
