"""The site, built once: that of ``CLUSTERPROOF_SITE``, or one with a lesson whose sliders have two positions each.

The latter has no names of objects in the contents of a page, which Sphinx would copy for every page.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from in_a_browser import BROWSER, FLAGS, WIDE

LESSON = "lesson_4_false_lemma"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of several workers the first one builds it, and the others wait."""
    if given := os.environ.get("CLUSTERPROOF_SITE"):
        return Path(given).resolve()
    several = "PYTEST_XDIST_WORKER" in os.environ
    folder = (
        tmp_path_factory.getbasetemp().parent / "site" if several else tmp_path_factory.mktemp("one") / "site"
    )
    status = folder / "status"
    try:
        folder.mkdir()
    except FileExistsError:
        while not status.exists():
            time.sleep(0.5)
    else:
        try:
            build(folder)
        finally:
            if not status.exists():
                status.write_text("failed")
    assert status.read_text() == "built"
    return folder / "html"


def build(folder: Path) -> None:
    (folder / "clusterproof").symlink_to(ROOT / "clusterproof")
    for name in ("CONTRIBUTING.md", "CITATION.cff", "README.md"):
        shutil.copyfile(ROOT / name, folder / name)
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("catalogue", "drawn"))
    (docs / "site/drawn").mkdir()
    index = (docs / "index.md").read_text(encoding="utf-8")
    (docs / "index.md").write_text(index.replace("tutorials/lessons/lesson_??_*\n", ""), encoding="utf-8")
    contents = docs / "tutorials/lessons.md"
    others = rf"\[([^\]]*)\]\(lessons/(?!{LESSON})[^)]*\)"
    contents.write_text(re.sub(others, r"\1", contents.read_text(encoding="utf-8")), encoding="utf-8")
    for lesson in (docs / "tutorials/lessons").glob("lesson_*.md"):
        if lesson.stem != LESSON:
            lesson.unlink()
    lesson = docs / "tutorials/lessons" / f"{LESSON}.md"
    positions = r'("(?:momentum|share)": \[[\d.]+), .*(, [\d.]+\])'
    text, count = re.subn(positions, r"\1\2", lesson.read_text(encoding="utf-8"))
    assert count == 2, "all positions of the sliders would be drawn"
    lesson.write_text(text, encoding="utf-8")
    strict = ["--quiet", "--fail-on-warning", "--keep-going"]
    command = [sys.executable, "-m", "sphinx", *strict, "--conf-dir", docs / "site", docs, folder / "html"]
    options = ["-D", "suppress_warnings=ref.python,myst.xref_missing", "-D", "toc_object_entries=0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "status").write_text("built")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that remembers what it says and asks for."""
    opened = browser.new_page(viewport={"width": WIDE, "height": 900})
    opened.said, opened.asked = [], []
    opened.on("console", lambda message: opened.said.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: opened.said.append(f"error: {error}"))
    opened.on("request", lambda request: opened.asked.append(request.url))
    yield opened
    opened.close()
