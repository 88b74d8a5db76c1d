"""Back-translation by rules: to another language and back with the program Apertium, without a model or a network.

    sudo apt install apertium apertium-eng-spa apertium-eng-cat
    python examples/apertium.py

It makes some hundred sentences a second on one core of a CPU. Its English is rough: words are exchanged, their order
changes, and now and then a meaning is lost. Nothing is sampled, so `temperature` is not read; `seed` chooses the
language, and `reworded` thus gives a text its two wordings by way of two languages.
"""

import subprocess
from dataclasses import dataclass

from contrast_kit.data.paraphrase import Paraphraser, reworded


@dataclass
class Apertium(Paraphraser):
    """Translate to another language and back with [Apertium](https://apertium.org), by dictionaries and rules.

    `languages` are the codes of the languages in between, as `apertium -l` lists their pairs with `home`.
    """

    languages: tuple[str, ...] = ("spa", "cat")
    home: str = "eng"

    def _say_again(self, texts, temperature, seed):
        language = self.languages[seed % len(self.languages)]
        texts = [" ".join(text.split()) for text in texts]
        there = translated(texts, f"{self.home}-{language}")
        again = translated(there, f"{language}-{self.home}")
        return [new or old for new, old in zip(again, texts, strict=True)]  # it may say nothing: then as it was


def translated(texts, mode):
    """Texts of one line each in the other language, each a paragraph of its own, so that none sees its neighbour."""
    command = ["apertium", "-f", "txt", "-u", mode]  # -u: words that it does not know stay as they are
    run = subprocess.run(command, input="\n\n".join(texts) + "\n", capture_output=True, encoding="utf-8", check=True)
    return [" ".join(text.split()) for text in run.stdout.removesuffix("\n").split("\n\n")]


if __name__ == "__main__":
    for row in reworded(["The film is slow.", "I had to look for my keys."], Apertium()):
        print(*row.values(), sep="\n  ")
