"""One COCO-LM step, views and all, forward and backward: a peer's algorithm, ours, ours lean; 4 layers × 256, 32 texts.

    python benchmarks/coco_step.py

The public peer (lucidrains/coco-lm-pytorch) has no corrective language model and scores every word at every position.
It is written here from its description, on the same Transformers: masked LM of a one-layer auxiliary model with the
scores of all positions, samples, detection instead of correction, a crop and NT-Xent; so it does *less* than ours.
"""

from collections.abc import Callable
from contextlib import nullcontext

import _texts
import torch
from _bench import Case, main
from torch.nn import functional as F

import contrast_kit as ck
from contrast_kit.fast import kernels
from contrast_kit.training.gradient import gradient


def peer(objective: ck.objectives.COCOLM, batch: dict) -> None:
    """Everything at every position, padding included."""
    main_model, helper = objective.encoder.model, objective.auxiliary.encoder.model
    g, ids, mask = torch.Generator().manual_seed(0), batch["input_ids"], batch["attention_mask"]
    vocabulary = objective.encoder.vocabulary
    masked = ck.masking.dynamic_random_mask(
        ids, batch["maskable"], 0.15, split=(1, 0, 0), generator=g, **vocabulary
    )
    crop = ck.masking.crop(ids, mask, 0.9, pad_id=0, generator=g)
    logits = helper(masked.input_ids, mask).logits  # [B, T, V]
    where = masked.selected
    loss = F.cross_entropy(logits.transpose(1, 2), ids.masked_fill(~where, -100), ignore_index=-100)
    noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-9, 1 - 1e-7)))
    sampled = torch.where(where, (logits.detach() + noise).argmax(-1), ids)
    hidden = main_model.base_model(sampled, mask).last_hidden_state
    loss = loss + 50 * losses_rtd(objective, hidden, sampled == ids, mask)
    cropped = main_model.base_model(crop.input_ids, crop.attention_mask).last_hidden_state
    (loss + ck.losses.nt_xent(hidden[:, 0], cropped[:, 0], 1.0)).backward()


def losses_rtd(objective: ck.objectives.COCOLM, hidden: torch.Tensor, same: torch.Tensor, mask: torch.Tensor):
    return ck.losses.replaced_token_detection(objective.copy_head(hidden), same, mask)


def step(words: int, shortest: int, longest: int = 64, examples: int = 32) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    objective = ck.objectives.COCOLM(_texts.encoder(words), diagnostics=False).train()
    batch = _texts.batch(words, examples, shortest, longest)

    def ours(packing: bool = False, fast: bool = False, bf16: bool = False) -> None:
        ck.faster(objective, packing=packing).zero_grad()
        with kernels.fast_float32(fast):
            autocast = (lambda: torch.autocast("cpu", torch.bfloat16)) if bf16 else nullcontext
            gradient(objective, [batch], torch.Generator().manual_seed(0), autocast=autocast)

    def theirs() -> None:
        ck.faster(objective).zero_grad()
        peer(objective, batch)

    ragged = shortest < longest
    calls = {"ours": ours} | ({"ours, packed": lambda: ours(True)} if ragged else {})
    if kernels.probe().accurate:
        calls["ours, packed, fast float32"] = lambda: ours(ragged, fast=True)
    calls["ours, packed, bf16"] = lambda: ours(ragged, bf16=True)
    return calls | {"lucidrains' algorithm": theirs}


def case(name: str, words: int, shortest: int, **sizes: int) -> Case:
    tokens = int(
        _texts.batch(words, sizes.get("examples", 32), shortest, sizes.get("longest", 64))[
            "attention_mask"
        ].sum()
    )
    return Case(name, lambda: step(words, shortest, **sizes), units=tokens)


CASES = [case("30k dense", 30_000, 64), case("30k ragged 8-64", 30_000, 8)]
TINY = [case("500 ragged 4-8", 500, 4, longest=8, examples=2)]

if __name__ == "__main__":
    main("coco_step", CASES, TINY, __doc__)
