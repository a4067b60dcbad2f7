"""What the figures share: colours, line styles and markers, the caption, and how they are saved."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from clusterproof.synthetic import RegressionMixture

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""

GREY = "#8C8C8C"
"""Between black and white, where the palette is used up."""

RUNS = ((BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"), (PURPLE, "D"))
"""Colour and marker of the runs' curves, one a cluster; they are solid."""

BOUNDS = ((BLACK, "--"), (ORANGE, "-."), (SKY, ":"), (GREY, (0, (5, 1, 1, 1, 1, 1))))
"""Colour and line style of the bounds' curves; none is solid, none has a colour of the runs."""

WIDTH = 7.2
"""Inches of a figure across two columns of text."""

CAPTION_SIZE, LINE_SPACING = 7.5, 1.35
CAPTION_LETTERS = 125  # of CAPTION_SIZE, in a line of WIDTH

NAME_SIZE = 9
"""Points of the panels' titles and of the names of their axes."""

LEGEND_COLUMNS = 10
"""The most that a legend above the panels has."""

MINUS = "\N{MINUS SIGN}"
FORMULA = re.compile(r"\$[^$]*\$")
HYPHEN_FOR_MINUS = re.compile(r"(?<![\w\N{MINUS SIGN})])-(?=\.?\d)")


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = [figure.add_subplot(1, panels, index + 1) for index in range(panels)]
    for panel in axes:
        panel.tick_params(labelsize=8)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    figure.supxlabel(
        wrap(with_minus(caption), CAPTION_LETTERS),
        x=0.01,
        ha="left",
        fontsize=CAPTION_SIZE,
        linespacing=LINE_SPACING,
    )
    return figure, axes


def wrap(text: str, letters: int) -> str:
    """Break a text into lines by what is seen of it, never inside a formula."""
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


def height_of(caption: str) -> float:
    """Inches that a caption takes below the panels."""
    return len(caption.splitlines()) * CAPTION_SIZE * LINE_SPACING / 72


def caption_of(figure: Figure) -> str:
    """Give back the caption of a figure, unwrapped."""
    return figure.get_supxlabel().replace("\n", " ")


def describe(task: RegressionMixture) -> str:
    """Write a regression task's numbers out for a caption."""
    shares = ", ".join(f"{share:.3g}" for share in task.proportions)
    return (
        f"$P = {task.clusters}$, $l_p$ = ({shares}), $d = {task.dimension}$, "
        rf"$\kappa = {task.condition_number:g}$, $m = {task.clients}$, n' = {task.samples}, "
        f"$s = {task.noise:g}$"
    )


def label_axes(panel: Axes, title: str, horizontal: str, vertical: str) -> None:
    """Set a panel's title and the names of its axes."""
    panel.set_title(title, fontsize=NAME_SIZE, loc="left")
    panel.set_xlabel(horizontal, fontsize=NAME_SIZE)
    panel.set_ylabel(vertical, fontsize=NAME_SIZE)


def settled(figure: Figure) -> Figure:
    """Lay a finished figure out once and for all: laid out anew, it would move by a hair."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure
