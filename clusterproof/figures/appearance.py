"""Appearance of a drawn figure: caption, width, and light or dark theme."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Literal

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_name
from clusterproof.figures.line_labels import place_labels
from clusterproof.figures.style import Axes, Figure
from clusterproof.figures.themes import darken

Theme = Literal["light", "dark"]
THEMES = ("light", "dark")

CENTIMETRES = 2.54
"""Centimetres per inch."""

PANEL_WIDTH = 4.5
"""Smallest width of a panel in centimetres next to another one; narrower panels are stacked."""

NARROWEST, WIDEST = 5.0, 60.0
"""Smallest and largest width in centimetres."""

LEGEND_COLUMNS = 10
"""Largest number of columns of a legend above the panels."""


def check_width(width: float | None) -> None:
    """Raise ``InvalidArgument`` for a width outside the allowed range.

    Raises
    ------
    InvalidArgument
        If the width is not None and not between ``NARROWEST`` and ``WIDEST``.
    """
    if width is not None and not NARROWEST <= width <= WIDEST:
        rule = f"must lie between {NARROWEST:g} and {WIDEST:g} centimetres"
        raise InvalidArgument("width", width, rule, "a column of text has 8.5, a page's text 14 to 18")


def dressed(
    figure: Figure, *, width: float | None = None, theme: Theme = "light", caption: bool = True
) -> Figure:
    """Return a figure in another width or theme, or without caption; the given figure is unchanged.

    Font sizes and line widths do not change: choose the width at which the figure is printed.

    Parameters
    ----------
    figure
        Figure returned by ``draw`` or ``plot``.
    width
        Width in centimetres. If None, as drawn. In narrow figures, panels are stacked.
    theme
        ``"light"``: black on white. ``"dark"`` changes the lightness of neutral and filled elements; lines and
        markers keep their colour.
    caption
        Whether the caption is drawn.

    Returns
    -------
    matplotlib.figure.Figure
        The figure itself if nothing changes, otherwise a copy.

    Raises
    ------
    InvalidArgument
        If the theme is unknown, the width is out of range, or the figure's parts do not fit into it.
    """
    check_width(width)
    check_name("theme", theme, THEMES)
    if width is None and theme == "light" and caption:
        return figure
    with style.light():
        if width is not None:
            shown = _in_width(figure, width, caption)
        else:
            shown = copy.deepcopy(figure)
            if not caption:
                shown.supxlabel("")
                _settle_again(shown)
        if theme == "dark":
            darken(shown)
    return shown


def _in_width(figure: Figure, centimetres: float, caption: bool) -> Figure:
    """Return a copy of a figure with another width, with as many panels per row as fit."""
    count = len(panels_of(figure))
    for columns in range(count, 0, -1):
        if columns > 1 and (count % columns or centimetres < columns * PANEL_WIDTH):
            continue
        shown = copy.deepcopy(figure)
        _set_width(shown, centimetres, caption, columns)
        if _fits(shown):
            return shown
    rule = "is too narrow for this figure: its parts would overlap"
    raise InvalidArgument("width", centimetres, rule, "take a wider one")


def _settle_again(figure: Figure) -> None:
    """Compute the layout of a changed figure."""
    figure.set_layout_engine("constrained")
    style.settled(figure)


def panels_of(figure: Figure) -> list[Axes]:
    """Return the panels of a figure, without the colour bars."""
    return [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]


def _set_width(figure: Figure, centimetres: float, caption: bool, columns: int) -> None:
    """Change the width of a figure: rearrange panels, wrap texts and adapt the height."""
    width, panels = centimetres / CENTIMETRES, panels_of(figure)
    old_caption, letters = figure.get_supxlabel(), int(style.CAPTION_LETTERS * width / style.WIDTH)
    text = style.wrap(style.caption_of(figure), letters) if caption else ""
    rows = math.ceil(len(panels) / columns)
    if rows > 1:
        grid = figure.add_gridspec(rows, columns)
        for number, panel in enumerate(panels):
            panel.set_subplotspec(grid[divmod(number, columns)])
    stretch = np.clip(width / columns / (style.WIDTH / len(panels)), 0.8, 1.4)
    height = rows * (figure.get_figheight() - _height_of(old_caption)) * stretch + _height_of(text)
    style.set_caption(figure, text)
    figure.set_figwidth(width)
    figure.set_figheight(height + _narrow_legends(figure))
    _settle_again(figure)
    if _wrap_names(panels):
        _settle_again(figure)


def _height_of(caption: str) -> float:
    """Return the height in inches of a caption below the panels."""
    return len(caption.splitlines()) * style.CAPTION_SIZE * style.LINE_SPACING / 72


def _narrow_legends(figure: Figure) -> float:
    """Set the number of columns of legends above the panels; return the increase of their height in inches."""
    growth = 0.0
    for legend in list(figure.legends):
        names = [text.get_text() for text in legend.get_texts()]
        handles = [handle for handle in legend.legend_handles if handle is not None]
        old_height, shown = legend.get_window_extent().height, legend
        for columns in range(min(len(names), LEGEND_COLUMNS), 0, -1):
            figure.legends.remove(shown)  # in a copy, ``remove`` would look in the list of the original
            shown = figure.legend(handles, names, loc="outside upper left", ncols=columns)
            if shown.get_window_extent().width <= figure.bbox.width:
                break
        growth += (shown.get_window_extent().height - old_height) / figure.dpi
    return growth


def _wrap_names(panels: list[Axes]) -> bool:
    """Wrap titles and axis labels that are longer than their panel; return whether there are any."""
    wrapped = False
    for panel in panels:
        box, numbers = panel.get_window_extent(), panel.yaxis.get_tightbbox()
        below = box.x1 - (numbers.x0 if numbers else box.x0)  # a name below may stand below the numbers, too
        title = panel.set_title(panel.get_title(loc="left"), loc="left")
        names = ((title, 0, box.width), (panel.xaxis.label, 0, below), (panel.yaxis.label, 1, box.height))
        for text, side, limit in names:
            extent = text.get_window_extent()
            length = (extent.width, extent.height)[side]
            if text.get_text() and length > limit:
                letters = int(style.visible(text.get_text()) * limit / length)
                text.set_text(style.wrap(text.get_text(), max(letters, 8)))
                wrapped = True
    return wrapped


def _fits(figure: Figure) -> bool:
    """Return whether nothing is cut off, panels are an inch wide, and no two of their numbers or words overlap."""
    whole = figure.bbox.padded(1)
    boxes = [box for part in (*figure.legends, *figure.axes) if (box := part.get_tightbbox())]
    inside = all(whole.containsx(x) and whole.containsy(y) for box in boxes for x, y in box.corners())
    wide = all(panel.get_window_extent().width > figure.dpi for panel in panels_of(figure))
    placed = place_labels(figure, style.wrap)
    return inside and wide and placed and not any(map(_words_overlap, figure.axes))


def _words_overlap(panel: Axes) -> bool:
    """Return whether two numbers on an axis overlap, or two words in the panel."""
    for group in (panel.get_xticklabels(), panel.get_yticklabels(), panel.texts):
        boxes = [text.get_window_extent() for text in group if text.get_text() and text.get_visible()]
        if any(box.overlaps(other) for box, other in itertools.combinations(boxes, 2)):
            return True
    return False
