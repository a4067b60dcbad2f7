"""Appearance of a drawn figure: caption, width, and light or dark theme."""

from __future__ import annotations

import copy
import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.calls import checked
from clusterproof.algorithms.validation import check_list, check_name
from clusterproof.figures.line_labels import LABEL, is_label, place_labels
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
    if width is not None and not (isinstance(width, int | float) and NARROWEST <= width <= WIDEST):
        rule = f"must lie between {NARROWEST:g} and {WIDEST:g} centimetres"
        raise InvalidArgument("width", width, rule, "a column of text has 8.5, a page's text 14 to 18")


@checked
def dressed(
    figure: Figure,
    *,
    width: float | None = None,
    theme: Theme = "light",
    caption: bool = True,
    title: str | None = None,
    labels: Sequence[str] = (),
) -> Figure:
    """Return a figure in another width or theme, or with other words; the given figure is unchanged.

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
    title
        Title of the whole figure. If None, none.
    labels
        Names of the curves in place of those in the legend or at the lines, in their order; the rest stay.

    Returns
    -------
    matplotlib.figure.Figure
        The figure itself if nothing changes, otherwise a copy.

    Raises
    ------
    InvalidArgument
        If the theme is unknown, the width is out of range, the figure's parts do not fit into it, or there are more
        labels than curves with names.
    """
    check_width(width)
    check_name("theme", theme, THEMES)
    if width is None and theme == "light" and caption and title is None and not labels:
        return figure
    with style.light():
        if title is not None or labels:
            figure = copy.deepcopy(figure)
            if title is not None:
                _set_title(figure, title)
            _rename(figure, labels)
            _settle_again(figure)
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
    shown = _fitting(figure, centimetres, caption)
    if shown is None:
        tried = np.arange(math.floor(2 * centimetres) + 1, 2 * WIDEST + 1) / 2
        least = bisect_left(tried, True, key=lambda width: _fitting(figure, width, caption) is not None)
        rule = "is too narrow for this figure: its parts would overlap"
        remedy = f"{tried[least]:g} is enough" if least < len(tried) else "leave it out"
        raise InvalidArgument("width", centimetres, rule, remedy)
    return shown


def _fitting(figure: Figure, centimetres: float, caption: bool) -> Figure | None:
    """Return a copy of a figure with another width, or None if its parts do not fit into it."""
    count = len(panels_of(figure))
    for columns in range(count, 0, -1):
        if columns > 1 and (count % columns or centimetres < columns * PANEL_WIDTH):
            continue
        shown = copy.deepcopy(figure)
        _set_width(shown, centimetres, caption, columns)
        if _fits(shown):
            return shown
    return None


def _set_title(figure: Figure, title: str) -> None:
    """Write a title above a figure: over its legend, if that is above the panels."""
    if not isinstance(title, str):
        raise InvalidArgument("title", title, "must be a text", "write it in quotes")
    if figure.legends:
        figure.legends[0].set_title(title)
        figure.legends[0].set_alignment("left")
    else:
        figure.suptitle(title, x=0.01, ha="left")


def check_labels(labels: Sequence[str], most: int | None, names: str = "") -> None:
    """Require a list of texts, and at most as many as there are names of curves, if it is known how many."""
    check_list("labels", labels, str, 'write ["first", "second"]')
    if most is not None and len(labels) > most:
        named = f"names {names or f'{most} curves'}" if most else "names no curve"
        rule = f"has {len(labels)} names, but the figure {named}"
        raise InvalidArgument(
            "labels", list(labels), rule, f"give at most {most}" if most else "leave it out"
        )


def _rename(figure: Figure, labels: Sequence[str]) -> None:
    """Replace the names of curves, in their order."""
    legends = [*figure.legends, *(legend for panel in figure.axes if (legend := panel.get_legend()))]
    texts = [text for legend in legends for text in legend.get_texts()]
    for panel in figure.axes:
        places = {f"{LABEL}{line.get_gid()}": place for place, line in enumerate(panel.lines)}
        texts += sorted(filter(is_label, panel.texts), key=lambda text: places[str(text.get_gid())])
    check_labels(labels, len(texts), ", ".join(text.get_text() for text in texts))
    for text, label in zip(texts, labels, strict=False):
        text.set_text(label)


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
        title = legend.get_title().get_text()
        for columns in range(min(len(names), LEGEND_COLUMNS), 0, -1):
            figure.legends.remove(shown)  # in a copy, ``remove`` would look in the list of the original
            place: style.Look = {"loc": "outside upper left", "alignment": "left", "ncols": columns}
            shown = figure.legend(handles, names, title=title, **place)
            if shown.get_window_extent().x0 + shown.get_window_extent().width <= figure.bbox.width:
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
