"""Edge cases in which something wrong was answered, or nothing said, until a reader of the whole library met them."""

import importlib.util
import json
import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import geometry, losses, tasks
from contrast_kit.commands import lab
from contrast_kit.data import drafts, picture_files, toyshop
from contrast_kit.objectives import CMLM, COCOLM, MLM, FineTune
from contrast_kit.tasks import squad


@pytest.mark.parametrize(("epochs", "batches", "steps"), [(1.1, 50, 55), (2.2, 25, 55), (0.5, 3, 2), (1, 7, 7)])
def test_epochs_in_fractions_take_no_step_too_many(epochs, batches, steps):
    assert ck.Training(epochs=epochs).total_steps(batches) == steps


def test_seeds_may_be_numpys(tokenizer):
    encoder, seed = make_encoder(tokenizer), np.int64(3)
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    assert geometry.random_pair_cosines(x, n=3, seed=seed).equal(geometry.random_pair_cosines(x, n=3, seed=3))
    heads = [CMLM(encoder, seed=each).predictor.state_dict() for each in (seed, 3)]
    assert all(heads[0][name].equal(heads[1][name]) for name in heads[0])
    assert COCOLM(make_encoder(tokenizer, num_hidden_layers=3), seed=seed)
    how = dict(steps=1, batch_size=4, progress=False)
    runs = [ck.fit(MLM(make_encoder(tokenizer)), toyshop.corpus(8), seed=each, **how) for each in (seed, 3)]
    assert runs[0].rows[0]["loss"] == runs[1].rows[0]["loss"]
    record = toyshop.Visit("Clara", "buy", 2, "kite")
    assert toyshop.ways_to_say(record, 2, seed=seed) == toyshop.ways_to_say(record, 2, seed=3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16])
def test_ids_without_a_number_below_leave_out_no_vector_of_the_queue(dtype):
    a, b, queue = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))
    ids = torch.tensor([0, 1, 2, 255 if dtype == torch.uint8 else 3])
    given = [losses.nt_xent(a, b, 0.5, queue=queue, ids=each) for each in (ids.to(dtype), ids)]
    assert given[0] == given[1] == losses.nt_xent(a, b, 0.5, queue=queue)


def test_small_scores_are_no_constant():
    assert tasks.pearson([1e-8, 2e-8, 3e-8], [1, 2, 3]) == pytest.approx(1)
    assert tasks.pearson([0, 0, 0], [1, 2, 3]) == 0


def test_lines_of_json_end_at_a_line_feed_alone(tmp_path):
    rows = [{"sentence": "one\u2028two\u0085three"}, {"sentence": "four"}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "statements.jsonl").write_text(text, encoding="utf-8")
    assert list(map(json.loads, picture_files._lines(tmp_path / "statements.jsonl"))) == rows


@pytest.mark.parametrize("folder", ["../course", "course", "a/course"])
def test_lab_opens_a_page_below_its_own_root(tmp_path, monkeypatch, folder):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(lab, "_trust", lambda folder: None)
    said = []
    run = lambda command, **how: said.extend(command) or types.SimpleNamespace(returncode=0)  # noqa: E731
    monkeypatch.setattr(subprocess, "run", run)
    assert lab.main(["--folder", folder]) == 0
    given = dict(part.split("=", 1) for part in said if part.startswith(("--ServerApp.root", "--LabApp.default")))
    page = given["--LabApp.default_url"].removeprefix("/lab/tree/")
    assert ".." not in page and os.path.isfile(os.path.join(given["--ServerApp.root_dir"], page))


def test_a_loss_of_labels_is_summed_in_float32(tokenizer):
    objective = FineTune(make_encoder(tokenizer), classes=2)
    scores, label = torch.tensor([[0.1, 0.2]] * 64).bfloat16(), torch.zeros(64, dtype=torch.long)
    halves, whole = (objective.label_sums(given, label)["ce"] for given in (scores, scores.float()))
    assert halves.dtype == torch.float32 and halves == whole


def test_steps_none_reads_squad_twice():
    rows = ck.data.load("toyshop/squad")["train"].select(range(24))
    start = make_encoder(ck.data.train_tokenizer(rows["context"], vocab_size=300), max_length=128)
    how = dict(max_length=128, stride=32, progress=False)
    assert squad.fine_tune(start, rows, steps=None, **how).run.total == squad.fine_tune(start, rows, **how).run.total


@pytest.mark.parametrize(
    ("setting", "reader"),
    [
        (dict(complement=False, p_c=0.9), "p_c=0.9 .* only complement=True"),
        (dict(contrast=None, K=5), "K=5 .* only a contrast"),
        (dict(contrast=None, crm_replace="mask"), "crm_replace='mask' .* only a contrast"),
    ],
)
def test_cmlm_names_each_setting_that_nothing_reads(tokenizer, setting, reader):
    with pytest.warns(UserWarning, match=reader):
        CMLM(make_encoder(tokenizer), **setting)


def test_cmlm_is_silent_where_all_is_read(tokenizer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CMLM(make_encoder(tokenizer), complement=False, p_drm=0.3)
        CMLM(make_encoder(tokenizer), K=2, p_c=0.9, crm_replace="mask")


@pytest.mark.parametrize("keep", [0, 1.5])
def test_a_crop_keeps_a_share(tokenizer, keep):
    with pytest.raises(ValueError, match="keep is the share of tokens"):
        COCOLM.Config(keep=keep)


@pytest.mark.skipif(sys.platform != "linux", reason="the flags are looked at through Linux")
def test_what_is_put_on_the_disk_can_be_written_to(tmp_path, monkeypatch):
    """Windows refuses to flush a file that was opened for reading."""
    flags, really = {}, os.open
    monkeypatch.setattr(os, "open", lambda path, how, *more: flags.update({str(path): how}) or really(path, how, *more))
    (tmp_path / "file").write_text("text")
    drafts._flush(tmp_path / "file")
    assert flags[str(tmp_path / "file")] & os.O_RDWR
