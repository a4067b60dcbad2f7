"""Build the site: write its sources into a temporary folder and convert them to HTML by Sphinx."""

from __future__ import annotations

import base64
import html
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from clusterproof.experiments.summary import PAGE
from clusterproof.figures.style import settled
from notes.site import catalogue, gallery, lesson_pages, reference
from notes.site.both_themes import save_in_both_themes

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
"""The repository, if there is one; its documents are pages of the site."""

INDEX = """# Clusterproof

In federated learning, clients that may not share their data train together; in clustered federated learning they also
find out which of them belong together. Clusterproof verifies the theory on convex problems: it states the claims of
papers in code, searches for counterexamples on tasks whose solution is known, and replaces theorems that fail by
theorems that hold.

<figure class="drawn welcome"><img src="figures/welcome.svg" alt="{picture}"></figure>

A published lemma states that the error of CFL-MGD shrinks in *every* round, up to a constant. In this run the losses
are parabolas, there is no noise, all clients take part in every round, half of them are in the model's cluster, and
the momentum is 0.8. The rounds with a cross break the lemma.

<div class="ways">
<a href="lessons/lesson_4_false_lemma.html"><strong>See a theorem fail</strong><span>Lesson 4: a counterexample that a
search finds and a pencil checks.</span></a>
<a href="your-own-algorithm.html"><strong>Test your algorithm</strong><span>Write it in a few lines, run it on tasks
whose solution is known, and compare it with theorems and with the paper.</span></a>
<a href="teaching.html"><strong>Teach it</strong><span>{count}, from clients and rounds to certificates, with
figures that move, exercises with solutions, and literature.</span></a>
</div>

[The catalogue](catalogue/index.md) has every claim with its verdict, and [the gallery](gallery.md) every figure. The
sliders on these pages need no server; `marimo run` opens a lesson as a notebook, whose sliders are computed live.

```{{toctree}}
:caption: Lessons
:maxdepth: 1

{lessons}
```

```{{toctree}}
:caption: Look up
:maxdepth: 1

catalogue/index
gallery
reference/index
command-line
report
results
```

```{{toctree}}
:caption: Take part
:maxdepth: 1

{documents}
```
"""

ANSI_STYLES = re.compile(r"\x1b\[[\d;]*m")

CITE = """# How to cite

`CITATION.cff` names this software and the papers whose claims it checks. Cite the papers, too, when you use their
claims.

```yaml
{citation}
```
"""


@lesson_pages.without_garbage_collection()
def build(
    out: Path,
    *,
    command_line: str,
    lessons: Sequence[str] | None = None,
) -> list[str]:
    """Write the site into a folder, and print the name of each lesson and page to standard error.

    Parameters
    ----------
    out
        Folder for the HTML; created if it is missing, existing files are kept.
    command_line
        Help of all commands, in Markdown.
    lessons
        Names of the lessons' modules. If None, all.

    Returns
    -------
    list
        Warnings of Sphinx, one line each.

    Raises
    ------
    RuntimeError
        If a lesson fails or Sphinx does.
    """
    from sphinx.application import Sphinx

    with tempfile.TemporaryDirectory() as folder:
        source, extra, pages = (Path(folder) / name for name in ("source", "extra", "html"))
        fonts = Path(folder) / "fonts"
        _write_font(fonts)
        _write_sources(source, extra, lesson_pages.names() if lessons is None else lessons, command_line)
        settings = {
            "html_static_path": [str(HERE / "static"), str(fonts)],
            "html_extra_path": [str(extra)],
        }
        warnings = io.StringIO()
        trees, configuration = Path(folder) / "trees", str(HERE)
        options: Any = {
            "buildername": "html",
            "confoverrides": settings,
            "status": None,
            "freshenv": True,
            "parallel": 2,
        }
        app = Sphinx(str(source), configuration, str(pages), str(trees), warning=warnings, **options)
        app.connect("doctree-read", _print_name)
        with redirect_stdout(io.StringIO()):
            app.build()
        if app.statuscode:
            raise RuntimeError(f"Sphinx failed: {warnings.getvalue()[-2000:]}")
        shutil.copytree(pages, out, dirs_exist_ok=True)
    return [line for line in ANSI_STYLES.sub("", warnings.getvalue()).splitlines() if line.strip()]


def _print_name(app: Any, _doctree: Any) -> None:
    """Print the name of a page that was read."""
    print(app.env.docname, file=sys.stderr, flush=True)


def _welcome(path: Path) -> str:
    """Draw the picture of the first page; return its alternative text."""
    lesson, position = lesson_pages.load("lesson_4_false_lemma"), {"momentum": 0.8, "share": 0.5}
    save_in_both_themes(settled(lesson.picture(**position)), path)
    return html.escape(lesson.describe(**position))


def _write_font(folder: Path) -> None:
    """Write the font of formulas into a style sheet: browsers refuse a font's file next to a page from ``file://``."""
    folder.mkdir()
    font = base64.b64encode((HERE / "static" / "stix-two-math.woff2").read_bytes()).decode()
    rule = f'@font-face {{ font-family: "STIX Two Math"; src: url("data:font/woff2;base64,{font}"); }}\n'
    (folder / "math-font.css").write_text(rule, encoding="utf-8")


def _write_sources(source: Path, extra: Path, lessons: Sequence[str], command_line: str) -> None:
    """Write every page's source."""
    extra.mkdir(parents=True)
    for part in ("lessons", "catalogue", "reference"):
        (source / part).mkdir(parents=True)
    lesson_pages.write(lessons, source / "lessons", extra)
    guides = [path for path in sorted(HERE.parent.glob("*.md")) if path.name != "README.md"]
    documents = {
        path.stem: path.read_text(encoding="utf-8").replace("](../CONTRIBUTING.md)", "](contributing.md)")
        for path in guides
    }
    if (CHECKOUT / "CONTRIBUTING.md").exists():
        rules = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        documents["contributing"] = rules.replace("](notes/", "](")  # the site has all pages in one folder
        documents["cite"] = CITE.format(citation=(CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    listed = "\n".join(f"lessons/{name}" for name in lessons)
    texts = {
        **{name: lesson_pages.linked(text, lessons, root="") for name, text in documents.items()},
        **{f"catalogue/{name}": text for name, text in catalogue.pages().items()},
        **{f"reference/{name}": text for name, text in reference.pages().items()},
        "gallery": gallery.page(extra / "figures"),
        "command-line": reference.command_line(command_line),
        "report": reference.report(),
        "results": PAGE.read_text(encoding="utf-8"),
        "index": INDEX.format(
            lessons=listed,
            documents="\n".join(documents),
            count="One lesson" if len(lessons) == 1 else f"{len(lessons)} lessons",
            picture=_welcome(extra / "figures" / "welcome.svg"),
        ),
    }
    for name, text in texts.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
