"""A tokenizer of RoBERTa's kind, on bytes, for what must not depend on BERT's."""

from tokenizers import ByteLevelBPETokenizer
from transformers import PreTrainedTokenizerFast

from contrast_kit.data.tokenizers import SPECIAL_TOKENS, _frame


def byte_pairs(texts, size):
    """Trained on texts; each special token and a frame as in the kit's own."""
    trained = ByteLevelBPETokenizer(add_prefix_space=True, lowercase=True)
    trained.train_from_iterator(
        texts, size, special_tokens=[*SPECIAL_TOKENS.values()], show_progress=False
    )
    _frame(trained._tokenizer)
    return PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, model_max_length=512, **SPECIAL_TOKENS
    )
