"""Sphinx's settings of the site: `sphinx-build --conf-dir docs/site docs docs-out`.

The pages must not load files from other servers. So formulas are MathML in a font of the site, and do not need a
script. The search shows no summaries, because it would have to load pages, which browsers do not allow for ``file://``.
"""

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "tutorials/lessons")]

from docs.site import catalogue, in_browser, lessons  # noqa: E402 - found by the line above

project = html_title = "Clusterproof"
author = "The Clusterproof developers"
copyright = f"{author}, Apache-2.0"  # noqa: A001 - Sphinx's name for it
release = metadata.version("clusterproof")
language = "en"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["README.md", "site", "stored"]

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_extra_path = ["drawn"]
html_css_files = ["math-font.css", "site.css"]
html_js_files = ["accessible.js", "catalogue.js", "frames.js", "search.js"]
html_js_files += ["in-browser.js", "break-it.js", "own-theorem.js"]
html_show_search_summary = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
smartquotes_action = "qe"  # two hyphens begin an option; they are no dash
nb_custom_formats = {
    f"tutorials/lessons/{lesson.name}": "docs.site.lessons.notebook"
    for lesson in lessons.LESSONS.glob("lesson_*.md")
}
nb_execution_mode = "off"  # marimo executes the lessons
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
suppress_warnings = ["ref.python", "myst.xref_missing"]


def setup(app: Sphinx) -> None:
    """Write the pages of the catalogue, link claims to them, and format formulas and docstrings."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_claims)
    app.connect("autodoc-process-docstring", escape)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))


def write_pages(app: Sphinx) -> None:
    """Write the scripts for the browser, and the pages of the catalogue, which state if there are no scripts."""
    claims, theorem = in_browser.catalogue_claims(), catalogue.readme_theorem()
    missing = in_browser.write(Path(app.outdir) / "in-browser", claims, theorem)
    if missing:
        logging.getLogger(__name__).info("pages without proofs in the browser: %s", missing)
    records = {name: len(each["records"]) for name, each in claims.items()}
    catalogue.write(Path(app.srcdir) / "catalogue", records, theorem, missing)


def link_claims(_app: Sphinx, page: str, source: list[str]) -> None:
    """Link the names of claims in a guide to their entries."""
    if not page.startswith(("catalogue/", "tutorials/lessons/")):
        root = "../" * page.count("/")
        source[0] = catalogue.linked(source[0], f"{root}catalogue/").replace(
            "](../CONTRIBUTING.md", "](contributing.md"
        )


def escape(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Escape reStructuredText's markup outside code: bars, stars, trailing underscores, ``T.``."""
    markup = re.compile(
        r"``.+?``|(?<!\w)\*[^*\s]+\*(?!\w)|(?<![*\\])\*(?!\*)(?=\S)|\||(?<=\w)_(?!\w)|(?<!\S)[A-Za-z]\.(?!\S)"
    )
    code = False
    for number, line in enumerate(lines):
        code = code and not (line.strip() and not line.startswith(" "))
        if not code:
            lines[number] = markup.sub(lambda found: found[0] if len(found[0]) > 2 else f"\\{found[0]}", line)
        code = code or line.rstrip().endswith("::")


def formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula, inline or as a block that readers with a narrow screen can scroll, also by keyboard."""
    shown = isinstance(node, nodes.math_block)
    tag, about = ("div", ' role="group" aria-label="formula" tabindex="0"') if shown else ("span", "")
    written = latex2mathml.converter.convert(node.astext(), display="block" if shown else "inline")
    translator.body.append(f'<{tag} class="math"{about}>{written}</{tag}>')
    raise nodes.SkipNode


__all__ = ["lessons"]
