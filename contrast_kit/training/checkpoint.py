"""Everything a run needs to go on as if it had never stopped, written so that a kill at any moment loses nothing.

A checkpoint is a folder `step-00000100/` with the objective and the optimizer as safetensors, the random states, and
`state.json` (step, settings, history). It is written under another name and renamed when whole, and renamed before it
is deleted, so a folder with this name is always whole. Folders of other names belong to the reader.

A run may be resumed on another number of processes. The order of the data, the batches and the noise of the views are
then the same, so gradients are equal up to rounding; dropout starts anew, from seed, step and process (on another kind
of device, so does the noise). On the same number everything is restored, and on a CPU the end is bit for bit the same.
"""

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor, nn

from contrast_kit._util import shown
from contrast_kit.data.drafts import draft_of, remove_folder
from contrast_kit.training import distributed
from contrast_kit.training.gradient import RandomState

STATE = "state.json"
FREE = ("chunk_size", "log_every", "save_every")
"""Settings that may differ when a run goes on: the batches and the losses stay the same."""


class Trained(NamedTuple):
    """What changes along a run. The generator draws the noise of the views, the same on all processes."""

    objective: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator


def settings(objective: nn.Module, training: Any) -> dict[str, Any]:
    """What must be equal for a run to be continued: the method, its config, the training settings, the encoder."""
    encoder = objective.encoder
    model = encoder.model.config.to_dict()
    for name in ("transformers_version", "_name_or_path", "dtype"):  # what saving a model changes
        model.pop(name, None)
    facts = {
        "objective": type(objective).__name__,
        "config": dataclasses.asdict(objective.config),
        "training": {k: v for k, v in dataclasses.asdict(training).items() if k not in FREE},
        "pooling": encoder.pooling,
        "dropout": sorted(
            {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)}
        ),
        "weights": sum(parameter.numel() for parameter in objective.parameters()),
        "architecture": model,
    }
    return json.loads(json.dumps(facts, default=_as_json))


def _as_json(setting: Any) -> Any:
    """A number of numpy or torch as Python's; a function or another object as its name."""
    if hasattr(setting, "tolist"):
        return setting.tolist()
    return getattr(setting, "__qualname__", repr(setting))


def save(folder: Path, step: int, trained: Trained, state: dict[str, Any]) -> Path:
    """Write `folder/step-…`, then delete all but the newest two; returns the new folder.

    All processes call it: the first one writes, with the random states of all; the others wait, and learn whether it
    succeeded. `state` is what else to remember, in a form JSON takes: the settings, the history, …
    """
    final = folder / f"step-{step:08d}"
    device, problem = trained.objective.encoder.device, None
    random = _random_states(device, trained.generator)
    if distributed.rank() == 0:
        try:
            _tidy(folder)  # first, as the disk may be full of what a killed run left
            _write(
                final, trained, random, {"step": step, "processes": distributed.count(), **state}
            )
            _tidy(folder)
        except (OSError, SafetensorError) as error:
            problem = error
    if distributed.anywhere(problem is not None, device):  # else the others would wait for ever
        reason = problem or "by the first process"
        raise OSError(
            f"The checkpoint {final} could not be written ({reason}); {describe_newest(folder)}."
        ) from problem
    return final


def _write(final: Path, trained: Trained, random: dict[str, Tensor], state: dict[str, Any]) -> None:
    memory = trained.optimizer.state_dict()
    tensors = {
        f"{i}.{key}": value
        for i, moments in memory["state"].items()
        for key, value in moments.items()
    }
    state = {
        "param_groups": memory["param_groups"],
        "frozen": [
            name
            for name, weight in trained.objective.named_parameters()
            if not weight.requires_grad
        ],
        **state,
    }
    with draft_of(final) as draft:
        draft.mkdir(parents=True)
        save_model(trained.objective, str(draft / "objective.safetensors"))
        save_file(tensors, draft / "optimizer.safetensors")
        save_file(random, draft / "random.safetensors")
        (draft / STATE).write_text(json.dumps(state, default=_as_json), encoding="utf-8")


def _tidy(folder: Path, keep: int = 2) -> None:
    """Delete all but the newest checkpoints, and what a run left that was killed while it wrote or deleted one."""
    for rest in folder.glob(".step-*"):
        if re.fullmatch(r"\.step-\d{8,}\.(draft|gone)", rest.name):  # another name is the reader's
            shutil.rmtree(rest, ignore_errors=True)
    for old in checkpoints(folder)[:-keep]:
        remove_folder(old)


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    folders = [
        path for path in Path(folder).glob("step-*") if re.fullmatch(r"step-\d{8,}", path.name)
    ]
    return sorted(
        (path for path in folders if (path / STATE).exists()), key=lambda path: int(path.name[5:])
    )


def describe_newest(folder: Path | None) -> str:
    """The last good checkpoint of a run, for a sentence."""
    if folder is None:
        return "no folder was given, so none is saved"
    newest = checkpoints(folder)[-1:]
    return (
        f"the last good checkpoint is {newest[0]}" if newest else "no checkpoint was saved before"
    )


def check_folder(folder: Path, resume: bool) -> None:
    """Raise a ValueError for a file, and for a new run in a folder that holds another run's checkpoints."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file, so it can hold no checkpoints: name a folder.")
    newest = checkpoints(folder)[-1:]
    if newest and not resume:
        raise ValueError(
            f"{folder} already holds {newest[0].name} of a run: go on with resume=True (on the command line "
            "without --fresh), or take another folder (or delete this one) to start afresh."
        )


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Inside, no other process of the kit may write to the folder. A process that is killed also frees it."""
    from filelock import FileLock, Timeout  # which transformers brings

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".run.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        message = f"Another run is writing to {folder} now: wait for it, or name another folder."
        raise ValueError(message) from None
    try:
        yield
    finally:
        lock.release()
        (folder / ".run.lock").unlink(missing_ok=True)


def load(folder: Path, trained: Trained, expected: dict[str, Any]) -> dict[str, Any] | None:
    """Bring a run back to its newest checkpoint; None if there is none. Returns what `save` was given as `state`.

    Raises a ValueError if the checkpoint belongs to other settings (it names the first that differs), or is damaged.
    """
    newest = checkpoints(folder)[-1:]
    if not newest:
        return None
    path = newest[0]
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        tensors, random = (
            load_file(path / "optimizer.safetensors"),
            load_file(path / "random.safetensors"),
        )
        weights = load_file(path / "objective.safetensors")
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(
            f"The checkpoint {path} is damaged ({error}): delete it to go on from the one before it, if there is "
            "one, or start afresh in another folder."
        ) from error
    _check_settings(path, state["settings"], expected)
    if any(not value.isfinite().all() for value in weights.values() if value.is_floating_point()):
        raise ValueError(
            f"The checkpoint {path} is damaged (a weight is not finite): start afresh in another folder."
        )
    load_model(trained.objective, str(path / "objective.safetensors"))
    memory: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, key = name.split(".", 1)
        memory.setdefault(int(number), {})[key] = value
    trained.optimizer.load_state_dict({"state": memory, "param_groups": state["param_groups"]})
    for name, weight in trained.objective.named_parameters():
        weight.requires_grad_(name not in state["frozen"])
    _restore_random(
        random, trained.generator, seed=1_000_003 * state["step"] + expected["training"]["seed"]
    )
    if distributed.rank() == 0:
        _tidy(folder)  # a run that was killed at its last checkpoint saves no other
    return state


def _check_settings(path: Path, saved: Any, expected: Any, name: str = "") -> None:
    """Raise for the first setting in which the checkpoint differs from the run that resumes it."""
    if isinstance(saved, dict) and isinstance(expected, dict):
        names = [
            key for key in expected if key in saved or name != "architecture"
        ]  # other versions have other fields
        for key in names:
            _check_settings(path, saved.get(key), expected[key], f"{name}.{key}" if name else key)
    elif saved != expected:
        raise ValueError(
            f"The checkpoint {path} was made with {name} = {shown(saved)}, not {shown(expected)}: use the same "
            f"settings to resume, or another folder. To train on, start a new run from its encoder (on the command "
            f"line: --start {path.parent / 'encoder'})."
        )


def _random_states(device: torch.device, generator: torch.Generator) -> dict[str, Tensor]:
    """The random states of all processes, [processes, bytes] each: torch's own, the GPU's, and the noise's."""
    here = RandomState.now(device)
    states = {"cpu": here.cpu, "noise": generator.get_state()}
    if here.gpu is not None:
        states["gpu"] = here.gpu
    on_device = {
        name: state[None].to(device) for name, state in states.items()
    }  # GPUs send only what is on a GPU
    return {
        name: distributed.gather(state, distributed.count()).cpu()
        for name, state in on_device.items()
    }


def _restore_random(random: dict[str, Tensor], generator: torch.Generator, seed: int) -> None:
    """Go on in the random streams of a checkpoint where they fit these processes and this device, else in new ones."""
    here = distributed.rank()
    same_device = len(random["noise"][0]) == len(generator.get_state())
    if same_device:
        generator.set_state(
            random["noise"][0].clone()
        )  # a copy: a generator reads from the start of the storage
    else:
        generator.manual_seed(seed)
    if same_device and len(random["cpu"]) == distributed.count():
        gpu = random["gpu"][here].clone() if "gpu" in random else None
        RandomState(random["cpu"][here].clone(), gpu).restore()
    else:
        torch.manual_seed(seed + here)
