"""Whether somebody would notice that a model is computed in another way: by a listener, a change, or a compiler."""

import torch
from torch import nn
from torch.nn.modules import module as everywhere


def as_it_came(part: nn.Module) -> bool:
    """Whether a module is of torch, transformers or the kit, with the `forward` of its class: nobody changed it."""
    known = type(part).__module__.split(".")[0] in ("torch", "transformers", "contrast_kit")
    return known and "forward" not in vars(part)


def listened_to(part: nn.Module) -> bool:
    """Whether somebody has hooks on a module; transformers' own, which it leaves there when asked for all states, are
    nobody's: they look at nothing until it is asked again."""
    hooks = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks)
    asked = "transformers.utils.output_capturing"
    return any(getattr(hook, "__module__", "") != asked for of in hooks for hook in of.values())


def listened_to_everywhere() -> bool:
    """Whether somebody has hooks on all modules at once."""
    forward = everywhere._global_forward_hooks or everywhere._global_forward_pre_hooks
    return bool(forward or everywhere._global_backward_hooks or everywhere._global_backward_pre_hooks)


def is_compiled(part: nn.Module) -> bool:
    """Whether torch compiles a module, in either of two ways."""
    return bool(part._compiled_call_impl) or isinstance(part, torch._dynamo.OptimizedModule)
