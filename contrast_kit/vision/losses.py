"""Losses on words and pictures: what a masked region shows, and which answers a question about a picture has.

Letters: B examples, M positions (the masked regions, for most), C classes, F features of a region, A answers. Scores
are given at the positions that the loss reads and nowhere else, as in `losses.tokens`.

LXMERT's paper puts its region losses on the masked regions (3.1.2, "Masked Object Prediction"), and CAPT 4.1 says the
same. LXMERT's released code, and transformers' copy of it, puts the losses on objects and attributes
on *all* regions, including those whose feature is still in the input: mostly copying. Here the
caller says where: `vision.LXMERT(…, regions="masked")`.
"""

from torch import Tensor
from torch.nn import functional as F

from contrast_kit.checks import finite, floats, reads, reduce


def masked_objects(
    logits: Tensor,
    labels: Tensor,
    *,
    confidence: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Masked region modelling: name the object in each masked region, or its attribute, such as its colour.

    CAPT 4.1: "masked region modeling (MRM) that predicts the masked visual region objects based on the corrupted input
    x-hat". The labels are a detector's, not a person's, and so may be wrong; LXMERT weights each by the detector's
    confidence c_i:

        L_obj = 1/M sum_{i in M} -c_i log softmax(logits_i)[y_i]

    In the denominator of the softmax: all C classes of objects.

    Args:
        logits: [M, C] at the masked regions.
        labels: [M], the detector's object there, 0 .. C-1; -100 where none is known. LXMERT's code names attributes by
            the same loss; neither its paper nor CAPT's prints it.
        confidence: [M] in [0, 1], how sure the detector is; 1 for each if left out.
        reduction: "mean" over regions with a label (not over the sum of confidences), "sum", or "none" ([M], 0 where
            there is no label).

    Returns:
        A number >= 0 in nats, float32 or float64. With no masked region it is 0, with a zero gradient.

    See also:
        `masked_features` asks for the feature itself; `mlm` is
        its counterpart on words.

    Example:
        >>> import torch
        >>> masked_objects(torch.zeros(2, 12), torch.tensor([3, 7]))       # knows nothing: log C
        tensor(2.4849)
        >>> masked_objects(torch.zeros(2, 12), torch.tensor([3, 7]), confidence=torch.tensor([1.0, 0.5]))
        tensor(1.8637)
    """
    labels = labels.long()  # in 8 bits, -100 would be 156
    terms = F.cross_entropy(floats(logits, "logits"), labels, reduction="none")  # [M]
    if confidence is not None:
        check_shares(confidence, "confidence")
        terms = terms * confidence.to(terms.dtype)
    finite(terms.sum(), "masked_objects")
    return reduce(terms, reduction, (labels != -100).sum())


def masked_features(
    predicted: Tensor, targets: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """Masked region modelling: predict the feature vector of each masked region (LXMERT's RoI-feature regression).

    The smooth L1 distance of its released code, averaged over the F features (the paper prints an L2 loss):

        L_feat = 1/M sum_{i in M} 1/F sum_f huber(x_if - f_if),   huber(d) = d^2 / 2 if |d| < 1, and |d| - 1/2 beyond

    It scales with the features: standardise them on the training pictures, or this loss drowns the others.

    Args:
        predicted: [M, F] at the masked regions.
        targets: [M, F], the features there before masking.
        reduction: "mean" over regions, "sum", or "none" ([M]).

    Returns:
        A number >= 0, float32 or float64, in squared units of the features below a distance of 1. With no masked
        region it is 0, with a zero gradient.

    See also:
        `masked_objects`: a name for the region instead of its feature.

    Example:
        >>> import torch
        >>> masked_features(torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 2.0, -3.0]]))  # (0 + 0.5 + 1.5 + 2.5) / 4
        tensor(1.1250)
    """
    predicted, targets = floats(predicted, "predicted"), floats(targets, "targets")
    if predicted.shape != targets.shape:  # torch would repeat the smaller one
        shapes = f"{list(predicted.shape)} and {list(targets.shape)}"
        raise ValueError(
            f"predicted and targets must be [M, F], at the same regions, got {shapes}."
        )
    # [M, F] -> [M]
    terms = F.smooth_l1_loss(predicted, targets, reduction="none").mean(1)
    finite(terms.sum(), "masked_features")
    return reduce(terms, reduction, len(terms))


def soft_answers(logits: Tensor, scores: Tensor, *, reduction: str = "mean") -> Tensor:
    """Answer a question that may have several answers: the binary cross-entropy of each, summed over the answers.

    LXMERT fine-tunes by it on VQA and GQA (`BCE.mean() * answers` in its code); CAPT with "the same hyper-parameters":

        L = 1/B sum_b sum_a -s_ba log sigma(z_ba) - (1 - s_ba) log(1 - sigma(z_ba))

    As a mean over both B and A, without the factor A, the gradient would be A times smaller and the papers' learning
    rates would mean something else. No answer stands in another one's denominator.

    Args:
        logits: [B, A], z.
        scores: [B, A] in [0, 1]: how right each answer is (VQA: min(people who gave it / 3, 1), or LXMERT's 0, 0.3,
            0.6, 0.9, 1). A question whose answers are all unknown has a row of zeros.
        reduction: "mean" over questions, "sum", or "none" ([B]).

    Returns:
        A number >= 0 in nats, float32 or float64. Scores between 0 and 1 leave it above 0 however good the logits.

    See also:
        `one_answer`: the softmax over answers of LXMERT's pre-training.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[1.0, 0.3, 0.0]])
        >>> soft_answers(torch.zeros(1, 3), scores)                       # knows nothing: A log 2
        tensor(2.0794)
        >>> soft_answers(torch.tensor([[9.0, -0.8473, -9.0]]), scores)    # all but exact: the entropy of 0.3 is left
        tensor(0.6111)
    """
    logits = floats(logits, "logits")
    check_shares(scores, "scores")
    # [B, A]
    each = F.binary_cross_entropy_with_logits(
        logits, scores.to(logits.dtype), reduction="none"
    )
    terms = each.sum(1)  # [B]
    finite(terms.sum(), "soft_answers")
    return reduce(terms, reduction, len(terms))


def one_answer(logits: Tensor, scores: Tensor, *, reduction: str = "mean") -> Tensor:
    """Answer a question with one of A answers: the cross-entropy of LXMERT's question-answering pre-training.

    LXMERT draws one of a question's answers in proportion to their scores and takes its cross-entropy. This is the
    expectation over that draw, without its noise:

        L = 1/N sum_b -sum_a s_ba / (sum_a' s_ba') log softmax(z_b)[a]

    over the N questions that have an answer; in the denominator of the softmax stand all A answers.

    Args, errors: as `soft_answers`. A row of zeros has no answer and no term; "mean" leaves it out of N.

    Returns:
        A number >= 0 in nats, float32 or float64; 0 where no row has an answer, with a zero gradient.

    Example:
        >>> import torch
        >>> one_answer(torch.zeros(2, 8), torch.tensor([[1.0] + 7 * [0.0], 8 * [0.0]]))  # log A of the first row
        tensor(2.0794)
    """
    logits = floats(logits, "logits")
    check_shares(scores, "scores")
    scores = scores.to(logits.dtype)
    total = scores.sum(1, keepdim=True)  # [B, A] -> [B, 1]
    share = scores / total.where(total > 0, 1.0)  # [B, A]; a row of zeros stays one
    terms = -(share * logits.log_softmax(1)).sum(1)  # [B, A] -> [B]
    finite(terms.sum(), "one_answer")
    return reduce(terms, reduction, (total > 0).sum())


def check_shares(x: Tensor, name: str) -> None:
    """Raise a ValueError unless all numbers lie between 0 and 1."""
    if reads(x) and not ((x >= 0) & (x <= 1)).all():  # NaN is refused too
        raise ValueError(
            f"{name} must lie between 0 and 1, got {x.min().item():g} .. {x.max().item():g}."
        )
