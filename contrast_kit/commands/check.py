"""`python -m contrast_kit check`: does this Python have what the kit needs? Prints what a bug report needs.

Prints versions, device, processor kernels and whether the hub answers. Ends with exit status 1 and one
sentence when something needed is missing, too old or broken, with 0 otherwise. Outside the standard library it
imports only what it has found installed.
"""

import importlib
import os
import platform
import sys
from importlib import metadata

# A torchvision or CUDA build that does not match torch shows only when a model's file is imported.
CORE = ("torch", "transformers.models.bert.modeling_bert")
REMEDY = "run `make install`, or: pip install --constraint constraints.txt --editable '.[notebooks]'"


def requirements() -> dict[str, object]:
    """What the kit requires, from its installed metadata: distribution -> `packaging.specifiers.SpecifierSet`.

    Example:
        >>> from contrast_kit.commands.check import requirements
        >>> str(requirements()["transformers"])
        '<6,>=5.10'
    """
    from packaging.requirements import Requirement

    needs = map(Requirement, metadata.requires("contrast-kit") or [])
    return {
        need.name: need.specifier
        for need in needs
        if need.marker is None or need.marker.evaluate({"extra": ""})
    }


def installed(name: str) -> str:
    """The installed version of a distribution."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def problem() -> str:
    """One sentence that names everything missing, too old or broken; "" when all is well.

    Example:
        >>> from contrast_kit.commands.check import problem
        >>> problem()
        ''
    """
    try:
        needs = requirements()
    except ImportError as error:  # the kit itself, or packaging
        return f"{sys.executable} lacks a part of contrast_kit ({error}); {REMEDY}"
    wrong = [
        f"{name}{wanted} ({installed(name)})"
        for name, wanted in needs.items()
        if installed(name) == "not installed"
        or not wanted.contains(installed(name), prereleases=True)
    ]
    if wrong:
        return f"contrast_kit needs {', '.join(wrong)}; {REMEDY}"
    for module in CORE:
        try:
            importlib.import_module(module)
        except Exception as error:  # whatever it is
            reason = str(error).strip().split("\n")[0]
            return f"{module} is installed but cannot be imported ({type(error).__name__}: {reason}); {REMEDY}"
    return ""


def report() -> str:
    """Everything that a bug report needs, as text; call it only when there is no `problem()`."""
    import torch

    import contrast_kit as ck
    from contrast_kit.data import hub

    cards = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    rows = {
        "contrast_kit": ck.__version__,
        "python": f"{platform.python_version()} at {sys.executable}",
        "system": f"{platform.platform()}, {os.cpu_count()} cores",
        "torch threads": torch.get_num_threads(),
        "accelerator": torch.accelerator.current_accelerator(),
        "cards": "; ".join(map(str, cards)),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "float32 products": ck.fast.kernels.probe(),
        "bfloat16 products": f"{ck.fast.kernels.bfloat16_speed():.2g} times as fast",
        "hub reachable": hub.reachable(),
        "real data": os.environ.get("CONTRAST_KIT_REAL_DATA"),
    }
    rows |= {name: installed(name) for name in requirements()}
    return "\n".join(f"{name:<20} {value}" for name, value in rows.items())


def main(arguments: list[str] | None = None) -> int:
    """Print the report, or the one sentence that says what is missing; return the exit status."""
    sentence = problem()
    if sentence:
        print(sentence, file=sys.stderr)
        return 1
    print(f"{report()}\n\nEverything needed is here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
