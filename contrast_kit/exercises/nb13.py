"""The exercises of notebook 13, words and pictures, and the usual mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, gradient, many, shown


@exercise("13.vqa_accuracy", right="One person does not make an answer right, and three do not quite make it certain.")
def vqa_accuracy(answer: Callable[[int], float]) -> str | None:
    """The mean over the ten leave-one-out subsets of min(n / 3, 1), for each n."""
    said = [answer(n) for n in range(11)]

    def all_are(formula: Callable[[int], float]) -> bool:
        return all(equals(value, float(formula(n))) for n, value in enumerate(said))

    def official(n: int) -> float:
        return (n * min((n - 1) / 3, 1) + (10 - n) * min(n / 3, 1)) / 10

    if all_are(official):
        return None
    mistakes = [
        (lambda n: min(n / 3, 1), "That is min(n/3, 1) among all ten. Leave each person out in turn and average."),
        (lambda n: min(max(n - 1, 0) / 3, 1), "Only n of the ten subsets lack one of the n; the others hold all n."),
        (lambda n: float(n >= 3), "All or nothing: fewer than three count for something, too."),
        (lambda n: float(n > 5), "That is the majority. VQA's accuracy is soft: three others are enough."),
        (lambda n: n / 10, "That is the share of the people; three others are enough for full marks."),
        (lambda n: 10 * official(n), "A mean over the ten subsets: divide by 10."),
        (
            lambda n: (n * (n - 1) / 3 + (10 - n) * n / 3) / 10,
            "In each subset at most 1: the minimum is taken before the mean.",
        ),
    ]
    if hint := next((hint for formula, hint in mistakes if all_are(formula)), None):
        return hint
    n, value = next((n, value) for n, value in enumerate(said) if not equals(value, official(n)))
    return f"For n = {n} it gives {shown(value)}. Leave out each of the ten: how many of the n are left, and how often?"


@exercise("13.wrong_texts", right="On photographs true_of is not known, and some wrong pairs are right.")
def wrong_texts(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """Which text may be drawn as a wrong one for which picture."""
    image_id = torch.tensor([7, 7, 3, 9])
    true_of = torch.eye(4, dtype=torch.bool)
    true_of[0, 1] = True  # both texts of picture 7; it does not say that the second is true of row 0 as well
    true_of[2, 3] = True  # the text of picture 3 is true of picture 9 too; not the other way round
    other = image_id[:, None] != image_id[None, :]
    said = answer(image_id, true_of)
    if not isinstance(said, Tensor) or said.shape != other.shape:
        return "Return a tensor [B, B]: a row for each picture, a column for each text."
    mistakes = [
        (other & ~true_of, "true_of has the texts in its rows; you need the pictures there: transpose it."),
        (other, "The text of another picture may be true of this one as well: true_of says so."),
        (~true_of.T, "Rows 0 and 1 show one picture: its other text is not wrong, though true_of does not know it."),
        (~torch.eye(4, dtype=torch.bool), "Rows 0 and 1 show one picture: its other text is not wrong."),
        (~(other & ~true_of.T), "That is the opposite: True where the text *may* be drawn as a wrong one."),
        (true_of.T, "That is the opposite: True where the text *may* be drawn as a wrong one."),
    ]
    if equals(said.double(), (other & ~true_of.T).double()):
        return None
    found = first_hint(said.double(), [(value.double(), hint) for value, hint in mistakes])
    return found or "Another picture's text, and not true of this picture."


@exercise("13.soft_answers", right="And no answer stands in the denominator of another.")
def soft_answers(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """The binary cross-entropy, summed over answers, a mean over questions."""
    noise = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, generator=noise, dtype=torch.float64)
    scores = torch.tensor([[1.0, 0.3, 0, 0], [0, 0.9, 0.6, 0], [0, 0, 0, 1.0]], dtype=torch.float64)
    said, right = answer(logits, scores), losses.soft_answers(logits, scores)
    if hint := many(said, "the mean over questions"):
        return hint
    best = scores.argmax(1)
    mistakes = [
        (
            binary_cross_entropy_with_logits(logits, scores),
            "A mean over answers too: it divides the gradient by A. Sum over the answers, mean over the questions.",
        ),
        (right * len(logits), "That is the sum over questions as well; divide by B."),
        (
            cross_entropy(logits, best),
            "A softmax over one right answer; here each answer is its own yes or no.",
        ),
        (cross_entropy(logits, scores), "A softmax makes answers compete; here each answer is its own yes or no."),
        (
            binary_cross_entropy_with_logits(logits, (scores > 0).double()) * 4,
            "The scores are targets between 0 and 1, not rounded up.",
        ),
        (-right, "The sign: minus the log-probabilities."),
        (
            -(scores * logits.sigmoid().log()).sum(1).mean(),
            "The second half is missing: (1 − s) log(1 − σ(z)), or every answer may as well be yes.",
        ),
    ]
    if not equals(said, right):
        return first_hint(said, mistakes) or "−Σ_a [s log σ(z) + (1 − s) log(1 − σ(z))], then the mean over questions."
    sure = answer(torch.tensor([[1000.0, -1000.0]]).double(), torch.tensor([[0.3, 0.6]]).double())
    if not equals(sure, 1300.0):  # 0.7 · 1000 + 0.6 · 1000
        told = f"Right, but for logits of 1000 and -1000 it gives {shown(sure)}, not 1300: σ is 1 or 0 there"
        told += ", and the log of that is 0 or -inf"
        return f"{told}. Can you get log σ without σ? Try logsigmoid, or `binary_cross_entropy_with_logits`."
    return gradient(lambda z: answer(z, scores), {"logits": logits}, right=lambda z: losses.soft_answers(z, scores))


@exercise("13.consistency", right="With four pairs, guessing is consistent on one sentence of sixteen.")
def consistency(answer: Callable[[list[bool], list[str]], float]) -> str | None:
    """The share of sentences that are right on all their pairs."""
    yes, no = True, False
    tried = Tried(
        answer,
        ([yes, yes, no, yes, yes, yes], ["a", "b", "a", "b", "c", "a"]),
        ([no, yes, no, yes, yes, no, yes], ["x", "y", "x", "z", "y", "z", "y"]),  # two pairs of x are wrong
    )

    def of_sentences(count: Callable[[list[bool]], float]) -> Callable[[list[bool], list[str]], float]:
        """The sum over sentences of a count of their own pairs."""
        return lambda r, s: sum(count([ok for ok, name in zip(r, s, strict=True) if name == one]) for one in set(s))

    consistent, any_right = of_sentences(all), of_sentences(any)
    mistakes = {
        lambda r, s: sum(r) / len(r): "That is the accuracy: the share of pairs. Group them by sentence first.",
        lambda r, s: of_sentences(lambda own: len(own) * all(own))(r, s) / len(r): (
            "That counts the pairs of consistent sentences; count sentences."
        ),
        consistent: "That is how many sentences are right; divide by the number of sentences.",
        lambda r, s: any_right(r, s) / len(set(s)): (
            "One right pair is not enough: all pairs of the sentence must be right."
        ),
        lambda r, s: sum(dict(zip(s, r, strict=True)).values()) / len(set(s)): (
            "That looks at the last pair of each sentence; all its pairs must be right."
        ),
        lambda r, s: of_sentences(lambda own: sum(own) / len(own))(r, s) / len(set(s)): (
            "That is the mean accuracy of a sentence; consistency is all or nothing."
        ),
        lambda r, s: 1 - (len(r) - sum(r)) / len(set(s)): (
            "That takes off one for each wrong pair; a sentence with two wrong pairs is one wrong sentence."
        ),
        lambda r, s: consistent(r, s) / len(r): "Divide by the number of different sentences, not of pairs.",
    }
    if wrong := tried.wrong(lambda r, s: consistent(r, s) / len(set(s))):
        told = f"For right = {wrong[0][0]} and sentences = {wrong[0][1]} it gives {shown(wrong[1])}."
        return tried.hint(mistakes) or f"{told} For each different sentence: are all its pairs right? Then the mean."
    return None
