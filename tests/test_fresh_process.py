"""What a process has loaded that has only begun, and what works where a library is missing: one process for all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# -S: without what site would load.
CODE = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
before, told = set(sys.modules), {}

def loaded():
    return sorted({name.split(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)

import contrast_kit as ck
told["by the kit"] = loaded()
told["sources"] = [getattr(ck.data, name).__name__ for name in ck.data.LATER]
[getattr(ck, name) for name in ck.__all__]
told["by all rooms"] = loaded()
ck.plots.circle([[1.0, 0.0]])
told["by a picture"] = ["matplotlib" in sys.modules, "matplotlib.pyplot" in sys.modules]

sys.modules["datasets"] = sys.modules["ipywidgets"] = sys.modules["anywidget"] = None
texts = ck.data.Texts(["a ball", "a box"], ck.data.train_tokenizer(["a ball", "a box"], vocab_size=40))
told["batch"] = list(texts.batch(ck.data.Batches(texts, 2).epoch(0)[0])["input_ids"].shape)
try:
    ck.explore.loss_playground()
except ImportError as error:
    told["panel"] = str(error)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told():
    paths = json.dumps([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-S", "-c", CODE, paths], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_the_kit_loads_nothing_but_the_standard_library(told):
    """So a command's help, and the sentence about a library that is missing, come at once."""
    assert told["by the kit"] == ["contrast_kit"]


def test_every_source_of_text_is_there_after_one_import(told):
    names = ("docstrings", "paraphrase", "scenes", "toyshop")
    assert told["sources"] == [f"contrast_kit.data.{name}" for name in names]


def test_no_room_loads_what_only_some_functions_need(told):
    """Beside torch and transformers, which bring libraries of their own."""
    loaded = set(told["by all rooms"])
    assert {"contrast_kit", "torch", "transformers"} <= loaded
    heavy = {
        "anywidget",
        "datasets",
        "IPython",
        "ipywidgets",
        "matplotlib",
        "pandas",
        "plotly",
        "sklearn",
        "umap",
    }
    assert not loaded & heavy, loaded & heavy


def test_matplotlib_sleeps_until_the_first_picture_and_pyplot_through_it(told):
    assert told["by a picture"] == [True, False]


def test_lists_of_strings_need_no_datasets(told):
    assert told["batch"] == [2, 4]


def test_the_kit_loads_without_widgets_and_a_panel_says_what_to_install(told):
    assert "pip install 'contrast-kit[notebooks]'" in told["panel"]
