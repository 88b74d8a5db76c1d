"""CSSL: two back-translations, eq. 7 or 9 between them, and nothing else."""

import pytest
import torch
from conftest import make_encoder, with_wordings

import contrast_kit as ck
from contrast_kit import losses
from contrast_kit.data.paraphrase import Toyshop, reworded
from contrast_kit.objectives import CSSL


def vectors_of(objective, batch):
    return {
        name: objective.encode(name, view).vectors
        for name, view in objective.views(batch).items()
    }


def test_the_views_are_the_two_wordings_and_the_original_is_in_neither(
    texts, tokenizer, encoder
):
    rows = reworded(texts[:6], Toyshop())
    batch = ck.data.Paraphrased(rows, tokenizer).batch(range(6))
    views = CSSL(encoder).views(batch)
    assert list(views) == ["T0", "T1"]
    for k in (0, 1):
        alone = ck.data.Texts([row[f"text/{k}"] for row in rows], tokenizer).batch(
            range(6)
        )
        for key in ("input_ids", "attention_mask", "maskable"):
            assert torch.equal(views[f"T{k}"][key], alone[key])
    assert not torch.equal(views["T0"]["input_ids"], batch["input_ids"])


@pytest.mark.parametrize(
    ("contrast", "loss"),
    [
        ("info_nce", lambda v: losses.info_nce(v["T0"]["h"], v["T1"]["h"], 0.2)),
        ("nt_xent", lambda v: losses.nt_xent(v["T0"]["h"], v["T1"]["h"], 0.2)),
        (
            "simsiam",
            lambda v: losses.simsiam(
                v["T0"]["z"], v["T0"]["h"], v["T1"]["z"], v["T1"]["h"]
            ),
        ),
    ],
)
def test_the_loss_is_the_contrast_and_nothing_else(
    contrast, loss, tokenizer, batch
):  # eq. 14
    settings = {} if contrast == "simsiam" else {"tau": 0.2}
    objective = CSSL(make_encoder(tokenizer), contrast=contrast, **settings).eval()
    parts = objective(batch)
    assert sorted(parts) == ["contrast", "loss"] and parts["loss"] == parts["contrast"]
    assert torch.allclose(parts["loss"], loss(vectors_of(objective, batch)))


def test_the_first_wording_is_the_anchor_and_its_copies_are_left_out_on_request():  # eq. 7
    encoder = make_encoder(ck.data.train_tokenizer(["a b"], vocab_size=20))
    h = torch.randn(
        2, 6, encoder.width, generator=torch.Generator().manual_seed(0)
    ).double()
    vectors, ids = (
        {f"T{k}": {"h": h[k]} for k in (0, 1)},
        torch.tensor([0, 1, 2, 0, 1, 2]),
    )
    for ignore in (False, True):
        objective = CSSL(encoder, tau=0.2, ignore_duplicates=ignore)
        scores = losses.cosine_matrix(h[0], h[1]) / 0.2  # row b: anchor h_b^0
        copies = (ids[:, None] == ids) & ~torch.eye(6, dtype=torch.bool)
        scores = scores.masked_fill(copies, -torch.inf) if ignore else scores
        expected = torch.nn.functional.cross_entropy(scores, torch.arange(6))
        found = objective.contrast(vectors, {"text_id": ids})["contrast"]
        assert torch.allclose(found, expected, rtol=1e-12)


def test_fit_resumes_bit_for_bit(texts, tokenizer, tmp_path):
    words = with_wordings(texts[:40], tokenizer)

    def go(steps_before_stop=None, **options):
        objective = CSSL(make_encoder(tokenizer, dropout=0.1), contrast="simsiam")
        stop = None
        if steps_before_stop:

            def stop(run):
                if run.steps == steps_before_stop:
                    raise RuntimeError("the light went out")

        plan = dict(
            steps=6, batch_size=16, chunk_size=7, save_every=2, lr=1e-2, progress=False
        )
        ck.fit(objective, words, callback=stop, **plan, **options)
        return objective.state_dict()

    expected = go()
    with pytest.raises(RuntimeError, match="light"):
        go(steps_before_stop=3, folder=tmp_path)
    found = go(folder=tmp_path, resume=True)
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_it_pulls_wordings_together(texts, tokenizer):
    """After 30 steps the two wordings of a text are nearer than before, against other texts."""
    encoder = make_encoder(tokenizer, pooling="mean")
    words = with_wordings(texts, tokenizer)
    batch = words.batch(range(64))
    run = ck.fit(
        CSSL(encoder, tau=0.05), words, steps=30, batch_size=64, lr=2e-3, progress=False
    )
    assert (
        run.history["contrast"].iloc[-5:].mean()
        < 0.7 * run.history["contrast"].iloc[:5].mean()
    )
    with torch.no_grad():
        assert CSSL(encoder, tau=0.05)(batch)["loss"] < 1
