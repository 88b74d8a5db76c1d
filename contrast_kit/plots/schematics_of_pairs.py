"""The schematics of the methods that read words and pictures."""

from contrast_kit.plots.drawing import ROW, Drawing, Place
from contrast_kit.plots.schematic_parts import (
    LOSS,
    NET,
    TEXT,
    VIEW,
    WHO,
    both_ways,
    denominator,
    drawn,
    queue,
    read_by,
    sheet,
    two_vectors,
)


@drawn("lxmert")
def lxmert() -> Drawing:
    """LXMERT: words and regions, each masked."""
    alt = (
        "A text and the regions of a picture; half of the pictures get another picture's text. Words and regions "
        "are masked. Words go through language layers, regions through vision layers, then both through cross "
        "layers, where each reads the other. Local losses: the masked words, the masked regions (object, attribute, "
        "features), and whether text and picture match. No contrast."
    )
    d = sheet("LXMERT", alt, 262)
    d.words(TEXT, 54, "a text and a picture;", anchor="start", size=12)
    d.words(TEXT, 71, "half get another picture's text", anchor="start", size=12)
    text = d.strip(VIEW, 62, ("a", "red", "[M]", "on", "top"), label="words, some masked")
    regions = pictures(d, VIEW, 176, "regions, some masked")
    language = d.box(NET - 6, 56, 76, 40, "language", "layers")
    vision = d.box(NET - 6, 180, 76, 40, "vision", "layers")
    cross = d.box(NET + 84, 56, 64, 164, "cross", "layers")
    read_by(d, language, text)
    read_by(d, vision, regions)
    d.arrow(language.right, (cross.x - 2, language.right[1]))
    d.arrow(vision.right, (cross.x - 2, vision.right[1]))
    d.words(TEXT, 196, "boxes and features", anchor="start", size=12)
    d.words(TEXT, 213, "of the regions", anchor="start", size=12)
    d.arrow((TEXT + 190, text.left[1]), (VIEW - 2, text.left[1]))
    d.arrow((TEXT + 120, regions.left[1]), (VIEW - 2, regions.left[1]))
    for y, name, asks in (
        (40, "L_MLM", "which word?"),
        (115, "L_ITM", "do they match?"),
        (190, "L_MRM", "which region?"),
    ):
        loss = d.loss(LOSS, y, 150, name, asks)
        d.arrow((cross.right[0], y + 23), (loss.x - 2, y + 23))
    denominator(d, WHO - 14, 62, "no contrast", "denominators:", "V words,", "objects, attributes,", "match or not")
    return d


def pictures(d: Drawing, x: float, y: float, label: str) -> Place:
    """Four regions of a picture, one of them hidden."""
    d.words(x, y - 7, label, anchor="start", size=12)
    for i, shape in enumerate("◆●■▲"):
        place = Place(x + 50 * i, y, 50, 2 * ROW)
        hidden = i == 2
        look = ' fill="currentColor" fill-opacity="0.28"' if hidden else ' fill="none"'
        d._rect(place, f'{look} stroke="currentColor"')
        d.words(place.x + 25, y + 33, "[M]" if hidden else shape, size=12 if hidden else 20)
    return Place(x, y, 200, 2 * ROW)


@drawn("capt-pairs")
def capt_pairs() -> Drawing:
    """CAPT on pairs of words and pictures."""
    alt = (
        "A text with a picture, some of them mismatched, clean and with words or regions masked, go through one "
        "LXMERT encoder. The noisy pair has LXMERT's local losses. The vectors of clean and noisy pair are "
        "contrasted both ways with the other pairs of the batch and with a queue; other captions of the same "
        "picture are no negatives."
    )
    d = sheet("CAPT for pairs", alt, 290)
    d.words(TEXT, 128, "a pair x: text and picture;", anchor="start", size=12)
    d.words(TEXT, 145, "half are mismatched first", anchor="start", size=12)
    net = d.box(NET, 36, 96, 204, "LXMERT", "encoder,", "same weights")
    for y, name, words, hidden in (
        (62, "noisy: x̂, words or regions masked", "kite", (1,)),
        (190, "clean: x", "kite", ()),
    ):
        d.strip(VIEW, y, ("a", "red", words), label=name, cell=34)
        d.strip(VIEW + 112, y, ["[M]" if i in hidden else shape for i, shape in enumerate("◆●■")], cell=30)
        d.arrow((TEXT + 175, 133), (TEXT + 216, 133), (TEXT + 216, y + 13), (VIEW - 2, y + 13))
        d.arrow((VIEW + 202, y + 13), (NET - 2, y + 13))
    local = d.loss(LOSS, 34, 150, "L_MLM + L_MRM + L_ITM", "as in LXMERT")
    d.arrow((net.right[0], local.left[1]), (local.x - 2, local.left[1]))
    contrast = d.loss(LOSS, 142, 150, "L_capt, eq. 4", "both ways, on [CLS]", tone="contrast")
    two_vectors(d, net, (125, 208), ("ŝ", "s"), contrast)
    queue(d, LOSS + 20, 262, contrast)
    names = ["a", "b", "â", "b̂"]
    d.matrix(WHO - 4, 96, both_ways(2, queue=3), names, [*names, "q", "q", "q"], title="2n − 2 + Q negatives")
    d.words(WHO - 18, 188, "− of other pictures only", anchor="start", size=11.5, style="faint")
    return d
