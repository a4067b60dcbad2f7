"""The division by m in (5) and (9)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind


@lru_cache
def rounds_to(tolerance: float, clusters: int, normalisation: str, condition_number: float) -> int:
    """Rounds without momentum until every error is below a fraction of its start.

    The task has ``clusters`` equal clusters, and models start along the flattest direction.
    """
    spectrum = np.diag([1 / condition_number, 1.0])
    centers = np.arange(clusters)[:, None] * np.array([0.0, 4.0])
    task = QuadraticMixture(
        hessians=np.broadcast_to(spectrum, (clusters, 2, 2)), centers=centers, labels=np.arange(clusters)
    )
    initial = task.optima + np.array([0.1, 0.0])
    algorithm = CFLMGD(step_size=1.0, momentum=0.0, normalisation=normalisation)
    errors = np.asarray(run(algorithm, task, rounds=1500, initial=initial).errors).max(axis=-1)
    return int(np.argmax(errors <= tolerance * errors[0]))


@register("cfl-mgd/division-by-clients", label="(5), (9)", kind="identity")
def division_by_clients(context: Context) -> Finding:
    """Dividing by all clients makes the step of cluster p equal to eta l_p.

    Hypotheses
        Option I, every client in its own cluster, no noise.

    Statement
        chi_p - (eta/m) sum_(i in C_p) g_i = chi_p - eta l_p grad phi_p(chi_p): the run with step eta
        divided by m is the run with step eta l_p divided by |C_p|. Without momentum the rounds to a
        given accuracy grow as 1 / l_p.

    Symbols
        l_p ``proportions``, m ``clients``; ``normalisation="clients"`` and ``"cluster"``.

    Source
        Zhao et al. (2023), (5), (9) and line 15; the paper calls eta = 1/L its step. Identity.

    Checked
        Both runs at every round on random quadratics with equal clusters; and rounds to 10^-6 at
        kappa = 10 for P = 2, 4, 10 against division by |C_p|.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    worst = 0.0
    for _ in range(trials):
        clusters = int(stream.integers(2, 5))
        task = QuadraticMixture.random(
            clusters=clusters, clients=3 * clusters, dimension=3, condition_number=5.0,
            seed=int(stream.integers(2**31)),
        )  # fmt: skip
        initial = task.initial_models(clusters, (), stream)
        momentum = float(stream.uniform(0, 0.9))
        by_clients = CFLMGD(step_size=1.0, momentum=momentum)
        by_cluster = CFLMGD(step_size=1.0 / clusters, momentum=momentum, normalisation="cluster")
        models = [run(one, task, rounds=30, initial=initial).models for one in (by_clients, by_cluster)]
        worst = max(worst, float(np.abs(models[0] - models[1]).max()))
    failures = int(worst > 1e-10)
    counts = [rounds_to(1e-6, clusters, "clients", 10.0) for clusters in (2, 4, 10)]
    reference = rounds_to(1e-6, 2, "cluster", 10.0)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest distance of the two runs over {trials} tasks; at kappa = 10 without momentum "
        f"{', '.join(map(str, counts))} rounds to 10^-6 for P = 2, 4, 10 against {reference} with 1/|C_p|",
        measured=worst,
        bound=1e-10,
        trials=trials,
        failures=failures,
    )
