"""Where the contraction of Lemma 2 of CFL-MGD, without its floor rho_0, fails without any noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.exact.heavy_ball import propagators, spectral_rate

PROPORTION = 0.5
"""l = l_p: two clusters of equal size."""

EIGENVALUES = 5
"""Number of eigenvalues of each Hessian, from mu to L in geometric progression."""

ROUNDS = 400
"""Length of the runs in which every step is examined."""

PAPER_MOMENTUM = 0.9
"""The paper's choice in its experiments."""

HOLDS, STEP_FAILS, RATE_FAILS = 0, 1, 2

CATEGORIES = {
    r"every step contracts by $1 - l\mu/8L$": "#FFFFFF",
    "some step contracts less": "#FBE3B0",
    "the rate is slower, too": "#E58A4E",
}
"""Colours from light to dark, distinguishable in greyscale."""


class Map(NamedTuple):
    """Verdicts on a grid of momenta (M,) and condition numbers (K,)."""

    momenta: np.ndarray
    condition_numbers: np.ndarray
    step_fails: np.ndarray
    """Whether ||e_(t+1)|| <= (1 - l mu / 8L) ||e_t|| breaks in a run from rest, (K, M)."""
    rate_fails: np.ndarray
    """Whether the spectral radius exceeds 1 - l mu / 8L, (K, M)."""

    @property
    def category(self) -> np.ndarray:
        """``HOLDS``, ``STEP_FAILS`` (in runs, though the rate is kept) or ``RATE_FAILS``, (K, M)."""
        return np.where(self.rate_fails, RATE_FAILS, np.where(self.step_fails, STEP_FAILS, HOLDS))

    @property
    def disagreements(self) -> int:
        """Number of cells in which a verdict differs from the closed-form boundaries."""
        step = np.broadcast_to(self.momenta > step_boundary(), self.step_fails.shape)
        rate = self.momenta > rate_boundary(self.condition_numbers)[:, None]
        return int(((step != self.step_fails) | (rate != self.rate_fails)).sum())


def claimed_factor(condition_numbers: np.ndarray) -> np.ndarray:
    """Return the factor of Lemma 2, 1 - l mu / 8L."""
    return np.asarray(1 - PROPORTION / (8 * condition_numbers))


def step_boundary() -> float:
    """Momentum (1 - sqrt(l_p))^2 above which the fastest eigendirection oscillates."""
    return float((1 - np.sqrt(PROPORTION)) ** 2)


def rate_boundary(condition_numbers: np.ndarray) -> np.ndarray:
    """Momentum (1 - l mu / 8L)^2 above which the spectral radius exceeds the claimed factor."""
    return np.asarray(claimed_factor(condition_numbers) ** 2)


def compute(momenta: np.ndarray, condition_numbers: np.ndarray) -> Map:
    """Run every cell's recursion, one eigendirection at a time, and take its spectral radius.

    If no eigendirection breaks the inequality, no start does: the squares add up.
    """
    powers = np.linspace(-1, 0, EIGENVALUES)
    curvatures = PROPORTION * condition_numbers[:, None] ** powers
    factor = claimed_factor(condition_numbers)[:, None]
    step_fails = np.empty((len(condition_numbers), len(momenta)), dtype=bool)
    rate_fails = np.empty_like(step_fails)
    for column, momentum in enumerate(momenta):
        errors = np.abs(propagators(curvatures, momentum, ROUNDS)[0])
        step_fails[:, column] = (errors[1:] > factor * errors[:-1]).any(axis=(0, 2))
        rate_fails[:, column] = (spectral_rate(curvatures, momentum) > factor).any(axis=1)
    return Map(momenta, condition_numbers, step_fails, rate_fails)


def draw(seed: int) -> style.Figure:
    """Draw the map over momentum and condition number, with its right edge enlarged."""
    from matplotlib.patches import Patch

    condition_edges = np.geomspace(1, 1000, 61)
    wide_edges = np.linspace(0, 1, 201)
    gap_edges = np.geomspace(0.2, 1e-4, 121)  # of 1 - beta
    condition_numbers = np.sqrt(condition_edges[1:] * condition_edges[:-1])
    wide = compute((wide_edges[1:] + wide_edges[:-1]) / 2, condition_numbers)
    gaps = np.sqrt(gap_edges[1:] * gap_edges[:-1])
    edge = compute(1 - gaps, condition_numbers)
    cells = wide.category.size + edge.category.size
    caption = (
        f"Option I without noise or misclassification on quadratic losses: step size 1/L, "
        f"$l = l_p = {PROPORTION:g}$, {EIGENVALUES} eigenvalues from $\\mu$ to $L$ in geometric progression, "
        f"start at rest in each eigendirection. Every cell is computed: {ROUNDS} rounds of the recursion, "
        f"each step, and the spectral radius, compared with the factor of (31) alone, without the floor "
        f"$\\rho_0 > 0$ that the paper adds to it. The lines are the closed forms; they disagree with "
        f"{wide.disagreements + edge.disagreements} of {cells} cells. "
        f"b: the same near $\\beta = 1$, with $1 - \\beta$ on a log axis. Seed {seed} (nothing is random)."
    )
    figure, (left, right) = style.new_figure(caption, panels=2, height=4.4)
    _paint(left, wide_edges, condition_edges, wide)
    _paint(right, gap_edges, condition_edges, edge)
    fine = np.geomspace(1, 1000, 400)
    solid, step = r"$\sqrt{\beta} = 1 - l\mu/8L$", r"$\beta = (1 - \sqrt{l_p})^2$"
    paper = rf"the paper's $\beta = {PAPER_MOMENTUM:g}$"
    left.axvline(step_boundary(), color=style.BLACK, linestyle="--", label=step, gid="step-boundary")
    left.plot(rate_boundary(fine), fine, color=style.BLACK, label=solid, gid="rate-boundary")
    left.axvline(PAPER_MOMENTUM, **style.LEVEL, label=paper, gid="paper-momentum")
    right.plot(1 - rate_boundary(fine), fine, color=style.BLACK, gid="rate-boundary")
    right.axvline(1 - PAPER_MOMENTUM, **style.LEVEL, gid="paper-momentum")
    left.set_xlim(0, 1)
    right.set_xscale("log")
    right.set_xlim(gap_edges[0], gap_edges[-1])
    right.set_xticks([0.1, 0.01, 0.001, 0.0001], ["0.9", "0.99", "0.999", "0.9999"])
    for panel, title in ((left, "a  Every momentum"), (right, "b  Momentum near 1")):
        style.label_axes(panel, title, r"momentum $\beta$", r"condition number $\kappa = L / \mu$")
    border: style.Look = {"edgecolor": style.BLACK, "linewidth": 0.5}
    patches = [Patch(facecolor=colour, label=name, **border) for name, colour in CATEGORIES.items()]
    style.add_legend([left], 3, patches)
    return figure


def _paint(panel: style.Axes, across: np.ndarray, up: np.ndarray, verdicts: Map) -> None:
    """Colour the cells by category."""
    from matplotlib.colors import ListedColormap

    # thousands of cells: pixels in a vector file, under lines that stay lines
    palette = ListedColormap(list(CATEGORIES.values()))
    panel.pcolormesh(across, up, verdicts.category, cmap=palette, vmin=-0.5, vmax=2.5, rasterized=True)
    panel.set_yscale("log")


FIGURE = Illustration(
    "contraction-map",
    "Where the contraction of Lemma 2 of CFL-MGD, without its floor, fails without noise",
    draw,
    ("cfl-mgd/lemma-2", "cfl-mgd/per-step-contraction", "cfl-mgd/per-step-region"),
)
