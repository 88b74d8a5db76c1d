"""Train CMLM in a plain PyTorch loop, on sentences of the toy shop: seconds on a CPU, no download.

An objective is a module: it takes a batch, draws the masked views, and returns the loss and its parts.
`ck.fit(objective, texts, steps=300)` runs the same loop and adds a learning-rate schedule, gradient clipping, batches
encoded in chunks (many negatives in little memory), mixed precision, several processes, checkpoints and resuming; and
it calls `objective.set_progress` before each step and `after_step` after it, where CAPT's τ and queue change.
"""

import torch

import contrast_kit as ck
from contrast_kit.data import toyshop

torch.manual_seed(0)
sentences = toyshop.corpus(2200, seed=1)
tokenizer = ck.data.train_tokenizer(sentences, vocab_size=1000)
train, held_out = ck.data.Texts(sentences[:2000], tokenizer), ck.data.Texts(sentences[2000:], tokenizer)
batches = ck.data.Batches(train, batch_size=32)  # which rows make which batch, new in every epoch

encoder = ck.Encoder.tiny(tokenizer, num_hidden_layers=1, dropout=0.1, pooling="mean")
objective = ck.objectives.CMLM(encoder, contrast="nt_xent")
optimizer = torch.optim.AdamW(objective.parameters(), lr=2e-3)


@torch.no_grad()
def report(name):
    """Print the loss on 200 sentences that are never trained on, always under the same masks."""
    parts = objective.eval()(held_out.batch(range(200)), torch.Generator().manual_seed(0))
    print(f"{name}, held out:", ", ".join(f"{part} {value:.3f}" for part, value in parts.items()))
    objective.train()


report("before")  # guessing: mlm log 1000 = 6.9; contrast log 399 = 6.0, one right answer among 399
for epoch in range(3):
    for rows in batches.epoch(epoch):
        loss = objective(train.batch(rows))["loss"]  # new masks at every call
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    report(f"epoch {epoch + 1}")
