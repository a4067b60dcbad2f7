"""The site of ``CLUSTERPROOF_SITE`` in a browser, without a network; and the names in its reference."""

import io
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from checkout import CLEAN, ROOT
from docutils.core import publish_doctree
from in_a_browser import NARROW, in_a_browser, slow, wrong_with

from clusterproof.checker import REGISTRY
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.figures import FIGURES
from docs.site.catalogue import linked, plain
from docs.site.conf import escape
from docs.site.reference import described, public_modules


def pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


@in_a_browser
def test_every_page_is_silent_asks_nobody_is_accessible_and_fits_a_telephone(site: Path, page: Any) -> None:
    found = []
    for path in pages(site):
        name = path.relative_to(site)
        page.goto(path.as_uri())
        assert page.title(), name
        found += [f"{name}: {each}" for each in wrong_with(page)]
    found += page.said
    found += [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not found, "\n".join(found)


@in_a_browser
def test_mathematics_is_drawn(site: Path, page: Any) -> None:
    page.goto((site / "tutorials/lessons/lesson_4_false_lemma.html").as_uri())
    fraction = page.locator("math mfrac").first
    above, below = (fraction.locator("> *").nth(number).bounding_box() for number in (0, 1))
    assert above["height"] > 4
    assert above["y"] + above["height"] <= below["y"] + 1
    assert page.locator("article", has_text="\\frac").count() == 0
    bracket, letter = (
        page.locator(f"div.math {tag}").first.bounding_box() for tag in ("mo:text-is('(')", "mi")
    )
    assert bracket["height"] > 1.5 * letter["height"]  # it grows only in a font with a table of mathematics


@in_a_browser
def test_a_slider_shows_another_picture_and_another_sentence(site: Path, page: Any) -> None:
    page.goto((site / "tutorials/lessons/lesson_4_false_lemma.html").as_uri())
    image, said = page.locator("figure.frames img"), page.locator("figure.frames figcaption")
    sources, sentences = set(), set()
    slider = page.get_by_label("momentum")
    for value in ("0", slider.get_attribute("max")):
        slider.fill(value)
        page.wait_for_function("document.querySelector('figure.frames img').complete")
        assert page.evaluate("document.querySelector('figure.frames img').naturalWidth") > 400
        assert image.get_attribute("alt") == said.inner_text()
        sources.add(image.get_attribute("src"))
        sentences.add(said.inner_text())
    assert len(sources) == len(sentences) == 2


@in_a_browser
def test_a_solution_is_hidden_until_it_is_asked_for(site: Path, page: Any) -> None:
    page.goto((site / "tutorials/lessons/lesson_4_false_lemma.html").as_uri())
    solution = page.locator("details", has=page.get_by_text("Solution", exact=True)).first
    assert not solution.locator("p").first.is_visible()
    solution.locator("summary").click()
    assert solution.locator("p").first.is_visible()


@in_a_browser
def test_the_catalogue_is_filtered_and_a_claim_has_its_anchor(site: Path, page: Any) -> None:
    verdicts = read_verdicts()
    page.goto((site / "catalogue/index.html").as_uri())
    rows = "[...document.querySelectorAll('table.claim-table tbody tr')]"
    assert page.evaluate(f"{rows}.length") == len(REGISTRY)
    page.locator("#claim-paper").select_option("fpfc")
    page.locator("#claim-verdict").select_option("vacuous")
    shown = page.evaluate(f"{rows}.filter(row => row.offsetParent).map(row => row.cells[0].innerText.trim())")
    kind = {name for name, record in verdicts.items() if record["verdict"] == "vacuous" and "#" not in name}
    assert set(shown) == {name for name in kind if name.startswith("fpfc/")}
    page.locator("#claim-paper").select_option("all")
    page.locator("#claim-verdict").select_option("all")
    page.locator("#claim-words").fill(REGISTRY["cfl-mgd/lemma-2"].title[:40].lower())
    page.get_by_role("link", name="cfl-mgd/lemma-2", exact=True).click()
    assert page.url.endswith("catalogue/cfl-mgd.html#cfl-mgd-lemma-2")
    card = page.locator("section#cfl-mgd-lemma-2")
    card.get_by_role("link", name="cfl-mgd/theorem-d").wait_for()  # the page unfolds what its address names
    assert "violated" in card.inner_text()
    assert '"momentum": "2/3"' in card.inner_text()


@in_a_browser
def test_the_claims_of_a_paper_are_headlines_first_folded_after_and_filtered(site: Path, page: Any) -> None:
    verdicts = read_verdicts()
    page.goto((site / "catalogue/cfl-mgd.html").as_uri())
    claims = "[...document.querySelectorAll('.claims ~ section')]"
    ids = page.evaluate(f"{claims}.map(claim => claim.id.replace('cfl-mgd-', 'cfl-mgd/'))")
    headlines = [name for name in ids if REGISTRY[name].headline]
    assert set(ids) == {claim.id for claim in REGISTRY.values() if claim.paper == "cfl-mgd"}
    assert ids[: len(headlines)] == headlines
    folded = page.evaluate(f"{claims}.filter(claim => claim.querySelector('details:not([open])')).length")
    assert folded == len(ids) - len(headlines)
    page.locator("#claim-words").fill("Vacuous")
    shown = page.evaluate(f"{claims}.filter(claim => claim.offsetParent).map(claim => claim.id)")
    vacuous = {name for name, record in verdicts.items() if record["verdict"] == "vacuous"}
    assert {name.replace("/", "-") for name in vacuous & set(ids)} <= set(shown)
    assert len(shown) < len(ids) / 2


@in_a_browser
def test_the_search_finds_a_claim_on_a_telephone(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": NARROW, "height": 800})
    page.goto((site / "search.html").as_uri())
    field = page.get_by_role("searchbox", name="words")
    assert field.is_visible()
    field.fill("cfl-mgd/lemma-2")
    field.press("Enter")  # leads to the page with the words in its address
    page.wait_for_selector("#search-results li a")
    links = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    assert any(link.startswith("catalogue/cfl-mgd.html") for link in links), links
    assert page.get_by_role("searchbox", name="words").input_value() == "cfl-mgd/lemma-2"
    assert page.said == []


@in_a_browser
@pytest.mark.parametrize("where", ["catalogue/gallery.html", "tutorials/lessons/lesson_4_false_lemma.html"])
def test_a_picture_follows_the_theme_and_is_light_on_paper(site: Path, page: Any, where: str) -> None:
    image = pytest.importorskip("PIL.Image")

    def lightness() -> float:
        shot = page.locator("figure.picture img, figure.frames img").first.screenshot()
        return float(image.open(io.BytesIO(shot)).convert("L").getpixel((3, 3)))

    for scheme, chosen, is_dark in (
        ("light", "auto", False),
        ("dark", "auto", True),
        ("dark", "light", False),
        ("light", "dark", True),
    ):
        page.emulate_media(color_scheme=scheme, media="screen")
        page.goto((site / where).as_uri())
        page.evaluate(f"document.body.dataset.theme = '{chosen}'")
        assert (lightness() < 40) is is_dark, (scheme, chosen)
        assert (lightness() > 240) is not is_dark
        page.emulate_media(color_scheme=scheme, media="print")
        assert lightness() > 240, (scheme, chosen)


@slow
def test_no_link_is_broken(site: Path) -> None:
    held = {path.resolve(): path.read_text(encoding="utf-8") for path in pages(site)}
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in held.items()}
    broken = []
    for path, text in held.items():
        for link in set(re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name.partition("?")[0]).resolve() if name else path
            if not target.exists() or (anchor and target in ids and anchor not in ids[target]):
                broken.append(f"{path.name} -> {link}")
    assert not broken, "\n".join(broken)


@slow
def test_every_claim_is_in_the_catalogue_with_its_stored_verdict(site: Path) -> None:
    verdicts = read_verdicts()
    text = {
        claim.paper: (site / f"catalogue/{claim.paper}.html").read_text(encoding="utf-8")
        for claim in REGISTRY.values()
    }
    for name, claim in REGISTRY.items():
        _, found, section = text[claim.paper].partition(f'id="{name.replace("/", "-")}"')
        assert found, name
        if name in verdicts:
            badge = re.search(r'class="verdict verdict-[\w-]+">([\w-]+)<', section)
            assert badge, name
            assert badge[1] == verdicts[name]["verdict"], name


@slow
def test_every_figure_of_the_gallery_has_its_words(site: Path) -> None:
    text = (site / "catalogue/gallery.html").read_text(encoding="utf-8")
    assert text.count("<figcaption") == len(FIGURES)
    assert len(re.findall(r'<img alt="[^"]{20,}"', text)) == len(FIGURES)
    for name in FIGURES:
        assert f'id="figure-{name}"' in text
        assert re.search(rf'href="[^"]*/{name}\.svg"', text)


@in_a_browser
def test_a_live_slider_changes_the_figure(browser: Any, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    lesson = ROOT / "docs/tutorials/lessons/lesson_4_false_lemma.md"
    options = ["--headless", "--host", "127.0.0.1", "--port", port]
    command = [sys.executable, "-m", "marimo", "-q", "run", lesson, *options]
    server = subprocess.Popen(
        command, cwd=tmp_path, env=CLEAN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    page = browser.new_page()
    try:
        for _ in range(480):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            time.sleep(0.25)
        page.goto(f"http://127.0.0.1:{port}")
        sentence = page.get_by_text(re.compile(r"^At momentum"))
        sentence.wait_for(timeout=120_000)
        image = page.locator("img").last
        before = image.get_attribute("src")
        page.get_by_role("slider").first.press("End")
        page.get_by_text(re.compile(r"^At momentum 0\.9")).wait_for(timeout=60_000)
        assert page.locator("img").last.get_attribute("src") != before
    finally:
        page.close()
        server.terminate()
        server.wait()


@pytest.mark.slow(reason="several seconds")
def test_the_stored_report_speaks_of_the_claims_that_there_are() -> None:
    records = read_verdicts().values()
    assert {record["seed"] for record in records} == {0}
    known = [record for record in records if record["claim"] in REGISTRY]
    assert known
    for record in known:
        assert record["repaired_by"] == REGISTRY[record["claim"]].repaired_by, record["claim"]


def test_every_package_with_public_names_has_a_page_and_every_name_is_described_once() -> None:
    modules = public_modules()
    stated = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "clusterproof").rglob("__init__.py")
        if "__all__" in path.read_text(encoding="utf-8")
    }
    assert stated <= set(modules)
    names = described(modules)
    assert "network" in names["clusterproof.neural.networks"]
    assert "network" not in names["clusterproof.neural"]
    values = [(name, id(getattr(modules[module], name))) for module in names for name in names[module]]
    assert len(values) == len(set(values)) > 100


@pytest.mark.slow(reason="needs a site")
def test_public_names_have_their_anchors(site: Path) -> None:
    for module, name in (
        ("algorithms", "FedAvg"),
        ("conformance", "assert_conforms"),
        ("checker", "Verdict"),
    ):
        text = (site / f"catalogue/reference-clusterproof.{module}.html").read_text(encoding="utf-8")
        assert f'id="clusterproof.{module}.{name}"' in text


@pytest.mark.parametrize(
    "line", ["Run a model x. T.", "||e_(t+1)|| <= |C| and x_", "chi*_p and *a", "one ``code_ |x|`` and f_*"]
)
def test_mathematics_in_a_docstring_is_no_markup(line: str) -> None:
    lines = ["The horizon is", "", line] if line.endswith("T.") else [line]
    wanted = " ".join(filter(None, lines)).replace("``", "")
    escape(None, "function", "f", None, {}, lines)
    document = publish_doctree("\n".join(lines), settings_overrides={"report_level": 1, "halt_level": 1})
    assert document.astext().replace("\n\n", " ") == wanted


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("`cfl-mgd/lemma-h`", "cfl-mgd.md#cfl-mgd-lemma-h"),
        ("`clusterproof\nshow cfl-mgd/lemma-2`", "cfl-mgd.md#cfl-mgd-lemma-2"),
        ("`cfl-mgd/none`", None),
        ("# `cfl-mgd/lemma-h`", None),
        ("[of `cfl-mgd/lemma-h`](x.md)", None),
        ("```python\nx = `cfl-mgd/lemma-h`\n```", None),
    ],
)
def test_names_of_claims_lead_to_their_entries(text: str, target: str | None) -> None:
    assert linked(text, "catalogue/") == (f"[{text}](catalogue/{target})" if target else text)


def test_a_statement_is_no_markdown() -> None:
    assert plain("||e_t|| <= 2\n and ``a_b | c`` *") == r"\|\|e\_t\|\| \<= 2 and `a_b | c` \*"
