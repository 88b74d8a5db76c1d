"""What someone has who installs the wheel: the package with all that the course reads, and nothing that lies about."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import contrast_kit as ck
from contrast_kit.__main__ import main
from contrast_kit._util import PLACES
from contrast_kit.commands import lab

ROOT = Path(__file__).parents[1]


def tracked() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {
        name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source distribution of the tracked files, built by the setuptools that is here."""
    folder = tmp_path_factory.mktemp("built")
    source, files = folder / "source", tracked()
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    (source / "notebooks" / ".ipynb_checkpoints").mkdir()
    (source / "notebooks" / ".ipynb_checkpoints" / "old.ipynb").write_text("{}")
    build = (
        "from setuptools import build_meta as b; b.build_sdist('..'); b.build_wheel('..')"
    )
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz")), files


def test_a_source_distribution_is_the_whole_project(built):
    _, sdist, files = built
    with tarfile.open(sdist) as archive:
        names = {
            member.name.partition("/")[2]
            for member in archive.getmembers()
            if member.isfile()
        }
    assert not files - names, "MANIFEST.in leaves these out"
    made = {
        name for name in names - files if not name.startswith("contrast_kit.egg-info/")
    }
    assert made <= {"PKG-INFO", "setup.cfg"}, "MANIFEST.in takes what is not tracked"


def test_a_wheel_holds_what_the_course_reads(built):
    wheel, _, files = built
    names = set(zipfile.ZipFile(wheel).namelist())
    for what, place in PLACES.items():
        ours = {
            name.removeprefix(f"{place}/")
            for name in files
            if name.startswith(f"{place}/")
        }
        prefix = f"contrast_kit/shipped/{what}/"
        assert ours == {
            name.removeprefix(prefix) for name in names if name.startswith(prefix)
        }
    beside = {name for name in files if name.startswith("contrast_kit/")}
    assert beside <= names, "package-data leaves these out"
    assert {name.split("/")[0] for name in names} == {
        "contrast_kit",
        f"contrast_kit-{ck.__version__}.dist-info",
    }


@pytest.mark.full
def test_the_installed_package_finds_its_files(built, tmp_path):
    """From another folder, in another environment that has all but the kit: what is read comes from the wheel."""
    wheel, *_ = built
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    others = {Path(p) for p in sys.path if p.endswith("site-packages")}
    (packages / "others.pth").write_text(
        "".join(f"{p}\n" for p in others)
    )  # its own .pth files are not read
    code = (
        "import contrast_kit as ck; print(ck.__file__); print(len(ck.data.recorded('scoreboard')));"
        "print(ck.Encoder.from_pretrained('kit/books-mlm').width);"
        "print(len(ck.data.toyshop.rows('rte', 'test')));"
        "print(len(ck.data.scenes.rows('vqa', 'test')) + len(ck.data.scenes.pictures()))"
    )
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "HF_HUB_OFFLINE": "1"
    }
    python, away = tmp_path / "env/bin/python", tmp_path / "away"
    away.mkdir()
    done = subprocess.run(
        [python, "-c", code], cwd=away, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    file, rows, *counts = done.stdout.split()
    assert Path(file).is_relative_to(packages) and int(rows) > 10
    assert counts == ["256", "500", "6000"]
    command = [python, "-m", "contrast_kit", "lab", "--only-copy"]
    done = subprocess.run(command, cwd=away, env=env, capture_output=True, text=True)
    copies = {file.name for file in (away / "course").glob("*.ipynb")}
    assert done.returncode == 0 and copies == {
        file.name for file in (ROOT / "notebooks").glob("*.ipynb")
    }
    assert (away / "course" / "glossary.md").is_file()  # the notebooks link to it


# ---- the reader's copy of the course


EMPTY = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


@pytest.fixture
def original(tmp_path, monkeypatch):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("00_a.ipynb", "01_b.ipynb"):
        (folder / name).write_text(EMPTY)
    monkeypatch.setattr(lab, "shipped", lambda what: folder)
    return folder


def test_what_a_reader_changed_stays(original, tmp_path):
    mine = tmp_path / "course"
    assert main(["lab", "--only-copy", "--folder", str(mine)]) == 0
    (mine / "00_a.ipynb").write_text("my notes")
    (mine / "01_b.ipynb").unlink()
    assert main(["lab", "--only-copy", "--folder", str(mine)]) == 0
    assert (mine / "00_a.ipynb").read_text() == "my notes"
    assert (mine / "01_b.ipynb").read_text() == EMPTY


def test_lab_starts_jupyterlab_on_the_copy_without_news(original, tmp_path, monkeypatch):
    calls = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        lab.subprocess,
        "run",
        lambda command, env, check: (
            calls.append((command, env)) or subprocess.CompletedProcess([], 0)
        ),
    )
    assert main(["lab", "--no-browser"]) == 0
    ((command, env),) = calls
    assert command[1:3] == ["-m", "jupyterlab"] and command[-1] == "--no-browser"
    assert "--LabApp.default_url=/lab/tree/00_a.ipynb" in command
    folder = env["JUPYTER_CONFIG_PATH"].split(os.pathsep)[-1]
    told = json.loads(
        Path(folder, "labconfig", "default_setting_overrides.json").read_text(
            encoding="utf-8"
        )
    )
    assert told["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert told["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"] == {
        "markdown": "Markdown Preview"
    }


def test_a_folder_that_cannot_be_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert (
        main(["lab", "--only-copy", "--folder", str(tmp_path / "file" / "course")]) == 1
    )
    assert "name another --folder" in capsys.readouterr().err


# ---- names


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (
            lambda: ck.Encoder.from_pretrained("kit/bookmlm"),
            "did you mean 'kit/books-mlm'",
        ),
        (lambda: ck.data.load("toyshop/sst"), "did you mean 'sst2'"),
        (lambda: ck.data.recorded("scorebord"), "did you mean 'scoreboard'"),
    ],
)
def test_a_misspelled_name_is_asked_about(call, hint, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises((FileNotFoundError, ValueError), match=hint):
        call()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "cmml"], "did you mean 'cmlm'"),
    ],
)
def test_a_misspelled_word_on_the_command_line_is_asked_about(arguments, hint, capsys):
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    assert status == 2 and hint in capsys.readouterr().err


def test_tab_offers_public_names_alone():
    for module in (ck, ck.plots):
        assert sorted(dir(module)) == sorted(module.__all__)
