"""Maps for CFL-MGD: momenta for which Lemma 2 fails without noise, and momenta for which option II diverges."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Count, Illustration, Momentum
from clusterproof.theory.exact.affine_rounds import round_map
from clusterproof.theory.exact.heavy_ball import propagators, spectral_rate

PAPER_MOMENTUM = 0.9
"""Momentum in the experiments of the CFL-MGD paper."""

LEVELS = (1 / 64, 1 / 16, 1 / 4, 1, 4, 8, 16, 32, 64)
"""Contour levels of the map: the number of rounds with the printed factor that equal one observed round."""

WIDE_EDGES = np.linspace(0, 1, 201)
"""Momenta at the edges of the cells."""

GAP_EDGES = np.geomspace(0.2, 1e-4, 121)
"""Values of 1 - momentum at the edges of the cells, for the map near momentum 1."""

CONDITION_EDGES = np.geomspace(1, 1000, 61)


class Map(NamedTuple):
    """Exact results on a grid of momenta (M,) and condition numbers (K,).

    Attributes
    ----------
    step_fails
        Whether some run without initial momentum breaks ||e_(t+1)|| <= (1 - l mu / 8L) ||e_t||, (K, M).
    rates
        Spectral radius, the asymptotic factor per round of the runs, (K, M).
    factors
        The printed factor 1 - l mu / 8L, (K,).
    """

    momenta: np.ndarray
    condition_numbers: np.ndarray
    step_fails: np.ndarray
    rates: np.ndarray
    factors: np.ndarray

    @property
    def rate_fails(self) -> np.ndarray:
        """Return whether the spectral radius exceeds the printed factor, (K, M)."""
        return np.asarray(self.rates > self.factors[:, None])


class ContractionMap(Illustration):
    """Map of the measured factor per round, relative to the printed factor, over momentum and condition number.

    Parameters
    ----------
    proportion
        Share of the clients in the cluster (l_p), which is also the smallest share (l).
    eigenvalues
        Number of eigenvalues of the Hessian, from mu to L in geometric progression.
    rounds
        Number of rounds of the runs. Every step is checked.
    """

    name = "contraction-map"
    title = "Where the contraction of Lemma 2 of CFL-MGD, without its floor, fails without noise"
    alt = (
        "Two maps over momentum and condition number, the second near momentum 1. Levels show how many rounds of the "
        "printed factor one round amounts to: eight and more up to moderate momentum, less than one beyond a line "
        "at large momentum. From a dashed line at small momentum on, some single step contracts less than printed."
    )
    claims = ("cfl-mgd/lemma-2", "cfl-mgd/per-step-contraction", "cfl-mgd/per-step-region")

    proportion: Annotated[float, Meta(gt=0, le=0.5)] = 0.5
    eigenvalues: Annotated[int, Meta(ge=2, le=100)] = 5
    rounds: Count = 400

    def claimed_factor(self, condition_numbers: np.ndarray) -> np.ndarray:
        """Return the factor of Lemma 2, 1 - l mu / 8L."""
        return np.asarray(1 - self.proportion / (8 * condition_numbers))

    @property
    def step_boundary(self) -> float:
        """Return (1 - sqrt(l_p))^2. For larger momentum, the error along the largest eigenvalue oscillates."""
        return float((1 - np.sqrt(self.proportion)) ** 2)

    def rate_boundary(self, condition_numbers: np.ndarray) -> np.ndarray:
        """Return (1 - l mu / 8L)^2. For larger momentum, the spectral radius exceeds the printed factor."""
        return np.asarray(self.claimed_factor(condition_numbers) ** 2)

    def cells(self, momenta: np.ndarray, condition_numbers: np.ndarray) -> Map:
        """Run the recursion of every cell along each eigenvector, and compute its spectral radius.

        If the inequality holds along every eigenvector, it holds for every initial error, because the squares add up.
        """
        powers = np.linspace(-1, 0, self.eigenvalues)
        curvatures = self.proportion * condition_numbers[:, None] ** powers
        factors = self.claimed_factor(condition_numbers)
        step_fails = np.empty((len(condition_numbers), len(momenta)), dtype=bool)
        rates = np.empty(step_fails.shape)
        for column, momentum in enumerate(momenta):
            errors = np.abs(propagators(curvatures, momentum, self.rounds)[0])
            step_fails[:, column] = (errors[1:] > factors[:, None] * errors[:-1]).any(axis=(0, 2))
            rates[:, column] = spectral_rate(curvatures, momentum).max(axis=1)
        return Map(momenta, condition_numbers, step_fails, rates, factors)

    def disagreements(self, one: Map) -> int:
        """Count the cells in which the runs disagree with the closed-form boundaries."""
        step = np.broadcast_to(one.momenta > self.step_boundary, one.step_fails.shape)
        rate = one.momenta > self.rate_boundary(one.condition_numbers)[:, None]
        return int(((step != one.step_fails) | (rate != one.rate_fails)).sum())

    def compute(self) -> dict[str, Map]:
        """Compute the cells of both maps."""
        condition_numbers = style.centres(CONDITION_EDGES)
        return {
            "every momentum": self.cells((WIDE_EDGES[1:] + WIDE_EDGES[:-1]) / 2, condition_numbers),
            "near 1": self.cells(1 - style.centres(GAP_EDGES), condition_numbers),
        }

    def draw(self, data: dict[str, Map]) -> style.Figure:
        """Draw the map over momentum and condition number, and an enlarged map of the right edge."""
        from matplotlib.colors import LogNorm

        wide, edge = data.values()
        cells = wide.rates.size + edge.rates.size
        words = (
            f"Option I without noise or misclassification on quadratic losses: step size 1/L, "
            f"$l = l_p = {self.proportion:g}$, {self.eigenvalues} eigenvalues from $\\mu$ to $L$ in geometric "
            f"progression. Colours and thin lines: rounds of the printed factor $1 - l\\mu/8L$ of (31), alone, without "
            f"the floor $\\rho_0 > 0$ that the paper adds to it, that one round amounts to, "
            f"$\\ln \\rho(M) / \\ln(1 - l\\mu/8L)$ with the exact spectral radius $\\rho(M)$; beyond the solid line it "
            f"is below 1. Right of the dashed line some step of a run from rest, of {self.rounds} rounds in each "
            f"eigendirection, contracts less than printed. Solid and dashed are closed forms; they disagree with "
            f"{self.disagreements(wide) + self.disagreements(edge)} of {cells} cells. "
            f"b: the same near $\\beta = 1$, with $1 - \\beta$ on a log axis."
        )
        figure, (left, right) = style.new_figure(self.caption(words, random=False), panels=2, height=4.4)
        fine = np.geomspace(1, 1000, 400)
        solid, step = r"$\sqrt{\beta} = 1 - l\mu/8L$", r"$\beta = (1 - \sqrt{l_p})^2$"
        paper = rf"the paper's $\beta = {PAPER_MOMENTUM:g}$"
        norm, levels = LogNorm(1 / 512, 512), [level for level in LEVELS if level != 1]
        scale: style.Look = {"cmap": "PuOr", "norm": norm, "rasterized": True}
        for panel, one, edges, title, scale_across, origin in (
            (left, wide, WIDE_EDGES, "a  Every momentum", "linear", 0),
            (right, edge, GAP_EDGES, "b  Momentum near 1", "log", 1),
        ):
            # in a vector file, the thousands of cells become pixels, and the lines above remain lines
            with np.errstate(divide="ignore"):
                ratios = np.log(one.rates) / np.log(one.factors)[:, None]
            mesh = panel.pcolormesh(edges, CONDITION_EDGES, ratios, **scale)
            lines: style.Look = {"colors": style.GREY, "linewidths": 0.5}
            panel.contour(np.abs(origin - one.momenta), one.condition_numbers, ratios, levels, **lines)
            dashed: style.Look = {"color": style.BLACK, "linestyle": "--", "label": step}
            panel.axvline(abs(origin - self.step_boundary), **dashed, gid="step-boundary")
            border = np.abs(origin - self.rate_boundary(fine))
            panel.plot(border, fine, color=style.BLACK, label=solid, gid="rate-boundary")
            panel.axvline(abs(origin - PAPER_MOMENTUM), **style.LEVEL, label=paper, gid="paper-momentum")
            limits: style.Look = {"xscale": scale_across, "yscale": "log", "xlim": edges[[0, -1]]}
            condition = r"condition number $\kappa = L / \mu$"
            style.label_axes(panel, title, r"momentum $\beta$", condition, **limits)
        right.set_xticks([0.1, 0.01, 0.001, 0.0001], ["0.9", "0.99", "0.999", "0.9999"])
        ticks: style.Look = {"ticks": LEVELS, "format": lambda value, _: f"{value:.2g}"}
        style.add_colour_bar(mesh, (left, right), "printed rounds in one round", **ticks)
        style.add_legend([left], 3)
        return figure


class Rates(NamedTuple):
    """Rates per round, for momenta (M,) and local steps 1, ..., H.

    Attributes
    ----------
    rates
        Rate if the server averages the momentum and clients continue with it, (H, M).
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
        Curvature of the flat client. The other client has curvature 1.
    step_size
        Step size, in units of 1 / L.
    most_local_steps
        Largest number of local steps in the map.
    momentum
        Momentum of the marked cell. The caption states the rate in this cell.
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

    def cells(self, momenta: np.ndarray) -> Rates:
        """Compute the exact rate of every cell."""
        steps = range(1, self.most_local_steps + 1)
        rates, reset_rates = (
            np.array([[self.rate(momentum, count, reset) for momentum in momenta] for count in steps])
            for reset in (False, True)
        )
        return Rates(momenta, rates, reset_rates)

    def compute(self) -> Rates:
        """Compute the rates for 99 momenta."""
        return self.cells(np.arange(0.5, 99) / 100)

    def draw(self, data: Rates) -> style.Figure:
        """Draw the rate per round, with and without reset of the momentum."""
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
