"""Probes on as many rows as SST-2 has, beside the time that encoding the texts alone takes.

    python benchmarks/probes.py

An encoder of MiniLM's shape (6 layers × 384, not trained: its seconds are the same), 67,000 reviews of the toyshop. A
linear and a nearest-neighbour probe each encode the texts once.
"""

import time
from collections.abc import Callable

from _bench import Case, main

import contrast_kit as ck


def contenders(rows: int) -> dict[str, Callable[[], object]]:
    data = ck.tasks.load("toyshop/sst2")
    texts, labels = list(data.train["sentence"]), list(data.train["label"])
    again = -(-rows // len(texts))
    train = [  # each review told apart by a number, so that no text comes twice
        {"sentence": f"{text} {i}", "label": label}
        for i in range(again)
        for text, label in zip(texts, labels, strict=True)
    ][:rows]
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=2_000)
    encoder = ck.Encoder.small(
        tokenizer, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, pooling="mean"
    )

    def encoding() -> object:
        began = time.perf_counter()
        found = encoder.encode([row["sentence"] for row in [*train, *data.validation]])
        print(f"encoding: {time.perf_counter() - began:.1f} s", flush=True)
        return found

    def probes(*kinds: Callable[..., dict]) -> Callable[[], object]:
        def call() -> object:
            return [kind(encoder, train, data.validation, task="sst2") for kind in kinds]

        return call

    linear, nearest = ck.tasks.linear_probe, ck.tasks.knn_probe
    return {"encoding": encoding, "linear": probes(linear), "linear and nearest": probes(linear, nearest)}


if __name__ == "__main__":
    main(
        "probes",
        [Case("67,000 rows", lambda: contenders(67_000), units=67_000, memory=False)],
        [Case("100 rows", lambda: contenders(100), units=100, memory=False)],
        __doc__,
    )
