"""What training does on a pretended device: `python tests/pretended_steps.py` prints it as JSON.

Looked at are one step of every objective in each way of computing it, and large contrasts.
"""

import json
import warnings
from unittest import mock

import pretended_device
import torch
from conftest import make_encoder, with_wordings
from objectives import OBJECTIVES, ONE_EACH

import contrast_kit as ck
from contrast_kit import checks, fast, losses
from contrast_kit.data import toyshop
from contrast_kit.training.gradient import gradient

WAYS = {
    "plain": {},
    "packing": dict(packing=True),
    "fixed capacity": dict(fixed_capacity=0.4),
}
"""What is given to `ck.faster`, of each objective in `ONE_EACH`."""


def batch_of_eight():
    """Eight texts with labels and two wordings of each, and their tokenizer."""
    texts = toyshop.corpus(64, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    batch = with_wordings(texts, tokenizer).batch(range(8))
    return batch | {"label": torch.arange(8) % 2}, tokenizer


def step(name, batch, tokenizer, where, way="plain"):
    """The loss of one step."""
    torch.manual_seed(0)
    objective = (
        ck.faster(OBJECTIVES[name](make_encoder(tokenizer)), **WAYS[way])
        .train()
        .to(where)
    )
    moved = {key: value.to(where) for key, value in batch.items()}
    torch.manual_seed(0)
    parts, _ = gradient(objective, [moved], None)
    return float(parts["loss"])


def steps(device):
    """One step of every objective in every way: its loss there and, computed plainly, on the CPU."""
    batch, tokenizer = batch_of_eight()
    found = {}
    for name in ONE_EACH:
        if name == "span":  # its batches are others
            continue
        expected = step(name, batch, tokenizer, torch.device("cpu"))
        for way in WAYS:
            loss = step(name, batch, tokenizer, device, way)
            found[f"{name}, {way}"] = {"cpu": expected, "device": loss}
    return found


def contrasts(device):
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
        vectors = [
            torch.randn(n, 8, generator=torch.Generator().manual_seed(i))
            for i in range(2)
        ]
        values = []
        for where in (torch.device("cpu"), device):
            moved = [x.to(where).requires_grad_() for x in vectors]
            pretended_device.largest = 0
            with (
                checks.unchecked(),
                mock.patch.object(fast, "scores_at_once", lambda device: 2**20),
            ):
                loss = call(*moved)
                loss.backward()
            values.append(float(loss.detach()))
        found[name] = {
            "largest": pretended_device.largest,
            "cpu": values[0],
            "device": values[1],
        }
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pretended = pretended_device.start()
    print(json.dumps({"steps": steps(pretended), "contrasts": contrasts(pretended)}))
