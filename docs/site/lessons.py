"""Pages of the lessons: marimo executes and exports them, with a picture for every position of the sliders.

A lesson defines three names at its top level: ``SLIDERS``, the values of each slider; ``picture``, which draws the
figure for one value of each; and ``describe``, which returns a sentence about the figure.
"""

from __future__ import annotations

import html
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from nbformat import v4 as typed_notebooks

from clusterproof.figures import save
from docs.site.catalogue import linked
from live import LABELS

notebooks: Any = typed_notebooks  # the untyped functions come from marimo

LESSONS = Path(__file__).parents[1] / "tutorials" / "lessons"
DRAWN = Path(__file__).parent / "drawn"
"""Folder of the pictures for the positions of the sliders, which Sphinx copies."""

PICTURE_CALL = "picture(**controls.value)"
"""The call in the cell with the live figure. On a page of the site, pictures replace this cell."""


def notebook(text: str) -> Any:
    """Execute a lesson and return it as a notebook.

    Parameters
    ----------
    text
        The lesson in Markdown.

    Raises
    ------
    RuntimeError
        If the lesson fails.
    """
    (name,) = (path.stem for path in LESSONS.glob("lesson_*.md") if path.read_text(encoding="utf-8") == text)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, f"{name}.md"), Path(folder, "lesson.ipynb")
        source.write_text(text.replace(PICTURE_CALL, repr(PICTURE_CALL)), encoding="utf-8")
        _marimo("export", "ipynb", "--include-outputs", "--sort", "top-down", "-f", "-o", target, source)
        book: Any = notebooks.reads(target.read_text(encoding="utf-8"))
    book.cells = [shown for cell in book.cells if (shown := _shown(cell, name)) is not None]
    return book


def module_of(lesson: Path, folder: Path) -> ModuleType:
    """Convert a lesson to a module in a folder, and import it.

    Raises
    ------
    RuntimeError
        If the lesson is not a notebook.
    """
    target = folder / f"{lesson.stem}.py"
    _marimo("convert", lesson, "-o", target)
    found = importlib.util.spec_from_file_location(lesson.stem, target)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _marimo(*words: str | Path) -> None:
    """Run a command of marimo such that lessons can import the same modules as this process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "marimo", "-q", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{words[-1]} failed: {done.stderr[-2000:] or done.stdout[-2000:]}")


def _shown(cell: Any, name: str) -> Any:
    """Return a cell in its form on a page: hidden code is folded, and computed text is displayed as text."""
    prose = [
        output.data["text/markdown"]
        for output in cell.get("outputs", ())
        if "text/markdown" in output.get("data", {})
    ]
    if "controls = " in cell.source:
        return None
    if PICTURE_CALL in cell.source:
        return notebooks.new_markdown_cell(_frames(name))
    if cell.cell_type == "markdown" or prose:
        return notebooks.new_markdown_cell(linked(prose[0] if prose else cell.source, "../../catalogue/"))
    if "remove-input" in cell.metadata.get("tags", ()):
        cell.metadata = {"tags": ["hide-cell"]}
    return cell


def positions(module: ModuleType) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every position of a lesson's sliders: its key, and the values, indexed by the name of the slider."""
    for chosen in itertools.product(*(enumerate(values) for values in module.SLIDERS.values())):
        yield (
            "-".join(str(index) for index, _ in chosen),
            dict(zip(module.SLIDERS, (each for _, each in chosen), strict=True)),
        )


def _frames(name: str) -> str:
    """Draw the figure of a lesson at every position of its sliders; return sliders and figure as HTML."""
    folder, frames = DRAWN / "frames" / name, {}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as converted:
        module = module_of(LESSONS / f"{name}.md", Path(converted))
        for key, values in positions(module):
            save(module.picture(**values), folder / f"{key}.svg")
            frames[key] = {"src": f"../../frames/{name}/{key}.svg", "alt": module.describe(**values)}
    middle = {slider: (len(values) - 1) // 2 for slider, values in module.SLIDERS.items()}
    controls = "".join(
        f"<label>{html.escape(LABELS.get(slider, slider))} <span></span><input type='range' min='0' "
        f"max='{len(values) - 1}' value='{middle[slider]}' step='1' data-values='{json.dumps(values)}'></label>"
        for slider, values in module.SLIDERS.items()
    )
    first = frames["-".join(map(str, middle.values()))]
    said = html.escape(first["alt"])
    return (
        f'<figure class="frames"><div class="controls">{controls}</div><img src="{first["src"]}" alt="{said}">'
        f'<figcaption aria-live="polite">{said}</figcaption>'
        f'<script type="application/json">{json.dumps(frames)}</script></figure>'
    )
