"""The command ``figures``: draw figures into files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, naming_folder, write_whole
from clusterproof.algorithms.validation import check_name, check_seed, error_line, require
from clusterproof.commands import terminal
from clusterproof.figures import FIGURES
from clusterproof.figures.appearance import check_width
from clusterproof.figures.files import FileTheme, file_content


def draw(
    *ids: str,
    out: Path | None = None,
    file_format: Annotated[Literal["png", "svg", "pdf"], Parameter("--format")] = "svg",
    seed: terminal.Integer = 0,
    caption: bool = True,
    width: float | None = None,
    theme: FileTheme = "light",
) -> int:
    """Draw the named figures, or all figures; without --out, list them.

    Parameters
    ----------
    ids
        Names of figures.
    out
        Folder for the files; created if it is missing.
    file_format
        File format.
    seed
        Seed of the figures' data.
    caption
        Draw the caption below the panels; --no-caption writes it to the file's metadata only.
    width
        Width in centimetres, such as 8.5 for a column or 16 for a page; 18.3 by default. The font size does not change,
        and panels of a narrow figure are stacked.
    theme
        light, dark or, for svg, both: the drawing follows the theme of the page that contains the file.
    """
    check_seed(seed)
    check_width(width)
    for name in ids:
        check_name("id", name, list(FIGURES))
    if out is None:
        if ids:
            raise InvalidArgument("out", None, "must be given to draw", "add --out DIR")
        terminal.show_table(("id", "title"), [(name, figure.title) for name, figure in FIGURES.items()])
        return 0
    require("out", str(out), "matplotlib")
    with naming_folder("out", out):
        out.mkdir(parents=True, exist_ok=True)
    chosen = list(dict.fromkeys(ids)) or list(FIGURES)
    paths = {name: out / f"{name.replace('/', '-')}.{file_format}" for name in chosen}
    for path in paths.values():
        check_writable("out", path)
    failures = []
    with terminal.progress(len(chosen), lines=True) as advance:
        for number, name in enumerate(chosen):
            advance(number, name)
            try:
                content = _render(name, seed, file_format, width=width, theme=theme, caption=caption)
            except InvalidArgument as refusal:
                failures.append(f"{name}: {refusal}")
                continue
            except Exception as error:  # one broken figure must not hide the others
                failures.append(f"{name}: the figure failed with {error_line(error)}")
                continue
            write_whole("out", paths[name], content)
            print(paths[name], flush=True)
    for failure in failures:
        terminal.complain(failure)
    return 1 if failures else 0


def _render(name: str, seed: int, file_format: str, **appearance: Any) -> bytes:
    """Draw a figure and return the bytes of its file."""
    return file_content(FIGURES[name].draw(seed), file_format, title=FIGURES[name].title, **appearance)
