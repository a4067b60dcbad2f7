"""The site of ``CLUSTERPROOF_SITE``, which `make docs` has built, and a browser that opens its pages."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_a_browser import BROWSER, FLAGS, WIDE


@pytest.fixture(scope="session")
def site() -> Path:
    """The site that was built before; the job ``site`` of the continuous integration has one."""
    if given := os.environ.get("CLUSTERPROOF_SITE"):
        return Path(given).resolve()
    pytest.skip("no site: run `make docs`, then these tests with CLUSTERPROOF_SITE=docs-out")


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
