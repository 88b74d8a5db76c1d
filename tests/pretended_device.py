"""A pretended device, and what a step does on it: `python tests/pretended_device.py` prints it as JSON.

No GPU is needed to see whether code would run well on one. Here the device "pretend" holds CPU tensors behind torch's
interface for backends written in Python. It refuses an operation that mixes devices, as a GPU would; it counts every
moment in which the host would wait for a GPU (a number read, positions found by a mask, a copy to the CPU); and it
notes the largest tensor that is made. A process that has the device has it for good, so tests run this as a script.
"""

import collections
import importlib
import json
import sys
import traceback
import warnings
from pathlib import Path

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_flatten, tree_map

DEVICE_TYPE = "pretend"
READS = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "equal", "is_nonzero")
COPIES = ("_to_copy", "_copy_from", "copy_", "_copy_from_and_resize")
FACTORIES = {
    "arange": ("default", "start", "start_step"),
    "eye": ("default", "m"),
    "randperm": ("default", "generator"),
    "linspace": ("default",),
    "full": ("default",),
}
"""Operations that torch would make by resizing an empty tensor, which these tensors cannot follow."""

waits = collections.Counter()
largest = 0
_held = {}  # storage -> (the CPU tensor behind it, the storage, so that its address is not used again)


class MixedDevicesError(RuntimeError):
    """A tensor of the CPU among tensors of the device."""


class _Module(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self):
        return [torch.bfloat16, torch.float16]


def on_device(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == DEVICE_TYPE


def wrap(x):
    """A tensor on the device with the values of a CPU tensor, whose memory it shares."""
    if not isinstance(x, torch.Tensor):
        return x
    made = torch._C._acc.create_empty_tensor(x.shape, x.dtype)
    storage = made.untyped_storage()
    _held[storage._cdata] = x, storage
    return made


def behind(t: torch.Tensor) -> torch.Tensor:
    """The CPU tensor behind one of the device; torch makes some views without asking, with sizes of their own."""
    x = _held[t.untyped_storage()._cdata][0]
    if t.shape == x.shape and t.storage_offset() == 0 and t.is_contiguous():
        return x
    flat = x.reshape(-1)
    return flat.as_strided(t.size(), t.stride(), flat.storage_offset() + t.storage_offset())


def _unwrap(x):
    if on_device(x):
        return behind(x)
    return torch.device("cpu") if isinstance(x, torch.device) and x.type == DEVICE_TYPE else x


def _place() -> str:
    """The line of the kit that asked."""
    frames = [frame for frame in traceback.extract_stack() if "contrast_kit/" in frame.filename.replace("\\", "/")]
    return f"{frames[-1].filename.split('contrast_kit/')[-1]}:{frames[-1].lineno}" if frames else "autograd"


def _note_wait(name: str) -> None:
    waits[f"{name} at {_place()}"] += 1


def _copy(name: str, args: tuple, kwargs: dict):
    """Between the devices, or on one of them."""
    if name == "_to_copy":
        wanted = kwargs.get("device")
        leaves = wanted is not None and torch.device(wanted).type != DEVICE_TYPE
        if leaves:
            _note_wait("to the CPU")
        values = torch.ops.aten._to_copy(_unwrap(args[0]), **tree_map(_unwrap, kwargs))
        return values if leaves else wrap(values)
    source, target = (args[1], args[0]) if name == "copy_" else args[:2]
    if on_device(source) and not on_device(target):
        _note_wait("to the CPU")
    _unwrap(target).copy_(_unwrap(source))
    return target


def _on_the_cpu(operation, *args, **kwargs):
    """Every operation of the device: checked, noted, and made by the CPU."""
    global largest
    name = operation.__name__.split(".")[0]
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
    there = [x for x in tensors if on_device(x)]
    if name in COPIES:
        return _copy(name, args, kwargs)
    if there and any(not on_device(x) and x.dim() for x in tensors):
        raise MixedDevicesError(f"{operation} mixes devices at {_place()}")
    if name in READS:
        _note_wait(name)
    held = [(t, behind(t)) for t in there]
    known = {id(t): x for t, x in held}
    plain_args, plain_kwargs = tree_map(lambda x: known[id(x)] if id(x) in known else _unwrap(x), (args, kwargs))
    same = torch.ops.aten.reshape if name in ("view", "_unsafe_view") else operation._overloadpacket
    with torch.no_grad():
        if name == "as_strided":  # the strides are those of a tensor without gaps
            plain_args = (plain_args[0].contiguous(), *plain_args[1:])
        made = same(*plain_args, **plain_kwargs)
    for t, x in held:
        if t.shape != x.shape:  # an output that was resized
            t.data = wrap(x)
    given = {id(x): t for t, x in held}  # changed in place: the same tensor back

    def back(x):
        global largest
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) in given:
            return given[id(x)]
        if not x._is_view() and x.is_contiguous():
            largest = max(largest, x.numel())
        return wrap(x)

    return tree_map(back, made)


def _factory(operation):
    def made(*args, **kwargs):
        here = {key: value for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory")}
        return wrap(operation(*args, **here, device="cpu"))

    return made


def start() -> torch.device:
    """Make the device."""
    backend_registration._setup_privateuseone_for_python_backend(DEVICE_TYPE, backend_module=_Module())
    start.fallback = torch.library.Library("_", "IMPL")
    start.fallback.fallback(_on_the_cpu, dispatch_key="PrivateUse1")
    start.factories = torch.library.Library("aten", "IMPL")
    for name, overloads in FACTORIES.items():
        for overload in overloads:
            operation = getattr(getattr(torch.ops.aten, name), overload)
            at = name if overload == "default" else f"{name}.{overload}"
            start.factories.impl(at, _factory(operation), "PrivateUse1")
    return torch.device(DEVICE_TYPE, 0)


# ---- what is looked at


def steps(device: torch.device) -> dict[str, dict]:
    """One step of every objective: its waits, its loss there and on the CPU."""
    from conftest import make_encoder
    from objectives import OBJECTIVES

    import contrast_kit as ck
    from contrast_kit.data import toyshop
    from contrast_kit.paraphrase import Toyshop, reworded
    from contrast_kit.training.gradient import gradient

    texts = toyshop.corpus(64, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(texts)]
    data = {
        "cssl": ck.data.Paraphrased(reworded(rows, Toyshop()), tokenizer, max_length=32),
        "": ck.data.Texts(rows, tokenizer, max_length=32),
    }
    found = {}
    for name, make in OBJECTIVES.items():
        batch = data["cssl" if name.startswith("cssl") else ""].batch(list(range(8)))
        losses = []
        for where in (torch.device("cpu"), device):
            torch.manual_seed(0)
            objective = make(make_encoder(tokenizer)).train().to(where)
            moved = {key: value.to(where) for key, value in batch.items()}
            waits.clear()
            torch.manual_seed(0)
            parts, _ = gradient(objective, [moved], None)
            seen = dict(waits)
            losses.append(float(parts["loss"]))
        found[name] = {"waits": seen, "cpu": losses[0], "device": losses[1]}
    return found


def run(device: torch.device) -> dict:
    """What a whole run waits for, between two rows of its history: `fit` on the device, ten steps with one row."""
    from conftest import make_encoder

    import contrast_kit as ck
    from contrast_kit.data import toyshop
    from contrast_kit.training import distributed
    from contrast_kit.training.gradient import gradient

    texts = toyshop.corpus(64, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    distributed.start = lambda: device
    # The device has no random numbers of its own: the CPU's are taken.
    torch.Generator = lambda device=None: torch._C.Generator()
    module = importlib.import_module("contrast_kit.training.fit")
    module.gradient = lambda objective, batches, generator, **options: gradient(objective, batches, None, **options)
    waits.clear()
    ck.fit(ck.objectives.SimCSE(make_encoder(tokenizer, dropout=0.1)), texts, steps=10, batch_size=8, log_every=10,
           progress=False)  # fmt: skip
    return dict(waits)


def contrasts(device: torch.device) -> dict[str, int]:
    """The largest tensor that a contrast of 4,096 vectors makes, in numbers; the matrix would have 16,777,216.

    A GPU holds 67 million numbers at once; here it is a million, so that few vectors are many.
    """
    global largest
    from contrast_kit import checks, fast, losses

    fast.scores_at_once = lambda device: 2**20
    n = 4096
    labels, found = torch.arange(n) % 7, {}
    for name, call in {
        "info_nce": lambda a, b: losses.info_nce(a, b, 0.1),
        "nt_xent": lambda a, b: losses.nt_xent(a[: n // 2], b[: n // 2], 0.1),
        "sup_con": lambda a, b: losses.sup_con(a, labels.to(device), 0.1),
    }.items():
        a, b = (torch.randn(n, 8).to(device).requires_grad_() for _ in range(2))
        largest = 0
        with checks.unchecked():
            call(a, b).backward()
        found[name] = largest
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pretended = start()
    print(json.dumps({"steps": steps(pretended), "contrasts": contrasts(pretended), "run": run(pretended)}))
