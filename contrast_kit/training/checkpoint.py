"""Everything a run needs to go on as if it had never stopped, written so that a kill at any moment loses nothing.

A checkpoint is a folder `step-00000100/` with `tensors.pt` (objective, optimizer, random states) and `state.json`
(step, settings, history). It is written under another name and renamed when whole, and renamed before it is deleted:
a folder with this name is always whole. Folders of other names belong to the reader.

A run may be resumed on another number of processes. The order of the data, the batches and the noise of the views are
then the same, so gradients are equal up to rounding; dropout starts anew, from seed, step and process (on another kind
of device, so does the noise). On the same number everything is restored, and on a CPU the end is bit for bit the same.
"""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from contrast_kit._util import shown
from contrast_kit.data.drafts import draft_of, remove_folder
from contrast_kit.training import distributed

TENSORS, STATE = "tensors.pt", "state.json"
FREE = ("chunk_size", "compiled", "log_every", "save_every")
"""Settings that may differ when a run goes on: the batches and the losses stay the same."""
SAVED_DIFFERENTLY = ("transformers_version", "_name_or_path", "dtype")
"""What saving a model changes in its configuration."""


class Trained(NamedTuple):
    """What changes along a run. The generator draws the noise of the views, the same on all processes."""

    objective: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator


def settings(objective: nn.Module, training: Any, texts: Any) -> dict[str, Any]:
    """What must be equal for a run to be continued: method, config, training settings, encoder, data."""
    model = objective.encoder.model.config.to_dict()
    facts = {
        "objective": type(objective).__name__,
        "config": dataclasses.asdict(objective.config),
        "training": {
            k: v for k, v in dataclasses.asdict(training).items() if k not in FREE
        },
        "pooling": objective.encoder.pooling,
        "architecture": {k: v for k, v in model.items() if k not in SAVED_DIFFERENTLY},
        "data": {"examples": len(texts), "fingerprint": texts.fingerprint()},
    }
    return json.loads(json.dumps(facts, default=_as_json))


def _as_json(setting: Any) -> Any:
    """A number of numpy or torch as Python's; a function or another object as its name."""
    if hasattr(setting, "tolist"):
        return setting.tolist()
    return getattr(setting, "__qualname__", repr(setting))


def save(folder: Path, step: int, trained: Trained, state: dict[str, Any]) -> None:
    """Write `folder/step-…`, then delete all but the newest two.

    All processes call it: the first one writes, with the random states of all; the others wait, and learn whether it
    succeeded. `state` is what else to remember, in a form JSON takes: the settings, the history, …
    """
    final = folder / f"step-{step:08d}"
    device, problem = trained.objective.encoder.device, None
    weights = trained.objective.named_parameters()
    tensors = {
        "objective": trained.objective.state_dict(),
        "frozen": [name for name, weight in weights if not weight.requires_grad],
        "optimizer": trained.optimizer.state_dict(),
        "noise": trained.generator.get_state(),
        "dropout": _of_all_processes(torch.get_rng_state(), device),
    }
    if device.type == "cuda":
        tensors["gpu"] = _of_all_processes(torch.cuda.get_rng_state(device), device)
    if distributed.rank() == 0:
        try:
            _tidy(folder)  # first, as the disk may be full of what a killed run left
            with draft_of(final) as draft:
                draft.mkdir(parents=True)
                torch.save(tensors, draft / TENSORS)
                text = json.dumps(
                    {"step": step, "processes": distributed.count(), **state},
                    default=_as_json,
                )
                (draft / STATE).write_text(text, encoding="utf-8")
            _tidy(folder)
        except (OSError, RuntimeError) as error:  # torch calls a full disk a RuntimeError
            problem = error
    # Else the others would wait for ever.
    if distributed.anywhere(problem is not None, device):
        reason = problem or "by the first process"
        raise OSError(
            f"The checkpoint {final} could not be written ({reason}); {describe_newest(folder)}."
        ) from problem


def _of_all_processes(state: Tensor, device: torch.device) -> Tensor:
    """A random state of each process, [processes, bytes]; GPUs send only what is on a GPU."""
    return distributed.gather(state[None].to(device), distributed.count()).cpu()


def _tidy(folder: Path, keep: int = 2) -> None:
    """Delete all but the newest checkpoints, and what a run left that was killed while it wrote or deleted one."""
    # Another name is the reader's.
    for rest in [*folder.glob(".step-*.draft"), *folder.glob(".step-*.gone")]:
        shutil.rmtree(rest, ignore_errors=True)
    for old in checkpoints(folder)[:-keep]:
        remove_folder(old)


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    folders = Path(folder).glob("step-*")
    whole = [
        path for path in folders if path.name[5:].isdigit() and (path / STATE).exists()
    ]
    return sorted(whole, key=lambda path: int(path.name[5:]))


def describe_newest(folder: Path | None) -> str:
    """The last good checkpoint of a run, for a sentence."""
    if folder is None:
        return "no folder was given, so none is saved"
    for newest in checkpoints(folder)[-1:]:
        return f"the last good checkpoint is {newest}"
    return "no checkpoint was saved before"


def check_folder(folder: Path, resume: bool) -> None:
    """Raise a ValueError for a file, and for a new run in a folder that holds another run's checkpoints."""
    if folder.is_file():
        raise ValueError(
            f"{folder} is a file, so it can hold no checkpoints: name a folder."
        )
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
    lock = FileLock(folder / ".run.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        message = f"Another run is writing to {folder} now: wait for it, or name another folder."
        raise ValueError(message) from None
    try:
        yield
    finally:
        lock.release()
        (folder / ".run.lock").unlink(missing_ok=True)


def load(
    folder: Path, trained: Trained, expected: dict[str, Any]
) -> dict[str, Any] | None:
    """Bring a run back to its newest checkpoint; None if there is none. Returns what `save` was given as `state`.

    Raises a ValueError if the checkpoint belongs to other settings (it names the first that differs), or is damaged.
    """
    for path in checkpoints(folder)[-1:]:
        try:
            state = json.loads((path / STATE).read_text(encoding="utf-8"))
            tensors = torch.load(path / TENSORS, map_location="cpu", weights_only=True)
        except (OSError, ValueError, RuntimeError, EOFError, UnpicklingError) as error:
            raise ValueError(
                f"The checkpoint {path} is damaged ({error}): delete it to go on from the one before it, if there is "
                "one, or start afresh in another folder."
            ) from error
        check_settings(path, state["settings"], expected)
        trained.objective.load_state_dict(tensors["objective"])
        trained.optimizer.load_state_dict(tensors["optimizer"])
        for name, weight in trained.objective.named_parameters():
            weight.requires_grad_(name not in tensors["frozen"])
        seed = 1_000_003 * state["step"] + expected["training"]["seed"]
        _restore_random(tensors, trained.generator, seed)
        if distributed.rank() == 0:
            _tidy(folder)  # a run that was killed at its last checkpoint saves no other
        return state
    return None


def check_settings(path: Path, saved: Any, expected: Any, name: str = "") -> None:
    """Raise for the first setting in which the checkpoint differs from the run that resumes it."""
    if isinstance(saved, dict) and isinstance(expected, dict):
        for key in expected:
            if key in saved or name != "architecture":  # other versions have other fields
                whole = f"{name}.{key}" if name else key
                check_settings(path, saved.get(key), expected[key], whole)
    elif saved != expected:
        raise ValueError(
            f"The checkpoint {path} was made with {name} = {shown(saved)}, not {shown(expected)}: use the same "
            f"settings to resume, or another folder. To train on, start a new run from its encoder (on the command "
            f"line: --start {path.parent / 'encoder'})."
        )


def _restore_random(
    tensors: dict[str, Tensor], generator: torch.Generator, seed: int
) -> None:
    """Go on in the random streams of a checkpoint where they fit these processes and this device, else in new ones."""
    here = distributed.rank()
    same_device = len(tensors["noise"]) == len(generator.get_state())
    if not same_device:
        generator.manual_seed(seed)
        torch.manual_seed(seed + here)
        return
    generator.set_state(tensors["noise"])
    if len(tensors["dropout"]) != distributed.count():
        torch.manual_seed(seed + here)
        return
    # Copies: torch reads a state from the start of its storage.
    torch.set_rng_state(tensors["dropout"][here].clone())
    if "gpu" in tensors:
        torch.cuda.set_rng_state(tensors["gpu"][here].clone())
