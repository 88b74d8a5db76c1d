"""Whole training steps, data and optimizer included: `fit` beside transformers' Trainer.

    python benchmarks/trainer.py

Masked LM with AdamW on texts tokenized beforehand, one pass over the same texts for all:

| case | model | texts | batch |
|---|---|---|---|
| made | 2 layers × 128, 2,000 words | 8 to 24 tokens, drawn | 32 |
| prose | 4 layers × 256, 8,000 words, as pre-training on a CPU has it | docstrings of the installed libraries | 128 |

The Trainer draws texts of any length, as is its default, or groups those of like length, as `fit` does; in bfloat16
both keep their weights in float32. A rate counts texts.
"""

import tempfile
from collections.abc import Callable
from functools import partial

import _texts
import torch
from _bench import Case, main

import contrast_kit as ck


def made(batches: int) -> dict[str, Callable[[], object]]:
    batch = _texts.batch(2_000, 32 * batches, 8, 24)
    lengths = batch["attention_mask"].sum(1).tolist()
    tokenizer = _texts.tokenizer(2_000)
    ids = (row[1 : n - 1].tolist() for row, n in zip(batch["input_ids"], lengths, strict=True))
    sentences = [" ".join(tokenizer.convert_ids_to_tokens(row)) for row in ids]
    return contenders(ck.data.Texts(sentences, tokenizer), partial(ck.Encoder.tiny, tokenizer), 32)


def prose(batches: int) -> dict[str, Callable[[], object]]:
    sentences = ck.data.load("docstrings")["train"].shuffle(seed=0)["text"][: 128 * batches]
    tokenizer = ck.data.train_tokenizer(ck.data.load("docstrings")["train"]["text"][:50_000], vocab_size=8_000)
    texts = ck.data.Texts(sentences, tokenizer, max_length=128)
    return contenders(texts, partial(ck.Encoder.small, tokenizer, num_hidden_layers=4), 128, bf16=True)


def contenders(
    texts: ck.data.Texts, model: Callable[[], ck.Encoder], size: int, bf16: bool = False
) -> dict[str, Callable[[], object]]:
    """`fit` and the Trainer, each over all texts once, in float32 and, if asked for, in bfloat16."""
    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    rows = Dataset.from_dict({"input_ids": [texts[i]["input_ids"].tolist() for i in range(len(texts))]})
    steps = len(texts) // size

    def trainer(**options: object) -> None:
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder,
                max_steps=steps,
                per_device_train_batch_size=size,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                use_cpu=not torch.cuda.is_available(),
                **options,
            )
            collator = DataCollatorForLanguageModeling(texts.tokenizer, mlm_probability=0.15)
            Trainer(model().model, arguments, train_dataset=rows, data_collator=collator).train()

    def ours(packing: bool = False, precision: str = "float32") -> None:
        objective = ck.faster(ck.objectives.MLM(model()), packing=packing)
        ck.fit(objective, texts, steps=steps, batch_size=size, log_every=10, progress=False, precision=precision)

    grouped = dict(train_sampling_strategy="group_by_length")
    found = {"ours": ours, "ours, packed": partial(ours, True), "Trainer": trainer}
    found["Trainer, like lengths"] = partial(trainer, **grouped)
    if bf16:
        found |= {"ours, bf16": partial(ours, precision="bf16"), "Trainer, bf16": partial(trainer, bf16=True)}
        found["Trainer, bf16, like lengths"] = partial(trainer, bf16=True, **grouped)
    return found


def case(name: str, make: Callable[[int], dict], batches: int, size: int, **options: object) -> Case:
    return Case(name, lambda: make(batches), units=batches * size, **options)


if __name__ == "__main__":
    main(
        "trainer",
        [case("made, 60 steps", made, 60, 32), case("prose, 4 steps", prose, 4, 128, memory=False)],
        [case("made, 2 steps", made, 2, 32), case("prose, 1 step", prose, 1, 128, memory=False)],
        __doc__,
    )
