"""Odd input over all rooms: either it does what was meant, or one sentence says what was wrong and what to do."""

import math
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import exercises, losses

N = 1100  # more than 2**20 cosines: "auto" takes tiles
A, B = (torch.randn(N, 8, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
LABELS = torch.arange(N) % 5
CONTRASTS = {
    "nt_xent": lambda x: losses.nt_xent(x, B.to(x.device), 0.1),
    "info_nce": lambda x: losses.info_nce(x, B.to(x.device), 0.1),
    "sup_con": lambda x: losses.sup_con(x, LABELS.to(x.device), 0.1),
    "uniformity": lambda x: ck.geometry.uniformity(x),  # above its 1,024 rows of a tile, too
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


def test_training_inside_autocast_is_refused_since_it_would_read_old_weights(tokenizer):
    """What the refusal is for: inside the context a second forward pass does not see that a weight has changed."""
    weight, x = torch.nn.Parameter(torch.zeros(8, 8)), torch.ones(1, 8)
    objective, texts = ck.objectives.MLM(make_encoder(tokenizer)), ["the red kite flies"] * 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        before = x @ weight
        weight.data += 1
        assert torch.equal(x @ weight, before)
        with pytest.raises(ValueError, match="leave that context and pass precision='bf16'"):
            ck.fit(objective, texts, steps=1, progress=False)
        with pytest.raises(ValueError, match="leave that context and pass precision='bf16'"):
            ck.plan(objective, texts, steps=1)
    assert ck.fit(objective, texts, steps=1, precision="bf16", progress=False).steps == 1


# ---- labels, ids, switches


def test_an_unlabeled_row_is_no_class():
    labels = torch.tensor([0, 0, 1, -1])
    for call in (
        lambda: losses.sup_con(torch.eye(4), labels, 0.1),
        lambda: ck.geometry.class_cosines(torch.eye(4), labels),
    ):
        with pytest.raises(ValueError, match="hold -1 in row 3, which marks an unlabeled text"):
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
            ck.data.paraphrase.Toyshop(temperature=wrong)


# ---- training


def test_everything_frozen_and_clip_zero(encoder, texts):
    objective = ck.objectives.MLM(encoder).requires_grad_(False)
    with pytest.raises(ValueError, match="Every weight is frozen"):
        ck.fit(objective, texts, steps=1, progress=False)
    with pytest.raises(ValueError, match="Every weight is frozen"):
        ck.plan(objective, texts, steps=1)
    with pytest.raises(ValueError, match="clip=None"):
        ck.Training(clip=0)


def test_the_time_in_nanoseconds_is_a_seed(tokenizer, texts, tmp_path):
    seed = time.time_ns()
    objective = ck.objectives.CMLM(make_encoder(tokenizer), seed=seed)
    ck.fit(objective, texts, steps=2, seed=seed, folder=tmp_path, progress=False)
    assert ck.fit(objective, texts, steps=2, seed=seed, folder=tmp_path, resume=True, progress=False).steps == 2


# ---- planning: bounded memory


MILLIONS = 4_000_000
MIXED = {"grouped": {}, "mixed": {"group_by_length": False}}
PLAN = """
import os, resource, sys
import torch
torch.set_num_threads(1)
sys.path.insert(0, {tests!r})
from conftest import make_encoder
import contrast_kit as ck
from contrast_kit.data import toyshop
tokenizer = ck.data.train_tokenizer(toyshop.corpus(50, seed=1), vocab_size=300)
objective, lengths = ck.objectives.MLM(make_encoder(tokenizer)), [32] * {n}
for options in {options}:
    if child := os.fork():  # a peak is a process's own
        assert os.waitpid(child, 0)[1] == 0
        continue
    for given in (lengths[:64], lengths):
        assert ck.plan(objective, given, steps=1, **options).examples == len(given)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    break
"""


@pytest.fixture(scope="module")
def peaks():
    """Bytes at the peak of a plan of few texts and, after it, of millions; by whether batches are mixed."""
    pytest.importorskip("resource")
    script = PLAN.format(tests=str(Path(__file__).parent), n=MILLIONS, options=list(MIXED.values()))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    numbers = iter(map(int, ran.stdout.split()))
    return dict(zip(MIXED, zip(numbers, numbers, strict=True), strict=True))


@pytest.mark.parametrize("batches", MIXED)
def test_a_plan_of_millions_of_texts_takes_little_memory(batches, peaks):
    """Two numbers of 4 bytes a text are held, and an order of 8 is made: not lists of Python's numbers."""
    few, many = peaks[batches]
    assert many - few < 40 * MILLIONS


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
        with pytest.raises(FileNotFoundError, match="not the name of a recorded table|No recorded table"):
            ck.data.recorded(name)




# ---- data and tokenizers


def test_texts_of_another_tokenizer_of_the_same_size(encoder, texts):
    other = ck.data.train_tokenizer([text[::-1] for text in texts], vocab_size=len(encoder.tokenizer))
    assert len(other) == len(encoder.tokenizer)
    for made in (ck.data.Texts, ck.data.Stream):
        with pytest.raises(ValueError, match=f"another tokenizer than the encoder's: use {made.__name__}\\(rows"):
            ck.fit(ck.objectives.MLM(encoder), made([text[:20] for text in texts], other), steps=1, progress=False)


def test_a_vocabulary_of_any_size_and_data_of_no_name(texts):
    for wrong in (10**10, 0, "300", 2.5):
        with pytest.raises(ValueError, match="vocab_size"):
            ck.data.train_tokenizer(texts, vocab_size=wrong)
    with pytest.raises(ValueError, match="Which data"):
        ck.data.load("")


def test_splits_are_no_texts(encoder, texts):
    with pytest.raises(TypeError, match="splits or columns by name"):
        encoder.encode({"train": texts, "test": texts})


def test_damaged_files_are_named(tmp_path):
    broken = tmp_path / "rows.parquet"
    broken.write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match="not a complete Parquet file"):
        ck.data.load(broken)
    mixed = tmp_path / "rows.jsonl"
    mixed.write_text('{"text": "a kite", "label": 1}\n{"text": "a drum", "label": "one"}\n')
    with pytest.raises(ValueError, match="holds int and str in its column 'label'"):
        ck.data.load(mixed)


def test_a_damaged_or_unwritable_cache_of_docstrings_costs_time_only(tmp_path, monkeypatch):
    import pandas

    from contrast_kit.data import docstrings

    rows = pandas.DataFrame(
        {"topic": ["a"] * docstrings._SMALLEST_TOPIC, "text": ["One sentence."] * docstrings._SMALLEST_TOPIC}
    )
    monkeypatch.setattr(docstrings, "harvest", lambda *a: rows)
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path / "cache"))
    assert len(docstrings._table(False)) == len(rows)
    (file,) = (tmp_path / "cache").glob("*.parquet")
    file.write_bytes(b"PAR1 damaged")
    with pytest.warns(UserWarning, match="cannot be read .* so it is made anew"):
        assert len(docstrings._table(False)) == len(rows)
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path / "a file"))
    with pytest.warns(UserWarning, match="could not be kept"):
        assert len(docstrings._table(False)) == len(rows)


# ---- encoders and noises


def test_a_misspelled_shape(tokenizer):
    with pytest.raises(TypeError, match="A shape has no 'num_layers'; did you mean 'num_hidden_layers'"):
        ck.Encoder.tiny(tokenizer, num_layers=6)


@pytest.mark.parametrize("make", [
    lambda n: n.Mask(p=1.5), lambda n: n.Mask(split=(0.5, 0.1, 0.1)), lambda n: n.MaskSpans(p=-1),
    lambda n: n.MaskSpans(span_p=0), lambda n: n.MaskSpans(max_span=0), lambda n: n.Replace(p=2),
    lambda n: n.Shuffle(window=-1), lambda n: n.MaskAndShuffle(p="a lot"), lambda n: n.MaskShuffleReplace(p_replace=7),
])  # fmt: skip
def test_a_noise_is_checked_where_it_is_made(make):
    with pytest.raises(ValueError, match="probability|split|span|window"):
        make(ck.masking.noise)


# ---- tasks


def test_a_length_of_fine_tuning_below_one(encoder):
    rows = ck.tasks.load("toyshop/sst2").train.select(range(8))
    for length in (dict(epochs=0), dict(epochs=-3), dict(steps=0), dict(steps=-1)):
        with pytest.raises(ValueError, match="at least|above 0"):
            ck.tasks.fine_tune(encoder, rows, task="sst2", **length)


def test_a_misspelled_division_and_a_mean_of_nothing():
    with pytest.raises(ValueError, match="test must be one of"):
        ck.tasks.hold_out(ck.tasks.load("toyshop/sst2"), test="hlaf")
    scores = dict(sst2=95.9, cola=math.nan, mrpc=87.8, rte=85.6, qnli=95.4, mnli=89.9)
    with pytest.raises(ValueError, match="The score of cola is nan"):
        ck.tasks.glue_average(scores, "scl")


def test_an_explicit_mnli_counts_beside_its_halves():
    scores = dict(sst2=1.0, cola=1.0, mrpc=1.0, rte=1.0, qnli=1.0, mnli=0.0)
    assert ck.tasks.glue_average(scores | dict(mnli_matched=1.0, mnli_mismatched=1.0), "scl") == pytest.approx(5 / 6)


def test_metrics_read_tensors_and_refuse_words():
    assert ck.tasks.accuracy(torch.tensor([1.0, 0.0], requires_grad=True), torch.tensor([1, 1])) == 0.5
    with pytest.raises(TypeError, match="Predictions are numbers"):
        ck.tasks.accuracy(["yes", "no"], [1, 0])


def test_the_nearer_neighbours_win_a_tie(encoder, monkeypatch):
    """Two neighbours a class; those of class 1 are nearer. Reversed, so are those of class 0."""
    from contrast_kit.tasks import probes

    near, far = torch.tensor([[1.0, 0.1], [1.0, -0.1]]), torch.tensor([[1.0, 0.5], [1.0, -0.5]])
    for labels, expected in (([1, 1, 0, 0], 1), ([0, 0, 1, 1], 0)):
        train = [{"sentence": "a", "label": label} for label in labels]
        test = [{"sentence": "a", "label": expected}]
        vectors = {4: torch.cat([near, far]).numpy(), 1: torch.tensor([[1.0, 0.0]]).numpy()}
        monkeypatch.setattr(probes, "features", lambda encoder, rows, task, vectors=vectors: vectors[len(rows)])
        assert probes.knn_probe(encoder, train, test, task="sst2", k=4)["accuracy"] == 1.0
