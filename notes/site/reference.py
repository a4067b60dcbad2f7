"""Pages of the reference: the public names of every folder from their docstrings, and the command line."""

from __future__ import annotations

import importlib
import re
from typing import Any

from docutils import nodes
from docutils.utils import unescape
from sphinx import addnodes
from sphinx.application import Sphinx

from notes.site.notation import written

IN_WORDS = ("command-line", "conformance", "fpfc-repaired", "your-own-theorem")
"""Pages whose formulas are in their text."""

PACKAGES = {
    "clusterproof.algorithms": "Algorithms, runs and traces",
    "clusterproof.synthetic": "Tasks whose truth is known",
    "clusterproof.synthetic.strategies": "Strategies for property-based tests",
    "clusterproof.theory": "Claims, verdicts and bounds",
    "clusterproof.theory.claims": "Stating a claim",
    "clusterproof.theory.certificates": "Certificates",
    "clusterproof.neural.networks": "Networks",
    "clusterproof.figures": "Figures",
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Let docstrings be read as plain text where they hold mathematics, and be shown as print has it."""
    app.connect("autodoc-process-docstring", escape)
    app.connect("doctree-read", print_docstrings)
    return {"parallel_read_safe": True}


def pages() -> dict[str, str]:
    """Return the source of every page of the reference by its name below ``reference/``."""
    found = {}
    for module, title in PACKAGES.items():
        imported = "   :imported-members:\n" if hasattr(importlib.import_module(module), "__all__") else ""
        found[module] = (
            f"# {title}\n\n`{module}`\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n{imported}"
            "   :show-inheritance:\n   :member-order: bysource\n```\n"
        )
    listed = "\n".join(PACKAGES)
    rows = "".join(f"| [{title}]({module}.md) | `{module}` |\n" for module, title in PACKAGES.items())
    found["index"] = (
        "# Reference\n\nThe public names of each package, with their docstrings. "
        '<a href="../genindex.html">The index</a> lists all of them by their letters.\n\n'
        f"| page | package |\n| --- | --- |\n{rows}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return found


def command_line(text: str) -> str:
    """Write the page of the command line from the commands' help in Markdown."""
    text = re.sub(r"## Table of Contents\n+(?:\s*- .*\n)+", "", text)
    return re.sub(r"(?m)^# clusterproof$", "# Command line", text, count=1)


def report() -> str:
    """Write the page on what ``check --json`` writes, from the fields of a verdict."""
    return (
        "# What `check --json` writes\n\nAn object. `claims` is a list of verdicts, one a claim and, if a claim has "
        "several lines, one a line, whose `claim` is `paper/name#line`; `code` is a counterexample as Python, and "
        "`null` stands where a field has no meaning. `times` has the seconds of each claim, `sources` text and "
        "SHA-256 of the files that state claims, so that `check --replay` needs no other file, `versions` those of "
        "Python and of libraries, and `seed` the first seed.\n\n"
        "```{eval-rst}\n.. autoclass:: clusterproof.theory.Verdict\n   :no-index:\n\n"
        ".. autoclass:: clusterproof.theory.Line\n   :no-index:\n\n"
        ".. autoclass:: clusterproof.theory.Confidence\n   :no-index:\n```\n"
    )


def escape(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would read as markup outside of code: bars, stars and trailing underscores."""
    code = False
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith(" "):
            code = False
        if not code:
            parts = re.split(r"(``.+?``)", line)
            lines[number] = "".join(part if part.startswith("``") else _plain(part) for part in parts)
        code = code or line.rstrip().endswith("::")


def print_docstrings(app: Any, doctree: nodes.document) -> None:
    """Write what is neither code nor a name as print has it; a field's two hyphens are a dash."""
    contents: list[Any] = list(doctree.findall(addnodes.desc_content))
    kinds: set[type] = {nodes.paragraph, nodes.inline}
    if app.env.docname in IN_WORDS:
        contents, kinds = [doctree], kinds | {nodes.strong}
    for content in contents:
        for holder in [one for one in content.findall(nodes.Element) if type(one) in kinds]:
            for text in [child for child in holder.children if isinstance(child, nodes.Text)]:
                said = unescape(text.astext()).replace(" -- ", " \N{EN DASH} ")
                holder.replace(text, written(said))


def _plain(text: str) -> str:
    """Escape the markup of a line without code."""
    return re.sub(
        r"(?<![*\\])\*(?!\*)(?=[^\s*]+)(?![^*\s]+(?: (?:or|of) [^*\s]+)*\*)|\||(?<=\w)_(?!\w)",
        lambda found: "\\" + found[0],
        text,
    )
