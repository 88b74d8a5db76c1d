"""About eighty numbers that no rewriting may change: losses, masks, samples by seed, first steps of every method.

`frozen.json` holds them as the first, long version of the library gave them. A number that has to change is a decision:
change it there by `python tests/test_frozen.py`, and say why in the commit.
"""

import copy
import hashlib
import json
from pathlib import Path

import pytest
import torch
from objectives import OBJECTIVES, ONE_EACH
from pairs import OBJECTIVES as PICTURE_OBJECTIVES
from pairs import data_of
from pairs import make_encoder as make_pair_encoder

import contrast_kit as ck
from contrast_kit.data import toyshop

FILE = Path(__file__).with_name("frozen.json")
FROZEN = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
MASK_ID, VOCABULARY = 3, 300


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def vectors(n, width, seed):
    return torch.randn(n, width, generator=seeded(seed))


def checksum(x):
    """A number that depends on every entry of a tensor of integers and on its place."""
    places = torch.arange(1, x.numel() + 1)
    return int((x.flatten().long() * places).sum() % 1_000_003)


def losses():
    a, b, queue = vectors(24, 16, 0), vectors(24, 16, 1), vectors(40, 16, 2)
    labels, ids = torch.arange(24) % 5, torch.arange(24) // 2
    z, logits = vectors(24, 16, 3), vectors(24, 50, 4)
    words, read = torch.arange(24) * 7 % 50, torch.arange(24) * 5 % 50
    copying, real = vectors(24, 1, 5).squeeze(1), torch.ones(24, dtype=torch.bool)
    loss = ck.losses

    def corrective(**options):
        return loss.corrective_lm(logits, copying, read, words, **options)  # noqa: E731

    values = {
        "nt_xent": loss.nt_xent(a, b, 0.1),
        "nt_xent sum": loss.nt_xent(a, b, 0.5, reduction="sum"),
        "nt_xent queue": loss.nt_xent(a, b, 0.2, queue=queue),
        "nt_xent ids": loss.nt_xent(a, b, 0.2, ids=ids),
        "nt_xent of 3,000": loss.nt_xent(vectors(1500, 16, 6), vectors(1500, 16, 7), 0.2),
        "info_nce": loss.info_nce(a, b, 0.1),
        "info_nce ids": loss.info_nce(a, b, 0.1, ids=ids),
        "sup_con mean": loss.sup_con(a, labels, 0.3, reduction="mean"),
        "sup_con sum": loss.sup_con(a, labels, 0.3, reduction="sum"),
        "sup_con mean_valid": loss.sup_con(
            a, torch.arange(24) // 23, 0.3, reduction="mean_valid"
        ),
        "simsiam": loss.simsiam(z, a, vectors(24, 16, 8), b),
        "mlm": loss.mlm(logits, words),
        "corrective_lm": corrective(),
        "corrective_lm of the code": corrective(variant="authors_code"),
        "copy": loss.copy(copying, read, words, real),
        "replaced_token_detection": loss.replaced_token_detection(
            copying, read == words, real
        ),
        "all_token_lm": loss.all_token_lm(logits, copying, read, words),
        "alignment": ck.geometry.alignment(a, b),
        "uniformity": ck.geometry.uniformity(a),
        "anisotropy": ck.geometry.anisotropy(a),
        "effective_rank": ck.geometry.effective_rank(a),
        "random_pair_cosines": ck.geometry.random_pair_cosines(a, 50, seed=1)
        .double()
        .sum(),
    }
    return {name: float(value) for name, value in values.items()}


def masks():
    ids = torch.randint(5, VOCABULARY, (8, 30), generator=seeded(9))
    maskable = torch.ones_like(ids, dtype=torch.bool)
    maskable[:, 0] = maskable[:, 25:] = False
    real = (torch.arange(30) < 26).long().expand(8, 30)
    words = dict(mask_id=MASK_ID, vocab_size=VOCABULARY)
    masked = ck.masking.dynamic_random_mask(
        ids, maskable, 0.15, generator=seeded(1), **words
    )
    options = dict(generator=seeded(2), **words)
    partner = ck.masking.complementary_random_mask(
        ids, maskable, masked.selected, 0.7, **options
    )
    spans = ck.masking.span_mask(ids, maskable, 0.15, generator=seeded(3), **words)
    cropped = ck.masking.crop(
        ids, real, 0.7, pad_id=0, specials=(1, 1), generator=seeded(4)
    )
    logits = vectors(int(masked.selected.sum()), VOCABULARY, 5)
    samples = {
        "dynamic": masked.input_ids,
        "complementary": partner.input_ids,
        "complementary, selected": partner.selected,
        "spans": spans.input_ids,
        "crop": cropped.input_ids,
        "shuffle": ck.masking.shuffle(ids, maskable, 3, generator=seeded(6)),
        "replace": ck.masking.replace(ids, masked.selected, logits, generator=seeded(7)),
    }
    return {name: checksum(tensor) for name, tensor in samples.items()}


def shop():
    """Digests of what the toyshop tells."""
    rows = {f"{name} {split}": toyshop.rows(name, split)[:200] for name, split in ROWS}
    told = rows | {
        "corpus": toyshop.corpus(300, seed=3),
        "triples": toyshop.triples(50, seed=2),
    }
    return {
        name: hashlib.sha256(repr(list(given)).encode()).hexdigest()[:16]
        for name, given in told.items()
    }


ROWS = (
    ("sst2", "train"),
    ("mnli", "validation_matched"),
    ("stsb", "train"),
    ("cola", "test"),
    ("qnli", "train"),
)


def first_losses(objective, data):
    """The losses of three steps of `fit`, with dropout in the encoder."""
    run = ck.fit(
        objective, data, steps=3, batch_size=6, lr=1e-2, warmup=0.0, progress=False
    )
    return run.history["loss"].tolist()


def of_method(name, wordings, tokenizer):
    data = copy.copy(wordings)
    data.labels = torch.arange(len(data)) % 4
    shape = dict(
        num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64
    )
    encoder = ck.Encoder.tiny(tokenizer, dropout=0.1, max_length=64, **shape)
    return first_losses(OBJECTIVES[name](encoder), data)


def of_pairs(name, texts, tokenizer):
    objective = PICTURE_OBJECTIVES[name](make_pair_encoder(tokenizer, dropout=0.1))
    return first_losses(objective, data_of(name, texts, tokenizer))


PAIRS = ("lxmert as released", "capt", "answer", "two pictures")
METHODS = tuple(name for name in ONE_EACH if name != "span")


def test_losses_and_measures():
    assert losses() == pytest.approx(FROZEN["losses"], rel=1e-5)


def test_masks():
    assert masks() == FROZEN["masks"]


def test_what_the_toyshop_tells():
    assert shop() == FROZEN["toyshop"]


@pytest.mark.parametrize("name", METHODS)
def test_first_losses_of_each_method(name, wordings, tokenizer):
    assert of_method(name, wordings, tokenizer) == pytest.approx(
        FROZEN["methods"][name], rel=1e-4
    )


@pytest.mark.parametrize("name", PAIRS)
def test_first_losses_on_words_and_pictures(name, texts, tokenizer):
    assert of_pairs(name, texts, tokenizer) == pytest.approx(
        FROZEN["pairs"][name], rel=1e-4
    )


def write():
    from conftest import with_wordings

    texts = toyshop.corpus(200, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    frozen = {
        "losses": losses(),
        "masks": masks(),
        "toyshop": shop(),
        "methods": {
            name: of_method(name, with_wordings(texts, tokenizer), tokenizer)
            for name in METHODS
        },
        "pairs": {name: of_pairs(name, texts, tokenizer) for name in PAIRS},
    }
    FILE.write_text(
        json.dumps(frozen, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    write()
