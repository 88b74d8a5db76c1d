import json
import math
import os
import shutil
import signal
import threading
import time
from collections import Counter

import pytest
import torch
from conftest import make_encoder
from transformers import AutoModelForSequenceClassification

import contrast_kit as ck
from contrast_kit.training import checkpoint
from contrast_kit.training.fit import _Loop
from contrast_kit.training.settings import Training, learning_rate


def press_stop_at(step):
    """A callback that presses the notebook's stop button after this step."""

    def press(run):
        if run.steps == step:
            threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(0.2)

    return press


def weights(objective):
    return {name: value.cpu().clone() for name, value in objective.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    "stop_at", [3, 5]
)  # in the middle of an epoch; between two checkpoints
def test_resumed_amid_accumulation_and_epochs_is_bitwise_the_unbroken_run(
    tokenizer, texts, tmp_path, stop_at
):
    """40 texts make 2 batches an epoch, and a step takes 3: a step begins in one epoch and ends in the next."""

    def go(**options):
        objective = ck.objectives.CMLM(make_encoder(tokenizer, dropout=0.1), K=2)
        run = ck.fit(
            objective, texts[:40], steps=9, batch_size=16, accumulate=3, chunk_size=7, save_every=2, lr=1e-2,
            progress=False, **options,
        )  # fmt: skip
        return run, weights(objective)

    unbroken, expected = go()
    broken, halfway = go(folder=tmp_path, callback=press_stop_at(stop_at))
    assert broken.interrupted and broken.steps == stop_at and not same(halfway, expected)
    resumed, found = go(folder=tmp_path, resume=True)
    assert same(found, expected)
    assert resumed.history.drop(columns="seconds").equals(
        unbroken.history.drop(columns="seconds")
    )


def test_a_finished_run_resumed_takes_no_further_step(
    tokenizer, texts, tmp_path, monkeypatch
):
    first = ck.objectives.CMLM(make_encoder(tokenizer))
    run = ck.fit(first, texts, steps=3, folder=tmp_path, progress=False)
    monkeypatch.setattr(torch.optim.AdamW, "step", None)  # a step would now be an error
    again = ck.objectives.CMLM(make_encoder(tokenizer, seed=1))
    resumed = ck.fit(again, texts, steps=3, folder=tmp_path, resume=True, progress=False)
    assert (
        resumed.steps == 3
        and not resumed.interrupted
        and same(weights(again), weights(first))
    )
    assert resumed.history.equals(run.history)


def test_post_trained_weights_go_on_into_the_next_stage(tokenizer, texts, tmp_path):
    """Post-train, save, open, train on: the second stage starts at the first one's end, not at the beginning."""
    start = make_encoder(tokenizer, dropout=0.1)
    original = weights(start)
    ck.fit(
        ck.objectives.CMLM(start), texts, steps=5, lr=1e-2, batch_size=16, progress=False
    )
    post_trained = weights(start)
    assert not same(original, post_trained)

    saved = start.save_pretrained(tmp_path)
    opened = ck.Encoder.from_pretrained(saved)
    for encoder in (start, opened):  # by hand, or through a folder
        assert same(weights(ck.objectives.MLM(encoder).encoder), post_trained)
    seen = []
    objective = ck.objectives.MLM(opened)
    plain = objective.encode
    objective.encode = lambda name, view: (
        seen.append(weights(opened)) or plain(name, view)
    )
    ck.fit(objective, texts, steps=2, warmup=0, progress=False)
    assert same(seen[0], post_trained) and not same(seen[1], post_trained)

    classifier = AutoModelForSequenceClassification.from_pretrained(saved, num_labels=2)
    body = {
        name.removeprefix("model.roberta."): value for name, value in post_trained.items()
    }
    for name, value in classifier.roberta.state_dict().items():
        assert torch.equal(value, body[name]), name


def test_loss_falls_and_history_is_a_table(encoder, texts):
    run = ck.fit(
        ck.objectives.CMLM(encoder),
        texts,
        steps=60,
        batch_size=16,
        lr=3e-3,
        progress=False,
    )
    assert list(run.history.columns) == [
        "step",
        "loss",
        "mlm",
        "contrast",
        "lr",
        "grad_norm",
        "seconds",
    ]
    assert list(run.history["step"]) == list(range(1, 61))
    assert run.history["mlm"].tail(10).mean() < run.history["mlm"].head(10).mean() - 0.3
    assert not run.interrupted and "60 of 60 steps" in repr(run)
    assert repr(run).endswith(
        f"loss {run.rows[0]['loss']:.3f} → {run.rows[-1]['loss']:.3f}"
    )


def test_same_seed_same_run_other_seed_other_run(tokenizer, texts):
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(99 + len(losses))  # the caller's random state has no say
        run = ck.fit(
            ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1)),
            texts,
            steps=4,
            seed=seed,
            progress=False,
        )
        losses.append(list(run.history["loss"]))
    assert losses[0] == losses[1] != losses[2]


def test_dropout_is_the_seeds_and_seeds_lie_far_apart(tokenizer, monkeypatch):
    """The views of SimCSE are the batch itself, so dropout alone differs. Processes count up from their run's seed."""
    drawn, losses, plain = [], [], torch.manual_seed
    monkeypatch.setattr(
        torch, "manual_seed", lambda seed: drawn.append(seed) or plain(seed)
    )
    for seed in (0, 1):
        objective = ck.objectives.SimCSE(make_encoder(tokenizer, dropout=0.1))
        rows = ["the red kite flies over the shelf", "a small drum"]
        run = ck.fit(objective, rows, steps=1, batch_size=2, seed=seed, progress=False)
        losses.append(run.rows[0]["loss"])
    assert losses[0] != losses[1]
    assert abs(drawn[0] - drawn[1]) > 1000


def test_the_noise_of_the_views_is_the_seeds(tokenizer):
    """One text, eight times, without dropout: nothing else differs."""
    seen = []
    for seed in (0, 1):
        objective = ck.objectives.MLM(make_encoder(tokenizer), p_m=0.5)
        rows = ["the red kite flies over the shelf"] * 8
        seen.append(
            ck.fit(
                objective, rows, steps=1, batch_size=8, seed=seed, progress=False
            ).rows[0]["loss"]
        )
    assert seen[0] != seen[1]


def test_the_callers_random_state_is_kept(encoder, texts):
    torch.manual_seed(4)
    before = torch.get_rng_state()
    ck.fit(ck.objectives.MLM(encoder), texts, steps=1, progress=False)
    assert torch.equal(before, torch.get_rng_state())


def test_noise_is_new_in_every_epoch(encoder, texts):
    seen = []
    objective = ck.objectives.MLM(encoder, p_m=0.5)
    plain = objective.views

    def spy(batch, generator):
        views = plain(batch, generator)
        order = batch["text_id"].argsort()
        seen.append(
            {
                int(batch["text_id"][i]): views["T0"]["selected"][i][batch["maskable"][i]]
                for i in order
            }
        )
        return views

    objective.views = spy
    ck.fit(objective, texts[:16], epochs=40, batch_size=16, progress=False)
    overlap = [a[i] & b[i] for a, b in zip(seen, seen[1:], strict=False) for i in a]
    assert torch.cat(overlap).float().mean().item() == pytest.approx(
        0.25, abs=0.03
    )  # p², not p


def test_learning_rate_follows_the_optimizers_steps(encoder, texts, monkeypatch):
    rates, step = [], torch.optim.AdamW.step

    def seen(optimizer):
        return rates.append([group["lr"] for group in optimizer.param_groups])  # noqa: E731

    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda self, *args: seen(self) or step(self, *args)
    )
    run = ck.fit(
        ck.objectives.MLM(encoder), texts, steps=20, lr=1e-3, warmup=0.25, batch_size=4, accumulate=3, chunk_size=2,
        progress=False,
    )  # fmt: skip
    up, down = (
        [step / 5 for step in range(5)],
        [(20 - step) / 15 for step in range(5, 20)],
    )
    expected = [1e-3 * share for share in up + down]
    assert list(run.history["lr"]) == pytest.approx(expected)
    assert rates == [
        [rate] * 2 for rate in run.history["lr"]
    ]  # of matrices, and of biases and norms
    flat = Training(steps=20, lr=1e-3, warmup=0.25, decay="none")
    assert [learning_rate(step, 20, flat) for step in (0, 5, 19)] == pytest.approx(
        [0, 1e-3, 1e-3]
    )
    assert (
        learning_rate(0, 20, Training(steps=20, lr=1e-3, warmup=0, decay="none")) == 1e-3
    )


def test_after_a_run_no_gradient_is_left_dropout_is_off_and_ctrl_c_is_the_callers(
    encoder, texts
):
    before = signal.getsignal(signal.SIGINT)
    run = ck.fit(ck.objectives.MLM(encoder), texts, steps=2, batch_size=4, progress=False)
    assert signal.getsignal(signal.SIGINT) is before
    assert all(weight.grad is None for weight in run.objective.parameters())
    assert not any(module.training for module in run.objective.modules())


def test_a_weight_at_rest_counts_in_no_norm_and_may_be_set_free(tokenizer, texts):
    """A gradient from before it was frozen is not clipped with; once a callback frees it, it is trained."""

    def go(backward, freed_at):
        objective = ck.objectives.MLM(make_encoder(tokenizer))
        resting = objective.encoder.model.base_model.encoder
        if backward:
            objective(ck.data.Texts(texts, tokenizer).batch(range(4)))["loss"].backward()
        resting.requires_grad_(False)
        before = weights(resting)

        def free(run):
            resting.requires_grad_(run.steps >= freed_at)

        run = ck.fit(
            objective,
            texts,
            steps=4,
            batch_size=4,
            lr=1e-2,
            callback=free,
            progress=False,
        )
        assert all(weight.grad is None for weight in objective.parameters())
        return run.history["grad_norm"].tolist(), same(weights(resting), before)

    rested = go(False, 9)
    assert rested[1] and go(True, 9) == rested
    assert not go(False, 2)[1]


@pytest.mark.parametrize("frees", [False, True])
@pytest.mark.parametrize("in_one_session", [False, True])
def test_a_run_goes_on_with_the_weights_at_rest_that_a_callback_left(
    tokenizer, texts, tmp_path, frees, in_one_session
):
    """It froze them, or set them free, at a step that does not come again; the objective may be as left, or new."""

    def made():
        objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1))
        objective.encoder.model.base_model.encoder.requires_grad_(not frees)
        return objective

    def go(objective, stop=None, **where):
        def callback(run):
            if run.steps == 2:
                objective.encoder.model.base_model.encoder.requires_grad_(frees)
            if run.steps == stop:
                run.stop()

        ck.fit(
            objective,
            texts,
            steps=6,
            batch_size=4,
            lr=1e-2,
            callback=callback,
            progress=False,
            **where,
        )
        return weights(objective)

    expected, objective = go(made()), made()
    for stop in (3, 4):  # the second time, from the checkpoint of a run that went on
        go(objective, stop, folder=tmp_path, resume=True)
        objective = objective if in_one_session else made()
    assert same(go(made(), folder=tmp_path, resume=True), expected)


def test_a_run_goes_on_in_other_chunks_and_with_other_notes(tokenizer, texts, tmp_path):
    settings = dict(steps=6, batch_size=8, folder=tmp_path, progress=False)

    def make():
        return ck.objectives.CMLM(make_encoder(tokenizer), contrast="nt_xent").double()

    expected = weights(
        ck.fit(make(), texts, steps=6, batch_size=8, progress=False).objective
    )
    ck.fit(make(), texts, callback=press_stop_at(3), **settings)
    run = ck.fit(
        make(), texts, resume=True, chunk_size=3, log_every=2, save_every=1, **settings
    )
    found = weights(run.objective)
    assert all(
        torch.allclose(found[name], value, atol=1e-10) for name, value in expected.items()
    )


@pytest.mark.parametrize(
    ("length", "steps", "times"),
    [
        ({"epochs": 1}, 2, {1: 20}),
        ({"epochs": 3}, 4, {3: 20}),
        ({"epochs": 0.5}, 1, {1: 12, 0: 8}),
        ({}, 2, {1: 20}),
    ],
)
def test_the_last_step_takes_the_batches_that_are_left(encoder, length, steps, times):
    """Five batches of four rows, accumulated by four: a pass has every row once, not the next pass's too."""
    seen = Counter()

    class Watched(ck.objectives.MLM):
        def views(self, batch, generator=None):
            seen.update(batch["text_id"].tolist())
            return super().views(batch, generator)

    rows = [f"There are {n} kites." for n in range(20)]
    run = ck.fit(
        Watched(encoder), rows, batch_size=4, accumulate=4, progress=False, **length
    )
    assert run.steps == steps and Counter(seen[n] for n in range(20)) == times


@pytest.mark.parametrize("clip", [0.01, None])
def test_clipping_limits_the_gradient_and_none_leaves_it(clip, encoder, texts):
    norms, objective = [], ck.objectives.MLM(encoder)
    objective.weights = {"mlm": 100.0}
    step = torch.optim.AdamW.step

    def spy(self, *args, **kwargs):
        grads = [
            p.grad
            for group in self.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        norms.append(torch.nn.utils.get_total_norm(grads).item())
        return step(self, *args, **kwargs)

    torch.optim.AdamW.step = spy
    try:
        run = ck.fit(objective, texts, steps=3, clip=clip, progress=False)
    finally:
        torch.optim.AdamW.step = step
    before = run.history[
        "grad_norm"
    ].tolist()  # the history tells the norm before clipping
    assert min(before) > 10
    assert norms == pytest.approx([clip] * 3 if clip else before, rel=1e-3)


@pytest.mark.full
def test_bf16_trains(tokenizer, texts):
    run = ck.fit(
        ck.objectives.CMLM(make_encoder(tokenizer)),
        texts,
        steps=30,
        precision="bf16",
        lr=3e-3,
        progress=False,
    )
    assert run.history["loss"].iloc[-5:].mean() < run.history["loss"].iloc[:5].mean()
    assert next(run.encoder.parameters()).dtype == torch.float32
    first = ck.fit(
        ck.objectives.CMLM(make_encoder(tokenizer)), texts, steps=1, progress=False
    )
    assert (
        0
        < abs(first.rows[0]["loss"] - run.rows[0]["loss"])
        < 0.02 * first.rows[0]["loss"]
    )  # other digits: it is on


def test_a_loss_that_is_not_finite_stops_with_step_parts_and_checkpoint(
    encoder, texts, tmp_path
):
    objective = ck.objectives.MLM(encoder)

    def spoil(run):
        if run.steps == 6:
            with torch.no_grad():
                encoder.model.lm_head.bias.fill_(math.nan)

    with pytest.raises(
        FloatingPointError,
        match=r"Step 7 .*nan.*step-00000005",
    ) as caught:
        ck.fit(
            objective,
            texts,
            steps=20,
            folder=tmp_path,
            save_every=5,
            callback=spoil,
            progress=False,
        )
    assert caught.value.run.steps == 6 and len(caught.value.run.history) == 6


def test_an_infinite_loss_stops_though_its_gradient_is_finite(encoder, texts):
    class Infinite(ck.objectives.MLM):
        def local_sums(self, name, hidden, view):
            return {"mlm": super().local_sums(name, hidden, view)["mlm"] + math.inf}

    with pytest.raises(FloatingPointError, match="Step 1 .*loss inf"):
        ck.fit(Infinite(encoder), texts, steps=2, progress=False)


def test_a_gradient_that_is_not_finite_stops_between_two_rows_of_the_history(
    encoder, texts, tmp_path
):
    """Steps 11 to 15 are neither logged nor saved but for the last: NaN must not reach a checkpoint there."""
    calls = []

    def spoil(grad):
        calls.append(grad)
        return grad * math.nan if len(calls) == 12 else grad

    encoder.model.lm_head.bias.register_hook(spoil)
    with pytest.raises(
        FloatingPointError, match=r"Step 12 .*grad_norm nan.*step-00000009"
    ):
        ck.fit(
            ck.objectives.MLM(encoder), texts, steps=15, log_every=10, save_every=3, folder=tmp_path, progress=False
        )  # fmt: skip
    assert all(value.isfinite().all() for value in weights(encoder).values())


def test_stop_button_returns_the_run_so_far(encoder, texts, tmp_path):
    before, press = signal.getsignal(signal.SIGINT), press_stop_at(3)
    run = ck.fit(
        ck.objectives.MLM(encoder),
        texts,
        steps=50,
        callback=press,
        folder=tmp_path,
        progress=False,
    )
    assert run.interrupted and run.steps == 3 and "stopped on request" in repr(run)
    assert signal.getsignal(signal.SIGINT) is before
    again = ck.fit(
        ck.objectives.MLM(encoder),
        texts,
        steps=50,
        folder=tmp_path,
        resume=True,
        progress=False,
    )
    assert again.steps == 50 and list(again.history["step"]) == list(range(1, 51))


def test_stopped_before_its_first_step_a_resumed_run_ends_where_it_was(
    encoder, texts, tmp_path, monkeypatch
):
    objective = ck.objectives.MLM(encoder)
    ck.fit(
        objective,
        texts,
        steps=5,
        folder=tmp_path,
        callback=lambda run: run.stop(),
        progress=False,
    )
    restore = _Loop.restore
    monkeypatch.setattr(
        _Loop, "restore", lambda loop: (restore(loop), signal.raise_signal(signal.SIGINT))
    )
    run = ck.fit(objective, texts, steps=5, folder=tmp_path, resume=True, progress=False)
    assert (
        run.interrupted
        and run.steps == 1
        and checkpoint.checkpoints(tmp_path)[-1].name == "step-00000001"
    )


def test_a_failed_save_leaves_the_last_checkpoint(encoder, texts, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    def fill_the_disk(run):
        if run.steps == 3:
            monkeypatch.setattr(torch, "save", full)

    with pytest.raises(OSError, match="No space left.*step-00000002"):
        ck.fit(
            ck.objectives.MLM(encoder), texts, steps=4, save_every=1, folder=tmp_path, callback=fill_the_disk,
            progress=False,
        )  # fmt: skip
    assert sorted(path.name for path in tmp_path.glob("*step*")) == [
        "step-00000001",
        "step-00000002",
    ]


def test_texts_are_cut_where_the_encoder_ends(encoder, texts):
    long = [" ".join(texts[:20])] * 4
    assert ck.fit(ck.objectives.MLM(encoder), long, steps=1, progress=False).steps == 1
    ready = ck.data.Texts(long, encoder.tokenizer, max_length=100)
    with pytest.raises(ValueError, match="has 100 tokens, but the encoder takes 64"):
        ck.fit(ck.objectives.MLM(encoder), ready, steps=1, progress=False)


def test_a_checkpoint_of_another_transformers_is_resumed(tokenizer, texts, tmp_path):
    """Its configurations have a field more, and lack one."""
    options = dict(steps=2, save_every=1, folder=tmp_path, progress=False)
    ck.fit(
        ck.objectives.MLM(make_encoder(tokenizer)),
        texts,
        callback=lambda run: run.stop(),
        **options,
    )
    (file,) = tmp_path.glob("step-*/state.json")
    state = json.loads(file.read_text())
    fields = state["settings"]["architecture"]
    del fields["layer_norm_eps"]
    file.write_text(
        json.dumps(
            state
            | {"settings": state["settings"] | {"architecture": fields | {"new": 1}}}
        )
    )
    assert (
        ck.fit(
            ck.objectives.MLM(make_encoder(tokenizer)), texts, resume=True, **options
        ).steps
        == 2
    )


def test_folders_of_the_reader_are_neither_deleted_nor_read(encoder, texts, tmp_path):
    """A copy of a checkpoint made in a callback, and a folder whose name only begins alike."""
    (tmp_path / "step-by-step notes").mkdir()
    (tmp_path / "step-00000002-best").mkdir()
    mine = tmp_path / ".step-by-step notes" / "day 1.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for left in (
        ".step-00000002.draft",
        ".step-00000001.gone",
    ):  # by a run that was killed
        (tmp_path / left).mkdir()
    options = dict(batch_size=4, save_every=1, folder=tmp_path, progress=False)
    ck.fit(ck.objectives.MLM(encoder), texts, steps=4, **options)
    assert {path.name for path in tmp_path.glob("step*")} == {
        "step-by-step notes", "step-00000002-best", "step-00000003", "step-00000004",
    }  # fmt: skip
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == [
        "step-00000003",
        "step-00000004",
    ]
    assert mine.read_text() == "mine" and list(tmp_path.glob(".step*")) == [mine.parent]


def test_weights_that_rest_have_no_moments_and_are_resumed(tokenizer, texts, tmp_path):
    """While the heads are warmed, the optimizer passes over the body."""

    def go(folder, **options):
        objective = ck.objectives.MLM(make_encoder(tokenizer))
        settings = dict(
            steps=6, save_every=1, warm_heads=0.5, folder=folder, progress=False
        )
        return weights(ck.fit(objective, texts, **settings, **options).objective)

    expected = go(tmp_path / "unbroken")
    go(tmp_path / "run", callback=press_stop_at(2))
    assert same(go(tmp_path / "run", resume=True), expected)


LAYOUTS = {
    "whole": torch.clone,
    "a slice": lambda x: torch.cat([x, x], 1)[:, : len(x)],
    "turned": lambda x: x.T.contiguous().T,
}


class Projected(ck.objectives.SimCSE):
    """SimCSE on vectors that a matrix projects, which may lie in memory in any way."""

    layout = "whole"

    def build(self):
        super().build()
        self.matrix = torch.nn.Parameter(
            LAYOUTS[self.layout](torch.randn(self.encoder.width, self.encoder.width))
        )

    def vectors(self, name, hidden, view):
        return {
            head: rows @ self.matrix
            for head, rows in super().vectors(name, hidden, view).items()
        }


@pytest.mark.parametrize("layout", ["a slice", "turned"])
def test_a_weight_of_any_layout_is_trained_saved_and_resumed(
    layout, tokenizer, texts, tmp_path
):
    """The fused optimizer reads memory as it lies, and a checkpoint holds contiguous tensors only."""

    def go(layout, **options):
        kind = type("Projected", (Projected,), {"layout": layout})
        settings = dict(steps=4, lr=1e-2, save_every=1, progress=False)
        return weights(
            ck.fit(kind(make_encoder(tokenizer)), texts, **settings, **options).objective
        )

    expected = go("whole")
    assert same(go(layout), expected)
    go(
        layout,
        folder=tmp_path,
        callback=lambda run: run.stop() if run.steps == 2 else None,
    )
    assert same(go(layout, folder=tmp_path, resume=True), expected)


def test_a_run_killed_while_it_deletes_after_its_last_step_is_tidied_when_it_is_asked_again(
    tokenizer, texts, tmp_path
):
    """It takes no step and saves no more, so nobody else would: the folder kept three checkpoints, or half of one."""
    options = dict(steps=3, save_every=1, folder=tmp_path, progress=False)
    ck.fit(ck.objectives.MLM(make_encoder(tokenizer)), texts, **options)
    shutil.copytree(tmp_path / "step-00000002", tmp_path / "step-00000001")
    for name in (".step-00000001.gone", ".step-00000003.draft", ".step-notes"):
        (tmp_path / name).mkdir()
    ck.fit(ck.objectives.MLM(make_encoder(tokenizer)), texts, resume=True, **options)
    assert sorted(path.name for path in tmp_path.glob("step-*")) == [
        "step-00000002",
        "step-00000003",
    ]
    assert [path.name for path in tmp_path.glob(".step-*")] == [".step-notes"]


def test_a_callback_that_evaluates_does_not_end_dropout(tokenizer, texts):
    """The callback leaves the encoder in evaluation mode; the next step trains with dropout all the same."""

    def losses(callback):
        objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.3))
        return [
            row["loss"]
            for row in ck.fit(
                objective, texts, steps=4, callback=callback, progress=False
            ).rows
        ]

    assert losses(lambda run: run.objective.eval()) == losses(None)


def test_on_another_number_of_processes_dropout_starts_anew_and_apart(
    tokenizer, monkeypatch
):
    noise, drawn = torch.Generator().manual_seed(3), []
    trained = checkpoint.Trained(ck.objectives.MLM(make_encoder(tokenizer)), None, noise)
    torch.manual_seed(5)
    states = {
        "noise": noise.get_state(),
        "dropout": torch.get_rng_state().repeat(2, 1),
    }  # of two processes
    monkeypatch.setattr(checkpoint.distributed, "count", lambda: 4)
    for rank in (0, 1):
        monkeypatch.setattr(checkpoint.distributed, "rank", lambda rank=rank: rank)
        torch.manual_seed(5)
        checkpoint._restore_random(states, trained.generator, seed=7)
        drawn.append(torch.rand(1).item())
    torch.manual_seed(5)
    assert len({*drawn, torch.rand(1).item()}) == 3


def test_the_clock_of_a_resumed_run_goes_on(tokenizer, texts, tmp_path):
    def go(**options):
        objective = ck.objectives.MLM(make_encoder(tokenizer))
        return ck.fit(
            objective,
            texts,
            steps=2,
            save_every=1,
            folder=tmp_path,
            progress=False,
            **options,
        )

    go(callback=lambda run: run.steps == 1 and run.stop())
    file = tmp_path / "step-00000001" / "state.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seconds": 1000.0}))
    assert go(resume=True).seconds > 1000


def test_the_warm_up_is_rounded_to_the_nearest_step():
    training = Training(warmup=0.06, lr=1.0)
    rates = [learning_rate(step, 60, training) for step in range(6)]  # 3.6 steps: 4
    assert rates[:5] == [0, 0.25, 0.5, 0.75, 1.0] and rates[5] < 1
    training = Training(warmup=0.06, lr=1.0, decay="none")
    assert [learning_rate(step, 60, training) for step in (3, 4, 5)] == [0.75, 1, 1]
    assert learning_rate(1, 57, training) == 1 / 3  # 3.42 steps: 3


def test_the_last_step_has_a_row_too(encoder, texts):
    seen = []
    run = ck.fit(
        ck.objectives.MLM(encoder), texts, steps=5, batch_size=4, log_every=2, progress=False,
        callback=lambda run: seen.append(run.steps),
    )  # fmt: skip
    assert seen == run.history["step"].tolist() == [2, 4, 5]
