"""Claims on Algorithm 1: participation, ties, batches, the indices in line 8, momentum, averages, division by m."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, equal, suppose
from clusterproof.checker.claims.ranges import drawn, reals
from clusterproof.checker.claims.space import Stream
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.prescribed_samples import READINGS, exact_run
from clusterproof.theory.exact.random_tasks import random_quadratics, share_of_largest
from clusterproof.theory.exact.scalar_clusters import exact_path
from clusterproof.theory.papers.cfl_mgd.model_averaging import exact_rounds

MOMENTUM = Q[0 : Fraction(9, 10) : 10]


@claim(
    "cfl-mgd/algorithm-line-3-participation",
    label="Algorithm 1, line 3",
    repaired_by="cfl-mgd/division-by-clients",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="section 5",
)
def algorithm_line_3_participation(
    clients: int = among(20, 10), participation: Fraction = among(Fraction(1), Fraction(1, 2))
) -> Sides:
    """Option I has the same update if only a random part of the clients takes part in a round.

    Hypotheses
        Participation is below 1.

    Statement
        Line 3 draws M_t, line 8 uses u_i^(t-1) and g_i^(t-1), and line 15 divides the sum over M_t by m. The claim
        compares the first changes of two models at distance 1/2 from their optima, for both divisors.

    Source
        Zhao et al. (2023), Algorithm 1, lines 3, 8 and 15. A client that was absent in the previous round has no
        g_i^(t-1), and its u_i is out of date. In our reading the server stores the momentum, so no momentum is out of
        date, and the divisor is m. With ``normalisation="participants"``, the divisor is |M_t|.
    """
    participants = participation * clients
    total = participants / 2  # the sum of the lengths of the participants' gradients
    by_clients, by_participants = total / clients, total / participants
    words = (
        f"with {participation} of the clients the first move divided by m is {by_clients / by_participants} of "
        "that divided by |M_t|, and the g_i^(t-1) of a client that was absent does not exist; read: momentum of the "
        "server, division by m"
    )
    return equal((by_clients, by_participants), words=words)


@claim(
    "cfl-mgd/algorithm-line-5-ties",
    label="Algorithm 1, line 5, ties",
    repaired_by="cfl-mgd/equation-8",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="(8)",
)
def algorithm_line_5_ties(second: Fraction = among(Fraction(-1, 1000), Fraction(0))) -> Sides:
    """The best model of a client is unique.

    Statement
        p_hat = argmin_p phi_i(chi_p^t).

    Source
        Zhao et al. (2023), (8) and line 5. In our reading the client chooses the smallest index. Ties have
        probability zero for continuous data and different models. If initial models are equal, they tie for every
        client.
    """
    # two clients at 1 and two at -1
    rounds = exact_run(
        [Fraction(c) for c in (1, 1, -1, -1)],
        (Fraction(0), second),
        momentum=Fraction(0),
        rounds=60,
        reading="server",
    )
    used = sum(any(p in chosen for chosen in rounds.assignments) for p in (0, 1))
    last = max(abs(rounds.models[-1][0] - 1), abs(rounds.models[-1][1] + 1))
    return at_least(
        used,
        both=2,
        words=lambda: (
            f"from the starts 0 and {second} all clients tie; by the smallest index only {used} of the 2 models is "
            f"used, and the largest error is {float(last):.3g} for good; from 0 and -1/1000 both clusters are found; "
            "read: the smallest index"
        ),
    )


@claim(
    "cfl-mgd/algorithm-line-7-resampling",
    label="Algorithm 1, lines 5 and 7",
    repaired_by="cfl-mgd/assumption-5-resampled",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="algorithm 1, line 5; algorithm 1, line 7; section 5",
)
def algorithm_line_7_resampling(
    own: Fraction = Q[Fraction(-1, 2) : Fraction(1, 2) : 4], other: Fraction = Q[1:2:4], samples: int = Z[1:5]
) -> Sides:
    """Line 5 evaluates losses, and line 7 evaluates the gradient, on unspecified samples.

    Statement
        p_hat = argmin_p phi_i(chi_p^t), g_i^t = (hat grad) phi_i(chi_p_hat^t). Algorithm 1 does not state on which
        samples. Section 5 divides the client's data into 2T disjoint batches. The claim has n' samples y = +-1 of
        probability 1/2, and f(chi; y) = (chi - y)^2 / 2. It takes a client that chose its own model out of two, and
        compares its mean gradient on the same and on a new batch.

    Source
        Zhao et al. (2023), Algorithm 1 and Section 5. In our reading the two batches are independent, which the
        theorems need.
    """
    means = [(Fraction(2 * ones, samples) - 1, comb(samples, ones)) for ones in range(samples + 1)]
    # the loss is (chi - mean)^2 / 2 plus a constant that both models share
    chosen = [(own - mean, ways) for mean, ways in means if (own - mean) ** 2 <= (other - mean) ** 2]
    suppose("the client may choose its own model", len(chosen) > 0)
    same = sum(gradient * ways for gradient, ways in chosen) / Fraction(sum(ways for _, ways in chosen))
    words = (
        f"y = +-1, f = (chi - y)^2 / 2, n' = {samples}, models {own} and {other}: given that a "
        f"client chose {own} its mean gradient is {same} on the batch that chose and {own} on a fresh one; "
        "read: fresh"
    )
    return equal((same, own), words=words)


def implied_rounds(rounds: int, rows: int) -> float:
    """Return T of Theorem 1 for n' = n / 2T, with rho = 1 / sqrt(n'), 8L / (l mu) = 16 and Delta = 2."""
    return 16 * math.log(math.sqrt(rows / (2 * rounds)))


@claim(
    "cfl-mgd/algorithm-rounds-and-samples",
    label="Theorem 1, T and n'",
    repaired_by="cfl-mgd/theorem-d",
    ill_posed=True,
    evaluations=2001,
    expected="ill-posed",
    headline=True,
    places="section 5",
)
def algorithm_rounds_and_samples(rows: int = Z[1000:3000]) -> dict[str, Sides]:
    """The algorithm runs T = (8L / l mu) log(Delta / 2 rho) rounds with n' = n / 2T samples each.

    Hypotheses
        l = 1/2, L = mu, Delta = 2 and rho = 1 / sqrt(n'). The paper does not state the constants in rho. The claim
        counts the solutions T below 200.

    Statement
        n' = n / 2T and T = (8L / l mu) log(Delta / 2 rho), where rho is a function of n'.

    Source
        Zhao et al. (2023), Section 5 and Theorem 1. The value of the formula for T need not be an integer, and T and
        n' are defined by each other. In our reading T and n' are independent inputs, and T is rounded up.
    """
    implied = [(rounds, implied_rounds(rounds, rows)) for rounds in range(1, 200)]
    rounded = sum(rounds == math.ceil(value) for rounds, value in implied)
    exact = sum(abs(value - rounds) < 1e-9 for rounds, value in implied)
    words = (
        f"for n = {rows}, T = 16 log(1 / rho(n / 2T)) has {exact} whole solutions, and rounded up {rounded}; read: T "
        "and n' are independent inputs"
    )
    return {"rounded up": equal((rounded, 1), words=words), "to the letter": equal((exact, 1), words=words)}


SHARE, START = Fraction(1, 2), Fraction(1, 4)
"""Share of each of two equal scalar clusters at 1 and -1, and distance between each model and its optimum."""


def delayed_path(momentum: Fraction, rounds: int) -> list[Fraction]:
    """Return the exact errors if the step from chi^(t-1) to chi^t uses the gradient at chi^(t-2)."""
    path = [START, START]
    while len(path) <= rounds:
        path.append(path[-1] + momentum * (path[-1] - path[-2]) - SHARE * path[-2])
    return path[: rounds + 1]


def suppose_right_choices(path: list[Fraction]) -> None:
    """State the hypothesis that the errors are so small that no client changes its cluster."""
    suppose(
        "every client goes on choosing the model of its own cluster", max(map(abs, path)) < Fraction(3, 4)
    )


@claim(
    "cfl-mgd/algorithm-line-8",
    label="Algorithm 1, lines 2, 7, 8 and 15",
    repaired_by="cfl-mgd/equation-3",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="algorithm 1, line 2; algorithm 1, line 7; algorithm 1, line 8",
)
def algorithm_line_8(momentum: Fraction = MOMENTUM, rounds: int = Z[2:14]) -> Sides:
    """Round t of option I uses the gradient at the model that it broadcasts.

    Hypotheses
        Option I has no noise and full participation.

    Statement
        Round t broadcasts chi_p^t (line 2). Then g_i^t = grad phi_i(chi_p^t) (line 7), u_i^t = beta u_i^(t-1) +
        g_i^(t-1) (line 8) and chi_p^t = chi_p^(t-1) - (eta / m) sum u_i^t (line 15).

    Source
        Zhao et al. (2023), Algorithm 1. Lines 7, 8 and 15 are the equations (3), (9) and (32). Line 2, "broadcast
        chi_p^(t)", contradicts them, since only line 15 of the same round computes chi_p^(t). In our reading round t
        broadcasts chi^(t-1) (``cfl-mgd/equation-3``, ``update_order="momentum-first"``). If chi^(t) in line 2 is the
        newest model, the gradient is delayed by one round, see ``cfl-mgd/algorithm-line-8-delayed``.
    """
    indexed, delayed = exact_path(SHARE, momentum, START, rounds), delayed_path(momentum, rounds)
    suppose_right_choices(indexed + delayed)
    ends = abs(indexed[rounds]), abs(delayed[rounds])
    words = (
        f"two equal scalar clusters, beta = {momentum}, from 1/4: after {rounds} rounds the error is {ends[0]} by the "
        f"indices of lines 7, 8 and 15, and {ends[1]} where line 2 broadcasts the newest model as chi^t; read: the "
        "first"
    )
    return equal(ends, words=words)


@claim(
    "cfl-mgd/algorithm-line-8-delayed",
    label="Algorithm 1, line 2",
    source="reading",
    error_kind="misprint",
    repaired_by="cfl-mgd/lemma-h",
    expected="violated",
    headline=True,
)
def algorithm_line_8_delayed(momentum: Fraction = MOMENTUM, rounds: int = Z[10:14]) -> Sides:
    """If line 2 broadcasts the newest model as chi^t, option I does not increase the error, for any momentum.

    Hypotheses
        There is no noise, eta = 1/L, and the run has 10 or more rounds.

    Statement
        chi^t = chi^(t-1) - (eta / m) sum u_i^t, u_i^t = beta u_i^(t-1) + g_i^(t-1), where g_i^t is the gradient at
        the model that line 15 of the previous round computed. After 10 or more rounds, ||chi - chi*|| is at most its
        initial value.

    Source
        Zhao et al. (2023), Algorithm 1, line 2: "broadcast chi_p^(t)", see ``cfl-mgd/algorithm-line-8``. This reading
        takes chi^(t) as the newest model (``update_order="as-printed"``), although (3), (9) and (32) exclude this.
        The bound is part of the reading, since the paper prints no bound for Algorithm 1 with a delay.
    """
    path = delayed_path(momentum, rounds)
    suppose_right_choices(path)
    return at_most(abs(path[-1]), start=path[0])


CENTERS = (Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1))
STARTS = (Fraction(-1, 4), Fraction(-1))
"""Initial models for which the first client changes its cluster after round 1."""


def second_models(momentum: Fraction) -> list[Fraction]:
    """Return chi_1^(2) with the momentum of line 15, with each client's own momentum, and with the server's."""
    return [
        exact_run(CENTERS, STARTS, momentum=momentum, rounds=2, reading=reading).models[2][0]
        for reading in READINGS
    ]


@claim(
    "cfl-mgd/algorithm-line-15-momentum-of-switchers",
    label="Algorithm 1, line 15",
    repaired_by="cfl-mgd/equation-32-fixed-clusters",
    ill_posed=True,
    expected="ill-posed",
    headline=(
        "A client that changes its cluster takes along its old cluster's momentum by line 15, its own "
        "by (A19), and none by (32). With four clients in two clusters, the second model then becomes "
        "5/8, 23/32 or 11/16."
    ),
    rank=5,
    places="after (6)",
)
def algorithm_line_15_momentum_of_switchers(momentum: Fraction = MOMENTUM) -> Sides:
    """A client that changes its cluster continues with its own momentum.

    Hypotheses
        Option I.

    Statement
        Line 15 sets u_i to the mean u_p of the cluster, but in (9) and (A19) each client has its own u_i. In the
        second line of (32), each cluster has one momentum.

    Source
        Zhao et al. (2023), line 15, (9), (32) and (A19). In our reading the server stores one momentum per cluster
        (R2). ``momentum_owner="client"`` follows line 15 literally (R1).
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
    expected="ill-posed",
    headline=True,
    places="algorithm 1, line 11; algorithm 1, line 12",
)
def algorithm_line_12_option_2_momentum(
    momentum: Fraction = among(Fraction(9, 10)), local_steps: int = among(5)
) -> Sides:
    """Local updates of option II start with the momentum of a cluster.

    Hypotheses
        The algorithm is option II with H >= 2.

    Statement
        In LocalUpdate(chi_p_hat^t, u_p^t, eta, H), the model has the index p_hat, but the momentum has the index p.
        Line 16 averages u over the cluster, but (10) does not.

    Source
        Zhao et al. (2023), lines 11, 12, 16 and (10). In our reading the clients start with the averaged u of the
        cluster that they chose. With ``reset_momentum`` they start with u = 0, and the method is stable.
    """
    curvatures, centers = (Fraction(1, 100), Fraction(1)), (Fraction(0), Fraction(0))
    passed_on, reset = (
        abs(exact_rounds(curvatures, centers, momentum, local_steps, 30, Fraction(1, 2), reset=each)[0])
        for each in (False, True)
    )
    return equal(
        (passed_on, reset),
        words=lambda: (
            f"lambda = (1/100, 1), beta = {float(momentum):g}, H = {local_steps}, 30 rounds from 1/2: |chi| = "
            f"{float(passed_on):.3g} when u is averaged and passed on, {float(reset):.3g} when a round starts from "
            "u = 0; read: as printed, reset_momentum being an option"
        ),
    )


@claim(
    "cfl-mgd/algorithm-lines-15-16-weights",
    label="Algorithm 1, lines 15-16, weights",
    repaired_by="cfl-mgd/equation-1-mean",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="algorithm 1, line 15; algorithm 1, line 16",
)
def algorithm_lines_15_16_weights(rows: int = among(1, 3)) -> Sides:
    """Clients with different amounts of data have the same weight.

    Hypotheses
        The |D_i| differ between clients.

    Statement
        (5), (6) and lines 15-16 average without weights; (1) has the weights |D_p| / |D|.

    Source
        Zhao et al. (2023), (1), (5), (6) and lines 15-16. In our reading there are no weights, and all |D_i| equal n.
    """
    # one client at 0, and as many clients at 1 as it has samples; with curvature 1 and eta = 1, round 1 is
    # the limit
    unweighted, weighted = (
        exact_rounds(
            [Fraction(1)] * (1 + copies),
            [Fraction(0)] + [Fraction(1)] * copies,
            Fraction(0),
            steps=1,
            rounds=1,
            model=Fraction(0),
        )[0]
        for copies in (1, rows)
    )
    words = (
        f"clients at 0 and 1 with 1 and {rows} rows: the unweighted average rests at {unweighted}, the weighted at "
        f"{weighted}; read: unweighted, equal amounts of data"
    )
    return equal((unweighted, weighted), words=words)


def equal_clusters(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two to four clusters of three equal clients each."""
    return random_quadratics(stream, clusters=(2, 4), dimension=(3, 3), condition_number=5.0)


@claim(
    "cfl-mgd/division-by-clients",
    label="(5), (9)",
    evaluations=60,
    expected="consistent, no sharpness",
    headline=True,
    places="algorithm 1, line 15; (9); theorem 1",
)
def division_by_clients(
    task: Annotated[QuadraticMixture, drawn(equal_clusters)],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    stream: Stream,
) -> Sides:
    """If the divisor is the number of all clients, cluster p has the step size eta l_p.

    Hypotheses
        Option I has every client in its own cluster, and no noise.

    Statement
        chi_p - (eta/m) sum_(i in C_p) g_i = chi_p - eta l_p grad phi_p(chi_p). So step size eta with divisor m and
        step size eta l_p with divisor |C_p| lead to the same run. Without momentum the number of rounds to a given
        accuracy is proportional to 1 / l_p.

    Source
        Zhao et al. (2023), (5), (9) and line 15; in the paper, the step size is eta = 1/L. l_p = |C*_p| / m.
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
    first, second = (trace.models for trace in traces)
    return equal((first, second), rounding=share_of_largest(1e-10, first))


CONDITION_NUMBER, TOLERANCE = 10.0, 1e-6


@lru_cache(maxsize=64)
def rounds_to_tolerance(clusters: int, normalisation: str, most: int) -> int:
    """Count the rounds without momentum until every error is at most 10^-6 of its initial value, up to ``most`` + 1.

    The task has ``clusters`` equal clusters. Each initial model is displaced from its optimum along the flattest
    direction.
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
def rounds(clusters: int = among(2, 4, 10), divided_by: str = among("clients", "cluster")) -> Sides:
    """Compare the number of rounds with the smallest T for which (1 - eta l_p mu)^T <= 10^-6.

    For the divisor |C_p|, the formula has 1 instead of l_p.
    """
    share = 1 / clusters if divided_by == "clients" else 1.0
    expected = math.ceil(math.log(TOLERANCE) / math.log(1 - share / CONDITION_NUMBER))
    needed = rounds_to_tolerance(clusters, divided_by, expected)
    words = (
        f"{needed} rounds to 10^-6 at kappa = 10 for P = {clusters}, divided by {divided_by}, not {expected}"
    )
    return equal((needed, expected), words=words)
