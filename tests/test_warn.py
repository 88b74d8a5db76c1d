"""Warnings point at the line of the reader's that led to them."""

import warnings

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck


def opened(tokenizer, tmp_path):
    return ck.Encoder.from_pretrained(make_encoder(tokenizer).save_pretrained(tmp_path))


SAID = {
    "a contrast of one": "has one example",
    "a batch of one": "has one example",
    "a high rate": "lr=1 is high",
}
CALLS = {
    "a contrast of one": lambda *_: ck.losses.nt_xent(
        torch.ones(1, 3), torch.ones(1, 3), 0.5
    ),
    "a batch of one": lambda tokenizer, _: ck.fit(
        ck.objectives.CMLM(make_encoder(tokenizer), contrast="nt_xent"),
        ["a red kite"] * 2,
        steps=1,
        batch_size=1,
        progress=False,
    ),
    "a high rate": lambda tokenizer, tmp_path: ck.fit(
        ck.objectives.MLM(opened(tokenizer, tmp_path)),
        ["a red kite"] * 4,
        steps=1,
        batch_size=2,
        lr=1,
        progress=False,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_here(name, tokenizer, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name](tokenizer, tmp_path)
    here = [str(warning.message) for warning in told if warning.filename == __file__]
    assert len(here) == len(told) and any(SAID[name] in said for said in here), told
