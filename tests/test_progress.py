"""What one sees while a model trains: a line that grows; and in a notebook a picture once, and a stop button."""

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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_heard_between_two_steps(name, encoder, texts, tmp_path):
    number = getattr(signal, name)
    before = signal.getsignal(number)
    how = dict(callback=lambda run: signal.raise_signal(number), progress=False)
    run = ck.fit(ck.objectives.MLM(encoder), texts, steps=9, folder=tmp_path, **how)
    assert run.interrupted and run.steps == 1 and signal.getsignal(number) == before
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_no_progress_prints_nothing(encoder, texts, capsys):
    ck.fit(ck.objectives.CMLM(encoder), texts, steps=2, progress=False)
    assert capsys.readouterr() == ("", "")


# The callback says that the run has begun, and where; then it is slow enough to be stopped.
STOPPED = """
import os, sys, time, pathlib
sys.path.insert(0, {tests!r})
from conftest import make_encoder
import contrast_kit as ck
texts = ck.data.toyshop.corpus(100, seed=1)
objective = ck.objectives.CMLM(make_encoder(ck.data.train_tokenizer(texts, vocab_size=300)))

def begun(run):
    pathlib.Path({file!r}).write_text(str(os.getpid()))
    time.sleep(0.05)

run = ck.fit(objective, texts, steps=2000, callback=begun)
"""
LOOK = "print(run.interrupted, 1 <= run.steps < 2000, len(run.history) == run.steps)"
DRAW = "from contrast_kit import plots\nplots.circle([[1.0, 0.0]])"
PYPLOT = "import matplotlib.pyplot as plt\n%matplotlib inline"
KEPT = "figure = plots.circle([[1.0, 0.0]])"  # kept, not shown


def press_stop(file):
    """What JupyterLab's stop button does to a kernel on this machine."""
    process = ""
    while not process:  # the file is written anew at every step, and empty for a moment
        time.sleep(0.05)
        process = file.read_text() if file.exists() else ""
    time.sleep(0.3)
    os.kill(int(process), signal.SIGINT)


@pytest.mark.full
def test_a_notebook_stops_a_run_by_its_button_and_shows_a_picture_once(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    file = tmp_path / "begun"
    setup = STOPPED.format(tests=os.fspath(Path(__file__).parent), file=str(file))
    sources = [setup, LOOK, DRAW, PYPLOT, DRAW, KEPT, "figure"]
    threading.Thread(target=press_stop, args=(file,), daemon=True).start()
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert notebook.cells[1].outputs[0]["text"] == "True True True\n"
    pictures = [
        ["image/png" in output.get("data", {}) for output in cell.outputs]
        for cell in notebook.cells[2:]
    ]
    assert pictures == [[True], [], [True], [], [True]]
