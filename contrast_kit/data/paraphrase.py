"""The same in other words: back-translation and its stand-ins, behind one interface.

A `Paraphraser` takes texts and gives texts back: `again = paraphraser(texts, temperature=0.7, seed=0)`.

| paraphraser | how | needs |
|---|---|---|
| `Toyshop` | exchanges words and clauses of the toyshop's grammar for others that mean the same | nothing |
| `BackTranslation` | to German and back with two MarianMT models, by sampling | their folders, or the hub |

`examples/apertium.py` is one more, by dictionaries and rules. `reworded` puts paraphrases beside each text, for `CSSL`;
`augmented` adds them as further training rows (SCL 4.2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import torch

from contrast_kit._util import warn
from contrast_kit.data import hub
from contrast_kit.data.rows import as_rows, given_columns, text_columns
from contrast_kit.data.rows import column as texts_of
from contrast_kit.data.texts import WORDING
from contrast_kit.data.toyshop import wordings


class Paraphraser(ABC):
    """Texts in, as many texts out: each a paraphrase of the text in the same place.

    A subclass implements `_say_again`; `temperature` is used where a call gives none.

    >>> from contrast_kit.data.paraphrase import Paraphraser
    >>> class Shout(Paraphraser):
    ...     def _say_again(self, texts, temperature, seed):
    ...         return [text.upper() for text in texts]
    >>> Shout()(["a red ball"])
    ['A RED BALL']
    """

    temperature: float | None = None

    def __call__(
        self, texts: Sequence[str], *, temperature: float | None = None, seed: int = 0
    ) -> list[str]:
        """Paraphrase texts.

        Args:
            texts: the texts to paraphrase.
            temperature: of the sampling: 0 gives the likeliest wording, higher is freer, and above about 0.5 meaning
                begins to be lost. None takes the paraphraser's own.
            seed: the same texts, temperature and seed give the same answer.

        Raises:
            TypeError: for one string in place of several.
        """
        if isinstance(texts, str):
            raise TypeError(
                "A paraphraser takes several texts: write paraphraser([text])."
            )
        if temperature is None:
            temperature = self.temperature
        return list(self._say_again(list(texts), temperature, seed)) if len(texts) else []

    @abstractmethod
    def _say_again(
        self, texts: list[str], temperature: float | None, seed: int
    ) -> list[str]:
        """The paraphrases of texts, of which there is at least one."""


def reworded(
    rows: Any,
    paraphraser: Paraphraser,
    columns: str | Sequence[str] | None = None,
    *,
    temperature: float | None = None,
    seed: int = 0,
    keep_original: bool = False,
) -> list[dict[str, Any]]:
    """Put two wordings beside each text: the views T^0 and T^1 of CSSL, for `data.Paraphrased`.

    CMLM, eq. 13: T_b^k = back(T_b), k ∈ [0, 1]; both views are back-translations, drawn with two seeds.

    Args:
        rows: a `Dataset`, row dicts, or strings (which become a column `text`).
        paraphraser: makes the two wordings.
        columns: the text columns, found by name where not given. In a pair, each text is reworded by itself.
        temperature, seed: as the paraphraser takes them.
        keep_original: T^0 is the text itself and T^1 its one paraphrase, for when there is only one wording.

    Returns:
        the rows as dicts with the columns `sentence/0` and `sentence/1` beside `sentence`.

    >>> from contrast_kit.data.paraphrase import Toyshop, reworded
    >>> row = reworded(["The big kite is very charming."], Toyshop())[0]
    >>> sorted(row), row["text/0"] != row["text/1"]
    (['text', 'text/0', 'text/1'], True)
    """
    rows = [dict(row) for row in as_rows(rows)]
    for column in given_columns(columns) or text_columns(list(rows[0])):
        texts = texts_of(rows, column)
        views = [texts]
        if not keep_original:
            views = [paraphraser(texts, temperature=temperature, seed=2 * seed)]
        views.append(paraphraser(texts, temperature=temperature, seed=2 * seed + 1))
        for k, view in enumerate(views):
            for row, text in zip(rows, view, strict=True):
                row[WORDING.format(column=column, k=k)] = text
        if views[0] == views[1]:
            warn(
                f"Both wordings of every {column!r} are the same, so the two views differ by dropout only: take a "
                "paraphraser that has several wordings, a higher temperature, or keep_original=True.",
            )
    return rows


def augmented(
    rows: Any,
    paraphraser: Paraphraser,
    columns: str | Sequence[str] | None = None,
    *,
    copies: int = 3,
    temperature: float | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Labelled rows and, after them, `copies` paraphrases of each under the same label: a noisy training set.

    SCL, section 4.2: "an augmentation ratio of 1:3 for supervised examples:augmented examples", T from 0.3 to 0.9.
    The higher the temperature, the more rows have a label that is no longer true: that is the noise.

    Args: as for `reworded`.

    >>> from contrast_kit.data.paraphrase import Toyshop, augmented
    >>> rows = augmented([{"sentence": "This kite is a joy.", "label": 1}], Toyshop(), temperature=0.3)
    >>> [row["label"] for row in rows]
    [1, 1, 1, 1]
    """
    rows = [dict(row) for row in as_rows(rows)]
    columns = given_columns(columns) or text_columns(list(rows[0]))
    result = list(rows)
    for copy in range(copies):
        again = [dict(row) for row in rows]
        for column in columns:
            drawn = dict(temperature=temperature, seed=seed * copies + copy)
            texts = paraphraser(texts_of(rows, column), **drawn)
            for row, text in zip(again, texts, strict=True):
                row[column] = text
        result += again
    return result


# Back-translation


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

    Raises:
        FileNotFoundError: if a model is neither a folder nor available from the hub (in one sentence, within seconds).
        ImportError: where the hub's models need the package `sentencepiece` and it is not installed.

    Example:
        >>> from contrast_kit.data.paraphrase import BackTranslation
        >>> english_german = BackTranslation(temperature=0.7)  # nothing is downloaded yet
        >>> english_german.to
        'Helsinki-NLP/opus-mt-en-de'
    """

    to: str | Path = "Helsinki-NLP/opus-mt-en-de"
    back: str | Path = "Helsinki-NLP/opus-mt-de-en"
    temperature: float = 0.7
    batch_size: int = 32
    max_length: int = 128

    def _say_again(self, texts: list[str], temperature: float, seed: int) -> list[str]:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            torch.manual_seed(seed)
            for name in (self.to, self.back):
                texts = self._translate(texts, *_open(name), temperature)
        return texts

    @torch.no_grad()
    def _translate(
        self, texts: list[str], model: Any, tokenizer: Any, temperature: float
    ) -> list[str]:
        """Texts in the other language, in the order given; texts of like length are translated together."""
        sampling = {"do_sample": False}
        # top_k=0: from all words, not transformers' default of the best 50.
        if temperature > 0:
            sampling = {"do_sample": True, "temperature": temperature, "top_k": 0}
        options = dict(padding=True, truncation=True, max_length=self.max_length)
        limits = dict(num_beams=1, max_length=None, max_new_tokens=self.max_length)
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        answers = list(texts)
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            inputs = tokenizer(
                [texts[row] for row in rows], return_tensors="pt", **options
            )
            inputs = {
                name: inputs[name].to(model.device)
                for name in ("input_ids", "attention_mask")
            }
            ids = model.generate(**inputs, **limits, **sampling)
            again = tokenizer.batch_decode(ids, skip_special_tokens=True)
            for row, answer in zip(rows, again, strict=True):
                # a model that says nothing leaves the text as it is
                answers[row] = answer.strip() or texts[row]
        return answers


@lru_cache(2)
def _open(name: str | Path) -> tuple[Any, Any]:
    """A translation model and its tokenizer, from a folder or from the hub; on a GPU if there is one."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    name = str(Path(name).expanduser())
    if not Path(name).is_dir():
        local = "the folder of a MarianMT model or data.paraphrase.Toyshop()"
        hub.require(name, kind="model", local=local)
    model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=torch.float32)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.to(device).eval(), AutoTokenizer.from_pretrained(name)


# The toyshop's grammar


@dataclass
class Toyshop(Paraphraser):
    """Say a sentence of the toyshop, from the corpus or any task, of either shop, in other words of its grammar.

    Each phrase that the grammar can say in several ways (charming, delightful, lovely; "far from", "by no means") is
    said in one of them, and the order of two clauses is drawn anew ("although the fur is dull, …" ↔ "…, even though the
    fur is dull"). With probability e^(-1/T), Boltzmann's factor for a mistake that costs 1, a phrase is mistaken for
    another of its kind: an adjective for any other, perhaps of the opposite side, a colour for a colour, a toy for a
    toy. T = 0.3, 0.5, 0.7, 0.9 mistake 4, 14, 24 and 33 % of the phrases. A text without such a phrase stays as it is.

    Args:
        temperature: used where a call gives none.

    Relation to its neighbours: `data.toyshop.ways_to_say` tells a *record* in other sentence patterns; this class knows
    only words, but needs no record.

    Example:
        >>> from contrast_kit.data.paraphrase import Toyshop
        >>> texts = ["Although the fur is somewhat dull, this big kite is a joy."]
        >>> Toyshop()(texts, seed=1)
        ['The fur is moderately tedious, but this big kite is a winner.']
    """

    temperature: float = 0.0

    def _say_again(
        self, texts: list[str], temperature: float | None, seed: int
    ) -> list[str]:
        chance = math.exp(-1 / temperature) if temperature else 0.0
        return [
            wordings.reworded(text, chance, Random(f"{seed}/{text}")) for text in texts
        ]
