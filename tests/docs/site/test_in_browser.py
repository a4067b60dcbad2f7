"""Proofs that a page replays by itself, both sides of a claim, and a theorem of the reader's: in a browser."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from in_a_browser import in_a_browser, slow, wrong_with

from clusterproof.checker.report.stored_evidence import read_verdicts
from docs.site import catalogue, in_browser

READY = 60_000
"""Milliseconds in which Python has started, on a loaded machine."""


@pytest.fixture
def replayed(site: Path) -> Path:
    """The site, if npm was there when it was built."""
    if not (site / "in-browser").exists():
        pytest.skip("built without npm: no page has Python")
    return site


def claims_of(site: Path) -> dict[str, Any]:
    scripts = (path.read_text(encoding="utf-8") for path in sorted((site / "in-browser").glob("claims-*.js")))
    found: dict[str, Any] = {}
    for script in scripts:
        found |= json.loads(script.partition("claims, ")[2].rpartition(");")[0])
    return found


def open_claim(page: Any, site: Path, name: str) -> Any:
    page.goto((site / f"catalogue/{name.partition('/')[0]}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    return page.locator(f'[data-claim="{name}"]')


@in_a_browser
def test_a_browser_gives_the_recorded_verdict_of_one_claim_of_each_paper(replayed: Path, page: Any) -> None:
    claims, verdicts = claims_of(replayed), read_verdicts()
    decided = [
        name
        for name, each in claims.items()
        if each["records"] and all(line["shown"] for line in each["lines"].values())
    ]
    first, *others = {name.partition("/")[0]: name for name in decided}.values()
    place = open_claim(page, replayed, first)
    place.get_by_role("button", name="Check this proof").click()
    place.locator(".said").wait_for(timeout=READY)
    assert place.locator(".said .verdict").inner_text() == verdicts[first]["verdict"]
    assert "The stored verdict is the same" in place.locator(".said").inner_text()
    for name in others:  # by what the button calls
        judge = "(name) => clusterproof.claim(name).then((own) => clusterproof.ask('verdict', own.text, own.records))"
        assert page.evaluate(judge, name)["verdict"] == verdicts[name]["verdict"], name
    assert not page.said
    assert all(url.startswith(("file:", "blob:", "data:")) for url in page.asked)


@in_a_browser
def test_evidence_that_shows_nothing_is_not_taken_for_a_proof(replayed: Path, page: Any) -> None:
    place = open_claim(page, replayed, "cfl-mgd/lemma-2")
    page.evaluate(
        "clusterproof.claim('cfl-mgd/lemma-2').then((claim) => (claim.records[0].instance.clients = 8))"
    )
    place.get_by_role("button", name="Check this proof").click()
    place.locator(".problem").first.wait_for(timeout=READY)
    assert "violated is recorded" in place.locator(".problem").first.inner_text()
    assert "The stored verdict is the same" not in place.inner_text()


@in_a_browser
def test_a_reader_breaks_lemma_2_leaves_its_hypothesis_and_lets_the_page_search(
    replayed: Path, page: Any
) -> None:
    place = open_claim(page, replayed, "cfl-mgd/lemma-2")
    place.get_by_role("button", name="Try to break it").click()
    sides = place.locator(".sides")
    sides.get_by_text("31/144").wait_for(timeout=READY)
    assert re.search(
        r"0\.215278.*0\.164062.*This instance breaks the line.*violated", sides.inner_text(), re.S
    )
    place.get_by_label("clients", exact=True).fill("8")
    place.get_by_label("clients", exact=True).press("Tab")
    sides.get_by_text("does not apply to it").wait_for()
    assert place.get_by_label("own", exact=True).input_value() == "7"  # the range's end follows
    assert wrong_with(page, "#cfl-mgd-lemma-2") == []
    place.get_by_role("button", name="Search for me").click()
    sides.get_by_text("This instance breaks the line").wait_for(timeout=READY)
    place.get_by_label("momentum, slider").fill("0")
    place.get_by_label("momentum, slider").dispatch_event("input")
    page.wait_for_function(
        "document.querySelector('[data-claim=\"cfl-mgd/lemma-2\"] .said').innerText.includes('Holds')"
    )
    assert place.get_by_label("momentum", exact=True).input_value() == "0"


@in_a_browser
def test_theorems_of_a_reader_are_judged_one_after_the_other(replayed: Path, page: Any) -> None:
    page.goto((replayed / "catalogue/own-theorem.html").as_uri())
    area, out = page.get_by_label("The file with your theorem"), page.locator("#own-theorem .in-browser")
    assert area.input_value().rstrip() == catalogue.readme_theorem()
    for function, said in (
        (None, "broken at momentum = 1, round = 2"),
        (
            "f(n=Z[1:40]):\n    return equal((sum(range(n + 1)), n * (n + 1) / 2))",
            "every instance was evaluated",
        ),
        ("f(x=Q[0:1]):\n    return at_most(x * 0.5, 1)", "Write Fraction(1, 2)"),
        ("f(n=Z[1:]):\n    return at_most(n, 2 ** n)", "not refuted on"),
    ):
        if function is not None:
            area.fill(f'from clusterproof.theorem import *\n\n\n@claim("a/b")\ndef {function}\n')
        page.get_by_role("button", name="Is it true?").click()
        out.get_by_text(said).first.wait_for(timeout=READY)
    assert wrong_with(page) == []
    area.fill(
        'from clusterproof.theorem import *\n@claim("a/b")\ndef f(n=Z[1:]):\n    while True:\n        n += 1\n'
    )
    page.get_by_role("button", name="Is it true?").click()
    page.get_by_role("button", name="Stop").click()
    out.get_by_text("You stopped the search").wait_for()
    page.get_by_role("button", name="Is it true?").click()  # Python starts again
    out.get_by_text("takes more steps").wait_for(timeout=READY)
    assert not page.said


@in_a_browser
def test_a_page_whose_scripts_are_gone_says_what_to_type(replayed: Path, page: Any) -> None:
    page.route("**/engine-3.js*", lambda route: route.abort())
    place = open_claim(page, replayed, "cfl-mgd/lemma-2")
    place.get_by_role("button", name="Check this proof").click()
    place.get_by_text("clusterproof check --replay").wait_for(timeout=READY)


@slow
def test_the_licences_of_what_a_browser_runs_are_in_the_site(replayed: Path) -> None:
    version = json.loads((in_browser.BROWSER / "package.json").read_text())["dependencies"]["pyodide"]
    own, python = ((replayed / f"_static/{name}-licence.txt").read_text() for name in ("pyodide", "python"))
    assert f"Pyodide {version}" in own
    assert "Mozilla Public License Version 2.0" in own
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in python


# ---- a site without Python


@pytest.mark.parametrize(
    ("tools", "why"), [((), "npm and node"), (("npm",), "node was"), (("npm", "node"), "failed")]
)
def test_without_npm_there_are_no_scripts_and_a_sentence(
    tools: tuple[str, ...], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in tools:
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    claims = {"toy/one": {"text": "", "records": [{"rule": "instance", "statement": "", "instance": {}}]}}
    assert why in in_browser.write(tmp_path / "scripts", claims, "")
    assert not (tmp_path / "scripts").exists()


@pytest.mark.slow(reason="writes all pages of the catalogue")
def test_pages_say_that_a_site_has_no_python(tmp_path: Path) -> None:
    catalogue.write(tmp_path, {"cfl-mgd/lemma-2": 2}, catalogue.readme_theorem(), "npm was not found")
    for name in ("cfl-mgd", "own-theorem"):
        text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert "npm was not found" in text
        assert "data-claim" not in text
        assert "clusterproof check" in text
