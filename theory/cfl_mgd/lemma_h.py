"""Lemma H: how momentum carries the error from its start, per curvature."""

from __future__ import annotations

import math

import numpy as np

from algorithms import CFLMGD, InvalidArgument, Trace
from synthetic import Mixture
from theory.claim import Context, TraceBound, register
from theory.heavy_ball import propagators, start_envelope
from theory.verdict import Finding, Kind


def lemma_h_bound(curvature: float, momentum: float, rounds: int) -> np.ndarray:
    """The case of Lemma H that a curvature falls into, (T + 1,)."""
    q = math.sqrt(momentum)
    times = np.arange(rounds + 1)
    if curvature < (1 - q) ** 2:
        return np.asarray((1 - curvature) ** times)
    if curvature <= 1 - momentum:
        return np.asarray(q**times * (1 + (1 - q) * times))
    return np.asarray(q**times / math.sqrt(1 - momentum / 4))


def bound_trace(task: Mixture, trace: Trace) -> TraceBound:
    """Bound every round of a noise-free quadratic run by the envelope times the start.

    Raises
    ------
    InvalidArgument
        If the task is not a noise-free quadratic or the run is not option I with step at most 1/L.
    """
    parameters = dict(trace.settings["algorithm"])
    name = parameters.pop("algorithm")
    quadratic = task.settings["task"] == "quadratic" or (
        task.settings["task"] == "regression" and task.settings["data"] == "population"
    )
    plain = name == CFLMGD.name and CFLMGD(**{**parameters, "clusters": None}) == CFLMGD(
        step_size=parameters["step_size"], momentum=parameters["momentum"]
    )
    if not (quadratic and plain) or parameters["step_size"] * task.smoothness > 1 + 1e-12:
        raise InvalidArgument(
            "trace",
            f"{name} on {task.settings['task']}",
            "must be option I on a noise-free quadratic with step_size at most 1/L",
            "run such a task",
        )
    errors = np.asarray(trace.errors)
    envelope = np.stack(
        [
            start_envelope(
                parameters["step_size"] * proportion * task.strong_convexity,
                min(1.0, parameters["step_size"] * proportion * task.smoothness),
                parameters["momentum"],
                trace.rounds,
            )
            for proportion in task.proportions
        ],
        axis=-1,
    )
    if errors.ndim == 3:
        envelope = envelope[:, None, :]
    return TraceBound(envelope * errors[0])


@register("cfl-mgd/lemma-h", label="Lemma H (ours)", kind="tight", bound_trace=bound_trace)
def lemma_h(context: Context) -> Finding:
    """Noise-free, |e_t| <= |Pi_t(a)| |e_0| with three closed bounds on Pi_t; the ball may be left.

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
        Ours (audit of CFL-MGD, section 3); replaces the contraction of Lemma 2. Tight: attained
        in each case.

    Checked
        On random and extreme (a, beta), every round up to 300, against the recursion.
    """
    stream = context.generator("pairs")
    trials = context.number_of_trials(3000)
    worst, place, failures = math.inf, None, 0
    for _ in range(trials):
        momentum = float(stream.choice([0.0, stream.uniform(0, 1), 1 - 10 ** stream.uniform(-4, -1)]))
        edge = stream.choice([(1 - math.sqrt(momentum)) ** 2, 1 - momentum, 1.0, stream.uniform(0, 1)])
        curvature = float(np.clip(edge * stream.choice([1.0, stream.uniform(0.9, 1.1)]), 1e-4, 1.0))
        response = np.abs(propagators(curvature, momentum, 300)[0])
        bound = lemma_h_bound(curvature, momentum, 300)
        failures += int((response > bound * (1 + 1e-9) + 1e-13).any())
        ratios = np.where(response[1:] > 1e-12, bound[1:] / np.maximum(response[1:], 1e-12), np.inf)
        if ratios.min() < worst:
            worst = float(ratios.min())
            place = {"curvature": curvature, "momentum": momentum, "round": int(ratios.argmin()) + 1}
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {trials} pairs (a, beta) break a case within 300 rounds; "
        f"smallest bound / |Pi_t| after the start is {worst:.6g}",
        slack=worst,
        trials=trials,
        failures=failures,
        counterexample=place if failures else None,
    )
