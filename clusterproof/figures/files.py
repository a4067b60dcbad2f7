"""Figures as files: png, svg and pdf with alternative text and embedded fonts."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from clusterproof.algorithms.calls import checked
from clusterproof.figures.appearance import Theme, dressed
from clusterproof.figures.style import Figure, caption_of, light

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
"""Namespace of an svg's metadata."""


@checked
def save(
    figure: Figure,
    path: str | Path,
    *,
    alt: str = "",
    width: float | None = None,
    theme: Theme = "light",
    caption: bool = True,
) -> None:
    """Write a figure as png, svg or pdf, according to the suffix of the path.

    Equal figures give identical files. The file contains its caption (svg and png: ``Description``, pdf: ``Subject``)
    and, as its ``Title``, the alternative text, which browsers read from the title of an svg.

    Parameters
    ----------
    figure
        Figure returned by ``plot``.
    path
        Path of the file.
    alt
        Alternative text.
    width, theme, caption
        Arguments of ``dressed``.

    Raises
    ------
    InvalidArgument
        If the width or the theme is invalid, or the figure does not fit.
    OSError
        If the file cannot be written.
    """
    form = Path(path).suffix.lstrip(".")
    Path(path).write_bytes(file_content(figure, form, alt=alt, width=width, theme=theme, caption=caption))


def file_content(figure: Figure, form: str, *, alt: str = "", **appearance: Any) -> bytes:
    """Return what ``save`` writes, as png, svg or pdf; the parameters are those of ``save``.

    Raises
    ------
    InvalidArgument
        As ``save`` does.
    """
    words = caption_of(figure)
    kinds: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Title": alt, "Description": words},
        "pdf": {"CreationDate": None, "Title": alt, "Subject": words},
        "png": {"Title": alt, "Description": words},
    }
    # of the dates in matplotlib's own fonts, which a pdf embeds
    logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
    file = io.BytesIO()
    shown = dressed(figure, **appearance)
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
