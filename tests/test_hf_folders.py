"""Opening a checkpoint: all of it, or one sentence; and training on from it without destroying it."""

import hashlib
import json
import shutil
import warnings
from pathlib import Path

import pytest
import torch
from conftest import REAL, make_encoder, real_data
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

import contrast_kit as ck
from contrast_kit.data import hub
from contrast_kit.encoder import hf_folders
from contrast_kit.training.settings import NEW_LR, PRETRAINED_LR


@pytest.fixture
def folder(tokenizer, tmp_path):
    return make_encoder(tokenizer, pooling="mean").save_pretrained(tmp_path / "encoder")


@pytest.fixture
def headless(tokenizer, tmp_path):
    """A BERT without vocabulary head, as sentence-transformers checkpoints are."""
    torch.manual_seed(0)
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    model = BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
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


def test_a_model_without_a_tokenizer(folder):
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(FileNotFoundError, match="holds a model but no tokenizer"):
        ck.Encoder.from_pretrained(folder)


def test_more_layers_in_the_config_than_weights(folder):
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    change(folder / "config.json", num_hidden_layers=layers + 1)
    with pytest.raises(ValueError, match="does not hold all weights that its config.json names"):
        ck.Encoder.from_pretrained(folder)


def test_a_model_of_another_kind_is_named(tokenizer, tmp_path):
    """transformers would list all that it opens instead."""
    GPT2LMHeadModel(GPT2Config(vocab_size=60, n_layer=1, n_embd=16, n_head=2)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a GPT2Config model: take one that AutoModelForMaskedLM opens.$"):
        ck.Encoder.from_pretrained(tmp_path)


def test_a_model_of_another_kind_on_the_hub_is_not_said_to_be_missing(monkeypatch):
    """The hub has it: only what the hub itself fails at is a FileNotFoundError."""

    class Kind:
        @staticmethod
        def from_pretrained(name, **options):
            raise ValueError("Unrecognized configuration class <class 'transformers.GPT2Config'> for AutoModel.")

    monkeypatch.setattr(hub, "require", lambda name, **options: None)
    with pytest.raises(ValueError, match="^me/gpt holds a GPT2Config model: take one that Kind opens.$"):
        hf_folders.read("me/gpt", Kind)


class Longest(ck.Encoder):
    """An encoder with a pooling of one's own: the maximum over real tokens."""

    def pool(self, hidden, view):
        return hidden.masked_fill(view["attention_mask"].unsqueeze(-1) == 0, -1e4).amax(1)


def test_a_pooling_of_one_s_own_is_said_to_be_lost_in_a_folder(tokenizer, tmp_path):
    encoder = Longest.tiny(tokenizer)
    with pytest.warns(UserWarning, match=r"Longest has a pool of its own.* open it with Longest.from_pretrained"):
        folder = encoder.save_pretrained(tmp_path / "own")
    assert torch.equal(Longest.from_pretrained(folder).encode("a red kite"), encoder.encode("a red kite"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.Encoder.tiny(tokenizer).save_pretrained(tmp_path / "kit")


def test_code_that_comes_with_a_checkpoint_is_never_run(folder, monkeypatch):
    """transformers would ask on standard input, which a notebook does not have."""
    monkeypatch.setattr("builtins.input", lambda *a: pytest.fail("the reader was asked"))
    ran = folder / "ran"
    (folder / "code.py").write_text(f"open({str(ran)!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    auto = {"AutoConfig": "code.Config", "AutoModelForMaskedLM": "code.Model"}
    change(folder / "config.json", model_type="of_their_own", auto_map=auto)
    with pytest.raises(ValueError, match="needs Python code of its own, which this kit never runs"):
        ck.Encoder.from_pretrained(folder)
    assert not ran.exists()


def test_a_dense_layer_behind_the_pooling_is_refused_and_normalize_is_kept(folder, tmp_path):
    modules = json.loads((folder / "modules.json").read_text())
    st = "sentence_transformers.models."
    normalize = {"idx": 2, "name": "2", "path": "2_Normalize", "type": st + "Normalize"}
    (folder / "modules.json").write_text(json.dumps([*modules, normalize]))
    again = ck.Encoder.from_pretrained(folder).save_pretrained(tmp_path / "again")
    assert json.loads((again / "modules.json").read_text())[-1] == normalize and (again / "2_Normalize").is_dir()
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": st + "Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules, dense]))
    with pytest.raises(ValueError, match="has a module Dense behind its pooling"):
        ck.Encoder.from_pretrained(folder)
    assert ck.Encoder.from_pretrained(folder, pooling="mean").pooling == "mean"


def test_transformers_says_as_much_after_opening_as_before(folder):
    before = logging.get_verbosity()
    logging.set_verbosity_info()
    try:
        ck.Encoder.from_pretrained(folder)
        assert logging.get_verbosity() == logging.INFO and logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(before)


def test_a_folder_may_lie_at_home_or_be_called_kit(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "kit" / "mine")
    for name in ("~/encoder", "kit/mine"):
        assert ck.Encoder.from_pretrained(name).pooling == "mean"


# ---- heads that are not there


def test_a_missing_head_is_the_same_at_each_opening_and_said_in_one_sentence(headless, capfd):
    hashes = set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        with pytest.warns(UserWarning, match="holds no vocabulary head, so 6 weights of it are new") as caught:
            hashes.add(weights_hash(ck.Encoder.from_pretrained(headless)))
        assert len(caught) == 1 and Path(caught[0].filename).name == Path(__file__).name
        assert torch.equal(torch.get_rng_state(), before)
    assert len(hashes) == 1
    assert not any(capfd.readouterr()), "transformers' own report"


def test_heads_are_warmed_while_the_body_rests(headless, texts):
    with pytest.warns(UserWarning, match="warm_heads"):
        encoder = ck.Encoder.from_pretrained(headless)
    body = {name: value.clone() for name, value in encoder.model.base_model.state_dict().items()}
    head = {name: value.clone() for name, value in encoder.model.cls.predictions.transform.state_dict().items()}

    def moved(run):
        now = encoder.model.base_model.state_dict()
        run.rows[-1]["body"] = any(not torch.equal(now[name], value) for name, value in body.items())

    options = dict(steps=10, batch_size=8, lr=1e-4, warmup=0.0, warm_heads=0.4, progress=False)
    run = ck.fit(ck.objectives.MLM(encoder), texts, callback=moved, **options)
    assert [row["body"] for row in run.rows] == [False] * 4 + [True] * 6
    now = encoder.model.cls.predictions.transform.state_dict()
    assert not any(torch.equal(now[name], value) for name, value in head.items())


# ---- its own learning rate


def test_a_checkpoint_has_its_own_default_rate_and_a_warning_above_it(folder, tokenizer, texts):
    options = dict(steps=2, batch_size=4, warmup=0.0, progress=False)
    new, opened = make_encoder(tokenizer), ck.Encoder.from_pretrained(folder)
    assert ck.fit(ck.objectives.MLM(new), texts, **options).training.lr == NEW_LR
    assert ck.fit(ck.objectives.MLM(opened), texts, **options).training.lr == PRETRAINED_LR
    with pytest.warns(UserWarning, match="lr=0.0005 is high for an encoder opened from a checkpoint"):
        ck.fit(ck.objectives.MLM(opened), texts, lr=5e-4, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.fit(ck.objectives.MLM(opened), texts, lr=5e-5, **options)


@real_data
def test_a_real_checkpoint_keeps_what_it_knew_at_the_default_rate():
    """Similarities after 18 steps of CMLM: they stay at the default rate, and are lost at 5e-4, good for a new one."""
    real = Path(REAL)
    splits = ck.data.load("glue/stsb", folder=real / "glue_data")
    rows, test = splits["train"].select(range(400))["sentence1"], splits["validation"].select(range(150))

    def similarities(**rate):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoder = ck.Encoder.from_pretrained(real / "models" / "all-MiniLM-L6-v2")
            options = dict(steps=18, batch_size=16, max_length=24, warmup=0.0, decay="none", progress=False)
            ck.fit(ck.objectives.CMLM(encoder), rows, **options, **rate)
        cosine = ck.geometry.pair_cosines(*(encoder.encode(test[name]) for name in ("sentence1", "sentence2")))
        return ck.tasks.spearman(cosine.tolist(), test["label"])

    assert similarities() > 0.8 > 0.7 > similarities(lr=5e-4)


# ---- a name on the hub says as much as a folder


def test_pooling_and_length_are_read_from_a_model_of_the_hub_too(folder, tmp_path, monkeypatch):
    """What lies in the hub's cache, with the same small files, opens with the same vectors."""
    change(folder / "sentence_bert_config.json", max_seq_length=16)
    snapshot = tmp_path / "hub" / "models--nobody--small" / "snapshots" / ("0" * 40)
    shutil.copytree(folder, snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    for module in ("huggingface_hub.constants", "transformers.utils.hub"):
        for name in ("HF_HUB_CACHE", "TRANSFORMERS_CACHE"):
            monkeypatch.setattr(f"{module}.{name}", str(tmp_path / "hub"), raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    local, hub = ck.Encoder.from_pretrained(folder), ck.Encoder.from_pretrained("nobody/small")
    assert (hub.pooling, hub.max_length) == (local.pooling, local.max_length) == ("mean", 16)
    assert torch.equal(hub.encode("a red ball"), local.encode("a red ball"))
    modules = json.loads((folder / "modules.json").read_text())
    (snapshot / "modules.json").write_text(json.dumps([*modules, {"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(ValueError, match="has a module Dense behind its pooling"):
        ck.Encoder.from_pretrained("nobody/small")
