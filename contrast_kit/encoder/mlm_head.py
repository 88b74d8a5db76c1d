"""Leaves with the rewrite of objectives: this name is in `word_head`."""

from contrast_kit.encoder.word_head import remove_bias  # noqa: F401
