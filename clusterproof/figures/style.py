"""What the figures share: style sheets, palette and markers, captions, legends and bands."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

import numpy as np

from clusterproof.algorithms.validation import require
from clusterproof.figures.line_labels import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.patches import Patch

    from clusterproof.synthetic import RegressionMixture
else:
    Axes = Figure = Any  # matplotlib is imported when a figure is drawn

Arguments = ParamSpec("Arguments")

LIGHT, DARK = (Path(__file__).with_name(f"{theme}.mplstyle") for theme in ("light", "dark"))
"""Style sheets of matplotlib: everything that figures share, and the palette of the dark theme."""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""

GREY = "#8C8C8C"
"""Between black and white, where the palette is used up."""

Look: TypeAlias = dict[str, Any]
"""What ``plot`` and its like take by keyword."""

LOOKS: tuple[Look, ...] = (
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": VERMILLION, "marker": "s", "linestyle": "--"},
    {"color": GREEN, "marker": "^", "linestyle": "-."},
    {"color": PURPLE, "marker": "D", "linestyle": ":"},
    {"color": ORANGE, "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": SKY, "marker": "P", "linestyle": (0, (3, 1))},
    {"color": GREY, "marker": "x", "linestyle": (0, (1, 2))},
)
"""Colour, marker and line style of the curves of a figure, in their order."""

RUNS = tuple({**look, "linestyle": "-"} for look in LOOKS[:4])
"""Of the runs' curves, one per cluster; they are solid."""

BOUNDS: tuple[Look, ...] = (
    {"color": BLACK, "linestyle": "--"},
    {"color": ORANGE, "linestyle": "-."},
    {"color": SKY, "linestyle": ":"},
    {"color": GREY, "linestyle": LOOKS[4]["linestyle"]},
)
"""Of the bounds' curves; none is solid, none has a colour of the runs."""

LEVEL: Look = {"color": BLACK, "linestyle": ":"}
"""Of the lines at a known value: the truth, a goal, a ceiling."""

BAND = (0.2, 0.8)
"""Quantiles between which a band lies."""

WIDTH = 7.2
"""Inches of a figure across two columns of text."""

CAPTION_SIZE, LINE_SPACING = 7.5, 1.35
CAPTION_LETTERS = 125  # of CAPTION_SIZE, in a line of WIDTH

NOT_LOOKS = ("figure.constrained_layout.use", "figure.autolayout", "svg.hashsalt", "backend")
"""Parameters on which the layout of figures and the sameness of files rest, and one that opens windows when read."""

own_sheet: ContextVar[Mapping[str, Any]] = ContextVar("own_sheet", default=MappingProxyType({}))
"""Parameters of a style sheet that the user names, which hold even where they are matplotlib's defaults."""

MINUS = "\N{MINUS SIGN}"
FORMULA = re.compile(r"\$[^$]*\$")
HYPHEN_FOR_MINUS = re.compile(r"(?<![\w\N{MINUS SIGN})])-(?=\.?\d)")


@contextmanager
def light() -> Iterator[None]:
    """Enter the style sheet of all figures, with what the user changed in matplotlib's ``rcParams`` or ``own_sheet``.

    Raises
    ------
    InvalidArgument
        If matplotlib is not installed.
    """
    sheets = require("plot", None, "matplotlib.style")
    from matplotlib import rc_params_from_file, rcParams, rcParamsDefault

    ours = rc_params_from_file(LIGHT, use_default_template=False)
    looks = [name for name in rcParams if name not in NOT_LOOKS]
    changed = {name: rcParams[name] for name in looks if rcParams[name] != rcParamsDefault[name]}
    own = {name: value for name, value in changed.items() if value != ours.get(name)}
    own |= {name: value for name, value in own_sheet.get().items() if name in looks}
    with sheets.context([LIGHT, own], after_reset=True):
        yield


def styled(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Make a function draw in the light style sheet and lay its figure out."""

    @wraps(draw)
    def drawn(*args: Arguments.args, **options: Arguments.kwargs) -> Figure:
        with light():
            return settled(draw(*args, **options))

    return drawn


def new_figure(caption: str, *, panels: int = 1, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels side by side and a caption below them.

    Parameters
    ----------
    caption
        Every parameter that the figure depends on, and the seed; it is wrapped here.
    panels
        Number of axes.
    height
        In inches.

    Returns
    -------
    tuple
        The figure, which belongs to no window, and its axes from left to right.
    """
    with light():
        from clusterproof.notebook_figure import NotebookFigure  # imports matplotlib

        figure = NotebookFigure(figsize=(WIDTH, height))
        axes = [figure.add_subplot(1, panels, index + 1) for index in range(panels)]
    if caption:
        set_caption(figure, wrap(with_minus(caption), CAPTION_LETTERS))
    return figure, axes


def set_caption(figure: Figure, wrapped: str) -> None:
    """Write a caption, in lines that fit, below the panels."""
    figure.supxlabel(wrapped, x=0.01, ha="left", fontsize=CAPTION_SIZE, linespacing=LINE_SPACING)


def wrap(text: str, letters: int) -> str:
    """Break a text into lines by the letters that it shows, never inside a formula."""
    formulas = FORMULA.findall(text)
    stand_ins = [chr(0xE000 + number) * visible(formula) for number, formula in enumerate(formulas)]
    for formula, stand_in in zip(formulas, stand_ins, strict=True):
        text = text.replace(formula, stand_in, 1)
    wrapped = "\n".join(textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False))
    for formula, stand_in in zip(formulas, stand_ins, strict=True):
        wrapped = wrapped.replace(stand_in, formula, 1)
    return wrapped


def visible(text: str) -> int:
    """Count the letters that a text shows: a command of a formula is one, and delimiters are none."""
    return len(re.sub(r"[${}_^]", "", re.sub(r"\\[a-zA-Z]+ ?", "x", text)))


def with_minus(text: str) -> str:
    """Write a minus sign where a hyphen stands for one, outside of formulas, which have their own."""
    parts = re.split(f"({FORMULA.pattern})", text)
    parts[::2] = [HYPHEN_FOR_MINUS.sub(MINUS, part) for part in parts[::2]]
    return "".join(parts)


def caption_of(figure: Figure) -> str:
    """Return the caption of a figure, unwrapped."""
    return figure.get_supxlabel().replace("\n", " ")


def describe(task: RegressionMixture) -> str:
    """Write a regression task's numbers out for a caption."""
    shares = ", ".join(f"{share:.3g}" for share in task.proportions)
    return (
        f"$P = {task.clusters}$, $l_p$ = ({shares}), $d = {task.dimension}$, "
        rf"$\kappa = {task.condition_number:g}$, $m = {task.clients}$, n' = {task.samples}, "
        f"$s = {task.noise:g}$"
    )


def power_of_ten(value: float) -> str:
    """Write a small number as the power of ten above it."""
    return f"$10^{{{int(np.ceil(np.log10(value)))}}}$" if value > 0 else "0"


def label_axes(panel: Axes, title: str, horizontal: str, vertical: str) -> None:
    """Set a panel's title and the names of its axes; rounds are whole numbers."""
    from matplotlib.ticker import AutoLocator

    if "round" in horizontal and isinstance(panel.xaxis.get_major_locator(), AutoLocator):
        count_along(panel.xaxis)
    panel.set_title(title, loc="left")
    panel.set_xlabel(horizontal)
    panel.set_ylabel(vertical)


def count_along(axis: Any) -> None:
    """Write whole numbers alone at an axis of rounds or of other counts."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def set_ticks(panel: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Write these numbers at the axes, and no others."""
    for axis, values in ((panel.xaxis, x), (panel.yaxis, y)):
        if values:
            axis.set_ticks(values, [f"{value:g}" for value in values])
    panel.minorticks_off()


def add_legend(panels: Sequence[Axes], columns: int, patches: Sequence[Patch] = (), **options: Any) -> None:
    """Explain patches and the curves of all panels in one legend above them."""
    handles: dict[str, Any] = {str(patch.get_label()): patch for patch in patches}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    panels[0].figure.legend(
        list(handles.values()), list(handles), loc="outside upper left", ncols=columns, **options
    )


def add_colour_bar(mesh: Any, panels: Axes | Sequence[Axes], name: str, **options: Any) -> None:
    """Add colour bars next to the panels of maps."""
    bar = mesh.figure.colorbar(mesh, ax=panels, **{"shrink": 0.9, **options})
    bar.set_label(name, fontsize=8)
    bar.minorticks_off()


def settled(figure: Figure) -> Figure:
    """Lay a finished figure out once and for all: a second layout would move it by a hair."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    if layout := figure.get_layout_engine():
        layout.execute(figure)
    figure.set_layout_engine("none")
    place_labels(figure, wrap)
    return figure
