"""G1, G2, G6 and G8: training steps of whole models."""

import time
import warnings
from collections.abc import Callable
from functools import partial

import _texts
import torch
from setting import Setting
from torch import Tensor

import contrast_kit as ck
from contrast_kit import losses
from contrast_kit.objectives import METHODS
from contrast_kit.training.gradient import gradient
from contrast_kit.training.settings import autocast

SHAPE = dict(num_hidden_layers=12, hidden_size=768, num_attention_heads=12, intermediate_size=3072)
SMALL = dict(num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=64)
# Useful operations a token, 10⁶, forward and backward, at base size and 30,000 words, for lengths 128 and 512.
USEFUL = {
    "mlm": (547, 589),
    "electra": (722, 778),
    "coco-lm": (1214, 1305),
    "cmlm": (1071, 1156),
    "capt": (1072, 1156),
    "scl": (524, 566),
}


def build(setting: Setting, method: str, small: bool = False) -> ck.objectives.Objective:
    """An objective at base size on the device, with random texts' vocabulary."""
    words = setting.size(30_000, 200)
    shape = SMALL if setting.tiny or small else SHAPE
    encoder = _texts.encoder(words, **shape, max_length=512)
    options = {"classes": 2} if method in ("scl", "fine-tune") else {}
    return METHODS[method](encoder, **options).to(setting.device).train()


def batch(setting: Setting, rows: int, shortest: int, longest: int) -> dict[str, Tensor]:
    made = _texts.batch(setting.size(30_000, 200), rows, shortest, longest)
    made["label"] = torch.arange(rows) % 2
    return {key: value.to(setting.device) for key, value in made.items()}


def trainer(
    setting: Setting, objective: ck.objectives.Objective, made: dict[str, Tensor]
) -> Callable[[], None]:
    """One whole step: views, encoding in bfloat16, contrast, gradient, fused AdamW where the device has one."""
    fused = setting.device.type == "cuda"
    optimizer = torch.optim.AdamW(objective.parameters(), lr=1e-4, fused=fused)
    generator = torch.Generator(setting.device).manual_seed(0)
    encoding = autocast("bf16", setting.device)

    def call() -> dict[str, Tensor]:
        optimizer.zero_grad()
        with losses.unchecked():
            parts, remembered = gradient(objective, [made], generator, autocast=encoding)
            for vectors, facts in remembered:
                objective.after_step(vectors, facts)
        torch.nn.utils.clip_grad_norm_(objective.parameters(), 1.0)
        optimizer.step()
        return parts

    return call


def transformers_loop(
    setting: Setting, model: torch.nn.Module, made: dict[str, Tensor]
) -> Callable[[], None]:
    """transformers' masked-LM model with labels at 15 %, bfloat16 and fused AdamW: what its Trainer does in a step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=setting.device.type == "cuda")

    def call() -> None:
        chosen = made["maskable"] & (torch.rand(made["maskable"].shape, device=setting.device) < 0.15)
        labels = made["input_ids"].masked_fill(~chosen, -100)
        ids = made["input_ids"].masked_fill(chosen, 4)
        with torch.autocast(setting.device.type, torch.bfloat16):
            loss = model(ids, made["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return call


def each_method(setting: Setting) -> None:
    """G1: one step of each method."""
    for place, length in enumerate((128, 512)):
        length = setting.size(length, 8)
        rows = setting.size(32_768, 32) // length
        made = batch(setting, rows, length, length)
        for method, useful in USEFUL.items():
            _one(setting, method, made, useful[place])
        model = build(setting, "mlm").encoder.model
        forms = {"transformers": model}
        if length == 128:  # compiling takes a minute: once
            forms["transformers compiled"] = torch.compile(model)
        for kind, form in forms.items():
            call = transformers_loop(setting, form, made)
            what = f"{kind}, length {length}"
            setting.attempt(what, partial(_row, setting, what, call, made, USEFUL["mlm"][place]))


def _one(setting: Setting, method: str, made: dict[str, Tensor], useful: float) -> None:
    forms = {"": {}, ", fixed capacity": dict(fixed_capacity=0.15)}
    if method in ("mlm", "coco-lm") and made["input_ids"].shape[1] == 128:  # compiling takes a minute
        forms[", compiled"] = dict(fixed_capacity=0.15, compiled=True)
    for name, options in forms.items():
        objective = ck.faster(build(setting, method), **options)
        what = f"{method}{name}, length {made['input_ids'].shape[1]}"
        setting.attempt(what, partial(_row, setting, what, trainer(setting, objective, made), made, useful))


def _row(
    setting: Setting, what: str, call: Callable, made: dict[str, Tensor], useful: float | None = None
) -> float:
    seconds, mib = setting.time(call, rounds=4)
    tokens = int(made["attention_mask"].sum())
    facts = {"ms": 1e3 * seconds, "tokens_a_second": tokens / seconds, "mib": mib}
    if useful is not None and not setting.tiny:
        limit = useful * 1e6 * tokens / setting.rate  # seconds
        facts |= {"limit_ms": 1e3 * limit, "mfu": limit / seconds}
    setting.keep(what, **facts)
    return seconds


def ragged(setting: Setting) -> None:
    """G2: lengths uniform from 16 to 512; real tokens per second of packed, padded and dense batches."""
    longest, rows = setting.size(512, 16), setting.size(64, 4)
    uneven = batch(setting, rows, setting.size(16, 4), longest)
    even = batch(setting, max(1, int(uneven["attention_mask"].sum()) // longest), longest, longest)
    for name, made, packed in (("dense", even, False), ("padded", uneven, False), ("packed", uneven, True)):
        objective = ck.faster(build(setting, "mlm"), packing=packed)
        setting.attempt(name, lambda n=name, o=objective, m=made: _row(setting, n, trainer(setting, o, m), m))
    model = build(setting, "mlm").encoder.model
    theirs = lambda: _row(setting, "transformers, padded", transformers_loop(setting, model, uneven), uneven)  # noqa: E731
    setting.attempt("transformers, padded", theirs)


def waits(setting: Setting) -> None:
    """G6: does a step wait for the device, and how many steps per second does a small model make?"""
    made = batch(setting, setting.size(64, 4), setting.size(64, 8), setting.size(64, 8))
    for method in USEFUL:
        objective = ck.faster(build(setting, method, small=True), fixed_capacity=0.15)
        call = trainer(setting, objective, made)
        seconds, _ = setting.time(call, rounds=10)
        setting.keep(f"{method}, 2 layers x 32", steps_a_second=1 / seconds, waits=_waits(setting, call))
    model = build(setting, "mlm", small=True).encoder.model
    seconds, _ = setting.time(transformers_loop(setting, model, made), rounds=10)
    setting.keep("transformers, 2 layers x 32", steps_a_second=1 / seconds)


def _waits(setting: Setting, call: Callable[[], object]) -> int | None:
    """How often torch warns about a wait in one call; None where there is no device to wait for."""
    if setting.device.type != "cuda":
        return None
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in seen)


def same_seconds(setting: Setting) -> None:
    """G8: every method trains for the same seconds on the same batch shape; its loss on the way, two seeds."""
    made = batch(setting, setting.size(256, 4), setting.size(128, 8), setting.size(128, 8))
    for method in USEFUL:
        for seed in (0, 1):
            setting.attempt(f"{method}, seed {seed}", lambda m=method, s=seed: _train(setting, m, s, made))


EVERY = 20
"""Steps between two points of a curve; there the device is waited for, so that queued steps are done."""


def _train(setting: Setting, method: str, seed: int, made: dict[str, Tensor]) -> None:
    torch.manual_seed(seed)
    call = trainer(setting, build(setting, method), made)
    every, steps = setting.size(EVERY, 2), 1
    curve = [{"step": steps, "loss": float(call()["loss"]), "seconds": 0.0}]
    start = time.perf_counter()
    while steps % every or time.perf_counter() < start + setting.seconds_each:
        loss, steps = call()["loss"], steps + 1
        if steps % every == 0:
            curve.append({"step": steps, "loss": float(loss), "seconds": time.perf_counter() - start})
    setting.keep(
        f"{method}, seed {seed}",
        steps=steps,
        first=curve[0]["loss"],
        last=curve[-1]["loss"],
        texts=steps * len(made["input_ids"]),
        curve=curve,
    )
