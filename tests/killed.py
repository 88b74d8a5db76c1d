"""A run with everything that a checkpoint must hold; `test_training.py` kills it in a process of its own.

python tests/killed.py FOLDER     # with a pause after each step, so that there is time
"""

import hashlib
import sys
import time
from pathlib import Path

import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.data import toyshop

STEPS = 16


def train(folder: Path, pause: float = 0.0) -> str:
    """Train on one thread, from the last checkpoint in the folder on; a hash of the final weights."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    texts = toyshop.corpus(200, seed=1)
    objective = ck.objectives.CMLM(make_encoder(ck.data.train_tokenizer(texts, vocab_size=300), dropout=0.1))
    try:
        ck.fit(
            objective, texts, steps=STEPS, batch_size=16, chunk_size=5, save_every=3, folder=folder, resume=True,
            progress=False, callback=lambda run: time.sleep(pause),
        )  # fmt: skip
    finally:
        torch.set_num_threads(threads)
    digest = hashlib.sha256()
    for name, value in sorted(objective.state_dict().items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    train(Path(sys.argv[1]), pause=0.1)
