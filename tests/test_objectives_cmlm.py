import math
import os
from pathlib import Path

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.objectives import CMLM, MLM


def loss_of(objective, batch, seed=0):
    return objective(batch, torch.Generator().manual_seed(seed))


def test_the_papers_setting_is_the_default():
    paper = CMLM.paper()
    assert paper == CMLM.Config()
    assert (paper.K, paper.p_m, paper.p_c, paper.contrast_weight, paper.contrast) == (
        1,
        0.15,
        0.7,
        0.5,
        "simsiam",
    )


def test_views_are_complementary_and_built_on_the_original(encoder, batch):
    views = CMLM(encoder, K=3, p_m=0.4).views(batch, torch.Generator().manual_seed(0))
    assert list(views) == ["T0", "T1", "T2", "T3"]
    first = views["T0"]["selected"]
    for k in (1, 2, 3):
        view = views[f"T{k}"]
        assert not (view["selected"] & first).any()
        assert torch.equal(
            view["input_ids"][~view["selected"]], batch["input_ids"][~view["selected"]]
        )
        assert not (view["selected"] & ~batch["maskable"]).any()
    assert not torch.equal(views["T1"]["selected"], views["T2"]["selected"])


def test_masked_lm_reads_the_first_view_only(encoder, batch):
    objective = CMLM(encoder, K=2)
    views = objective.views(batch, torch.Generator().manual_seed(0))
    assert [name for name, view in views.items() if "targets" in view] == ["T0"]
    assert objective.encode("T1", views["T1"]).sums == {}
    reference = MLM(encoder).encode("T0", views["T0"]).sums["mlm"]
    assert torch.equal(objective.encode("T0", views["T0"]).sums["mlm"], reference)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_equation_12_is_a_plain_weighted_sum(encoder, batch, alpha):
    parts = loss_of(CMLM(encoder, contrast_weight=alpha), batch)
    assert parts["loss"].item() == pytest.approx(
        (parts["mlm"] + alpha * parts["contrast"]).item(), rel=1e-6
    )


def test_alpha_zero_is_masked_lm(tokenizer, batch):
    gradients = []
    for kind in (lambda e: CMLM(e, contrast_weight=0.0), MLM):
        encoder = make_encoder(tokenizer)
        loss_of(kind(encoder), batch)["loss"].backward()
        gradients.append([p.grad for p in encoder.parameters() if p.grad is not None])
    for mine, theirs in zip(*gradients, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-7)


def test_predictor_is_two_square_matrices_and_nothing_else(encoder):
    predictor = CMLM(encoder).predictor.double()
    assert sum(p.numel() for p in predictor.parameters()) == 2 * encoder.width**2
    assert not list(predictor.buffers())
    h = torch.randn(3, encoder.width, dtype=torch.float64)
    w1, w2 = predictor.w1.weight, predictor.w2.weight
    x = h @ w1.T
    by_hand = (
        0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    ) @ w2.T  # the exact gelu, not its tanh form
    assert torch.allclose(predictor(h), by_hand, atol=1e-12)


def test_contrast_reads_the_first_token(tokenizer, batch):
    """With all but the first token's state scrambled, the contrast does not move."""
    objective = CMLM(make_encoder(tokenizer), mlm=False)
    before = loss_of(objective, batch)["contrast"]
    plain = objective.encoder.forward

    def scrambled(view):
        hidden = plain(view).clone()
        hidden[:, 1:] = torch.randn_like(hidden[:, 1:])
        return hidden

    objective.encoder.forward = scrambled
    assert torch.equal(loss_of(objective, batch)["contrast"], before)


def test_the_contrast_is_the_mean_over_k_of_the_papers_equation(encoder, batch):
    for contrast, settings in {"simsiam": {}, "info_nce": {"tau": 0.3}}.items():
        objective = CMLM(encoder, K=3, contrast=contrast, **settings).eval()
        views = objective.views(batch, torch.Generator().manual_seed(0))
        vectors = {
            name: objective.encode(name, view).vectors for name, view in views.items()
        }
        terms = []
        for k in (1, 2, 3):
            zero, other = vectors["T0"], vectors[f"T{k}"]
            if contrast == "simsiam":
                terms.append(
                    ck.losses.simsiam(zero["z"], zero["h"], other["z"], other["h"])
                )
            else:
                terms.append(ck.losses.info_nce(zero["h"], other["h"], 0.3))
        assert torch.allclose(objective.contrast(vectors, {})["contrast"], sum(terms) / 3)


def test_the_anchor_is_t0_in_whatever_order_views_come(tokenizer, batch):
    """Eq. 7 is not symmetric."""

    class PartnersFirst(CMLM):
        def views(self, batch, generator=None):
            return dict(reversed(super().views(batch, generator).items()))

    encoder = make_encoder(tokenizer).double().eval()
    first, last = (
        method(encoder, contrast="info_nce", tau=0.001)(
            batch, torch.Generator().manual_seed(0)
        )["contrast"].item()
        for method in (CMLM, PartnersFirst)
    )
    assert first == pytest.approx(last, rel=1e-9)


def test_without_complement_the_second_view_is_an_independent_mask(
    encoder, texts, tokenizer
):
    batch = ck.data.Texts(texts * 10, tokenizer, max_length=64).batch(range(2000))
    objective = CMLM(encoder, complement=False, p_m=0.3)
    views = objective.views(batch, torch.Generator().manual_seed(0))
    free = batch["maskable"]
    both = (views["T0"]["selected"] & views["T1"]["selected"])[free].float().mean()
    assert both == pytest.approx(0.09, abs=0.01)


def test_every_selected_token_of_the_partner_can_become_mask(encoder, batch):
    views = CMLM(encoder, crm_replace="mask").views(
        batch, torch.Generator().manual_seed(0)
    )
    ids = views["T1"]["input_ids"][views["T1"]["selected"]]
    assert (ids == encoder.vocabulary["mask_id"]).all()


def test_without_stop_gradient_the_targets_move_too(encoder, batch):
    grads = []
    for stop in (True, False):
        objective = CMLM(encoder, mlm=False, stop_gradient=stop)
        objective.predictor.requires_grad_(False)
        objective.zero_grad()
        loss_of(objective, batch)["loss"].backward()
        grads.append(
            next(
                p.grad
                for p in encoder.model.base_model.parameters()
                if p.grad is not None
            ).clone()
        )
    assert not torch.allclose(*grads)


def test_mean_over_sequences_is_printed_equation_6(encoder, batch):
    view = MLM(encoder, p_m=0.1).views(batch, torch.Generator().manual_seed(0))["T0"]
    hidden = encoder(view)
    rows = []
    for b in range(len(hidden)):
        at = view["selected"][b]
        if at.any():
            scores = encoder.mlm_logits(hidden[b, at]).log_softmax(-1)
            rows.append(-scores[range(len(scores)), view["targets"][b, at]].mean())
    assert (
        0 < len(rows) < len(hidden)
    )  # a text without a selected token counts in no mean
    for kind in (MLM, CMLM):
        objective = kind(encoder, p_m=0.1, mlm_mean="sequences")
        assert loss_of(objective, batch)["mlm"].item() == pytest.approx(
            (sum(rows) / len(rows)).item(), rel=1e-6
        )


def test_copies_of_a_text_are_negatives_unless_left_out(encoder, texts, tokenizer):
    """As in the paper a second copy is a negative; with `ignore_duplicates` only other texts are."""
    batch = ck.data.Texts([texts[0]] * 4 + texts[1:5], tokenizer).batch(range(8))
    facts = {"text_id": batch["text_id"]}
    h = torch.eye(5, encoder.width)[
        [0, 0, 0, 0, 1, 2, 3, 4]
    ]  # equal texts, equal vectors
    vectors = {"T0": {"h": h}, "T1": {"h": h}}
    far = 4 * math.exp(-1 / 0.1)  # four other texts at a right angle
    for contrast, copies in (("info_nce", 3), ("nt_xent", 6)):
        others = far if contrast == "info_nce" else 2 * far
        seen, ignored = (
            CMLM(encoder, contrast=contrast, tau=0.1, ignore_duplicates=ignore).contrast(
                vectors, facts
            )["contrast"]
            for ignore in (False, True)
        )
        alone = math.log(1 + (7 if contrast == "info_nce" else 14) * math.exp(-1 / 0.1))
        assert seen.item() == pytest.approx(
            (math.log(1 + copies + others) + alone) / 2, abs=1e-6
        )
        assert ignored.item() == pytest.approx(
            (math.log(1 + others) + alone) / 2, abs=1e-6
        )


# A short run: does it do what it is for?


def separation_and_gap(encoder, pairs):
    """How often two ways to say one thing have a higher cosine than two random sentences; by how much, on average."""
    a, b = (encoder.encode([pair[side] for pair in pairs]) for side in (0, 1))
    similar, random = ck.geometry.pair_cosines(a, b), ck.geometry.random_pair_cosines(a)
    return ck.geometry.separation(similar, random).item(), (
        similar.mean() - random.mean()
    ).item()


@pytest.fixture(scope="module")
def shop():
    sentences = toyshop.corpus(6_000)
    tokenizer = ck.data.train_tokenizer(sentences, vocab_size=2_000)
    return ck.data.Texts(sentences, tokenizer, max_length=64), toyshop.probe_pairs(500)


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cmlm_separates_better_than_mlm_and_than_a_random_encoder(shop, seed):
    """Same data, batches, steps and learning rate; the contrast of complementary masks is the only difference."""
    texts, pairs = shop
    found = {}
    for name in ("random", "mlm", "cmlm"):
        encoder = ck.Encoder.tiny(texts.tokenizer, pooling="mean", seed=seed)
        objective = (
            MLM(encoder)
            if name == "mlm"
            else CMLM(encoder, contrast="info_nce", tau=0.05, contrast_weight=1.0)
        )
        if name != "random":
            ck.fit(
                objective,
                texts,
                steps=50,
                batch_size=64,
                lr=2e-3,
                seed=seed,
                progress=False,
            )
        found[name] = separation_and_gap(encoder, pairs)
    (random, random_gap), (mlm, mlm_gap), (cmlm, cmlm_gap) = found.values()
    assert 1 - cmlm < 0.75 * (
        1 - max(mlm, random)
    )  # at least a quarter of the wrong orders gone
    assert cmlm_gap > 3 * max(mlm_gap, random_gap)


@pytest.mark.real_data
@pytest.mark.skipif(
    "CONTRAST_KIT_REAL_DATA" not in os.environ, reason="CONTRAST_KIT_REAL_DATA is not set"
)
def test_post_training_on_the_sentences_of_sst2_and_similarity_on_sts_b():
    """Real text: the loss falls, and STS-B's most similar pairs stand out more from random ones than at the start."""
    folder = Path(os.environ["CONTRAST_KIT_REAL_DATA"], "glue_data")
    sst2 = ck.data.load("glue/sst2", folder=folder)["train"].select(range(2000))
    texts = ck.data.sentences(sst2)
    assert 1900 < len(texts) <= 2000 and set(sst2["label"]) == {0, 1}
    stsb = ck.data.load("glue/stsb", folder=folder)["validation"]
    pairs = [(row["sentence1"], row["sentence2"]) for row in stsb if row["label"] == 5]
    assert len(pairs) > 50

    encoder = ck.Encoder.tiny(
        ck.data.train_tokenizer(texts, vocab_size=2000), pooling="mean"
    )
    before = separation_and_gap(encoder, pairs)
    objective = CMLM(
        encoder,
        contrast="info_nce",
        tau=0.05,
        contrast_weight=1.0,
        ignore_duplicates=True,
    )
    run = ck.fit(objective, sst2, steps=40, batch_size=64, lr=2e-3, progress=False)
    for part in ("mlm", "contrast"):
        assert run.history[part].tail(5).mean() < run.history[part].head(5).mean() - 0.3
    after = separation_and_gap(encoder, pairs)
    assert after[0] > before[0]
    assert after[1] > 5 * before[1]


def test_the_split_is_that_of_every_view(encoder, batch):
    views = CMLM(encoder, split=(0.0, 0.0, 1.0)).views(
        batch, torch.Generator().manual_seed(0)
    )
    for view in views.values():
        assert view["selected"].any() and torch.equal(
            view["input_ids"], batch["input_ids"]
        )
