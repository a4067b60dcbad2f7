"""Sphinx's settings of the site; the builder adds the paths.

Nothing may leave the reader's machine: formulas are MathML in a font of the site and not a script from a content
network, and the search shows no summaries, which it would fetch from pages that a browser refuses to read from ``file://``.
"""

from importlib import metadata

project = html_title = "Clusterproof"
author = "The Clusterproof developers"
copyright = f"{author}, Apache-2.0"  # noqa: A001 - Sphinx's name for it
release = metadata.version("clusterproof")
language = "en"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "notes.site.mathml",
    "notes.site.catalogue",
    "notes.site.reference",
]

html_theme = "furo"
html_math_renderer = "mathml"
html_css_files = ["math-font.css", "site.css"]
html_js_files = ["accessible.js", "catalogue.js", "frames.js", "search.js"]
html_show_search_summary = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_enable_extensions = ["dollarmath", "amsmath"]
smartquotes_action = "qe"  # two hyphens begin an option, not a dash
myst_heading_anchors = 4
nb_execution_mode = "off"  # marimo has executed the lessons
nb_code_prompt_show = "Show the code of the solution"
nb_code_prompt_hide = "Hide the code of the solution"
nb_render_markdown_format = "myst"  # computed prose has formulas, too

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
suppress_warnings = ["ref.python"]
