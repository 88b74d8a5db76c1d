"""Each method as a drawing: its views, its networks, its losses, and who is whose negative."""

from contrast_kit import arguments
from contrast_kit.plots import schematics_of_pairs  # noqa: F401  its drawings are among DRAWN
from contrast_kit.plots.drawing import Drawing, Place
from contrast_kit.plots.schematic_parts import (
    DRAWN,
    LOSS,
    NET,
    OUT,
    TEXT,
    VIEW,
    WHO,
    WIDE,
    both_ways,
    by_label,
    denominator,
    drawn,
    partner,
    queue,
    read_by,
    sheet,
    two_vectors,
    views,
)

PLAIN = ("two", "red", "kites", "fly", "high")


def schematic(name: str) -> Drawing:
    """A method as a drawing: views → networks → losses, and beside it who stands in whose denominator.

    Words are `[M]` where they are masked, orange where they were replaced, dashed where they were cut away. Orange
    losses are local: a text needs no other text for them. Blue ones are contrasts: they need the whole batch. Dashed
    arrows carry no gradient back. In the matrix each row is an anchor, + its positive, − a negative of it.

    Args:
        name: "mlm", "electra", "all-token", "cmlm", "coco-lm", "simcse", "cssl", "scl", "capt", "lxmert", "capt-pairs",
            named as on the command line, where they exist there; or "three-steps", what all of them have in common.

    Returns a `Drawing`: SVG that takes the page's text colour, with its content in words as `alt`. Raises a ValueError
    for another name.

    >>> from contrast_kit import plots
    >>> drawing = plots.schematic("cmlm")
    >>> drawing.title
    'CMLM'
    >>> drawing.alt[:52]
    'Two masked copies of a text: T0 with 15 % masked, T1'
    """
    arguments.known(name, DRAWN, "schematic")
    return DRAWN[name]()


@drawn("three-steps")
def three_steps() -> Drawing:
    """What all methods have in common."""
    alt = (
        "What all methods have in common. One: noisy views of a text. Two: local losses, which ask each view by "
        "itself which word stood where. Three: the contrast, which asks, among the vectors of the whole batch, "
        "which two are views of one text; all others are negatives."
    )
    d = Drawing("Views, local losses, contrast", alt, WIDE, 270)
    for x, y, heading in ((VIEW, 18, "1 · views"), (LOSS, 18, "2 · local losses"), (LOSS, 138, "3 · the contrast")):
        d.words(x, y, heading, anchor="start", style="bold", size=13.5)
    source = d.strip(TEXT, 120, PLAIN, label="a text of the batch")
    first, second = views(d, source, (62, ("two", "[M]", "kites", "fly", "[M]"), "noise, once"),
                          (190, ("[M]", "red", "kites", "[M]", "high"), "noise, again"))  # fmt: skip
    net = d.box(NET, 36, 96, 206, "encoder", "same weights", "for all views")
    read_by(d, net, first, second)
    local = d.loss(LOSS, 30, 150, "which words", "stood there?")
    d.arrow((net.right[0], local.left[1]), (local.x - 2, local.left[1]))
    d.words(LOSS, 92, "each text by itself", anchor="start", size=12, style="faint")
    contrast = d.loss(LOSS, 150, 150, "which two are", "of one text?", tone="contrast")
    two_vectors(d, net, (130, 215), ("", ""), contrast)
    d.words(LOSS, 214, "the whole batch at once", anchor="start", size=12, style="faint")
    names = ["a", "b", "c", "d"]
    d.matrix(WHO, 138, partner(4), names, [f"{x}′" for x in names], title="who is whose negative")
    d.words(WHO - 14, 228, "+ the same text", anchor="start", size=11.5, style="faint")
    d.words(WHO - 14, 244, "− another: a negative", anchor="start", size=11.5, style="faint")
    return d


@drawn("mlm")
def mlm() -> Drawing:
    """Masked language modelling, and TAPT: one view, one local loss."""
    alt = (
        "A text with 15 % of its tokens masked goes through the encoder, which is asked for the masked words: a "
        "softmax over the vocabulary at each of them. No other text takes part, so there are no negatives."
    )
    d = sheet("MLM (from a checkpoint, on task text: TAPT)", alt, 130)
    source = d.strip(TEXT, 62, PLAIN, label="text x")
    (masked,) = views(d, source, (62, ("two", "[M]", "kites", "fly", "[M]"), "T0: 15 % masked"))
    net = d.box(NET, 42, 96, 66, "encoder")
    read_by(d, net, masked)
    loss = d.loss(LOSS, 52, 150, "L_MLM", "red? high?")
    d.arrow(net.right, (loss.x - 2, net.right[1]))
    denominator(d, WHO - 14, 62, "no contrast", "denominator:", "V words")
    return d


def corrupting(d: Drawing, y: float) -> tuple[Place, Place]:
    """The part that ELECTRA, All-Token MLM and COCO-LM share: an auxiliary model, and the text it corrupts."""
    source = d.strip(TEXT, y + 68, PLAIN, label="text x")
    (masked,) = views(d, source, (y, ("two", "[M]", "kites", "fly", "[M]"), "masked: 15 %"))
    corrupted = d.strip(VIEW, y + 100, ("two", "*blue", "kites", "fly", "high"), label="corrupted: X^MLM")
    auxiliary = d.box(NET, y - 10, 96, 46, "auxiliary", "small")
    read_by(d, auxiliary, masked)
    loss = d.loss(LOSS, y - 10, 150, "L_MLM, auxiliary", "red? high?")
    d.arrow(auxiliary.right, (loss.x - 2, auxiliary.right[1]))
    turn = y + 63
    d.arrow(auxiliary.bottom, (auxiliary.bottom[0], turn), (VIEW + 140, turn), (VIEW + 140, y + 98), dashed=True)
    d.words(VIEW + 148, turn - 5, "sampled, no gradient", anchor="start", size=11.5)
    return source, corrupted


def corrected(title: str, alt: str, loss: tuple[str, str], *denominators: str) -> Drawing:
    """A sheet of ELECTRA's kind: the main model reads the corrupted text, and is asked the same at every token."""
    d = sheet(title, alt, 208)
    _, corrupted = corrupting(d, 50)
    main = d.box(NET, 136, 96, 54, "main model")
    read_by(d, main, corrupted)
    asked = d.loss(LOSS, 140, 150, *loss)
    d.arrow(main.right, (asked.x - 2, main.right[1]))
    denominator(d, WHO - 14, 62, "no contrast", "denominator:", *denominators)
    return d


@drawn("electra")
def electra() -> Drawing:
    """ELECTRA: original or replaced, at every token."""
    alt = (
        "A small auxiliary model learns masked language modelling and fills the masks of a text with words that it "
        "samples, without gradient. The main model reads the corrupted text and says of every token whether it is "
        "the original or was replaced: two answers a token, no vocabulary and no negatives."
    )
    loss = "L_RTD, all tokens", "original or replaced?"
    return corrected("ELECTRA", alt, loss, "V words (auxiliary),", "2 answers (main)")


@drawn("all-token")
def all_token() -> Drawing:
    """All-Token MLM: the original word, at every token."""
    alt = (
        "As ELECTRA, a small auxiliary model fills the masks with sampled words. The main model names the original "
        "word at every token of the corrupted text, by a vocabulary softmax mixed with the probability of copying "
        "the token it reads. No negatives."
    )
    return corrected("All-Token MLM", alt, ("L_LM, all tokens", "the original word?"), "V words,", "at every token")


@drawn("cmlm")
def cmlm() -> Drawing:
    """CMLM: complementary masks, eq. 7 and 9."""
    alt = (
        "Two masked copies of a text: T0 with 15 % masked, T1 with 70 % of what T0 left alone, so that no word is "
        "hidden in both. One encoder reads both. T0 is asked for its masked words. The vectors of the two copies "
        "are pulled together: by SimSiam with a predictor and a stopped gradient (eq. 9, no negatives) or by "
        "InfoNCE (eq. 7), where the T1 copies of the other texts are the negatives of an anchor T0."
    )
    d = sheet("CMLM", alt, 270)
    source = d.strip(TEXT, 120, PLAIN, label="text x")
    first, second = views(d, source, (62, ("two", "[M]", "kites", "fly", "high"), "T0: 15 % masked"),
                          (190, ("[M]", "red", "[M]", "fly", "[M]"), "T1: 70 % of the rest masked"))  # fmt: skip
    net = d.box(NET, 46, 96, 186, "encoder", "same weights")
    read_by(d, net, first, second)
    local = d.loss(LOSS, 34, 150, "L_MLM", "red?")
    d.arrow((net.right[0], 57), (local.x - 2, 57))
    contrast = d.loss(LOSS, 134, 150, "α · L_CL", "eq. 9: + alone", "eq. 7: + against −", tone="contrast")
    two_vectors(d, net, (115, 205), ("h⁰", "h¹"), contrast)
    d.words(LOSS, 222, "eq. 9: with a predictor,", anchor="start", size=11.5, style="faint")
    d.words(LOSS, 238, "the other side stopped", anchor="start", size=11.5, style="faint")
    d.matrix(WHO, 96, partner(4), ["a⁰", "b⁰", "c⁰", "d⁰"], ["a¹", "b¹", "c¹", "d¹"], title="eq. 7: B candidates")
    return d


@drawn("coco-lm")
def coco_lm() -> Drawing:
    """COCO-LM, figure 2: corrupt, correct, contrast with a crop."""
    alt = (
        "Figure 2 of the paper. A small auxiliary Transformer learns masked language modelling and fills the masks "
        "of a text with sampled words, without gradient. The main Transformer reads this corrupted text, says of "
        "each token whether to copy it and names the original word at masked places. It also reads a contiguous "
        "crop of the original; the first-token vectors of corrupted and cropped text are contrasted both ways: all "
        "other 2B − 2 vectors of the batch are negatives."
    )
    d = sheet("COCO-LM", alt, 342)
    source, corrupted = corrupting(d, 50)
    crop = d.strip(VIEW, 270, ("~two", "red", "kites", "fly", "high"), label="crop: 90 % in one piece")
    middle = (source.right[0] + VIEW) / 2
    d.arrow((middle, source.right[1]), (middle, crop.left[1]), (VIEW - 2, crop.left[1]))
    main = d.box(NET, 136, 96, 176, "main model", "reads both,", "same weights")
    read_by(d, main, corrupted, crop)
    local = d.loss(LOSS, 126, 150, "λ L_copy + L_LM", "blue → red")
    d.arrow((main.right[0], 149), (local.x - 2, 149))
    contrast = d.loss(LOSS, 226, 150, "L_SCL", "eq. 3, both ways", tone="contrast")
    two_vectors(d, main, (205, 290), ("h[CLS]", "h[CLS]"), contrast)
    names = ["a", "b", "c", "a′", "b′", "c′"]
    d.matrix(WHO, 194, both_ways(3), names, names, title="2B − 2 negatives")
    d.words(WHO - 14, 314, "′: the crops", anchor="start", size=11.5, style="faint")
    return d


@drawn("simcse")
def simcse() -> Drawing:
    """SimCSE: the same text under two dropout masks."""
    alt = (
        "The same text goes through the same encoder twice, under two dropout masks: that is the only noise. The "
        "two vectors of a text are positives; the second passes of all other texts of the batch are the negatives "
        "of an anchor. No local loss."
    )
    d = sheet("SimCSE", alt, 250)
    source = d.strip(TEXT, 110, PLAIN, label="text x")
    first, second = views(d, source, (62, PLAIN, "first: x"), (170, PLAIN, "second: x again"))
    net = d.box(NET, 46, 96, 166, "encoder", "same weights,", "two dropout", "masks z, z′")
    read_by(d, net, first, second)
    contrast = d.loss(LOSS, 106, 150, "L, eq. 4", "one direction", tone="contrast")
    two_vectors(d, net, (75, 183), ("h(z)", "h(z′)"), contrast)
    d.matrix(WHO, 96, partner(4), "abcd", ["a′", "b′", "c′", "d′"], title="N candidates")
    return d


@drawn("cssl")
def cssl() -> Drawing:
    """CSSL: two back-translations."""
    alt = (
        "Two back-translations of a text, made before training, go through one encoder. Their vectors are "
        "positives; the second back-translations of the other texts are the negatives of an anchor. No local loss, "
        "and the text itself is not read."
    )
    d = sheet("CSSL", alt, 250)
    source = d.strip(TEXT, 110, PLAIN, label="text x, back-translated twice")
    first, second = views(d, source, (62, ("two", "red", "kites", "*rise", "*up"), "T0 = back(x)"),
                          (170, ("*up", "*go", "two", "red", "kites"), "T1 = back(x), again"))  # fmt: skip
    net = d.box(NET, 46, 96, 166, "encoder", "same weights")
    read_by(d, net, first, second)
    contrast = d.loss(LOSS, 106, 150, "L_CL, eq. 7", "one direction", tone="contrast")
    two_vectors(d, net, (75, 183), ("h⁰", "h¹"), contrast)
    d.matrix(WHO, 96, partner(4), ["a⁰", "b⁰", "c⁰", "d⁰"], ["a¹", "b¹", "c¹", "d¹"], title="B candidates")
    return d


@drawn("scl")
def scl() -> Drawing:
    """SCL: cross-entropy, and a contrast by label."""
    alt = (
        "Labelled texts, one view each, go through the encoder. A head predicts the label: cross-entropy. The "
        "normalised vectors of the batch are contrasted by label: all texts with the anchor's label are its "
        "positives, all others its negatives; every other text of the batch stands in the denominator."
    )
    d = sheet("SCL", alt, 252)
    rows = [("a lovely kite", "+"), ("a dull drum", "−"), ("such a joy", "+"), ("it broke", "−")]
    strips = []
    for i, (words, label) in enumerate(rows):
        strips.append(d.strip(VIEW, 46 + 46 * i, words.split(), label="texts with labels" if not i else "", cell=52))
        d.words(VIEW + 164, strips[-1].left[1] + 5, f"y = {label}", anchor="start")
    net = d.box(NET, 36, 96, 186, "encoder")
    for place in strips:
        d.arrow((VIEW + 206, place.right[1]), (NET - 2, place.right[1]))
    ce = d.loss(LOSS, 40, 150, "(1 − λ) L_CE", "head: which label?")
    d.arrow((net.right[0], 63), (ce.x - 2, 63))
    contrast = d.loss(LOSS, 142, 150, "λ L_SCL, eq. 3", "all of one label", tone="contrast")
    vector = d.vector(OUT, 165, "Φ(x)")
    d.arrow((net.right[0], 165), (OUT - 2, 165))
    d.arrow(vector.right, (contrast.x - 2, 165))
    names = ["a +", "b −", "c +", "d −"]
    place = d.matrix(WHO + 8, 96, by_label("+-+-"), names, "abcd", title="N − 1 in each row")
    d.words(WHO - 14, place.bottom[1] + 22, "+ the same label", anchor="start", size=11.5, style="faint")
    d.words(WHO - 14, place.bottom[1] + 38, "− another label", anchor="start", size=11.5, style="faint")
    return d


@drawn("capt")
def capt() -> Drawing:
    """CAPT: clean and noisy, both ways, with a queue."""
    alt = (
        "A clean text x and its corrupted version go through one encoder; the corrupted one is asked for its masked "
        "words. Both vectors, aggregated and normalised, are contrasted both ways. Negatives of an anchor are all "
        "other texts of the batch in both versions, and the vectors of earlier steps in a memory queue, which carry "
        "no gradient. The temperature moves along training."
    )
    d = sheet("CAPT", alt, 290)
    source = d.strip(TEXT, 120, PLAIN, label="text x")
    noisy, clean = views(
        d, source, (62, ("two", "[M]", "kites", "fly", "[M]"), "noisy: x̂, masked"), (190, PLAIN, "clean: x")
    )
    net = d.box(NET, 36, 96, 204, "encoder", "same weights")
    read_by(d, net, noisy, clean)
    local = d.loss(LOSS, 34, 150, "L_MLM", "red? high?")
    d.arrow((net.right[0], local.left[1]), (local.x - 2, local.left[1]))
    contrast = d.loss(LOSS, 142, 150, "L_capt, eq. 4", "both ways, τ moves", tone="contrast")
    two_vectors(d, net, (125, 208), ("ŝ", "s"), contrast)
    queue(d, LOSS + 20, 262, contrast)
    names = ["a", "b", "â", "b̂"]
    d.matrix(WHO - 4, 96, both_ways(2, queue=3), names, [*names, "q", "q", "q"], title="2n − 2 + Q negatives")
    return d
