"""A run with user-supplied code is resumed with the same code; changed code is refused by its section."""

import hashlib
import importlib
import sys
from pathlib import Path

import pytest

from clusterproof.neural.custom.references import code_sums, import_place


def test_code_that_a_user_names_has_a_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_alone.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("kept_alone")
    names = {
        "data": "kept_alone:x",
        "algorithm": f"{tmp_path / 'kept_alone.py'}:x",
        "network": "kept_alone:x",
    }
    whole = {"kept_alone.py": hashlib.sha256(b"x = 1\n").hexdigest()}
    assert code_sums(names) == {"data": whole, "network": whole, "algorithm": whole}
    assert code_sums({"data": "digits", "algorithm": "ifca", "network": "mlp"}) == {}


def test_modules_are_looked_for_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their neighbours, as a script is that stands there."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "kept_beside.py").write_text("VALUE = 7\n")
    (tmp_path / "kept_here.py").write_text("from kept_beside import VALUE\n")
    monkeypatch.chdir(tmp_path)
    assert import_place("kept_here").VALUE == 7


def test_a_file_is_run_again_when_it_has_changed_or_has_failed(tmp_path: Path) -> None:
    path = tmp_path / "kept_changing.py"
    for number in (1, 2):
        path.write_text(f"VALUE = {number}\n")
        assert number == import_place(str(path)).VALUE
    path.write_text(f"VALUE = len(open({str(tmp_path / 'numbers')!r}).read())\n")
    with pytest.raises(FileNotFoundError):
        import_place(str(path))
    (tmp_path / "numbers").write_text("123")
    assert import_place(str(path)).VALUE == 3
