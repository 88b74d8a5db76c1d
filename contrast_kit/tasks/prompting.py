"""Prompts: rows of a task as sentences with one [MASK], alone or after solved examples (LM-BFF)."""

import random
import re
from collections.abc import Sequence
from string import Formatter
from typing import Any

import numpy as np
import torch

from contrast_kit.data import Texts
from contrast_kit.data.rows import column, column_names
from contrast_kit.objectives import Prompt
from contrast_kit.tasks.probes import labels_of


def prompts(
    rows: Any,
    template: str,
    tokenizer: Any,
    *,
    words: Sequence[str] = (),
    demonstrations: Any = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Each row as one text, `{"text": …, "label": …}`, with the mask in the place of its label word.

    Args:
        rows: labelled rows.
        template: with the names of columns and `{mask}` once: "{sentence} It was {mask}." The place of the mask must
            follow a space, so that the label words are the tokens that they are in running text.
        tokenizer: whose mask token is put in.
        words: the label word of each class, needed for demonstrations.
        demonstrations: training rows. One of each class follows each row, solved: the same template with its label
            word in it. It is drawn at random and is never the row itself.
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
    if template.count("{mask}") != 1 or not re.search(r"\s\{mask\}", template):
        raise ValueError("A template has {mask} once, after a space: '{sentence} It was {mask}.'")
    lacking = {name for _, name, _, _ in Formatter().parse(template) if name} - {"mask", *column_names(rows)}
    if lacking:
        raise ValueError(
            f"The template names {', '.join(sorted(lacking))}, but the columns are {', '.join(column_names(rows))}."
        )
    by_class: list[list[dict]] = []
    if demonstrations is not None:
        labels = labels_of(demonstrations)
        by_class = [[row for row, y in zip(demonstrations, labels, strict=True) if y == c] for c in range(len(words))]
        if not words or not all(by_class):
            raise ValueError("Demonstrations need a label word and at least one row for each class.")
    rng = random.Random(seed)
    result = []
    for row, label in zip(rows, column(rows, "label"), strict=True):
        text = template.format(**row, mask=tokenizer.mask_token)
        for word, of_class in zip(words, by_class, strict=False):
            others = [other for other in of_class if other != row] or of_class
            text += " " + template.format(**rng.choice(others), mask=word)
        result.append({"text": text, "label": label})
    return result


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
    """Classes of rows, [N]; with demonstrations, by the *mean of the probabilities* over `samples` draws of them.

    A single draw of demonstrations adds its luck to the answer; LM-BFF averages over 16.

    Raises:
        ValueError: as `prompts`, and where `max_length` cuts the mask off.
    """
    was_training, total = objective.training, 0.0
    objective.eval()
    encoder, words = objective.encoder, objective.config.words
    try:
        for sample in range(samples if demonstrations is not None else 1):
            prompted = prompts(
                rows,
                template,
                encoder.tokenizer,
                words=words,
                demonstrations=demonstrations,
                seed=seed + sample,
            )
            texts = Texts(prompted, encoder.tokenizer, "text", min(max_length, encoder.max_length))
            probabilities = []
            for start in range(0, len(texts), batch_size):
                batch = texts.batch(range(start, min(start + batch_size, len(texts))))
                view = {key: value.to(encoder.device) for key, value in batch.items()}
                probabilities.append(objective.logits(view).float().softmax(1).cpu())  # [B, C]
            total = total + torch.cat(probabilities)  # [N, C]
    finally:
        objective.train(was_training)
    return total.argmax(1).numpy()
