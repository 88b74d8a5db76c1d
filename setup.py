"""All about the package is in pyproject.toml. Here only: a wheel also holds what a checkout has beside the code."""

import runpy
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PLACES = runpy.run_path("contrast_kit/_util.py")["PLACES"]
ASIDE = shutil.ignore_patterns(".*", "__pycache__")


class WithShippedFiles(build_py):
    """Copies notebooks, recorded tables and encoders to where an installed package looks for them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # reads them where they are
            return
        for what, place in PLACES.items():
            to = Path(self.build_lib, "contrast_kit", "shipped", what)
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(place, to, ignore=ASIDE)


setup(cmdclass={"build_py": WithShippedFiles})
