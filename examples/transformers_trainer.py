"""Train an objective of the kit with transformers' `Trainer`, for when its callbacks, trackers or launchers are wanted.

A wrapper is needed, since the Trainer calls a model with `**batch` and writes to its `config`. It needs `accelerate`.
What `ck.fit` adds is not there: no batch is encoded in chunks or gathered, so the negatives are those of one process's
`per_device` batch; and nothing calls `set_progress` and `after_step`, so CAPT's queue and τ stand still.
"""

import tempfile

import torch
from transformers import Trainer, TrainingArguments

import contrast_kit as ck
from contrast_kit.data import toyshop


class Wrapped(torch.nn.Module):
    def __init__(self, objective):
        super().__init__()
        self.objective = objective

    def forward(self, **batch):
        return self.objective(batch)  # the loss and its parts by name; the Trainer reads "loss"


sentences = toyshop.corpus(2200, seed=1)
tokenizer = ck.data.train_tokenizer(sentences, vocab_size=1000)
train, held_out = ck.data.Texts(sentences[:2000], tokenizer), ck.data.Texts(sentences[2000:], tokenizer)
encoder = ck.Encoder.tiny(tokenizer, num_hidden_layers=1, dropout=0.1, pooling="mean")
objective = ck.objectives.CMLM(encoder, contrast="nt_xent")


@torch.no_grad()
def report(name):
    """Print the loss on 200 sentences that are never trained on, always under the same masks."""
    batch = {key: value.to(encoder.device) for key, value in held_out.batch(range(200)).items()}
    parts = objective.eval()(batch, torch.Generator(encoder.device).manual_seed(0))
    print(f"{name}, held out:", ", ".join(f"{part} {value:.3f}" for part, value in parts.items()))


with tempfile.TemporaryDirectory() as folder:
    options = TrainingArguments(
        folder, num_train_epochs=3, per_device_train_batch_size=32, learning_rate=2e-3, save_strategy="no",
        report_to="none", disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    report("before")
    # the data are row numbers, from which the collator makes a batch
    Trainer(Wrapped(objective), options, data_collator=train.batch, train_dataset=range(len(train))).train()
    report("after")
    encoder.save_pretrained(f"{folder}/encoder")  # the encoder, not the wrapper, is what others open
