"""What several tests need: a few real sentences, a vocabulary for them, encoders small enough for seconds."""

import os
import runpy
import sys
from pathlib import Path

import pytest
import torch

# No test may wait for a network: the hub's absence is part of what is tested.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.data.paraphrase import Paraphraser, Toyshop, reworded
from contrast_kit.encoder import SHAPES
from contrast_kit.fast import vocabulary

REAL = os.environ.get("CONTRAST_KIT_REAL_DATA")
PRETENDED = os.environ.get("CONTRAST_KIT_PRETENDED_DEVICE")
if PRETENDED:
    import pretended_device

    pretended_device.train_on_it()
real_data = pytest.mark.skipif(not REAL, reason="CONTRAST_KIT_REAL_DATA is not set")


def fit_and_bring_back(*args, fit=ck.fit, **settings):
    """`ck.fit`, and what it trained is on the CPU again, with the tensors that a test compares it with."""
    run = fit(*args, **settings)
    run.objective.cpu()
    return run


if PRETENDED or torch.cuda.is_available():
    ck.fit = fit_and_bring_back

LONGEST = "data_toyshop objectives_coco_lm processes odd_calls main benchmarks faults training pretended"
LONGEST += " planning examples"


def pytest_collection_modifyitems(items):
    """The longest files first, or one of `make test`'s two processes ends with them while the other has nothing."""
    longest = tuple(f"test_{name}" for name in LONGEST.split())
    items.sort(key=lambda item: not item.path.name.startswith(longest))


@pytest.fixture(scope="session")
def texts():
    """200 toyshop sentences."""
    return toyshop.corpus(200, seed=1)


@pytest.fixture(scope="session")
def tokenizer(texts):
    """A vocabulary of 300 pieces for them."""
    return ck.data.train_tokenizer(texts, vocab_size=300)


@pytest.fixture
def encoder(tokenizer):
    """A one-layer encoder of width 32, without dropout unless asked: `make_encoder(tokenizer, dropout=.1)`."""
    return make_encoder(tokenizer)


ONE_LAYER = dict(
    num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64
)


def make_encoder(tokenizer, **options):
    """A one-layer encoder of width 32."""
    return ck.Encoder.tiny(
        tokenizer, **(dict(dropout=0.0, max_length=64) | ONE_LAYER | options)
    )


@pytest.fixture(scope="module")
def opinions():
    """The toyshop's reviews, as `tasks` reads a task."""
    return ck.tasks.load("toyshop/sst2")


@pytest.fixture(scope="module")
def start(opinions):
    """An encoder for them that has learned nothing."""
    return make_encoder(
        ck.data.train_tokenizer(list(opinions.train["sentence"]), vocab_size=300)
    )


@pytest.fixture
def smaller(monkeypatch):
    """What asks for a tiny encoder gets one layer of width 32: for long scripts, of which no size is tested."""
    monkeypatch.setitem(SHAPES, "tiny", ONE_LAYER)


def with_wordings(texts, tokenizer):
    """The texts, and two paraphrases of each, which CSSL reads and all others leave alone."""
    rows = reworded(texts, Toyshop())
    return ck.data.Paraphrased(rows, tokenizer, max_length=64)


@pytest.fixture(scope="session")
def wordings(texts, tokenizer):
    """All of the texts, with two wordings of each."""
    return with_wordings(texts, tokenizer)


@pytest.fixture
def batch(wordings):
    """Twelve sentences of different lengths, with two wordings of each, as one batch; class 3 has one text only."""
    batch = wordings.batch(range(12))
    return batch | {"label": torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 3])}


@pytest.fixture
def generator():
    """A seeded source of noise."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def blocks(monkeypatch):
    """A list that grows by each block of positions in which word scores are made: empty where all stand together."""
    done, one_block = [], vocabulary.read_words
    monkeypatch.setattr(
        vocabulary, "read_words", lambda *args: done.append(1) or one_block(*args)
    )
    return done


class Asked(Paraphraser):
    """Notes at which temperatures and seeds it is asked."""

    def __init__(self):
        self.asked = []

    def _say_again(self, texts, temperature, seed):
        self.asked.append((temperature, seed))
        return [f"{text} {seed}" for text in texts]


def benchmark_script(name):
    """The names of a script of benchmarks/, as `import` would give them; skips where there is no checkout."""
    folder = Path(__file__).resolve().parent.parent / "benchmarks"
    if not folder.is_dir():
        pytest.skip("needs a checkout")
    sys.path.insert(0, str(folder))
    try:
        return runpy.run_path(str(folder / f"{name}.py"))
    finally:
        sys.path.remove(str(folder))
