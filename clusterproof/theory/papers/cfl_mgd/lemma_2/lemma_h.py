"""Lemma H: how momentum carries the error from its start, per curvature."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.claims import Sides, at_most, claim, reals, suppose
from clusterproof.theory.exact.heavy_ball import propagators, start_envelope
from clusterproof.theory.runs.trace_bound import TraceBound

ROUNDS = 300


def lemma_h_bound(curvature: float, momentum: float, rounds: int) -> np.ndarray:
    """The case of Lemma H that a curvature falls into, (T + 1,)."""
    q = math.sqrt(momentum)
    times = np.arange(rounds + 1)
    if curvature < (1 - q) ** 2:
        return np.asarray((1 - curvature) ** times)
    if curvature <= 1 - momentum:
        return np.asarray(q**times * (1 + (1 - q) * times))
    return np.asarray(q**times / math.sqrt(1 - momentum / 4))


def bound_trace(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound every round of a noise-free quadratic run by the envelope times the start, with probability 1.

    Raises
    ------
    InvalidArgument
        If the task is not a noise-free quadratic, the run is not option I with step at most 1/L, or a client chose
        another model than that of its own cluster.
    """
    quadratic = task.settings["task"] == "quadratic" or (
        task.settings["task"] == "regression" and task.settings["data"] == "population"
    )
    algorithm = dynamics_of(trace)
    plain = isinstance(algorithm, CFLMGD) and replace(algorithm, clusters=None) == CFLMGD(
        step_size=algorithm.step_size, momentum=algorithm.momentum
    )
    if (
        not (quadratic and isinstance(algorithm, CFLMGD) and plain)
        or algorithm.step_size * task.smoothness > 1 + 1e-12
    ):
        raise InvalidArgument(
            "trace",
            f"{algorithm.name} on {task.settings['task']}",
            "must be option I on a noise-free quadratic with step_size at most 1/L",
            "run such a task",
        )
    misassigned = np.argwhere(trace.assignments != trace.labels)
    if len(misassigned):
        raise InvalidArgument(
            "trace",
            f"client {misassigned[0][-1]} with another cluster's model in round {misassigned[0][0] + 1}",
            "must have every client with its own cluster's model, in every round",
            "start nearer to the optima",
        )
    errors = np.asarray(trace.errors)
    envelope = np.stack(
        [
            start_envelope(
                algorithm.step_size * proportion * task.strong_convexity,
                min(1.0, algorithm.step_size * proportion * task.smoothness),
                algorithm.momentum,
                trace.rounds,
            )
            for proportion in task.proportions
        ],
        axis=-1,
    )
    if errors.ndim == 3:
        envelope = envelope[:, None, :]
    return TraceBound(envelope * errors[0])


def extreme_pairs() -> list[dict[str, float]]:
    """(a, beta) at and near the places where one case of the lemma follows another."""
    return [
        {"curvature": min(1.0, edge * near), "momentum": momentum}
        for momentum in (0.0, 0.25, 0.81, 0.99, 0.9999)
        for edge in ((1 - math.sqrt(momentum)) ** 2, 1 - momentum, 1.0)
        for near in (0.97, 1.0, 1.03)
        if edge > 0
    ]


@claim(
    "cfl-mgd/lemma-h",
    label="Lemma H",
    judges="ours",
    bound=bound_trace,
    tight=True,
    evaluations=1000,
    example=extreme_pairs(),
)
def lemma_h(curvature: Annotated[float, reals(0, 1)], momentum: Annotated[float, reals(0, 1)]) -> Sides:
    """Without noise |e_t| <= |Pi_t(a)| |e_0|, with three bounds on Pi_t in closed form; models may leave the ball.

    Hypotheses
        0 < a <= 1, 0 <= beta < 1, e_(t+1) = (1 + beta - a) e_t - beta e_(t-1), e_(-1) = e_0,
        q = sqrt(beta).

    Statement
        (i) a < (1 - q)^2: 0 < Pi_t <= (1 - a)^t, decreasing in a. (ii) (1 - q)^2 <= a <= 1 - beta:
        |Pi_t| <= q^t (1 + (1 - q) t) <= 1. (iii) a >= 1 - beta: |Pi_t| <= q^t / sqrt(1 - beta/4),
        at most 2/sqrt(3): momentum can carry the error out of the ball that it started in.

    Proof
        (i) The ratio e_(t+1) / e_t starts at 1 - a and decreases to r(a). (ii) Pi_t =
        q^t [T_t(x) + (x - q) U_(t-1)(x)] with q <= x <= 1. (iii) W_t = e_t^2 - (1 + beta - a)
        e_t e_(t-1) + beta e_(t-1)^2 obeys W_(t+1) = beta W_t, W_0 = a e_0^2, and
        W_t >= e_t^2 [a - (1 - beta - a)^2 / 4 beta].

    Symbols
        a = eta l_p lambda, beta ``momentum``.

    Source
        Ours; replaces the contraction of Lemma 2. Tight: attained
        in each case.
    """
    suppose("0 < a", curvature > 0)
    suppose("beta < 1", momentum < 1)
    response = np.abs(propagators(curvature, momentum, ROUNDS)[0])
    # at the start both are 1
    return at_most(response[1:], envelope=lemma_h_bound(curvature, momentum, ROUNDS)[1:])
