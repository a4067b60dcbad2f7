"""Purity of GL-CFL with both signs and of IFCA, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import IFCA, Algorithm, GradientLoss, generator, purity, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture

ROUNDS, TASKS, STARTS = 40, 10, 4
STEP_SIZE, WEIGHT = 0.1, 0.5
SPREAD, JITTER = 0.5, 1e-3
GOAL, HELD = 0.9, 5

METHODS: dict[str, Algorithm[Any]] = {
    "GL-CFL, descent": GradientLoss(step_size=STEP_SIZE, weight=WEIGHT),
    "GL-CFL, as printed": GradientLoss(step_size=STEP_SIZE, weight=WEIGHT, sign="as-printed"),
    "IFCA": IFCA(step_size=STEP_SIZE, averaging="model"),
}
"""All with one local step; IFCA is GL-CFL of weight 0 on a batch of its own for the choice."""

KINDS = ("spread", "common")


def first_iterations(purities: np.ndarray) -> np.ndarray:
    """First of ``HELD`` rounds with a purity (rounds, runs) of at least ``GOAL``, infinite if none, (runs,)."""
    windows = np.lib.stride_tricks.sliding_window_view(purities, HELD, axis=0)
    held = (windows >= GOAL).all(axis=-1)
    return np.where(held.any(axis=0), held.argmax(axis=0) + 1.0, np.inf)


def make_task(seed: int, number: int) -> RegressionMixture:
    """60 clients in 4 clusters; every number has its own optima."""
    drawn = int(generator(seed, "figures/purity-per-iteration", "task", number).integers(2**31))
    return RegressionMixture.random(
        clusters=4, clients=60, dimension=10, separation=2.0, noise=0.5, samples=50, seed=drawn
    )


def make_starts(seed: int, number: int, task: RegressionMixture) -> dict[str, np.ndarray]:
    """Draw the models that the runs of a task start from, (STARTS, P, d) for each kind."""
    source = generator(seed, "figures/purity-per-iteration", "start", number)
    shape = (STARTS, task.clusters, task.dimension)
    spread = SPREAD * source.standard_normal(shape)
    point = SPREAD * source.standard_normal((STARTS, 1, task.dimension))
    return {"spread": spread, "common": point + JITTER * source.standard_normal(shape)}


def compute(seed: int) -> dict[tuple[str, str], np.ndarray]:
    """Run every method from both kinds of start; the votes' purities by kind and method, (rounds, tasks x starts)."""
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for number in range(TASKS):
        task = make_task(seed, number)
        for kind, initial in make_starts(seed, number, task).items():
            for name, algorithm in METHODS.items():
                trace = run(algorithm, task, rounds=ROUNDS, seed=seed, replicates=STARTS, initial=initial)
                values = np.apply_along_axis(purity, -1, trace.assignments, task.labels)
                found.setdefault((kind, name), []).append(values)
    return {key: np.concatenate(parts, axis=1) for key, parts in found.items()}


def draw(seed: int) -> style.Figure:
    """Draw median and band of the purity from spread starts and from one common start."""
    purities, task = compute(seed), make_task(seed, 0)
    results = "; ".join(
        f"{panel}: " + ", ".join(_describe(first_iterations(purities[kind, name]), name) for name in METHODS)
        for panel, kind in zip("ab", KINDS, strict=True)
    )
    caption = (
        f"Gaussian regression: {style.describe(task)}, $\\Delta = {task.separation:g}$, fresh data. One local "
        f"step of $\\alpha = {STEP_SIZE:g}$, $\\lambda = {WEIGHT:g}$, mean loss, no pinning. Median and "
        f"{100 * style.BAND[0]:g}-{100 * style.BAND[1]:g} % band of {TASKS} tasks with {STARTS} starts each. a: all "
        f"coordinates of all models from $N(0, {SPREAD:g}^2)$; b: one such point for the models of a run, "
        f"plus $N(0, (10^{{-3}})^2)$. Share of runs that hold a purity of {GOAL:g} for "
        f"{HELD} of the {ROUNDS} iterations in a row, and the median over all runs of the first of these: "
        f"{results}. A run at 0.75 has two clusters in one. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.6)
    titles = ("a  Models start far apart", "b  Models start at one point")
    for panel, kind, title in zip(panels, KINDS, titles, strict=True):
        for number, (name, look) in enumerate(zip(METHODS, style.RUNS, strict=False)):
            times, values = np.arange(1, ROUNDS + 1), purities[kind, name]
            style.draw_band(panel, times, values, look, label=name, gid=name, every=(number, 4))
        panel.axhline(GOAL, **style.LEVEL, gid="goal")
        panel.set_ylim(0.35, 1.02)
        panel.set_xlim(0, ROUNDS + 1)
        style.label_axes(panel, title, "iteration", "purity")
    style.add_legend(panels, 3)
    return figure


def _describe(iterations: np.ndarray, name: str) -> str:
    middle = np.median(iterations)
    return f"{name} {100 * np.isfinite(iterations).mean():.0f} % ({middle:g})".replace("inf", "never")


FIGURE = Illustration(
    "purity-per-iteration",
    "Purity of GL-CFL with both signs and of IFCA, iteration by iteration",
    draw,
    ("gradient-loss/sooner", "gradient-loss/equation-3-worst"),
)
