"""k processes = one, for every objective; a checkpoint of k processes goes on with another k."""

import functools
import os
import shutil
import socket
import threading
import time

import pytest
import torch
import torch.multiprocessing as mp
from conftest import make_encoder, with_wordings
from objectives import OBJECTIVES
from pairs import OBJECTIVES as SEEING
from pairs import data_of
from pairs import make_encoder as make_seeing
from test_step import EXACT, largest_difference, one_step
from test_training import press_stop_at, same, weights

import contrast_kit as ck
from contrast_kit.training import distributed
from contrast_kit.training.gradient import gradient

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")

STEPS = 7


def on_processes(rank, world, port, tokenizer, batch, texts, folder, answers):
    """One of the processes: a step of each objective, CAPT's queue after one, and runs that go on from checkpoints."""
    torch.set_num_threads(1)
    where = {"WORLD_SIZE": world, "RANK": rank, "LOCAL_RANK": rank, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in where.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", ACCELERATE_USE_CPU="true")
    from accelerate import PartialState

    PartialState()  # starts gloo
    # as numpy: a tensor would be fetched from this process, which may be gone by then
    found = {"queue": [value.numpy() for value in queue_after_a_step(tokenizer, batch)]}
    found["shared"] = queue_of_the_first(rank)
    for name, make in OBJECTIVES.items():
        parts, grads = one_step(
            make(make_encoder(tokenizer)).double().train(), [batch], chunk_size=2
        )
        found[name] = parts, {key: value.numpy() for key, value in grads.items()}
    if world == 2:
        for name, make in SEEING.items():
            eleven = data_of(name, texts, tokenizer).batch(range(11))
            parts, grads = one_step(
                make(make_seeing(tokenizer)).double().train(), [eleven], chunk_size=2
            )
            found["seeing", name] = (
                parts,
                {key: value.numpy() for key, value in grads.items()},
            )
        train(tokenizer, texts, folder / "of two", callback=press_stop_at(3))
        _, found["run"] = train(tokenizer, texts, folder / "of one", resume=True)
        dropout = dict(dropout=0.1)
        unbroken, expected = train(tokenizer, texts, None, **dropout)
        _, _ = train(
            tokenizer, texts, folder / "stopped", callback=stop_the_first(), **dropout
        )
        resumed, again = train(
            tokenizer, texts, folder / "stopped", resume=True, **dropout
        )
        rows = [run.history.drop(columns="seconds") for run in (unbroken, resumed)]
        found["bitwise"] = same(expected, again) and rows[0].equals(rows[1])
        found["full"] = full_disk(tokenizer, texts, folder / "full")
        found["others"] = {
            name: refused(tokenizer, *other)
            for name, other in started_otherwise(rank, texts).items()
        }
    else:
        _, found["run"] = train(
            tokenizer, texts, folder / "of two, for four", resume=True
        )
    found["run"] = {key: value.numpy() for key, value in found["run"].items()}
    answers.put(found)
    answers.close()
    answers.join_thread()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def train(tokenizer, texts, folder, *, dropout=0.0, lr=1e-2, **options):
    """A run of COCO-LM, whose auxiliary model samples words: batches of 11, which no number of processes divides."""
    objective = ck.objectives.COCOLM(make_encoder(tokenizer, dropout=dropout)).double()
    run = ck.fit(
        objective, texts, steps=STEPS, batch_size=11, chunk_size=2, lr=lr, save_every=4, progress=False,
        folder=folder, **options,
    )  # fmt: skip
    return run, weights(objective)


def stop_the_first():
    """A press of the stop button that only the first process hears."""
    return press_stop_at(3) if distributed.rank() == 0 else None


def full_disk(tokenizer, texts, folder):
    """What a process says when the first one cannot write."""
    if distributed.rank() == 0:
        folder.mkdir(parents=True)
        (folder / ".step-00000004.draft").write_text(
            "a file where the draft's folder should be"
        )
    torch.distributed.barrier()
    try:
        train(tokenizer, texts, folder)
    except OSError as error:
        return str(error)


def started_otherwise(rank, texts):
    """Texts and a learning rate that the second process was started with, and not the first."""
    second = rank == 1
    return {
        "text": ([*texts[:-1], "a text of its own"] if second else texts, 1e-2),
        "order": (texts[::-1] if second else texts, 1e-2),
        "too few": (texts[:1] if second else texts, 1e-2),
        "lr": (texts, 2e-2 if second else 1e-2),
    }


def refused(tokenizer, texts, lr):
    """What a process says of a run that was started so."""
    try:
        train(tokenizer, texts, None, lr=lr)
    except ValueError as error:
        return str(error)


def queue_after_a_step(tokenizer, batch):
    capt = ck.objectives.CAPT(make_encoder(tokenizer), queue=30).double()
    _, seen = gradient(capt, [batch], torch.Generator().manual_seed(7), chunk_size=2)
    capt.after_step(*seen[0])
    return capt.queue.vectors, capt.queue.ids


def queue_of_the_first(rank):
    """How full a queue is that only the first process had filled."""
    queue = ck.objectives.MemoryQueue(9, 2)
    assert len(queue) == 0
    if rank == 0:
        queue.push(torch.eye(2))
    distributed.same_weights(queue)
    return len(queue), queue.vectors.numpy()


@pytest.fixture(scope="module")
def eleven(texts, tokenizer):
    """Eleven rows: six and five on two processes, three, three, three and two on four."""
    batch = with_wordings(texts, tokenizer).batch(range(11))
    return batch | {"label": torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 3])}


@pytest.fixture(scope="module")
def answers(texts, tokenizer, eleven, tmp_path_factory):
    """What every process found, by number of processes. They are started once, from one server that has torch."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        mp.set_forkserver_preload(
            ["contrast_kit.objectives", "contrast_kit.training", "accelerate", "pandas"]
        )
        context, found = mp.get_context("forkserver"), {}
        train(tokenizer, texts, folder / "of one", callback=press_stop_at(3))
        for world in (2, 4):
            queue = context.Queue()
            arguments = (world, free_port(), tokenizer, eleven, texts, folder, queue)
            running = mp.start_processes(
                on_processes,
                arguments,
                nprocs=world,
                join=False,
                start_method="forkserver",
            )
            ended = threading.Thread(target=lambda r=running: wait_for(r))
            ended.start()
            found[world] = [queue.get(timeout=600) for _ in range(world)]
            ended.join()
            if world == 2:
                shutil.copytree(folder / "of two", folder / "of two, for four")
    found["folder"] = folder
    return found


def wait_for(running):
    while not running.join():
        time.sleep(0.01)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def of_one(tokenizer, eleven):
    """Loss and gradient of one process, by objective."""
    return functools.cache(
        lambda name: one_step(
            OBJECTIVES[name](make_encoder(tokenizer)).double().train(), [eleven]
        )
    )


@pytest.mark.parametrize("name", OBJECTIVES, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("world", [2, 4])
def test_processes_give_the_loss_and_gradient_of_one(name, world, of_one, answers):
    expected, wanted = of_one(name)
    for found in answers[world]:  # all of them, so that their weights stay equal
        parts, grads = found[name]
        assert parts == pytest.approx(expected, rel=1e-12)
        assert (
            largest_difference(
                {key: torch.from_numpy(g) for key, g in grads.items()}, wanted
            )
            < EXACT
        )


@pytest.mark.parametrize("name", SEEING)
def test_two_processes_give_the_loss_and_gradient_of_one_on_pictures(
    name, texts, tokenizer, answers
):
    eleven = data_of(name, texts, tokenizer).batch(range(11))
    expected, wanted = one_step(
        SEEING[name](make_seeing(tokenizer)).double().train(), [eleven]
    )
    for found in answers[2]:
        parts, grads = found["seeing", name]
        assert parts == pytest.approx(expected, rel=1e-12)
        assert (
            largest_difference(
                {key: torch.from_numpy(g) for key, g in grads.items()}, wanted
            )
            < EXACT
        )


@pytest.mark.parametrize("world", [2, 4])
def test_every_process_has_the_queue_of_one(world, tokenizer, eleven, answers):
    vectors, ids = queue_after_a_step(tokenizer, eleven)
    for found in answers[world]:
        assert torch.allclose(torch.from_numpy(found["queue"][0]), vectors, atol=EXACT)
        assert found["queue"][1].tolist() == ids.tolist() and len(ids) == 22


@pytest.mark.parametrize("world", [2, 4])
def test_every_process_starts_with_the_queue_of_the_first(world, answers):
    for found in answers[world]:
        length, vectors = found["shared"]
        assert length == 2 and (vectors == torch.eye(2).numpy()).all()


@pytest.mark.parametrize(("world", "way"), [(2, "from 1 to 2"), (4, "from 2 to 4")])
def test_a_checkpoint_goes_on_with_more_processes(world, way, tokenizer, texts, answers):
    _, expected = train(tokenizer, texts, None)
    for found in answers[world]:
        assert close(
            {key: torch.from_numpy(value) for key, value in found["run"].items()},
            expected,
        ), way


def test_a_checkpoint_of_two_processes_goes_on_with_one(
    tokenizer, texts, answers, tmp_path
):
    shutil.copytree(answers["folder"] / "of two", tmp_path / "of two")
    _, expected = train(tokenizer, texts, None)
    run, found = train(tokenizer, texts, tmp_path / "of two", resume=True)
    assert close(found, expected) and list(run.history["step"]) == list(
        range(1, STEPS + 1)
    )


def close(a, b):
    return a.keys() == b.keys() and all(
        torch.allclose(a[name], b[name], rtol=0, atol=1e-7) for name in a
    )


def test_two_processes_resumed_are_bitwise_the_unbroken_two(answers):
    """With dropout, each its own; stopped by a signal that only one of them received."""
    assert [found["bitwise"] for found in answers[2]] == [True, True]


def test_when_the_first_cannot_write_all_say_so(answers):
    said = [found["full"] for found in answers[2]]
    assert all(
        "could not be written" in words or "could not write" in words for words in said
    )


@pytest.mark.parametrize(
    ("other", "what"),
    [("text", "data"), ("order", "data"), ("too few", "data"), ("lr", "training")],
)
def test_a_process_that_was_started_otherwise_is_named_by_all(other, what, answers):
    """No process may go on alone: not the one whose only text is too few for two, either."""
    for found in answers[2]:
        assert str(found["others"][other]).startswith(
            f"Process 1 was started with another {what} than process 0"
        )
