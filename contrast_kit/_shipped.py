"""Where to find the files that come with the kit besides its code: notebooks, recorded tables, trained encoders."""

from pathlib import Path

PACKAGE = Path(__file__).parent
PLACES = {
    "notebooks": "notebooks",
    "recorded": "data/recorded",
    "checkpoints": "data/checkpoints",
    "papers": "data/papers",
}
"""What is shipped, and where it lies in a checkout. `setup.py` copies it into the package of a wheel, to `shipped/`."""


def shipped(what: str) -> Path:
    """The folder of one of `PLACES`: in the checkout that holds this package, or in the installed package itself.

    >>> shipped("recorded").name
    'recorded'
    """
    in_checkout = PACKAGE.parent / PLACES[what]
    installed = PACKAGE / "shipped" / what
    return installed if installed.is_dir() else in_checkout
