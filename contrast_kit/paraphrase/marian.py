"""Back-translation: to another language and back, by sampling from two translation models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from contrast_kit import checks
from contrast_kit.encoder import hf_folders
from contrast_kit.paraphrase.base import Paraphraser, check_temperature


@dataclass
class BackTranslation(Paraphraser):
    """Translate to German and back with two MarianMT models; both directions are sampled at the temperature.

    Beam search says nearly the same each time; sampling gives other words each time (SCL 4.2; Edunov et al. 2018). At
    temperature 0 the likeliest next word is always taken. Models are opened at first use and kept.

    Args:
        to: the model into the other language: a folder, or its name on the hub.
        back: the model that translates back.
        temperature: used where a call gives none. SCL: 0.3 to 0.9; its models are those of WMT'18, not these.
        batch_size: texts translated at once. Sampled words depend on it, as on the seed.
        max_length: the most tokens of a text; longer ones are cut, and so are translations.
        device: where the models run; by default a GPU if there is one.

    Raises:
        FileNotFoundError: if a model is neither a folder nor available from the hub (in one sentence, within seconds),
            or if its folder holds no tokenizer.
        ValueError: if some of its weights are missing, or it needs code of its own; for a temperature below 0, or a
            batch_size or max_length below 1.
        ImportError: where the hub's models need the package `sentencepiece` and it is not installed.

    Example:
        >>> from contrast_kit.paraphrase import BackTranslation
        >>> english_german = BackTranslation(temperature=0.7)  # nothing is downloaded yet
        >>> english_german.to
        'Helsinki-NLP/opus-mt-en-de'
    """

    to: str | Path = "Helsinki-NLP/opus-mt-en-de"
    back: str | Path = "Helsinki-NLP/opus-mt-de-en"
    temperature: float = 0.7
    batch_size: int = 32
    max_length: int = 128
    device: str | None = None

    def __post_init__(self) -> None:
        if self.temperature is None:
            raise ValueError("temperature must be a number of 0 or more, not None: it is used where a call gives none.")
        check_temperature(self.temperature)
        checks.count("batch_size", self.batch_size, "how many texts are translated at once")
        checks.count("max_length", self.max_length, "a number of tokens")

    def _say_again(self, texts: list[str], temperature: float | None, seed: int) -> list[str]:
        temperature = self.temperature if temperature is None else temperature
        device = torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.default_generator.manual_seed(int(seed))  # torch.manual_seed would seed each device there is
            if device.type == "cuda":
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(int(seed))
            elif device.type != "cpu":
                torch.get_device_module(device).manual_seed(int(seed))
            for model, tokenizer in self._models(device):
                texts = self._translate(texts, model, tokenizer, temperature)
        return texts

    def _models(self, device: torch.device) -> list[tuple[Any, Any]]:
        if not hasattr(self, "_opened"):
            self._opened = [_open(name) for name in (self.to, self.back)]
        return [(model.to(device).eval(), tokenizer) for model, tokenizer in self._opened]

    @torch.no_grad()
    def _translate(self, texts: list[str], model: Any, tokenizer: Any, temperature: float) -> list[str]:
        """Texts in the other language, in the order given; texts of like length are translated together."""
        sampling = {"do_sample": False}
        if temperature > 0:  # top_k=0: from all words, not transformers' default of the best 50
            sampling = {"do_sample": True, "temperature": temperature, "top_k": 0}
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        said = [""] * len(texts)
        for start in range(0, len(order), self.batch_size):
            some = order[start : start + self.batch_size]
            inputs = tokenizer(
                [texts[i] for i in some],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=self.max_length,
            )
            inputs = {name: inputs[name].to(model.device) for name in ("input_ids", "attention_mask")}
            ids = model.generate(
                **inputs, num_beams=1, max_length=None, max_new_tokens=self.max_length, **sampling
            )  # [B, T']
            answers = tokenizer.batch_decode(ids, skip_special_tokens=True)
            for i, answer in zip(some, answers, strict=True):
                said[i] = answer.strip() or texts[i]  # a model that says nothing leaves the text as it is
        return said


def _open(name: str | Path) -> tuple[Any, Any]:
    """A translation model and its tokenizer, from a folder or from the hub; complete, or an error in one sentence."""
    from transformers import AutoModelForSeq2SeqLM

    local = "the folder of a MarianMT model, paraphrase.Toyshop() or paraphrase.FromFile(file)"
    try:
        return hf_folders.read(name, AutoModelForSeq2SeqLM, whole=True, local=local)
    except ImportError as error:
        raise ImportError(
            f"The tokenizer of {str(name)!r} needs sentencepiece: pip install 'contrast-kit[translation]'."
        ) from error
