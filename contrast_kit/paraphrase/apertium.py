"""Back-translation by rules: to another language and back with the program Apertium, without a model or a network."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from contrast_kit import arguments
from contrast_kit.paraphrase.base import Paraphraser

_INSTALL = "apt install apertium apertium-eng-spa apertium-eng-cat (Debian, Ubuntu; others: wiki.apertium.org)"


@dataclass
class Apertium(Paraphraser):
    """Translate to another language and back with [Apertium](https://apertium.org), by dictionaries and rules.

    It makes some hundred sentences a second on one core of a CPU. Its English is rough: words are exchanged, their
    order changes, and now and then a meaning is lost. Nothing is sampled, so there is no temperature, and a language
    always gives the same wording; `seed` chooses the language (0 the first, 1 the second, …, wrapping around), and
    `reworded` thus gives a text its two wordings by way of two languages. Needs the program and a pair of languages
    for each: `apt install apertium apertium-eng-spa apertium-eng-cat`.

    Args:
        languages: codes of the languages in between, as `apertium -l` lists their pairs with `home`.
        home: the code of the texts' language.

    Raises:
        FileNotFoundError: if Apertium, or a pair of languages, is not installed.
        ValueError: for a temperature.

    Example:
        >>> from contrast_kit.paraphrase import Apertium
        >>> Apertium().languages  # nothing is run yet
        ('spa', 'cat')
        >>> Apertium()(["The film is slow."], temperature=0.5)
        Traceback (most recent call last):
        ...
        ValueError: Apertium samples nothing, so it has no temperature 0.5: leave it out.
    """

    languages: Sequence[str] = ("spa", "cat")
    home: str = "eng"

    def __post_init__(self) -> None:
        self.languages = tuple(arguments.strings("languages", self.languages, "codes of languages"))
        if not self.languages:
            raise ValueError('Apertium translates to another language and back: give one or more, languages=("spa",).')

    def _say_again(self, texts: list[str], temperature: float | None, seed: int) -> list[str]:
        if temperature is not None:
            raise ValueError(f"Apertium samples nothing, so it has no temperature {temperature}: leave it out.")
        other, texts = self.languages[seed % len(self.languages)], [" ".join(text.split()) for text in texts]
        again = texts
        for mode in (f"{self.home}-{other}", f"{other}-{self.home}"):
            again = _translated(again, mode)
        return [new or old for new, old in zip(again, texts, strict=True)]  # it may say nothing: then as it was


def _translated(texts: list[str], mode: str) -> list[str]:
    """Texts of one line each in the other language, each a paragraph of its own, so that none sees its neighbour."""
    if not shutil.which("apertium"):
        raise FileNotFoundError(
            f"There is no program apertium here: {_INSTALL}, or take paraphrase.Toyshop() or paraphrase.FromFile(file)."
        )
    command = ["apertium", "-f", "txt", "-u", mode]  # -u: words that it does not know stay as they are
    ran = subprocess.run(command, input="\n\n".join(texts) + "\n", capture_output=True, encoding="utf-8")
    said = [" ".join(text.split()) for text in ran.stdout.removesuffix("\n").split("\n\n")]
    if ran.returncode:
        raise FileNotFoundError(f"Apertium cannot translate {mode} here ({_complaint(ran)}): {_INSTALL}.")
    if len(said) != len(texts):
        raise RuntimeError(f"Apertium gave {len(said)} answers to {len(texts)} texts: give it fewer texts at once.")
    return said


def _complaint(ran: subprocess.CompletedProcess) -> str:
    """What the program said about its failure, in a few words."""
    lines = [line for line in (ran.stdout + ran.stderr).splitlines() if "Error" in line]
    return (lines or ["no reason given"])[0].strip()[:100]
