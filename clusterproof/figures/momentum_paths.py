"""Gradient descent and heavy ball across a valley: the counterpart of CFL-MGD's Figure 1."""

from __future__ import annotations

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.exact.heavy_ball import propagators

CONDITION_NUMBER, STEP_SIZE, ROUNDS = 20.0, 1.9, 40
START = np.array([-8.0, 2.0])
"""Along the flat axis and the steep one."""

METHODS = {
    "gradient descent": (0.0, STEP_SIZE, style.LOOKS[1]),
    r"heavy ball, $\beta = 0.5$": (0.5, STEP_SIZE, style.LOOKS[0]),
}


def path(momentum: float, step_size: float) -> np.ndarray:
    """Return the points of a run from rest, (ROUNDS + 1, 2); mode by mode, in closed form."""
    curvatures = step_size * np.array([1 / CONDITION_NUMBER, 1.0])
    return np.asarray(propagators(curvatures, momentum, ROUNDS)[0] * START)


def envelope(momentum: float, step_size: float) -> np.ndarray:
    """Bound the distance from the optimum: the prefactor of each mode times its rate, (ROUNDS + 1,)."""
    rounds = np.arange(ROUNDS + 1)
    total = np.zeros(ROUNDS + 1)
    for curvature, start in zip(step_size * np.array([1 / CONDITION_NUMBER, 1.0]), START, strict=True):
        trace = 1 + momentum - curvature
        roots = np.roots([1, -trace, momentum]).astype(complex)
        # e_t = c_1 z_1^t + c_2 z_2^t with e_(-1) = e_0
        weights = np.linalg.solve(np.array([[1, 1], roots]), [start, (1 - curvature) * start])
        total += (np.abs(weights[:, None]) * np.abs(roots[:, None]) ** rounds).sum(axis=0) ** 2
    return np.sqrt(total)


def draw(seed: int) -> style.Figure:
    """Draw both paths over the level lines, and their distances below their bounds."""
    caption = (
        rf"The loss $\varphi(x, y) = x^2 / (2\kappa) + y^2 / 2$ with $\kappa = {CONDITION_NUMBER:g}$, step "
        rf"$\eta = {STEP_SIZE:g} / L$, from rest. a: {ROUNDS} rounds over level lines; descent swings across the "
        "valley, momentum carries along it. b: distance from the optimum, and the bound from both modes' rates, which "
        f"the distance cannot exceed. Seed {seed} (nothing is random)."
    )
    figure, (left, right) = style.new_figure(caption, panels=2, height=4.0)
    across, up = np.meshgrid(np.linspace(-9, 5, 120), np.linspace(-2.6, 2.6, 100))
    levels = (across**2 / CONDITION_NUMBER + up**2) / 2
    left.contour(across, up, levels, levels=np.geomspace(0.02, 5, 9), colors=style.GREY, linewidths=0.5)
    for name, (momentum, step_size, look) in METHODS.items():
        points = path(momentum, step_size)
        left.plot(*points.T, **look, markersize=3, label=name, gid=name)
        right.semilogy(np.linalg.norm(points, axis=1), **look, markevery=5, label=name, gid=name)
        bound = envelope(momentum, step_size)
        right.semilogy(bound, color=look["color"], linestyle=":", gid=f"bound {name}")
    left.plot([0], [0], color=style.BLACK, marker="*", markersize=9, linestyle="none", label="optimum")
    right.plot([], [], **style.LEVEL, label="bound")
    style.label_axes(left, "a  Paths", "flat direction $x$", "steep direction $y$")
    style.label_axes(right, "b  Distances below their bounds", "round", "distance from the optimum")
    style.add_legend([right, left], 4)
    return figure


FIGURE = Illustration(
    "momentum-paths", "Gradient descent and heavy ball across a valley, below their bounds", draw
)
