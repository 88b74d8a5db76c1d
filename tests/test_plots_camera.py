"""The camera films a real training at the chosen steps, and the film can be drawn."""

import torch

import contrast_kit as ck

TEXTS = [f"the {size} {toy} is here" for size in ("small", "large", "old") for toy in ("kite", "drum", "train")]


def test_films_the_chosen_steps_of_a_run():
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(TEXTS, vocab_size=60), pooling="mean")
    camera = ck.plots.Camera(lambda: encoder.encode(TEXTS), steps=[1, 3, 99])
    ck.fit(ck.objectives.SimCSE(encoder), TEXTS, steps=3, batch_size=4, callback=camera, progress=False)
    assert list(camera.frames) == ["step 0", "step 1", "step 3"]
    assert torch.equal(camera.frames["step 3"], encoder.encode(TEXTS))
    assert not torch.equal(camera.frames["step 1"], camera.frames["step 0"])
    measures = camera.measures(uniformity=ck.geometry.uniformity)
    assert measures["uniformity"][0] == ck.geometry.uniformity(camera.frames["step 0"]).item()
    assert len(ck.plots.animation(camera.frames, measures=measures).maps) == 3
