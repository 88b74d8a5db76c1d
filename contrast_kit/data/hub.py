"""Is the Hugging Face hub there? Ask in seconds, and answer in one sentence when it is not."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlparse

# Seconds to wait for an answer: the hub's own clients keep trying for 20 to 50.
PATIENCE = 2.5


class UnusableError(ValueError):
    """What the hub has is no use here, as a sentence of this kit says; `access` passes it on as it is."""


def reachable(timeout: float = PATIENCE) -> bool:
    """True if a connection to the hub can be opened within `timeout` seconds and no one has switched it off.

    `HF_HUB_OFFLINE=1` counts as switched off; `HF_ENDPOINT` names another hub.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return False
    endpoint = urlparse(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    usual = 443 if endpoint.scheme == "https" else 80
    try:
        with socket.create_connection((endpoint.hostname, endpoint.port or usual), timeout=timeout):
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
        raise FileNotFoundError(f"{name!r} is no folder here and the hub cannot be reached; use {local} instead.")


@contextmanager
def access(name: str, *, kind: str, local: str) -> Iterator[None]:
    """Wrap a call to the hub: `require` first, and turn the hub's own long errors into one sentence.

    The arguments and the error are those of `require`.
    """
    require(name, kind=kind, local=local)
    try:
        yield
    except UnusableError:
        raise
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FileNotFoundError(f"The hub has no {kind} {name!r} for us ({reason}); use {local} instead.") from error
