"""What the reader sees: a coloured sign and a sentence in Jupyter, the same words as plain text everywhere else."""

import html
import re
import sys
from dataclasses import dataclass
from typing import Any

SIGNS: dict[bool | None, tuple[str, str]] = {
    True: ("✓", "#2b8a3e"),
    False: ("✗", "#e03131"),
    None: ("·", "#868e96"),
}
"""For right, wrong and no answer yet: a sign, and a colour that stands out on white and on black."""


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@dataclass(frozen=True)
class Verdict:
    """The result of `judge`: `right` is None where there is no answer yet."""

    name: str
    right: bool | None
    text: str

    def __str__(self) -> str:
        return f"{SIGNS[self.right][0]} {self.name}: {self.text}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        colour = SIGNS[self.right][1]
        page = (
            f'<div style="border-left:4px solid {colour};padding:.1em .8em">{sign(self.right)} '
            f"<b>{html.escape(self.name)}</b>: {marked_up(self.text)}</div>"
        )
        return {"text/plain": str(self), "text/html": page}


def sign(right: bool | None) -> str:
    """The coloured sign as HTML."""
    character, colour = SIGNS[right]
    return f'<b style="color:{colour}">{character}</b>'


def marked_up(text: str) -> str:
    """Plain text as HTML; what stands in `backticks` is code, and what stands in *stars* is stressed.

    >>> from contrast_kit.exercises._verdict import marked_up
    >>> marked_up("*All* of `a < b`: 2 * x * y.")
    '<em>All</em> of <code>a &lt; b</code>: 2 * x * y.'
    """
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"(?<![\w*])\*(?=\S)([^*<>]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", text)


def show(verdict: Verdict) -> None:
    """Display it in a notebook, print it elsewhere."""
    if in_notebook():
        from IPython.display import display

        display(verdict)
    else:
        print(verdict)
