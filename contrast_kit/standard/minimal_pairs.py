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
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit._warn import warn
from contrast_kit.data.texts import special_ids
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.encoder.inputs import list_of_texts

if TYPE_CHECKING:
    from pandas import DataFrame
    from transformers import BatchEncoding

Copy = tuple[tuple[int, ...], tuple[int, ...]]
"""A text with tokens masked: its ids, and its token types where the tokenizer makes them."""

METRICS = ("original", "within_word_l2r")
"""What is masked beside the token that is scored: nothing, or the tokens after it in its word, from left to right."""


def blimp(
    encoder: Encoder | Callable[[list[str]], Tensor],
    folder: str | Path,
    *,
    limit: int | None = None,
    phenomena: str | Sequence[str] | None = None,
    metric: str = "original",
    batch_size: int = 256,
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
        phenomena: names of files, or one; by default all.
        metric: for an encoder, "original" or "within_word_l2r", as in `pseudo_log_likelihoods`.
        batch_size: masked copies at once, for an encoder. progress: show a bar.

    Returns:
        a DataFrame with one row per phenomenon, then "all": `field`, `pairs`, `accuracy`. A tie counts half. "all" is
        the mean of the phenomena, as in the paper.

    Raises:
        FileNotFoundError: no such folder, or no such phenomenon in it. ValueError: a line that is not a pair, or a
            function that does not give one score per text. TypeError: neither an encoder nor a function, or phenomena
            that are not named by strings.
    """
    from pandas import DataFrame
    from tqdm.auto import tqdm

    if limit is not None:
        checks.count("limit", limit, "a number of pairs")
    checks.choice("metric", metric, METRICS)
    checks.switch("progress", progress)
    folder = arguments.path("folder", folder, "where BLiMP's files are")
    if not isinstance(encoder, Encoder) and (isinstance(encoder, torch.nn.Module) or not callable(encoder)):
        raise TypeError(f"BLiMP is asked of an Encoder, or of a function of texts, not of {type(encoder).__name__}.")
    if metric != METRICS[0] and not isinstance(encoder, Encoder):
        raise ValueError(f"metric={metric!r} says how an Encoder is asked; a function scores texts in its own way.")
    of_words = partial(pseudo_log_likelihoods, encoder, batch_size=batch_size, metric=metric)
    score, rows = of_words if isinstance(encoder, Encoder) else encoder, []
    for file in tqdm(_files(folder, phenomena), "BLiMP", disable=not progress):
        pairs, field = _pairs(file, limit)
        scores = score([text for pair in pairs for text in pair])
        if not isinstance(scores, Tensor) or scores.shape != (2 * len(pairs),) or scores.isnan().any():
            raise ValueError(
                f"A function that scores texts must give one number per text, a tensor [{2 * len(pairs)}]."
            )
        scores = scores.view(-1, 2)  # [2 pairs] → [pairs, 2]
        good = (scores[:, 0] > scores[:, 1]).double() + 0.5 * (scores[:, 0] == scores[:, 1]).double()  # [pairs]
        rows.append({"phenomenon": file.stem, "field": field, "pairs": len(pairs), "accuracy": good.mean().item()})
    table = DataFrame(rows)
    whole = {"phenomenon": "all", "field": "", "pairs": table["pairs"].sum(), "accuracy": table["accuracy"].mean()}
    return DataFrame([*rows, whole]).set_index("phenomenon")


@torch.no_grad()
def pseudo_log_likelihoods(
    encoder: Encoder, texts: Sequence[str], batch_size: int = 256, *, metric: str = "original"
) -> Tensor:
    """PLL(W) = Σ_t log P(w_t | W without w_t) of each text (Salazar et al. 2020, eq. 1), [N] in float64.

    With `metric="within_word_l2r"` the tokens after w_t in its word are masked too (Kauf and Ivanova 2023), so that
    rare words, which fall into many tokens, are not favoured.

    The denominator of P is the whole vocabulary. Special tokens are not scored. A copy that two texts share, as
    minimal pairs often do at the word in which they differ, is computed once. Copies of one length are computed
    together, so none is padded. A text longer than the encoder takes is cut, with a warning. `texts` may be pairs.

    Raises ValueError or TypeError for what is not a list of texts, and ValueError for a text without any word, whose
    score, a sum of nothing, would be the best there is; within words, also for a tokenizer that does not tell them.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite", "a small drum"], vocab_size=60))
    >>> scores = ck.standard.pseudo_log_likelihoods(encoder, ["a red kite", "a kite"])
    >>> scores.shape, bool(scores[0] < scores[1] < 0)  # three words cost more than two
    (torch.Size([2]), True)
    """
    arguments.of_kind("encoder", encoder, Encoder, "an Encoder")
    checks.count("batch_size", batch_size, "a number of masked copies")
    checks.choice("metric", metric, METRICS)
    texts = list_of_texts(texts)
    special, mask = set(special_ids(encoder.tokenizer)), encoder.tokenizer.mask_token_id
    asked: dict[Copy, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    encoded = encoder.tokenizer(texts, truncation=True, max_length=encoder.max_length)
    full = [len(ids) == encoder.max_length for ids in encoded["input_ids"]]
    _warn_of_cuts(encoder, [text for text, at_limit in zip(texts, full, strict=True) if at_limit])
    kinds = encoded.get("token_type_ids") or [()] * len(texts)
    for text, (ids, types) in enumerate(zip(encoded["input_ids"], kinds, strict=True)):
        words = _words(encoded, text) if metric == "within_word_l2r" else range(len(ids))
        if not set(ids) - special:
            raise ValueError(f"Text {text} holds no word to score: {checks.shown(texts[text])}.")
        for place, token in enumerate(ids):
            if token not in special:
                after = (mask if words[i] == words[place] else ids[i] for i in range(place, len(ids)))
                asked[(*ids[:place], *after), tuple(types)][place].append((text, token))
    copies = sorted(((copy, place) for copy, places in asked.items() for place in places), key=lambda c: len(c[0][0]))
    totals = torch.zeros(len(texts), dtype=torch.float64)
    with evaluating(encoder):
        for chosen in _of_one_length(copies, batch_size):
            ids, types = (torch.tensor([copy[i] for copy, _ in chosen], device=encoder.device) for i in (0, 1))
            places = torch.tensor([place for _, place in chosen], device=encoder.device)
            view = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}  # [b, T]
            hidden = encoder(view | ({"token_type_ids": types} if types.numel() else {}))  # [b, T, D]
            at_mask = hidden[torch.arange(len(ids), device=ids.device), places]  # [b, D]
            log_p = checks.floats(encoder.mlm_logits(at_mask), "logits").log_softmax(-1)  # [b, V]
            wanted = [(row, *found) for row, copy in enumerate(chosen) for found in asked[copy[0]][copy[1]]]
            rows, of, tokens = (torch.tensor(each) for each in zip(*wanted, strict=True))
            totals.index_add_(0, of, log_p.cpu()[rows, tokens].double())
    return totals


def _words(encoded: "BatchEncoding", text: int) -> list[tuple[int | None, int | None]]:
    """Which word each token of a text belongs to, by the tokenizer's own account: (side of a pair, word of it)."""
    if not encoded.is_fast:
        raise ValueError('This tokenizer does not tell which tokens make a word: take metric="original".')
    return list(zip(encoded.sequence_ids(text), encoded.word_ids(text), strict=True))


def _of_one_length(copies: list[tuple[Copy, int]], size: int) -> list[list[tuple[Copy, int]]]:
    batches: list[list] = []
    for copy in copies:
        if not batches or len(batches[-1]) == size or len(batches[-1][0][0][0]) != len(copy[0][0]):
            batches.append([])
        batches[-1].append(copy)
    return batches


def _warn_of_cuts(encoder: Encoder, full: list) -> None:
    """Warn of texts that are longer than the encoder takes, among those that fill it."""
    lengths = map(len, encoder.tokenizer(full, verbose=False)["input_ids"]) if full else ()
    if cut := sum(length > encoder.max_length for length in lengths):
        warn(f"{cut} texts are longer than {encoder.max_length} tokens: what the encoder does not take is not scored.")


def _files(folder: Path, phenomena: str | Sequence[str] | None) -> list[Path]:
    found: dict[str, Path] = {}
    for home in (folder, folder / "blimp", folder / "data"):
        found |= {file.stem: file for file in sorted(home.glob("*.jsonl"))} if not found else {}
    if not found:
        raise FileNotFoundError(f"{folder} holds no .jsonl of BLiMP: name the folder with its 67 files.")
    names = [phenomena] if isinstance(phenomena, str) else () if phenomena is None else phenomena
    wanted = dict.fromkeys(arguments.strings("phenomena", names, "names of BLiMP's files"))  # each once
    lacking = [name for name in wanted if name not in found]
    if lacking:
        raise FileNotFoundError(f"There is no phenomenon {lacking[0]!r} in {folder}; there are {', '.join(found)}.")
    return [found[name] for name in wanted or found]


def _pairs(file: Path, limit: int | None) -> tuple[list[tuple[str, str]], str]:
    pairs, field = [], ""
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if limit is not None and len(pairs) == limit:
                break
            try:
                row = json.loads(line)
                pairs.append((row["sentence_good"], row["sentence_bad"]))
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                raise ValueError(f"Line {number} of {file} is no minimal pair ({error}).") from error
            field = row.get("field", "")
    if not pairs:
        raise ValueError(f"{file} holds no minimal pair.")
    return pairs, field
