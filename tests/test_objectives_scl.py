"""SCL and plain fine-tuning: eq. 1 to 3, what gets a gradient, and what the contrast does to the classes."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.data.rows import count_classes
from contrast_kit.objectives import SCL, FineTune
from contrast_kit.training.gradient import gradient


def with_labels(batch, labels):
    return batch | {"label": torch.as_tensor(labels)}


def labelled(task, split, count):
    return toyshop.rows(task, split)[:count]


# The equations


def eq_3_in_loops(x, labels, tau):
    """The printed sum, with every indicator written out."""
    x = x.detach() / x.detach().norm(dim=1, keepdim=True)
    n, total = len(x), 0.0
    for i in range(n):
        others = [k for k in range(n) if k != i]
        positives = [j for j in others if labels[j] == labels[i]]
        if not positives:
            continue
        below = sum(math.exp(x[i] @ x[k] / tau) for k in others)
        logs = [math.log(math.exp(x[i] @ x[j] / tau) / below) for j in positives]
        total += -sum(logs) / len(positives)
    return total


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_equation_1_weighs_both_losses(encoder, batch, lam):
    tau = (
        {"tau": 0.7} if lam else {}
    )  # not the default; without the contrast nothing reads it
    objective = SCL(encoder, classes=3, lam=lam, reduction="sum", **tau).double().eval()
    labels = batch["label"] % 3
    batch = with_labels(batch, labels)
    parts = objective(batch)
    with torch.no_grad():
        h = encoder.pool(encoder(batch), batch)
        log_p = objective.logits(batch).log_softmax(1)
    ce = -log_p[torch.arange(len(h)), labels].mean().item()
    scl = eq_3_in_loops(h, labels.tolist(), 0.7)
    assert parts["ce"].item() == pytest.approx(ce, rel=1e-10)
    assert parts["loss"].item() == pytest.approx((1 - lam) * ce + lam * scl, rel=1e-10)
    if lam:
        assert parts["scl"].item() == pytest.approx(scl, rel=1e-10)


def test_two_classes_give_the_printed_binary_cross_entropy(encoder, batch):
    objective = FineTune(encoder, classes=2).double().eval()
    y = torch.tensor([0, 1] * 6)
    batch = with_labels(batch, y)
    y_hat = objective.logits(batch).softmax(1)[:, 1]  # probability of class 1
    printed = -(y * y_hat.log() + (1 - y) * (1 - y_hat).log()).mean()
    assert objective(batch)["ce"].item() == pytest.approx(printed.item(), rel=1e-10)


def test_lambda_zero_is_plain_fine_tuning(tokenizer, batch):
    batch = with_labels(batch, batch["label"] % 2)
    scl, ft = (
        SCL(make_encoder(tokenizer), lam=0.0, seed=3).eval(),
        FineTune(make_encoder(tokenizer), seed=3).eval(),
    )
    ours, plain = scl(batch), ft(batch)
    assert ours.keys() == plain.keys() == {"loss", "ce", "accuracy"}
    assert not scl.contrastive and scl.encode("text", dict(batch)).vectors == {}
    ours["loss"].backward()
    plain["loss"].backward()
    for (name, a), (_, b) in zip(
        scl.named_parameters(), ft.named_parameters(), strict=True
    ):
        assert (a.grad is None) == (b.grad is None) and (
            a.grad is None or torch.equal(a.grad, b.grad)
        ), name


def test_at_lambda_one_every_parameter_of_the_encoder_learns(encoder, batch):
    batch = with_labels(batch, batch["label"] % 2)
    objective = SCL(encoder, lam=1.0).train()
    gradient(objective, [batch])
    unused = {"lm_head"}  # the vocabulary head
    for name, parameter in encoder.model.named_parameters():
        if name.split(".")[0] in unused:
            continue
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert all(
        p.grad is None or p.grad.abs().sum() == 0 for p in objective.head.parameters()
    )


@pytest.mark.parametrize("cut", [None, 5])
def test_what_the_contrast_adds_to_the_gradient_is_its_own(tokenizer, batch, cut):
    """The gradient at λ is (1 - λ) times that of CE and λ times that of SCL, in chunks too: nothing is detached."""
    batch = with_labels(batch, batch["label"] % 2)
    grads = {}
    for lam in (0.0, 0.3, 1.0):
        objective = SCL(make_encoder(tokenizer), lam=lam, dropout=0.0).double()
        gradient(objective, [batch], chunk_size=cut)
        grads[lam] = {
            n: p.grad.clone()
            for n, p in objective.encoder.named_parameters()
            if p.grad is not None
        }
    for name, mixed in grads[0.3].items():
        assert torch.allclose(
            mixed, 0.7 * grads[0.0][name] + 0.3 * grads[1.0][name], atol=1e-12
        ), name


def test_singletons_count_zero_and_are_counted(encoder, batch):
    batch = {key: value[:6] for key, value in batch.items()}
    objective = SCL(encoder, classes=6, reduction="mean").double().eval()
    labels = torch.tensor([0, 1, 0, 2, 1, 0])
    parts = objective(with_labels(batch, labels))
    h = objective.encoder.pool(encoder(batch), batch)
    assert parts["scl"].item() == pytest.approx(
        eq_3_in_loops(h, labels.tolist(), 0.3) / 6, rel=1e-10
    )
    assert parts["without_positive"] == 1
    valid = (
        SCL(encoder, classes=6, reduction="mean_valid")
        .double()
        .eval()(with_labels(batch, labels))
    )
    assert valid["scl"].item() == pytest.approx(parts["scl"].item() * 6 / 5, rel=1e-10)

    distinct = objective(with_labels(batch, torch.arange(6)))
    assert distinct["scl"] == 0 and distinct["without_positive"] == 6
    distinct["loss"].backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in objective.parameters())


def test_a_batch_of_one_class_still_spreads(encoder, batch):  # eq. 3 is not 0 there
    parts = SCL(encoder, reduction="mean").eval()(with_labels(batch, [1] * 12))
    assert parts["scl"] > math.log(11) - 2 / 0.3 and parts["scl"] > 0


# The head


def test_the_contrast_sees_the_first_tokens_last_hidden_state(encoder, batch):
    batch = with_labels(batch, batch["label"] % 2)
    for head in ("linear", "tanh"):
        objective = SCL(encoder, head=head).eval()
        assert torch.equal(
            objective.encode("text", dict(batch)).vectors["h"], encoder(batch)[:, 0]
        )


def test_dropout_of_the_head_acts_while_training(encoder, batch):
    objective = FineTune(encoder, dropout=0.5).train()
    assert not torch.equal(objective.logits(batch), objective.logits(batch))
    objective.eval()
    assert torch.equal(objective.logits(batch), objective.logits(batch))
    head, h = (
        FineTune(encoder, head="tanh", dropout=0.5).train().head,
        torch.ones(4, encoder.width),
    )
    head.out = torch.nn.Identity()
    first, second = head(h), head(h)
    both = (first != 0) & (second != 0)  # what the outer dropout left
    assert not torch.equal(first[both], second[both])


def test_a_head_begins_as_berts_does_and_by_its_seed(encoder):
    dense, again, other = (
        FineTune(encoder, head="tanh", seed=seed).head.dense.weight for seed in (0, 0, 1)
    )
    assert dense.std().item() == pytest.approx(0.02, rel=0.1)
    assert torch.equal(dense, again) and not torch.equal(dense, other)


def test_a_score_is_learned_by_mean_squared_error(encoder, batch):
    score = torch.linspace(0, 5, 12)
    objective = FineTune(encoder, classes=1).eval()
    parts = objective(with_labels(batch, score))
    predicted = objective.logits(batch).squeeze(1)
    assert set(parts) == {"loss", "mse"}
    assert parts["loss"].item() == pytest.approx(
        ((predicted - score) ** 2).mean().item(), rel=1e-5
    )


def test_classes_are_counted_in_the_rows(encoder):
    assert SCL(encoder, classes=ck.data.load("toyshop/mnli")["train"]).config.classes == 3
    assert FineTune(encoder, classes=labelled("stsb", "train", 20)).config.classes == 1
    assert count_classes([{"text": "a", "label": 4}, {"text": "b", "label": -1}]) == 5
    assert (
        count_classes([{"text": "a", "label": 0}]) == 2
    )  # a draw that has one class by chance
    texts = ck.data.Texts(labelled("mnli", "train", 50), encoder.tokenizer)
    assert count_classes(texts) == 3
    assert FineTune(encoder, classes=np.int64(3)).config.classes == 3
    with pytest.warns(
        UserWarning,
        match=r"written as 0\.0 to 1\.0, so they are scores and this is a regression",
    ):
        assert (
            count_classes([{"text": "a", "label": 1.0}, {"text": "b", "label": 0.0}]) == 1
        )
    for rows in ([{"text": "a"}], ["a label"]):
        with pytest.raises(ValueError, match="no classes to count"):
            count_classes(rows)


def test_the_papers_setting():
    paper = SCL.paper()
    assert (paper.lam, paper.tau, paper.reduction, paper.dropout) == (
        0.9,
        0.3,
        "sum",
        0.1,
    )


# What it is for


def topics(count):
    """Sentences with the department they are about, nine of them, as classes."""
    lines = toyshop.labelled_corpus(count, seed=3)
    names = sorted({line["topic"] for line in lines})
    return [{"text": line["text"], "label": names.index(line["topic"])} for line in lines]


def separation(objective, rows):
    """Mean cosine of texts within a class, minus that between classes."""
    vectors = objective.encoder.encode(
        [row["text"] for row in rows], normalize=True
    )  # [N, D]
    label = torch.tensor([row["label"] for row in rows])
    cosine, same = vectors @ vectors.T, label[:, None] == label[None, :]
    other = ~torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & other].mean() - cosine[~same].mean()).item()


@pytest.mark.full
def test_the_contrast_separates_classes_sooner_than_cross_entropy_alone():
    """100 labels, nine classes, 100 steps: in each of three seeds, on texts never seen, the classes stand further
    apart. (Not so for every task: with many steps on an easy one, cross-entropy separates as well.)"""
    rows = topics(1300)
    train, test = rows[:100], rows[1000:]
    tokenizer = ck.data.train_tokenizer(
        [row["text"] for row in rows[:1000]], vocab_size=600
    )
    for seed in range(3):
        apart = {}
        for name, make in {"ce": FineTune, "scl": SCL}.items():
            objective = make(
                make_encoder(tokenizer, seed=seed, dropout=0.1, pooling="mean"), classes=9
            )
            ck.fit(
                objective,
                train,
                steps=100,
                batch_size=16,
                lr=2e-3,
                seed=seed,
                progress=False,
            )
            apart[name] = separation(objective, test)
        assert apart["scl"] > 1.5 * apart["ce"] > 0, (seed, apart)


def test_a_stopped_run_goes_on_exactly(tokenizer, tmp_path):
    rows = labelled("mnli", "train", 40)

    def run(steps_first, folder):
        for stop in (steps_first, None):
            objective = SCL(make_encoder(tokenizer, dropout=0.1), classes=3)

            def callback(run, stop=stop):
                if stop and run.steps == stop:
                    raise KeyboardInterrupt

            options = dict(
                steps=6, batch_size=8, save_every=3, progress=False, chunk_size=3
            )
            try:
                return ck.fit(
                    objective,
                    rows,
                    folder=folder,
                    resume=True,
                    callback=callback,
                    **options,
                )
            except KeyboardInterrupt:
                continue

    whole, stopped = run(None, tmp_path / "whole"), run(4, tmp_path / "stopped")
    assert [row["loss"] for row in whole.rows] == [row["loss"] for row in stopped.rows]
    for a, b in zip(
        whole.objective.parameters(), stopped.objective.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_scores_are_not_rounded_in_half_precision(tokenizer):
    objective = FineTune(make_encoder(tokenizer), classes=1, dropout=0.0).eval()
    with torch.no_grad():
        objective.head.out.weight.zero_()
    batch = ck.data.Texts([{"text": "a red ball", "label": 4.7}] * 8, tokenizer).batch(
        range(8)
    )
    parts, _ = gradient(
        objective, [batch], autocast=partial(torch.autocast, "cpu", dtype=torch.bfloat16)
    )
    assert parts["mse"].item() == pytest.approx(
        4.7**2, rel=1e-4
    )  # rounded to bfloat16 it would be half a percent less
