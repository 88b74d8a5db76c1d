"""The files a newcomer meets before any code: do they agree with each other, and keep their promises?"""

import contextlib
import json
import os
import re
import subprocess
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import contrast_kit as ck
from contrast_kit.__main__ import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> dict[str, list[Requirement]]:
    """constraints.txt: every distribution with its pins (several where Python versions or systems differ)."""
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            pin = Requirement(line)
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


NOT_INSTALLED = {"mteb", "site"}
"""Extras that neither the notebooks nor the tests install: their versions are the user's."""


def direct() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].items()
    lines = PROJECT["dependencies"] + [
        line for extra, each in extras if extra not in NOT_INSTALLED for line in each
    ]
    return [need for need in map(Requirement, lines) if need.name != PROJECT["name"]]


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        ROOT / name
        for name in listed.stdout.split("\0")
        if name and (ROOT / name).is_file()
    ]


# ---- pins, ranges and environments


def test_every_direct_dependency_is_pinned_inside_its_range():
    for need in direct():
        versions = [
            str(spec)
            for pin in pins()[canonicalize_name(need.name)]
            for spec in pin.specifier
        ]
        assert versions, need.name
        for version in versions:
            assert version.startswith("==") and need.specifier.contains(version[2:]), (
                f"{need}: pinned {version}"
            )


def test_everything_that_gets_installed_is_pinned():
    pinned, todo, seen = pins(), direct(), set()
    while todo:
        need = todo.pop()
        name = canonicalize_name(need.name)
        if (name, *sorted(need.extras)) in seen:
            continue
        seen.add((name, *sorted(need.extras)))
        assert name in pinned, (
            f"{name} gets installed but constraints.txt does not name it: run `make lock`"
        )
        for line in metadata.requires(name) or []:
            further = Requirement(line)
            extras = [*need.extras, ""]
            if further.marker is None or any(
                further.marker.evaluate({"extra": e}) for e in extras
            ):
                todo.append(further)
    assert len(seen) > 100  # the whole tree was walked, not its first level


def test_pins_name_no_place():
    for name in ("constraints.txt", "pyproject.toml", "environment.yml", "Makefile"):
        text = (ROOT / name).read_text().split("[project.urls]")
        text = text[0] + "".join(
            rest.partition("\n[")[2] for rest in text[1:]
        )  # addresses to read, not to install
        assert "://" not in text and "@ " not in text, (
            f"{name} names a host or a folder to install from"
        )
    # A local version (+cpu, +cu130) exists in one build only; without it each machine takes what fits.
    assert not re.search(
        r"^[\w.-]+==\S*\+", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )


def test_one_version_everywhere():
    import contrast_kit

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert contrast_kit.__version__ == PROJECT["version"] == citation["version"]
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text()
    assert (
        "Apache License" in (ROOT / "LICENSE").read_text()
        and citation["license"] == PROJECT["license"]
    )


# ---- nothing names one machine


def strings(node: object, key: str = "") -> Iterator[str]:
    """Every string of a notebook's JSON but its pictures."""
    if isinstance(node, str) and not key.startswith("image/"):
        yield node
    elif isinstance(node, list):
        # Notebooks store a text as a list of lines: joined, so that no path is cut.
        text = all(isinstance(item, str) for item in node)
        for item in ["".join(node)] if text else node:
            yield from strings(item, key)
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from strings(value, name)


def text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return "\n".join(strings(json.loads(text))) if path.suffix == ".ipynb" else text


def test_tracked_files_name_no_machine():
    outside = "/".join(["..", "shared"])
    local = re.compile(
        r"file:[/]{2}|(?<![\w.~$}/-])/(?:opt|root|home|mnt|srv|work|Users)/\w"
    )
    for path in tracked():
        try:
            text = text_of(path)
        except UnicodeDecodeError:
            continue  # a picture or another binary file
        name = path.relative_to(ROOT).as_posix()
        assert outside not in text or name == ".ci/run", (
            f"{name} reaches outside the project"
        )
        found = local.search(text)
        assert not found, (
            f"{name} names a folder of one machine: {text[found.start() :][:60]!r}"
        )


# ---- the README keeps its word

TOPICS = {"goal": "sport", "vote": "politics"}


def test_readme_commands_exist():
    readme = (ROOT / "README.md").read_text()
    targets = set(
        re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    named = set(re.findall(r"(?:`|^ *|\$ )make ([a-z]+)", readme, re.MULTILINE))
    assert {"lab", "test"} <= named <= targets
    for target in re.findall(r"(?:\]\(|src=\")(?!https?:)([^)#\"]+)", readme):
        assert (ROOT / target).exists(), f"README links to {target}, which is not there"


def test_readme_names_commands_that_run(capsys):
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"-m contrast_kit ([a-z]+)", readme))
    assert {"lab", "train", "evaluate"} <= named
    for command in named:
        with contextlib.suppress(SystemExit):
            assert main([command, "--help"]) == 0
        assert f"python -m contrast_kit {command}" in capsys.readouterr().out


def test_readme_lists_exactly_the_notebooks_there_are():
    linked = set(
        re.findall(r"\]\(notebooks/(\w+\.ipynb)\)", (ROOT / "README.md").read_text())
    )
    assert linked == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.mark.full
def test_readme_example_learns_what_is_printed_below_it(tmp_path, monkeypatch, capsys):
    """Run as it stands there. Processors round otherwise, so numbers may differ a little; that it learns may not."""
    readme = (ROOT / "README.md").read_text()
    ((code, printed),) = re.findall(
        r"^```python\n(.*?)^```\n+```\n(.*?)^```", readme, re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "__main__"})
    pattern = r"^(\w+): +(\d\.\d\d)$"
    ours, theirs = (
        dict(re.findall(pattern, text, re.MULTILINE))
        for text in (capsys.readouterr().out, printed)
    )
    assert list(ours) == list(theirs) == ["before", "after"]
    assert float(theirs["before"]) == pytest.approx(float(ours["before"]), abs=0.03)
    assert float(theirs["after"]) == pytest.approx(float(ours["after"]), abs=0.06)


def test_readme_from_a_table_of_ones_own_to_a_saved_encoder(tmp_path, monkeypatch):
    """As it stands there, in a folder with such a file."""
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = r"^```python\n(.*?)^```"
    (code,) = re.findall(blocks, readme.partition("\n## Data\n")[2], re.M | re.S)
    assert len(code.strip().splitlines()) <= 8
    rows = [
        f"a {word} of {n},{topic}" for n in range(8) for word, topic in TOPICS.items()
    ]
    (tmp_path / "news.csv").write_text("\n".join(["body,topic", *rows]))
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "__main__"})
    saved = ck.Encoder.from_pretrained("news-encoder")
    assert saved.encode("a goal").shape == (1, saved.width)


@pytest.mark.full
def test_readme_post_trains_a_model_that_one_has(tmp_path, monkeypatch):
    """As it stands there, with the kit's encoder in place of one of the hub."""
    readme = (ROOT / "README.md").read_text("utf-8")
    code = re.search(r"^```py\n(.*?)^```", readme, re.M | re.S)[1]
    code = code.replace("roberta-base", "kit/books-mlm")
    lines = [f"The {n}th kite flew over the old house." for n in range(40)]
    (tmp_path / "my.txt").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "__main__"})
    assert (tmp_path / "my-encoder" / "modules.json").is_file()


# ---- python -m contrast_kit check


def environment(folder: Path, without: str = "") -> tuple[Path, Path]:
    """A virtual environment that has all that this one has, by links, except one distribution."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        own = re.split(r"-\d", entry.name)[0]
        if own.lower() != without.lower() and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    return folder / "bin/python", packages


def check(python: Path, cwd: Path) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "HF_HUB_OFFLINE": "1"
    }
    command = [str(python), "-m", "contrast_kit", "check"]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


needs_links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


def assert_one_sentence(done: subprocess.CompletedProcess, *words: str) -> None:
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.full
@needs_links
@pytest.mark.parametrize("name", ["torch", "umap_learn"])
def test_check_names_what_is_missing(tmp_path, name):
    python, _ = environment(tmp_path / "env", without=name)
    assert_one_sentence(
        check(python, tmp_path), name.replace("_", "-"), "not installed", "make install"
    )
