"""Whether a figure or a table can be shown: inside a Jupyter kernel."""

import sys


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")
