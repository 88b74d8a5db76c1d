"""Paraphrases from a file: made once, then looked up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contrast_kit import arguments
from contrast_kit.data.files import in_utf8
from contrast_kit.paraphrase.base import Paraphraser, check_temperature


@dataclass
class FromFile(Paraphraser):
    """Paraphrases read from a file of pairs: text, tab, the text in other words; one pair per line, no header.

    A text may occur on several lines; `seed` then chooses among its wordings (seed 0 the first, 1 the second, …,
    wrapping around). `pairs` holds all pairs in order. `write_pairs` writes such a file, for example after a day of
    `BackTranslation`; ParaNMT's files have the same form.

    Args:
        path: the file, UTF-8.
        temperature: the one that the file was made at, if known; a call for another is then refused, and if it is not
            known, a call for any.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: for a line without exactly one tab, a text that is not in the file, or another temperature.

    >>> import pathlib, tempfile
    >>> from contrast_kit.paraphrase import FromFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("it rains\\train falls\\nit rains\\train is falling\\n")
    ...     FromFile(path)(["it rains"], seed=1)
    ['rain is falling']
    """

    path: str | Path
    temperature: float | None = None
    pairs: list[tuple[str, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path = arguments.path("path", self.path, "a file of pairs")
        check_temperature(self.temperature)
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no file {path}: name a file of pairs, text and paraphrase with a tab between."
            )
        self.pairs, self._wordings = [], {}
        with in_utf8(path), path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                pair = [" ".join(part.split()) for part in line.split("\t")]
                if len(pair) != 2 or not all(pair):
                    raise ValueError(f"Line {number} of {path} is no pair: text, tab, paraphrase.")
                text, again = pair
                self.pairs.append((text, again))
                self._wordings.setdefault(text, []).append(again)

        if not self.pairs:
            raise ValueError(f"{path} holds no pair: write text, tab, paraphrase on each line.")

    @property
    def texts(self) -> list[str]:
        """Every text of the file once, in the file's order."""
        return list(self._wordings)

    def _say_again(self, texts: list[str], temperature: float | None, seed: int) -> list[str]:
        if temperature is not None and temperature != self.temperature:
            made = "an unknown temperature" if self.temperature is None else f"temperature {self.temperature}"
            raise ValueError(
                f"The paraphrases of {self.path} were made at {made} and are not available at {temperature}: leave the "
                "temperature out, or use a file of that temperature, FromFile(path, temperature=…)."
            )
        texts = [" ".join(text.split()) for text in texts]
        lacking = [text for text in texts if text not in self._wordings]
        if lacking:
            raise ValueError(
                f"{self.path} has no paraphrase of {lacking[0]!r} (nor of {len(lacking) - 1} other texts): add a line "
                "to it, text, tab, paraphrase, or take the texts from .texts."
            )
        found = (self._wordings[text] for text in texts)
        return [wordings[seed % len(wordings)] for wordings in found]


def write_pairs(path: str | Path, texts: Sequence[str], again: Iterable[str]) -> Path:
    """Write texts and their paraphrases as the file that `FromFile` reads, in place of one that is there. Tabs and line
    ends become spaces.

    >>> import tempfile, pathlib
    >>> from contrast_kit.paraphrase import FromFile, write_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_pairs(pathlib.Path(folder, "pairs.tsv"), ["it rains"], ["rain falls"])
    ...     FromFile(path).pairs
    [('it rains', 'rain falls')]
    """
    path = arguments.path("path", path, "the file to write")
    texts, again = arguments.strings("texts", texts, "texts"), arguments.strings("again", again, "paraphrases")
    if len(texts) != len(again):
        raise ValueError(f"Give a paraphrase for each text: there are {len(texts)} texts and {len(again)} paraphrases.")
    pairs = [tuple(" ".join(part.split()) for part in pair) for pair in zip(texts, again, strict=True)]
    if empty := [number for number, pair in enumerate(pairs) if not all(pair)]:
        raise ValueError(f"Pair {empty[0]} has an empty text or paraphrase: leave it out of both lists.")
    if not pairs:
        raise ValueError("There is no pair to write.")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = map("\t".join, pairs)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
