"""Which names the site's reference has, and how it prints the fields of docstrings."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from checkout import ROOT
from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import new_document
from sphinx import addnodes

from notes.site.mathml import keep_marks
from notes.site.reference import IN_WORDS, command_line, escape, pages, print_docstrings


def members(source: str) -> list[str]:
    """Return the names that a page describes."""
    return [name for line in re.findall(r":members: (.*)", source) for name in line.split(", ")]


@pytest.mark.parametrize("module", ["clusterproof", "clusterproof.neural", "clusterproof.theorem"])
def test_every_name_of_a_stub_is_in_the_table_of_its_page(module: str) -> None:
    path = ROOT / module.replace(".", "/")
    stub = path.with_suffix(".pyi") if path.with_suffix(".pyi").exists() else path / "__init__.pyi"
    imports = [
        node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)
    ]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    assert len(names) > 10
    rows = re.findall(r"(?m)^\| (?:\{py:obj\}|\[)?`(\w+)", pages()[module])
    assert set(rows) == names


def test_every_package_with_public_names_has_a_page_and_every_name_is_described_once() -> None:
    found = pages()
    for path in (ROOT / "clusterproof").rglob("__init__.py"):
        if "__all__" in path.read_text(encoding="utf-8"):
            name = ".".join(path.parent.relative_to(ROOT).parts)
            assert name in found
            assert f"\n{name}\n" in found["index"]  # the table of contents
    assert "assert_conforms" in members(found["clusterproof.conformance"])
    assert "network" in members(found["clusterproof.neural.networks"])
    assert "network" not in members(found["clusterproof.neural"])
    described = Counter(
        (name, getattr(importlib.import_module(module), name))
        for module, source in found.items()
        for name in members(source)
    )
    assert {value for value, count in described.items() if count > 1} == set()


@pytest.mark.slow(reason="builds the site")
def test_what_a_page_describes_has_its_anchor(site: Path) -> None:
    for module, source in pages().items():
        text = (site / f"reference/{module}.html").read_text(encoding="utf-8")
        for name in members(source):
            assert f'id="{module}.{name}"' in text, (module, name)


def test_a_letter_that_ends_a_sentence_numbers_no_list() -> None:
    lines = ["Run a model x. The horizon is", "", "T."]
    escape(None, "function", "f", None, {}, lines)
    document = publish_doctree("\n".join(lines))
    assert document.astext() == "Run a model x. The horizon is\n\nT."
    assert not list(document.findall(nodes.enumerated_list))


def test_a_command_is_shown_as_it_is_called_and_not_as_the_site_is() -> None:
    """As cyclopts writes it where `python -m notes.site` asks for it."""
    assert (
        command_line("clusterproof run cfl -m notes.site [OPTIONS]\n") == "clusterproof run cfl [OPTIONS]\n"
    )


def printed(page: str, *body: nodes.Node) -> nodes.document:
    """Pass a page with this body through the site's last look at it."""
    doctree = new_document(page)
    doctree.extend(body)
    print_docstrings(SimpleNamespace(env=SimpleNamespace(docname=page)), doctree)
    return doctree


def test_a_field_is_shown_as_print_has_it_and_its_code_is_left_alone() -> None:
    paragraph = nodes.paragraph("", "", nodes.strong(text="eps_1"), nodes.Text(" -- "))
    paragraph += nodes.inline("", "", nodes.Text("eps_1 <= eps_2, "), nodes.literal(text="eps_1"))
    doctree = printed("reference/theory", addnodes.desc_content("", paragraph))
    assert paragraph.astext() == "eps_1 \N{EN DASH} \u03b51 \N{LESS-THAN OR EQUAL TO} \u03b52, eps_1"
    assert len(list(doctree.findall(nodes.subscript))) == 2


@pytest.mark.parametrize(("page", "shown"), [(IN_WORDS[0], "\u03b51"), ("welcome", "eps_1")])
def test_only_some_pages_are_set_outside_of_docstrings(page: str, shown: str) -> None:
    assert printed(page, nodes.paragraph("", "", nodes.strong("", "", nodes.Text("eps_1")))).astext() == shown


def test_the_mark_after_a_formula_is_drawn_with_it() -> None:
    paragraph = nodes.paragraph("", "", nodes.math(text="c"), nodes.Text("), so"))
    doctree = new_document("page")
    doctree += paragraph
    keep_marks(SimpleNamespace(), doctree, "page")
    assert (paragraph[0]["marks"], paragraph[1].astext()) == ("),", " so")
