"""Files that are not UTF-8, which is reported, or whose text was printed as Python's bytes, which is undone."""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PRINTED_BYTES = re.compile(r"""b(['"]).*\1""", re.DOTALL)


@contextmanager
def in_utf8(file: Path) -> Iterator[None]:
    """Wrap the reading of a file: a ValueError in one sentence if it is not UTF-8."""
    with file.open("rb") as opened:
        head = opened.read(1_000)
    for encoding, at in (("utf-16-be", 0), ("utf-16-le", 1)):  # of English without its mark each byte is UTF-8 as well
        if len(head) > 3 and 2 * head[at::2].count(0) > len(head[at::2]) > 4 * head[1 - at :: 2].count(0):
            raise _not_utf8(file, head.index(0), encoding)
    try:
        yield
    except UnicodeDecodeError as error:
        wide = error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as Excel's "Unicode text" begins
        raise _not_utf8(file, error.start, "utf-16" if wide else "latin-1") from error


def _not_utf8(file: Path, at: int, encoding: str) -> ValueError:
    return ValueError(
        f"{file} is not UTF-8 text (byte {at}): write it anew, for example with "
        f"path.write_text(path.read_text('{encoding}'), 'utf-8')."
    )


def is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON may hold one half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def undo_printed_bytes(texts: Sequence) -> Sequence:
    """Texts that were all printed as bytes, as the text they were: `b'caf\\xc3\\xa9'` was "café"; others as they are.

    A file has such lines where a script wrote `str(line)` of bytes. Only where every text but the empty ones has the
    form is it undone: a lone sentence may well speak of b'…'.

    >>> from contrast_kit.data.utf8 import undo_printed_bytes
    >>> undo_printed_bytes([r"b'caf\\xc3\\xa9'", "", 'b"it\\'s"'])
    ['café', '', "it's"]
    >>> undo_printed_bytes(["b'a'", "the b'a' above"])
    ["b'a'", "the b'a' above"]
    """
    filled = [text for text in texts if text != ""]
    if not filled or not all(isinstance(text, str) and _PRINTED_BYTES.fullmatch(text.strip()) for text in filled):
        return texts
    try:
        return [ast.literal_eval(text.strip()).decode() if text else text for text in texts]
    except (ValueError, SyntaxError):  # a UnicodeDecodeError is a ValueError
        return texts
