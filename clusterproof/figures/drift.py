"""Distance of each algorithm's fixed point from the optimum of the mean loss: closed forms and runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, Algorithm, FedAvg, FedBCD, FedProx, PerFedAvg, generator, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.exact import affine_rounds

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 3
CONDITION_NUMBER, SEPARATION = 5.0, 2.0
STEP_SIZE, INNER_STEP_SIZE, PROXIMAL, LOCAL_STEPS = 0.1, 0.5, 1.0, 8
MOMENTA = {0.0: (style.SKY, "x"), 0.5: (style.BLUE, "P"), 0.9: (style.VERMILLION, "s")}
STEPS = np.arange(1, 65)
STEPS_RUN = (1, 4, 12, 32, 64)
STRENGTHS = np.geomspace(0.1, 5.0, 101)
STRENGTHS_RUN = (0.1, 0.7, 5.0)
TIME_CONSTANTS = 20
"""Runs last until the slowest part has decayed by exp(-20) or more."""


class Method(NamedTuple):
    """A curve: a fixed point and a run as functions of one parameter, passed by name."""

    name: str
    fixed_point: Callable[..., Any]
    """Of hessians (m, d, d), centres (m, d) and the parameter; returns (d,), alone or first of all."""
    algorithm: Callable[..., Algorithm[Any]]
    rounds: Callable[[float], int]
    """Rounds of a run, from the parameter."""
    look: tuple[str, str]
    """Colour and marker."""


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
    """Return the rounds after which gradient steps at curvature mu have decayed, at least 100."""
    return max(100, math.ceil(TIME_CONSTANTS * CONDITION_NUMBER / (STEP_SIZE * local_steps) * 1.2))


def _steps_to_solve(proximal: float) -> int:
    """Return the local steps that count as an exact solution."""
    return math.ceil(TIME_CONSTANTS / (STEP_SIZE * (1 / CONDITION_NUMBER + proximal)))


def _rounds_to_rest(proximal: float) -> int:
    """Return the rounds of exact proximal steps after which w has decayed."""
    return max(30, math.ceil(TIME_CONSTANTS * (1 + proximal * CONDITION_NUMBER)))


def by_local_steps() -> list[Method]:
    """Return the curves over local steps H."""
    step: dict[str, Any] = {"step_size": STEP_SIZE}
    inner, proximal = {**step, "inner_step_size": INNER_STEP_SIZE}, {**step, "proximal": PROXIMAL}
    methods = [
        Method(
            "FedAvg",
            partial(affine_rounds.fedavg_rest, **step),
            partial(FedAvg, **step),
            _rounds_of_steps,
            (style.BLACK, "o"),
        ),
        Method(
            "FedProx, inexact",
            partial(affine_rounds.fedprox_rest, **proximal),
            partial(FedProx, **proximal),
            lambda steps: max(_rounds_of_steps(steps), _rounds_to_rest(PROXIMAL)),
            (style.GREEN, "^"),
        ),
    ]
    for name, gradient, look in (
        ("Per-FedAvg, HF", "second-order", (style.PURPLE, "D")),
        ("Per-FedAvg, FO", "first-order", (style.ORANGE, "v")),
    ):
        point = partial(affine_rounds.per_fedavg_rest, **inner, second_order=gradient == "second-order")
        personal = partial(PerFedAvg, **inner, gradient=gradient)
        methods.append(Method(name, point, personal, _rounds_of_steps, look))
    for momentum, look in MOMENTA.items():
        heavy = {**step, "momentum": momentum}
        averaged = partial(CFLMGD, **heavy, clusters=1, averaging="model")
        name, limit = rf"CFL-MGD II, $\beta = {momentum:g}$", partial(affine_rounds.cfl_mgd_rest, **heavy)
        methods.append(Method(name, limit, averaged, _rounds_of_steps, look))
    return methods


def by_strength() -> list[Method]:
    """Return the curves over proximal strength mu."""
    step: dict[str, Any] = {"step_size": STEP_SIZE}
    inexact = {**step, "local_steps": LOCAL_STEPS}
    return [
        Method(
            "FedProx, exact",
            affine_rounds.fedprox_rest,
            lambda proximal: FedProx(**step, proximal=proximal, local_steps=_steps_to_solve(proximal)),
            _rounds_to_rest,
            (style.BLUE, "s"),
        ),
        Method(
            "FedBCD",
            affine_rounds.fedbcd_rest,
            partial(FedBCD, **inexact),
            lambda proximal: 3 * _rounds_to_rest(proximal) + _rounds_of_steps(LOCAL_STEPS),
            (style.VERMILLION, "x"),
        ),
        Method(
            "FedProx, inexact",
            partial(affine_rounds.fedprox_rest, **inexact),
            partial(FedProx, **inexact),
            lambda proximal: max(_rounds_to_rest(proximal), _rounds_of_steps(LOCAL_STEPS)),
            (style.GREEN, "^"),
        ),
    ]


def drift_of(point: np.ndarray, task: RegressionMixture) -> float:
    """Return the distance of a model (d,) to the minimiser of the mean loss."""
    return float(np.linalg.norm(point - task.pooled_optimum))


def closed(method: Method, task: RegressionMixture, name: str, parameters: Iterable[Any]) -> np.ndarray:
    """Drift of the closed form at each value of the parameter of a name."""
    clients = task.covariances.matrices[task.labels], task.client_optima
    points = [method.fixed_point(*clients, **{name: parameter}) for parameter in parameters]
    return np.array([drift_of(point[0] if isinstance(point, tuple) else point, task) for point in points])


def endpoints(method: Method, task: RegressionMixture, name: str, parameters: Iterable[Any]) -> np.ndarray:
    """Drift at the end of a run from zero at each value of the parameter of a name."""
    start = np.zeros((1, task.dimension))
    traces = [
        run(method.algorithm(**{name: parameter}), task, rounds=method.rounds(parameter), initial=start)
        for parameter in parameters
    ]
    return np.array([drift_of(trace.models[-1, 0], task) for trace in traces])


def draw(seed: int) -> style.Figure:
    """Draw the drift over local steps, and over the proximal strength."""
    task = make_task(seed)
    sweeps: tuple[Any, ...] = (
        ("local_steps", by_local_steps(), STEPS.tolist(), STEPS_RUN),
        ("proximal", by_strength(), STRENGTHS.tolist(), STRENGTHS_RUN),
    )
    ends = {
        (name, method.name): endpoints(method, task, name, ran)
        for name, methods, _, ran in sweeps
        for method in methods
    }
    gap = max(
        float(np.abs(closed(method, task, name, ran) - ends[name, method.name]).max())
        for name, methods, _, ran in sweeps
        for method in methods
    )
    caption = (
        f"Distance to the minimiser of the mean loss of {CLIENTS} clients that share one model: expected losses "
        f"of a Gaussian regression mixture, $P = {CLUSTERS}$, $d = {DIMENSION}$, $\\kappa = "
        f"{CONDITION_NUMBER:g}$, $L = 1$, $\\Delta = {SEPARATION:g}$, covariances turned at random. "
        f"Lines: fixed points in closed form; marks: ends of runs from 0, at most {style.power_of_ten(gap)} off. Step "
        f"$\\eta = {STEP_SIZE:g}$. a: FedProx with $\\mu = {PROXIMAL:g}$, Per-FedAvg with $\\alpha = "
        f"{INNER_STEP_SIZE:g}$ (it aims elsewhere: at a model that is good after one step), CFL-MGD II in one "
        f"cluster; with $\\beta = 0$ it is FedAvg. b: FedProx, inexact, and FedBCD with $H = {LOCAL_STEPS}$ "
        f"steps, of which FedBCD's point is independent; it is that of FedProx, exact. Dotted: the mean of the "
        f"clients' own optima, to which FedAvg tends as $H \\to \\infty$ and exact FedProx as $\\mu \\to 0$. "
        f"Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=5.4)
    for panel, (name, methods, parameters, ran) in zip(panels, sweeps, strict=True):
        panel.axhline(drift_of(task.client_optima.mean(axis=0), task), **style.LEVEL, gid="mean of optima")
        for method in methods:
            colour, marker = method.look
            mark: style.Look = {"color": colour, "marker": marker, "markersize": 5.5, "clip_on": False}
            drifts, measured = closed(method, task, name, parameters), ends[name, method.name]
            panel.plot(parameters, drifts, color=colour, label="_", gid=f"closed {method.name}")
            panel.plot(ran, measured, **mark, linestyle="none", label=method.name, gid=f"runs {method.name}")
        panel.set_xscale("log")
        panel.set_ylim(0, None)
    left, right = panels
    style.set_ticks(left, x=[1, 2, 4, 8, 16, 32, 64])
    style.set_ticks(right, x=[0.1, 0.3, 1, 3])
    distance = "distance of the fixed point to the optimum"
    style.label_axes(left, "a  Local steps", "local steps $H$", distance)
    style.label_axes(right, "b  Proximal strength", r"proximal strength $\mu$", distance)
    style.add_legend(panels, 4)
    return figure


FIGURE = Illustration(
    "drift",
    "Where every algorithm rests, away from the optimum of the mean loss",
    draw,
    ("baselines/fedavg-optimum", "baselines/fedavg", "cfl-mgd/model-averaging-drift"),
)
