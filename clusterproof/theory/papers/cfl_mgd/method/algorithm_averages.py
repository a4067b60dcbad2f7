"""Lines 11, 12, 15 and 16 of Algorithm 1, and (5): the owner of the momentum, the average, the division by m."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, Stream, choice, claim, drawn, equal, rationals, reals, suppose
from clusterproof.theory.exact.prescribed_samples import READINGS
from clusterproof.theory.exact.rounding import share_of_largest
from clusterproof.theory.exact.scalar_clients import exact_run

CENTERS = (Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1))
STARTS = (Fraction(-1, 4), Fraction(-1))
"""With these the first client changes its cluster after round 1."""
Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]


def second_models(momentum: Fraction) -> list[Fraction]:
    """chi_1^(2) by the three readings of whose momentum it is."""
    return [
        exact_run(CENTERS, STARTS, momentum=momentum, rounds=2, reading=reading).models[2][0]
        for reading in READINGS
    ]


@claim(
    "cfl-mgd/algorithm-line-15-momentum-of-switchers",
    label="Algorithm 1, line 15",
    repaired_by="cfl-mgd/equation-32-fixed-clusters",
    ill_posed=True,
)
def algorithm_line_15_momentum_of_switchers(momentum: Momentum) -> Sides:
    """A client that changes its cluster brings its momentum along.

    Hypotheses
        Option I.

    Statement
        Line 15 sets u_i to the mean u_p of its cluster; (9) and (A19) keep each client's own; the second
        line of (32) is one momentum a cluster.

    Source
        Zhao et al. (2023), line 15, (9), (32) and (A19). Read: one momentum a cluster, owned by the
        server (R2); ``momentum_owner="client"`` is line 15 to the letter (R1).
    """
    line_15, separate, server = second_models(momentum)
    words = (
        f"clients at -1/2, 0, 1/2, 1, the first of which changes its cluster, beta = {momentum}: chi_1^(2) = {line_15} "
        f"with u_i = u_p (line 15), {separate} with each client's own (A19), {server} with one a cluster (32); read: "
        "the last"
    )
    return equal((line_15, separate), (separate, server), (line_15, server), words=words)


@claim(
    "cfl-mgd/algorithm-line-12-option-2-momentum",
    label="Algorithm 1, lines 11-12, 16",
    repaired_by="cfl-mgd/model-averaging-reset",
    ill_posed=True,
)
def algorithm_line_12_option_2_momentum(
    momentum: Annotated[float, choice(0.9)], local_steps: Annotated[int, choice(5)]
) -> Sides:
    """Local updates of option II start from the momentum of a cluster.

    Hypotheses
        Option II, H >= 2.

    Statement
        LocalUpdate(chi_p_hat^t, u_p^t, eta, H): the model has the index p_hat, the momentum p. Line 16
        averages u over the cluster; (10) does not.

    Source
        Zhao et al. (2023), lines 11, 12, 16 and (10). Read: u of the chosen cluster, averaged, as
        printed; ``reset_momentum`` starts from zero, which is always stable.
    """
    task = QuadraticMixture(
        hessians=np.array([[[0.01]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    passed_on, reset = (
        float(np.abs(run(algorithm, task, rounds=60, initial=np.array([[0.5]])).models[-1, 0, 0]))
        for algorithm in (
            CFLMGD(
                step_size=1.0,
                momentum=momentum,
                averaging="model",
                local_steps=local_steps,
                reset_momentum=reset,
            )
            for reset in (False, True)
        )
    )
    words = (
        f"lambda = (1/100, 1), beta = {momentum:g}, H = {local_steps}, 60 rounds from 1/2: |chi| = "
        f"{passed_on:.3g} when u is averaged and passed on, {reset:.3g} when a round starts from u = 0; read: as "
        "printed, reset_momentum being an option"
    )
    return equal((passed_on, reset), rounding=1.0, words=words)


def rest_point(copies: int) -> float:
    """Return the limit of option II with a client at 0 and another at 1, repeated ``copies`` times."""
    centers = np.array([0.0] + [1.0] * copies)[:, None]
    task = QuadraticMixture(
        hessians=np.ones((1 + copies, 1, 1)), centers=centers, labels=np.zeros(1 + copies, dtype=int)
    )
    algorithm = CFLMGD(step_size=0.5, momentum=0.0, averaging="model")
    return float(run(algorithm, task, rounds=80, initial=np.zeros((1, 1))).models[-1, 0, 0])


@claim(
    "cfl-mgd/algorithm-lines-15-16-weights",
    label="Algorithm 1, lines 15-16, weights",
    repaired_by="cfl-mgd/equation-1-mean",
    ill_posed=True,
)
def algorithm_lines_15_16_weights(rows: Annotated[int, choice(1, 3)]) -> Sides:
    """Clients with different amounts of data have the same weight.

    Hypotheses
        |D_i| differ from client to client.

    Statement
        (5), (6) and lines 15-16 average without weights, (1) weighs by |D_p| / |D|.

    Source
        Zhao et al. (2023), (1), (5), (6) and lines 15-16. Read: no weights, and equal |D_i| = n.
    """
    unweighted, weighted = rest_point(1), rest_point(rows)
    words = (
        f"clients at 0 and 1 with 1 and {rows} rows: the unweighted average rests at {unweighted:g}, the weighted at "
        f"{weighted:g}; read: unweighted, equal amounts of data"
    )
    return equal((unweighted, weighted), rounding=1e-9, words=words)


def equal_clusters(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two to four clusters of three clients each."""
    clusters = int(stream.integers(2, 5))
    return QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=3,
        condition_number=5.0,
        seed=int(stream.integers(2**31)),
    )


@claim("cfl-mgd/division-by-clients", label="(5), (9)", evaluations=60)
def division_by_clients(
    task: Annotated[QuadraticMixture, drawn(equal_clusters)],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    stream: Stream,
) -> Sides:
    """Dividing by all clients makes the step of cluster p equal to eta l_p.

    Hypotheses
        Option I, every client in its own cluster, no noise.

    Statement
        chi_p - (eta/m) sum_(i in C_p) g_i = chi_p - eta l_p grad phi_p(chi_p): the run with step eta divided by m is
        the run with step eta l_p divided by |C_p|. Without momentum the rounds to a given accuracy grow as 1 / l_p.

    Symbols
        l_p ``proportions``, m ``clients``; ``normalisation="clients"`` and ``"cluster"``.

    Source
        Zhao et al. (2023), (5), (9) and line 15; the paper calls eta = 1/L its step.
    """
    suppose("two clusters or more, of equal size", task.clusters > 1 and np.ptp(task.proportions) < 1e-12)
    initial = task.initial_models(task.clusters, (), stream)
    by_clients = CFLMGD(step_size=1.0, momentum=momentum)
    by_cluster = CFLMGD(step_size=1.0 / task.clusters, momentum=momentum, normalisation="cluster")
    traces = [run(algorithm, task, rounds=30, initial=initial) for algorithm in (by_clients, by_cluster)]
    suppose(
        "every client is in its own cluster",
        all((trace.assignments == task.labels).all() for trace in traces),
    )
    models = [trace.models for trace in traces]
    return equal((models[0], models[1]), rounding=share_of_largest(1e-10, models[0]))


CONDITION_NUMBER, TOLERANCE = 10.0, 1e-6


@lru_cache(maxsize=64)
def rounds_to_tolerance(clusters: int, normalisation: str, most: int) -> int:
    """Count the rounds without momentum until every error is at most 10^-6 of its start; ``most`` + 1 if later.

    The task has ``clusters`` equal clusters, and models start along the flattest direction.
    """
    spectrum = np.diag([1 / CONDITION_NUMBER, 1.0])
    centers = np.arange(clusters)[:, None] * np.array([0.0, 4.0])
    task = QuadraticMixture(
        hessians=np.broadcast_to(spectrum, (clusters, 2, 2)), centers=centers, labels=np.arange(clusters)
    )
    initial = task.optima + np.array([0.1, 0.0])
    algorithm = CFLMGD(step_size=1.0, momentum=0.0, normalisation=normalisation)
    errors = np.asarray(run(algorithm, task, rounds=most, initial=initial).errors).max(axis=-1)
    reached = errors <= TOLERANCE * errors[0]
    return int(np.argmax(reached)) if reached.any() else most + 1


@division_by_clients.step("rounds")
def rounds(
    clusters: Annotated[int, choice(2, 4, 10)], divided_by: Annotated[str, choice("clients", "cluster")]
) -> Sides:
    """(1 - eta l_p mu)^T reaches 10^-6 in log(10^-6) / log(1 - eta l_p mu) rounds; divided by |C_p|, with l_p = 1."""
    share = 1 / clusters if divided_by == "clients" else 1.0
    expected = math.ceil(math.log(TOLERANCE) / math.log(1 - share / CONDITION_NUMBER))
    needed = rounds_to_tolerance(clusters, divided_by, expected)
    words = (
        f"{needed} rounds to 10^-6 at kappa = 10 for P = {clusters}, divided by {divided_by}, not {expected}"
    )
    return equal((needed, expected), words=words)
