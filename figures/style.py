"""What the figures share: colours, line styles and markers, the caption, and how they are saved."""

from __future__ import annotations

import copy
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

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

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
"""Namespace of an svg's metadata."""

CAPTION_SIZE = 7.5
CAPTION_LETTERS = 125  # of CAPTION_SIZE, in a line of WIDTH


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
        _wrap(caption),
        x=0.01,
        ha="left",
        fontsize=CAPTION_SIZE,
        linespacing=1.35,
    )
    return figure, axes


def _wrap(caption: str) -> str:
    """Break a caption into lines by what is seen of it, never inside a formula."""
    formulas = re.findall(r"\$[^$]*\$", caption)
    stand_ins = [chr(0xE000 + number) * _visible(formula) for number, formula in enumerate(formulas)]
    for formula, stand_in in zip(formulas, stand_ins, strict=True):
        caption = caption.replace(formula, stand_in, 1)
    wrapped = "\n".join(textwrap.wrap(caption, CAPTION_LETTERS))
    for formula, stand_in in zip(formulas, stand_ins, strict=True):
        wrapped = wrapped.replace(stand_in, formula, 1)
    return wrapped


def _visible(formula: str) -> int:
    """Count the letters that a formula shows: a command is one, and delimiters are none."""
    return len(re.sub(r"[${}_^]", "", re.sub(r"\\[a-zA-Z]+ ?", "x", formula)))


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
    panel.set_title(title, fontsize=9, loc="left")
    panel.set_xlabel(horizontal, fontsize=9)
    panel.set_ylabel(vertical, fontsize=9)


def settled(figure: Figure) -> Figure:
    """Lay a finished figure out once and for all: laid out anew, it would move by a hair."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def save(figure: Figure, path: str | Path, *, caption: bool = True) -> None:
    """Write a figure as png, svg or pdf, by the ending of the path; equal figures, equal bytes.

    Parameters
    ----------
    figure
        What ``draw`` gave.
    path
        Of the file.
    caption
        Whether the caption is drawn, too; the file carries its text as metadata in any case.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    from matplotlib import rc_context

    form = Path(path).suffix.lstrip(".")
    words = caption_of(figure)
    kinds: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Description": words},
        "pdf": {"CreationDate": None, "Subject": words},
        "png": {"Description": words},
    }
    metadata = kinds.get(form, {})
    with rc_context({"svg.hashsalt": "clusterproof", "pdf.fonttype": 42}):
        (figure if caption else _without_caption(figure)).savefig(
            path, format=form, dpi=200, metadata=metadata
        )


def _without_caption(figure: Figure) -> Figure:
    """Lay a copy of a figure out anew, without its caption."""
    bare = copy.deepcopy(figure)
    bare.supxlabel("")
    bare.set_layout_engine("constrained")
    return settled(bare)


def description_of(picture: Path) -> str:
    """Read the caption back from the metadata of an svg that ``save`` wrote; empty where there is none."""
    for element in ElementTree.parse(picture).iter(f"{{{DUBLIN_CORE}}}description"):
        return element.text or ""
    return ""
