"""A pretended device; `pretended_steps.py` looks at what training does on it.

No GPU is needed to see whether code would run well on one. Here the device "pretend" holds CPU tensors behind torch's
interface for backends written in Python. It refuses an operation that mixes devices, as a GPU would, and it notes the
largest tensor that is made. A process that has the device has it for good, so tests run it in a process of its own.
"""

import functools
import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration

DEVICE_TYPE = "pretend"
COPIES = ("_to_copy", "_copy_from", "copy_", "_copy_from_and_resize")
FACTORIES = {
    "arange": ("default", "start", "start_step"),
    "eye": ("default", "m"),
    "randperm": ("default", "generator"),
    "linspace": ("default",),
    "full": ("default",),
}
"""Operations that torch would make by resizing an empty tensor, which these tensors cannot follow."""

AUTOCAST = {
    "linear": torch.bfloat16,
    "matmul": torch.bfloat16,
    "bmm": torch.bfloat16,
    "scaled_dot_product_attention": torch.bfloat16,
    "layer_norm": torch.float32,
    "softmax.int": torch.float32,
    "log_softmax.int": torch.float32,
}
"""What autocast makes of these operations' inputs."""

largest = 0
_held = {}  # storage -> (the CPU tensor behind it, the storage, so that its address is not used again)


LISTS, MANY = (tuple, list), (tuple, list, dict)


class MixedDevicesError(RuntimeError):
    """A tensor of the CPU among tensors of the device."""


class Generator(torch.Generator):
    """One of the device, which draws what a CPU's would."""

    def __new__(cls, device="cpu"):
        there = torch.device(device).type == DEVICE_TYPE
        made = super().__new__(cls, "cpu" if there else device)
        made.of_the_device = there
        return made

    @property
    def device(self):
        return torch.device(DEVICE_TYPE, 0) if self.of_the_device else super().device


class _Draws(TorchFunctionMode):
    """Refuses a draw on the CPU by a generator of the device, and the reverse."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made, source = function(*args, **kwargs or {}), (kwargs or {}).get("generator")
        ours = isinstance(source, Generator)  # and not one that torch wrapped anew
        if ours and source.device.type != made.device.type:
            raise MixedDevicesError(
                f"{function.__name__} on {made.device} by a generator of {source.device}"
            )
        return made


class _Module(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self):
        return [torch.bfloat16, torch.float16]

    # It has no random numbers of its own: the CPU's are taken.
    def get_rng_state(self, device=None):
        return torch.get_rng_state()

    def set_rng_state(self, state, device=None):
        torch.set_rng_state(state)


def tree_map(function, x):
    """A function of everything in lists, tuples and dicts; torch's own of this name takes most of the time here."""
    if isinstance(x, LISTS):
        return type(x)(
            [
                tree_map(function, part) if isinstance(part, MANY) else function(part)
                for part in x
            ]
        )
    return (
        {key: tree_map(function, part) for key, part in x.items()}
        if isinstance(x, dict)
        else function(x)
    )


def tensors_in(x) -> list[torch.Tensor]:
    """The tensors in lists, tuples and dicts."""
    found = []
    tree_map(
        lambda part: found.append(part) if isinstance(part, torch.Tensor) else None, x
    )
    return found


def on_device(x) -> bool:
    return isinstance(x, torch.Tensor) and not x.is_cpu and x.device.type == DEVICE_TYPE


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
    return _strided(x, t.size(), t.stride(), t.storage_offset())


def _strided(x: torch.Tensor, size, stride, offset=None) -> torch.Tensor:
    """A view of x with steps that are told as if x had no gaps, which is how its tensor of the device sees itself."""

    def step(number: int) -> int:
        there, rest = 0, number
        for dim in range(x.dim()):
            times, rest = divmod(rest, max(1, x.shape[dim + 1 :].numel()))
            there += times * x.stride(dim)
        return there

    return x.as_strided(
        size, [step(number) for number in stride], x.storage_offset() + step(offset or 0)
    )


def _unwrap(x):
    if on_device(x):
        return behind(x)
    return (
        torch.device("cpu")
        if isinstance(x, torch.device) and x.type == DEVICE_TYPE
        else x
    )


def _place() -> str:
    """The line of the kit that asked."""
    frame = sys._getframe()
    while frame:
        _, kit, file = frame.f_code.co_filename.replace("\\", "/").rpartition(
            "contrast_kit/"
        )
        if kit:
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "autograd"


def _copy(name: str, args: tuple, kwargs: dict):
    """Between the devices, or on one of them."""
    if name == "_to_copy":
        wanted = kwargs.get("device")
        leaves = wanted is not None and torch.device(wanted).type != DEVICE_TYPE
        values = torch.ops.aten._to_copy(_unwrap(args[0]), **tree_map(_unwrap, kwargs))
        return values if leaves else wrap(values)
    source, target = (args[1], args[0]) if name == "copy_" else args[:2]
    _unwrap(target).copy_(_unwrap(source))
    return target


def _on_the_cpu(operation, *args, **kwargs):
    """Every operation of the device: checked, noted, and made by the CPU."""
    global largest
    name = operation.__name__.split(".")[0]
    tensors = tensors_in((args, kwargs))
    there = [x for x in tensors if on_device(x)]
    if name in COPIES:
        return _copy(name, args, kwargs)
    if there and any(not on_device(x) and x.dim() for x in tensors):
        raise MixedDevicesError(f"{operation} mixes devices at {_place()}")
    held = [(t, behind(t)) for t in there]
    known = {id(t): x for t, x in held}
    plain_args, plain_kwargs = tree_map(
        lambda x: known[id(x)] if id(x) in known else _unwrap(x), (args, kwargs)
    )
    if name == "_fused_adamw_":  # reads gradients as they lie in memory
        weights, gradients, *rest = plain_args
        plain_args = (weights, [each.contiguous() for each in gradients], *rest)
    same = (
        torch.ops.aten.reshape
        if name in ("view", "_unsafe_view")
        else _overload(operation, args)
    )
    with torch.no_grad():
        made = (
            _strided(*plain_args[:3], *plain_args[3:4] or (0,))
            if name == "as_strided"
            else same(*plain_args, **plain_kwargs)
        )
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


@functools.cache
def _places_of_tensors(operation) -> list[int]:
    return [
        i
        for i, one in enumerate(operation._schema.arguments)
        if str(one.type) in ("Tensor", "Optional[Tensor]")
    ]


def _overload(operation, args: tuple):
    """The operation, or all of its name where a number stands in a tensor's place, as in `remainder(x, 7)`.

    Only where it must: to choose by arguments, torch prints every tensor into the message of each that does not fit.
    """
    numbers = any(
        isinstance(args[i], int | float)
        for i in _places_of_tensors(operation)
        if i < len(args)
    )
    return operation._overloadpacket if numbers else operation


def _factory(operation):
    def made(*args, **kwargs):
        here = {
            key: value
            for key, value in kwargs.items()
            if key not in ("device", "layout", "pin_memory")
        }
        return wrap(operation(*args, **here, device="cpu"))

    return made


def start() -> torch.device:
    """Make the device."""
    backend_registration._setup_privateuseone_for_python_backend(
        DEVICE_TYPE, backend_module=_Module()
    )
    start.fallback = torch.library.Library("_", "IMPL")
    start.fallback.fallback(_on_the_cpu, dispatch_key="PrivateUse1")
    start.factories = torch.library.Library("aten", "IMPL")
    for name, overloads in FACTORIES.items():
        for overload in overloads:
            operation = getattr(getattr(torch.ops.aten, name), overload)
            at = name if overload == "default" else f"{name}.{overload}"
            start.factories.impl(at, _factory(operation), "PrivateUse1")
    start.autocast = torch.library.Library("_", "IMPL")
    start.autocast.fallback(
        torch.library.fallthrough_kernel, dispatch_key="AutocastPrivateUse1"
    )
    for name, dtype in AUTOCAST.items():
        packet, _, overload = name.partition(".")
        operation = getattr(getattr(torch.ops.aten, packet), overload or "default")
        start.factories.impl(name, _cast(operation, dtype), "AutocastPrivateUse1")
    # Else a tied weight would become two.
    torch.__future__.set_swap_module_params_on_conversion(True)
    return torch.device(DEVICE_TYPE, 0)


def _cast(operation, dtype):
    """The operation under autocast."""

    def made(*args, **kwargs):
        key = torch._C.DispatchKey.AutocastPrivateUse1
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            args = tree_map(
                lambda x: x.to(dtype) if on_device(x) and x.is_floating_point() else x,
                args,
            )
            return operation(*args, **kwargs)

    return made


def train_on_it() -> torch.device:
    """Make the device; from here on `fit` trains there and leaves encoders there, as on a machine with a GPU."""
    from contrast_kit.training import distributed

    device = start()
    torch.Generator = Generator
    _Draws().__enter__()
    distributed.start = lambda: device
    save = torch.save
    torch.save = lambda x, *args, **how: save(tree_map(_on_cpu, x), *args, **how)
    return device


def _on_cpu(x):
    return x.cpu() if on_device(x) else x
