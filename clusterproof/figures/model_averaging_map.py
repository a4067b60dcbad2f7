"""Map of the momenta and local steps for which option II of CFL-MGD diverges although each client alone converges."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration, Momentum
from clusterproof.theory.exact.affine_rounds import round_map

PAPER_MOMENTUM = 0.9


class Map(NamedTuple):
    """Rates per round, for momenta (M,) and local steps 1, ..., H.

    Attributes
    ----------
    rates
        Rate if the momentum is averaged and kept between rounds, (H, M).
    reset_rates
        Rate if the momentum is reset in every round, (H, M).
    """

    momenta: np.ndarray
    rates: np.ndarray
    reset_rates: np.ndarray


class ModelAveragingMap(Illustration):
    """Exact rate of model averaging for two clients with one parameter each.

    Parameters
    ----------
    flat
        Curvature of the flat client; the other client has curvature 1.
    step_size
        Step size, in units of 1 / L.
    most_local_steps
        Largest number of local steps in the map.
    momentum
        Momentum of the marked cell; the caption states the rate in this cell.
    local_steps
        Number of local steps of the marked cell.
    """

    name = "model-averaging-map"
    title = "Where model averaging diverges although every client alone converges"
    alt = (
        "Two maps of the rate a round over momentum and local steps. With the momentum carried on, a region of large "
        "momentum and several local steps diverges; with the momentum reset every round, none does."
    )
    claims = ("cfl-mgd/model-averaging-stability", "cfl-mgd/model-averaging-reset")

    flat: Annotated[float, Meta(gt=0, le=1)] = 0.01
    step_size: Annotated[float, Meta(gt=0, lt=2)] = 1.0
    most_local_steps: Annotated[int, Meta(ge=2, le=200)] = 30
    momentum: Momentum = 0.9
    local_steps: Annotated[int, Meta(ge=1, le=200)] = 5

    def rate(self, momentum: float, local_steps: int, reset: bool = False) -> float:
        """Return the exact rate per round for the two clients."""
        hessians, centers = np.array([[[self.flat]], [[1.0]]]), np.zeros((2, 1))
        options: dict[str, Any] = {"momentum": float(momentum), "local_steps": local_steps}
        return round_map(hessians, centers, step_size=self.step_size, reset_momentum=reset, **options).rate

    def cells(self, momenta: np.ndarray) -> Map:
        """Compute the exact rate of every cell."""
        steps = range(1, self.most_local_steps + 1)
        rates, reset_rates = (
            np.array([[self.rate(momentum, count, reset) for momentum in momenta] for count in steps])
            for reset in (False, True)
        )
        return Map(momenta, rates, reset_rates)

    def compute(self) -> Map:
        """Compute the rates for 99 momenta."""
        return self.cells(np.arange(0.5, 99) / 100)

    def draw(self, data: Map) -> style.Figure:
        """Draw the rate per round, once with the momentum kept and once with the momentum reset."""
        from matplotlib.colors import TwoSlopeNorm

        marked = self.rate(self.momentum, self.local_steps)
        words = (
            f"Option II (model averaging) on one cluster of two quadratic clients with the same minimiser and "
            f"curvatures $\\lambda = {self.flat:g}$ and 1, $\\eta = {self.step_size:g}$, $1/L = 1$, $H$ local steps: "
            f"exact spectral radius $\\rho(M)$ of a round. Each client alone converges everywhere on the map. a: "
            f"momentum averaged and carried on, as printed; beyond the line $\\rho(M) > 1$ the rounds diverge. At the "
            f"marked cell ($\\beta = {self.momentum:g}$, $H = {self.local_steps}$) the factor a round is {marked:.4f}. "
            f"b: momentum reset every round; largest $\\rho$ on the map {data.reset_rates.max():.4f}."
        )
        figure, panels = style.new_figure(self.caption(words, random=False), panels=2, height=4.2)
        steps = np.arange(1, self.most_local_steps + 1)
        edges = np.arange(len(data.momenta) + 1) / 100, np.arange(0.5, len(steps) + 1)
        scale: style.Look = {"cmap": "PuOr_r", "norm": TwoSlopeNorm(1.0, vmin=0.0, vmax=2.0)}
        for panel, rates, title in (
            (panels[0], data.rates, "a  Momentum carried on"),
            (panels[1], data.reset_rates, "b  Momentum reset"),
        ):
            mesh = panel.pcolormesh(*edges, rates, **scale, rasterized=True)
            if rates.max() > 1 > rates.min():
                border: style.Look = {"levels": [1.0], "colors": style.BLACK, "linewidths": 1.2}
                panel.contour(data.momenta, steps, rates, **border).set_gid("divergence")
            style.label_axes(panel, title, r"momentum $\beta$", r"local steps $H$")
            panel.axvline(PAPER_MOMENTUM, **style.LEVEL, gid="paper-momentum")
        style.draw_marks(panels[0], self.momentum, self.local_steps, style.BLACK, "x", 6, gid="marked")
        style.add_colour_bar(mesh, panels, r"$\rho(M)$ a round; line: $\rho(M) = 1$")
        return figure
