"""Prompts: rows of a task as sentences with one [MASK], alone or after solved examples (LM-BFF)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from string import Formatter
from typing import Any

import torch

from contrast_kit.data.papers import LM_BFF_TEMPLATES
from contrast_kit.data.rows import as_rows, column
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.tasks import fine_tuning
from contrast_kit.tasks.prompt import Demonstrations, Prompt
from contrast_kit.tasks.protocol import Pipeline
from contrast_kit.tasks.table import Task, get_task, labels_of


@dataclass(frozen=True)
class Template:
    """How a task is asked, as data: the template, a word for each class, and how many demonstrations are averaged.

    >>> MNLI.words[0], MNLI.samples
    ('Yes', 4)
    """

    text: str
    """With the names of columns and `{mask}` once; see `prompts`."""
    words: tuple[str, ...]
    """The label word of each class, in the order of the label integers."""
    demonstrations: bool = True
    """Whether solved training rows follow each row."""
    samples: int = 16
    """Draws of demonstrations over which a prediction's logits are averaged."""
    max_length: int = 128
    """Tokens of a prompt with its demonstrations."""

    def pipeline(self) -> Pipeline:
        """A `Pipeline` that asks this way: `tasks.run(protocols.COCO_LM_PROMPTS, data, encoder, {"prompt": …})`."""
        return Pipeline(prompt=self)

    def alone(self) -> "Template":
        """The same without demonstrations."""
        return replace(self, demonstrations=False)


TEMPLATES = {task: Template(**row) for task, row in LM_BFF_TEMPLATES.items()}
"""LM-BFF's manual prompts of GLUE's classification tasks."""
MNLI = TEMPLATES["mnli"]
"""LM-BFF's manual template and label words for MNLI: "⟨premise without its full stop⟩? Yes, ⟨hypothesis⟩"."""


class _Text(str):
    """A text that a template may also take without its last character, `{premise:cut}`, or beginning in lower case."""

    def __format__(self, how: str) -> str:
        forms = {"cut": self[:-1], "lower": self[:1].lower() + self[1:]}
        return str(forms[how]) if how in forms else super().__format__(how)


def _filled(
    rows: Any,
    template: str,
    words: Sequence[str],
) -> list[str]:
    """The template filled with each row, and with a word of its own in the place of `{mask}`."""
    names = {name for _, name, _, _ in Formatter().parse(template) if name} - {"mask"}
    columns, texts = [column(rows, name) for name in names], []
    for row, (word, *values) in enumerate(zip(words, *columns, strict=True)):
        cells = {"mask": word}
        for name, value in zip(names, values, strict=True):
            if value is None:
                raise ValueError(
                    f"Row {row} has no {name}, which the template names: leave such rows out."
                )
            cells[name] = _Text(value) if isinstance(value, str) else value
        texts.append(template.format(**cells))
    return texts


def prompts(
    rows: Any, template: str, tokenizer: Any, *, labels: bool = True
) -> list[dict[str, Any]]:
    """Each row as one text, `{"text": …, "label": …}`, with the mask in the place of its label word.

    Args:
        rows: labelled rows; without `labels`, theirs are neither needed nor read, and none are given back.
        template: with the names of columns and `{mask}` once: "{sentence} It was {mask}." The mask must follow a space,
            so that the label words are tokenized as they are in running text. `{premise:cut}` drops a text's last
            character, its full stop; `{hypothesis:lower}` makes its first letter lower case. Numbers take Python's
            formats, `{price:.2f}`.
        tokenizer: its mask token is put in.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["a fine kite it was bad good ."], vocab_size=60)
    >>> ck.tasks.prompting.prompts([{"sentence": "a fine kite", "label": 1}], "{sentence} . it was {mask} .", tokenizer)
    [{'text': 'a fine kite . it was [MASK] .', 'label': 1}]
    """
    if template.count(" {mask}") != 1 or template.count("{mask}") != 1:
        raise ValueError(
            "A template has {mask} once, after a space: '{sentence} It was {mask}.'"
        )
    texts = _filled(rows, template, [tokenizer.mask_token] * len(as_rows(rows)))
    asked = [{"text": text} for text in texts]
    if labels:
        for row, label in zip(asked, column(rows, "label"), strict=True):
            row["label"] = label
    return asked


def demonstrations(
    rows: Any, template: str, tokenizer: Any, words: Sequence[str]
) -> Demonstrations:
    """Rows as solved examples for `Prompt`, which draws one of each class afresh at every use."""
    labels, asking = labels_of(rows).tolist(), prompts(rows, template, tokenizer)
    questions = tokenizer([row["text"] for row in asking])["input_ids"]
    answered = _filled(rows, template, [words[label] for label in labels])
    texts = [f" {text}" for text in answered]
    answers = tokenizer(texts, add_special_tokens=False)["input_ids"]
    solved: list[list[torch.Tensor]] = [[] for _ in words]
    asked: list[list[tuple[int, ...]]] = [[] for _ in words]
    for label, question, answer in zip(labels, questions, answers, strict=True):
        solved[label].append(torch.tensor([*answer, tokenizer.sep_token_id]))
        asked[label].append(tuple(question))
    if not all(solved):
        raise ValueError("Demonstrations need at least one row for each class.")
    return Demonstrations(solved, asked)


def fine_tune(
    start: Encoder | FineTune,
    train: Any,
    validation: Any = None,
    *,
    template: Template,
    task: Task | str,
    **settings: Any,
) -> fine_tuning.FineTuned:
    """Prompt-based fine-tuning of a copy of `start` on a few rows; arguments otherwise as `tasks.fine_tune`, except
    that `max_length` is always the template's.

    With `template.demonstrations`, each use of a row draws solved training rows afresh, and each prediction averages
    the logits of `template.samples` draws.

    Example:
        >>> import contrast_kit as ck
        >>> data = ck.tasks.load("toyshop/sst2")
        >>> lines = [*data.train["sentence"][:500], *["It was terrible . It was great ."] * 200]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(lines, vocab_size=600))
        >>> asked, few = ck.tasks.prompting.TEMPLATES["sst2"], data.train.select(range(16))
        >>> tuned = ck.tasks.prompting.fine_tune(encoder, few, template=asked, task="sst2", steps=1)
        >>> len(tuned.predict(data.validation.select(range(5))))
        5
    """
    encoder = fine_tuning.encoder_of(start)
    how = dict(template=template.text, tokenizer=encoder.tokenizer)
    ask, length = partial(prompts, **how), min(template.max_length, encoder.max_length)
    options = dict(words=template.words, samples=template.samples, max_length=length)
    if template.demonstrations:
        options["demonstrations"] = demonstrations(train, **how, words=template.words)
    tuned = fine_tuning.fine_tune(
        encoder,
        ask(train),
        None if validation is None else ask(validation),
        task=replace(get_task(task), columns=("text",)),
        method=partial(Prompt, **options),
        **settings | {"max_length": length},
    )
    tuned.ask = partial(ask, labels=False)
    return tuned
