"""Masking beside transformers' collator: millions of tokens per second, forward only, as for a step of training.

    python benchmarks/masking.py

Both select 15 % and split it 80/10/10. The collator is timed as it is called (a list of examples, padding
included) and for its masking alone, on a tensor that is there already.
"""

from collections.abc import Callable

import torch
from _bench import Case, main

from contrast_kit import data, masking


def dynamic(b: int, t: int) -> dict[str, Callable[[], object]]:
    """b texts of t tokens from a vocabulary of 30,000 (ids from 5 on; 5 special tokens)."""
    from transformers import DataCollatorForLanguageModeling

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 30_000, (b, t), generator=generator)
    ids[:, 0], ids[:, -1] = 2, 3
    maskable = ids >= 5
    tokenizer = data.train_tokenizer(["a red kite over the shelf", "a small drum by the door"], vocab_size=60)
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    examples = [{"input_ids": row} for row in ids.tolist()]
    words = dict(mask_id=4, vocab_size=30_000)
    first = masking.dynamic_random_mask(ids, maskable, 0.15, **words)

    def theirs() -> object:
        return collator.torch_mask_tokens(ids.clone(), special_tokens_mask=~maskable)

    return {
        "ours": lambda: masking.dynamic_random_mask(ids, maskable, 0.15, generator=generator, **words),
        "ours, complementary": lambda: masking.complementary_random_mask(
            ids, maskable, first.selected, 0.7, generator=generator, **words
        ),
        "transformers, masking alone": theirs,
        "transformers, collator": lambda: collator(examples),
    }


def case(b: int, t: int) -> Case:
    return Case(f"{b} x {t}", lambda: dynamic(b, t), units=b * t, facts={"texts": b, "length": t})


if __name__ == "__main__":
    main("masking", [case(32, 128), case(256, 128), case(256, 512)], [case(4, 16)], __doc__)
