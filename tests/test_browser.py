"""The course in a real JupyterLab in a real browser: opens, runs from top to bottom, shows what it should."""

import shutil
from pathlib import Path

import jupyter_page
import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
# All of them would repeat what nbval does; this one is short and has a panel.
PATTERNS = ["01_*.ipynb"]
NOTEBOOKS = sorted(path for pattern in PATTERNS for path in FOLDER.glob(pattern))

pytestmark = jupyter_page.MARKS


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(FOLDER, home / "notebooks")
    with jupyter_page.lab(home) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with jupyter_page.browser() as chromium:
        yield chromium


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(lab, browser, path, tmp_path):
    page, complaints = jupyter_page.opened(lab, browser, path.name)
    jupyter_page.tall(page)
    picture = tmp_path / f"{path.stem}.png"
    page.screenshot(path=picture)
    print(f"screenshot: {picture}")
    assert picture.stat().st_size > 10_000
    assert not complaints, complaints
    page.close()
