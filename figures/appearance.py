"""How a drawn figure is shown: with or without its caption, in which width, light or dark."""

from __future__ import annotations

import colorsys
import copy
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_name
from clusterproof.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colour: TypeAlias = tuple[float, float, float, float]
Theme = Literal["light", "dark"]
THEMES = ("light", "dark")

CENTIMETRES = 2.54
"""In an inch."""

PANEL_WIDTH = 4.5
"""Centimetres that a panel needs beside another one; with less, panels stand below each other."""

NARROWEST, WIDEST = 5.0, 60.0
"""Centimetres between which a width lies."""

PAPER, INK = 0.07, 0.93
"""Lightness of the dark theme's background, and of what is black in the light one."""


def check_width(width: float | None) -> None:
    """Refuse a width that no page has.

    Raises
    ------
    InvalidArgument
        If it is given and is not between ``NARROWEST`` and ``WIDEST``.
    """
    if width is not None and not NARROWEST <= width <= WIDEST:
        rule = f"must lie between {NARROWEST:g} and {WIDEST:g} centimetres"
        raise InvalidArgument("width", width, rule, "a column of text has 8.5, a page's text 14 to 18")


def dressed(
    figure: Figure, *, width: float | None = None, theme: Theme = "light", caption: bool = True
) -> Figure:
    """Show a figure as a paper or a slide wants it; the figure itself stays as it is.

    Letters and lines keep their size in points: choose the width at which the figure is printed.

    Parameters
    ----------
    figure
        What ``draw`` or ``plot`` gave.
    width
        In centimetres; as drawn where None. In a narrow one panels stand below each other.
    theme
        ``"light"``: black on white. ``"dark"``: what is neutral or filled changes its lightness, lines and markers
        keep their colours.
    caption
        Whether the caption is drawn.

    Returns
    -------
    matplotlib.figure.Figure
        The figure itself where nothing is asked for, else a copy.

    Raises
    ------
    InvalidArgument
        If the theme is unknown, the width is none of a page, or the figure's parts do not fit into it.
    """
    check_width(width)
    check_name("theme", theme, THEMES)
    if width is None and theme == "light" and caption:
        return figure
    if width is not None:
        shown = _in_width(figure, width, caption)
    else:
        shown = copy.deepcopy(figure)
        if not caption:
            shown.supxlabel("")
            _settle_again(shown)
    if theme == "dark":
        _darken(shown)
    return shown


def _in_width(figure: Figure, centimetres: float, caption: bool) -> Figure:
    """Copy a figure into a width, with as many panels side by side as fit."""
    count = len(panels_of(figure))
    for beside in range(count, 0, -1):
        if beside > 1 and (count % beside or centimetres < beside * PANEL_WIDTH):
            continue
        shown = copy.deepcopy(figure)
        _set_width(shown, centimetres, caption, beside)
        if _fits(shown):
            return shown
    rule = "is too narrow for this figure: its parts would overlap"
    raise InvalidArgument("width", centimetres, rule, "take a wider one")


def _settle_again(figure: Figure) -> None:
    """Lay a figure out anew."""
    figure.set_layout_engine("constrained")
    style.settled(figure)


def panels_of(figure: Figure) -> list[Axes]:
    """Give the panels of a figure, without the bars that explain colours."""
    return [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]


def _set_width(figure: Figure, centimetres: float, caption: bool, beside: int) -> None:
    """Give a figure another width: so many panels beside each other, texts in more lines, the height that follows."""
    width, height = centimetres / CENTIMETRES, figure.get_figheight()
    panels, before = panels_of(figure), style.height_of(figure.get_supxlabel())
    letters = int(style.CAPTION_LETTERS * width / style.WIDTH)
    text = style.wrap(style.caption_of(figure), letters) if caption else ""
    rows = math.ceil(len(panels) / beside)
    if rows > 1:
        grid = figure.add_gridspec(rows, beside)
        for number, panel in enumerate(panels):
            panel.set_subplotspec(grid[divmod(number, beside)])
    stretch = np.clip(width / beside / (style.WIDTH / len(panels)), 0.8, 1.4)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=style.CAPTION_SIZE, linespacing=style.LINE_SPACING)
    figure.set_figwidth(width)
    taller = _narrow_legends(figure)
    figure.set_figheight(rows * (height - before) * stretch + style.height_of(text) + taller)
    _settle_again(figure)
    if _wrap_names(panels):
        _settle_again(figure)


def _narrow_legends(figure: Figure) -> float:
    """Give the legends above the panels the columns that fit, and say by how many inches they grow."""
    grown = 0.0
    for legend in list(figure.legends):
        names = [text.get_text() for text in legend.get_texts()]
        handles = [handle for handle in legend.legend_handles if handle is not None]
        size, before = legend.get_texts()[0].get_fontsize(), legend.get_window_extent().height
        shown = legend
        for columns in range(min(len(names), style.LEGEND_COLUMNS), 0, -1):
            figure.legends.remove(shown)  # in a copy, ``remove`` would look in the list of the original
            shown = figure.legend(
                handles, names, loc="outside upper left", ncols=columns, fontsize=size, frameon=False
            )
            if shown.get_window_extent().width <= figure.bbox.width:
                break
        grown += (shown.get_window_extent().height - before) / figure.dpi
    return grown


def _wrap_names(panels: list[Axes]) -> bool:
    """Break titles and names of axes that are longer than their panel, and say whether there was one."""
    wrapped = False
    for panel in panels:
        box, numbers = panel.get_window_extent(), panel.yaxis.get_tightbbox()
        below = box.x1 - (numbers.x0 if numbers else box.x0)  # a name below may stand below the numbers, too
        title = panel.set_title(panel.get_title(loc="left"), loc="left", fontsize=style.NAME_SIZE)
        names = ((title, 0, box.width), (panel.xaxis.label, 0, below), (panel.yaxis.label, 1, box.height))
        for text, side, room in names:
            extent = text.get_window_extent()
            length = (extent.width, extent.height)[side]
            if text.get_text() and length > room:
                letters = int(style.visible(text.get_text()) * room / length)
                text.set_text(style.wrap(text.get_text(), max(letters, 8)))
                wrapped = True
    return wrapped


def _fits(figure: Figure) -> bool:
    """Say whether nothing is cut off, panels are left with room, and no two of their numbers or words overlap."""
    whole = figure.bbox.padded(1)
    parts = [box for part in (*figure.legends, *figure.axes) if (box := part.get_tightbbox())]
    inside = all(
        whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
        for box in parts
    )
    roomy = all(panel.get_window_extent().width > figure.dpi for panel in panels_of(figure))
    return inside and roomy and not any(map(_words_overlap, figure.axes))


def _words_overlap(panel: Axes) -> bool:
    """Say whether two numbers on an axis overlap, or two words in the panel."""
    groups = [panel.get_xticklabels(), panel.get_yticklabels(), panel.texts]
    for group in groups:
        boxes = [text.get_window_extent() for text in group if text.get_text() and text.get_visible()]
        for number, box in enumerate(boxes):
            if any(box.overlaps(other) for other in boxes[number + 1 :]):
                return True
    return False


def _darken(figure: Figure) -> None:
    """Turn paper into ink: what is neutral or filled changes its lightness, lines and markers keep their colour."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import Collection
    from matplotlib.colors import ListedColormap, to_rgba, to_rgba_array
    from matplotlib.contour import ContourSet
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in figure.findobj():
        if isinstance(artist, ContourSet) and artist.colors is not None and not artist.filled:  # level lines
            artist.set_edgecolor([_line(colour) for colour in to_rgba_array(artist.get_edgecolor())])
        elif isinstance(artist, ScalarMappable) and artist.get_array() is not None:
            steps = artist.get_cmap()(np.arange(artist.get_cmap().N))
            if (steps[:, :3].min(axis=1) > 0.95).any():  # a map without white needs no paper
                artist.set_cmap(ListedColormap([_turned(colour) for colour in steps]))
        elif isinstance(artist, Collection):
            artist.set_facecolor([_turned(colour) for colour in to_rgba_array(artist.get_facecolor())])
            artist.set_edgecolor([_line(colour) for colour in to_rgba_array(artist.get_edgecolor())])
        elif isinstance(artist, Line2D):
            own = artist.get_color(), artist.get_markeredgecolor(), artist.get_markerfacecolor()
            line, edge, face = (_line(to_rgba(colour)) for colour in own)
            artist.set(color=line, markeredgecolor=edge)
            if artist.get_fillstyle() != "none":
                artist.set_markerfacecolor(face)
        elif isinstance(artist, Patch):
            artist.set(
                facecolor=_turned(to_rgba(artist.get_facecolor())),
                edgecolor=_line(to_rgba(artist.get_edgecolor())),
            )
        elif isinstance(artist, Text):
            artist.set_color(_line(to_rgba(artist.get_color())))
    for panel in figure.axes:  # marks on the axes are made anew whenever it is drawn
        panel.tick_params(which="both", colors=_line(to_rgba("black")))


def _turned(colour: Colour) -> Colour:
    """Change the lightness of a colour from that of paper to that of ink and back."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*colour[:3])
    turned = colorsys.hls_to_rgb(hue, PAPER + (1 - lightness) * (INK - PAPER), saturation)
    return (*turned, colour[3])


def _line(colour: Colour) -> Colour:
    """Change the lightness of what is neutral."""
    return _turned(colour) if max(colour[:3]) - min(colour[:3]) < 0.05 else colour
