"""Log a run to TensorBoard, or to another tracker of accelerate: `fit` calls a function after each row of the history.

    python examples/track_a_run.py tensorboard      # then: tensorboard --logdir log

Seconds on a CPU. The same rows are in `run.history`, and with `folder=` on the disk.
"""

import sys
from dataclasses import asdict

from accelerate import Accelerator

import contrast_kit as ck
from contrast_kit.data import toyshop


def train(tracker, steps=40):
    sentences = toyshop.corpus(1000)
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(sentences, vocab_size=500), num_hidden_layers=1)
    objective = ck.objectives.MLM(encoder)
    accelerator = Accelerator(log_with=tracker, project_dir=".")
    settings = {name: str(value) for name, value in asdict(objective.config).items()}
    accelerator.init_trackers("log", config=settings)

    def log(run):
        row = dict(run.rows[-1])
        accelerator.log(row, step=row.pop("step"))

    run = ck.fit(objective, sentences, steps=steps, log_every=10, lr=2e-3, callback=log, progress=False)
    accelerator.end_training()
    return run


if __name__ == "__main__":
    print(train(sys.argv[1]))
