"""What training does on a pretended device: `python tests/pretended_steps.py` prints it as JSON.

Looked at are one step of every objective in each way of computing it, large contrasts, and short runs of `fit`.
"""

import json
import warnings
from unittest import mock

import pretended_device
import torch
from conftest import make_encoder, with_wordings
from objectives import OBJECTIVES, ONE_EACH
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit import checks, fast, losses
from contrast_kit.data import toyshop
from contrast_kit.fast import on_gpu
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


WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal"}


class Tape(TorchDispatchMode):
    """Notes all work of the device, to do it again on the same memory; refuses what a graph of CUDA could not hold."""

    def __init__(self):
        super().__init__()
        self.done = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name, kwargs = operation.__name__.split(".")[0], kwargs or {}
        if name in WAITS:
            raise RuntimeError(f"{name} would wait for the device")
        made = operation(*args, **kwargs)
        read = pretended_device.tensors_in((args, kwargs))
        if name != "detach" and any(x.is_cpu and x.dim() for x in read):
            raise RuntimeError(f"{name} reads the CPU")
        if not operation.is_view:
            self.done.append((operation, args, kwargs, made))
        return made

    @torch.no_grad()
    def replay(self):
        Taped.replays += 1
        for operation, args, kwargs, made in self.done:
            again = pretended_device.tensors_in([operation(*args, **kwargs)])
            for old, new in zip(pretended_device.tensors_in([made]), again, strict=True):
                if new is not old:
                    old.copy_(new)


class Taped:
    """In place of `CudaGraphs`: what is recorded draws nothing yet."""

    replays = 0

    @staticmethod
    def on(device):
        return True

    def run(self, function):
        return function()

    def record(self, function, generator):
        noise, dropout = generator.get_state(), torch.get_rng_state()
        with Tape() as tape:
            made = function()
        generator.set_state(noise)
        torch.set_rng_state(dropout)
        return made, tape.replay


def run(name, data, shapes):
    """A run of eight steps that records so many shapes of batches: its history, its weights, and replays."""
    Taped.replays = 0
    objective = OBJECTIVES[name](make_encoder(data.tokenizer, dropout=0.1))
    go = dict(steps=8, batch_size=16, lr=3e-3, progress=False)
    with (
        mock.patch.object(on_gpu, "SHAPES", shapes),
        mock.patch.object(on_gpu, "CudaGraphs", Taped),
    ):
        history = ck.fit(objective, data, **go).history.drop(columns="seconds")
    plain = type(objective.encoder.strategy).__name__
    weights = [float(each.double().sum()) for each in objective.parameters()]
    return [history.to_json(), weights, plain], Taped.replays


def runs():
    """Runs of the methods, recorded and step by step."""
    data = with_wordings(toyshop.corpus(64, seed=1), batch_of_eight()[1])
    data.labels = torch.arange(64) % 2
    found = {}
    for name in ("mlm", "cmlm info_nce", "coco_lm", "electra", "scl", "simcse", "capt"):
        recorded, replays = run(name, data, 8)
        found[name] = {"same": run(name, data, 0)[0] == recorded, "replays": replays}
        assert recorded[2] == "Padded"
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pretended = pretended_device.train_on_it()
    seen = {"steps": steps(pretended), "contrasts": contrasts(pretended), "runs": runs()}
    print(json.dumps(seen))
