"""The digest of a function's source: everything that it imports, and the libraries that decide on the bits."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from command_line import ROOT

from clusterproof.algorithms import ALGORITHMS
from clusterproof.experiments.source import FOUND, imported_modules, source_digest

FILES = {
    "made_source/__init__.py": "",
    "made_source/work.py": "import numpy\nfrom made_source import helper\ndef compute(unit):\n    from . import late\n",
    "made_source/helper.py": "from made_source.inner import VALUE\n",
    "made_source/inner/__init__.py": "from ..constants import VALUE\n",
    "made_source/constants.py": "VALUE = 1\n",
    "made_source/late.py": "x = 1\n",
    "made_source/unrelated.py": "import scipy\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def digest() -> str:
    FOUND.clear()
    source_digest.cache_clear()
    return source_digest("made_source.work")


@pytest.mark.parametrize("name", FILES)
def test_a_digest_is_of_every_module_that_is_imported_and_of_no_other(package: Path, name: str) -> None:
    before = digest()
    (package / name).write_text(f"{FILES[name]}y = 2\n", encoding="utf-8")
    assert (digest() == before) == (name == "made_source/unrelated.py")


def test_files_that_change_after_their_imports_were_found_are_seen(package: Path) -> None:
    """A worker is given what the parent has found, and hashes the files that it would import itself."""
    before = digest()
    (package / "made_source/late.py").write_text("x = 2\n", encoding="utf-8")
    source_digest.cache_clear()
    assert source_digest("made_source.work") != before


def test_a_digest_is_of_the_versions_of_libraries_that_are_imported(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, before = metadata.version, digest()
    for library, same in (("numpy", False), ("scipy", True)):
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "version", lambda name, own=library: "0.0" if name == own else true(name))
            assert (digest() == before) == same


def test_compiled_loops_are_named_in_texts_and_what_is_no_module_has_no_source(package: Path) -> None:
    """What is compiled is found by its full name, which stands in a text."""
    found = []
    for loops in ("clusterproof.nowhere", "nowhere"):
        text = f"LOOPS = {loops!r}\nWORDS = 'clusterproof'\nimport made_source.none\n"
        (package / "made_source/late.py").write_text(text, encoding="utf-8")
        found.append(imported_modules("made_source.late"))
    assert [set(files) for files, _ in found] == [{"made_source", "made_source.late"}] * 2
    assert [names for _, names in found] == [{"clusterproof", "made_source"}, {"made_source"}]
    with pytest.raises(ImportError, match=r"made_source\.none"):
        imported_modules("made_source.none")


def loaded(code: str) -> set[str]:
    """Modules of the package that a fresh process has loaded after some code."""
    code += "\nimport sys\nprint(*(name for name in sys.modules if name.startswith('clusterproof.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_all_that_a_run_of_a_sweep_loads_is_followed() -> None:
    code = (
        "from clusterproof.experiments.sweeps.synthetic import compute, MEASURES\n"
        "from clusterproof.experiments.store import Unit\n"
        "common = dict(rounds=2, replicates=None, every=None, measure=list(MEASURES))\n"
        f"for name in {sorted(ALGORITHMS)!r}:\n"
        "    compute(Unit(name, 0, {**common, 'task': 'quadratic', 'options': {'clients': 6, 'dimension': 2}}))"
    )
    assert loaded(code) <= imported_modules("clusterproof.experiments.sweeps.synthetic")[0].keys()


@pytest.mark.slow(reason="trains in a process of its own")
def test_all_that_a_training_run_loads_is_followed(tmp_path: Path) -> None:
    code = (
        "from dataclasses import replace\n"
        "from clusterproof.experiments.sweeps.training import compute, make_unit\n"
        "unit = make_unit({'clients_per_cluster': 2}, rounds=1, replicates=None, every=None, measure=['purity'],"
        " code=())\n"
        f"compute(replace(unit, folder={str(tmp_path / 'run')!r}))"
    )
    assert loaded(code) <= imported_modules("clusterproof.experiments.sweeps.training")[0].keys()
