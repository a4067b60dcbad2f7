"""The command that prints the program's size counts what a reader would."""

from pathlib import Path

import pytest
from checkout import ROOT

MODULE = '''"""A module
of two lines."""

import math  # a comment


def area(radius):
    """Area."""
    # why
    return (
        math.pi
        * radius**2
    )
'''


def test_code_docstrings_and_links_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.size import count_lines, files_below

    assert count_lines(MODULE) == (6, 13, 3)
    (tmp_path / "package" / "__pycache__").mkdir(parents=True)
    for name in ("module.py", "__init__.py", "table.csv", "__pycache__/module.pyc"):
        (tmp_path / "package" / name).touch()
    (tmp_path / "package" / "again").symlink_to(tmp_path / "package")
    (tmp_path / "package" / "same.py").symlink_to(tmp_path / "package" / "module.py")
    found = sorted(path.name for path in files_below(tmp_path / "package"))
    assert found == ["__init__.py", "module.py", "table.csv"]
