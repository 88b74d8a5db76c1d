"""Every usual mistake gets the hint that names it; the right answer passes; no answer is no mistake."""

import math
import random

import pytest
import torch
from torch.nn.functional import normalize

from contrast_kit import exercises, losses, masking
from contrast_kit.exercises import judge


def hint(name, answer):
    verdict = judge(name, answer)
    assert verdict.right is False, verdict
    return verdict.text


class TestFrame:
    def test_none_is_not_yet(self, capsys):
        exercises.check("01.rate", lambda p_m, p_c: None)
        assert "not yet" in capsys.readouterr().out
        assert judge("01.rate", None).right is None

    def test_every_exercise_takes_no_answer_for_not_yet(self):
        for name in exercises.names():
            assert judge(name, lambda *args, **kw: None).right is None, name

    def test_an_error_in_the_answer_is_told(self):
        assert "ZeroDivisionError" in hint("01.rate", lambda p_m, p_c: 1 / 0)

    def test_an_error_in_a_checker_is_not_hidden(self, monkeypatch):
        monkeypatch.setattr("contrast_kit.exercises._frame._EXERCISES", {})  # for this test alone

        @exercises.exercise("98.broken", right="")
        def broken(answer):
            raise KeyError("a bug of ours")

        verdict = judge("98.broken", 1)
        assert verdict.right is False and "a bug of ours" in verdict.text and "type int" in verdict.text

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="01.complement"):
            judge("01.complment", 1)
        with pytest.raises(ValueError, match="No exercise"):
            judge("77.nothing", 1)
        with pytest.raises(ValueError, match="NN.word"):
            exercises.exercise("complement", right="")

    def test_names_are_of_one_notebook(self):
        assert len(exercises.names("01")) == 5
        assert all(name.startswith("01.") for name in exercises.names("01"))


class TestGuess:
    def test_right(self):
        assert judge("00.guess", math.log).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (1.386, "function of B"),
            (lambda B: 1 / B, "probability"),
            (lambda B: -math.log(B), "sign"),
            (lambda B: math.log(B - 1), "not B − 1"),
            (lambda B: math.log(2 * B - 1), "NT-Xent"),
            (math.log2, "Natural"),
            (lambda B: 0.0, "perfect"),
            (lambda B: B, "if all look alike"),
            (lambda B: math.log(4), "For B = 64 it gives 1.386"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("00.guess", answer)


class TestCosines:
    def test_right(self):
        assert judge("00.cosines", losses.cosine_matrix).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda a, b: torch.cosine_similarity(a, b), "with every b[j]"),
            (lambda a, b: a.T @ b, "[D, D]"),
            (lambda a, b: losses.cosine_matrix(b, a), "exchanged"),
            (lambda a, b: a @ b.T, "dot products"),
            (lambda a, b: normalize(a, dim=1) @ b.T, "Normalise b too"),
            (lambda a, b: a @ normalize(b, dim=1).T, "Normalise a too"),
            (lambda a, b: normalize(a, dim=0) @ normalize(b, dim=0).T, "dim=0, the batch"),
            (lambda a, b: losses.cosine_matrix(a), "with itself"),
            (lambda a, b: losses.cosine_matrix(a, b) / 2, "Normalise the rows"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("00.cosines", answer)


class TestFound:
    @staticmethod
    def right(similarity):
        return (similarity.argmax(1) == torch.arange(len(similarity))).float().mean()

    def test_right(self):
        assert judge("00.found", self.right).right
        assert judge("00.found", lambda s: self.right(s).item()).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda s: s.argmax(1), "shape [5]"),
            (lambda s: (s.argmax(1) == torch.arange(len(s))).sum(), "divide by N"),
            (lambda s: (s.argmax(0) == torch.arange(len(s))).float().mean(), "down the columns"),
            (lambda s: s.diagonal().mean(), "mean cosine"),
            (lambda s: TestFound.right(s.fill_diagonal_(-1)), "must stay"),
            (lambda s: 0.3, "Of 5 rows 3 have their largest entry on the diagonal, and it gives 0.30"),
            (lambda s: 1 - TestFound.right(s), "do *not* find"),
            (lambda s: TestFound.right(-s), "smallest entry"),
            (lambda s: (s.diag() > s.mean(1)).float().mean(), "it gives 0.80"),
            (lambda s: (s.diag() > 0.5).float().mean(), "Of 3 rows 2 have"),  # right for the first matrix
            (lambda s: 0.6, "Of 3 rows 2 have"),
            (lambda s: 0.5, "Of 5 rows 3 have"),
            (lambda s: 2 / len(s), "Of 5 rows 3 have"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("00.found", answer)


class TestOneDraw:
    @staticmethod
    def fate(first=0.8, second=0.9, scale=True, order=("mask", "random", "keep"), top=1.0):
        def answer(u, p):
            cut = p if scale else 1
            if u >= p * top:
                return "free"
            return order[0] if u < first * cut else order[1] if u < second * cut else order[2]

        return answer

    def test_right(self):
        assert judge("01.one_draw", self.fate()).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda u, p: "masked", "Return one of"),
            (lambda u, p: "mask" if u < 0.8 else "random" if u < 0.9 else "keep", "Multiply the cuts"),
            (fate(top=1.2), "u < p"),
            (fate(second=0.82), "remaining"),
            (fate(order=("mask", "keep", "random")), "exchanged"),
            (fate(first=0.7), "the interval says"),
            (lambda u, p: "free" if u >= p else random.choices(["mask", "random", "keep"], [8, 1, 1])[0], "only draw"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("01.one_draw", answer)


class TestLabels:
    def test_right(self):
        assert judge("01.labels", lambda ids, masked, mask_id: ids[masked.selected]).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda ids, masked, mask_id: ids.masked_fill_(masked.selected, mask_id)[masked.selected], "overwritten"),
            (lambda ids, masked, mask_id: masked.input_ids[masked.selected], "read from the masked copy"),
            (lambda ids, masked, mask_id: ids[masked.input_ids == mask_id], "a fifth of the selected"),
            (lambda ids, masked, mask_id: ids[masked.input_ids != ids], "a kept token looks untouched"),
            (lambda ids, masked, mask_id: ids, "selected places only"),
            (lambda ids, masked, mask_id: ids[~masked.selected], "Expected the"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("01.labels", answer)


class TestTwice:
    def test_right(self):
        assert judge("01.twice", lambda p: p**2).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (0.0225, "function of p"),
            (lambda p: p, "static"),
            (lambda p: 2 * p, "either"),
            (lambda p: 1 - (1 - p) ** 2, "at least one"),
            (lambda p: p * (1 - p), "*not* in the second"),
            (lambda p: 0.0, "complementary"),
            (lambda p: p**3, "Two independent events"),
            (lambda p: 0.0225, "At p = 0.4 it gives 0.0225"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("01.twice", answer)


def second_view(hidden=None, ids_of=None, rate=lambda p: p, split=(0.8, 0.1, 0.1), own_maskable=None, seed=None):
    """The right answer, with one thing done another way."""

    def answer(ids, maskable, first, p_c, vocabulary, generator):
        selected = first.selected if hidden is None else hidden(first, vocabulary["mask_id"])
        start = ids if ids_of is None else ids_of(first)
        allowed = maskable if own_maskable is None else own_maskable(maskable)
        generator = generator if seed is None else torch.Generator().manual_seed(seed)
        return masking.complementary_random_mask(
            start, allowed, selected, rate(p_c), split=split, generator=generator, **vocabulary
        )

    return answer


def unseeded(ids, maskable, first, p_c, vocabulary, generator):
    return masking.dynamic_random_mask(ids, maskable & ~first.selected, p_c, **vocabulary)


def drawn_then_taken_away(ids, maskable, first, p_c, vocabulary, generator):
    view = masking.dynamic_random_mask(ids, maskable, p_c, generator=generator, **vocabulary)
    return masking.Masked(view.input_ids, view.selected & ~first.selected)


class TestComplement:
    def test_right(self):
        assert judge("01.complement", second_view()).right

    def test_right_by_hand(self):
        def by_hand(ids, maskable, first, p_c, vocabulary, generator):
            free = maskable & ~first.selected
            return masking.dynamic_random_mask(ids, free, p_c, generator=generator, **vocabulary)

        assert judge("01.complement", by_hand).right

    def test_right_without_a_masking_function(self):
        def from_scratch(ids, maskable, first, p_c, vocabulary, generator):
            selected = (torch.rand(ids.shape, generator=generator) < p_c) & maskable & ~first.selected
            fate = torch.rand(ids.shape, generator=generator)
            words = torch.randint(5, vocabulary["vocab_size"], ids.shape, generator=generator)
            view = torch.where(selected & (fate < 0.8), vocabulary["mask_id"], ids)
            return masking.Masked(torch.where(selected & (fate >= 0.9), words, view), selected)

        assert judge("01.complement", from_scratch).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (second_view(hidden=lambda first, mask_id: first.input_ids == mask_id), "[MASK]s of view 0 only"),
            (second_view(hidden=lambda first, mask_id: first.selected & False), "selected in both views"),
            (second_view(ids_of=lambda first: first.input_ids), "original ids"),
            (second_view(rate=lambda p: 1.0), "p_c = 1"),
            (second_view(rate=lambda p: p / 0.85), "*given* free"),
            (second_view(own_maskable=lambda m: m | True), "[CLS] or [SEP]"),
            (second_view(seed=5), "pass the generator on"),
            (second_view(split=(1, 0, 0)), "80/10/10"),
            (second_view(split=(0.8, 0.2, 0)), "0.21 a random word, and 0.00 were kept; the 80/10/10"),
            (second_view(split=(0.8, 0, 0.2)), "0.00 a random word, and 0.21 were kept; the 80/10/10"),
            (lambda ids, *rest: ids, "Masked(input_ids, selected)"),
            (unseeded, "does not come from the generator"),
            (drawn_then_taken_away, "not in its selected"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("01.complement", answer)


class TestRate:
    def test_right(self):
        assert judge("01.rate", lambda p_m, p_c: (1 - p_m) * p_c).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (0.595, "function of p_m and p_c"),
            (lambda m, c: c, "not all words are free"),
            (lambda m, c: m * c, "independent"),
            (lambda m, c: c - m, "Shares multiply"),
            (lambda m, c: m + c * (1 - m), "hide together"),
            (lambda m, c: 1 - m, "p_c = 1"),
            (lambda m, c: (1 - m) * (1 - c), "*no* view hides"),
            (lambda m, c: m, "First: is the word free?"),
            (lambda m, c: 0.595, "At (0.4, 0.9) it gives 0.5950"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("01.rate", answer)
