"""Opening a checkpoint: all of it, or one sentence; and training on from it without destroying it."""

import hashlib
import json
import warnings
from pathlib import Path

import pytest
import torch
from conftest import make_encoder
from transformers import BertConfig, BertModel

import contrast_kit as ck
from contrast_kit.training.settings import NEW_LR, PRETRAINED_LR


@pytest.fixture
def folder(tokenizer, tmp_path):
    return make_encoder(tokenizer, pooling="mean").save_pretrained(tmp_path / "encoder")


@pytest.fixture
def headless(tokenizer, tmp_path):
    """A BERT without vocabulary head, as sentence-transformers checkpoints are."""
    torch.manual_seed(0)
    sizes = dict(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = BertModel(
        BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes)
    )
    model.save_pretrained(tmp_path / "headless")
    tokenizer.save_pretrained(tmp_path / "headless")
    return tmp_path / "headless"


def change(file, **entries):
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))


def weights_hash(encoder):
    digest = hashlib.sha256()
    for value in encoder.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


# ---- all of it, or a sentence


def test_more_layers_in_the_config_than_weights(folder):
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    change(folder / "config.json", num_hidden_layers=layers + 1)
    with pytest.raises(
        ValueError, match="does not hold all weights that its config.json names"
    ):
        ck.Encoder.from_pretrained(folder)


def test_a_dense_layer_behind_the_pooling_is_refused_and_normalize_is_kept(
    folder, tmp_path
):
    modules = json.loads((folder / "modules.json").read_text())
    st = "sentence_transformers.models."
    normalize = {"idx": 2, "name": "2", "path": "2_Normalize", "type": st + "Normalize"}
    (folder / "modules.json").write_text(json.dumps([*modules, normalize]))
    again = ck.Encoder.from_pretrained(folder).save_pretrained(tmp_path / "again")
    assert json.loads((again / "modules.json").read_text())[-1] == normalize
    assert (again / "2_Normalize").is_dir()
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": st + "Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules, dense]))
    with pytest.raises(ValueError, match="by mean and Dense, which is not applied"):
        ck.Encoder.from_pretrained(folder)
    assert ck.Encoder.from_pretrained(folder, pooling="mean").pooling == "mean"


# ---- heads that are not there


def test_a_missing_head_is_the_same_at_each_opening_and_said_in_one_sentence(
    headless, capfd
):
    hashes = set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        with pytest.warns(UserWarning, match="6 weights of it are new") as caught:
            hashes.add(weights_hash(ck.Encoder.from_pretrained(headless)))
        assert len(caught) == 1 and Path(caught[0].filename).name == Path(__file__).name
        assert torch.equal(torch.get_rng_state(), before)
    assert len(hashes) == 1
    assert not any(capfd.readouterr()), "transformers' own report"


# ---- its own learning rate


def test_a_checkpoint_has_its_own_default_rate_and_a_warning_above_it(
    folder, tokenizer, texts
):
    options = dict(steps=2, batch_size=4, warmup=0.0, progress=False)
    new, opened = make_encoder(tokenizer), ck.Encoder.from_pretrained(folder)
    assert ck.fit(ck.objectives.MLM(new), texts, **options).training.lr == NEW_LR
    assert (
        ck.fit(ck.objectives.MLM(opened), texts, **options).training.lr == PRETRAINED_LR
    )
    with pytest.warns(UserWarning, match="lr=0.0005 is high"):
        ck.fit(ck.objectives.MLM(opened), texts, lr=5e-4, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.fit(ck.objectives.MLM(opened), texts, lr=5e-5, **options)
