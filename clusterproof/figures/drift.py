"""Distance between each algorithm's fixed point and the optimum of the mean loss, in closed form and from runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, Algorithm, FedAvg, FedBCD, FedProx, PerFedAvg
from clusterproof.common import generator
from clusterproof.figures.illustration import Illustration, Positive
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.exact import affine_rounds

CLUSTERS = 4
STEPS = range(1, 65)
STRENGTHS = np.geomspace(0.1, 5.0, 101).tolist()
STEP_TICKS, TICKS = [1, 2, 4, 8, 16, 32, 64], [0.1, 0.3, 1, 3]
TIME_CONSTANTS = 20
"""Length of a run, in time constants. The slowest component of the error decays at least by the factor exp(-20)."""

LOOKS = {
    "FedAvg": (style.BLACK, "o"),
    "FedProx, inexact": (style.GREEN, "^"),
    "Per-FedAvg, HF": (style.PURPLE, "D"),
    "Per-FedAvg, FO": (style.ORANGE, "v"),
    r"CFL-MGD II, $\beta = 0$": (style.SKY, "x"),
    r"CFL-MGD II, $\beta = 0.5$": (style.BLUE, "P"),
    r"CFL-MGD II, $\beta = 0.9$": (style.VERMILLION, "s"),
    "FedProx, exact": (style.BLUE, "s"),
    "FedBCD": (style.VERMILLION, "x"),
}
"""Colour and marker for each method."""

Method: TypeAlias = tuple[Callable[..., Any], Callable[..., Algorithm[Any]]]
"""Two functions of a parameter: the first returns the fixed point (d,), and the second makes the algorithm.

The arguments of the first function are Hessians (m, d, d), centres (m, d) and the parameter. It may also return a
tuple whose first entry is the fixed point.
"""


class Curve(NamedTuple):
    """The drift of one method as a function of a parameter.

    Attributes
    ----------
    drifts
        Drift from the closed form, for every value of the parameter.
    ends
        Drift at the end of runs, for some values of the parameter.
    at_ends
        Drift from the closed form, for the same values as ``ends``.
    """

    drifts: np.ndarray
    ends: np.ndarray
    at_ends: np.ndarray


class Drift(Illustration):
    """Drift of algorithms on the expected losses of a regression, from closed forms of fixed points and from runs.

    Parameters
    ----------
    kappa
        Condition number of every cluster's loss.
    separation
        Smallest distance between the optima of two clusters.
    clients
        Number of clients, a multiple of 4.
    dimension
        Number of parameters of a model.
    step_size
        Step size of all methods, with L = 1.
    inner_step_size
        Inner step size alpha of Per-FedAvg.
    proximal
        Proximal coefficient mu in the left panel.
    local_steps
        Number of local steps in the right panel.
    run_steps
        Numbers of local steps for which the left panel shows runs.
    run_strengths
        Proximal coefficients for which the right panel shows runs.
    """

    name = "drift"
    title = "Where every algorithm rests, away from the optimum of the mean loss"
    alt = (
        "Distance of each algorithm's fixed point from the optimum, over the number of local steps and over the "
        "proximal strength; marks of runs lie on the lines. With more local steps most methods rest farther away."
    )
    claims = ("baselines/fedavg-optimum", "baselines/fedavg", "cfl-mgd/model-averaging-drift")

    kappa: Annotated[float, Meta(ge=1, le=100)] = 5.0
    separation: Positive = 2.0
    clients: Annotated[int, Meta(ge=4, le=10_000, multiple_of=4)] = 60
    dimension: Annotated[int, Meta(ge=2, le=100)] = 3
    step_size: Annotated[float, Meta(gt=0, le=1)] = 0.1
    inner_step_size: Annotated[float, Meta(ge=0, le=1)] = 0.5
    proximal: Positive = 1.0
    local_steps: Annotated[int, Meta(ge=1, le=1000)] = 8
    run_steps: tuple[Annotated[int, Meta(ge=1, le=64)], ...] = (1, 4, 12, 32, 64)
    run_strengths: tuple[Annotated[float, Meta(ge=0.1, le=5)], ...] = (0.1, 0.7, 5.0)

    def task(self) -> RegressionMixture:
        """Return a task with the expected losses of clients in 4 clusters, whose covariances are rotated."""
        source = generator(self.seed, "figures/drift", "task")
        turns = np.linalg.qr(source.standard_normal((CLUSTERS, self.dimension, self.dimension)))[0]
        spectrum = np.geomspace(1 / self.kappa, 1, self.dimension)
        covariance = (turns * spectrum) @ np.swapaxes(turns, -1, -2)
        optima = source.standard_normal((CLUSTERS, self.dimension))
        gaps = np.linalg.norm(optima[:, None] - optima, axis=-1)[~np.eye(CLUSTERS, dtype=bool)]
        return RegressionMixture(
            optima=self.separation / gaps.min() * (optima - optima.mean(axis=0)),
            covariance=(covariance + np.swapaxes(covariance, -1, -2)) / 2,
            noise=0.0,
            labels=np.repeat(np.arange(CLUSTERS), self.clients // CLUSTERS),
            samples=1,
            data="population",
        )

    def by_local_steps(self) -> dict[str, Method]:
        """Return the methods as functions of the number of local steps H."""
        proximal, inner = {"proximal": self.proximal}, {"inner_step_size": self.inner_step_size}
        averaged = partial(CFLMGD, clusters=1, averaging="model")
        methods: dict[str, tuple[Any, Any, dict[str, float]]] = {
            "FedAvg": (affine_rounds.fedavg_rest, FedAvg, {}),
            "FedProx, inexact": (affine_rounds.fedprox_rest, FedProx, proximal),
        }
        for name, gradient in (("Per-FedAvg, HF", "second-order"), ("Per-FedAvg, FO", "first-order")):
            point = partial(affine_rounds.per_fedavg_rest, second_order=gradient == "second-order")
            methods[name] = point, partial(PerFedAvg, gradient=gradient), inner
        for momentum in (0.0, 0.5, 0.9):
            name = rf"CFL-MGD II, $\beta = {momentum:g}$"
            methods[name] = affine_rounds.cfl_mgd_rest, averaged, {"momentum": momentum}
        step = self.step_size
        return {
            name: (partial(point, step_size=step, **own), partial(algorithm, step_size=step, **own))
            for name, (point, algorithm, own) in methods.items()
        }

    def by_strength(self) -> dict[str, Method]:
        """Return the methods as functions of the proximal coefficient mu."""

        def exact(proximal: float) -> FedProx:
            to_solve = math.ceil(TIME_CONSTANTS / (self.step_size * (1 / self.kappa + proximal)))
            return FedProx(step_size=self.step_size, proximal=proximal, local_steps=to_solve)

        inexact: dict[str, Any] = {"step_size": self.step_size, "local_steps": self.local_steps}
        return {
            "FedProx, exact": (affine_rounds.fedprox_rest, exact),
            "FedBCD": (affine_rounds.fedbcd_rest, partial(FedBCD, **inexact)),
            "FedProx, inexact": (partial(affine_rounds.fedprox_rest, **inexact), partial(FedProx, **inexact)),
        }

    def compute(self) -> list[dict[str, Curve]]:
        """Compute the drift of each method as a function of the local steps, and of the proximal coefficient."""
        task = self.task()
        clients = task.covariances.matrices[task.labels], task.client_optima

        def at_rest(point: Callable[..., Any], **parameter: float) -> float:
            found = point(*clients, **parameter)
            return drift_of(found[0] if isinstance(found, tuple) else found, task)

        def at_end(algorithm: Algorithm[Any]) -> float:
            steps, proximal = getattr(algorithm, "local_steps", 1), getattr(algorithm, "proximal", 0.0)
            decay = 1.2 * self.kappa / (self.step_size * steps) + 3 * (1 + proximal * self.kappa)
            rounds, start = math.ceil(TIME_CONSTANTS * decay), np.zeros((1, task.dimension))
            return drift_of(run(algorithm, task, rounds=rounds, initial=start).models[-1, 0], task)

        parts: list[dict[str, Curve]] = [{}, {}]
        for part, methods, parameter, values, ran in (
            (parts[0], self.by_local_steps(), "local_steps", STEPS, self.run_steps),
            (parts[1], self.by_strength(), "proximal", STRENGTHS, self.run_strengths),
        ):
            for name, (point, algorithm) in methods.items():
                drifts = np.array([at_rest(point, **{parameter: value}) for value in values])
                ends = np.array([at_end(algorithm(**{parameter: value})) for value in ran])
                at_ends = np.array([at_rest(point, **{parameter: value}) for value in ran])
                part[name] = Curve(drifts, ends, at_ends)
        return parts

    def draw(self, data: list[dict[str, Curve]]) -> style.Figure:
        """Draw the drift against the number of local steps, and against the proximal coefficient."""
        task = self.task()
        all_curves = [curve for part in data for curve in part.values()]
        gap = max(np.abs(curve.ends - curve.at_ends).max(initial=0) for curve in all_curves)
        words = (
            f"Distance to the minimiser of the mean loss of {self.clients} clients that share one model: expected "
            f"losses of a Gaussian regression mixture, $P = {CLUSTERS}$, $d = {self.dimension}$, $\\kappa = "
            f"{self.kappa:g}$, $L = 1$, $\\Delta = {self.separation:g}$, covariances turned at random. "
            f"Lines: fixed points in closed form; marks: ends of runs from 0, at most {style.power_of_ten(gap)} off. "
            f"Step $\\eta = {self.step_size:g}$. a: FedProx with $\\mu = {self.proximal:g}$, Per-FedAvg with $\\alpha "
            f"= {self.inner_step_size:g}$ (it aims elsewhere: at a model that is good after one step), CFL-MGD II in "
            f"one cluster; with $\\beta = 0$ it is FedAvg. b: FedProx, inexact, and FedBCD with $H = "
            f"{self.local_steps}$ steps, of which FedBCD's point is independent; it is that of FedProx, exact. Dotted: "
            f"the mean of the clients' own optima, to which FedAvg tends as $H \\to \\infty$ and exact FedProx as "
            f"$\\mu \\to 0$."
        )
        figure, panels = style.new_figure(self.caption(words), panels=2, height=5.4)
        limit = drift_of(task.client_optima.mean(axis=0), task)
        strength = r"proximal strength $\mu$"
        for panel, curves, values, ran, title, parameter, ticks in (
            (panels[0], data[0], STEPS, self.run_steps, "a  Local steps", "local steps $H$", STEP_TICKS),
            (panels[1], data[1], STRENGTHS, self.run_strengths, "b  Proximal strength", strength, TICKS),
        ):
            panel.axhline(limit, **style.LEVEL, gid="mean of optima")
            for name, curve in curves.items():
                colour, marker = LOOKS[name]
                mark: style.Look = {"clip_on": False, "label": name, "gid": f"runs {name}"}
                panel.plot(values, curve.drifts, color=colour, label="_", gid=f"closed {name}")
                style.draw_marks(panel, ran, curve.ends, colour, marker, 5.5, **mark)
            axes: style.Look = {"xscale": "log", "ylim": (0, None), "x_ticks": ticks}
            style.label_axes(panel, title, parameter, "distance of the fixed point to the optimum", **axes)
        style.add_legend(panels, 4)
        return figure


def drift_of(point: np.ndarray, task: RegressionMixture) -> float:
    """Return the distance between a model (d,) and the minimiser of the mean loss."""
    return float(np.linalg.norm(point - task.pooled_optimum))
