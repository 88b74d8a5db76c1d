"""The contract: what would give a silently wrong number, or waste hours, is refused in one sentence, or is right.

Each row is a mistake that a reader can make. A row with words is refused (or warned of) with them; a row without is
done right. Everything else may fail in the words of torch, transformers or datasets.
"""

import json
import math
import warnings

import pytest
import torch
from conftest import make_encoder
from tokenizers.processors import TemplateProcessing

import contrast_kit as ck
from contrast_kit import geometry, losses, masking
from contrast_kit.objectives import (
    CAPT,
    CMLM,
    COCOLM,
    CSSL,
    ELECTRA,
    MLM,
    SCL,
    FineTune,
    SimCSE,
)
from contrast_kit.tasks import Prompt

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
Y = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
IDS = torch.randint(5, 50, (2, 8), generator=torch.Generator().manual_seed(2))
ALL = torch.ones_like(IDS, dtype=torch.bool)
WORDS = dict(mask_id=3, vocab_size=50)


def spoiled(value):
    x = X.clone()
    x[2] = value
    return x


REFUSED_BY_PURE_FUNCTIONS = {
    "tau = 0": (lambda: losses.nt_xent(X, Y, 0.0), "tau is a temperature"),
    "tau below 0": (lambda: losses.info_nce(X, Y, -0.1), "tau is a temperature"),
    "tau is NaN": (
        lambda: losses.sup_con(X, torch.arange(6) % 2, math.nan),
        "tau is a temperature",
    ),
    "a row without a label": (
        lambda: losses.sup_con(X, torch.tensor([0, 0, 1, 1, 1, -1]), 0.1),
        "-1 in row 5",
    ),
    "NaN in a vector": (lambda: losses.nt_xent(spoiled(math.nan), Y, 0.1), "has NaN"),
    "a vector of zeros": (
        lambda: losses.nt_xent(spoiled(0.0), Y, 0.1),
        "vector of zeros",
    ),
    "views of unlike size": (lambda: losses.nt_xent(X, Y[:5], 0.1), "one shape"),
    "several views in one tensor": (
        lambda: losses.sup_con(X.view(3, 2, 4), torch.arange(3), 0.1),
        r"\[N, D\]",
    ),
    "cosines across devices": (
        lambda: losses.cosine_matrix(X, Y.to("meta")),
        "meta tensor",
    ),
    "NaN in logits": (
        lambda: losses.mlm(torch.full((2, 9), math.nan), torch.tensor([1, 2])),
        "is nan",
    ),
    "infinite logits": (
        lambda: losses.mlm(torch.full((2, 9), math.inf), torch.tensor([1, 2])),
        "is nan",
    ),
    "p above 1": (
        lambda: masking.dynamic_random_mask(IDS, ALL, 1.5, **WORDS),
        "p is a probability",
    ),
    "p in percent": (
        lambda: masking.dynamic_random_mask(IDS, ALL, 15, **WORDS),
        "p is a probability",
    ),
    "a split above 1": (
        lambda: masking.dynamic_random_mask(
            IDS, ALL, 0.15, split=(0.8, 0.8, 0.1), **WORDS
        ),
        "split",
    ),
    "a crop of nothing": (lambda: masking.crop(IDS, ALL.long(), 0.0, pad_id=0), "keep"),
    "alignment of unlike sets": (lambda: geometry.alignment(X, Y[:5]), "one shape"),
    "the classes of unlabelled rows": (
        lambda: geometry.class_cosines(X, torch.tensor([0, 0, 1, 1, -1, 1])),
        "-1",
    ),
    "a rate of 0": (lambda: ck.Training(lr=0), "lr must be"),
    "a share of steps in percent": (lambda: ck.Training(warmup=6), "warmup must be"),
    "steps and epochs": (lambda: ck.Training(steps=3, epochs=1), "not both"),
    "half precision": (lambda: ck.Training(precision="fp16"), "precision must be"),
    "a setting of another library": (
        lambda: ck.Training.of({"learning_rate": 1e-3}),
        "did you mean 'lr'|there are",
    ),
    "no labels to read": (
        lambda: ck.objectives.SCL.Config(lam=0.5, classes=1),
        "A score has no classes",
    ),
}


@pytest.mark.parametrize("name", REFUSED_BY_PURE_FUNCTIONS)
def test_a_pure_function_refuses(name):
    call, words = REFUSED_BY_PURE_FUNCTIONS[name]
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=words):
        call()


def test_half_precision_is_added_up_in_float32():
    assert losses.nt_xent(X.half(), Y.half(), 0.05) == pytest.approx(
        losses.nt_xent(X, Y, 0.05).item(), rel=2e-2
    )


def test_ids_in_few_bits_do_not_wrap():
    labels = torch.tensor([1, -100], dtype=torch.int8)
    assert losses.mlm(torch.zeros(2, 9), labels).item() == pytest.approx(math.log(9))


def test_a_class_of_one_text_has_no_term():
    assert losses.sup_con(X, torch.arange(6), 0.1) == 0


def test_special_tokens_are_never_masked(texts, tokenizer):
    batch = ck.data.Texts(texts, tokenizer).batch(range(20))
    special = torch.isin(batch["input_ids"], torch.tensor(tokenizer.all_special_ids))
    assert not (masking.allowed(batch) & special).any()


REFUSED_SETTINGS = {
    "tau = 0": (CMLM, dict(tau=0.0), "tau must be"),
    "p_m in percent": (MLM, dict(p_m=15), "p_m must be"),
    "no copies": (CMLM, dict(K=0), "K must be"),
    "True is no number": (CMLM, dict(K=True), "K must be"),
    "a method of another kit": (CMLM, dict(contrast="simclr"), "contrast must be one of"),
    "a word for a switch": (CMLM, dict(mlm="no"), "mlm must be"),
    "temperature": (CMLM, dict(temperature=0.1), "did you mean 'tau'"),
    "nothing to train": (
        CMLM,
        dict(mlm=False, contrast=None),
        "nothing is left to train",
    ),
    "a weight below 0": (CMLM, dict(contrast_weight=-1.0), "contrast_weight must be"),
    "lambda above 1": (SCL, dict(lam=1.5), "lam must be"),
    "a part of COCO-LM's crop": (COCOLM, dict(keep=90), "keep must be"),
    "a converged model that is not there": (
        COCOLM,
        dict(auxiliary="given"),
        "converged=encoder",
    ),
    "a string of letters for label words": (
        Prompt,
        dict(words="kite", classes=4),
        "word for each of the 4",
    ),
    "two equal label words": (Prompt, dict(words=("red", "red")), "no word twice"),
    "no noise of this name": (CAPT, dict(noise="maks"), "mask"),
}


@pytest.mark.parametrize("name", REFUSED_SETTINGS)
def test_a_setting_is_refused_when_it_is_made(name, encoder):
    method, settings, words = REFUSED_SETTINGS[name]
    with pytest.raises((ValueError, TypeError), match=words):
        method(encoder, **settings)


def test_an_auxiliary_of_another_vocabulary(encoder, texts):
    other = make_encoder(ck.data.train_tokenizer(texts, vocab_size=90))
    with pytest.raises(ValueError, match="with the main model's tokenizer"):
        COCOLM(encoder, converged=other)


def test_no_dropout_no_noise(encoder):
    with pytest.warns(UserWarning, match="only noise is dropout"):
        SimCSE(encoder)


def test_a_tokenizer_that_puts_nothing_before_a_text(encoder, texts):
    bare = ck.data.train_tokenizer(texts, vocab_size=300)
    bare.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B")
    with pytest.warns(UserWarning, match="its first word would stand for it"):
        ck.Encoder(encoder.model, bare)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.Encoder(encoder.model, bare, pooling="mean")


def test_the_mean_of_a_row_that_is_all_padding(tokenizer):
    view = {"attention_mask": torch.tensor([[1, 1], [0, 0]])}
    pooled = make_encoder(tokenizer, pooling="mean").pool(torch.ones(2, 2, 32), view)
    assert pooled.tolist() == [[1.0] * 32, [0.0] * 32]


# -- data -------------------------------------------------------------------------------------------------------------


def test_texts_of_another_tokenizer(encoder, texts):
    other = ck.data.train_tokenizer(texts[::-1], vocab_size=280)
    with pytest.raises(ValueError, match="another tokenizer"):
        ck.fit(MLM(encoder), ck.data.Texts(texts, other), steps=1, progress=False)


def test_texts_longer_than_the_encoder_reads(tokenizer):
    long = ck.data.Texts(["the red kite " * 60], tokenizer, max_length=100)
    with pytest.raises(ValueError, match="tokens, but the encoder takes 64"):
        ck.fit(MLM(make_encoder(tokenizer)), long, steps=1, progress=False)


def test_labels_of_rows_that_have_none(encoder):
    rows = [{"sentence": "the red kite", "label": label} for label in (0, 1, -1, 1)]
    with pytest.raises(ValueError, match="label -1"):
        ck.fit(FineTune(encoder, classes=2), rows, steps=1, progress=False)


def test_more_classes_than_the_head_has(encoder):
    rows = [{"sentence": "the red kite", "label": label} for label in (0, 1, 2, 1)]
    with pytest.raises(ValueError, match="number them 0, 1"):
        ck.fit(FineTune(encoder, classes=2), rows, steps=1, progress=False)


def test_scores_in_place_of_classes(encoder):
    rows = [
        {"sentence": "the red kite", "label": label} for label in (0.5, 1.0, 2.5, 1.0)
    ]
    with pytest.raises(ValueError, match="scores, not classes"):
        ck.fit(FineTune(encoder, classes=2), rows, steps=1, progress=False)


def test_rows_whose_text_is_in_no_known_column(encoder):
    with pytest.raises(ValueError, match="column"):
        ck.fit(
            MLM(encoder),
            [{"headline": "the red kite", "page": 3}] * 4,
            steps=1,
            progress=False,
        )


def test_a_contrast_of_paraphrases_without_any(encoder, texts):
    with pytest.raises(ValueError, match="this batch holds none"):
        ck.fit(CSSL(encoder), texts, steps=1, progress=False)


# -- training ---------------------------------------------------------------------------------------------------------


SHORT = dict(steps=2, batch_size=4, progress=False)


def test_a_run_goes_on_with_its_own_settings_and_data_alone(encoder, texts, tmp_path):
    ck.fit(MLM(encoder), texts, folder=tmp_path, **SHORT)
    for data, method, settings, words in (
        (texts, MLM(encoder), dict(seed=1), "training.seed = 0, not 1"),
        (texts, MLM(encoder, p_m=0.3), {}, "config.p_m = 0.15, not 0.3"),
        (texts, MLM(encoder), dict(steps=3), "training.steps = 2, not 3"),
        (texts[::-1], MLM(encoder), {}, "data.fingerprint"),
        (texts, CMLM(encoder, contrast="nt_xent"), {}, "objective = 'MLM', not 'CMLM'"),
    ):
        with pytest.raises(ValueError, match=words):
            ck.fit(method, data, folder=tmp_path, resume=True, **SHORT | settings)


def test_a_folder_holds_one_run(encoder, texts, tmp_path):
    ck.fit(MLM(encoder), texts, folder=tmp_path, **SHORT)
    with pytest.raises(ValueError, match="already holds step-00000002 of a run"):
        ck.fit(MLM(encoder), texts, folder=tmp_path, **SHORT)


def test_two_runs_do_not_write_to_one_folder(encoder, texts, tmp_path):
    def second(run):
        with pytest.raises(ValueError, match="Another run is writing"):
            ck.fit(MLM(encoder), texts, folder=tmp_path, **SHORT)

    assert (
        ck.fit(MLM(encoder), texts, folder=tmp_path, callback=second, **SHORT).steps == 2
    )


def test_a_score_that_is_no_number(tmp_path):
    (tmp_path / "STS-B").mkdir()
    lines = ["sentence1\tsentence2\tscore", "a kite\ta drum\tnan"]
    (tmp_path / "STS-B" / "train.tsv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="score nan, which is no number"):
        ck.data.load("glue/stsb", folder=tmp_path)


def test_a_damaged_checkpoint(encoder, texts, tmp_path):
    ck.fit(MLM(encoder), texts, folder=tmp_path, **SHORT)
    (tmp_path / "step-00000002" / "tensors.pt").write_bytes(b"no tensors")
    with pytest.raises(ValueError, match="is damaged"):
        ck.fit(MLM(encoder), texts, folder=tmp_path, resume=True, **SHORT)


def test_to_resume_from_nowhere(encoder, texts):
    with pytest.raises(ValueError, match="needs the folder"):
        ck.fit(MLM(encoder), texts, resume=True, **SHORT)


def test_a_rate_that_destroys_a_checkpoint(encoder, texts, tmp_path):
    opened = ck.Encoder.from_pretrained(encoder.save_pretrained(tmp_path))
    with pytest.warns(UserWarning, match="may forget what it knew"):
        ck.fit(MLM(opened), texts, lr=1e-3, **SHORT)


def test_everything_frozen(encoder, texts):
    with pytest.raises(ValueError, match="Every weight is frozen"):
        ck.fit(MLM(encoder).requires_grad_(False), texts, **SHORT)


def test_weights_in_half_precision(encoder, texts):
    with pytest.raises(ValueError, match="lose most of their small updates"):
        ck.fit(MLM(encoder.bfloat16()), texts, **SHORT)


def test_training_inside_autocast(encoder, texts):
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(ValueError, match="precision='bf16'"),
    ):
        ck.fit(MLM(encoder), texts, **SHORT)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_training_where_gradients_are_off_learns_all_the_same(context, encoder, texts):
    before = next(encoder.parameters()).detach().clone()
    with context():
        ck.fit(MLM(encoder), texts, warmup=0, **SHORT)
    assert not torch.equal(before, next(encoder.parameters()))


def test_batch_norm_on_pieces_of_a_batch(encoder, texts):
    objective = SimCSE(make_encoder(encoder.tokenizer, dropout=0.1))
    objective.projector = torch.nn.BatchNorm1d(encoder.width)
    with pytest.raises(ValueError, match="one piece of the batch"):
        ck.fit(objective, texts, chunk_size=2, **SHORT)
    assert ck.fit(objective, texts, **SHORT).steps == 2


def test_a_loss_that_is_not_finite(encoder, texts):
    with torch.no_grad():
        encoder.model.lm_head.bias.fill_(math.nan)
    with pytest.raises(
        FloatingPointError, match="Step 1 is not finite.*mlm is nan.*A lower lr"
    ):
        ck.fit(MLM(encoder), texts, **SHORT)


def test_a_queue_of_many_steps(encoder, texts):
    with pytest.warns(UserWarning, match="The queue will hold the last 1024 steps"):
        ck.fit(CAPT(encoder), texts, **SHORT)


class OwnViews(MLM):
    """A method whose noise has a mistake in it."""

    mistake = None

    def views(self, batch, generator=None):
        return self.mistake(super().views(batch, generator), batch)


def fewer_rows(views, batch):
    return {"T0": {key: value[:-1] for key, value in views["T0"].items()}}


def noise_in_place(views, batch):
    batch["input_ids"][:, 1] = 3
    return views


@pytest.mark.parametrize(
    ("mistake", "words"),
    [(fewer_rows, "one row for each"), (noise_in_place, "made with clone")],
)
def test_views_of_ones_own(mistake, words, encoder, texts, monkeypatch):
    monkeypatch.setattr(OwnViews, "mistake", staticmethod(mistake))
    with pytest.raises(ValueError, match=words):
        ck.fit(OwnViews(encoder), texts, **SHORT)


# -- encoders and folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["mask_token", "pad_token"])
def test_a_tokenizer_without_a_mask_or_padding(token, encoder, texts):
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    setattr(tokenizer, token, None)
    with pytest.raises(ValueError, match=token.removesuffix("_token")):
        ck.Encoder(encoder.model, tokenizer)


def test_no_network(tmp_path):
    with pytest.raises(FileNotFoundError, match="roberta-base"):
        ck.Encoder.from_pretrained("roberta-base")


def test_what_another_method_learned(encoder, tmp_path):
    ELECTRA(encoder).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds what ELECTRA learned"):
        COCOLM.from_pretrained(tmp_path)


def test_to_prompt_an_encoder_that_never_learned_words(encoder, tmp_path):
    folder = ELECTRA(encoder).encoder.save_pretrained(tmp_path)
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))[
        "taught_without_words"
    ]
    with pytest.raises(ValueError, match="has no word scores to prompt"):
        Prompt(ck.Encoder.from_pretrained(folder), words=("the", "a"))
