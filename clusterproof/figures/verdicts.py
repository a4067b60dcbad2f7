"""Figure of a verdict: the figure of its claim, or a comparison of its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument

if TYPE_CHECKING:
    from clusterproof.theory.report.verdict import Verdict

MOST_TERMS = 12


def verdict_figure(verdict: Verdict) -> style.Figure:
    """Draw the first figure that illustrates a verdict's claim, or else the verdict's numbers.

    Parameters
    ----------
    verdict
        Verdict, whose seed is that of the figure.

    Raises
    ------
    InvalidArgument
        If no figure illustrates the claim and nothing was measured, or matplotlib
        is not installed.
    """
    from clusterproof.figures.catalogue import FIGURES  # which imports this module, too

    shown = next((figure for figure in FIGURES.values() if verdict.claim in figure.claims), None)
    return numbers_figure(verdict) if shown is None else shown(seed=verdict.seed).plot()


@style.styled
def numbers_figure(verdict: Verdict) -> style.Figure:
    """Draw the measured and allowed numbers, and the necessary share of each term.

    Parameters
    ----------
    verdict
        With both numbers, positive or not, but finite.

    Raises
    ------
    InvalidArgument
        If one of the numbers is missing or not finite.
    """
    numbers = {"measured": verdict.measured, "allowed": verdict.bound}
    known = {name: value for name, value in numbers.items() if value is not None and math.isfinite(value)}
    if len(known) < len(numbers):
        remedy = "its repr and its counterexample say what was found"
        raise InvalidArgument("verdict", verdict, "must have two finite numbers to draw", remedy)
    ratios = {name: numbers["ratio"] for name, numbers in (verdict.tightness or {}).items()}
    terms = {name: 1 / ratio for name, ratio in ratios.items() if ratio}
    caption = (
        f"{verdict.claim}: {verdict.verdict}. Measured {verdict.measured:.4g}, allowed {verdict.bound:.4g}, at the "
        f"tightest of {verdict.instances or 1} instances. Seed {verdict.seed}."
    )
    height = 1.9 + 0.22 * min(len(terms), MOST_TERMS)
    figure, panels = style.new_figure(caption, panels=2 if terms else 1, height=height)
    _bars(panels[0], known, (style.BLUE, style.GREY))
    style.label_axes(
        panels[0], "Measured and allowed" if not terms else "a  Measured and allowed", "value", ""
    )
    if terms:
        chosen = dict(list(terms.items())[:MOST_TERMS])
        _bars(panels[1], {name.replace("_", " "): factor for name, factor in chosen.items()}, (style.GREEN,))
        panels[1].axvline(1, **style.LEVEL)
        style.label_axes(panels[1], "b  Needed of all, and of each term", "least factor that still holds", "")
    return figure


def _bars(panel: style.Axes, values: dict[str, float], palette: tuple[str, ...]) -> None:
    """Draw a bar for each value, the first on top."""
    panel.barh(list(values), list(values.values()), height=0.6, color=palette, gid="bars")
    panel.invert_yaxis()
    positive = [value for value in values.values() if value > 0]
    if len(positive) == len(values) and max(positive) > 100 * min(positive):
        panel.set_xscale("log")
