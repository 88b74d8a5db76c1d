"""Does everything that runs on a CPU run on the device, with the same values? Each row has an error and its bound."""

import copy
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from setting import Setting
from torch import Tensor

import contrast_kit as ck
from contrast_kit import fast, geometry, losses
from contrast_kit.data import Paraphrased, toyshop
from contrast_kit.objectives import METHODS
from contrast_kit.training.gradient import gradient

BOUNDS = {"loss": 1e-4, "loss, bfloat16": 3e-2, "step": 1e-3, "reopened": 1e-3, "chunks": 1e-3}


def difference(mine: Tensor, other: Tensor) -> float:
    """|mine - other| / |other|."""
    mine, other = mine.detach().double().cpu().flatten(), other.detach().double().cpu().flatten()
    return float((mine - other).norm() / other.norm().clamp(min=1e-30))


def everything(setting: Setting) -> None:
    check = partial(_check, setting)
    x, z, q = (torch.randn(600, 48, generator=torch.Generator().manual_seed(i)) for i in range(3))
    y, q = torch.arange(600) % 11, losses.normalise(q)
    kinds = {
        "NT-Xent": lambda x, z: losses.nt_xent(x, z, 0.1),
        "NT-Xent, queue": lambda x, z: losses.nt_xent(x, z, 0.1, queue=q.to(x)),
        "InfoNCE": lambda x, z: losses.info_nce(x, z, 0.05),
        "SupCon": lambda x, z: losses.sup_con(x, y.to(x.device), 0.1) + 0 * z.sum(),
    }
    forms = {"plain": fast.plain, "tiled": fast.tiled, "bfloat16": partial(fast.tiled, half=True)}
    for name, loss in kinds.items():
        for form, how in forms.items():
            kind = "loss, bfloat16" if form == "bfloat16" else "loss"
            check(f"{name}, {form}", kind, partial(_loss, setting, loss, how, x, z))
    check("uniformity", "loss", lambda: difference(geometry.uniformity(x.to(setting.device)), geometry.uniformity(x)))
    sentences = toyshop.corpus(setting.of(1200, 1200, 120), seed=1)
    tokenizer = ck.data.train_tokenizer(sentences, vocab_size=setting.of(900, 900, 120))
    for method in METHODS:
        data = _data(method, sentences, tokenizer)
        check(f"{method}: loss and gradient of equal views", "step", partial(_step, setting, method, data))
        check(f"{method}: trained, saved, opened on a CPU", "reopened", partial(_reopened, setting, method, data))
    data = _data("cmlm", sentences, tokenizer)
    check("cmlm: in chunks as whole", "chunks", partial(_chunks, setting, data))
    check("coco-lm: resumed as never stopped", "step", partial(_resumed, setting, data))


def _check(setting: Setting, what: str, bound: str, error: Callable[[], float]) -> None:
    def run() -> None:
        found = error()
        note = {} if found <= BOUNDS[bound] else {"note": "NOT EQUAL"}
        setting.keep(what, error=found, bound=BOUNDS[bound], **note)

    setting.attempt(what, run)


def _loss(setting: Setting, loss: Callable, how: Callable, x: Tensor, z: Tensor) -> float:
    found = []
    for device, form in (("cpu", fast.plain), (setting.device, how)):
        mine = [t.to(device).requires_grad_() for t in (x.clone(), z.clone())]
        leaves = [t.detach().requires_grad_() for t in mine]
        with form():
            value = loss(*leaves)
        found.append([value, *torch.autograd.grad(value, leaves)])
    return max(difference(mine, other) for mine, other in zip(found[1], found[0], strict=True))


def _objective(method: str, tokenizer: object) -> ck.objectives.Objective:
    torch.manual_seed(0)
    encoder = ck.Encoder.tiny(tokenizer, num_hidden_layers=2, dropout=0.0)
    return METHODS[method](encoder, **({"classes": 3} if method in ("scl", "fine-tune") else {}))


def _data(method: str, sentences: list[str], tokenizer: object) -> ck.data.Texts:
    if method == "cssl":
        return Paraphrased.of_pairs(toyshop.probe_pairs(60), tokenizer)
    labelled = [{"text": text, "label": i % 3} for i, text in enumerate(sentences)]
    return ck.data.Texts(labelled if method in ("scl", "fine-tune") else sentences, tokenizer)


def _moved(tree: object, device: torch.device | str) -> object:
    if isinstance(tree, dict):
        return {key: _moved(value, device) for key, value in tree.items()}
    return tree.to(device) if isinstance(tree, Tensor) else tree


def _gradient(objective: torch.nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None])


def _step(setting: Setting, method: str, data: ck.data.Texts) -> float:
    objective, batch, found = _objective(method, data.tokenizer).eval(), data.batch(range(48)), []
    views = objective.views(batch, torch.Generator().manual_seed(1))
    for device in ("cpu", setting.device):
        here, there = copy.deepcopy(objective).to(device), _moved(views, device)
        here.views = lambda batch, generator=None, there=there: there
        loss = here(_moved(batch, device))["loss"]
        loss.backward()
        found.append((loss, _gradient(here)))
    return max(difference(mine, other) for mine, other in zip(found[1], found[0], strict=True))


def _reopened(setting: Setting, method: str, data: ck.data.Texts) -> float:
    objective = _objective(method, data.tokenizer)
    options = dict(steps=setting.of(60, 30, 2), batch_size=32, lr=1e-3, precision="bf16", progress=False)
    encoder, texts = ck.fit(objective, data, **options).encoder, ["the red kite", "a small drum stands"]
    with tempfile.TemporaryDirectory() as folder:
        encoder.save_pretrained(folder)
        again = ck.Encoder.from_pretrained(folder)
        return difference(torch.as_tensor(encoder.encode(texts)), torch.as_tensor(again.encode(texts)))


def _chunks(setting: Setting, data: ck.data.Texts) -> float:
    found = []
    for chunk_size in (None, 7):
        objective = _objective("cmlm", data.tokenizer).to(setting.device).eval()
        noise = torch.Generator(setting.device).manual_seed(3)
        gradient(objective, [_moved(data.batch(range(50)), setting.device)], noise, chunk_size=chunk_size)
        found.append(_gradient(objective))
    return difference(found[1], found[0])


def _resumed(setting: Setting, data: ck.data.Texts) -> float:
    found = []
    for cut in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            options = dict(steps=8, batch_size=32, lr=1e-3, save_every=4, folder=Path(folder), progress=False)
            for stop in (True, False) if cut else (False,):
                objective = _objective("coco-lm", data.tokenizer)
                halt = lambda run, stop=stop: run.stop() if stop and run.steps >= 4 else None  # noqa: E731
                ck.fit(objective, data, resume=True, callback=halt, **options)
        found.append(torch.cat([p.detach().flatten() for p in objective.parameters()]))
    return difference(found[1], found[0])
