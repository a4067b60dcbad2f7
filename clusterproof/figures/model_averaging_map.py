"""Where option II of CFL-MGD diverges although every client alone converges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.exact.affine_rounds import round_map

LOCAL_STEPS = tuple(range(1, 31))
FLAT = 0.01
PAPER_MOMENTUM = 0.9
AUDITED = (0.9, 5)
"""Momentum and local steps of the instance that the caption names."""


class Map(NamedTuple):
    """Rates per round over momenta (M,) and the rows of ``LOCAL_STEPS``."""

    momenta: np.ndarray
    rates: np.ndarray
    """rho(M) with the momentum averaged and carried on, (H, M)."""
    reset_rates: np.ndarray
    """The same with the momentum reset every round."""


def compute(momenta: np.ndarray) -> Map:
    """Take the exact rate of every cell: two scalar clients with curvatures 0.01 and 1, eta = 1/L."""
    rates, reset_rates = (
        np.array(
            [[rate(momentum, local_steps, reset) for momentum in momenta] for local_steps in LOCAL_STEPS]
        )
        for reset in (False, True)
    )
    return Map(momenta, rates, reset_rates)


def rate(momentum: float, local_steps: int, reset: bool = False) -> float:
    """Return the exact rate per round of the two clients."""
    hessians, centers = np.array([[[FLAT]], [[1.0]]]), np.zeros((2, 1))
    options: dict[str, Any] = {"momentum": float(momentum), "local_steps": local_steps}
    return round_map(hessians, centers, step_size=1.0, reset_momentum=reset, **options).rate


def draw(seed: int) -> style.Figure:
    """Draw the rate per round with the momentum carried on, and with it reset."""
    edges = np.linspace(0, 0.99, 100)
    one = compute((edges[1:] + edges[:-1]) / 2)
    caption = (
        f"Option II (model averaging) on one cluster of two quadratic clients with the same minimiser and "
        f"curvatures $\\lambda = {FLAT:g}$ and 1, $\\eta = 1/L = 1$, $H$ local steps: exact spectral radius "
        f"$\\rho(M)$ of a round. Each client alone converges everywhere on the map. a: momentum averaged and "
        f"carried on, as printed; beyond the line $\\rho(M) > 1$ the rounds diverge, at the marked cell "
        f"($\\beta = {AUDITED[0]:g}$, $H = {AUDITED[1]}$) by {rate(*AUDITED):.4f} a round. b: momentum reset every "
        f"round; largest $\\rho$ on the map {one.reset_rates.max():.4f}. Seed {seed} (nothing is random)."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.2)
    meshes = []
    for panel, rates, title in zip(
        panels, (one.rates, one.reset_rates), ("a  Momentum carried on", "b  Momentum reset"), strict=True
    ):
        meshes.append(_paint(panel, edges, one.momenta, rates))
        style.label_axes(panel, title, r"momentum $\beta$", r"local steps $H$")
        panel.axvline(PAPER_MOMENTUM, **style.LEVEL, gid="paper-momentum")
    panels[0].plot(*AUDITED, markersize=6, marker="x", color=style.BLACK, linestyle="none", gid="audited")
    style.add_colour_bar(meshes[-1], panels, r"$\rho(M)$ a round; line: $\rho(M) = 1$")
    return figure


def _paint(panel: style.Axes, edges: np.ndarray, momenta: np.ndarray, rates: np.ndarray) -> Any:
    """Colour the cells by rate, white at 1, and draw the line at which the rounds diverge."""
    from matplotlib.colors import TwoSlopeNorm

    rows = np.arange(LOCAL_STEPS[0] - 0.5, LOCAL_STEPS[-1] + 1)
    norm = TwoSlopeNorm(1.0, vmin=0.0, vmax=2.0)
    mesh = panel.pcolormesh(edges, rows, rates, cmap="PuOr_r", norm=norm, rasterized=True)
    if (rates > 1).any():
        lines = panel.contour(momenta, LOCAL_STEPS, rates, levels=[1.0], colors=style.BLACK, linewidths=1.2)
        lines.set_gid("divergence")
    return mesh


FIGURE = Illustration(
    "model-averaging-map",
    "Where model averaging diverges although every client alone converges",
    draw,
    ("cfl-mgd/model-averaging-stability", "cfl-mgd/model-averaging-reset"),
)
