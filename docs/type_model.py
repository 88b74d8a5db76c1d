"""Train the tiny encoder of the page "Type a sentence", about a minute: python docs/type_model.py.

It writes docs/static/type_model.js: the weights at five steps of one training in float16, the vocabulary, a cloud of
sentences with a projection for each step, and examples. encoder.js computes with it; tests/test_site.py shows that it
computes what torch does.
"""

import base64
import json
import math
from pathlib import Path

import numpy as np
import torch

import contrast_kit as ck
from contrast_kit.data import Paraphrased, toyshop

OUT = Path(__file__).parent / "static" / "type_model.js"
STEPS = (0, 15, 40, 100, 300)
LONGEST = 48
"""Tokens of a sentence: the page needs no more rows of positions."""
SHAPE = dict(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64)


def untrained() -> tuple[ck.Encoder, list[tuple[str, str]]]:
    """The encoder before its first step, and the pairs that it will learn from; always the same."""
    pairs = toyshop.probe_pairs(6000)
    tokenizer = ck.data.train_tokenizer([text for pair in pairs for text in pair], vocab_size=400)
    return ck.Encoder.tiny(tokenizer, pooling="mean", **SHAPE), pairs


def names(encoder: ck.Encoder) -> list[str]:
    """The weights that a sentence's vector needs, in the order of the file."""
    return [name for name in encoder.state_dict() if ".embeddings." in name or ".encoder." in name]


def halves(encoder: ck.Encoder) -> str:
    """These weights in float16, one after the other, in base64."""
    state = encoder.state_dict()
    rows = [state[name][: LONGEST if "position" in name else None] for name in names(encoder)]
    return base64.b64encode(torch.cat([row.flatten() for row in rows]).half().numpy().tobytes()).decode()


def written() -> dict:
    """What the file holds."""
    return json.loads(OUT.read_text("utf-8").partition(" = ")[2].rstrip(";\n"))


def restored(model: dict, moment: int) -> ck.Encoder:
    """The encoder of one of the kept moments, as the page has it."""
    encoder, _ = untrained()
    state = encoder.state_dict()
    bits = bytearray(base64.b64decode(model["moments"][moment]["weights"]))
    left = torch.frombuffer(bits, dtype=torch.float16)
    for name, shape in model["shapes"]:
        state[name][: shape[0]] = left[: math.prod(shape)].view(shape)
        left = left[math.prod(shape) :]
    encoder.load_state_dict(state)
    return encoder


def shares(encoder: ck.Encoder) -> float:
    """The share of trick questions answered rightly: is the paraphrase closer than another number?"""
    sides = zip(*toyshop.triples(300, change="number"), strict=True)
    return round(float(ck.geometry.triplet_accuracy(*[encoder.encode(list(side)) for side in sides])), 3)


def directions(vectors: torch.Tensor, last: np.ndarray | None) -> np.ndarray:
    """The two directions [D, 2] in which unit vectors [N, D] differ most, turned as near to `last` as they can be."""
    x = torch.nn.functional.normalize(vectors.double(), dim=1)
    found = torch.linalg.svd(x - x.mean(0)).Vh[:2].T.numpy()  # [D, 2]
    if last is not None:
        u, _, v = np.linalg.svd(found.T @ last)
        found = found @ (u @ v)
    return found


def main() -> None:
    torch.manual_seed(0)
    encoder, pairs = untrained()
    families = toyshop.families(6, 12, seed=3)
    cloud = [text for texts in families.values() for text in texts]
    kinds = [kind for kind, texts in enumerate(families.values()) for _ in texts]
    kept: list[dict] = []

    def keep() -> None:
        last = np.array(kept[-1]["directions"]) if kept else None
        found = directions(encoder.encode(cloud), last)
        kept.append({"weights": halves(encoder), "directions": found.round(5).tolist(), "share": shares(encoder)})

    def watch(run: ck.Run) -> None:
        if run.steps in STEPS:
            keep()

    keep()
    objective = ck.objectives.CSSL(encoder, tau=0.05)
    data = Paraphrased.of_pairs(pairs, encoder.tokenizer)
    ck.fit(objective, data, steps=STEPS[-1], batch_size=64, lr=3e-3, callback=watch)
    state = encoder.state_dict()
    words = encoder.tokenizer.get_vocab()
    shapes = {name: list(state[name].shape) for name in names(encoder)}
    shapes[next(name for name in shapes if "position" in name)][0] = LONGEST
    model = {
        "vocabulary": sorted(words, key=words.get),
        "heads": SHAPE["num_attention_heads"],
        "epsilon": encoder.model.config.layer_norm_eps,
        "longest": LONGEST - 1,
        "shapes": list(shapes.items()),
        "steps": list(STEPS), "moments": kept, "cloud": cloud, "kinds": kinds, "meanings": list(families),
        "examples": toyshop.triples(8, seed=5, change="number") + toyshop.triples(6, seed=6, change="good"),
    }  # fmt: skip
    OUT.write_text(f"const TYPE_MODEL = {json.dumps(model, ensure_ascii=False, separators=(',', ':'))};\n", "utf-8")
    print(f"{OUT}: {OUT.stat().st_size / 1e3:.0f} kB; right answers {[moment['share'] for moment in kept]}")


if __name__ == "__main__":
    main()
