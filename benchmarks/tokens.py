"""Text to token ids: ours beside the tokenizer library's own batch call, and transformers' call.

    python benchmarks/tokens.py

Sentences of the installed libraries' docstrings, 8,000 words, all cores.
"""

from collections.abc import Callable
from itertools import cycle, islice

from _bench import Case, main

import contrast_kit as ck
from contrast_kit.data.texts import tokenize

LENGTH = 128


def contenders(rows: int) -> dict[str, Callable[[], object]]:
    prose = ck.data.load("docstrings")["train"]["text"]
    lines = list(islice(cycle(prose), rows))
    tokenizer = ck.data.train_tokenizer(prose[:50_000], vocab_size=8_000)
    tokenizer(lines[:1], truncation=True, max_length=LENGTH)  # tells the library where to cut

    def call() -> object:
        return tokenizer(lines, truncation=True, max_length=LENGTH, return_attention_mask=False)

    return {
        "ours": lambda: tokenize(tokenizer, [lines], LENGTH),
        "the library's batch": lambda: tokenizer.backend_tokenizer.encode_batch_fast(lines),
        "transformers": call,
    }


if __name__ == "__main__":
    main(
        "tokens",
        [Case("100,000 sentences", lambda: contenders(100_000), units=100_000)],
        [Case("200 sentences", lambda: contenders(200), units=200, memory=False)],
        __doc__,
    )
