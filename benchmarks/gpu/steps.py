"""G1, G2 and G6: training steps of whole models, as `fit` takes them, beside transformers' own."""

import copy
import warnings
from collections.abc import Callable
from functools import cache, partial

import _texts
import torch
from setting import Setting

import contrast_kit as ck
from contrast_kit.objectives import METHODS

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
COMPILED = dict(fixed_capacity=0.15, compiled=True)


@cache
def _encoder(words: int, small: bool, device: torch.device) -> ck.Encoder:
    """Made once, on the device: a base encoder made on a CPU takes seconds."""
    with torch.device(device):
        return _texts.encoder(words, **(SMALL if small else SHAPE), max_length=512).to(device)


def build(setting: Setting, method: str, small: bool = False, **options: object) -> ck.objectives.Objective:
    """An objective on the device, at base size or small."""
    encoder = _encoder(setting.of(30_000, 30_000, 200), small or setting.size == "dry", setting.device)
    own = {"classes": 2} if method == "scl" else {}
    with torch.device(setting.device):
        objective = METHODS[method](copy.deepcopy(encoder), **own).to(setting.device)
    if setting.device.type == "cpu" and options.get("compiled"):
        options["compiled"] = "eager"  # to try the code
    return ck.faster(objective, **options) if options else objective


def fitted(
    setting: Setting, objective: ck.objectives.Objective, texts: ck.data.Texts, rows: int, steps: int, quick: bool
) -> dict:
    """Seconds and MiB of a step in the middle of `fit`, its batches included, and how often it waits for the device."""
    every = max(1, steps // 4)
    watched = range(every + 1, 2 * every)  # not logged: there it waits on purpose
    begin = objective.set_progress

    def set_progress(step: int, total: int) -> None:
        if setting.device.type == "cuda":
            torch.cuda.set_sync_debug_mode("warn" if step in watched else "default")
        begin(step, total)

    objective.set_progress = set_progress
    before = setting.memory(reset=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        options = dict(steps=steps, batch_size=rows, log_every=every, group_by_length=False, compiled=quick)
        run = ck.fit(objective, texts, precision="bf16", progress=False, **options)
    waits = sum("synchroniz" in str(one.message) for one in seen) / max(1, len(watched))
    took = run.history["seconds"].diff().iloc[1:].min() / every
    return {"seconds": took, "mib": (setting.memory() - before) / 2**20, "waits": waits}


def transformers_step(setting: Setting, model: torch.nn.Module, texts: ck.data.Texts, rows: int) -> Callable[[], None]:
    """transformers' masked-LM model with labels at 15 %, bfloat16 and fused AdamW: what its Trainer does in a step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    made = {key: value.to(setting.device) for key, value in texts.batch(range(rows)).items()}

    def call() -> None:
        chosen = made["maskable"] & (torch.rand(made["maskable"].shape, device=setting.device) < 0.15)
        labels = made["input_ids"].masked_fill(~chosen, -100)
        ids = made["input_ids"].masked_fill(chosen, 4)
        with torch.autocast(setting.device.type, torch.bfloat16):
            loss = model(ids, made["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()

    return call


def _row(setting: Setting, what: str, facts: dict, tokens: float, useful: float = 0) -> None:
    """Write a row about a step on so many tokens."""
    seconds = facts.pop("seconds")
    facts |= {"ms": 1e3 * seconds, "tokens_a_second": tokens / seconds, "steps_a_second": 1 / seconds}
    if useful and setting.size != "dry":
        limit = useful * 1e6 * tokens / setting.rate  # seconds
        facts |= {"limit_ms": 1e3 * limit, "mfu": limit / seconds}
    setting.keep(what, **facts)


def _ours(
    setting: Setting, what: str, method: str, texts: ck.data.Texts, rows: int, steps: int, useful: float = 0,
    small: bool = False, quick: bool = True, **options: object,
) -> None:  # fmt: skip
    """A row of `fit`: as it chooses, with `options` of `faster`, or without its `quick` ways."""

    def run() -> None:
        facts = fitted(setting, build(setting, method, small, **options), texts, rows, steps, quick)
        _row(setting, what, facts, rows * texts.lengths.double().mean().item(), useful)

    setting.attempt(what, run)


def _theirs(
    setting: Setting, what: str, texts: ck.data.Texts, rows: int, useful: float = 0, small: bool = False,
    compiled: bool = False,
) -> None:  # fmt: skip
    def run() -> None:
        model = build(setting, "mlm", small).encoder.model.train()
        if compiled:
            model.compile(backend="eager" if setting.device.type == "cpu" else "inductor")
        call = transformers_step(setting, model, texts, rows)
        seconds, mib = setting.time(call)
        tokens = int(texts.lengths[:rows].sum())
        _row(setting, what, {"seconds": seconds, "mib": mib}, tokens, useful)

    setting.attempt(what, run)


def each_method(setting: Setting) -> None:
    """G1: one step of each method."""
    words, steps = setting.of(30_000, 30_000, 200), setting.of(16, 8, 4)
    for place, length in enumerate((128, 512)):
        rows = setting.of(32_768, 8_192, 64 * (place + 1)) // length or 2
        length_here = setting.of(length, length, 8)
        texts = _texts.texts(words, 4 * rows, length_here, length_here)
        made = partial(_ours, setting, texts=texts, rows=rows, steps=steps)
        for method, useful in USEFUL.items():
            made(f"{method}, as it is, length {length}", method, useful=useful[place])
        useful = USEFUL["mlm"][place]
        _theirs(setting, f"transformers, length {length}", texts, rows, useful)
        if length == 128 and setting.size != "compact":  # compiling takes a minute
            made("mlm, eager, length 128", "mlm", useful=useful, quick=False)
            made("mlm, compiled, length 128", "mlm", useful=useful, **COMPILED)
            _theirs(setting, "transformers, compiled, length 128", texts, rows, useful, compiled=True)


def ragged(setting: Setting) -> None:
    """G2: lengths uniform from 16 to 512; real tokens per second of packed, padded and dense batches."""
    words, steps = setting.of(30_000, 30_000, 200), setting.of(16, 8, 4)
    longest, rows = setting.of(512, 512, 16), setting.of(64, 16, 4)
    uneven = _texts.texts(words, 4 * rows, setting.of(16, 16, 4), longest)
    full = int(uneven.lengths.sum()) // longest // 4 or 1
    even = _texts.texts(words, 4 * full, longest, longest)
    _ours(setting, "dense", "mlm", even, full, steps)
    _ours(setting, "padded", "mlm", uneven, rows, steps, quick=False)
    _ours(setting, "packed", "mlm", uneven, rows, steps, packing=True)
    _theirs(setting, "transformers, padded", uneven, rows)


def small(setting: Setting) -> None:
    """G6: does a step wait for the device, and how many steps per second does a small model make?"""
    rows, length = setting.of(64, 64, 4), setting.of(64, 64, 8)
    texts = _texts.texts(setting.of(30_000, 30_000, 200), 8 * rows, length, length)
    made = partial(_ours, setting, texts=texts, rows=rows, steps=setting.of(400, 60, 4), small=True)
    for method in USEFUL:
        made(f"{method}, as it is, 2 layers x 32", method)
    _theirs(setting, "transformers, 2 layers x 32", texts, rows, small=True)
    if setting.size != "compact":
        made("mlm, eager, 2 layers x 32", "mlm", quick=False)
