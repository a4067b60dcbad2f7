"""How far each algorithm rests from the optimum of the mean loss: closed forms and runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import CFLMGD, Algorithm, FedAvg, FedBCD, FedProx, PerFedAvg, generator, run
from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.instruments import fixed_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 3
CONDITION_NUMBER, SEPARATION = 5.0, 2.0
STEP_SIZE, INNER_STEP_SIZE, PROXIMAL, LOCAL_STEPS = 0.1, 0.5, 1.0, 8
MOMENTA = (0.0, 0.5, 0.9)
STEPS = np.arange(1, 65)
STEPS_RUN = (1, 4, 12, 32, 64)
STRENGTHS = np.geomspace(0.1, 5.0, 101)
STRENGTHS_RUN = (0.1, 0.7, 5.0)
TIME_CONSTANTS = 20
"""Runs last until the slowest part has decayed by exp(-20) or more."""

Point = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
Factory = Callable[[float], Algorithm[Any]]


@dataclass(frozen=True)
class Method:
    """A curve: a fixed point and a run as functions of a parameter.

    Attributes
    ----------
    name
        In the legend.
    fixed_point
        Takes hessians (m, d, d), centres (m, d) and the parameter, and gives (d,).
    algorithm
        Takes the parameter.
    rounds
        Rounds of a run, from the parameter.
    look
        Colour and marker.
    """

    name: str
    fixed_point: Point
    algorithm: Factory
    rounds: Callable[[float], int]
    look: tuple[str, str]


def make_task(seed: int) -> RegressionMixture:
    """Expected losses of 60 clients in 4 clusters whose covariances differ by a rotation."""
    source = generator(seed, "figures/drift", "task")
    turns = np.linalg.qr(source.standard_normal((CLUSTERS, DIMENSION, DIMENSION)))[0]
    spectrum = np.geomspace(1 / CONDITION_NUMBER, 1, DIMENSION)
    covariance = (turns * spectrum) @ np.swapaxes(turns, -1, -2)
    optima = source.standard_normal((CLUSTERS, DIMENSION))
    gaps = np.linalg.norm(optima[:, None] - optima, axis=-1)[~np.eye(CLUSTERS, dtype=bool)]
    return RegressionMixture(
        optima=SEPARATION / gaps.min() * (optima - optima.mean(axis=0)),
        covariance=(covariance + np.swapaxes(covariance, -1, -2)) / 2,
        noise=0.0,
        labels=np.repeat(np.arange(CLUSTERS), CLIENTS // CLUSTERS),
        samples=1,
        data="population",
    )


def _rounds_of_steps(local_steps: float) -> int:
    """Give the rounds after which gradient steps at curvature mu have decayed, at least 100."""
    return max(100, math.ceil(TIME_CONSTANTS * CONDITION_NUMBER / (STEP_SIZE * local_steps) * 1.2))


def _steps_to_solve(proximal: float) -> int:
    """Give the local steps that count as an exact solution."""
    return math.ceil(TIME_CONSTANTS / (STEP_SIZE * (1 / CONDITION_NUMBER + proximal)))


def _rounds_to_rest(proximal: float) -> int:
    """Give the rounds of exact proximal steps after which w has decayed."""
    return max(30, math.ceil(TIME_CONSTANTS * (1 + proximal * CONDITION_NUMBER)))


def by_local_steps() -> list[Method]:
    """Give the curves over local steps H."""

    def momentum_method(momentum: float, look: tuple[str, str]) -> Method:
        return Method(
            rf"CFL-MGD II, $\beta = {momentum:g}$",
            lambda hessians, centers, steps: fixed_points.cfl_mgd(
                hessians, centers, step_size=STEP_SIZE, momentum=momentum, local_steps=int(steps)
            )[0],
            lambda steps: CFLMGD(
                step_size=STEP_SIZE, momentum=momentum, clusters=1, averaging="model", local_steps=int(steps)
            ),
            _rounds_of_steps,
            look,
        )

    def personal_method(name: str, second_order: bool, look: tuple[str, str]) -> Method:
        return Method(
            name,
            lambda hessians, centers, steps: fixed_points.per_fedavg(
                hessians, centers, step_size=STEP_SIZE, inner_step_size=INNER_STEP_SIZE,
                local_steps=int(steps), second_order=second_order,
            ),
            lambda steps: PerFedAvg(
                step_size=STEP_SIZE, inner_step_size=INNER_STEP_SIZE, local_steps=int(steps),
                gradient="second-order" if second_order else "first-order",
            ),
            _rounds_of_steps,
            look,
        )  # fmt: skip

    return [
        Method(
            "FedAvg",
            lambda hessians, centers, steps: fixed_points.fedavg(
                hessians, centers, step_size=STEP_SIZE, local_steps=int(steps)
            ),
            lambda steps: FedAvg(step_size=STEP_SIZE, local_steps=int(steps)),
            _rounds_of_steps,
            (style.BLACK, "o"),
        ),
        Method(
            "FedProx, inexact",
            lambda hessians, centers, steps: fixed_points.fedprox(
                hessians, centers, proximal=PROXIMAL, step_size=STEP_SIZE, local_steps=int(steps)
            ),
            lambda steps: FedProx(step_size=STEP_SIZE, proximal=PROXIMAL, local_steps=int(steps)),
            lambda steps: max(_rounds_of_steps(steps), _rounds_to_rest(PROXIMAL)),
            (style.GREEN, "^"),
        ),
        personal_method("Per-FedAvg, HF", True, (style.PURPLE, "D")),
        personal_method("Per-FedAvg, FO", False, (style.ORANGE, "v")),
        *(
            momentum_method(momentum, (colour, marker))
            for momentum, colour, marker in zip(
                MOMENTA, (style.SKY, style.BLUE, style.VERMILLION), ("x", "P", "s"), strict=True
            )
        ),
    ]


def by_strength() -> list[Method]:
    """Give the curves over proximal strength mu."""

    def solved(hessians: np.ndarray, centers: np.ndarray, proximal: float) -> np.ndarray:
        return fixed_points.fedprox(hessians, centers, proximal=proximal)

    return [
        Method(
            "FedProx, exact",
            solved,
            lambda proximal: FedProx(
                step_size=STEP_SIZE, proximal=proximal, local_steps=_steps_to_solve(proximal)
            ),
            _rounds_to_rest,
            (style.BLUE, "s"),
        ),
        Method(
            "FedBCD",
            lambda hessians, centers, proximal: fixed_points.fedbcd(hessians, centers, proximal=proximal)[0],
            lambda proximal: FedBCD(step_size=STEP_SIZE, proximal=proximal, local_steps=LOCAL_STEPS),
            lambda proximal: 3 * _rounds_to_rest(proximal) + _rounds_of_steps(LOCAL_STEPS),
            (style.VERMILLION, "x"),
        ),
        Method(
            "FedProx, inexact",
            lambda hessians, centers, proximal: fixed_points.fedprox(
                hessians, centers, proximal=proximal, step_size=STEP_SIZE, local_steps=LOCAL_STEPS
            ),
            lambda proximal: FedProx(step_size=STEP_SIZE, proximal=proximal, local_steps=LOCAL_STEPS),
            lambda proximal: max(_rounds_to_rest(proximal), _rounds_of_steps(LOCAL_STEPS)),
            (style.GREEN, "^"),
        ),
    ]


def drift_of(point: np.ndarray, task: RegressionMixture) -> float:
    """Distance of a model (d,) to the minimiser of the mean loss."""
    return float(np.linalg.norm(point - task.pooled_optimum))


def closed(method: Method, task: RegressionMixture, parameters: np.ndarray) -> np.ndarray:
    """Drift of the closed form at each parameter."""
    hessians = task.covariances.matrices[task.labels]
    return np.array(
        [
            drift_of(method.fixed_point(hessians, task.client_optima, float(parameter)), task)
            for parameter in parameters
        ]
    )


def endpoints(method: Method, task: RegressionMixture, parameters: tuple[float, ...]) -> np.ndarray:
    """Drift at the end of a run from zero at each parameter."""
    start = np.zeros((1, task.dimension))
    traces = [
        run(method.algorithm(parameter), task, rounds=method.rounds(parameter), initial=start)
        for parameter in parameters
    ]
    return np.array([drift_of(trace.models[-1, 0], task) for trace in traces])


def draw(seed: int) -> Figure:
    """Draw the drift over local steps, and over the proximal strength.

    Parameters
    ----------
    seed
        Of the task.
    """
    task = make_task(seed)
    drawn = [
        (methods, parameters, ran, [endpoints(method, task, ran) for method in methods])
        for methods, parameters, ran in (
            (by_local_steps(), STEPS, STEPS_RUN),
            (by_strength(), STRENGTHS, STRENGTHS_RUN),
        )
    ]
    gap = max(
        float(np.abs(closed(method, task, np.array(ran)) - ends).max())
        for methods, _, ran, all_ends in drawn
        for method, ends in zip(methods, all_ends, strict=True)
    )
    caption = (
        f"Distance to the minimiser of the mean loss of {CLIENTS} clients that share one model: expected losses "
        f"of a Gaussian regression mixture, $P = {CLUSTERS}$, $d = {DIMENSION}$, $\\kappa = "
        f"{CONDITION_NUMBER:g}$, $L = 1$, $\\Delta = {SEPARATION:g}$, covariances turned at random. "
        f"Lines: fixed points in closed form; marks: ends of runs from 0, at most {_power(gap)} off. Step "
        f"$\\eta = {STEP_SIZE:g}$. a: FedProx with $\\mu = {PROXIMAL:g}$, Per-FedAvg with $\\alpha = "
        f"{INNER_STEP_SIZE:g}$ (it aims elsewhere: at a model that is good after one step), CFL-MGD II in one "
        f"cluster; with $\\beta = 0$ it is FedAvg. b: FedProx, inexact, and FedBCD with $H = {LOCAL_STEPS}$ "
        f"steps, of which FedBCD's point is independent; it is that of FedProx, exact. Dotted: the mean of the "
        f"clients' own optima, to which FedAvg tends as $H \\to \\infty$ and exact FedProx as $\\mu \\to 0$. "
        f"Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=5.4)
    for panel, (methods, parameters, ran, all_ends) in zip(panels, drawn, strict=True):
        panel.axhline(
            drift_of(task.client_optima.mean(axis=0), task), color=style.BLACK, linestyle=":", linewidth=1,
            gid="mean of optima",
        )  # fmt: skip
        for method, ends in zip(methods, all_ends, strict=True):
            _draw_method(panel, method, parameters, closed(method, task, parameters), ran, ends)
        panel.set_xscale("log")
        panel.set_ylim(0, None)
        panel.minorticks_off()
    left, right = panels
    left.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    right.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    distance = "distance of the fixed point to the optimum"
    style.label_axes(left, "a  Local steps", "local steps $H$", distance)
    style.label_axes(right, "b  Proximal strength", r"proximal strength $\mu$", distance)
    named: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.legend(
        list(named.values()), list(named), loc="outside upper left", ncols=4, fontsize=8, frameon=False
    )
    return style.settled(figure)


def _power(value: float) -> str:
    """Write a small number as the power of ten above it."""
    return f"$10^{{{math.ceil(math.log10(value))}}}$" if value > 0 else "0"


def _draw_method(
    panel: Axes,
    method: Method,
    parameters: np.ndarray,
    drifts: np.ndarray,
    ran: tuple[float, ...],
    ends: np.ndarray,
) -> None:
    """Draw a closed form as a line and the ends of runs as marks on it."""
    colour, marker = method.look
    panel.plot(parameters, drifts, color=colour, linewidth=1.3, label="_", gid=f"closed {method.name}")
    panel.plot(
        ran, ends, color=colour, marker=marker, markersize=5.5, linestyle="none", label=method.name,
        gid=f"runs {method.name}", clip_on=False, zorder=4 if marker == "x" else 3,
    )  # fmt: skip


FIGURE = Illustration(
    "drift",
    "Where every algorithm rests, away from the optimum of the mean loss",
    draw,
    ("baselines/fedavg-optimum", "baselines/fedavg", "cfl-mgd/model-averaging-drift"),
)
