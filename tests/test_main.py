"""`python -m contrast_kit`: options from dataclasses, runs that continue, sentences instead of tracebacks."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

import pandas as pd
import pytest
import torch

import contrast_kit as ck
from contrast_kit.__main__ import main
from contrast_kit.commands import options, recipes, train
from contrast_kit.objectives import METHODS

QUICK = ["--batch-size", "8", "--words", "300", "--limit", "60", "--no-plan", "--quiet"]


def command(method, data, folder=None, *more):
    """A short training as a list of words."""
    words = ["train", method, "--data", str(data), *QUICK, *more]
    return words if folder is None else [*words, "--folder", str(folder)]


@pytest.fixture
def lines(tmp_path, texts):
    """The texts as a file."""
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(texts))
    return str(file)


def test_help_names_the_commands_and_the_methods(capsys):
    assert main(["--help"]) == main([]) == 0
    told = capsys.readouterr().out
    assert all(
        f"\n  {command} " in told for command in ("lab", "train", "evaluate", "check")
    )
    with pytest.raises(SystemExit) as end:
        main(["evaluate", "--help"])
    assert end.value.code == 0 and "CONTRAST_KIT_REAL_DATA" in capsys.readouterr().out
    assert main(["train", "--help"]) == 0
    told = capsys.readouterr().out
    assert all(method in told for method in METHODS)
    assert "accelerate launch -m contrast_kit train" in told


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_of_a_method_has_an_option_with_its_reason(method, capsys):
    with pytest.raises(SystemExit):
        main(["train", method, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    config = METHODS[method].Config
    for name in {*config.__dataclass_fields__, *ck.Training.__dataclass_fields__} - {
        "classes"
    }:
        assert re.search(f" --{name.replace('_', '-')}[ ,]", told)
    missing = {
        name
        for cls in (config, ck.Training)
        for name in cls.__dataclass_fields__
        if not options.field_docs(cls).get(name)
    }
    assert not missing


MINE = """
from dataclasses import dataclass
from contrast_kit.objectives import CAPT, Objective, SimCSE

@dataclass(frozen=True)
class MineConfig(SimCSE.Config):
    tau: float = 0.3

class Mine(SimCSE):
    Config = MineConfig

class Queued(CAPT):
    pass

class Plain(Objective):
    Config = MineConfig
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of one's own, in the folder where the command runs."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    yield
    sys.modules.pop("mine", None)


def test_an_objective_of_one_s_own_trains_by_its_module_and_class(
    mine, lines, tmp_path, capsys
):
    folder = tmp_path / "run"
    words = command("mine:Mine", lines, folder, "--steps", "2")
    assert main(words) == 0 and "Mine: 2 of 2 steps" in capsys.readouterr().out
    assert train.parse(["mine:Mine", "--tau", "0.2"]).config == {"tau": 0.2}
    with pytest.raises(SystemExit):
        main(["train", "mine:Mine", "--help"])
    told = capsys.readouterr().out  # neither class nor fields have a docstring
    assert (
        "the method (Mine)" in told
        and "--tau VALUE" in told
        and "none of the kit's" in " ".join(told.split())
    )


@pytest.mark.parametrize("scale", recipes.SCALES)
def test_an_objective_of_one_s_own_has_the_recipe_of_its_nearest_base(mine, scale):
    for name, method in (("Mine", "simcse"), ("Queued", "capt"), ("Plain", "simcse")):
        found, known = (
            recipes.recipe(f"mine:{name}", scale),
            recipes.recipe(method, scale),
        )
        assert found.training == known.training and found.encoder == known.encoder
        assert found.config == known.config and found.ours != known.ours


def test_given_options_override_the_recipe():
    asked = train.parse(
        [
            "cmlm",
            "--scale",
            "small",
            "--lr",
            "1e-3",
            "--tau",
            "0.2",
            "--stop-gradient",
            "False",
        ]
    )
    assert asked.training == {"batch_size": 512, "steps": 2000, "lr": 1e-3}
    assert asked.config == {
        "contrast": "info_nce",
        "tau": 0.2,
        "contrast_weight": 1.0,
        "stop_gradient": False,
    }
    assert train.parse(["mlm", "--epochs", "2"]).training["steps"] is None


def test_a_stopped_run_continues_to_the_same_weights_as_an_unbroken_one(
    lines, tmp_path, capsys, monkeypatch
):
    def go(name):
        return main(
            command("cmlm", lines, tmp_path / name, "--steps", "6", "--save-every", "2")
        )

    assert go("unbroken") == 0
    assert "ck.Encoder.from_pretrained" in capsys.readouterr().out
    stop_at(monkeypatch, 3)
    assert go("broken") == 0
    told = capsys.readouterr().out
    assert "Stopped after step 3" in told and "The encoder is in" in told
    assert ck.Encoder.from_pretrained(tmp_path / "broken" / "encoder").pretrained
    monkeypatch.undo()
    assert go("broken") == 0
    assert "Going on from" in capsys.readouterr().out
    first, second = (
        ck.Encoder.from_pretrained(tmp_path / run / "encoder")
        for run in ("unbroken", "broken")
    )
    assert all(
        torch.equal(a, b)
        for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )
    history = pd.read_csv(tmp_path / "broken" / "history.csv")
    assert list(history["step"]) == [1, 2, 3, 4, 5, 6]
    assert first.pooling == "mean"


def stop_at(monkeypatch, step):
    """Stop the run at a step, as Ctrl-C does."""
    fit = ck.fit

    def stop(run):
        if run.steps == step:
            run.stop()

    monkeypatch.setattr(ck, "fit", lambda *args, **how: fit(*args, callback=stop, **how))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains(method, lines, tmp_path):
    data = "toyshop/sst2" if method in ("scl", "fine-tune") else lines
    assert main(command(method, data, tmp_path / "run", "--steps", "2")) == 0
    assert ck.Encoder.from_pretrained(tmp_path / "run" / "encoder").width == 128


@pytest.mark.parametrize("method", ["simcse", "scl"])
def test_columns_of_any_name_are_read_where_named(method, tmp_path, capsys):
    rows = [
        f"it is a {'fine' if i % 2 else 'dull'} kite number {i},{'good' if i % 2 else 'bad'}"
        for i in range(40)
    ]
    (tmp_path / "mine.csv").write_text("\n".join(["review,mood", *rows]))
    (tmp_path / "mine.csv").open("a").write("\n,good\n ,bad\n")
    words = command(method, tmp_path / "mine.csv", None, "--words", "90", "--steps", "2")
    words += ["--label", "mood", "--limit", "42"]
    assert main([*words, "--columns", "review"]) == 0
    assert "2 rows hold no text and are left out." in capsys.readouterr().out
    assert main([*words, "--limit", "30", "--columns", "review"]) == 0
    assert "Reading the first 30 of 42 texts (--limit)." in capsys.readouterr().out
    assert main([*words, "--columns", "reviews"]) == 1
    told = capsys.readouterr().err
    assert "no column 'reviews'; the columns are review" in told


def test_a_command_that_failed_leaves_no_vocabulary_of_other_text(tmp_path):
    (tmp_path / "mine.csv").write_text(
        "".join(
            ["said,thought\n", *(f"a red kite {i},the blue drum {i}\n" for i in range(9))]
        )
    )
    words = command("simcse", tmp_path / "mine.csv", tmp_path / "run", "--steps", "1")
    assert main([*words, "--columns", "thought", "--lr", "-1"]) == 1
    assert main([*words, "--columns", "said"]) == 0
    known = ck.Encoder.from_pretrained(tmp_path / "run" / "encoder").tokenizer.get_vocab()
    assert "kite" in known and "drum" not in known


def test_a_run_from_a_checkpoint_has_defaults_that_keep_it(tmp_path):
    folder, again, start = (
        tmp_path / "run",
        tmp_path / "again",
        str(tmp_path / "run" / "encoder"),
    )
    assert main(["train", "mlm", *QUICK, "--steps", "1", "--folder", str(folder)]) == 0
    assert (
        main(command("cmlm", "toyshop/text", again, "--steps", "1", "--start", start))
        == 0
    )
    state = json.loads(next(again.glob("step-*/state.json")).read_text())["settings"]
    assert state["training"]["lr"] == 2e-5 and state["training"]["warm_heads"] == 0.1
    assert (
        state["config"]["contrast"] == "simsiam"
    )  # the paper's, where the notebooks take info_nce


def test_cssl_does_not_train_on_texts_that_nobody_rewords(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text(
        "\n".join(f"Page {i} says nothing new." for i in range(40))
    )
    assert main(command("cssl", tmp_path / "mine.txt", None, "--steps", "1")) == 1
    assert (
        "has other words for none of these texts: give a table" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere/at/all.txt"], "There is no file or folder"),
        (
            ["--part", "dress"],
            "no split (--part) 'dress'; there are train. The files of a folder",
        ),
        (["--tau", "-1"], "tau must be a temperature"),
    ],
)
def test_an_error_is_one_sentence(arguments, words, lines, capsys):
    assert main(command("cmlm", lines, None, "--steps", "1", *arguments)) == 1
    told = capsys.readouterr().err
    assert words.format(lines=lines) in told and len(told.strip().splitlines()) == 1


def test_a_folder_of_another_run_is_refused(lines, tmp_path, capsys):
    words = command("mlm", lines, tmp_path / "run", "--steps", "1")
    assert main(words) == 0
    assert main([*words, "--fresh"]) == 1
    told = capsys.readouterr().err
    assert (
        "already holds step-00000001" in told
        and "on the command line without --fresh" in told
    )


def test_other_settings_are_told_before_a_plan_by_the_names_of_their_options(
    lines, tmp_path, capsys
):
    words = command("cmlm", lines, tmp_path, "--steps", "1")
    assert main(words) == 0
    words.remove("--no-plan")
    for more in ("--tau 0.3", "--batch-size 6", "--pooling first", "--data toyshop/text"):
        capsys.readouterr()
        assert main([*words, *more.split(), "--save-every", "7"]) == 1
        told = capsys.readouterr()
        assert f"was made with {more.split()[0]} " in told.err
        assert "negatives" not in told.out


def test_a_finished_run_asked_for_again_changes_no_file(lines, tmp_path, capsys):
    words = command("simcse", lines, tmp_path, "--steps", "2")
    found = []
    for more in ([], [], ["--chunk-size", "4"]):
        assert main([*words, *more]) == 0 and "2 of 2 steps" in capsys.readouterr().out
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        found.append({path: path.stat().st_mtime_ns for path in files})
    assert found[0] == found[1] == found[2]
    (tmp_path / "history.csv").unlink()  # as of a run that was killed while it saved
    assert main(words) == 0 and (tmp_path / "history.csv").is_file()


OLD_TERMINAL = """
import sys, warnings
import contrast_kit as ck
from contrast_kit.__main__ import main
warnings.filterwarnings("error", category=EncodingWarning, module="contrast_kit")
folder, quick = sys.argv[1], sys.argv[2:]
run = ["train", "cmlm", "--folder", folder, "--steps", "2", *quick]
for words in (["--help"], ["train", "--help"], ["check"], run):
    assert main(words) == 0, words
ck.data.scenes.pictures()
"""


@pytest.mark.full
def test_in_an_old_encoding_all_is_said_and_kept(tmp_path):
    """Redirected to cp1252, which has no arrow; and nothing is read or written in the locale's encoding."""
    old = os.environ | {"PYTHONIOENCODING": "cp1252"}
    program = ["-X", "warn_default_encoding", "-c", OLD_TERMINAL, str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, *program, *QUICK], env=old, capture_output=True
    )
    told = done.stdout.decode("cp1252")
    assert done.returncode == 0, done.stderr.decode("cp1252")
    assert "loss" in told and r"\u2192" in told  # → in the report of the run
    assert "No --data: this trains on toyshop/text" in told
    assert ck.Encoder.from_pretrained(tmp_path / "run" / "encoder").width == 128


def test_check_reports(capsys):
    assert main(["check"]) == 0
    assert "Everything needed is here." in capsys.readouterr().out


def torch_launcher():
    from torch.distributed import run

    run.main()


def accelerate_launcher():
    from accelerate.commands import launch

    launch.main()


@contextlib.contextmanager
def as_it_was(monkeypatch):
    """What a launcher changes in a process of its own, changed back: who hears signals, and the environment."""
    heard = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with monkeypatch.context() as patch:
        environment = os.environ.copy()
        try:
            yield patch
        finally:
            os.environ.clear()
            os.environ.update(environment)
            for number, handler in heard.items():
                if signal.getsignal(number) != handler:
                    signal.signal(number, handler)


LAUNCHED = """
import sys
import torch
import contrast_kit as ck
from contrast_kit.__main__ import main

def go(arguments):
    torch.set_num_threads(1)  # a copy of this process cannot use the threads that this one has started
    if main(arguments):
        raise SystemExit(1)

if __name__ == "__main__":
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite", "a drum"], vocab_size=60))
    ck.fit(ck.objectives.MLM(encoder), ["a red kite", "a drum"], steps=1, progress=False)  # alone, before
    from accelerate import notebook_launcher
    notebook_launcher(go, (sys.argv[1:],), num_processes=2, use_port="{port}")
"""


@pytest.mark.full
def test_a_run_is_the_same_however_it_is_launched(lines, tmp_path, monkeypatch, capfd):
    """By itself, by torchrun, by accelerate and from a notebook; on a CPU accelerate starts one process."""
    quick = command("cmlm", lines, None, "--steps", "4", "--lr", "1e-3", "--seed", "3")
    (tmp_path / "launched.py").write_text(LAUNCHED.format(port=free_port()))
    for name, value in {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    program = [sys.executable, str(tmp_path / "launched.py"), *quick]
    notebook = subprocess.Popen(
        [*program, "--folder", str(tmp_path / "notebook")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert main([*quick, "--folder", str(tmp_path / "alone")]) == 0
    # The launchers themselves run here, as their commands would call them; what they start are processes.
    kit, said = ["-m", "contrast_kit", *quick, "--folder"], {}
    here = {
        "torchrun": (
            torch_launcher,
            ["--nproc-per-node", "2", "--master-port", str(free_port())],
        ),
        "accelerate": (accelerate_launcher, ["--cpu", "--num_processes", "1"]),
    }
    for way, (launch, given) in here.items():
        capfd.readouterr()
        with as_it_was(monkeypatch) as patch:
            patch.setattr(sys, "argv", [way, *given, *kit, str(tmp_path / way)])
            launch()
        said[way] = "".join(capfd.readouterr())
    said["notebook"] = notebook.communicate(timeout=280)[0]
    assert notebook.returncode == 0, said["notebook"]
    for way, words in said.items():
        assert words.count("4 of 4 steps") == 1, (way, words)  # the first process speaks
    histories = {
        way: pd.read_csv(tmp_path / way / "history.csv") for way in ("alone", *said)
    }
    first = histories["alone"]["loss"]
    assert list(histories["accelerate"]["loss"]) == pytest.approx(
        list(first), rel=1e-5
    )  # other threads round otherwise
    for way in (
        "torchrun",
        "notebook",
    ):  # the same texts and masks; dropout is drawn by each process
        assert list(histories[way]["loss"]) == pytest.approx(list(first), rel=0.05)
        state = json.loads((tmp_path / way / "step-00000004" / "state.json").read_text())
        assert state["processes"] == 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def made_by(monkeypatch, *arguments):
    """What the command gives to `fit`, which does not run."""
    given = []
    monkeypatch.setattr(ck, "plan", lambda *args, **how: "THE PLAN")
    monkeypatch.setattr(
        ck, "fit", lambda *args, **how: given.append((args, how)) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        main(["train", *arguments])
    ((args, how),) = given
    return *args, how


def test_the_seed_makes_encoder_and_heads(lines, monkeypatch):
    def weights(*more):
        given = ("cmlm", "--contrast", "simsiam", "--data", lines, *QUICK, *more)
        objective = made_by(monkeypatch, *given)[0]
        own = {
            name: value
            for name, value in objective.state_dict().items()
            if not name.startswith("encoder.")
        }
        return objective.encoder.state_dict(), own

    (one, heads), (same, heads_too), (other, other_heads) = (
        weights(),
        weights("--seed", "0"),
        weights("--seed", "1"),
    )
    assert heads and all(one[name].equal(same[name]) for name in one)
    assert all(heads[name].equal(heads_too[name]) for name in heads)
    assert not all(one[name].equal(other[name]) for name in one)
    assert not all(heads[name].equal(other_heads[name]) for name in heads)


def test_pooling_and_length_are_those_that_were_asked_for(lines, tmp_path, monkeypatch):
    given = ["mlm", "--data", lines, *QUICK]
    objective, texts, training, _ = made_by(
        monkeypatch, *given, "--pooling", "first", "--max-length", "6"
    )
    assert (
        objective.encoder.pooling == "first"
        and texts.lengths.max() == training.max_length == 6
    )
    longer = made_by(monkeypatch, *given, "--max-length", "600")[0].encoder
    assert (
        longer.pooling == "mean"
        and longer.tokenizer.model_max_length == longer.max_length == 600
    )
    longer.save_pretrained(tmp_path / "start")
    start = ["--start", str(tmp_path / "start")]
    assert made_by(monkeypatch, *given, *start)[0].encoder.pooling == "mean"
    assert (
        made_by(monkeypatch, *given, *start, "--pooling", "first")[0].encoder.pooling
        == "first"
    )


def test_the_split_and_the_first_texts_are_read_and_half_a_pair_is_a_text(tmp_path):
    for name, count in (("train", 4), ("validation", 3)):
        (tmp_path / f"{name}.csv").write_text(
            "text,label\n" + "".join(f"{name} {i},1\n" for i in range(count))
        )

    def rows(*more):
        return train._rows(train.parse(["mlm", "--data", str(tmp_path), *more]))[0][
            "text"
        ][:]

    assert rows() == ["train 0", "train 1", "train 2", "train 3"] and rows(
        "--limit", "2"
    ) == [
        "train 0",
        "train 1",
    ]
    assert rows("--part", "validation") == [
        "validation 0",
        "validation 1",
        "validation 2",
    ]
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "a.csv").write_text("sentence1,sentence2\na,b\nc,\n,\n")
    assert train._rows(train.parse(["mlm", "--data", str(tmp_path / "pairs")]))[0][
        "sentence1"
    ][:] == ["a", "c"]


def test_other_rows_or_columns_in_a_used_folder_are_refused(tmp_path, capsys):
    for name in ("train", "validation"):
        rows = "".join(f"a red {name} {i},a drum {i},{i % 2},{i % 3}\n" for i in range(9))
        (tmp_path / f"{name}.csv").write_text("said,heard,good,kind\n" + rows)
    words = command("scl", tmp_path, tmp_path / "run", "--steps", "1")
    given = {"--columns": "said", "--label": "good", "--part": "train", "--limit": "9"}
    others = {"columns": "heard", "label": "kind", "part": "validation", "limit": "8"}

    def asked(**changes):
        options = given | {f"--{name}": value for name, value in changes.items()}
        return main([*words, *(word for option in options.items() for word in option)])

    assert asked() == 0
    for name, value in others.items():
        assert asked(**{name: value}) == 1
        assert "use the same settings to resume" in capsys.readouterr().err


def test_from_a_checkpoint_small_scales_let_heads_rest_and_the_papers_keep_their_own():
    for method in ("cmlm", "cssl"):
        small = recipes.recipe(method, "small", start=True)
        assert (small.config, small.encoder) == ({}, {}) and small.training.get(
            "lr"
        ) is None
        assert small.training.get("warm_heads") == (None if method == "cssl" else 0.1)
    coco, post = (
        recipes.recipe("coco-lm", "base"),
        recipes.recipe("coco-lm", "base", start=True),
    )
    assert (
        post.config == coco.config
        and "lr" in coco.training
        and "warm_heads" not in post.training
    )
    assert post.training == {
        name: value for name, value in coco.training.items() if name != "lr"
    }
    assert recipes.recipe("scl", "large", start=True).training["lr"] == 1e-5
    assert [
        recipes.recipe("coco-lm", scale).training["chunk_size"]
        for scale in ("base", "large")
    ] == [64, 16]
    assert (
        "chunk_size"
        not in recipes.recipe("cmlm", "large").training
        | recipes.recipe("scl", "base").training
    )
