"""The site, built once: that of ``CLUSTERPROOF_SITE``, or one with two lessons."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

LESSONS = ("lesson_0_clients_and_clusters", "lesson_4_false_lemma")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("CLUSTERPROOF_SITE"):
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("site")
    (folder / "clusterproof").symlink_to(ROOT / "clusterproof")
    for part in ("notes", "CONTRIBUTING.md", "CITATION.cff"):
        whole, copy = ROOT / part, folder / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if whole.is_dir():
            shutil.copytree(whole, copy, ignore=shutil.ignore_patterns("catalogue", "reference", "drawn"))
        else:
            shutil.copyfile(whole, copy)
    notes = folder / "notes"
    (notes / "site/drawn").mkdir()
    index = (notes / "index.md").read_text(encoding="utf-8")
    (notes / "index.md").write_text(index.replace("lessons/lesson_??_*\n", ""), encoding="utf-8")
    for lesson in (notes / "lessons").glob("lesson_*.py"):
        if lesson.stem not in LESSONS:
            lesson.unlink()
    strict = ["--quiet", "--fail-on-warning", "--keep-going", "--jobs", "2"]
    command = [sys.executable, "-m", "sphinx", *strict, "--conf-dir", notes / "site", notes, folder / "html"]
    options = ["-D", "suppress_warnings=ref.python,myst.xref_missing"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"
