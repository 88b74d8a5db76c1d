"""The exercises of notebook 01, masking, and the usual mistakes."""

import torch

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.exercises._frame import exercise, table

MASK_ID = 4
VOCABULARY = dict(mask_id=MASK_ID, vocab_size=5000)


def _texts(rows=200, length=60):
    """Ids that are all different from [MASK] and from one another in a row, framed by [CLS] 2 and [SEP] 3."""
    # [B, T]
    ids = torch.stack([torch.arange(length) + 10 + 7 * row for row in range(rows)])
    ids[:, 0] = 2
    ids[:, -1] = 3
    return ids, ids > 4


def _first_view(seed):
    ids, maskable = _texts()
    return ck.masking.dynamic_random_mask(
        ids, maskable, 0.3, generator=_generator(seed), **VOCABULARY
    )


def _generator(seed):
    return torch.Generator().manual_seed(seed)


def _fate(u, p):
    if u >= p:
        return "free"
    if u < 0.8 * p:
        return "mask"
    if u < 0.9 * p:
        return "random"
    return "keep"


@exercise("01.one_draw")
def one_draw(answer):
    """The fate of a token whose uniform number is u, at rate p and split 80/10/10."""
    fates = ("mask", "random", "keep", "free")
    if len({answer(0.01, 0.15) for _ in range(50)}) > 1:
        return "Asked again with the same u, it says something else: u is the only draw; nothing else may be random."
    for u, p in ((0.01, 0.15), (0.01, 0.5), (0.9, 0.15), (0.9, 0.5)):
        if answer(u, p) not in fates:
            return f"Return one of {', '.join(map(repr, fates))}; yours also says {answer(u, p)!r}."
    if answer(0.5, 0.15) != "free" or answer(0.9, 0.15) != "free":
        return "At p = 0.15, u = 0.5 is not selected. Multiply the cuts 0.8 and 0.9 by p: they divide [0, p)."
    if answer(0.16, 0.15) != "free" or answer(0.149, 0.15) == "free":
        return "The selected tokens are those with u < p: try u = 0.149 and u = 0.16 at p = 0.15."
    if answer(0.405, 0.5) == "random" and answer(0.42, 0.5) == "keep":
        return "Your second cut is at 0.82 p, 10 % of the *remaining* 20 %. It is 10 % of all selected: 0.9 p."
    if answer(0.42, 0.5) == "keep" and answer(0.47, 0.5) == "random":
        return "'random' and 'keep' are exchanged. Both get 10 %, so no count shows it: first random, then keep."
    for p in (0.15, 0.5, 1.0):
        for i in range(1000):
            u = (i + 0.5) / 1000
            if answer(u, p) != _fate(u, p):
                return f"At p = {p} and u = {u:.4f} it says {answer(u, p)!r}; the interval says {_fate(u, p)!r}."
    return None


@table("01.labels", cases=[(_texts()[0], _first_view(1), MASK_ID)])
def labels(ids, masked, mask_id):
    """The labels [M] of the masked language model, from the original ids and a masked copy."""
    right = ids[masked.selected]
    return right, {
        (
            "All of them are [MASK]. Were the ids overwritten before they were read? The originals are "
            "asked for."
        ): right.new_full(right.shape, mask_id),
        (
            "Those ids are read from the masked copy, mostly [MASK] itself. Labels come from the "
            "original ids."
        ): masked.input_ids[masked.selected],
        (
            "Only where [MASK] stands: the randomised and the kept tokens, a fifth of the selected, have "
            "labels too."
        ): ids[masked.input_ids == mask_id],
        "Only where something changed: a kept token looks untouched, but it was selected and has a label.": ids[
            masked.input_ids != ids
        ],
        (
            "One id for each token of the batch. The loss is taken at selected places only: [M] ids, "
            "ids[where]."
        ): lambda value: value.shape == ids.shape,
    }


@exercise("01.guesser")
def guesser(answer):
    """A word for each hole (left, right), learnt from a corpus of lists of words."""
    lines = [line.lower().replace(".", " .").split() for line in toyshop.corpus(4300)]
    corpus, new = lines[:4000], lines[4000:]
    around = [
        each for line in new for each in zip(line, line[1:], line[2:], strict=False)
    ]
    guesses = answer(corpus, [(left, right) for left, _, right in around])
    if not isinstance(guesses, list) or len(guesses) != len(around):
        return f"Return a list with a word for each of the {len(around)} holes."
    hits = [guess == word for guess, (_, word, _) in zip(guesses, around, strict=True)]
    share = sum(hits) / len(hits)
    if share > 0.38:
        return None
    return f"{share:.0%} are right. One neighbour gives about 32 %. Count the words between each pair of neighbours."


@exercise("01.complement")
def complement(answer):
    """The second view of a pair: answer(ids, maskable, first, p_c, vocabulary, generator) -> Masked."""
    ids, maskable = _texts()
    first = _first_view(2)

    def view(seed):
        return answer(ids, maskable, first, 0.7, VOCABULARY, _generator(seed))

    second = view(3)
    if not isinstance(second, ck.masking.Masked):
        return "Return what the masking function returns: Masked(input_ids, selected)."
    if (second.selected & ~maskable).any():
        return "It selects [CLS] or [SEP]: a free token is one that is maskable *and* not selected in view 0."
    both = second.selected & first.selected
    if both.any() and (first.input_ids[both] != MASK_ID).all():
        return (
            "It avoids the [MASK]s of view 0 only. A fifth of its selected tokens were randomised or kept, and they "
            "are hidden twice now: take first.selected, not first.input_ids == mask_id."
        )
    if both.any():
        return f"{int(both.sum())} tokens are selected in both views. View 1 may only select what view 0 left free."
    if torch.equal(second.input_ids[first.selected], first.input_ids[first.selected]):
        return "View 1 holds [MASK]s and random words of view 0: build it from the original ids, not first.input_ids."
    if not torch.equal(second.input_ids[~second.selected], ids[~second.selected]):
        return "Its input_ids are changed at places not in its selected: first take away what may not be hidden."
    rate = (second.selected.sum() / (maskable & ~first.selected).sum()).item()
    if rate > 0.99:
        return "All free tokens are selected: that is p_c = 1. Each free token is selected with probability p_c."
    if abs(rate - 0.7) > 0.03:
        return f"Of the free tokens {rate:.2f} are selected, not p_c = 0.7. p_c is *given* free."
    if not torch.equal(view(3).selected, second.selected):
        return "Two generators of one seed give different masks: the draw does not come from the generator it is given."
    if torch.equal(view(4).selected, second.selected):
        return "Two generators give the same mask: pass the generator on, so that K calls make K different views."
    now = second.input_ids[second.selected]
    became_mask = (now == MASK_ID).double().mean()
    kept = (now == ids[second.selected]).double().mean()
    word = 1 - became_mask - kept
    if abs(became_mask - 0.8) > 0.03 or abs(kept - 0.1) > 0.03 or abs(word - 0.1) > 0.03:
        return (
            f"Of the selected tokens {became_mask:.2f} became [MASK], {word:.2f} a random word, and {kept:.2f} were "
            "kept; the 80/10/10 split holds in view 1 too."
        )
    return None
