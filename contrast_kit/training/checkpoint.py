"""Everything a run needs to go on as if it had never stopped, written so that a kill at any moment loses nothing.

A checkpoint is a folder `step-00000100/` with the objective and the optimizer as safetensors, the random states,
`state.json` (step, settings, history) and the digests of these files. It is written under another name and renamed when
whole, and renamed before it is deleted, so a folder with this name is always whole. Folders of other names, such as a
copy `step-00000100-best`, belong to the reader: they are neither read nor deleted.

A run may be resumed on another number of processes. The order of the data, the batches and the noise of the views are
then the same, so gradients are equal up to rounding; dropout starts anew, from seed, step and process (on another kind
of device, so does the noise). On the same number everything is restored, and on a CPU the end is bit for bit the same.
"""

import copy
import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor, nn

from contrast_kit import checks, trainer_checks
from contrast_kit.data import intact
from contrast_kit.data.drafts import draft_of, remove_folder
from contrast_kit.encoder.hf_folders import architecture
from contrast_kit.training import distributed
from contrast_kit.training.gradient import RandomState

PREFIX = "step-"
STATE = "state.json"
FILES = ("objective.safetensors", "optimizer.safetensors", "random.safetensors", STATE)
MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # what AdamW remembers of a weight, from its first gradient on


class Trained(NamedTuple):
    """What changes along a run. The generator draws the noise of the views, the same on all processes."""

    objective: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator


def settings(objective: nn.Module, training: Any) -> dict[str, Any]:
    """What must be equal for a run to be continued: the method, its config, the training settings, the encoder."""
    encoder = objective.encoder
    dropout = sorted({m.p for m in encoder.modules() if isinstance(m, nn.Dropout)})
    facts = {
        "objective": type(objective).__name__,
        "config": dataclasses.asdict(objective.config),
        "training": dataclasses.asdict(training),
        "encoder": {"model": type(encoder.model).__name__, "pooling": encoder.pooling, "dropout": dropout},
        "weights": sum(p.numel() for p in objective.parameters()),
        "trained weights": sum(p.numel() for p in objective.parameters() if p.requires_grad),
        "architecture": architecture(encoder.model),
    }
    return json.loads(json.dumps(facts, default=intact.written))


def save(folder: Path, step: int, trained: Trained, state: dict[str, Any]) -> Path:
    """Write `folder/step-…` atomically, then delete all but the newest two; returns the new folder.

    All processes call it: the first one writes, with the random states of all; the others wait, and learn whether it
    succeeded. `state` is what else to remember, in a form JSON takes: the settings, the history, …
    """
    final = folder / f"{PREFIX}{step:08d}"
    device, problem = trained.objective.encoder.device, None
    random = _random_states(device, trained.generator)
    if distributed.rank() == 0:
        try:
            _tidy(folder)  # first, as the disk may be full of what a killed run left
            _write(final, trained, random, {"step": step, **state})
            _tidy(folder)
        except (OSError, SafetensorError) as error:
            problem = error
    if distributed.anywhere(problem is not None, device):  # else the others would wait for ever
        reason = f" ({problem})" if problem else " by the first process"
        raise OSError(f"The checkpoint {final} could not be written{reason}; {describe_newest(folder)}.") from problem
    return final


def _write(final: Path, trained: Trained, random: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write a checkpoint under another name, and rename it when it is whole."""
    if final.exists() and not _marked(final):
        raise OSError(f"{final} is there already and no checkpoint of a run: move it away")
    tensors, groups = _pack(trained.optimizer)
    with draft_of(final) as draft:
        draft.mkdir(parents=True)
        save_model(trained.objective, str(draft / "objective.safetensors"))
        save_file(tensors, draft / "optimizer.safetensors")
        save_file(random, draft / "random.safetensors")
        (draft / STATE).write_text(json.dumps({"optimizer": groups, **state}, default=intact.written))
        intact.seal(draft)


def _tidy(folder: Path, keep: int = 2) -> None:
    """Delete all but the newest checkpoints, and what a run left that was killed while it wrote or deleted one."""
    for left in folder.glob(f".{PREFIX}*"):
        if re.fullmatch(rf"\.{PREFIX}\d{{8,}}\.(draft|gone)", left.name):  # another name is the reader's
            shutil.rmtree(left, ignore_errors=True)
    for old in [path for path in found(folder) if _marked(path)][:-keep]:
        remove_folder(old)


def found(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first: the folders named `step-` and eight digits or more, nothing else."""
    named = [path for path in Path(folder).glob(f"{PREFIX}*") if re.fullmatch(rf"{PREFIX}\d{{8,}}", path.name)]
    return sorted((path for path in named if path.is_dir()), key=lambda path: int(path.name.removeprefix(PREFIX)))


def _marked(path: Path) -> bool:
    """Whether `fit` wrote this folder."""
    return (path / STATE).exists()


def damage(path: Path) -> str | None:
    """What is wrong with a checkpoint; None if its files are as written, or from before there were digests."""
    return intact.damage(path, FILES) if _marked(path) else f"it holds no {STATE}"


def describe_newest(folder: Path) -> str:
    """The last good checkpoint of a run, for a sentence."""
    checkpoints = found(folder)
    return f"the last good checkpoint is {checkpoints[-1]}" if checkpoints else "no checkpoint was saved before"


def check_folder(folder: Path, resume: bool) -> None:
    """Raise a `ValueError` for a file, and for a new run in a folder that holds another run's checkpoints."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file, so it can hold no checkpoints: name a folder.")
    if not resume and (checkpoints := found(folder)):
        raise ValueError(
            f"{folder} already holds {checkpoints[-1].name} of a run: go on with resume=True (on the command line "
            "without --fresh), or take another folder (or delete this one) to start afresh."
        )


def load(folder: Path, trained: Trained, expected: dict[str, Any]) -> dict[str, Any] | None:
    """Bring a run back to its newest checkpoint; None if there is none. Returns what `save` was given as `state`.

    Raises:
        ValueError: if the checkpoint belongs to other settings (names the first that differs), or is damaged.
    """
    if not (checkpoints := found(folder)):
        return None
    newest = checkpoints[-1]
    if problem := damage(newest):
        raise _damaged_error(newest, problem)
    try:
        state = json.loads((newest / STATE).read_text())
        if int(newest.name.removeprefix(PREFIX)) != state["step"]:
            raise intact.UnfitError(f"its {STATE} is of step {checks.shown(state['step'])}")
        former = getattr(type(trained.objective.config), "former_fields", {})  # written under a setting's former name
        config = state["settings"]["config"]
        state["settings"]["config"] = {former.get(name, name): value for name, value in config.items()}
        for name in ("chunk_size", "packing", "log_every", "save_every"):  # the batches stay; other dropout is drawn
            state["settings"]["training"][name] = expected["training"][name]
        saved, now = state["settings"]["architecture"], expected["architecture"]
        both = saved.keys() & now.keys()  # another version of transformers has more fields, or fewer
        state["settings"]["architecture"] = now | {name: saved[name] for name in both}
        if trainer_checks.at_rest(trained.objective) == state.get("at rest"):  # as a callback left it, in this session
            expected["trained weights"] = state["settings"]["trained weights"]
        _check_settings(newest, state["settings"], expected)
        tensors, random = load_file(newest / "optimizer.safetensors"), load_file(newest / "random.safetensors")
        _load_all(trained, newest / "objective.safetensors", tensors, state["optimizer"])
        trainer_checks.let_rest(trained.objective, state.get("at rest"))
    except (SafetensorError, json.JSONDecodeError, KeyError, TypeError, AttributeError, RuntimeError, OSError) as error:
        problem = str(error) if isinstance(error, intact.UnfitError) else type(error).__name__
        raise _damaged_error(newest, problem) from error
    _restore_random(random, trained, (expected["training"]["seed"], state["step"]))
    if distributed.rank() == 0:
        _tidy(folder)  # a run that was killed at its last checkpoint saves no other
    return state


def _damaged_error(path: Path, problem: str) -> ValueError:
    """The error for a damaged checkpoint; it offers the newest one before it whose files are intact."""
    whole = [other for other in found(path.parent) if other < path and not damage(other)]
    offer = f"delete it to go on from {whole[-1].name}, or" if whole else "no other one is intact:"
    return ValueError(f"The checkpoint {path} is damaged ({problem}); {offer} start afresh in another folder.")


def _load_all(trained: Trained, file: Path, tensors: dict[str, Tensor], groups: dict[str, Any]) -> None:
    """Load the weights and the optimizer's state, both or, after an error, neither."""
    weights = {name: value.clone() for name, value in trained.objective.state_dict().items()}
    optimizer = copy.deepcopy(trained.optimizer.state_dict())
    try:
        load_model(trained.objective, str(file))
        _unpack(trained.optimizer, tensors, groups)
        _check_whole(trained, len(tensors), groups["tensors"])
    except Exception as error:
        trained.objective.load_state_dict(weights)
        trained.optimizer.load_state_dict(optimizer)
        raise error if isinstance(error, intact.UnfitError) else RuntimeError(str(error)) from error


def _check_whole(trained: Trained, found: int, written: int) -> None:
    """Raise where a weight is not finite, or the optimizer's moments are missing or misshapen.

    A weight that has had no gradient has none, so their number was `written` too.
    """
    if spoiled := [name for name, weight in trained.objective.named_parameters() if not weight.isfinite().all()]:
        raise intact.UnfitError(f"{spoiled[0]} is not finite")
    memory = trained.optimizer.state
    if found != written or any(MOMENTS - set(moments) for moments in memory.values()):
        raise intact.UnfitError("moments of the optimizer are missing")
    for parameter, moments in memory.items():
        if any(value.ndim and value.shape != parameter.shape for value in moments.values()):
            raise intact.UnfitError(f"the optimizer's moments of a weight of shape {list(parameter.shape)} do not fit")


def _check_settings(path: Path, saved: Any, expected: Any, name: str = "") -> None:
    """Raise for the first setting in which the checkpoint differs from the run that resumes it."""
    if isinstance(saved, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in saved if key not in expected)]:  # the method first
            _check_settings(path, saved.get(key), expected.get(key), f"{name}.{key}" if name else key)
    elif saved != expected:
        if name in ("training.steps", "training.epochs") and None not in (saved, expected):
            raise ValueError(
                f"The run in {path.parent} was planned for {name} = {saved!r}, not {expected!r}, and its learning "
                "rates with it. To train on, start a new run from its encoder in another folder (on the command line: "
                f"--start {path.parent / 'encoder'}); to train anew, take another folder too."
            )
        raise ValueError(
            f"The checkpoint {path} was made with {name} = {saved!r}, not {expected!r}: use the same settings to "
            "resume, or another folder for another run."
        )


def _random_states(device: torch.device, generator: torch.Generator) -> dict[str, Tensor]:
    """The random states of all processes, [processes, bytes] each: torch's own, the device's, and the noise's."""
    here = RandomState.now(device)
    states = {"cpu": here.cpu, "noise": generator.get_state()} | ({} if here.own is None else {"own": here.own})
    on_device = {name: state[None].to(device) for name, state in states.items()}  # GPUs send only what is on a GPU
    return {name: distributed.gather(state, distributed.count()).cpu() for name, state in on_device.items()}


def _restore_random(random: dict[str, Tensor], trained: Trained, seed: tuple[int, int]) -> None:
    """Go on in the random streams of a checkpoint where they fit these processes and this device, else in new ones."""
    noise, here, generator = random["noise"][0], distributed.rank(), trained.generator
    if same_kind := len(noise) == len(generator.get_state()):
        generator.set_state(noise.clone())  # a copy: a generator reads from the start of the storage
    else:
        generator.manual_seed(_new_seed(*seed))
    if len(random["cpu"]) == distributed.count() and same_kind:
        own = random["own"][here].clone() if "own" in random else None
        RandomState(random["cpu"][here].clone(), trained.objective.encoder.device, own).restore()
    else:
        torch.manual_seed(_new_seed(*seed, distributed.count(), here))


def _new_seed(*numbers: int) -> int:
    """A seed that shares nothing with the seeds of other numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _pack(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimizer's state as flat tensors, and the rest in a form JSON takes."""
    state = optimizer.state_dict()
    tensors = {f"{i}.{key}": value for i, of in state["state"].items() for key, value in of.items()}
    return tensors, {"param_groups": state["param_groups"], "tensors": len(tensors)}


def _unpack(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
    """The way back from `_pack`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        i, key = name.split(".", 1)
        state.setdefault(int(i), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": rest["param_groups"]})
