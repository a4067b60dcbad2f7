"""Iterates of gradient descent and of heavy ball in a narrow valley, as in Figure 1 of the CFL-MGD paper."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration, Kappa, Momentum, Positive
from clusterproof.theory.exact.heavy_ball import propagators

START = np.array([-8.0, 2.0])
"""Coordinates of the initial point, on the flat axis and on the steep axis."""


class Path(NamedTuple):
    """The run of one method.

    Attributes
    ----------
    points
        Points after each step, (rounds + 1, 2).
    bound
        Bound on the distance to the optimum, (rounds + 1,).
    """

    points: np.ndarray
    bound: np.ndarray


class MomentumPaths(Illustration):
    """Gradient descent and heavy ball on a quadratic function of two variables.

    Parameters
    ----------
    kappa
        Condition number of the loss.
    momentum
        Momentum of the heavy ball.
    step_size
        Step size of both methods, in units of 1 / L.
    rounds
        Number of steps.
    """

    name = "momentum-paths"
    title = "Gradient descent and heavy ball across a valley, below their bounds"
    alt = (
        "Left: over level lines of a valley, gradient descent jumps from side to side, and the heavy ball runs along "
        "it. Right: the distances from the optimum by round on a log axis, each below its dotted bound."
    )

    kappa: Kappa = 20.0
    momentum: Momentum = 0.5
    step_size: Positive = 1.9
    rounds: Annotated[int, Meta(ge=1, le=10_000)] = 40

    def compute(self) -> dict[str, Path]:
        """Return the run of each method without initial momentum, from the closed form along each eigenvector."""
        curvatures = self.step_size * np.array([1 / self.kappa, 1.0])
        runs = {"gradient descent": 0.0, rf"heavy ball, $\beta = {self.momentum:g}$": self.momentum}
        with np.errstate(all="ignore"):  # a run may diverge
            return {
                name: Path(
                    np.asarray(propagators(curvatures, momentum, self.rounds)[0] * START),
                    _envelope(curvatures, momentum, self.rounds),
                )
                for name, momentum in runs.items()
            }

    def draw(self, data: dict[str, Path]) -> style.Figure:
        """Draw both paths over the level lines, and the distances to the optimum with their bounds."""
        words = (
            rf"The loss $\varphi(x, y) = x^2 / (2\kappa) + y^2 / 2$ with $\kappa = {self.kappa:g}$, step "
            rf"$\eta = {self.step_size:g} / L$, from rest. a: {self.rounds} rounds over level lines; without "
            "momentum a large step swings across the valley, momentum carries along it. b: distance from the optimum, "
            "and the bound from both modes' rates, which the distance cannot exceed."
        )
        figure, (left, right) = style.new_figure(self.caption(words, random=False), panels=2, height=4.0)
        across, up = np.meshgrid(np.linspace(-9, 5, 120), np.linspace(-2.6, 2.6, 100))
        levels = (across**2 / self.kappa + up**2) / 2
        left.contour(across, up, levels, levels=np.geomspace(0.02, 5, 9), colors=style.GREY, linewidths=0.5)
        for (name, path), look in zip(data.items(), (style.LOOKS[1], style.LOOKS[0]), strict=True):
            left.plot(*path.points.T, **look, markersize=3, label=name, gid=name)
            distances = np.linalg.norm(path.points, axis=1)
            style.draw_curve(right, np.arange(self.rounds + 1), distances, look, name, marks=8)
            right.plot(path.bound, color=look["color"], linestyle=":", gid=f"bound {name}")
        style.draw_marks(left, [0], [0], style.BLACK, "*", 9, label="optimum")
        right.plot([], [], **style.LEVEL, label="bound")
        limits: style.Look = {"xlim": (-9, 5), "ylim": (-2.6, 2.6), "x_ticks": [-8, -4, 0, 4]}
        style.label_axes(left, "a  Paths", "flat direction $x$", "steep direction $y$", **limits)
        distance = "distance from the optimum"
        style.label_axes(right, "b  Distances below their bounds", "round", distance, yscale="log")
        style.add_legend([right, left], 4)
        return figure


def _envelope(curvatures: np.ndarray, momentum: float, rounds: int) -> np.ndarray:
    """Return a bound on the distance to the optimum, (rounds + 1,), from prefactor and rate along each eigenvector."""
    counts = np.arange(rounds + 1)
    total = np.zeros(rounds + 1)
    for curvature, start in zip(curvatures, START, strict=True):
        roots = np.roots([1, -(1 + momentum - curvature), momentum]).astype(complex)
        after = (1 - curvature) * start  # e_1
        if abs(roots[0] - roots[1]) > 1e-6:
            # e_t = c_1 z_1^t + c_2 z_2^t
            weights = np.linalg.solve(np.array([[1, 1], roots]), [start, after])
            mode = (np.abs(weights[:, None]) * np.abs(roots[:, None]) ** counts).sum(axis=0)
        else:
            # e_t = (c_1 + c_2 t) z^t for a double root
            root = roots.mean()
            slope = abs(after / root - start) if root else 0.0
            mode = (abs(start) + slope * counts) * np.abs(root) ** counts
        total += mode**2
    return np.sqrt(total)
