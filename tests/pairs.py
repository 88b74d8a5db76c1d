"""What several tests of words and pictures need: pairs of toyshop sentences and pictures of noise, small encoders."""

import torch

import contrast_kit as ck
from contrast_kit.data.pictures import NONE, stack_pictures

ANSWERS = ("red", "two", "scarlet")
WIDTH, CLASSES = 6, 4


def random_pictures(n=8, regions=5, width=6, seed=0, classes=4):
    """`n` pictures of noise with 2 … `regions` regions each, numbered from 0: for tests and examples.

    A feature tells its object and its attribute, with noise, so that a probe has something to find; a quarter of
    the attributes are -100.
    """
    draw = torch.Generator().manual_seed(seed)
    patterns = torch.randn(2, classes, width, generator=draw)
    pictures = []
    for picture in range(n):
        r = regions
        if picture > 0:
            r = int(torch.randint(min(2, regions), regions + 1, (), generator=draw))
        objects = torch.randint(classes, (r,), generator=draw)
        attributes = torch.randint(classes, (r,), generator=draw)
        low = torch.rand(r, 2, generator=draw) * 0.6
        noise = 0.3 * torch.randn(r, width, generator=draw)
        high = low + 0.1 + 0.3 * torch.rand(r, 2, generator=draw)
        named = torch.rand(r, generator=draw) >= 0.25
        one = dict(
            image_id=picture,
            regions=patterns[0, objects] + patterns[1, attributes] + noise,
        )
        one |= dict(boxes=torch.cat([low, high], 1), objects=objects)  # [r, 4]
        one["attributes"] = attributes.where(named, NONE)
        for kind in ("object", "attribute"):
            one[f"{kind}_confidence"] = torch.rand(r, generator=draw)
        pictures.append(one)
    names = [[f"{kind} {i}" for i in range(classes)] for kind in ("object", "attribute")]
    return stack_pictures(pictures, *names)


def pictures(n=10):
    """`n` pictures of 2 to 5 regions."""
    return random_pictures(n, width=WIDTH, classes=CLASSES).standardised()


def make_pairs(texts, tokenizer, n=12):
    """`n` sentences, each beside a picture; the first two, and the next two, beside the same one."""
    answers = [["red"] * 7 + ["scarlet"] * 3, ["two"] * 10, None]
    rows = [
        {"text": text, "image_id": i // 2 if i < 4 else i - 2}
        for i, text in enumerate(texts[:n])
    ]
    rows = [
        row | {"answers": answers[i % 3], "label": i % 2} for i, row in enumerate(rows)
    ]
    return ck.data.Regions(rows, tokenizer, pictures(n), max_length=64, answers=ANSWERS)


def make_two(texts, tokenizer, n=12):
    """`n` statements, each beside two pictures."""
    rows = [
        {"text": text, "left": i, "right": (i + 3) % n, "label": i % 2}
        for i, text in enumerate(texts[:n])
    ]
    return ck.data.Regions(rows, tokenizer, pictures(n), max_length=64)


def make_encoder(tokenizer, **options):
    """One layer of each kind, of width 32, without dropout unless asked."""
    shape = dict(
        l_layers=1,
        r_layers=1,
        x_layers=1,
        hidden_size=32,
        num_attention_heads=2,
        intermediate_size=64,
    )
    sizes = dict(
        features=WIDTH, objects=CLASSES, attributes=CLASSES, answers=len(ANSWERS)
    )
    return ck.CrossModalEncoder.tiny(
        tokenizer, **(dict(dropout=0.0, max_length=64) | shape | sizes | options)
    )


def queued(objective):
    """CAPT in the middle of a run: some vectors in the queue, among them of pictures of the batch."""
    rows = torch.randn(
        5, objective.encoder.width, generator=torch.Generator().manual_seed(2)
    )
    objective.queue.push(rows, torch.tensor([0, 3, 3, 50, 51]))
    return objective


ONE_PICTURE = {
    "lxmert": lambda e: ck.vision.LXMERT(e),
    "lxmert as released": lambda e: ck.vision.LXMERT(e, regions="lxmert", qa=True),
    "lxmert matched only": lambda e: ck.vision.LXMERT(
        e, recover_mismatched=False, confidence=False
    ),
    "capt": lambda e: queued(ck.vision.CAPTPairs(e, queue=7)),
    "capt with qa": lambda e: ck.vision.CAPTPairs(
        e, queue=0, qa=True, tau=0.1, ignore_duplicates=False
    ),
    "capt alone": lambda e: ck.vision.CAPTPairs(e, queue=0, mlm=False, mismatch=0.0),
    "answer": lambda e: ck.vision.Answer(e, answers=len(ANSWERS)),
    "words only": lambda e: ck.objectives.MLM(e, p_m=0.4),
}
OBJECTIVES = {**ONE_PICTURE, "two pictures": lambda e: ck.vision.TwoPictures(e)}
"""Every objective of words and pictures, in each form that takes another way through the step."""


def data_of(name, texts, tokenizer):
    return (make_two if name == "two pictures" else make_pairs)(texts, tokenizer)
