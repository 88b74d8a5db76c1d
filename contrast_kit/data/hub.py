"""Is the Hugging Face hub there? Ask in seconds, and answer in one sentence when it is not."""

import os
import socket
from urllib.parse import urlparse

# Seconds to wait for an answer: the hub's own clients keep trying for 20 to 50.
PATIENCE = 2.5


def reachable(timeout: float = PATIENCE) -> bool:
    """True if a connection to the hub can be opened within `timeout` seconds and no one has switched it off.

    `HF_HUB_OFFLINE=1` counts as switched off; `HF_ENDPOINT` names another hub.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return False
    endpoint = urlparse(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    usual = 443 if endpoint.scheme == "https" else 80
    try:
        with socket.create_connection(
            (endpoint.hostname, endpoint.port or usual), timeout=timeout
        ):
            return True
    except OSError:
        return False


def cached(name: str, kind: str) -> bool:
    """True if some revision of this model or data set already lies in the hub's local cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = f"{kind}s--" + name.replace("/", "--")
    snapshots = os.path.join(HF_HUB_CACHE, folder, "snapshots")
    return os.path.isdir(snapshots) and bool(os.listdir(snapshots))


def require(name: str, *, kind: str, local: str) -> None:
    """Raise at once where `name` is neither cached nor to be had from the hub, and name what works offline.

    Args:
        name: what the caller wants, as the hub spells it.
        kind: `"model"` or `"dataset"`.
        local: what the caller could use instead, in words.

    Raises:
        FileNotFoundError: one sentence.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> with mock.patch.dict(os.environ, HF_HUB_OFFLINE="1"):
        ...     require("no/such-model", kind="model", local="a folder")
        Traceback (most recent call last):
        FileNotFoundError: 'no/such-model' is no folder here and the hub cannot be reached; use a folder instead.
    """
    if not cached(name, kind) and not reachable():
        raise FileNotFoundError(
            f"{name!r} is no folder here and the hub cannot be reached; use {local} instead."
        )
