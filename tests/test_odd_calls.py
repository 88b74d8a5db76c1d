"""Calls with one odd argument, drawn over all rooms: each does what was meant, or is refused in one sentence of ours.

A refusal is ours when the kit itself raises it, as a `TypeError`, `ValueError` or `FileNotFoundError` of one sentence.
What torch, numpy or Python say about an argument that got through is a raw error, and a failing test.
"""

import math
import traceback
from pathlib import Path

import torch
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import contrast_kit as ck
from contrast_kit import geometry, losses, masking, objectives, schedules, tasks

KIT = str(Path(ck.__file__).parent)
CALLS = 1_200


def x(*shape, at=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(at))


IDS = torch.tensor([[1, 11, 12, 13, 14, 2], [1, 15, 16, 17, 2, 0]])
FREE = IDS > 2
WORDS = dict(mask_id=3, vocab_size=20)
LOGITS, COPIES, LABELS = x(5, 20), x(5), torch.tensor([4, 5, 6, 7, 8])
VALID = torch.ones(2, 6, dtype=torch.bool)
FOUR, CLASSES = torch.arange(4), torch.tensor([0, 0, 1, 1])

# function -> arguments that work, by name
GOOD = {
    losses.info_nce: dict(anchors=x(4, 3), candidates=x(4, 3, at=1), tau=0.1, ids=FOUR),
    losses.nt_xent: dict(a=x(4, 3), b=x(4, 3, at=1), tau=0.1, queue=x(5, 3), ids=FOUR, queue_ids=torch.arange(5)),
    losses.nt_xent_anchor_gradient: dict(a=x(4, 3), b=x(4, 3, at=1), tau=0.1, queue=x(5, 3)),
    losses.sup_con: dict(x=x(4, 3), labels=CLASSES, tau=0.1, reduction="mean_valid"),
    losses.simsiam: dict(z_a=x(4, 3), h_a=x(4, 3, at=1), z_b=x(4, 3, at=2), h_b=x(4, 3, at=3)),
    losses.mlm: dict(logits=LOGITS, labels=LABELS, reduction="mean", ignore_index=-100),
    losses.corrective_lm: dict(logits=LOGITS, copy_logits=COPIES, corrupted=LABELS, original=LABELS, variant="paper"),
    losses.all_token_lm: dict(logits=LOGITS, copy_logits=COPIES, corrupted=LABELS, original=LABELS, reduction="mean"),
    losses.copy: dict(logits=x(2, 6), corrupted=IDS, original=IDS, valid=VALID, reduction="sum"),
    losses.replaced_token_detection: dict(logits=x(2, 6), is_original=VALID, valid=VALID, reduction="none"),
    losses.masked_objects: dict(logits=LOGITS, labels=LABELS, confidence=torch.full((5,), 0.5)),
    losses.masked_features: dict(predicted=x(4, 3), targets=x(4, 3, at=1), reduction="mean"),
    losses.soft_answers: dict(logits=x(4, 3), scores=torch.eye(4)[:, :3], reduction="mean"),
    losses.cosine_matrix: dict(x=x(4, 3), y=x(5, 3)),
    losses.normalise: dict(x=x(4, 3), name="x"),
    geometry.alignment: dict(a=x(4, 3), b=x(4, 3, at=1), alpha=2.0),
    geometry.anisotropy: dict(x=x(4, 3)),
    geometry.class_cosines: dict(x=x(4, 3), labels=CLASSES),
    geometry.class_spread: dict(x=x(4, 3), labels=CLASSES),
    geometry.effective_rank: dict(x=x(4, 3), center=True),
    geometry.noise_sensitivity: dict(clean=x(4, 3), noisy=x(4, 3, at=1)),
    geometry.pair_cosines: dict(a=x(4, 3), b=x(4, 3, at=1)),
    geometry.random_pair_cosines: dict(x=x(4, 3), n=5, groups=torch.arange(4), seed=0),
    geometry.separation: dict(similar=x(4), random=x(4, at=1), measure="auc"),
    geometry.uniformity: dict(x=x(4, 3), t=2.0, block=2),
    masking.dynamic_random_mask: dict(ids=IDS, maskable=FREE, p=0.5, split=(0.8, 0.1, 0.1), **WORDS),
    masking.complementary_random_mask: dict(ids=IDS, maskable=FREE, selected=IDS > 13, p=0.5, **WORDS),
    masking.span_mask: dict(ids=IDS, maskable=FREE, p=0.5, span_p=0.2, max_span=3, **WORDS),
    masking.shuffle: dict(ids=IDS, maskable=FREE, window=3),
    masking.crop: dict(ids=IDS, attention_mask=(IDS > 0).long(), keep=0.9, pad_id=0, specials=(1, 2)),
    masking.replace: dict(ids=IDS, selected=FREE, logits=x(int(FREE.sum()), 20)),
    masking.check_split: dict(split=(0.8, 0.1, 0.1)),
    schedules.constant: dict(step=1, total=10, value=0.1),
    schedules.inverted_triangle: dict(step=1, total=10),
    schedules.linear_warmup_linear_decay: dict(step=1, total=10, warmup=2),
    tasks.accuracy: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
    tasks.f1: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
    tasks.mcc: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
    tasks.spearman: dict(predicted=[1.0, 0.0, 3.0], labels=[1.0, 2.0, 3.0]),
    tasks.pearson: dict(predicted=[1.0, 0.0, 3.0], labels=[1.0, 2.0, 3.0]),
    objectives.MLMConfig: dict(p_m=0.15, split=(0.8, 0.1, 0.1), mlm_mean="tokens"),
    objectives.CMLMConfig: dict(K=1, p_c=0.7, contrast_weight=0.5, contrast="info_nce", tau=0.1),
    objectives.CAPTConfig: dict(noise="mask", tau=0.1, queue=8, contrast_weight=1.0),
    objectives.COCOLMConfig: dict(p_m=0.15, tau=1.0, contrast_weight=1.0, auxiliary_layers=1),
    objectives.SCLConfig: dict(classes=2, tau=0.3),
    objectives.SimCSEConfig: dict(tau=0.05),
    ck.Training: dict(steps=3, batch_size=4, lr=1e-3, warmup=0.1, clip=1.0, precision="bf16", seed=1, betas=(0.9, 0.9)),
    masking.noise.Mask: dict(p=0.15, split=(0.8, 0.1, 0.1)),
    masking.noise.MaskSpans: dict(p=0.15, span_p=0.2, max_span=3),
    masking.noise.Shuffle: dict(window=3),
    masking.noise.named: dict(noise="mask"),
    ck.data.train_tokenizer: dict(texts=["a red kite"], vocab_size=40, kind="wordpiece", lowercase=True),
    ck.data.split_sentences: dict(text="One. Two."),
    ck.data.load: dict(name="toyshop/stsb"),
    ck.data.recorded: dict(name="scoreboard"),
    tasks.get_task: dict(name="sst2"),
    ck.paraphrase.same_meaning: dict(first="This kite is very charming.", second="The kite is really lovely."),
}  # fmt: skip

NAN = torch.full((4, 3), math.nan)
ODD = [
    None, "odd", "", -1, 0, 1, 0.5, 7, 10**20, -0.5, math.nan, math.inf, True, b"bytes", 1 + 1j,
    [], [1, 2], ["a"], (), (1.0,), {}, {"a": 1}, range(3), object(), len, lambda *a: None,
    torch.tensor(1.0), torch.tensor(-1), torch.zeros(0), torch.zeros(0, 3), torch.zeros(4), torch.zeros(4, 3), NAN,
    torch.ones(4, 3).long(), torch.ones(3, 4), torch.ones(2, 6), torch.ones(2, 6).long(), torch.ones(5, 20),
    torch.full((2, 6), 99), torch.ones(4).bool(), torch.ones(2, 2, 2), torch.ones(4, 3, dtype=torch.complex64),
    torch.arange(5), torch.ones(4, 3).half(),
]  # fmt: skip
CASES = [(function, name, i) for function, arguments in GOOD.items() for name in arguments for i in range(len(ODD))]


def raw_error(function, arguments) -> str | None:
    """What went wrong beside a sentence of ours; None if the call worked or was refused."""
    try:
        function(**arguments)
    except (TypeError, ValueError, FileNotFoundError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        said = str(error)
        last = frames[-1]
        if not (last.filename.startswith(KIT) and (last.line or "").lstrip().startswith("raise")):
            where = f"{Path(last.filename).name}:{last.lineno}"
            return f"raw {type(error).__name__} in {where}: {said[:100]}"
        if not said or len(said) > 600 or said.count("\n") > 2:
            return f"no sentence: {said[:100]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


def name_of(function) -> str:
    return f"{function.__module__.removeprefix('contrast_kit.')}.{function.__name__}"


def test_the_good_calls_are_good():
    for function, arguments in GOOD.items():
        function(**arguments)


@seed(0)
@settings(max_examples=CALLS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(case=st.sampled_from(CASES))
def test_one_odd_argument(case):
    function, name, i = case
    problem = raw_error(function, GOOD[function] | {name: ODD[i]})
    assert problem is None, f"{name_of(function)}({name}={ODD[i]!r}): {problem}"
