"""Where the files are that come with the kit beside its code: notebooks, recorded tables, trained encoders."""

from pathlib import Path

PACKAGE = Path(__file__).parent
PLACES = {"notebooks": "notebooks", "recorded": "data/recorded", "checkpoints": "data/checkpoints"}
"""What is shipped, and where it lies in a checkout. `setup.py` copies it into the package of a wheel, to `shipped/`."""


def shipped(what: str) -> Path:
    """The folder of one of `PLACES`: that of the checkout in which this package lies, or the installed package's own.

    >>> shipped("recorded").name
    'recorded'
    """
    in_checkout = PACKAGE.parent / PLACES[what]
    installed = PACKAGE / "shipped" / what
    return installed if installed.is_dir() else in_checkout
