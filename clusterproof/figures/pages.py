"""The figure of a page: a run, and the theorems about its algorithm."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

import clusterproof.figures.style as style
from clusterproof.common import InvalidArgument
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Curve, ErrorPicture, ResidualPicture, Role

LOOKS: dict[Role, style.Look] = {
    "run": {"color": style.BLUE, "linewidth": 1.8},
    "round alone": {"color": style.BLUE, "linestyle": ":"},
    "without noise": {"color": style.GREEN, "linestyle": "--"},
    "limit": {"color": style.GREEN, "linestyle": "--"},
    "repaired": {"color": style.BLACK, "linestyle": "-.", "linewidth": 1.5},
    "printed": {"color": style.VERMILLION, "linestyle": (0, (8, 2)), "linewidth": 1.8},
    "printed factor": {"color": style.VERMILLION, "linestyle": ":", "linewidth": 1.5},
    "start": {"color": style.GREY, "linestyle": ":", "linewidth": 0.8},
}

UNLIMITED = ("without noise", "round alone")
"""Roles of curves that do not affect the lower limit of the vertical axis."""

LETTERS = "Delta lambda sigma alpha beta kappa mu xi rho nu"
SIGNS = {**dict(zip(LETTERS.split(), "Δλσαβκμξρν", strict=True)), ">=": "≥", "<=": "≤", "^2": "²"}
SPELLED = re.compile(rf"\b(?:{LETTERS.replace(' ', '|')})\b|>=|<=|\^2|\b(?P<indexed>[A-Za-z]_[A-Za-z0-9])\b")


@style.styled
def page_figure(page: Page) -> style.Figure:
    """Draw the figure of a page.

    Parameters
    ----------
    page
        The page of a run.

    Raises
    ------
    InvalidArgument
        If the page has no picture, or matplotlib is not installed.
    """
    return draw_page(page, str)


def draw_page(page: Page, caption: Callable[[str], str]) -> style.Figure:
    """Draw the figure of a page, where the function ``caption`` converts the caption of the page."""
    picture = page.picture
    if picture is None:
        raise InvalidArgument("page", page.title, "has no picture", "use a page from theory.compare")
    words = caption(in_symbols(page.caption))
    if isinstance(picture, ErrorPicture):
        return _draw_errors(picture, picture.title or page.title, words)
    return _draw_residuals(picture, words)


def _draw_errors(picture: ErrorPicture, title: str, words: str) -> style.Figure:
    """Draw errors against the round."""
    figure, (panel,) = style.new_figure(words, height=4.6)
    rounds = np.arange(len(picture.curves[0].values))
    for curve in picture.curves:
        measured = f"; {picture.factor[0]}" if picture.factor and curve.role == "run" else ""
        _draw_curve(panel, rounds, curve, f"{curve.label}{measured}")
    _set_limits(panel, picture.curves)
    across, limits = "communication round $t$", (0, max(1, rounds[-1]))
    style.label_axes(panel, title, across, picture.quantity, xlim=limits)
    style.add_legend([panel], 2)
    return figure


def _draw_residuals(picture: ResidualPicture, words: str) -> style.Figure:
    """Draw mean residuals against the number of rounds on the left, and groups against the round on the right."""
    figure, (left, right) = style.new_figure(words, panels=2, height=4.4, ratios=(2.1, 1))
    counts = np.arange(1, len(picture.curves[0].values) + 1)
    for curve in picture.curves:
        ratio = picture.ratios.get(curve.role)
        above = rf", {ratio}$\times$ the mean at the end" if ratio else ""
        _draw_curve(left, counts, curve, f"{curve.label}{above}")
    _set_limits(left, picture.curves)
    quantity = r"mean of $\|\nabla_w \mathcal{L}_0\|^2$ over rounds 1 to $K$"
    axes: style.Look = {"xscale": "log", "xlim": (1, max(2, counts[-1]))}
    style.label_axes(left, "a  Residual of the models", "rounds $K$", quantity, **axes)
    _draw_groups(right, picture)
    style.add_legend([left, right], 2)
    return figure


def _draw_groups(panel: style.Axes, picture: ResidualPicture) -> None:
    """Draw the number of groups, until some rounds after the last change."""
    changes = (picture.groups[1:] != picture.groups[:-1]).any(axis=1)
    settled = int(np.flatnonzero(changes).max(initial=-1)) + 2  # the last round in which the number changes
    groups = picture.groups[: max(12, 3 * settled)]
    rounds = np.arange(1, len(groups) + 1)
    band = (groups.min(axis=1), groups.max(axis=1)) if groups.shape[1] > 1 else None
    look = {"color": style.BLUE, "marker": "." if len(rounds) <= 40 else ""}
    own: style.Look = {"gid": "groups", "band": band, "marks": len(rounds)}
    style.draw_curve(panel, rounds, np.median(groups, axis=1), look, "_", **own)
    panel.axhline(picture.true_groups, **LOOKS["start"], label="true number of groups", gid="true number")
    style.count_along(panel.yaxis)
    highest = 1.2 * max(groups.max(), picture.true_groups)
    style.label_axes(panel, "b  Groups", "round", "groups found", ylim=(0, highest))


def _draw_curve(panel: style.Axes, places: np.ndarray, curve: Curve, label: str) -> None:
    """Draw a curve in the style of its role, with its band and, if any, the smaller bound after the last round."""
    ends: style.Look = {"band": curve.band, "last": curve.last}
    style.draw_curve(panel, places, curve.values, LOOKS[curve.role], label, gid=curve.role, **ends)


def _set_limits(panel: style.Axes, curves: Sequence[Curve]) -> None:
    """Fit the limits of a logarithmic axis to the curves, and write short numbers without powers of ten."""
    panel.set_yscale("log", nonpositive="mask")
    values = np.concatenate([curve.values for curve in curves if curve.role not in UNLIMITED])
    values = values[np.isfinite(values) & (values > 0)]
    ends = (values.min() / 5, values.max() * 2) if len(values) else (0.1, 1.0)
    low, high = np.clip(ends, 1e-300, 1e300)
    panel.set_ylim(low, high)
    if low > 1e-5 and high < 1e5:
        panel.yaxis.set_major_formatter("{x:g}")


def in_symbols(text: str) -> str:
    """Replace spelled-out signs and Greek letters with symbols, except in formulas."""

    def printed(found: re.Match[str]) -> str:
        return f"${found[0]}$" if found["indexed"] else SIGNS[found[0]]

    return style.outside_formulas(SPELLED, printed, text)
