"""Whole training steps of a small model, data and optimizer included: `fit` beside transformers' Trainer.

    python benchmarks/trainer.py

Masked LM, 2 layers × 128, 32 texts of 8 to 24 tokens a batch, 2,000 words, AdamW, on ids made beforehand. The Trainer
draws texts of any length, as is its default; `fit` puts like lengths together.
"""

import tempfile
from collections.abc import Callable

import _texts
import torch
from _bench import Case, main

import contrast_kit as ck

WORDS, SHORTEST, LONGEST = 2_000, 8, 24


def contenders(steps: int) -> dict[str, Callable[[], object]]:
    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    batch = _texts.batch(WORDS, 1_024, SHORTEST, LONGEST)
    lengths = batch["attention_mask"].sum(1).tolist()
    ids = [row[:n].tolist() for row, n in zip(batch["input_ids"], lengths, strict=True)]
    tokenizer = _texts.tokenizer(WORDS)
    sentences = [" ".join(tokenizer.convert_ids_to_tokens(row[1:-1])) for row in ids]
    rows = Dataset.from_dict({"input_ids": ids, "length": lengths})

    def model() -> ck.Encoder:
        return ck.Encoder.tiny(tokenizer)

    def trainer(**options: object) -> Callable[[], None]:
        def call() -> None:
            with tempfile.TemporaryDirectory() as folder:
                arguments = TrainingArguments(
                    folder,
                    max_steps=steps,
                    per_device_train_batch_size=32,
                    report_to="none",
                    save_strategy="no",
                    logging_strategy="no",
                    disable_tqdm=True,
                    use_cpu=not torch.cuda.is_available(),
                    **options,
                )
                collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
                Trainer(model().model, arguments, train_dataset=rows, data_collator=collator).train()

        return call

    texts = ck.data.Texts(sentences, tokenizer)

    def ours(packing: bool = False) -> None:
        objective = ck.faster(ck.objectives.MLM(model()), packing=packing)
        ck.fit(objective, texts, steps=steps, batch_size=32, log_every=10, progress=False)

    return {
        "ours": ours,
        "ours, packed": lambda: ours(True),
        "Trainer": trainer(),
    }


if __name__ == "__main__":
    main(
        "trainer",
        [Case("60 steps", lambda: contenders(60), units=60)],
        [Case("2 steps", lambda: contenders(2), units=2)],
        __doc__,
    )
