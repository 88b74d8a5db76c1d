"""One masked-LM step, forward and backward, beside transformers: 4 layers × 256, 32 texts, dropout 0.1.

    python benchmarks/mlm_step.py                            # three cases: two minutes on two cores
    python benchmarks/mlm_step.py --only "30k ragged 8-64"

transformers' model computes word scores at every position, padding included, and keeps them. Ours does so at masked
positions only, in blocks (`fast.vocabulary`); `packed` skips padding; `fast float32` allows the processor's
faster product where it is as accurate (`fast.kernels`); bf16 is autocast. Millions per second are of real tokens.
"""

from collections.abc import Callable

import _texts
import torch
from _bench import Case, main

import contrast_kit as ck
from contrast_kit.fast import kernels


def transformers_step(encoder: ck.Encoder, view: dict, bf16: bool = False) -> Callable[[], None]:
    """`RobertaForMaskedLM` as its documentation has it: labels are -100 where nothing was selected."""
    model = encoder.model
    labels = view["targets"].masked_fill(~view["selected"], -100)

    def call() -> None:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(view["input_ids"], view["attention_mask"], labels=labels).loss
        loss.backward()

    return call


def our_step(
    objective: ck.objectives.MLM, view: dict, packed: bool = False, fast: bool = False, bf16: bool = False
) -> Callable[[], None]:
    def call() -> None:
        objective.zero_grad()
        objective.encoder.use_packing(packed)
        with kernels.fast_float32(fast):
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                total = objective.encode("T0", view).sums["mlm"]
            (total / objective.term_counts("T0", view)["mlm"]).backward()

    return call


def step(words: int, shortest: int, longest: int = 64, examples: int = 32) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    encoder = _texts.encoder(words)
    objective = ck.objectives.MLM(encoder)
    batch = _texts.batch(words, examples, shortest, longest)
    view = objective.views(batch, torch.Generator().manual_seed(0))["T0"]
    ragged = shortest < longest
    calls = {"ours": our_step(objective, view)}
    if ragged:
        calls["ours, packed"] = our_step(objective, view, packed=True)
    if kernels.probe().accurate:
        calls["ours, packed, fast float32"] = our_step(objective, view, packed=True, fast=True)
    calls["ours, packed, bf16"] = our_step(objective, view, packed=True, bf16=True)
    return calls | {
        "transformers": transformers_step(encoder, view),
        "transformers, bf16": transformers_step(encoder, view, bf16=True),
    }


def useful(words: int, tokens: float, masked: float = 0.15, width: int = 256, layers: int = 4) -> float:
    """Floating-point operations that a step cannot do without: 6 per weight and token.

    At masked tokens alone run the head and, of the last layer's 12 width² weights, all but keys and values.
    """
    squares = (layers - 1) * 12 + 2 + 10 * masked
    return 6 * tokens * (squares * width**2 + masked * (width**2 + words * width))


def case(name: str, words: int, shortest: int, **sizes: int) -> Case:
    batch = _texts.batch(words, sizes.get("examples", 32), shortest, sizes.get("longest", 64))
    tokens = int(batch["attention_mask"].sum())
    return Case(name, lambda: step(words, shortest, **sizes), flop=useful(words, tokens), units=tokens)


CASES = [
    case("8k dense", 8_000, 64),
    case("30k dense", 30_000, 64),
    case("30k ragged 8-64", 30_000, 8),
]
TINY = [case("500 ragged 4-8", 500, 4, longest=8, examples=2)]


def against(rows: list[dict], peer: str) -> None:
    """One line per case: how many times the peer's speed each contender has."""
    for name in dict.fromkeys(row["case"] for row in rows):
        seconds = {
            row["contender"]: row["seconds"] for row in rows if row["case"] == name and "seconds" in row
        }
        told = (f"{who} ×{seconds[peer] / took:.2f}" for who, took in seconds.items() if who != peer)
        print(f"{name}, against {peer}: {', '.join(told)}")


if __name__ == "__main__":
    against(main("mlm_step", CASES, TINY, __doc__), "transformers")
