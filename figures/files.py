"""Figures as files: png, svg and pdf with their words, and fonts that travel along."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures.alternative import words_of
from clusterproof.figures.appearance import Theme, dressed
from clusterproof.figures.both_themes import in_both_themes
from clusterproof.figures.style import caption_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FileTheme = Literal["light", "dark", "both"]

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
"""Namespace of an svg's metadata."""

SETTINGS: Any = {
    "svg.hashsalt": "clusterproof",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
}
"""A pdf's text is text, in TrueType fonts (Type 42) that it holds; an svg's is shapes, alike wherever it is shown."""


def save(
    figure: Figure,
    path: str | Path,
    *,
    title: str = "",
    width: float | None = None,
    theme: FileTheme = "light",
    caption: bool = True,
) -> None:
    """Write a figure as png, svg or pdf, by the ending of the path; equal figures, equal bytes.

    The file holds its caption (svg and png: ``Description``, pdf: ``Subject``) and, as its ``Title``, words for who
    does not see it; a browser takes an svg's title for its alternative text.

    Parameters
    ----------
    figure
        What ``draw`` or ``plot`` gave.
    path
        Of the file.
    title
        Put before the words.
    width, theme, caption
        As ``dressed`` takes them. ``"both"`` is an svg whose colours follow the theme of the page that shows it.

    Raises
    ------
    InvalidArgument
        If the width or the theme is none, the figure does not fit, or the file is for one theme alone.
    OSError
        If the file cannot be written.
    """
    from matplotlib import rc_context

    form = Path(path).suffix.lstrip(".")
    said = " ".join(filter(None, (title.rstrip(".") + "." if title else "", words_of(figure))))
    kinds: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Title": said, "Description": caption_of(figure)},
        "pdf": {"CreationDate": None, "Title": said, "Subject": caption_of(figure)},
        "png": {"Title": said, "Description": caption_of(figure)},
    }

    def draw(target: Path | io.BytesIO, theme: Theme) -> None:
        shown = dressed(figure, width=width, theme=theme, caption=caption)
        shown.savefig(target, format=form, dpi=200, metadata=kinds.get(form, {}))

    with rc_context(SETTINGS):
        if theme != "both":
            draw(Path(path), theme)
            return
        if form != "svg":
            raise InvalidArgument("theme", theme, "is for svg files alone", "take --format svg, or one theme")
        light, dark = io.BytesIO(), io.BytesIO()
        draw(light, "light")
        draw(dark, "dark")
    joined = in_both_themes(*(drawn.getvalue().decode() for drawn in (light, dark)))
    Path(path).write_text(joined, encoding="utf-8")


def description_of(picture: Path) -> str:
    """Read the caption back from the metadata of an svg that ``save`` wrote; empty where there is none."""
    return _metadata(picture, "description")


def alternative_of(picture: Path) -> str:
    """Read the words for who does not see it back from an svg that ``save`` wrote; empty where there are none."""
    return _metadata(picture, "title")


def _metadata(picture: Path, name: str) -> str:
    """Read an entry of an svg's metadata."""
    for element in ElementTree.parse(picture).iter(f"{{{DUBLIN_CORE}}}{name}"):
        return element.text or ""
    return ""
