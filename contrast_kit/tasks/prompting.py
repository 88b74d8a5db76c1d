"""Prompts: rows of a task as sentences with one [MASK], alone or after solved examples (LM-BFF)."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from contrast_kit import arguments, checks
from contrast_kit.data import Texts
from contrast_kit.data.rows import column, column_names
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.objectives import FineTune, Prompt
from contrast_kit.objectives.prompt import Demonstrations
from contrast_kit.tasks import fine_tuning
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.table import Task, get_task

if TYPE_CHECKING:
    from contrast_kit.tasks.pipelines import Pipeline


def _columns_of(template: Any) -> set[str]:
    """The columns that a template names; raises for what is not a template."""
    arguments.string("template", template, "how a row is asked")
    try:
        names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError as error:
        wrong = f"The template {checks.shown(template)} cannot be read ({error})"
        raise ValueError(f"{wrong}: close each bracket, and double a bracket that is meant as text.") from None
    if names.count("mask") != 1 or not re.search(r"\s\{mask\}", template):
        raise ValueError("A template has {mask} once, after a space: '{sentence} It was {mask}.'")
    return {*names} - {"mask"}


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

    def __post_init__(self):
        object.__setattr__(self, "words", tuple(arguments.strings("words", self.words, "label words")))
        if len(self.words) < 2:
            raise ValueError("A template has a label word for each class, at least two.")
        _columns_of(self.text)
        checks.switch("demonstrations", self.demonstrations)
        checks.count("samples", self.samples, "a number of draws")
        arguments.length(self.max_length)

    def pipeline(self, **options: Any) -> "Pipeline":
        """A `Pipeline` that asks this way: `tasks.run(protocols.COCO_LM_PROMPTS, data, encoder, {"prompt": …})`."""
        from contrast_kit.tasks.pipelines import Pipeline

        return Pipeline(prompt=self, **options)

    def alone(self) -> "Template":
        """The same without demonstrations."""
        return replace(self, demonstrations=False)


MNLI = Template("{premise:cut}? {mask}, {hypothesis:lower}", ("Yes", "Maybe", "No"), samples=4, max_length=256)
"""LM-BFF's manual template and label words for MNLI: "⟨premise without its full stop⟩? Yes, ⟨hypothesis⟩"."""
TEMPLATES: dict[str, Template] = {
    "cola": Template("{sentence} This is {mask}.", ("incorrect", "correct")),
    "sst2": Template("{sentence} It was {mask}.", ("terrible", "great")),
    "mrpc": Template("{sentence1} {mask}, {sentence2:lower}", ("No", "Yes")),
    "qqp": Template("{question1} {mask}, {question2:lower}", ("No", "Yes"), samples=4),
    "mnli": MNLI,
    "qnli": Template("{question:cut}? {mask}, {sentence:lower}", ("Yes", "No")),
    "rte": Template("{sentence1:cut}? {mask}, {sentence2:lower}", ("Yes", "No"), max_length=256),
}
"""LM-BFF's manual prompts of GLUE's classification tasks."""


class _Text(str):
    """A text that a template may also take without its last character, `{premise:cut}`, or beginning in lower case."""

    def __format__(self, how: str) -> str:
        if how == "cut":
            return str(self[:-1])
        return str(self[:1].lower() + self[1:]) if how == "lower" else super().__format__(how)


def _check_rows(rows: Any, template: str) -> None:
    """Check that rows have what the template names: a gap would be filled with "None"."""
    named, there = _columns_of(template), column_names(rows)
    if lacking := sorted(name or "{}" for name in named - {*there}):
        raise ValueError(f"The template names {', '.join(lacking)}, but the columns are {', '.join(there)}.")
    for name in named:
        if gaps := [at for at, value in enumerate(column(rows, name)) if value is None]:
            raise ValueError(f"Row {gaps[0]} has no {name}, which the template names: leave such rows out.")


def _filled(template: str, row: Any, mask: str) -> str:
    values = {name: _Text(value) if isinstance(value, str) else value for name, value in dict(row).items()}
    try:
        return template.format_map(values | {"mask": mask})
    except (TypeError, ValueError, LookupError) as error:
        wrong = f"The template {checks.shown(template)} cannot be filled ({error})"
        raise ValueError(f"{wrong}: a text may be :cut or :lower, and a number is written as Python does.") from None


def prompts(
    rows: Any,
    template: str,
    tokenizer: Any,
    *,
    words: Sequence[str] = (),
    demonstrations: Any = None,
    seed: int = 0,
    labels: bool = True,
) -> list[dict[str, Any]]:
    """Each row as one text, `{"text": …, "label": …}`, with the mask in the place of its label word.

    Args:
        rows: labelled rows; without `labels`, theirs are neither needed nor read, and none are given back.
        template: with the names of columns and `{mask}` once: "{sentence} It was {mask}." The mask must follow a space,
            so that the label words are tokenized as they are in running text. `{premise:cut}` drops a text's last
            character, its full stop; `{hypothesis:lower}` makes its first letter lower case. Numbers take Python's
            formats, `{price:.2f}`.
        tokenizer: its mask token is put in.
        words: the label word of each class, needed for demonstrations.
        demonstrations: training rows. One of each class follows each row, solved: the same template with its label word
            in it. It is drawn at random, and is the row itself only where its class has no other. They are then fixed;
            LM-BFF draws them afresh for each use, as `demonstrations` and `Prompt` do.
        seed: of that draw.

    Raises:
        ValueError: for a template without one `{mask}` after a space, or demonstrations that lack a class or words.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["a fine kite it was bad good ."], vocab_size=60)
    >>> row = {"sentence": "a fine kite .", "label": 1}
    >>> other = [{"sentence": "a bad kite .", "label": 0}, {"sentence": "a good kite .", "label": 1}]
    >>> ck.tasks.prompting.prompts(
    ...     [row], "{sentence} it was {mask} .", tokenizer, words=("bad", "good"), demonstrations=other
    ... )[0]["text"]
    'a fine kite . it was [MASK] . a bad kite . it was bad . a good kite . it was good .'
    """
    _check_rows(rows, template)
    arguments.of_kind("tokenizer", tokenizer, PreTrainedTokenizerBase, "a tokenizer")
    checks.seed(seed)
    words = arguments.strings("words", words, "label words")
    by_class: list[list[dict]] = []
    if demonstrations is not None:
        _check_rows(demonstrations, template)
        solved = list(zip(demonstrations, labels_of(demonstrations), strict=True))
        by_class = [[row for row, y in solved if y == c] for c in range(len(words))]
        if not words or not all(by_class):
            raise ValueError("Demonstrations need a label word and at least one row for each class.")
    rng = random.Random(int(seed))
    texts = []
    for row in rows:
        text, itself = _filled(template, row, tokenizer.mask_token), {**row, "label": None}
        for word, of_class in zip(words, by_class, strict=False):
            others = [other for other in of_class if {**other, "label": None} != itself] or of_class
            text += " " + _filled(template, rng.choice(others), word)
        texts.append(text)
    if not labels:
        return [{"text": text} for text in texts]
    return [{"text": text, "label": label} for text, label in zip(texts, column(rows, "label"), strict=True)]


def demonstrations(rows: Any, template: str, tokenizer: Any, words: Sequence[str]) -> Demonstrations:
    """Rows as solved examples for `Prompt`, which draws one of each class afresh at every use.

    Raises:
        ValueError: for a class without a row, a template that `prompts` refuses, or a tokenizer without a separator.
    """
    labels, words = labels_of(rows), arguments.strings("words", words, "label words")
    if labels.dtype.kind not in "biu" or not ((labels >= 0) & (labels < len(words))).all():
        raise ValueError(f"Demonstrations of {len(words)} classes have the labels 0 to {len(words) - 1}.")
    asked = prompts(rows, template, tokenizer)
    if tokenizer.sep_token_id is None:
        raise ValueError("Demonstrations are set apart by the tokenizer's separator, and this tokenizer has none.")
    ids = tokenizer([prompt["text"] for prompt in asked])["input_ids"]
    solved: list[list[torch.Tensor]] = [[] for _ in words]
    questions: list[list[tuple[int, ...]]] = [[] for _ in words]
    for row, label, own in zip(rows, labels.tolist(), ids, strict=True):
        text = " " + _filled(template, row, words[label])
        found = tokenizer(text, add_special_tokens=False)["input_ids"]
        solved[label].append(torch.tensor([*found, tokenizer.sep_token_id]))
        questions[label].append(tuple(own))
    if not all(solved):
        raise ValueError("Demonstrations need at least one row for each class.")
    return Demonstrations(solved, questions)


def fine_tune(
    start: Encoder | FineTune,
    train: Any,
    validation: Any = None,
    *,
    template: Template,
    task: Task | str,
    **settings: Any,
) -> "Prompted":
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
    arguments.of_kind("template", template, Template, "a prompting.Template")
    encoder = fine_tuning.encoder_of(start)
    task, tokenizer = get_task(task), encoder.tokenizer
    length = min(template.max_length, encoder.max_length)
    options: dict[str, Any] = dict(words=template.words, samples=template.samples, max_length=length)
    if template.demonstrations:
        options["demonstrations"] = demonstrations(train, template.text, tokenizer, template.words)
    tuned = fine_tuning.fine_tune(
        encoder,
        prompts(train, template.text, tokenizer),
        None if validation is None else prompts(validation, template.text, tokenizer),
        task=replace(task, columns=("text",)),
        method=partial(Prompt, **options),
        **settings | {"max_length": length},
    )
    return Prompted(**vars(tuned), template=template)


@dataclass
class Prompted(fine_tuning.FineTuned):
    """A `FineTuned` that asks about rows in the words of its template."""

    template: Template | None = None

    def predict(self, rows: Any) -> np.ndarray:
        """Classes of rows, [N]; with demonstrations, by the mean of the logits over draws of them."""
        return super().predict(prompts(rows, self.template.text, self.encoder.tokenizer, labels=False))


@torch.no_grad()
def predict(
    objective: Prompt,
    rows: Any,
    template: str,
    *,
    demonstrations: Any = None,
    samples: int = 16,
    seed: int = 0,
    batch_size: int = 128,
    max_length: int = 128,
) -> np.ndarray:
    """Classes of rows, [N]; with demonstrations, by the mean of the *logits* over `samples` draws of them.

    A single draw of demonstrations adds its luck to the answer; LM-BFF averages the logits of 16, so that a confident
    one counts more.

    Raises:
        ValueError: as `prompts`, and where `max_length` cuts the mask off.
    """
    arguments.of_kind("objective", objective, Prompt, "a Prompt objective")
    for name, value in {"samples": samples, "batch_size": batch_size, "max_length": max_length}.items():
        checks.count(name, value, "a whole number")
    encoder, words, total = objective.encoder, objective.config.words, 0.0
    with evaluating(objective):
        for sample in range(samples if demonstrations is not None else 1):
            options = dict(words=words, demonstrations=demonstrations, seed=seed + sample, labels=False)
            prompted = prompts(rows, template, encoder.tokenizer, **options)
            texts = Texts(prompted, encoder.tokenizer, "text", min(max_length, encoder.max_length))
            logits = []
            for start in range(0, len(texts), batch_size):
                batch = texts.batch(range(start, min(start + batch_size, len(texts))))
                view = {key: value.to(encoder.device) for key, value in batch.items()}
                logits.append(objective.logits(view).float().cpu())  # [B, C]
            total = total + torch.cat(logits)  # [N, C]
    return total.argmax(1).numpy()
