"""The picture of a page: a run and the theorems about its algorithm."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument
from clusterproof.figures.line_labels import label_line
from clusterproof.theory.runs.page import Curve, ErrorPicture, Page, ResidualPicture, Role

GREY = "#6E6E6E"
"""Dark enough for words."""

LOOKS: dict[Role, style.Look] = {
    "run": {"color": style.BLUE, "linewidth": 1.8},
    "round alone": {"color": style.BLUE, "linestyle": ":"},
    "without noise": {"color": style.GREEN, "linestyle": "--"},
    "limit": {"color": style.GREEN, "linestyle": "--"},
    "repaired": {"color": style.BLACK, "linestyle": "-.", "linewidth": 1.5},
    "printed": {"color": style.VERMILLION, "linestyle": (0, (8, 2)), "linewidth": 1.8},
    "printed factor": {"color": style.VERMILLION, "linestyle": ":", "linewidth": 1.5},
    "start": {"color": GREY, "linestyle": ":", "linewidth": 0.8},
}

NEAR: dict[Role, float] = {
    "start": 1.0,
    "printed": 1.0,
    "printed factor": 1.0,
    "run": 1.0,
    "limit": 0.8,
    "repaired": 0.55,
    "without noise": 0.5,
}
NEAR_RESIDUAL: dict[Role, float] = {"run": 0.05, "round alone": 0.5, "repaired": 0.5, "printed": 0.6}
"""Where labels stand in a panel, from 0, left, to 1, in the order in which they are placed."""

CLIPPED = ("without noise",)
"""Curves that may leave the picture at its lower end."""

SYMBOLS = re.compile(
    r"(?<![\w$])(?:(Delta|lambda|sigma|alpha|beta|kappa|mu|xi|rho|nu)|([A-Za-z])_([A-Za-z0-9]))(\^2)?(?!\w)"
)
LETTERS = re.compile(r"(?<![\w$'])([dmlvLR])(\^2)?(?= = )|(?<![\w$'])(a)(?= \d)|(?<![\w$'])(n')")


@style.styled
def page_figure(page: Page) -> style.Figure:
    """Draw the picture of a page.

    Parameters
    ----------
    page
        Page of a run.

    Raises
    ------
    InvalidArgument
        If it has no picture, or matplotlib is not installed.
    """
    return draw_page(page, str)


def draw_page(page: Page, caption: Callable[[str], str]) -> style.Figure:
    """Draw the picture of a page within a style sheet, with a caption that is made from the page's own."""
    if isinstance(page.picture, ErrorPicture):
        return _draw_errors(replace(page.picture, caption=caption(page.picture.caption)))
    if isinstance(page.picture, ResidualPicture):
        return _draw_residuals(replace(page.picture, caption=caption(page.picture.caption)))
    raise InvalidArgument("page", page.title, "has no picture", "take the page of theory.compare")


def _draw_errors(picture: ErrorPicture) -> style.Figure:
    """Draw errors by round."""
    figure, (panel,) = style.new_figure(in_symbols(picture.caption), height=4.6)
    rounds = np.arange(len(picture.curves[0].values))
    for curve in picture.curves:
        _draw_curve(panel, rounds, curve)
    panel.set_yscale("log", nonpositive="mask")
    panel.set_xlim(0, max(1, rounds[-1]))
    _set_limits(panel, picture.curves, lower=5.0, upper=5.0)
    for curve in sorted(picture.curves, key=lambda curve: list(NEAR).index(curve.role)):
        label_line(panel, _line(panel, curve.role), curve.label, near=NEAR[curve.role])
    if picture.factor is not None:
        words, last = picture.factor
        values = picture.curves[0].values[: last + 1]
        # the label's line: these rounds of the run, drawn once
        (line,) = panel.plot(rounds[: last + 1], values, color=style.BLUE, linestyle="none", gid="factor")
        label_line(panel, line, words, near=0.5 * last / max(1, rounds[-1]))
    style.label_axes(panel, picture.title, "communication round $t$", picture.quantity)
    return figure


def _draw_residuals(picture: ResidualPicture) -> style.Figure:
    """Draw mean residuals by the number of rounds on the left, groups by round on the right."""
    figure, _ = style.new_figure(in_symbols(picture.caption), panels=0, height=4.2)
    grid = figure.add_gridspec(1, 2, width_ratios=(2.1, 1))
    left, right = (figure.add_subplot(grid[column]) for column in range(2))
    counts = np.arange(1, len(picture.curves[0].values) + 1)
    for curve in picture.curves:
        _draw_curve(left, counts, curve)
    left.set(xscale="log", yscale="log")
    left.set_xlim(1, counts[-1] * max(2, counts[-1]) ** 0.3)
    powers = 10 ** np.arange(int(np.log10(counts[-1])) + 1)
    style.set_ticks(left, x=sorted({1, *powers[2.5 * powers <= counts[-1]].tolist(), int(counts[-1])}))
    low, high = _set_limits(left, picture.curves[:1] + picture.curves[2:], lower=8.0, upper=3.0)
    (first, last), bottom = counts[-1] ** np.array([0.12, 0.45]), low * (high / low) ** 0.06
    slope: style.Look = {"color": GREY, "linewidth": 0.9, "gid": "slope"}
    left.plot([first, last], [bottom * last / first, bottom], **slope)
    _draw_ratios(left, picture)
    for curve in picture.curves:
        label_line(left, _line(left, curve.role), curve.label, near=NEAR_RESIDUAL[curve.role])
    label_line(left, _line(left, "slope"), "slope of $1/K$", near=0.05)
    quantity = r"mean of $\|\nabla_w \mathcal{L}_0\|^2$ over rounds 1 to $K$"
    style.label_axes(left, "a  Residual of the models", "rounds $K$", quantity)
    _draw_groups(right, picture)
    return figure


def _draw_ratios(panel: style.Axes, picture: ResidualPicture) -> None:
    """Draw arrows from the mean of all rounds to the bounds on it, right of the last round."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = panel.figure
    number, end = len(picture.curves[0].values), picture.curves[0].values[-1]
    for role, points in zip(reversed(picture.ratios), (6, 30), strict=False):
        place: Any = panel.transData + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)
        bound = _line(panel, role).get_ydata()[-1]
        arrow = {"arrowstyle": "<->", "color": GREY, "shrinkA": 0, "shrinkB": 0, "linewidth": 0.9}
        ends: style.Look = {
            "xy": (number, end),
            "xytext": (number, bound),
            "xycoords": place,
            "textcoords": place,
        }
        panel.annotate("", **ends, arrowprops=arrow).set_in_layout(False)
        look: style.Look = {"color": GREY, "size": 7, "va": "center"}
        middle, beside = (number, np.sqrt(end * bound)), (points + 3, 0)
        words = rf"{picture.ratios[role]}$\times$"
        panel.annotate(words, middle, beside, textcoords="offset points", gid=f"ratio {role}", **look)


def _draw_groups(panel: style.Axes, picture: ResidualPicture) -> None:
    """Draw the number of groups until it has been at rest for a while."""
    changes = (picture.groups[1:] != picture.groups[:-1]).any(axis=1)
    settled = int(np.flatnonzero(changes).max(initial=-1)) + 2  # the round from which on it does not change
    shown = min(len(picture.groups), max(12, 3 * settled))
    groups, rounds = picture.groups[:shown], np.arange(1, shown + 1)
    middle = np.median(groups, axis=1)
    if groups.shape[1] > 1:
        band = groups.min(axis=1), groups.max(axis=1)
        panel.fill_between(rounds, *band, color=style.BLUE, alpha=0.25, linewidth=0, gid="band groups")
    marker: style.Look = {"marker": "o"} if shown <= 40 else {}
    panel.plot(rounds, middle, color=style.BLUE, gid="groups", **marker)
    ends = [0.5, shown + 0.5]
    (line,) = panel.plot(ends, [picture.true_groups] * 2, **LOOKS["start"], gid="true number")
    panel.set_xlim(*ends)
    panel.set_ylim(0, 1.2 * max(groups.max(), picture.true_groups))
    step = max(1, shown // 3)
    style.set_ticks(panel, x=sorted({1, *range(step, shown + 1, step)}))
    style.count_along(panel.yaxis)
    label_line(panel, line, "true number", near=1.0)
    style.label_axes(panel, "b  Groups", "round", "groups found")


def _draw_curve(panel: style.Axes, places: np.ndarray, curve: Curve) -> None:
    """Draw a curve with its band, and the sharper value after the last round."""
    look = LOOKS[curve.role]
    if curve.band is not None:
        band = panel.fill_between(places, *curve.band, color=look["color"], alpha=0.25, linewidth=0)
        band.set_gid(f"band {curve.role}")
    panel.plot(places, curve.values, **look, gid=curve.role)
    if curve.last is not None:
        mark: style.Look = {"marker": "D", "markersize": 5, "linestyle": "none", "clip_on": False}
        panel.plot(places[-1:], [curve.last], color=look["color"], **mark, gid=f"last {curve.role}")


def _set_limits(
    panel: style.Axes, curves: tuple[Curve, ...], *, lower: float, upper: float
) -> tuple[float, float]:
    """Set the ends of a logarithmic axis around curves, with factors for the labels below and above."""
    kept = [curve for curve in curves if curve.role not in CLIPPED]
    parts = [curve.values for curve in kept] + [part for curve in kept for part in curve.band or ()]
    values = np.concatenate(parts)
    values = values[np.isfinite(values) & (values > 0)]
    ends = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    low, high = max(ends[0] / lower, 1e-300), min(ends[1] * upper, 1e300)
    panel.set_ylim(low, high)
    _write_numbers(panel.yaxis, low, high)
    return low, high


def _write_numbers(axis: Any, low: float, high: float) -> None:
    """Write the powers of ten of an axis out where all of them are short."""
    if low > 1e-5 and high < 1e7:
        axis.set_major_formatter(_written)
        axis.set_minor_formatter("" if high / low > 10 else _written)


def _written(number: float, _: int) -> str:
    """Write a number with its thousands apart."""
    return f"{number:,.6g}".replace(",", "\N{THIN SPACE}")


def _line(panel: style.Axes, name: str) -> Any:
    """Return the line with an id."""
    return next(line for line in panel.get_lines() if line.get_gid() == name)


def in_symbols(text: str) -> str:
    """Write the symbols of a page's lines as formulas; what is one already stays."""
    parts = re.split(f"({style.FORMULA.pattern})", text)
    parts[::2] = map(_in_symbols, parts[::2])
    return "".join(parts)


def _in_symbols(text: str) -> str:
    text = text.replace(">=", r"$\geq$").replace("<=", r"$\leq$")

    def symbol(found: re.Match[str]) -> str:
        greek, letter, index, square = found.groups()
        name = rf"\{greek}" if greek else f"{letter}_{index}"
        return f"${name}{square or ''}$"

    text = SYMBOLS.sub(symbol, text)
    return LETTERS.sub(lambda found: f"${found[1] or found[3] or found[4]}{found[2] or ''}$", text)
