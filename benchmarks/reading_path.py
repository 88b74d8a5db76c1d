"""How much code a reader meets: what one call runs through, in calls and in files.

    python benchmarks/reading_path.py

For each method, at its default settings on a tiny encoder, the files of `contrast_kit` that the loss of one batch
runs; then the calls of the kit's functions in `losses.sup_con`, in `data.load` of a folder with two CSV files, and in
one step of `fit` with CMLM. It counts; `tests/test_house.py` holds it to its limits.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

import contrast_kit as ck

ROOT = str(Path(ck.__file__).parent)
SMALL_PARTS = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
"""Code that Python calls, and a reader reads as a line of the function around it."""


def calls_of(call: Callable[[], object]) -> Counter:
    """How often each function of the kit is called: (file, function) → times."""
    calls: Counter = Counter()

    def trace(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and code.co_name not in SMALL_PARTS:
            calls[code.co_filename[len(ROOT) + 1 :], code.co_name] += 1

    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


def files_of(calls: Counter) -> list[str]:
    """The files of these functions."""
    return sorted({file for file, _ in calls})


def methods() -> dict[str, tuple[ck.objectives.Objective, dict]]:
    """Each method on a tiny encoder, with a batch for it."""
    from contrast_kit.data.paraphrase import Toyshop, reworded

    rows = [row for row, _ in zip(ck.data.load("toyshop/sst2")["train"], range(16), strict=False)]
    texts = [row["sentence"] for row in rows]
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    batch = ck.data.Texts(rows, tokenizer).batch(range(16))
    pairs = ck.data.Paraphrased(reworded(texts, Toyshop()), tokenizer).batch(range(16))
    made = {}
    for name in ("MLM", "SimCSE", "SCL", "CMLM", "CAPT", "ELECTRA", "AllTokenMLM", "COCOLM", "CSSL", "FineTune"):
        encoder = ck.Encoder.tiny(tokenizer, relative_positions=name == "COCOLM", dropout=0.1)
        made[name] = getattr(ck.objectives, name)(encoder), pairs if name == "CSSL" else batch
    return made


def ways() -> dict[str, Counter]:
    """The calls of three everyday calls."""
    x, labels = torch.randn(8, 4), torch.arange(8) % 2
    objective, _ = methods()["CMLM"]
    texts = ck.data.Texts(["the red kite flies"] * 8, objective.encoder.tokenizer)

    def load_two_tables():
        with tempfile.TemporaryDirectory() as name:
            for split in ("train", "validation"):
                Path(name, f"{split}.csv").write_text("text,label\na red kite,1\na drum,0\n", encoding="utf-8")
            ck.data.load(name)

    def train(steps):
        ck.fit(objective, texts, steps=steps, batch_size=4, progress=False)

    for call in (load_two_tables, lambda: train(1)):
        call()  # what loads at first use is loaded now
    return {
        "losses.sup_con": calls_of(lambda: ck.losses.sup_con(x, labels, 0.1)),
        "data.load of two CSV files": calls_of(load_two_tables),
        "one step of fit with CMLM": calls_of(lambda: train(3)) - calls_of(lambda: train(2)),
    }


def main() -> None:
    for name, (objective, batch) in methods().items():
        objective(batch)
        files = files_of(calls_of(lambda o=objective, b=batch: o(b)))
        print(f"{name:<12} {len(files):>3} files: {', '.join(files)}")
    for name, calls in ways().items():
        files = files_of(calls)
        print(f"{name}: {calls.total()} calls of {len(calls)} functions in {len(files)} files: {', '.join(files)}")


if __name__ == "__main__":
    main()
