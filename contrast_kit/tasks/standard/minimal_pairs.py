"""BLiMP: which of two sentences is English? Asked of a masked language model by pseudo-log-likelihood.

"BLiMP: The Benchmark of Linguistic Minimal Pairs for English" (Warstadt et al. 2020): 67 phenomena of 1,000 pairs that
differ in little but grammar. "Masked Language Model Scoring" (Salazar et al. 2020): a masked model's score of a text is
the sum over its tokens of log P(token | all others), each in a copy of the text with that token masked. "A Better Way
to Do Masked Language Model Scoring" (Kauf and Ivanova 2023): a word of several tokens then scores too high, as each is
easily guessed beside the others, so the later tokens of the word are to be masked with it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from contrast_kit.data.texts import special_ids
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating

if TYPE_CHECKING:
    from pandas import DataFrame

Copy = tuple[tuple[int, ...], tuple[int, ...], int]
"""A text with tokens masked: its ids, its token types where the tokenizer makes them, and the place that is scored."""

Metric = Literal["original", "within_word_l2r"]
"""What is masked beside the token that is scored: nothing, or the tokens after it in its word, from left to right."""


def blimp(
    encoder: Encoder | Callable[[list[str]], Tensor],
    folder: str | Path,
    *,
    limit: int | None = None,
    metric: Metric = "original",
    progress: bool = True,
) -> "DataFrame":
    """The share of minimal pairs whose good sentence has the higher score: for an encoder, the pseudo-log-likelihood.

    Chance is 0.5.

    Args:
        encoder: a trained masked language model; not changed. (An encoder whose vocabulary head was never trained, such
            as most sentence encoders, gives chance.) Or a function: a list of texts → a tensor [N], higher is better.
            It is given all sentences of a phenomenon at once.
        folder: BLiMP's files, one `.jsonl` per phenomenon, or the folder that holds them as `blimp` or `data`.
        limit: use only the first `limit` pairs of each phenomenon. All 67,000 pairs take a base model hours on a CPU.
        metric: for an encoder, "original" or "within_word_l2r", as in `pseudo_log_likelihoods`.
        progress: show a bar.

    Returns:
        a DataFrame with one row per phenomenon, then "all": `field`, `pairs`, `accuracy`. A tie counts half. "all" is
        the mean of the phenomena, as in the paper.
    """
    from pandas import DataFrame
    from tqdm.auto import tqdm

    score = encoder
    if isinstance(encoder, Encoder):
        score = partial(pseudo_log_likelihoods, encoder, metric=metric)
    files = blimp_files(Path(folder).expanduser())
    if not files:
        raise FileNotFoundError(
            f"{folder} holds no .jsonl of BLiMP: name the folder with its 67 files."
        )
    rows = []
    for name, file in tqdm(
        files.items(),
        "BLiMP",
        disable=not progress,
    ):
        pairs = [
            json.loads(line) for line in file.read_text("utf-8").splitlines()[:limit]
        ]
        texts = [
            pair[side] for pair in pairs for side in ("sentence_good", "sentence_bad")
        ]
        good, bad = score(texts).view(-1, 2).T  # [2 pairs] → [pairs] each
        wins = (good > bad).double() + 0.5 * (good == bad).double()
        facts = {
            "phenomenon": name,
            "field": pairs[0].get("field", ""),
            "pairs": len(pairs),
        }
        rows.append(facts | {"accuracy": wins.mean().item()})
    table = DataFrame(rows)
    whole = {
        "phenomenon": "all",
        "field": "",
        "pairs": table["pairs"].sum(),
    }
    rows.append(whole | {"accuracy": table["accuracy"].mean()})
    return DataFrame(rows).set_index("phenomenon")


def blimp_files(folder: Path) -> dict[str, Path]:
    """BLiMP's files by phenomenon, in this folder or in its `blimp` or `data`; none where they are not there."""
    for home in (folder, folder / "blimp", folder / "data"):
        files = {file.stem: file for file in sorted(home.glob("*.jsonl"))}
        if files:
            break
    return files


@torch.no_grad()
def pseudo_log_likelihoods(
    encoder: Encoder,
    texts: Sequence[str],
    batch_size: int = 256,
    *,
    metric: Metric = "original",
) -> Tensor:
    """PLL(W) = Σ_t log P(w_t | W without w_t) of each text (Salazar et al. 2020, eq. 1), [N] in float64.

    With `metric="within_word_l2r"` the tokens after w_t in its word are masked too (Kauf and Ivanova 2023), so that
    rare words, which fall into many tokens, are not favoured.

    The denominator of P is the whole vocabulary. Special tokens are not scored. A copy that two texts share, as
    minimal pairs often do at the word in which they differ, is computed once. Copies of one length are computed
    together, so none is padded. A text longer than the encoder takes is cut. `texts` may be pairs.

    Raises ValueError for a text without any word, whose score, a sum of nothing, would be the best there is.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite", "a small drum"], vocab_size=60))
    >>> scores = ck.tasks.standard.pseudo_log_likelihoods(encoder, ["a red kite", "a kite"])
    >>> scores.shape, bool(scores[0] < scores[1] < 0)  # three words cost more than two
    (torch.Size([2]), True)
    """
    asked = _masked_copies(encoder, list(texts), metric)
    totals = torch.zeros(len(texts), dtype=torch.float64)
    with evaluating(encoder):
        for _, group in groupby(sorted(asked, key=_length), key=_length):
            copies = list(group)
            for first in range(0, len(copies), batch_size):
                batch = copies[first : first + batch_size]
                log_p = _log_probabilities(encoder, batch).cpu()  # [b, V]
                for row, copy in zip(log_p, batch, strict=True):
                    for text, token in asked[copy]:
                        totals[text] += row[token].double()
    return totals


def _length(copy: Copy) -> int:
    return len(copy[0])


def _masked_copies(
    encoder: Encoder, texts: list[str], metric: Metric
) -> dict[Copy, list[tuple[int, int]]]:
    """Each masked copy → the texts that ask for it, and the token that each had there."""
    tokenizer = encoder.tokenizer
    special, mask = set(special_ids(tokenizer)), tokenizer.mask_token_id
    encoded = tokenizer(texts, truncation=True, max_length=encoder.max_length)
    kinds = encoded.get("token_type_ids") or [()] * len(texts)
    asked: dict[Copy, list[tuple[int, int]]] = defaultdict(list)
    for text, (ids, types) in enumerate(zip(encoded["input_ids"], kinds, strict=True)):
        if special.issuperset(ids):
            raise ValueError(f"Text {text} holds no word to score: {texts[text]!r}.")
        words: Sequence[Any] = range(len(ids))
        # Of each token: the side of a pair, and its word there.
        if metric == "within_word_l2r":
            words = list(
                zip(encoded.sequence_ids(text), encoded.word_ids(text), strict=True)
            )
        for place, token in enumerate(ids):
            if token not in special:
                masked = list(ids)
                for later in range(place, len(ids)):
                    if words[later] == words[place]:
                        masked[later] = mask
                asked[tuple(masked), tuple(types), place].append((text, token))
    return asked


def _log_probabilities(encoder: Encoder, batch: list[Copy]) -> Tensor:
    """The log-probabilities of all words at the place of each copy, [b, V]."""
    parts = zip(*batch, strict=True)
    ids, types, places = (torch.tensor(part, device=encoder.device) for part in parts)
    view = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}  # [b, T]
    if types.numel():
        view["token_type_ids"] = types
    hidden = encoder(view)  # [b, T, D]
    at_mask = hidden[torch.arange(len(ids), device=ids.device), places]  # [b, D]
    return encoder.mlm_logits(at_mask).float().log_softmax(-1)  # [b, V]
