"""`python -m contrast_kit check`: does this Python have what the kit needs? Prints what a bug report needs.

Prints versions, device, processor kernels and whether the hub answers. Ends with exit status 1 and one
sentence when something needed is missing, too old or broken, with 0 otherwise. Outside the standard library it
imports only what it has found installed.
"""

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata

PACKAGE = "contrast-kit"
# A torchvision or CUDA build that does not match torch shows only when a model's file is imported.
CORE = ("torch", "transformers.models.bert.modeling_bert")
REMEDY = "run `make install`, or: pip install --constraint constraints.txt --editable '.[notebooks]'"


def requirements(extra: str = "") -> dict[str, object]:
    """What the kit requires, read from its installed metadata (and so from `pyproject.toml`).

    Args:
        extra: "" for the core; "notebooks" or "test" for what that extra adds.

    Returns:
        distribution name -> `packaging.specifiers.SpecifierSet`, in the order of `pyproject.toml`.

    Raises:
        PackageNotFoundError: the kit itself is not installed in this Python.

    Example:
        >>> from contrast_kit.commands.check import requirements
        >>> str(requirements()["transformers"])
        '<6,>=5.10'
        >>> "jupyterlab" in requirements(), "jupyterlab" in requirements("notebooks")
        (False, True)
    """
    from packaging.requirements import Requirement

    needs = {}
    for need in map(Requirement, metadata.requires(PACKAGE) or []):
        core = need.marker is None or need.marker.evaluate({"extra": ""})
        of_extra = bool(extra) and not core and need.marker.evaluate({"extra": extra})
        if need.name != PACKAGE and (of_extra if extra else core):
            needs[need.name] = need.specifier
    return needs


def installed(name: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def problem() -> str | None:
    """One sentence that names everything missing, too old or broken, or None when all is well.

    Example:
        >>> from contrast_kit.commands.check import problem
        >>> problem() is None
        True
    """
    if installed(PACKAGE) is None:
        return f"contrast_kit is not installed in {sys.executable}; {REMEDY}"
    if installed("packaging") is None:
        return f"contrast_kit needs packaging (not installed); {REMEDY}"
    wrong = []
    for name, wanted in requirements().items():
        version = installed(name)
        if version is None:
            wrong.append(f"{name}{wanted} (not installed)")
        elif not wanted.contains(version, prereleases=True):
            wrong.append(f"{name}{wanted} (found {version})")
    if wrong:
        return f"contrast_kit needs {', '.join(wrong)}; {REMEDY}"
    for module in CORE:
        try:
            importlib.import_module(module)
        except (
            Exception
        ) as error:  # any error there becomes one sentence that names the import
            reason = str(error).strip().split("\n")[0]
            return f"{module} is installed but cannot be imported ({type(error).__name__}: {reason}); {REMEDY}"
    return None


def _versions(extra: str) -> Iterator[tuple[str, str]]:
    for name, wanted in requirements(extra).items():
        yield name, f"{installed(name) or 'not installed':<16} {wanted}"


def _processor() -> Iterator[tuple[str, str]]:
    import torch

    import contrast_kit as ck

    yield "processor", f"{platform.machine()}, {os.cpu_count()} logical cores"
    yield "torch threads", str(torch.get_num_threads())
    yield "kernels", torch.backends.cpu.get_cpu_capability()
    yield "float32 products", str(ck.fast.kernels.probe())
    yield (
        "bfloat16 products",
        f"{ck.fast.kernels.bfloat16_speed():.2g} times as fast as float32's",
    )


def _accelerators() -> Iterator[tuple[str, str]]:
    import torch

    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(i)
            memory = f"{card.total_memory / 2**30:.0f} GiB"
            yield f"cuda:{i}", f"{card.name}, {memory}, CUDA {torch.version.cuda}"
        yield "cuda bf16", "yes" if torch.cuda.is_bf16_supported() else "no"
    elif torch.backends.mps.is_available():
        yield "mps", "yes"
    else:
        yield "GPU", "none that this torch can use"


def _surroundings() -> Iterator[tuple[str, str]]:
    from contrast_kit.data import hub

    yield "python", f"{platform.python_version()} at {sys.executable}"
    yield "system", platform.platform()
    far = "not reachable (or switched off): local data only"
    yield "hub", "reachable" if hub.reachable(timeout=2) else far
    yield (
        "real data",
        os.environ.get("CONTRAST_KIT_REAL_DATA", "CONTRAST_KIT_REAL_DATA is not set"),
    )


def report() -> str:
    """Everything that a bug report needs, as text; call it only when `problem()` is None."""
    parts = {
        "Here": _surroundings(),
        "Device": (*_processor(), *_accelerators()),
        "Needed": _versions(""),
        "For the notebooks": _versions("notebooks"),
        "For the tests": _versions("test"),
    }
    lines = [f"contrast_kit {installed(PACKAGE)}"]
    for title, rows in parts.items():
        lines += ["", title, *(f"  {name:<24} {value}" for name, value in rows)]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the report, or the one sentence that says what is missing; return the exit status."""
    sentence = problem()
    if sentence:
        print(sentence, file=sys.stderr)
        return 1
    print(report())
    print("\nEverything needed is here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
