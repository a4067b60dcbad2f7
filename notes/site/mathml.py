"""A Sphinx extension: formulas as MathML, which browsers draw and screen readers read, without any script."""

from __future__ import annotations

import re
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx

MENDED = (
    (re.compile(r"<mi>&#x0007E;</mi>"), "<mo>&#x0223C;</mo>"),
    (re.compile(r"<mi>(&#x027E8;)</mi>"), r'<mo form="prefix" stretchy="false">\1</mo>'),
    (re.compile(r"<mi>(&#x027E9;)</mi>"), r'<mo form="postfix" stretchy="false">\1</mo>'),
    (
        re.compile(r"<mo [^>]*>(&#x0007C;|&#x02016;)</mo>"),
        r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>',
    ),
    (re.compile(r"<mo>&#x0002F;</mo>"), '<mo lspace="0" rspace="0">/</mo>'),
    (re.compile("<msqrt>"), '<msqrt><mspace height="0.7em" depth="0.1em"></mspace>'),
    (re.compile(r"(<mi>(?:ln|log|exp|cos|sin)</mi>)(?!<mo)"), r'\1<mspace width="0.17em"></mspace>'),
)
"""What is drawn otherwise than in LaTeX: relations, angles, bars, roots of low letters, and a function's argument."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.connect("doctree-resolved", keep_marks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_marks(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Put the marks that follow a formula next to it, so that no line begins with a comma."""
    for formula in doctree.findall(nodes.math):
        text = formula.next_node(descend=False, siblings=True)
        if isinstance(text, nodes.Text) and (marks := re.match(r"[.,;:?!)]+", text)):
            formula["marks"] = marks[0]
            text.parent.replace(text, nodes.Text(text[marks.end() :]))


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(f'<span class="math">{_convert(node)}{node.get("marks", "")}</span>')
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own; a narrow screen scrolls it, with the keyboard too."""
    formula = _convert(node, "block")
    translator.body.append(
        f'<div class="math" role="group" aria-label="formula" tabindex="0">{formula}</div>\n'
    )
    raise nodes.SkipNode


def _convert(node: nodes.Element, mode: str = "inline") -> str:
    """Turn LaTeX into MathML; a prime is a letter of full size, as fonts have raised it already."""
    written = str(latex2mathml.converter.convert(node.astext().replace("'", "{\N{PRIME}}"), display=mode))
    for pattern, better in MENDED:
        written = pattern.sub(better, written)
    return written
