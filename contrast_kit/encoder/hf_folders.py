"""Folders that hold a model, written and opened so that transformers and sentence-transformers read them alike."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import cached_file, logging

from contrast_kit import arguments
from contrast_kit._names import meant
from contrast_kit._shipped import shipped
from contrast_kit._warn import warn
from contrast_kit.data import hub
from contrast_kit.data.tokenizers import small_letters

# Our pooling: sentence-transformers' word for it, and the key in the files that its versions up to 5 wrote.
POOLINGS = {"first": ("cls", "pooling_mode_cls_token"), "mean": ("mean", "pooling_mode_mean_tokens")}
SHIPPED = shipped("checkpoints")
"""Encoders that come with the kit, trained by `benchmarks/books.py`; each has a card."""
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")
"""Files that hold a vocabulary: of fast tokenizers, of the slow ones of BERT and RoBERTa, of SentencePiece."""
NO_SHAPE = ("transformers_version", "architectures", "dtype", "_name_or_path", "taught_without_words")
"""Entries of a configuration that no vector depends on, and that change when a model is saved or opened."""
COPY_HEAD = "copy_head.safetensors"  # what ELECTRA and COCO-LM write beside their encoder
LOCAL = "a folder that save_pretrained wrote, or Encoder.tiny(tokenizer)"


def located(name: str | Path) -> str | Path:
    """The folder of an encoder that comes with the kit, such as "kit/books-mlm"; any other name as it is.

    Example:
        >>> located("roberta-base"), Path(located("kit/books-mlm")).name
        ('roberta-base', 'books-mlm')
    """
    arguments.path("name", name, "the name of a folder or of a model")
    kit, _, which = str(name).partition("/")
    if kit != "kit" or Path(name).expanduser().is_dir():
        return name
    if not which or not (SHIPPED / which / "config.json").is_file():
        have = [f"kit/{file.parent.name}" for file in sorted(SHIPPED.glob("*/config.json"))]
        raise FileNotFoundError(f"The kit ships no encoder {str(name)!r}; {meant(name, have)}")
    return SHIPPED / which


def read(
    name: str | Path, kind: type = AutoModelForMaskedLM, *, whole: bool = False, local: str = LOCAL
) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    """A masked-LM model, in float32 whatever precision it was saved in, and its tokenizer: local, else from the hub.

    `kind` is transformers' class that opens it, for a model of another kind. Weights of the vocabulary head that the
    checkpoint does not hold are drawn from seed 0, with a warning; if it must be `whole`, they are refused like any
    other. `local` says what to take where there is no hub.

    FileNotFoundError says what to do where there is neither such a folder nor a hub in reach, or no tokenizer;
    ValueError where the model is of another kind or needs code of its own, or the weights are not all there.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise FileNotFoundError(
                f"{folder} holds no config.json, so it is no saved model; name the folder that does "
                "(a vocabulary alone is opened by data.open_tokenizer)."
            )
        if not any(file for pattern in VOCABULARIES for file in folder.glob(pattern)):
            raise FileNotFoundError(
                f"{folder} holds a model but no tokenizer ({', '.join(VOCABULARIES)}): save both into one folder."
            )
        return _open(folder, kind, whole)
    with hub.access(str(name), kind="model", local=local):
        return _open(name, kind, whole)


def _open(name: str | Path, kind: type, whole: bool) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    options = dict(dtype=torch.float32, trust_remote_code=False, output_loading_info=True)  # else the file's own dtype
    with without_bars(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # for what is missing: the same at each opening
        try:
            model, info = kind.from_pretrained(name, **options)
            tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        except ValueError as error:
            if "Unrecognized configuration class" in str(error):  # which goes on with the names of all that would do
                found = str(error).split("'")[1].rpartition(".")[2]
                raise hub.UnusableError(f"{name} holds a {found} model: take one that {kind.__name__} opens.") from None
            if "remote" not in str(error) and "custom code" not in str(error):
                raise
            raise hub.UnusableError(
                f"{name} needs Python code of its own, which this kit never runs: take a model that transformers knows."
            ) from error
        except SafetensorError as error:
            raise hub.UnusableError(f"The weights in {name} are damaged ({error}): copy or save them again.") from error
    missing, prefix = sorted(info["missing_keys"]), "" if whole else f"{model.base_model_prefix}."
    lost = [key for key in missing if key.startswith(prefix) and ".pooler." not in key]
    if lost:
        raise hub.UnusableError(
            f"{name} does not hold all weights that its config.json names: {lost[0]} is missing"
            f"{f' and {len(lost) - 1} more' if len(lost) > 1 else ''}. Those would be random, so it is not opened."
        )
    if new := [key for key in missing if key not in lost and ".pooler." not in key]:
        warn(
            f"{name} holds no vocabulary head, so {len(new)} weights of it are new, drawn from seed 0: word scores "
            "mean nothing yet, and fit(…, warm_heads=0.1) trains them before anything else.",
        )
    return model, tokenizer


def write(folder: Path, encoder: Any) -> None:
    """Write its model, its tokenizer, and files that tell sentence-transformers its pooling, and if it normalises."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling"} | ({"2_Normalize": "Normalize"} if encoder.normalizes else {})
    for path in kinds:
        (folder / path).mkdir(parents=True, exist_ok=True)
    (folder / COPY_HEAD).unlink(missing_ok=True)  # of an encoder that was there before
    with without_bars():
        encoder.model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    flags = {key: encoder.pooling == ours for ours, (_, key) in POOLINGS.items()}
    limits = {"max_seq_length": encoder.max_length, "do_lower_case": getattr(encoder.tokenizer, "small_letters", False)}
    (folder / "modules.json").write_text(json.dumps(modules, indent=2))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": encoder.width} | flags))
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits))


def architecture(model: nn.Module) -> dict[str, Any]:
    """A model's configuration: heads, activation, positions and so on, without what saving it changes."""
    return {name: value for name, value in model.config.to_dict().items() if name not in NO_SHAPE}


def pooling_of(folder: str | Path) -> str | None:
    """The pooling that a folder names, or None where it names none; ValueError if it is not ours (the maximum, say)."""
    modules = _beside(folder, "modules.json") or []
    path = next((module["path"] for module in modules if module["type"].endswith(".Pooling")), "1_Pooling")
    if (found := _beside(folder, f"{path}/config.json")) is None:
        return None
    modes = found.get("pooling_mode") or [key for key, on in found.items() if key.startswith("pooling_mode") and on]
    modes = [modes] if isinstance(modes, str) else modes
    for ours, theirs in POOLINGS.items():
        if len(modes) == 1 and modes[0] in theirs:
            return ours
    raise ValueError(
        f"{folder} pools by {' and '.join(modes) or 'nothing'}, which is none of {', '.join(POOLINGS)}: say which "
        "of these to take, from_pretrained(…, pooling='mean')."
    )


def normalizes(folder: str | Path, pooling: str | None = None) -> bool:
    """Whether a sentence-transformers folder divides vectors by their length, after the pooling.

    ValueError for another module there, such as a `Dense` layer, unless the caller chose a `pooling` to take instead.
    """
    kinds = [module["type"].rsplit(".", 1)[-1] for module in _beside(folder, "modules.json") or []]
    others = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if others and pooling is None:
        raise ValueError(
            f"{folder} has a module {others[0]} behind its pooling, which is not applied here: say "
            "from_pretrained(…, pooling='mean') to take the Transformer without it."
        )
    return "Normalize" in kinds


def read_as_there(folder: str | Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Give a tokenizer the limit and the small letters that a sentence-transformers folder names; tell its prompt."""
    old = [file.name for file in Path(folder).expanduser().glob("sentence_*_config.json")]  # sentence_roberta_…
    said = next(filter(None, (_beside(folder, file) for file in ["sentence_bert_config.json", *old])), {})
    tokenizer.model_max_length = min(said.get("max_seq_length") or math.inf, tokenizer.model_max_length)
    if said.get("do_lower_case"):
        small_letters(tokenizer)
    more = _beside(folder, "modules.json") and _beside(folder, "config_sentence_transformers.json") or {}
    if prompt := (more.get("prompts") or {}).get(more.get("default_prompt_name")):
        warn(f"{folder} puts {prompt!r} before each text, and this kit does not: write it into your texts.")


def _beside(name: str | Path, file: str) -> Any:
    """What a JSON file beside a model says, in a folder or on the hub; None where there is no such file."""
    found = Path(name).expanduser() / file
    if not found.parent.is_dir() and not Path(name).expanduser().is_dir():
        with hub.access(str(name), kind="model", local="a folder"):
            found = cached_file(str(name), file, _raise_exceptions_for_missing_entries=False)
        if not found and try_to_load_from_cache(str(name), file) is None and not hub.reachable():
            warn(
                f"Whether {name} has a {file} cannot be told without the hub, so it is read as if it had none; "
                "from_pretrained(…, pooling=…) says how it pools, else the first token's state is taken.",
            )
    return json.loads(Path(found).read_text("utf-8")) if found and Path(found).is_file() else None


@contextmanager
def without_bars() -> Iterator[None]:
    """No progress bar for a local file, which loads faster than one could read it; no report, since ours follows."""
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()
