"""Common style of all figures: style sheet, palette, width, caption, title, legend and layout."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_list, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

    from clusterproof.synthetic import RegressionMixture
else:
    Axes = Figure = Any  # matplotlib is imported only when a figure is drawn

SHEET = Path(__file__).with_name("figures.mplstyle")
"""Style sheet for matplotlib, with all settings that figures share."""

NOT_LOOKS = ("figure.constrained_layout.use", "figure.autolayout", "svg.hashsalt", "backend")
"""Parameters that are not copied from ``rcParams``.

We set the first three parameters ourselves, for the layout and for reproducible files.
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
"""The palette of Okabe and Ito, whose colours colour-blind readers can distinguish."""

GREY = "#8C8C8C"
"""Grey, for curves beyond the palette."""

Look: TypeAlias = dict[str, Any]
"""Style of a curve, as keyword arguments of ``plot`` and similar functions."""

LOOKS: tuple[Look, ...] = (
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": VERMILLION, "marker": "s", "linestyle": "--"},
    {"color": GREEN, "marker": "^", "linestyle": "-."},
    {"color": PURPLE, "marker": "D", "linestyle": ":"},
    {"color": ORANGE, "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": SKY, "marker": "P", "linestyle": (0, (3, 1))},
    {"color": GREY, "marker": "x", "linestyle": (0, (1, 2))},
)
"""Colour, marker and line style for the curves of a figure, in order."""

SOLID = tuple({**look, "linestyle": "-"} for look in LOOKS)
"""Styles for curves of runs in figures with bounds, whose curves are not solid."""

LEVEL: Look = {"color": BLACK, "linestyle": ":"}
"""Style for lines at a known value, for example the true value, a goal or an upper limit."""

CENTIMETRES = 2.54
"""Number of centimetres per inch."""

NARROWEST, WIDEST = 5.0, 60.0
"""Smallest and largest width of a figure, in centimetres."""

PANEL_WIDTH = 1.8
"""Smallest width, in inches, of panels side by side. Narrower panels are stacked."""

CAPTION_SIZE, LINE_SPACING = 7.5, 1.35
CAPTION_LETTERS, TITLE_LETTERS = 17.4, 14.5  # number of letters per inch

FORMULA = re.compile(r"\$[^$]*\$")
FIRST_STAND_IN, STAND_IN = 0xE000, re.compile(r"([\uE000-\uF8FF])\1*")
HYPHEN_FOR_MINUS = re.compile(r"(?<![\w\N{MINUS SIGN})])-(?=\.?\d)")


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """Options for the appearance of a figure.

    Parameters
    ----------
    width
        Printed width in centimetres, by default the width in the style sheet. The sizes of letters and lines do not
        depend on the width. In narrow figures, panels are stacked.
    caption
        Whether to draw the caption. Files contain the caption in any case.
    title
        Title of the whole figure, or None for no title.
    labels
        New names of the first curves in the legend, in order.
    sheet
        Parameters of matplotlib to apply even if they equal matplotlib's defaults.

    Raises
    ------
    InvalidArgument
        If an option has the wrong type, or the width is out of range.
    """

    width: float | None = None
    caption: bool = True
    title: str | None = None
    labels: Sequence[str] = ()
    sheet: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check types and ranges."""
        width = self.width
        if width is not None and not (isinstance(width, int | float) and NARROWEST <= width <= WIDEST):
            rule = f"must lie between {NARROWEST:g} and {WIDEST:g} centimetres"
            raise InvalidArgument(
                "width", width, rule, "for a column of text use 8.5, for the width of a page 14 to 18"
            )
        if not isinstance(self.title, str | None):
            raise InvalidArgument("title", self.title, "must be a string", "write it in quotes")
        check_list("labels", self.labels, str, 'write ["first", "second"]')


_appearance: ContextVar[Appearance] = ContextVar("_appearance", default=Appearance())  # noqa: B039 - frozen


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorate a drawing function with the parameters of ``Appearance``, the style sheet and the layout."""

    @wraps(draw)
    def drawn(*data: Any, **options: Any) -> Figure:
        own = {each.name: options.pop(each.name) for each in fields(Appearance) if each.name in options}
        with appearing(Appearance(**own)):
            return _finished(draw(*data, **options))

    return drawn


@contextmanager
def appearing(appearance: Appearance) -> Iterator[None]:
    """Draw figures with an appearance, the style sheet, and the user's changes to ``rcParams``.

    Raises
    ------
    InvalidArgument
        If matplotlib is not installed.
    """
    sheets = require("plot", None, "matplotlib.style")
    from matplotlib import rcParams, rcParamsDefault

    names = [name for name in rcParams if name not in NOT_LOOKS]
    changed = {name: rcParams[name] for name in names if rcParams[name] != rcParamsDefault[name]}
    # settings of an enclosing context also apply here
    sheet = {**_appearance.get().sheet, **appearance.sheet}
    own = {name: value for name, value in sheet.items() if name in names}
    before = _appearance.set(replace(appearance, sheet=sheet))
    try:
        with sheets.context([SHEET, changed, own], after_reset=True):
            yield
    finally:
        _appearance.reset(before)


def new_figure(
    caption: str, *, panels: int = 1, height: float = 4.0, ratios: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels, side by side or stacked in a narrow figure, and a caption below the panels.

    Parameters
    ----------
    caption
        Text with all parameters of the figure, and the seed. This function breaks the text into lines.
    panels
        Number of axes.
    height
        Height in inches, including the caption, for a figure with the style sheet's width.
    ratios
        Ratios of the panels' widths if they are side by side.

    Returns
    -------
    tuple
        The figure, which has no window, and its axes from left to right.
    """
    from matplotlib import rcParams

    from clusterproof.notebook_figure import NotebookFigure  # this imports matplotlib

    look, usual = _appearance.get(), rcParams["figure.figsize"][0]
    width = usual if look.width is None else look.width / CENTIMETRES
    columns = panels if width >= panels * PANEL_WIDTH else 1
    text = with_minus(caption)
    shown = wrap(text, width * CAPTION_LETTERS) if look.caption else ""
    alone = height - _height(wrap(text, usual * CAPTION_LETTERS))  # the height without the caption
    stretch = np.clip(width / columns / (usual / panels), 0.8, 1.4)
    figure = NotebookFigure(figsize=(width, panels // columns * stretch * alone + _height(shown)))
    figure.caption = text
    if shown:
        figure.supxlabel(shown, x=0.01, ha="left", fontsize=CAPTION_SIZE, linespacing=LINE_SPACING)
    widths = ratios if columns > 1 else None
    axes = figure.subplots(panels // columns, columns, squeeze=False, width_ratios=widths)
    return figure, list(axes.flat)


def _height(caption: str) -> float:
    """Return the height of a caption in inches."""
    return len(caption.splitlines()) * CAPTION_SIZE * LINE_SPACING / 72


def wrap(text: str, letters: float) -> str:
    """Break a text into lines of at most the given number of visible letters, and never inside a formula."""
    formulas = FORMULA.findall(text)
    stand_ins = (chr(FIRST_STAND_IN + number) * visible(formula) for number, formula in enumerate(formulas))
    hidden = FORMULA.sub(lambda _: next(stand_ins), text)
    wrapped = textwrap.fill(hidden, max(int(letters), 8), break_long_words=False, break_on_hyphens=False)
    return STAND_IN.sub(lambda found: formulas[ord(found[1]) - FIRST_STAND_IN], wrapped)


def visible(text: str) -> int:
    """Count the visible letters of a text. A command in a formula counts as one letter, and delimiters do not count."""
    return len(re.sub(r"[${}_^]", "", re.sub(r"\\[a-zA-Z]+ ?", "x", text)))


def with_minus(text: str) -> str:
    """Replace hyphens before numbers with minus signs, except in formulas."""
    return outside_formulas(HYPHEN_FOR_MINUS, "\N{MINUS SIGN}", text)


def outside_formulas(pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str], text: str) -> str:
    """Replace the matches of a pattern, except in formulas."""
    parts = re.split(f"({FORMULA.pattern})", text)
    parts[::2] = [pattern.sub(new, part) for part in parts[::2]]
    return "".join(parts)


def describe(task: RegressionMixture) -> str:
    """Describe the numbers of a regression task for a caption."""
    shares = ", ".join(f"{share:.3g}" for share in task.proportions)
    return (
        f"$P = {task.clusters}$, $l_p$ = ({shares}), $d = {task.dimension}$, "
        rf"$\kappa = {task.condition_number:g}$, $m = {task.clients}$, n' = {task.samples}, "
        f"$s = {task.noise:g}$"
    )


def power_of_ten(value: float) -> str:
    """Round a small number up to a power of ten, and write it."""
    return f"$10^{{{math.ceil(math.log10(value))}}}$" if value > 0 else "0"


def centres(edges: np.ndarray) -> np.ndarray:
    """Return the geometric centres (n,) of cells on a log axis, from the edges (n + 1,)."""
    return np.asarray(np.sqrt(edges[1:] * edges[:-1]))


def label_axes(
    panel: Axes,
    title: str,
    horizontal: str,
    vertical: str,
    *,
    x_ticks: Sequence[float] = (),
    y_ticks: Sequence[float] = (),
    **axes: Any,
) -> None:
    """Set the title and the axes of a panel. Long names are broken into lines, and an axis of rounds has only integers.

    Parameters
    ----------
    panel
        Axes from ``new_figure``.
    title, horizontal, vertical
        Title of the panel, and labels of the two axes.
    x_ticks, y_ticks
        Positions of the numbers at the axes. By default matplotlib chooses them.
    axes
        Scales, limits and other keyword arguments for the panel's ``set``.
    """
    from matplotlib.ticker import AutoLocator

    panel.set(**axes)
    for axis, values in ((panel.xaxis, x_ticks), (panel.yaxis, y_ticks)):
        if values:
            axis.set_ticks(values, [f"{value:g}" for value in values])
            panel.minorticks_off()
    if "round" in horizontal and isinstance(panel.xaxis.get_major_locator(), AutoLocator):
        count_along(panel.xaxis)
    figure: Any = panel.figure
    subplot: Any = panel.get_subplotspec()
    (width, height), grid = figure.get_size_inches(), subplot.get_gridspec()
    across = TITLE_LETTERS * (width / grid.ncols - 0.5)
    up = TITLE_LETTERS * (height - _height(figure.get_supxlabel())) / grid.nrows
    panel.set_title(wrap(title, across), loc="left")
    panel.set_xlabel(wrap(horizontal, across))
    panel.set_ylabel(wrap(vertical, up - 8))


def count_along(axis: Any) -> None:
    """Label an axis of rounds, or other counts, only with integers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def draw_curve(
    panel: Axes,
    places: Sequence[float] | np.ndarray,
    values: Sequence[float] | np.ndarray,
    look: Look,
    label: str,
    *,
    gid: str = "",
    band: Sequence[Any] | None = None,
    last: float | None = None,
    marks: int = 10,
    shift: int = 0,
) -> None:
    """Draw a curve.

    Parameters
    ----------
    panel
        Axes from ``new_figure``.
    places, values, label, gid
        Positions and values of the curve, (n,) each, its name in the legend, and its id, by default the name.
    look
        Colour, marker and line style.
    band
        Lower and upper ends of a band around the curve, each (n,), or None.
    last
        Another value at the last position, which is drawn as a diamond, or None.
    marks, shift
        Approximate number of markers (0 for a marker at every position), and shift of the markers in quarters of a
        step.
    """
    colour, gid = look["color"], gid or label
    if band is not None:
        panel.fill_between(places, *band, color=colour, alpha=0.25, linewidth=0, gid=f"band {gid}")
    every = max(1, (len(places) - 1) // marks) if marks else 1
    panel.plot(places, values, **look, markevery=(shift * every // 4 % every, every), label=label, gid=gid)
    if last is not None:
        draw_marks(panel, places[-1:], [last], colour, "D", 5, clip_on=False, gid=f"last {gid}")


def draw_marks(
    panel: Axes, across: Any, up: Any, colour: str, marker: str, size: float, **options: Any
) -> None:
    """Draw marks without a line between them."""
    panel.plot(across, up, color=colour, marker=marker, markersize=size, linestyle="none", **options)


def add_legend(panels: Sequence[Axes], columns: int, **options: Any) -> None:
    """Draw one legend for the curves of all panels, between title and panels, with as many columns as fit."""
    look = _appearance.get()
    figure: Any = panels[0].figure
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = [*look.labels, *list(handles)[len(look.labels) :]]
    if len(look.labels) > len(handles):
        rule = f"has {len(names)} names, and the figure has the names {', '.join(handles)}"
        raise InvalidArgument("labels", names, rule, f"give at most {len(handles)}")
    names = [wrap(name, figure.get_figwidth() * TITLE_LETTERS - 4) for name in names]
    place: Look = {"loc": "outside upper left", "alignment": "left", "title": look.title, **options}
    tallest = 0.0
    for count in range(columns, 0, -1):
        legend = figure.legend(list(handles.values()), names, ncols=count, **place)
        box = legend.get_window_extent()
        tallest = tallest or box.height
        if box.width + 0.15 * figure.dpi <= figure.bbox.width or count == 1:
            figure.set_figheight(figure.get_figheight() + (box.height - tallest) / figure.dpi)
            return
        legend.remove()


def add_colour_bar(mesh: Any, panels: Axes | Sequence[Axes], name: str, **options: Any) -> None:
    """Add a colour bar next to the panels of maps."""
    bar = mesh.figure.colorbar(mesh, ax=panels, **{"shrink": 0.9, **options})
    bar.set_label(name, fontsize=8)
    bar.minorticks_off()


def _finished(figure: Figure) -> Figure:
    """Compute the layout of a figure once. A second computation would move parts of the figure slightly."""
    look = _appearance.get()
    if look.title is not None and not figure.legends:
        figure.suptitle(look.title, x=0.01, ha="left")
    if look.labels and not figure.legends:
        rule = "must name curves, and this figure has no curves with names"
        raise InvalidArgument("labels", list(look.labels), rule, "leave labels out")
    for _ in range(2):  # the numbers at the axes depend on the first pass of the layout
        if layout := figure.get_layout_engine():
            layout.execute(figure)
    figure.set_layout_engine("none")
    if look.width is not None:
        panels: list[Any] = [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]
        lacking = 1 - min(panel.get_window_extent().width for panel in panels) / figure.dpi
        if lacking > 0:
            columns = panels[0].get_subplotspec().get_gridspec().ncols
            enough = math.ceil(2 * (look.width + columns * lacking * CENTIMETRES)) / 2
            rule = "leaves less than an inch for a panel"
            raise InvalidArgument("width", look.width, rule, f"{enough:g} is enough")
    return figure
