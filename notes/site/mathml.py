"""A Sphinx extension: formulas as MathML, which browsers draw and screen readers read, without any script."""

from __future__ import annotations

from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(f'<span class="math">{_convert(node)}</span>')
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
    return str(latex2mathml.converter.convert(node.astext().replace("'", "{\N{PRIME}}"), display=mode))
