"""(3), (4) and (7): momentum on the gradients, and two forms of momentum descent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from algorithms import CFLMGD, run
from algorithms.aggregation import local_momentum_descent
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind

STEPS = 12
TOLERANCE = 1e-10


def random_clients(stream: np.random.Generator) -> tuple[QuadraticMixture, float, float]:
    """Draw three scattered quadratic clients of one cluster, a step size and a momentum."""
    dimension = int(stream.integers(1, 6))
    task = QuadraticMixture.random(
        clusters=1, clients=3, dimension=dimension, condition_number=1.0 + 9.0 * (dimension > 1), spread=1.0,
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    return task, float(stream.uniform(0.05, 1.0)), float(stream.uniform(0.0, 0.95))


def largest(context: Context, distance: Callable[[np.random.Generator], float], what: str) -> Finding:
    """Judge an identity by its largest discrepancy over random tasks."""
    stream = context.generator("tasks")
    trials = context.number_of_trials(200)
    distances = [distance(stream) for _ in range(trials)]
    failures = sum(not distance <= TOLERANCE for distance in distances)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest {what} over {trials} tasks",
        measured=max(distances),
        bound=TOLERANCE,
        trials=trials,
        failures=failures,
    )


def gradient_momentum(stream: np.random.Generator) -> float:
    """Largest distance of the moves of option I from (eta/m) sum u_i with u_i by (3)."""
    task, step, momentum = random_clients(stream)
    algorithm = CFLMGD(step_size=step, momentum=momentum, momentum_owner="client")
    models = run(algorithm, task, rounds=STEPS, initial=stream.standard_normal((1, task.dimension))).models
    buffers = np.zeros((3, task.dimension))
    worst = 0.0
    for before, after in zip(models[:-1, 0], models[1:, 0], strict=True):
        for client in range(3):
            gradient = task.hessians[client] @ (before - task.centers[client])
            buffers[client] = momentum * buffers[client] + gradient
        worst = max(worst, float(np.abs(before - step / 3 * buffers.sum(axis=0) - after).max()))
    return worst


@register("cfl-mgd/equation-3", label="(3)", kind="definition")
def equation_3(context: Context) -> Finding:
    """Under gradient averaging a client's momentum is beta times the old one plus its gradient.

    Hypotheses
        u_i^0 = 0; the gradient is at the model that the round broadcast, as (4), (9) and (32).

    Statement
        u_i^t = beta u_i^(t-1) + grad phi_i(chi_p^(t-1)).

    Symbols
        beta ``momentum``, u the momentum buffer.

    Source
        Zhao et al. (2023), (3). Definition. Line 8 of Algorithm 1, in its order, says another
        thing: ``cfl-mgd/algorithm-line-8``.

    Checked
        Option I with a buffer a client against plain loops over (3), every move of the model at
        every round, on random quadratics with scattered clients.
    """
    return largest(context, gradient_momentum, "distance of a move from (eta/m) sum u_i with u_i by (3)")


def paths(stream: np.random.Generator, *, zero_buffer: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Models (steps, 3, d) as the algorithms run local momentum descent, by (4), and by (7)."""
    task, step, momentum = random_clients(stream)
    clients = np.arange(3)
    start = stream.standard_normal((3, task.dimension))
    buffers = np.zeros_like(start) if zero_buffer else np.ones_like(start)
    points, pairs = start, [(start[k], buffers[k]) for k in range(3)]
    before, now = start, start
    run_path, buffer_path, single_path = [], [], []
    for _ in range(STEPS):
        points, buffers = local_momentum_descent(
            task, points, buffers, clients, stream, step_size=step, momentum=momentum, local_steps=1
        )
        for k, (chi, u) in enumerate(pairs):
            following = momentum * u + task.hessians[k] @ (chi - task.centers[k])
            pairs[k] = (chi - step * following, following)
        gradient = task.gradients(now, clients, stream)
        before, now = now, now - step * gradient + momentum * (now - before)
        run_path.append(points)
        buffer_path.append(np.stack([chi for chi, _ in pairs]))
        single_path.append(now)
    return np.stack(run_path), np.stack(buffer_path), np.stack(single_path)


@register("cfl-mgd/equation-4", label="(4)", kind="definition")
def equation_4(context: Context) -> Finding:
    """Under model averaging every client runs momentum descent, buffer first and model second.

    Hypotheses
        None: it is a definition. Line 20 of Algorithm 1 prints the other order.

    Statement
        u_i^t = beta u_i^(t-1) + grad phi_i(chi_i^(t-1)), chi_i^t = chi_i^(t-1) - eta u_i^t.

    Symbols
        eta ``step_size``, beta ``momentum``, u the momentum buffer.

    Source
        Zhao et al. (2023), (4). Definition.

    Checked
        The algorithms' own local update against plain loops over (4), at every step.
    """

    def distance(stream: np.random.Generator) -> float:
        algorithm, buffer, _ = paths(stream, zero_buffer=True)
        return float(np.abs(algorithm - buffer).max())

    return largest(context, distance, "distance of the local update from (4)")


@register("cfl-mgd/equation-7", label="(7)", kind="identity")
def equation_7(context: Context) -> Finding:
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

    def distance(stream: np.random.Generator) -> float:
        algorithm, _, single = paths(stream, zero_buffer=True)
        return float(np.abs(algorithm - single).max())

    algorithm, _, single = paths(context.generator("foreign buffer"), zero_buffer=False)
    foreign = float(np.abs(algorithm - single).max())
    return largest(
        context, distance, f"distance of (4) from (7); with u^0 = 1 it is {foreign:.2g}, at u^0 = 0"
    )
