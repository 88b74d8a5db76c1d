"""What training does on a pretended device: `python tests/pretended_steps.py` prints it as JSON, `--table` as a table.

Looked at are one step of every objective in each way of computing it, whole runs of `fit`, and large contrasts.
"""

import importlib
import json
import sys
import warnings
from contextlib import ExitStack
from unittest import mock

import pretended_device
import torch
from conftest import make_encoder
from objectives import OBJECTIVES, ONE_EACH
from pretended_device import SENT, waits

import contrast_kit as ck
from contrast_kit import checks, fast, losses
from contrast_kit.data import toyshop
from contrast_kit.paraphrase import Toyshop, reworded
from contrast_kit.training import distributed
from contrast_kit.training.gradient import gradient
from contrast_kit.training.settings import autocast

WAYS = {  # what is given to `ck.faster`, to `gradient`, and what is changed in `fast`
    "plain": ({}, {}, {}),
    "packing": (dict(packing=True), {}, {}),
    "fixed capacity": (dict(fixed_capacity=0.4), {}, {}),
    "chunks": ({}, dict(chunk_size=5), {}),
    "tiles": ({}, {}, dict(TILED_FROM=0, scores_at_once=lambda device: 2**10)),
    "bf16": ({}, dict(autocast=True), {}),
}
"""Of each objective in `ONE_EACH`; the other forms are looked at plain and, as their contrasts differ, in tiles."""
STEPS = 2


class Generator(torch.Generator):
    """Random numbers for the device, which has none of its own: the CPU's."""

    def __new__(cls, device=None):
        return super().__new__(cls)


def data() -> dict:
    """Texts to train on; CSSL reads two wordings of each."""
    texts = toyshop.corpus(64, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(texts)]
    plain = ck.data.Texts(rows, tokenizer, max_length=32)
    pairs = ck.data.Paraphrased(reworded(rows, Toyshop()), tokenizer, max_length=32)
    return {name: pairs if name.startswith("cssl") else plain for name in OBJECTIVES}


def step(name: str, texts, where: torch.device, way: str = "plain") -> tuple[dict[str, int], float]:
    """One step's waits and its loss."""
    faster, options, changed = WAYS[way]
    if "autocast" in options:
        options = options | dict(autocast=autocast("bf16", where))
    with ExitStack() as stack:
        for attribute, value in changed.items():
            stack.enter_context(mock.patch.object(fast, attribute, value))
        torch.manual_seed(0)
        objective = ck.faster(OBJECTIVES[name](make_encoder(texts.tokenizer)), **faster).train().to(where)
        batch = {key: value.to(where) for key, value in texts.batch(list(range(8))).items()}
        len(getattr(objective, "queue", ()))  # read once a run
        waits.clear()
        torch.manual_seed(0)
        parts, _ = gradient(objective, [batch], None, **options)
    return dict(waits), float(parts["loss"])


def steps(device: torch.device) -> dict[str, dict]:
    """One step of every objective in every way: its waits, its loss there and, computed plainly, on the CPU."""
    found = {}
    for name, texts in data().items():
        _, expected = step(name, texts, torch.device("cpu"))
        for way in WAYS if name in ONE_EACH else ("plain", "tiles"):
            seen, loss = step(name, texts, device, way)
            found.setdefault(way, {})[name] = {"waits": seen, "cpu": expected, "device": loss}
    return found


def fits(device: torch.device) -> dict[str, dict]:
    """What a run of `fit` waits for from its first step to its end, with one row of history; and the numbers in it."""
    module, found = importlib.import_module("contrast_kit.training.fit"), {}
    run = module._Loop.run

    def counted(loop, *args):
        waits.clear()  # the weights are there now
        return run(loop, *args)

    def drawn(objective, batches, generator, **options):
        return gradient(objective, batches, None, **options)

    patches = (distributed, "start", lambda: device), (module, "gradient", drawn), (module._Loop, "run", counted)
    with ExitStack() as stack:
        for owner, name, value in (*patches, (torch, "Generator", Generator)):
            stack.enter_context(mock.patch.object(owner, name, value))
        texts_of = data()
        for name in ONE_EACH:
            objective = OBJECTIVES[name](make_encoder(texts_of[name].tokenizer, dropout=0.1))
            done = ck.fit(objective, texts_of[name], steps=STEPS, batch_size=8, log_every=STEPS, progress=False)
            read = len(done.history.columns) - 3  # step, lr and seconds are known
            found[name] = {"waits": dict(waits), "read": read}
    return found


def contrasts(device: torch.device) -> dict[str, dict]:
    """The largest tensor that a contrast of 4,096 vectors makes, in numbers; the matrix would have 16,777,216.

    A GPU holds 67 million numbers at once; here it is a million, so that few vectors are many. With it the loss, there
    and on the CPU.
    """
    n = 4096
    labels, found = torch.arange(n) % 7, {}
    calls = {
        "info_nce": lambda a, b: losses.info_nce(a, b, 0.1),
        "nt_xent": lambda a, b: losses.nt_xent(a[: n // 2], b[: n // 2], 0.1),
        "sup_con": lambda a, b: losses.sup_con(a, labels.to(a.device), 0.1),
    }
    for name, call in calls.items():
        vectors = [torch.randn(n, 8, generator=torch.Generator().manual_seed(i)) for i in range(2)]
        values = []
        for where in (torch.device("cpu"), device):
            moved = [x.to(where).requires_grad_() for x in vectors]
            pretended_device.largest = 0
            with checks.unchecked(), mock.patch.object(fast, "scores_at_once", lambda device: 2**20):
                loss = call(*moved)
                loss.backward()
            values.append(float(loss.detach()))
        found[name] = {"largest": pretended_device.largest, "cpu": values[0], "device": values[1]}
    return found


def table(found: dict) -> str:
    """Waits of a step in every way, and of copies to the device after a +."""

    def told(seen: dict[str, int]) -> str:
        sent = sum(number for name, number in seen.items() if name.startswith(SENT))
        return f"{sum(seen.values()) - sent}" + (f" + {sent}" if sent else "")

    lines = [f"| a step of | {' | '.join(WAYS)} |", f"|---{'|---' * len(WAYS)}|"]
    rows = {}
    for name in ONE_EACH:
        rows.setdefault(" | ".join(told(found[way][name]["waits"]) for way in WAYS), []).append(name)
    return "\n".join([*lines, *(f"| {', '.join(names)} | {numbers} |" for numbers, names in rows.items())])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pretended = pretended_device.start()
    if "--table" in sys.argv:
        print(table(steps(pretended)))
    else:
        print(json.dumps({"steps": steps(pretended), "contrasts": contrasts(pretended), "fits": fits(pretended)}))
