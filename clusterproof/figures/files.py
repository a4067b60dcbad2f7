"""Figures as files: png, svg and pdf with alternative text and embedded fonts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures.alternative_text import words_of
from clusterproof.figures.appearance import Theme, dressed
from clusterproof.figures.style import Figure, caption_of, light
from clusterproof.figures.themes import in_both_themes

FileTheme = Literal["light", "dark", "both"]

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
"""Namespace of an svg's metadata."""


def save(
    figure: Figure,
    path: str | Path,
    *,
    title: str = "",
    width: float | None = None,
    theme: FileTheme = "light",
    caption: bool = True,
) -> None:
    """Write a figure as png, svg or pdf, according to the suffix of the path.

    Equal figures give identical files.

    The file contains its caption (svg and png: ``Description``, pdf: ``Subject``) and, as its ``Title``, the
    alternative text, which browsers read from the title of an svg.

    Parameters
    ----------
    figure
        Figure returned by ``draw`` or ``plot``.
    path
        Path of the file.
    title
        Title, placed before the alternative text.
    width, theme, caption
        Arguments of ``dressed``. ``"both"`` writes an svg that adapts to the viewer's theme, light or dark.

    Raises
    ------
    InvalidArgument
        If the width or the theme is invalid, the figure does not fit, or the format supports one theme only.
    OSError
        If the file cannot be written.
    """
    form = Path(path).suffix.lstrip(".")
    Path(path).write_bytes(file_content(figure, form, title=title, width=width, theme=theme, caption=caption))


def file_content(
    figure: Figure,
    form: str,
    *,
    title: str = "",
    width: float | None = None,
    theme: FileTheme = "light",
    caption: bool = True,
) -> bytes:
    """Return what ``save`` writes, as png, svg or pdf; the parameters are those of ``save``.

    Raises
    ------
    InvalidArgument
        As ``save`` does.
    """
    if theme == "both" and form != "svg":
        raise InvalidArgument("theme", theme, "is for svg files alone", "take --format svg, or one theme")
    words = " ".join(filter(None, (title.rstrip(".") + "." if title else "", words_of(figure))))
    kinds: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Title": words, "Description": caption_of(figure)},
        "pdf": {"CreationDate": None, "Title": words, "Subject": caption_of(figure)},
        "png": {"Title": words, "Description": caption_of(figure)},
    }

    def draw(theme: Theme) -> bytes:
        file = io.BytesIO()
        shown = dressed(figure, width=width, theme=theme, caption=caption)
        with light():
            if form == "svg":  # equal to savefig's file, which draws twice
                from matplotlib.backends.backend_svg import FigureCanvasSVG

                canvas: Any = FigureCanvasSVG(shown)
                resolution = shown.dpi
                canvas.print_svg(file, metadata=kinds[form])
                shown.dpi = resolution
            else:
                shown.savefig(file, format=form, metadata=kinds.get(form, {}))
        return file.getvalue()

    if theme != "both":
        return draw(theme)
    return in_both_themes(draw("light").decode(), draw("dark").decode()).encode()


def description_of(picture: Path) -> str:
    """Read the caption back from the metadata of an svg that ``save`` wrote; empty if there is none."""
    return _metadata(picture, "description")


def alternative_of(picture: Path) -> str:
    """Return the alternative text of an svg that ``save`` wrote; empty if there is none."""
    return _metadata(picture, "title")


def _metadata(picture: Path, name: str) -> str:
    """Read an entry of an svg's metadata."""
    element = ElementTree.parse(picture).find(f".//{{{DUBLIN_CORE}}}{name}")
    return element.text or "" if element is not None else ""
