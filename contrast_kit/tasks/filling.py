"""Naming a hidden word: what a language model is for, tested in one line."""

import torch

from contrast_kit import arguments, checks
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating


@torch.no_grad()
def fill_rate(encoder: Encoder, texts: list[str], k: int = 5) -> float:
    """How often a hidden token is among the encoder's `k` best guesses; each token of each text is hidden once.

    Args:
        encoder: with a head that names words; its weights stay as they are.
        texts: a few hundred tokens in all, since each token costs one pass of its text through the encoder.
        k: how many guesses count; 1 is accuracy.

    Raises:
        ValueError: if `k` is not between 1 and the number of words, or no token can be hidden.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the kite is red", "a small drum"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> 0 <= ck.tasks.fill_rate(encoder, texts, k=1) < 1
        True
        >>> ck.tasks.fill_rate(encoder, texts, k=len(encoder.tokenizer))
        1.0
    """
    from contrast_kit.data import Texts

    arguments.of_kind("encoder", encoder, Encoder, "an Encoder with a head that names words")
    texts = arguments.strings("texts", texts, "texts")
    checks.count("k", k, "a number of guesses", most=len(encoder.tokenizer))
    batch = Texts(texts, encoder.tokenizer, max_length=min(128, encoder.max_length)).batch(range(len(texts)))
    hits = []
    with evaluating(encoder):
        for place in range(batch["input_ids"].shape[1]):
            rows = batch["maskable"][:, place]  # the texts that have a word there
            if rows.any():
                view = {key: value[rows].to(encoder.device) for key, value in batch.items()}
                hidden = view["input_ids"][:, place].clone()
                view["input_ids"][:, place] = encoder.tokenizer.mask_token_id
                scores = encoder.mlm_logits(encoder(view)[:, place])  # [rows, D] -> [rows, V]
                best = scores.topk(k).indices  # [rows, k]
                hits.append((best == hidden[:, None]).any(1))
    if not hits:
        raise ValueError("These texts have no token that can be hidden.")
    return torch.cat(hits).float().mean().item()
