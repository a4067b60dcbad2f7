"""Pages of the lessons: executed and exported by marimo, with pictures of every position of their sliders.

A lesson names three things at its top level: ``SLIDERS``, the values of each slider; ``picture``, which draws a figure
of one value of each; ``describe``, which says in a sentence what that figure shows.
"""

from __future__ import annotations

import gc
import html
import importlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.figures import FIGURES
from clusterproof.figures.files import save
from clusterproof.figures.style import Figure, settled
from clusterproof.theory import REGISTRY
from live import LABELS
from notes.site.catalogue import page_of

LESSONS = Path(__file__).parents[1] / "lessons"
PICTURE_CALL = "picture(**controls.value)"
"""The cell with this call shows the figure live; on a page it is replaced by the frames."""

MARGIN = 3.0
"""Points that matplotlib's constrained layout leaves around a panel."""

NAMED = re.compile(
    r"(?s:```.*?```)|^#.*$|\[[^\]]*\]\([^)]*\)|(?P<lesson>\b[Ll]esson\s+(?P<number>\d+)\b)|`(?P<code>[^`]+)`",
    re.MULTILINE,
)
"""Lessons and code in a text; blocks of code, headings and links are matched first, and stay as they are."""


def names() -> list[str]:
    """Return the names of the lessons' modules, in their order."""
    return sorted(
        (path.stem for path in LESSONS.glob("lesson_*.py")), key=lambda name: int(name.split("_")[1])
    )


def load(name: str) -> ModuleType:
    """Import a lesson; its cells are not run."""
    return importlib.import_module(name)


def positions(module: ModuleType) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every position of a lesson's sliders: its key, and the values by name."""
    axes = [list(enumerate(values)) for values in module.SLIDERS.values()]
    for chosen in itertools.product(*axes):
        key = "-".join(str(index) for index, _ in chosen)
        yield key, dict(zip(module.SLIDERS, (value for _, value in chosen), strict=True))


def linked(text: str, chosen: Sequence[str], *, root: str) -> str:
    """Let the names of lessons, claims and figures in Markdown lead to their pages.

    Parameters
    ----------
    text
        Prose with names such as ``lesson 1``, and, as code, ``cfl-mgd/lemma-h``, ``clusterproof show cfl-mgd/lemma-h``
        or ``clusterproof figures contraction-map``, which leads to the first figure.
    chosen
        Names of the lessons' modules that the site has.
    root
        Path from the page to the site's root, with a slash at its end, or empty.
    """
    pages = {name.split("_")[1]: f"lessons/{name}.html" for name in chosen}

    def link(found: re.Match[str]) -> str:
        target = pages.get(found["number"]) if found["lesson"] else _target((found["code"] or "").split())
        return f'<a href="{root}{target}">{found[0]}</a>' if target else found[0]

    return NAMED.sub(link, text)


def _target(words: list[str]) -> str | None:
    """Return the page of the claim or the figure that a piece of code names, below the site's root."""
    if words[:2] in (["clusterproof", "show"], ["clusterproof", "check"]):
        words = words[2:]
    if len(words) == 1 and words[0] in REGISTRY:
        return f"catalogue/{page_of(words[0])}"
    is_figure = words[:2] == ["clusterproof", "figures"] and len(words) > 2 and words[2] in FIGURES
    return f"gallery.html#figure-{words[2]}" if is_figure else None


def write(chosen: Sequence[str], pages: Path, extra: Path) -> None:
    """Write the page of every lesson, and the frames that it shows; print the name of each to standard error.

    Parameters
    ----------
    chosen
        Names of the lessons' modules.
    pages
        Folder of the site's sources for the notebooks.
    extra
        Folder that the site holds as it is; the frames lie in ``frames/`` below it.

    Raises
    ------
    RuntimeError
        If a lesson fails.
    """
    jobs = [(name, chosen, pages, extra / "frames" / name) for name in chosen]
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        for name, _ in zip(chosen, pool.map(_page, *zip(*jobs, strict=True)), strict=True):
            print(name, file=sys.stderr, flush=True)


def _page(name: str, chosen: Sequence[str], pages: Path, frames: Path) -> None:
    """Execute a lesson, export it, and put the frames in place of its figure."""
    source, target = pages / f"{name}.py", pages / f"{name}.ipynb"
    code = (LESSONS / source.name).read_text(encoding="utf-8")
    source.write_text(
        code.replace(PICTURE_CALL, repr(PICTURE_CALL)), encoding="utf-8"
    )  # the frames are shown
    export = ["-m", "marimo", "-q", "export", "ipynb", "--include-outputs", "--sort", "top-down", "-f", "-o"]
    siblings = {**os.environ, "PYTHONPATH": str(LESSONS)}
    done = subprocess.run(
        [sys.executable, *export, target, source], capture_output=True, text=True, env=siblings
    )
    if done.returncode:
        raise RuntimeError(f"the lesson {name} failed: {done.stderr[-2000:] or done.stdout[-2000:]}")
    notebook = json.loads(target.read_text(encoding="utf-8"))
    cells = list(_cells(notebook["cells"], _figure(name, frames)))
    others = [other for other in chosen if other != name]
    for cell in cells:
        if cell["cell_type"] == "markdown" and "<figure" not in (text := "".join(cell["source"])):
            cell["source"] = linked(text, others, root="../")
    notebook["cells"] = cells
    target.write_text(json.dumps(notebook), encoding="utf-8")


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep what is unused: figures and documents have so many parts that the collector takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@without_garbage_collection()
def _figure(name: str, place: Path) -> str:
    """Draw the figure of a lesson at every position of its sliders into a folder; return sliders and figure as HTML."""
    module = load(name)
    place.mkdir(parents=True)
    frames: dict[str, dict[str, Any]] = {}
    for key, values in positions(module):
        figure = settled(module.picture(**values))
        save(figure, place / f"{key}.svg")  # the style sheet inverts its lightness in the dark theme
        source = f"../frames/{name}/{key}.svg"
        frames[key] = {"src": source, "alt": module.describe(**values), "panels": _panels(figure)}
    controls = "".join(
        f"<label>{html.escape(LABELS.get(slider, slider))} <span></span>"
        f'<input type="range" min="0" max="{len(values) - 1}" value="{(len(values) - 1) // 2}" step="1" '
        f"data-values='{json.dumps(values)}'></label>"
        for slider, values in module.SLIDERS.items()
    )
    first = frames["-".join(str((len(values) - 1) // 2) for values in module.SLIDERS.values())]
    said = html.escape(first["alt"])
    return (
        f'<figure class="frames"><div class="controls">{controls}</div>'
        f'<div class="shown"><img src="{first["src"]}" alt="{said}"></div>'
        f'<figcaption aria-live="polite">{said}</figcaption>'
        f'<script type="application/json">{json.dumps(frames)}</script></figure>'
    )


def _panels(figure: Figure) -> list[list[float]]:
    """Return the part of the drawing that each panel takes: x, y, width and height in its units, points."""
    width, height = (float(72 * inches) for inches in figure.get_size_inches())
    numbers = [panel.yaxis.get_tightbbox() or panel.bbox for panel in figure.axes]
    starts = sorted(float(72 * box.x0 / figure.dpi) - MARGIN for box in numbers)
    return [
        [round(x, 1), 0, round(end - x, 1), height]
        for x, end in itertools.pairwise([0.0, *starts[1:], width])
    ]


def _cells(cells: list[dict[str, Any]], figure: str) -> Iterator[dict[str, Any]]:
    """Turn cells into what the page shows of them; a solution's code is folded away, and the imports of all code."""
    exercises, setup = False, None
    for cell in cells:
        if cell["metadata"].get("marimo", {}).get("name") == "setup":
            prompts = {
                f"code_prompt_{act}": f"{act.title()} the imports of this lesson" for act in ("show", "hide")
            }
            setup = {**cell, "metadata": {"tags": ["hide-cell"], "mystnb": prompts}}
            continue
        shown = _cell(cell, figure)
        if setup and (exercises if shown is None else shown["cell_type"] == "code"):
            yield setup  # before the first code that needs it
            setup = None
        if shown is None:
            if exercises:
                yield {**cell, "metadata": {"tags": ["hide-cell"]}}
            continue
        text = "".join(shown["source"])
        if shown["cell_type"] == "markdown":
            exercises = "## Exercises" in text or (exercises and "## What breaks" not in text)
        yield shown


def _cell(cell: dict[str, Any], figure: str) -> dict[str, Any] | None:
    """Turn a cell into what the page shows of it; None where that is nothing."""
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return cell
    if PICTURE_CALL in text:
        return _prose(cell, figure)
    if "controls = " in text:
        return None
    if "remove-input" not in cell["metadata"].get("tags", []):
        return cell
    shown = [output.get("data", {}) for output in cell["outputs"]]
    computed = ["".join(data["text/markdown"]) for data in shown if "text/markdown" in data]
    # computed prose is a page's text like any other; a hidden cell that shows nothing is nothing
    return _prose(cell, computed[0]) if computed else None


def _prose(cell: dict[str, Any], text: str) -> dict[str, Any]:
    """Replace a code cell by text."""
    return {"cell_type": "markdown", "id": cell["id"], "metadata": {}, "source": text}
