"""Kill training runs, starve their disk, take a worker away; what is left must be whole and go on to the same end.

    python tests/faults.py 50        # fifty kills; `test_faults.py` does three

Each run is a copy of this process (fork), so that a kill costs no second import of torch.
"""

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch

torch.set_num_threads(
    1
)  # before anything is computed: a copy cannot use threads that were started here

from conftest import make_encoder  # noqa: E402

import contrast_kit as ck  # noqa: E402
from contrast_kit.data import toyshop  # noqa: E402
from contrast_kit.training import checkpoint, distributed  # noqa: E402

STEPS = 10
TEXTS = toyshop.corpus(120, seed=1)
TOKENIZER = ck.data.train_tokenizer(TEXTS, vocab_size=300)


def train(folder, callback=None, save_every=1):
    """A run with everything that a checkpoint must hold: dropout, masks, chunks, a queue."""
    objective = ck.objectives.CAPT(make_encoder(TOKENIZER, dropout=0.1), queue=48)
    ck.fit(
        objective, TEXTS, steps=STEPS, batch_size=12, chunk_size=5, lr=1e-2, save_every=save_every, progress=False,
        folder=folder, resume=True, callback=callback,
    )  # fmt: skip
    digest = hashlib.sha256()
    for name, value in sorted(objective.state_dict().items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()


def copy_of_this_process(work, answer):
    """Do some work in a copy; its result, or the sentence of its error, goes to a file. Returns the copy's number."""
    child = os.fork()
    if child:
        return child
    try:
        said = work()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    answer.with_suffix(".draft").write_text(said)
    os.replace(answer.with_suffix(".draft"), answer)
    os._exit(0)


def ended(child, within):
    """Whether a copy has ended in so many seconds."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.005)
    return False


def look(folder):
    """Every checkpoint must be whole: each file opens, and they say the step of their name."""
    for path in checkpoint.checkpoints(folder):
        state = json.loads((path / "state.json").read_text())
        assert (
            path.name == f"step-{state['step']:08d}"
            and len(state["rows"]) == state["step"]
        )
        assert torch.load(path / "tensors.pt", weights_only=True)


def alone():
    """The weights with which a run ends that nothing befalls, and how many seconds it takes."""
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        return train(Path(place)), time.monotonic() - start


def kills(count, expected, duration, seed=0):
    """Kill runs at random moments until `count` have been killed; each run is started again until it ends by itself."""
    draw, killed, amid_saving, runs = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        place, start = Path(place), time.monotonic()
        while killed < count:
            runs += 1
            folder, answer = place / f"run {runs}", place / f"answer {runs}"
            while True:
                child = copy_of_this_process(lambda folder=folder: train(folder), answer)
                if killed >= count or draw.random() < 0.1:
                    assert ended(child, 120)
                    break
                if ended(child, draw.uniform(0, duration)):
                    break
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                killed += 1
                amid_saving += any(folder.glob(".step-*"))
                look(folder)
            assert answer.read_text() == expected, f"run {runs} ended with other weights"
            assert len(checkpoint.checkpoints(folder)) == 2 and not any(
                folder.glob(".step-*")
            )
            shutil.rmtree(folder)
    return {
        "kills": killed,
        "amid saving": amid_saving,
        "runs": runs,
        "seconds": time.monotonic() - start,
    }


def between_checkpoints(expected):
    """Killed two steps after a checkpoint: these are made a second time, to the same end."""

    def strike(run):
        if run.steps == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "run")
        child = copy_of_this_process(
            lambda: train(folder, strike, save_every=3), Path(place, "answer")
        )
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        look(folder)
        last = checkpoint.checkpoints(folder)[-1].name
        assert train(folder, save_every=3) == expected, "ended with other weights"
    return {"last": last}


def full_disk(expected):
    """No file may grow beyond 20 kB, as on a disk that is full: the run ends, the checkpoint before it stays."""
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)

        def fill(run):
            if run.steps == 3:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY)
                )

        def work():
            try:
                return train(place / "run", callback=fill)
            finally:
                resource.setrlimit(
                    resource.RLIMIT_FSIZE,
                    (resource.RLIM_INFINITY, resource.RLIM_INFINITY),
                )

        assert ended(copy_of_this_process(work, place / "answer"), 60)
        said = (place / "answer").read_text()
        assert (
            said.startswith("OSError: The checkpoint") and "could not be written" in said
        ), said
        assert said.endswith(
            "the last good checkpoint is " + str(place / "run" / "step-00000002") + "."
        ), said
        look(place / "run")
        assert train(place / "run") == expected
    return {"said": said}


def unbroken(world):
    """The weights with which several workers end whom nothing befalls."""
    with tempfile.TemporaryDirectory() as place:
        (expected,) = set(workers(world, Path(place, "run"), Path(place)))
    return expected


def lost_worker(how, expected, world=3, patience=4):
    """One of several workers is killed, or stops answering, in its fourth step; the others end, and all go on."""
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)

        def strike(run):
            if run.steps == 3 and distributed.rank() == 1:
                (place / "struck").touch()
                os.kill(os.getpid(), how)

        distributed.PATIENCE = timedelta(seconds=patience)
        said, seconds = workers(world, place / "run", place, strike, others=True)
        look(place / "run")
        resumed = workers(world, place / "run", place)
    for words in said:
        assert words.startswith("LostError: Another process ended or did not answer"), (
            words
        )
        assert "start all of them again, with resume=True" in words
    assert resumed == [expected] * world
    return {"seconds": seconds}


def workers(world, folder, place, callback=None, others=False):
    """Train in several copies: what each said; with `others` of all but number 1, and seconds since the blow."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    for old in place.glob("answer *"):
        old.unlink()

    def work(rank):
        where = dict(
            WORLD_SIZE=world,
            RANK=rank,
            LOCAL_RANK=rank,
            MASTER_PORT=port,
            MASTER_ADDR="127.0.0.1",
        )
        os.environ.update(
            {name: str(value) for name, value in where.items()}, ACCELERATE_USE_CPU="true"
        )
        return train(folder, callback=callback)

    copies = [
        copy_of_this_process(lambda r=rank: work(r), place / f"answer {rank}")
        for rank in range(world)
    ]
    if not others:
        assert all(ended(child, 120) for child in copies)
        return [(place / f"answer {rank}").read_text() for rank in range(world)]
    while not (place / "struck").exists():
        time.sleep(0.01)
    struck = time.monotonic()
    left = [rank for rank in range(world) if rank != 1]
    assert all(ended(copies[rank], 60) for rank in left), (
        "a worker still waits for the one that is gone"
    )
    seconds = time.monotonic() - struck
    os.kill(copies[1], signal.SIGKILL)
    os.waitpid(copies[1], 0)
    return [(place / f"answer {rank}").read_text() for rank in left], seconds


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    expected = unbroken(world=3)
    found = {
        "a worker killed": lost_worker(signal.SIGKILL, expected),
        "a worker that hangs": lost_worker(signal.SIGSTOP, expected),
    }
    expected, seconds = (
        alone()
    )  # from here on this process, and each copy of it, trains by itself
    found |= {
        "a full disk": full_disk(expected),
        "between": between_checkpoints(expected),
    }
    found |= {"kills": kills(number, expected, seconds)}
    print(json.dumps(found, indent=1))
