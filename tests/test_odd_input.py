"""Odd input over all rooms: either it does what was meant, or one sentence says what was wrong and what to do."""

import math
import time

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import exercises, losses
from contrast_kit.commands import bench

N = 1100  # more than 2**20 cosines: "auto" takes tiles
A, B = (torch.randn(N, 8, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
LABELS = torch.arange(N) % 5
CONTRASTS = {
    "nt_xent": lambda x: losses.nt_xent(x, B.to(x.device), 0.1),
    "info_nce": lambda x: losses.info_nce(x, B.to(x.device), 0.1),
    "sup_con": lambda x: losses.sup_con(x, LABELS.to(x.device), 0.1),
}


# ---- losses where values cannot be looked at


@pytest.fixture(params=CONTRASTS)
def contrast(request):
    return CONTRASTS[request.param]


def gradient(contrast):
    x = A.clone().requires_grad_()
    contrast(x).backward()
    return x.grad


def test_a_large_contrast_under_transforms_of_torch_func(contrast):
    torch.testing.assert_close(torch.func.grad(contrast)(A), gradient(contrast), rtol=1e-3, atol=2e-5)
    torch.testing.assert_close(torch.func.vmap(contrast)(A[None])[0], contrast(A))


def test_a_large_contrast_on_meta_and_compiled_in_one_graph(contrast):
    assert contrast(A.to("meta")).shape == ()
    compiled = torch.compile(contrast, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(A), contrast(A))


def test_a_backward_pass_inside_autocast(contrast):
    x = A.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        contrast(x).backward()
    torch.testing.assert_close(x.grad, gradient(contrast))


# ---- labels, ids, switches


def test_an_unlabeled_row_is_no_class():
    labels = torch.tensor([0, 0, 1, -1])
    for call in (
        lambda: losses.sup_con(torch.eye(4), labels, 0.1),
        lambda: ck.geometry.class_cosines(torch.eye(4), labels),
    ):
        with pytest.raises(ValueError, match="hold -1 in row 3, the mark of an unlabeled text"):
            call()


def test_corrective_targets_outside_the_vocabulary():
    logits, copy, ids = torch.zeros(2, 10), torch.zeros(2), torch.tensor([1, 2])
    for corrupted, original, name in ((ids, ids + 9, "Original"), (ids + 9, ids, "Corrupted"), (ids - 2, ids, "Corr")):
        with pytest.raises(ValueError, match=name):
            losses.corrective_lm(logits, copy, corrupted, original)


@pytest.mark.parametrize("value", ["no", "false", 0, None])
def test_a_switch_is_true_or_false(encoder, value):
    with pytest.raises(TypeError, match=f"complement is True or False, not {value!r}"):
        ck.objectives.CMLM(encoder, complement=value)


def test_a_paraphrasers_temperature():
    for wrong in (-1, "hot", math.nan):
        with pytest.raises(ValueError, match="temperature must be a number of 0 or more"):
            ck.paraphrase.Toyshop(temperature=wrong)


# ---- training


def test_everything_frozen_and_clip_zero(encoder, texts):
    objective = ck.objectives.MLM(encoder).requires_grad_(False)
    with pytest.raises(ValueError, match="Every weight is frozen"):
        ck.fit(objective, texts, steps=1, progress=False)
    with pytest.raises(ValueError, match="clip=None"):
        ck.Training(clip=0)


def test_the_time_in_nanoseconds_is_a_seed(tokenizer, texts, tmp_path):
    seed = time.time_ns()
    objective = ck.objectives.CMLM(make_encoder(tokenizer), seed=seed)
    ck.fit(objective, texts, steps=2, seed=seed, folder=tmp_path, progress=False)
    assert ck.fit(objective, texts, steps=2, seed=seed, folder=tmp_path, resume=True, progress=False).steps == 2


# ---- planning: bounded time and memory


def test_a_plan_of_millions_of_texts_takes_no_memory(encoder):
    started = time.process_time()
    assert ck.plan(ck.objectives.MLM(encoder), [32] * 2_000_000, steps=1).examples == 2_000_000
    assert time.process_time() - started < 20


def test_a_plan_of_impossible_lengths(encoder):
    mlm = ck.objectives.MLM(encoder)
    for lengths, error, words in (
        ([10**9, 3], ValueError, "longer than the encoder"),
        ([2, 5], ValueError, "leaves no"),
    ):
        with pytest.raises(error, match=words):
            ck.plan(mlm, lengths)


# ---- panels


def test_a_panel_escapes_what_is_data(encoder, texts):
    evil = "<img src=x onerror=alert(1)>"
    rows = [{evil: text, "text": text} for text in texts[:4]]
    panel = ck.explore.live_training(ck.objectives.MLM(encoder), rows, steps=1, batch_size=4)
    panel.problem = f"a column {evil}"
    panel.draw()
    assert evil not in panel.line.value and "&lt;img" in panel.line.value and "has ended" in panel.line.value
    playground = ck.explore.loss_playground()
    playground.names[playground.circle.anchor] = evil
    assert evil not in playground.words()


def test_the_live_panel_says_why_its_run_ended(encoder):
    panel = ck.explore.live_training(ck.objectives.MLM(encoder), ["a kite", ""], steps=1, batch_size=2)
    panel.start().wait(60)
    assert "The run has ended" in panel.line.value and "no token" in panel.line.value


def test_the_mask_explorer_takes_a_sentence_not_a_book(tokenizer):
    with pytest.raises(ValueError, match="There is room for 128 tokens"):
        ck.explore.mask_explorer(tokenizer, "kite " * 5000).views()


# ---- exercises: answers of another kind


WRONG_KINDS = [3, "text", [1], {}, object(), lambda *a, **k: "text", lambda *a, **k: object(), float]


@pytest.mark.parametrize("answer", WRONG_KINDS, ids=[str(i) for i in range(len(WRONG_KINDS))])
def test_answers_of_any_kind_get_a_verdict(answer):
    for name in exercises.names():
        verdict = exercises.judge(name, answer)
        assert "\n" not in verdict.text.strip() or len(verdict.text) < 2000, name


# ---- files and folders


def test_a_recorded_table_lies_in_its_folder(tmp_path):
    for name in ("../secret", "/etc/passwd", "a/../../b", "."):
        with pytest.raises(FileNotFoundError, match="no name of a recorded table|No recorded table"):
            ck.data.recorded(name)


def test_a_folder_called_benchmarks_in_another_project_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "losses.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert bench.find_folder() != tmp_path / "benchmarks"
    monkeypatch.setattr(bench.contrast_kit, "__file__", str(tmp_path / "site" / "contrast_kit" / "__init__.py"))
    assert bench.find_folder() is None
