"""Build the site: write its sources into a folder of their own, and let Sphinx make HTML of them."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from clusterproof.notes.results import STORED_VERDICTS, read_verdicts
from clusterproof.notes.site import catalogue, gallery, reference
from clusterproof.notes.site import lessons as pages

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
"""The repository, where this is one: its documents are pages, too."""

INDEX = """# Clusterproof

Clusterproof checks the theory of clustered federated learning: it states the claims of papers in code, searches for
counterexamples on tasks whose truth is known, and says what is true of each.

[The catalogue](catalogue/index.md) has every claim with its verdict, [the gallery](gallery.md) every figure. The eight
lessons take one finding each. `marimo run` opens one with live sliders; here each slider shows pictures that were drawn
beforehand.

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
```

```{{toctree}}
:caption: Take part
:maxdepth: 1

{documents}
```
"""

COLOURS = re.compile(r"\x1b\[[\d;]*m")

CITE = """# How to cite

`CITATION.cff` names this software and the papers whose claims it checks. Cite the papers, too, when you use their
claims.

```yaml
{citation}
```
"""


def build(out: Path, *, verdicts: Path = STORED_VERDICTS, lessons: Sequence[str] | None = None) -> list[str]:
    """Write the site into a folder.

    Parameters
    ----------
    out
        Folder for the HTML; made if it is missing, what is there is kept.
    verdicts
        Report whose verdicts the catalogue shows.
    lessons
        Names of the lessons' modules that it has; all where None.

    Returns
    -------
    list
        What Sphinx warns of, a line each.

    Raises
    ------
    InvalidArgument
        If the report cannot be read.
    RuntimeError
        If a lesson fails or Sphinx does.
    """
    from sphinx.application import Sphinx

    read_verdicts(verdicts)
    with tempfile.TemporaryDirectory() as folder:
        source, extra, html = (Path(folder) / name for name in ("source", "extra", "html"))
        _write_sources(source, extra, pages.names() if lessons is None else lessons)
        settings = {
            "verdicts_report": str(verdicts),
            "html_static_path": [str(HERE / "static")],
            "html_extra_path": [str(extra)],
        }
        warnings = io.StringIO()
        app = Sphinx(
            str(source), str(HERE), str(html), str(Path(folder) / "trees"), "html", settings,
            status=None, warning=warnings, freshenv=True,
        )  # fmt: skip
        with redirect_stdout(io.StringIO()):
            app.build()
        if app.statuscode:
            raise RuntimeError(f"Sphinx failed: {warnings.getvalue()[-2000:]}")
        shutil.copytree(html, out, dirs_exist_ok=True)
    return [line for line in COLOURS.sub("", warnings.getvalue()).splitlines() if line.strip()]


def _write_sources(source: Path, extra: Path, lessons: Sequence[str]) -> None:
    """Write every page's source."""
    extra.mkdir(parents=True)
    for part in ("lessons", "catalogue", "reference", "pictures"):
        (source / part).mkdir(parents=True)
    pages.write(lessons, source / "lessons", extra)
    for folder, texts in (("catalogue", catalogue.pages()), ("reference", reference.pages())):
        for name, text in texts.items():
            (source / folder / f"{name}.md").write_text(text, encoding="utf-8")
    (source / "gallery.md").write_text(gallery.page(source / "pictures"), encoding="utf-8")
    (source / "command-line.md").write_text(reference.command_line(), encoding="utf-8")
    (source / "report.md").write_text(reference.report(), encoding="utf-8")
    guides = [path for path in sorted(HERE.parent.glob("*.md")) if path.name != "README.md"]
    for path in guides:
        (source / path.name).write_bytes(path.read_bytes())
    documents = [*(path.stem for path in guides), *_documents(source)]
    index = INDEX.format(
        lessons="\n".join(f"lessons/{name}" for name in lessons), documents="\n".join(documents)
    )
    (source / "index.md").write_text(index, encoding="utf-8")


def _documents(source: Path) -> list[str]:
    """Write the repository's own documents, where this is a checkout, and give their pages' names."""
    found = []
    if (CHECKOUT / "CONTRIBUTING.md").exists():
        (source / "contributing.md").write_bytes((CHECKOUT / "CONTRIBUTING.md").read_bytes())
        citation = (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
        (source / "cite.md").write_text(CITE.format(citation=citation), encoding="utf-8")
        found = ["contributing", "cite"]
    return found
