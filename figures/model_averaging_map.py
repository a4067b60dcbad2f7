"""Where option II of CFL-MGD diverges although every client alone converges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.instruments.model_averaging import round_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOCAL_STEPS = tuple(range(1, 31))
FLAT = 0.01
PAPER_MOMENTUM = 0.9
AUDITED = (0.9, 5)
"""Momentum and local steps of the instance that the caption names."""


@dataclass(frozen=True)
class Map:
    """Rates per round over momentum and local steps.

    Attributes
    ----------
    momenta
        beta of the cells, (M,).
    rates
        rho(M) with the momentum averaged and carried on, (H, M), rows as ``LOCAL_STEPS``.
    reset_rates
        The same with the momentum reset every round.
    """

    momenta: np.ndarray
    rates: np.ndarray
    reset_rates: np.ndarray


def compute(momenta: np.ndarray) -> Map:
    """Take the exact rate of every cell: two scalar clients with curvatures 0.01 and 1, eta = 1/L.

    Parameters
    ----------
    momenta
        (M,).
    """
    hessians, centers = np.array([[[FLAT]], [[1.0]]]), np.zeros((2, 1))
    rates = np.empty((2, len(LOCAL_STEPS), len(momenta)))
    for reset in (False, True):
        for row, local_steps in enumerate(LOCAL_STEPS):
            for column, momentum in enumerate(momenta):
                rates[int(reset), row, column] = round_map(
                    hessians, centers, step_size=1.0, momentum=float(momentum), local_steps=local_steps,
                    reset_momentum=reset,
                ).rate  # fmt: skip
    return Map(momenta, rates[0], rates[1])


def draw(seed: int) -> Figure:
    """Draw the rate per round with the momentum carried on, and with it reset.

    Parameters
    ----------
    seed
        Named in the caption; nothing here is random.
    """
    edges = np.linspace(0, 0.99, 100)
    one = compute((edges[1:] + edges[:-1]) / 2)
    named = round_map(
        np.array([[[FLAT]], [[1.0]]]), np.zeros((2, 1)), step_size=1.0, momentum=AUDITED[0],
        local_steps=AUDITED[1],
    ).rate  # fmt: skip
    caption = (
        f"Option II (model averaging) on one cluster of two quadratic clients with the same minimiser and "
        f"curvatures $\\lambda = {FLAT:g}$ and 1, $\\eta = 1/L = 1$, $H$ local steps: exact spectral radius "
        f"$\\rho(M)$ of a round. Each client alone converges everywhere on the map. a: momentum averaged and "
        f"carried on, as printed; beyond the line $\\rho(M) > 1$ the rounds diverge, at the marked cell "
        f"($\\beta = {AUDITED[0]:g}$, $H = {AUDITED[1]}$) by {named:.4f} a round. b: momentum reset every "
        f"round; largest $\\rho$ on the map {one.reset_rates.max():.4f}. Seed {seed} (nothing is random)."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.2)
    meshes = []
    for panel, rates, title in zip(
        panels, (one.rates, one.reset_rates), ("a  Momentum carried on", "b  Momentum reset"), strict=True
    ):
        meshes.append(_paint(panel, edges, one.momenta, rates))
        style.label_axes(panel, title, r"momentum $\beta$", r"local steps $H$")
        panel.axvline(PAPER_MOMENTUM, color=style.BLACK, linestyle=":", gid="paper-momentum")
    panels[0].plot(*AUDITED, marker="x", color=style.BLACK, linestyle="none", gid="audited")
    bar = figure.colorbar(meshes[-1], ax=panels, shrink=0.9)
    bar.set_label(r"$\rho(M)$ a round; line: $\rho(M) = 1$", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return style.settled(figure)


def _paint(panel: Axes, edges: np.ndarray, momenta: np.ndarray, rates: np.ndarray) -> Any:
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
