"""Recorded tables: each says where it comes from, and what is not there is said in a sentence."""

import pytest

from contrast_kit.data.recorded import FOLDER, recorded

ORIGIN = {"command", "device", "torch", "transformers", "commit", "seconds", "settings"}


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.csv")))
def test_each_table_has_its_origin(name):
    table = recorded(name)
    assert len(table) and set(table.attrs) >= ORIGIN
    assert table.attrs["commit"] and table.attrs["command"].startswith(
        ("python benchmarks/", "python -m contrast_kit")
    )
