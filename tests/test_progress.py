"""What one sees while a model trains: a line in a terminal; in a notebook a line, a figure, and a stop button."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import contrast_kit as ck


def test_a_terminal_shows_steps_and_every_part(encoder, texts, capsys):
    ck.fit(ck.objectives.CMLM(encoder), texts, steps=7, log_every=3)
    lines = capsys.readouterr().err.replace("\n", "\r").split("\r")
    last = [line for line in lines if line.strip()][-1]
    assert "7/7" in last
    assert all(f"{part}=" in last for part in ("loss", "mlm", "contrast"))


def test_no_progress_prints_nothing(encoder, texts, capsys):
    ck.fit(ck.objectives.CMLM(encoder), texts, steps=2, progress=False)
    assert capsys.readouterr() == ("", "")


SETUP = """
import os, sys, time, pathlib
sys.path.insert(0, {tests!r})
from conftest import make_encoder
import contrast_kit as ck
from contrast_kit.data import toyshop
texts = toyshop.corpus(100, seed=1)
objective = ck.objectives.CMLM(make_encoder(ck.data.train_tokenizer(texts, vocab_size=300)))
"""

TRAIN = "run = ck.fit(objective, texts, steps=9, log_every=2, live=True)"

# The callback says that the run has begun, and where; then it is slow enough to be stopped.
STOPPED = """
def begun(run):
    pathlib.Path({file!r}).write_text(str(os.getpid()))
    time.sleep(0.05)

run = ck.fit(objective, texts, steps=2000, callback=begun)
"""


def press_stop(file):
    """What JupyterLab's stop button does to a kernel on this machine."""
    give_up, process = time.monotonic() + 100, ""
    while not process:  # the file is written anew at every step, and empty for a moment
        time.sleep(0.05)
        assert time.monotonic() < give_up
        process = file.read_text() if file.exists() else ""
    time.sleep(0.3)
    os.kill(int(process), signal.SIGINT)


PYPLOT = "'matplotlib.pyplot' in sys.modules"
DRAW = "from contrast_kit import plots\nplots.circle([[1.0, 0.0]])"
KEPT = "figure = plots.circle([[1.0, 0.0]])"  # kept, not shown


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The cells of a notebook that was run: a training, one that is stopped, pictures without and with pyplot."""
    import nbformat
    from nbclient import NotebookClient

    file = tmp_path_factory.mktemp("run") / "begun"
    setup = SETUP.format(tests=os.fspath(Path(__file__).parent))
    look = "print(run.interrupted, 1 <= run.steps < 2000, len(run.history) == run.steps)"
    sources = [setup, TRAIN, STOPPED.format(file=str(file)), look, PYPLOT, DRAW]
    sources += ["import matplotlib.pyplot as plt\n%matplotlib inline", DRAW, KEPT, "figure"]
    presses = threading.Thread(target=press_stop, args=(file,))
    presses.start()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    presses.join()
    return notebook.cells


def test_a_notebook_shows_one_line_and_one_figure_and_its_stop_button_returns_the_run(cells):
    shown = [output["data"] for output in cells[1].outputs if "data" in output]
    lines = [data["text/plain"] for data in shown if "image/png" not in data]
    assert sum("image/png" in data for data in shown) == 1  # one figure that grew, not one for each step
    assert len(lines) == 1 and "9/9" in lines[0]
    assert all(part in lines[0] for part in ("loss", "mlm", "contrast"))
    assert cells[3].outputs[0]["text"] == "True True True\n"


def test_a_notebook_shows_a_picture_once_with_and_without_pyplot(cells):
    assert cells[4].outputs[0]["data"]["text/plain"] == "False"
    pictures = [["image/png" in output.get("data", {}) for output in cell.outputs] for cell in cells[5:]]
    assert pictures == [[True], [], [True], [], [True]]
