"""The exercises of notebook 01, masking, and the usual mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, near
from contrast_kit.masking import Masked, dynamic_random_mask

FATES = ("mask", "random", "keep", "free")
MASK_ID, VOCABULARY = 4, dict(mask_id=4, vocab_size=5000)


def _texts(rows: int = 200, length: int = 60) -> tuple[Tensor, Tensor]:
    """Ids that are all different from [MASK] and from one another in a row, framed by [CLS] 2 and [SEP] 3."""
    ids = torch.stack([torch.arange(length) + 10 + 7 * row for row in range(rows)])  # [B, T]
    ids[:, 0], ids[:, -1] = 2, 3
    return ids, ids > 4


@exercise("01.one_draw", right="One number decides the selection and the fate: three cuts of one interval.")
def one_draw(answer: Callable[[float, float], str]) -> str | None:
    """The fate of a token whose uniform number is u, at rate p and split 80/10/10."""
    if len({answer(0.01, 0.15) for _ in range(50)}) > 1:
        return "Asked again with the same u, it says something else: u is the only draw; nothing else may be random."
    said = {answer(u, p) for u in (0.01, 0.9) for p in (0.15, 0.5)}
    if not said <= set(FATES):
        other = min(map(str, said - set(FATES)))
        return f"Return one of {', '.join(map(repr, FATES))}; yours also says {other!r}."
    if answer(0.5, 0.15) != "free" or answer(0.9, 0.15) != "free":
        return "At p = 0.15, u = 0.5 is not selected. Multiply the cuts 0.8 and 0.9 by p: they divide [0, p)."
    if answer(0.16, 0.15) != "free" or answer(0.149, 0.15) == "free":
        return "The selected tokens are those with u < p: try u = 0.149 and u = 0.16 at p = 0.15."
    if answer(0.405, 0.5) == "random" and answer(0.42, 0.5) == "keep":
        return "Your second cut is at 0.82 p, 10 % of the *remaining* 20 %. It is 10 % of all selected: 0.9 p."
    if answer(0.42, 0.5) == "keep" and answer(0.47, 0.5) == "random":
        return "'random' and 'keep' are exchanged. Both get 10 %, so no count shows it: first random, then keep."
    grid = [(i + 0.5) / 1000 for i in range(1000)]
    for p in (0.15, 0.5, 1.0):
        for u in grid:
            expected = "free" if u >= p else "mask" if u < 0.8 * p else "random" if u < 0.9 * p else "keep"
            if (said := answer(u, p)) != expected:
                return f"At p = {p} and u = {u:.4f} it says {said!r}; the interval says {expected!r}."
    return None


@exercise("01.labels", right="Three kinds of selected tokens, one rule: the original id at every selected place.")
def labels(answer: Callable[[Tensor, Masked, int], Tensor]) -> str | None:
    """The labels [M] of the masked language model, from the original ids and a masked copy."""
    ids, maskable = _texts()
    masked = dynamic_random_mask(ids, maskable, 0.3, generator=_generator(1), **VOCABULARY)
    given = torch.as_tensor(answer(ids, masked, MASK_ID))
    became_mask = masked.input_ids == MASK_ID
    if torch.equal(given, ids[masked.selected]):
        return None
    if given.numel() and (given == MASK_ID).all():
        return "All of them are [MASK]. Were the ids overwritten before they were read? The originals are asked for."
    if torch.equal(given, masked.input_ids[masked.selected]):
        return "Those ids are read from the masked copy, mostly [MASK] itself. Labels come from the original ids."
    if torch.equal(given, ids[became_mask]):
        return "Only where [MASK] stands: the randomised and the kept tokens, a fifth of the selected, have labels too."
    if torch.equal(given, ids[masked.input_ids != ids]):
        return "Only where something changed: a kept token looks untouched, but it was selected and has a label."
    if given.shape == ids.shape:
        return "One id for each token of the batch. The loss is taken at selected places only: [M] ids, ids[where]."
    return f"Expected the {int(masked.selected.sum())} original ids at masked.selected, got shape {list(given.shape)}."


@exercise("01.twice", right="Static masking would give p instead: the same words in every epoch, the others never.")
def twice(answer: Callable[[float], float] | float) -> str | None:
    """The share of tokens that two epochs of dynamic masking at rate p both select; a function of p."""
    if not callable(answer):
        return "Give a function of p, so that it can be tried at several rates."
    tried = Tried(answer, (0.15,), (0.4,))
    mistakes = {
        lambda p: p: "That would be static masking: the second epoch selects exactly the words of the first.",
        lambda p: 2 * p: "That counts a word selected in *either* epoch (twice, if in both). Asked: in both.",
        lambda p: 1 - (1 - p) ** 2: "That is the share selected in at least one epoch. Asked: in both.",
        lambda p: p * (1 - p): "That is selected in the first and *not* in the second. Asked: in both.",
        lambda p: 0.0: "Nothing keeps the second draw away from the first; only *complementary* masks do that.",
    }
    if wrong := tried.wrong(lambda p: p * p, same=near):
        (p,), said = wrong
        told = f"At p = {p} it gives {float(said):.4f}. Two independent events of probability p: how likely are both?"
        return tried.hint(mistakes, same=near) or told
    return None


@exercise("01.complement", right="No word is hidden twice, and view 1 is made from the original text.")
def complement(answer: Callable[..., Masked]) -> str | None:
    """The second view of a pair: answer(ids, maskable, first, p_c, vocabulary, generator) -> Masked."""
    ids, maskable = _texts()
    first = dynamic_random_mask(ids, maskable, 0.3, generator=_generator(2), **VOCABULARY)
    second = answer(ids, maskable, first, 0.7, dict(VOCABULARY), _generator(3))
    if not isinstance(second, Masked):
        return "Return what the masking function returns: Masked(input_ids, selected)."
    if (second.selected & ~maskable).any():
        return "It selects [CLS] or [SEP]: a free token is one that is maskable *and* not selected in view 0."
    both = second.selected & first.selected
    kept_or_random = first.selected & (first.input_ids != MASK_ID)
    if both.any() and not (both & ~kept_or_random).any():
        return (
            "It avoids the [MASK]s of view 0 only. A fifth of its selected tokens were randomised or kept, and they "
            "are hidden twice now: take first.selected, not first.input_ids == mask_id."
        )
    if both.any():
        return f"{int(both.sum())} tokens are selected in both views. View 1 may only select what view 0 left free."
    elsewhere = first.selected & ~second.selected
    if elsewhere.any() and torch.equal(second.input_ids[elsewhere], first.input_ids[elsewhere]):
        return "View 1 holds [MASK]s and random words of view 0: build it from the original ids, not first.input_ids."
    if not torch.equal(second.input_ids[~second.selected], ids[~second.selected]):
        return "Its input_ids are changed at places not in its selected: first take away what may not be hidden."
    free = maskable & ~first.selected
    rate = (second.selected.sum() / free.sum()).item()
    if rate > 0.99:
        return "All free tokens are selected: that is p_c = 1. Each free token is selected with probability p_c."
    if abs(rate - 0.7) > 0.03:
        return f"Of the free tokens {rate:.2f} are selected, not p_c = 0.7. p_c is *given* free."
    again = answer(ids, maskable, first, 0.7, dict(VOCABULARY), _generator(3))
    if not torch.equal(again.selected, second.selected):
        return "Two generators of one seed give different masks: the draw does not come from the generator it is given."
    again = answer(ids, maskable, first, 0.7, dict(VOCABULARY), _generator(4))
    if torch.equal(again.selected, second.selected):
        return "Two generators give the same mask: pass the generator on, so that K calls make K different views."
    now, before = second.input_ids[second.selected], ids[second.selected]
    fates = now == MASK_ID, (now != MASK_ID) & (now != before), now == before
    shares = [fate.double().mean().item() for fate in fates]
    if any(abs(share - asked) > 0.03 for share, asked in zip(shares, (0.8, 0.1, 0.1), strict=True)):
        told = "Of the selected tokens {:.2f} became [MASK], {:.2f} a random word, and {:.2f} were kept".format(*shares)
        return f"{told}; the 80/10/10 split holds in view 1 too."
    return None


@exercise(
    "01.rate",
    right="At the paper's 0.15 and 0.7 this is 0.595: more than half of the text, not 70 % of it.",
)
def rate(answer: Callable[[float, float], float]) -> str | None:
    """The share of all words that view 1 selects, from p_m and p_c."""
    if not callable(answer):
        return "Give a function of p_m and p_c, so that it can be tried at several rates."
    tried = Tried(answer, (0.15, 0.7), (0.4, 0.9))
    mistakes = {
        lambda m, c: c: "p_c is the chance of a word that view 0 left free; not all words are free. How many are?",
        lambda m, c: m * c: "That is what two *independent* masks would both select. View 1 takes free words.",
        lambda m, c: c - m: "Shares multiply here: p_c of the *free* words. Which share of all words is free?",
        lambda m, c: m + c * (1 - m): "That is what the two views hide together. Asked: view 1 alone.",
        lambda m, c: 1 - m: "That is the share of free words, view 1's rate at p_c = 1. Of these, p_c are selected.",
        lambda m, c: (1 - m) * (1 - c): "That is the share that *no* view hides. Asked: what view 1 selects.",
    }
    if wrong := tried.wrong(lambda m, c: c * (1 - m), same=near):
        point, said = wrong
        told = f"At {point} it gives {float(said):.4f}. First: is the word free? Then: is it selected?"
        return tried.hint(mistakes, same=near) or told
    return None


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
