"""What every paraphraser is, and the two ways to use one on the rows of a task."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from contrast_kit import arguments, checks
from contrast_kit._warn import warn
from contrast_kit.data.paraphrased import WORDING
from contrast_kit.data.rows import as_rows, given_columns, text_columns
from contrast_kit.data.rows import column as texts_of


def check_temperature(temperature: float | None) -> None:
    """Refuse, with a ValueError, what is not a sampling temperature; None leaves it to the paraphraser."""
    if temperature is not None and not (checks.is_number(temperature) and temperature >= 0):
        raise ValueError(f"temperature must be a number of 0 or more, not {checks.shown(temperature)}.")


class Paraphraser(ABC):
    """Texts in, as many texts out: each a paraphrase of the text in the same place.

    A subclass implements `_say_again`; the checks are done here.

    >>> from contrast_kit.paraphrase import Paraphraser
    >>> class Shout(Paraphraser):
    ...     def _say_again(self, texts, temperature, seed):
    ...         return [text.upper() for text in texts]
    >>> Shout()(["a red ball"])
    ['A RED BALL']
    """

    def __call__(self, texts: Sequence[str], *, temperature: float | None = None, seed: int = 0) -> list[str]:
        """Paraphrase texts.

        Args:
            texts: the texts to paraphrase.
            temperature: of the sampling: 0 gives the likeliest wording, higher is freer, and above about 0.5 meaning
                begins to be lost. None takes the paraphraser's own.
            seed: the same texts, temperature and seed give the same answer.

        Raises:
            TypeError: for one string in place of several, or something that is not text.
            ValueError: for a temperature below 0.
            RuntimeError: where `_say_again` gives more or fewer texts; TypeError where it gives something else.
        """
        if isinstance(texts, str):
            raise TypeError("A paraphraser takes several texts: write paraphraser([text]).")
        texts = arguments.strings("texts", texts, "texts")
        check_temperature(temperature)
        checks.seed(seed)
        return _answers(self, texts, self._say_again(texts, temperature, seed) if texts else [])

    @abstractmethod
    def _say_again(self, texts: list[str], temperature: float | None, seed: int) -> list[str]:
        """The paraphrases of checked texts, of which there is at least one."""


def _answers(paraphraser: Any, texts: list[str], again: Any) -> list[str]:
    """What a paraphraser, or another function, made of texts: a text for each."""
    name = getattr(paraphraser, "__name__", type(paraphraser).__name__)
    again = arguments.strings(f"{name}'s answer", again, "texts")
    if len(again) != len(texts):
        raise RuntimeError(f"{name} gave {len(again)} answers to {len(texts)} texts.")
    return again


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
        keep_original: T^0 is the text itself and T^1 its one paraphrase, for when there is only one wording, as in a
            file of pairs.

    Returns:
        the rows as dicts with the columns `sentence/0` and `sentence/1` beside `sentence`.

    >>> from contrast_kit.paraphrase import Toyshop, reworded
    >>> row = reworded(["The big kite is very charming."], Toyshop())[0]
    >>> sorted(row), row["text/0"] != row["text/1"]
    (['text', 'text/0', 'text/1'], True)
    """
    checks.switch("keep_original", keep_original)
    rows, columns = _checked(rows, paraphraser, columns, seed)
    result = [dict(row) for row in rows]
    for column in columns:
        texts = texts_of(rows, column)
        for k in (0, 1):
            if keep_original and k == 0:
                again = texts
            else:
                again = _answers(paraphraser, texts, paraphraser(texts, temperature=temperature, seed=2 * seed + k))
            for row, text in zip(result, again, strict=True):
                row[WORDING.format(column=column, k=k)] = text
        names = [WORDING.format(column=column, k=k) for k in (0, 1)]
        if all(row[names[0]] == row[names[1]] for row in result):
            warn(
                f"Both wordings of every {column!r} are the same, so the two views differ by dropout only: take a "
                "paraphraser that has several wordings, a higher temperature, or keep_original=True.",
            )
    return result


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

    >>> from contrast_kit.paraphrase import Toyshop, augmented
    >>> rows = augmented([{"sentence": "This kite is a joy.", "label": 1}], Toyshop(), temperature=0.3)
    >>> [row["label"] for row in rows]
    [1, 1, 1, 1]
    """
    checks.count("copies", copies, "the number of paraphrases of each row")
    rows, columns = _checked(rows, paraphraser, columns, seed)
    result = [dict(row) for row in rows]
    texts = {column: texts_of(rows, column) for column in columns}
    for copy in range(copies):
        again = {
            column: _answers(paraphraser, those, paraphraser(those, temperature=temperature, seed=seed * copies + copy))
            for column, those in texts.items()
        }
        result += [row | {column: again[column][i] for column in columns} for i, row in enumerate(rows)]
    return result


def _checked(
    rows: Any, paraphraser: Any, columns: str | Sequence[str] | None, seed: int
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Rows as dicts, and the names of their text columns."""
    if not callable(paraphraser):
        raise TypeError(f"paraphraser must be a Paraphraser, such as Toyshop(), not {checks.shown(paraphraser)}.")
    checks.seed(seed)
    rows = [dict(row) for row in as_rows(rows)]
    return rows, given_columns(columns) or text_columns(list(rows[0]))
