"""Write figures to png, svg and pdf files, with alternative text and embedded fonts."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from xml.etree import ElementTree

from clusterproof.common.calls import checked
from clusterproof.figures.style import Appearance, Figure, appearing

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
"""Namespace of an svg's metadata."""


@checked
def save(figure: Figure, path: str | Path, *, alt: str = "") -> None:
    """Write a figure as png, svg or pdf, according to the suffix of the path.

    Equal figures have identical files. The metadata contain the caption, as ``Description`` in svg and png files and
    as ``Subject`` in pdf files. The ``Title`` is the alternative text, because browsers use the title of an svg as
    its alternative text.

    Parameters
    ----------
    figure
        Figure returned by ``plot``.
    path
        Path of the file.
    alt
        Alternative text.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    Path(path).write_bytes(file_content(figure, Path(path).suffix.lstrip("."), alt=alt))


def file_content(figure: Figure, form: str, *, alt: str = "") -> bytes:
    """Return the bytes that ``save`` writes for the format png, svg or pdf."""
    words = getattr(figure, "caption", "")
    metadata = {
        "svg": {"Date": None, "Title": alt, "Description": words},
        "pdf": {"CreationDate": None, "Title": alt, "Subject": words},
        "png": {"Title": alt, "Description": words},
    }
    # a pdf embeds matplotlib's own fonts, which contain dates
    logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
    file = io.BytesIO()
    with appearing(Appearance()):
        figure.savefig(file, format=form, metadata=metadata.get(form, {}))
    return file.getvalue()


def metadata_of(picture: Path, name: str) -> str:
    """Return the ``title`` or ``description`` that ``save`` wrote to an svg's metadata, or "" if it is missing."""
    element = ElementTree.parse(picture).find(f".//{{{DUBLIN_CORE}}}{name}")
    return element.text or "" if element is not None else ""
