"""Leaves with the rewrite of objectives and tasks."""

from contrast_kit.encoder.encoder import longest_first  # noqa: F401


def parts_of(text):
    """Both strings of a pair, or a string alone."""
    return [text] if isinstance(text, str) else text


def list_of_texts(texts):
    """Texts as a list, one string as a list of one."""
    return [texts] if isinstance(texts, str) else list(texts)
