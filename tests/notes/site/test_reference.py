"""How the site prints the fields of docstrings."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes

from notes.site.mathml import keep_marks
from notes.site.reference import IN_WORDS, print_docstrings


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
