"""Tests that open pages in the browser of this machine, and are skipped where there is none."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
slow = pytest.mark.slow(reason="opens the pages of a site")
WIDE, NARROW = 1280, 400
"""Pixels of a laptop's page, and of a telephone's."""
AXE = {"preload": False, "resultTypes": ["violations"]}
"""Every rule is tried on every element; only what passes is not described one by one, which takes half of the time."""


def in_a_browser(test: Callable[..., None]) -> Callable[..., None]:
    return slow(pytest.mark.skipif(BROWSER is None, reason="no browser: apt-get install chromium")(test))


def wrong_with(page: Any, within: str | None = None) -> list[str]:
    """Return what axe finds on a page, or in a part of it, and by how much it is wider than a telephone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = [
        f"{one['id']}: {one['help']} {[node['target'] for node in one['nodes'][:3]]}"
        for one in axe.run(page, context=within, options=AXE).response["violations"]
    ]
    page.set_viewport_size({"width": NARROW, "height": 800})
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.set_viewport_size({"width": WIDE, "height": 900})
    return found + ([f"{over} pixels wider than a telephone"] if over > 1 else [])
