"""BLiMP: which of two sentences is English? Asked of a masked language model by pseudo-log-likelihood.

"BLiMP: The Benchmark of Linguistic Minimal Pairs for English" (Warstadt et al. 2020): 67 phenomena of 1,000 pairs that
differ in little but grammar. "Masked Language Model Scoring" (Salazar et al. 2020): a masked model's score of a text is
the sum over its tokens of log P(token | all others), each in a copy of the text with that token masked. "A Better Way
to Do Masked Language Model Scoring" (Kauf and Ivanova 2023): a word of several tokens then scores too high, as each is
easily guessed beside the others, so the later tokens of the word are to be masked with it.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from contrast_kit._util import progress_bar
from contrast_kit.encoder import Encoder
from contrast_kit.tasks.probes import scores_where_hidden

if TYPE_CHECKING:
    from pandas import DataFrame


def blimp(
    encoder: Encoder | Callable[[list[str]], Tensor],
    folder: str | Path,
    *,
    limit: int | None = None,
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
        progress: show a bar.

    Returns:
        a DataFrame with one row per phenomenon, then "all": `field`, `pairs`, `accuracy`. A tie counts half. "all" is
        the mean of the phenomena, as in the paper.
    """
    from pandas import DataFrame

    score = encoder
    if isinstance(encoder, Encoder):
        score = partial(pseudo_log_likelihoods, encoder)
    files = blimp_files(Path(folder).expanduser())
    if not files:
        raise FileNotFoundError(
            f"{folder} holds no .jsonl of BLiMP: name the folder with its 67 files."
        )
    rows = {}
    for file in progress_bar(files, "BLiMP", show=progress):
        lines = file.read_text("utf-8").splitlines()[:limit]
        pairs = [json.loads(line) for line in lines]
        sides = [[pair[f"sentence_{side}"] for pair in pairs] for side in ("good", "bad")]
        good, bad = score(sum(sides, [])).view(2, -1)  # [2 pairs] → [pairs] each
        wins = (good > bad).double() + 0.5 * (good == bad).double()
        rows[file.stem] = (pairs[0].get("field", ""), len(pairs), wins.mean().item())
    names = ["field", "pairs", "accuracy"]
    table = DataFrame.from_dict(rows, orient="index", columns=names)
    table.loc["all"] = "", table["pairs"].sum(), table["accuracy"].mean()
    return table.rename_axis("phenomenon")


def blimp_files(folder: Path) -> list[Path]:
    """BLiMP's files, in this folder or in its `blimp` or `data`; none where they are not there."""
    homes = (folder, folder / "blimp", folder / "data")
    files = (sorted(home.glob("*.jsonl")) for home in homes)
    return next(filter(None, files), [])


def pseudo_log_likelihoods(
    encoder: Encoder, texts: Sequence[str], *, whole_words: bool = False
) -> Tensor:
    """PLL(W) = Σ_t log P(w_t | W without w_t) of each text (Salazar et al. 2020, eq. 1), [N] in float64.

    With `whole_words` the tokens after w_t in its word are masked too (Kauf and Ivanova 2023, "within_word_l2r"), so
    that rare words, which fall into many tokens, are not favoured.

    The denominator of P is the whole vocabulary. Special tokens are not scored. A text longer than the encoder takes is
    cut. `texts` may be pairs.

    Raises ValueError for a text without any word, whose score, a sum of nothing, would be the best there is.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite", "a small drum"], vocab_size=60))
    >>> scores = ck.tasks.standard.pseudo_log_likelihoods(encoder, ["a red kite", "a kite"])
    >>> scores.shape, bool(scores[0] < scores[1] < 0)  # three words cost more than two
    (torch.Size([2]), True)
    """
    totals = []
    for text in texts:
        scores, tokens = scores_where_hidden(encoder, text, whole_words)  # [n, V], [n]
        if not len(tokens):
            raise ValueError(f"A text holds no word to score: {text!r}.")
        log_p = scores.float().log_softmax(-1).double()
        totals.append(log_p.gather(1, tokens.unsqueeze(1)).sum().cpu())
    return torch.stack(totals)
