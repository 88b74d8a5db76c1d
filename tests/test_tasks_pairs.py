"""Pairs against random ones, and hidden words: each number against the same in loops, and on encoders that know."""

import pytest
import torch

import contrast_kit as ck
from contrast_kit.tasks import scoreboard


@pytest.fixture(scope="module")
def pairs():
    return ck.data.toyshop.probe_pairs(60, seed=1)


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return ck.data.train_tokenizer(sum(pairs, ()), vocab_size=400)


class Table:
    """An "encoder" that looks its vectors up."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts):
        return torch.tensor([self.vectors[text] for text in texts])


def test_gap_and_auc_of_vectors_one_can_see():
    table = Table({"a": [1.0, 0.0], "A": [1.0, 0.0], "b": [0.0, 1.0], "B": [0.0, 2.0]})
    found = ck.tasks.similar_against_random(table, [("a", "A"), ("b", "B")])
    assert found.similar.tolist() == [1, 1] and set(found.random.tolist()) == {0.0}
    assert found.gap == 1 and found.auc == 1


def test_tf_idf_is_the_textbooks(tokenizer):
    from sklearn.feature_extraction.text import TfidfTransformer

    texts = ["the kite is red", "the drum is small", "the the train"]
    counts = scoreboard.WordCounts(tokenizer).encode(texts)
    theirs = TfidfTransformer(norm=None).fit_transform(counts.numpy()).toarray()
    ours = scoreboard.WordCounts(tokenizer, idf=texts).encode(texts)
    assert torch.allclose(ours.double(), torch.from_numpy(theirs).double(), atol=1e-5)


def test_hidden_words_are_found_by_one_who_knows_and_by_loops(tokenizer):
    encoder = ck.Encoder.tiny(tokenizer).train()
    texts = ["The kite is red.", "A small drum."]
    hits = []
    for text in texts:
        view = ck.data.Texts([text], tokenizer).batch([0])
        for place in view["maskable"][0].nonzero().flatten().tolist():
            ids = view["input_ids"].clone()
            ids[0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                scores = encoder.eval().mlm_logits(
                    encoder(view | {"input_ids": ids})[0, place]
                )
            hits.append(view["input_ids"][0, place] in scores.topk(9).indices)
    encoder.train()
    assert ck.tasks.fill_rate(encoder, texts, k=9) == pytest.approx(sum(hits) / len(hits))
    assert encoder.training
