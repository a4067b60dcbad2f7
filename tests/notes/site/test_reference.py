"""What the reference shows of public names: their docstrings must not be read as something else."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes

from clusterproof.notes.site.reference import PACKAGES, PROOF, print_docstrings

LATE_COLON = re.compile(r":\s")
CODE = re.compile(r"``.+?``")


def said_of_attributes(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Give the docstring of every attribute and property of a class, or of every name of a module."""
    for before, after in zip([None, *body], [*body, None], strict=True):
        if isinstance(after, ast.FunctionDef):
            marks = {ast.unparse(mark).split(".")[-1] for mark in after.decorator_list}
            if marks & {"property", "cached_property"} and (said := ast.get_docstring(after)):
                yield after.name, said
        elif (
            isinstance(before, ast.Assign | ast.AnnAssign)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield ast.unparse(before).split(":")[0].split(" ")[0], inspect.cleandoc(after.value.value)


def classes(module: ModuleType) -> set[type]:
    """Give the classes of the repository that a page of the reference shows, and what they inherit from."""
    public = (getattr(module, name) for name in getattr(module, "__all__", ()))
    kinds = {kind for one in public if inspect.isclass(one) for kind in one.__mro__}
    return {kind for kind in kinds if kind.__module__.startswith("clusterproof.")}


@pytest.mark.parametrize("name", PACKAGES)
def test_no_attribute_begins_with_what_numpydoc_reads_as_a_type(name: str) -> None:
    module = importlib.import_module(name)
    sources = {name: inspect.getsource(module)}
    sources |= {kind.__qualname__: inspect.getsource(kind) for kind in classes(module)}
    found = []
    for where, source in sources.items():
        holder = ast.parse(textwrap.dedent(source))
        body = holder.body[0].body if isinstance(holder.body[0], ast.ClassDef) else holder.body
        for attribute, said in said_of_attributes(body):
            if LATE_COLON.search(CODE.sub("", said.splitlines()[0])):
                found.append(f"{where}.{attribute}: {said.splitlines()[0]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_registry_does_not_print_what_it_holds(name: str) -> None:
    module = importlib.import_module(name)
    said = dict(said_of_attributes(ast.parse(inspect.getsource(module)).body))  # what has none is not shown
    shown = [one for one in said if isinstance(getattr(module, one), dict)]
    assert [one for one in shown if ":meta hide-value:" not in said[one]] == []


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


@pytest.mark.parametrize(("page", "shown"), [(PROOF, "\u03b51"), ("welcome", "eps_1")])
def test_only_the_proof_is_set_outside_of_docstrings(page: str, shown: str) -> None:
    assert printed(page, nodes.paragraph("", "", nodes.strong("", "", nodes.Text("eps_1")))).astext() == shown
