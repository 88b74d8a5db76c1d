"""A JupyterLab and a Chromium for the tests, and what one does there: open a notebook, run it, ask its kernel."""

import ast
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])),
    None,
)
FLAGS = [
    "--no-sandbox",  # containers run as root
    *("--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SECONDS_TO_START, SECONDS_TO_RUN = 60, 300

# Every cell exists in the page also while it is off screen, and nothing asks the network or the reader.
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}

MARKS = [
    pytest.mark.browser,
    pytest.mark.full,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium found (on Debian: apt install chromium)"
    ),
]


def notebook(*cells: str) -> dict[str, Any]:
    """A notebook of code cells, as it stands in a file."""
    blank = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    made = [
        blank | {"id": f"c{i}", "source": textwrap.dedent(cell).strip()}
        for i, cell in enumerate(cells)
    ]
    return {
        "cells": made,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def lab(home: Path) -> Iterator[str]:
    """The address of a JupyterLab on the folder `notebooks` in `home`, that shares no file with the reader's own."""
    for name, values in SETTINGS.items():
        path = home / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env = os.environ | {name: str(home / folder) for name, folder in own.items()}
    env.pop(
        "MPLBACKEND", None
    )  # the kernel chooses its own, which shows figures in the page
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
    ]
    command += [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
    ]
    command += [f"--ServerApp.root_dir={home / 'notebooks'}"]
    log = home / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, env=env, cwd=home, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not answers(f"{address}/api/status"):
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()[
                -2000:
            ]
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium that is closed afterwards."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        yield p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


KERNEL = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
IDLE = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
RUN = """() => {
    const run = async () => {
        await jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
        await jupyterapp.commands.execute('notebook:run-all-cells');
        window.allRun = true;
    };
    run();
}"""
CELLS = "() => jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.toJSON())"
HEIGHT = "() => document.querySelector('.jp-NotebookPanel .jp-WindowedPanel-inner')?.scrollHeight ?? 0"
BROKEN = "() => [...document.querySelectorAll('.jp-OutputArea img')].filter(i => !i.naturalWidth).length"

# What one would see in the notebook's next cell.
ASK = """async expression => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const asked = {code: 'pass', store_history: false, user_expressions: {told: expression}};
    const told = (await kernel.requestExecute(asked).done).content.user_expressions.told;
    return told.data ? told.data['text/plain'] : told.ename + ': ' + told.evalue;
}"""


def opened(address: str, chromium: Any, name: str) -> tuple[Any, list[str]]:
    """The notebook in a page, run from top to bottom, and what the page has complained of."""
    page = chromium.new_page(viewport={"width": 1300, "height": 1000})
    complaints = []
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(error.stack))
    page.goto(f"{address}/lab/tree/{name}?reset", timeout=1000 * SECONDS_TO_START)
    page.wait_for_function(IDLE, timeout=1000 * SECONDS_TO_START)
    page.evaluate(RUN)
    page.wait_for_function("() => window.allRun", timeout=1000 * SECONDS_TO_RUN)
    page.wait_for_function(IDLE, timeout=1000 * SECONDS_TO_START)
    cells = [
        cell
        for cell in page.evaluate(CELLS)
        if cell["cell_type"] == "code" and cell["source"]
    ]
    assert cells
    for cell in cells:
        source = "".join(cell["source"])[:80]
        failed = [
            each["evalue"] for each in cell["outputs"] if each["output_type"] == "error"
        ]
        expected = "raises-exception" in cell["metadata"].get("tags", [])
        assert bool(failed) == expected, f"error in {source!r}: {failed}"
        assert cell["execution_count"], f"not run: {source!r}"
    assert page.evaluate(BROKEN) == 0, "a picture could not be shown"
    assert page.get_by_text("Error displaying widget").count() == 0
    return page, complaints


def tall(page: Any) -> None:
    """Make the page as tall as the notebook, so that one picture shows all of it."""
    page.set_viewport_size(
        {"width": 1300, "height": min(200 + page.evaluate(HEIGHT), 16000)}
    )
    page.wait_for_timeout(500)


def ask(page: Any, expression: str) -> Any:
    """A Python expression's value in the kernel."""
    return ast.literal_eval(page.evaluate(ASK, expression))


def eventually(
    page: Any, happened: Callable[[], Any], what: str, seconds: float = 15
) -> Any:
    """The first true answer of `happened()`, asked again and again."""
    deadline = time.monotonic() + seconds
    while not (value := happened()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        page.wait_for_timeout(50)
    return value
