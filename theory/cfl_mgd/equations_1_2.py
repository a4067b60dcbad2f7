"""(1) and (2): what is minimised, as printed and as meant."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synthetic import QuadraticMixture, RegressionMixture, direct_simulation
from theory.claim import Context, register
from theory.random_tasks import random_regression
from theory.verdict import Finding, Kind


def printed_weight(clients: int, clusters: int) -> Fraction:
    """Factor of (1) over the mean loss of a cluster: |D_p| / |D| times |C*_p|, equal clusters."""
    return Fraction(1, clusters) * Fraction(clients, clusters)


@register("cfl-mgd/equation-1", label="(1)", kind="definition", repaired_by="cfl-mgd/equation-1-mean")
def equation_1(context: Context) -> Finding:
    """The cluster's loss is |D_p| / |D| times the sum of its clients' losses.

    Hypotheses
        None: it is a definition.

    Statement
        phi_p(chi) = (|D_p| / |D|) sum_(i in C*_p) phi_i(chi).

    Symbols
        |D_p| / |D| the share of the data that cluster p owns, C*_p its clients.

    Source
        Zhao et al. (2023), (1). Definition. Assumptions 1-3 and (26) speak of another phi_p, the
        expectation over D_p; read so: ``cfl-mgd/equation-1-mean``.

    Checked
        A weighted mean would need the share of each client, not of the cluster. On equal clusters
        the printed phi_p is m / P^2 times the expected loss, in rational arithmetic: same
        minimiser, other L and mu, so that eta = 1/L is another step.
    """
    factors = {(m, p): printed_weight(m, p) for p in (2, 3, 4) for m in (p, 10 * p // 2, 10 * p)}
    example = printed_weight(10, 2)
    differs = any(factor != 1 for factor in factors.values())
    return Finding(
        verdict=Kind.ILL_POSED if differs else Kind.CONSISTENT,
        reason=f"phi_p has two definitions: with m = 10 and two equal clusters (1) is {float(example):g} times the "
        f"expected loss of Assumptions 1-3; over m and P the factor runs from {float(min(factors.values())):.3g} to "
        f"{float(max(factors.values())):.3g}",
        measured=float(example),
        bound=1.0,
    )


@register("cfl-mgd/equation-1-mean", label="(1), as meant", kind="identity")
def equation_1_mean(context: Context) -> Finding:
    """With the mean over the cluster's clients, (1) is the expected loss of the assumptions.

    Hypotheses
        Equal amounts of data a client.

    Statement
        phi_p(chi) = (1 / |C*_p|) sum_(i in C*_p) phi_i(chi) has the gradient that vanishes at chi*_p
        and the curvature between mu and L that the assumptions speak of.

    Symbols
        chi*_p ``optima``, L ``smoothness``, mu ``strong_convexity``.

    Source
        Ours on Zhao et al. (2023), (1). Identity.

    Checked
        On random quadratics, a Hessian and a centre for each client: the mean of the clients'
        gradients, summed one by one, against the task's expected gradient, which is zero at the
        optimum and whose Rayleigh quotients lie in [mu, L].
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(100)
    worst, failures = 0.0, 0
    for _ in range(trials):
        clients, dimension = int(stream.integers(4, 12)), int(stream.integers(1, 5))
        roots = stream.standard_normal((clients, dimension, dimension))
        hessians = roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(dimension)
        hessians = (hessians + np.swapaxes(hessians, -1, -2)) / 2
        labels = np.sort(np.concatenate([[0, 1], stream.integers(0, 2, clients - 2)]))
        task = QuadraticMixture(
            hessians=hessians, centers=stream.standard_normal((clients, dimension)), labels=labels
        )
        for cluster in (0, 1):
            optimum = task.optima[cluster]
            direction = stream.standard_normal(dimension)
            mean = np.zeros(dimension)
            own = np.flatnonzero(labels == cluster)
            for client in own:
                mean += hessians[client] @ (optimum + direction - task.centers[client]) / len(own)
            gap = float(np.abs(mean - task.expected_gradient(optimum + direction, cluster)).max())
            quotient = float(mean @ direction / (direction @ direction))
            inside = task.strong_convexity - 1e-9 <= quotient <= task.smoothness + 1e-9
            worst = max(worst, gap)
            failures += not (gap <= 1e-9 and inside)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference of the mean of the clients' gradients from grad phi_p over {trials} tasks",
        measured=worst,
        bound=1e-9,
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/equation-2", label="(2)", kind="definition", repaired_by="cfl-mgd/equation-2-scalar")
def equation_2(context: Context) -> Finding:
    """A client's loss is the mean of f(chi; y), which takes values in R^d.

    Hypotheses
        None: it is a definition.

    Statement
        phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y), f(.; y): chi -> R^d.

    Symbols
        Y the client's rows, d the number of parameters.

    Source
        Zhao et al. (2023), (2) and the line after it. Definition; R is meant:
        ``cfl-mgd/equation-2-scalar``.

    Checked
        (8) takes the smallest loss and (4) a gradient of chi's shape. With d = 2 and the squared
        error of each coordinate, neither of two random models has the smaller loss in about half
        of the cases.
    """
    stream = context.generator("models")
    trials = context.number_of_trials(2000)
    models, center = stream.standard_normal((trials, 2, 2)), stream.standard_normal((trials, 1, 2))
    losses = 0.5 * (models - center) ** 2
    comparable = (losses[:, 0] <= losses[:, 1]).all(axis=-1) | (losses[:, 1] <= losses[:, 0]).all(axis=-1)
    without_smallest = int((~comparable).sum())
    return Finding(
        verdict=Kind.ILL_POSED if without_smallest else Kind.CONSISTENT,
        reason=f"(8) needs a smallest loss: with values in R^2 neither of two models has it in {without_smallest} of "
        f"{trials} cases, and a gradient would be a d x d matrix; R is meant",
        measured=without_smallest / trials,
        bound=0.0,
        trials=trials,
    )


def by_rows(task: RegressionMixture, models: np.ndarray, stream: np.random.Generator) -> float:
    """Largest relative difference of the losses that the tasks use from a plain sum over rows."""
    labels = np.zeros(2, dtype=int)
    features, errors = direct_simulation.draw_data(labels, task.covariances, task.noise, task.samples, stream)
    optima = task.optima[labels]
    losses = direct_simulation.losses(models, optima, features, errors)
    worst = 0.0
    for client in range(2):
        for number, model in enumerate(models):
            total = 0.0
            for x, error in zip(features[client], errors[client], strict=True):
                total += 0.5 * (float(x @ optima[client]) + float(error) - float(x @ model)) ** 2
            mean = total / task.samples
            worst = max(worst, abs(mean - float(losses[client, number])) / (1 + mean))
    return worst


@register("cfl-mgd/equation-2-scalar", label="(2), as meant", kind="identity")
def equation_2_scalar(context: Context) -> Finding:
    """A client's loss is the mean of the scalar losses of its rows.

    Hypotheses
        f(.; y): R^d -> R.

    Statement
        phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y).

    Symbols
        |Y| = n' ``samples``.

    Source
        Zhao et al. (2023), (2) with R for R^d. Identity.

    Checked
        The losses that our regression tasks compute from drawn rows, against a sum row by row.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(30)
    distances = []
    for _ in range(trials):
        task = random_regression(stream)
        task = RegressionMixture(
            optima=task.optima, covariance=task.covariances.matrices, noise=task.noise, labels=task.labels,
            samples=min(task.samples, 40),
        )  # fmt: skip
        distances.append(by_rows(task, task.optima + stream.standard_normal(task.optima.shape), stream))
    failures = sum(distance > 1e-10 for distance in distances)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest relative difference of the tasks' losses from a sum over rows, {trials} regressions",
        measured=max(distances),
        bound=1e-10,
        trials=trials,
        failures=failures,
    )
