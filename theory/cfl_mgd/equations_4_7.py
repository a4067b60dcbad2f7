"""(4) and (7): two forms of momentum descent."""

from __future__ import annotations

import numpy as np

from algorithms.aggregation import local_momentum_descent
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind


def discrepancy(stream: np.random.Generator, *, zero_buffer: bool) -> float:
    """Largest distance over 12 steps of (4), as the algorithms run it, from (7) on a random task."""
    dimension = int(stream.integers(1, 6))
    task = QuadraticMixture.random(
        clusters=1, clients=3, dimension=dimension, condition_number=1.0 + 9.0 * (dimension > 1), spread=1.0,
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    clients = np.arange(3)
    step, momentum = stream.uniform(0.05, 1.0), stream.uniform(0.0, 0.95)
    start = stream.standard_normal((3, dimension))
    buffers = np.zeros_like(start) if zero_buffer else np.ones_like(start)
    before, now = start, start
    worst = 0.0
    points = start
    for _ in range(12):
        points, buffers = local_momentum_descent(
            task, points, buffers, clients, stream, step_size=step, momentum=momentum, local_steps=1
        )
        gradient = task.gradients(now, clients, stream)
        before, now = now, now - step * gradient + momentum * (now - before)
        worst = max(worst, float(np.abs(points - now).max()))
    return worst


@register("cfl-mgd/equations-4-7", label="(4), (7)", kind="identity")
def equations_4_7(context: Context) -> Finding:
    """The buffer form (4) and the single-variable form (7) of momentum descent are equal.

    Hypotheses
        chi^(-1) = chi^(0), and u^(0) = 0: the paper leaves the second unsaid here; with
        u^(0) = 1 the forms differ in the first step.

    Statement
        u^t = beta u^(t-1) + grad phi(chi^(t-1)), chi^t = chi^(t-1) - eta u^t gives the same chi
        as chi^t = chi^(t-1) - eta grad phi(chi^(t-1)) + beta (chi^(t-1) - chi^(t-2)).

    Symbols
        eta ``step_size``, beta ``momentum``, u the momentum buffer.

    Source
        Zhao et al. (2023), (4) and (7). Identity.

    Checked
        The algorithms' own local update against (7) on random quadratics, at every step.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(200)
    distances = [discrepancy(stream, zero_buffer=True) for _ in range(trials)]
    foreign = discrepancy(stream, zero_buffer=False)
    failures = sum(distance > 1e-10 for distance in distances)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest distance of the two forms over {trials} tasks; with u^0 = 1 it is {foreign:.2g}",
        measured=max(distances),
        bound=1e-10,
        trials=trials,
        failures=failures,
    )
