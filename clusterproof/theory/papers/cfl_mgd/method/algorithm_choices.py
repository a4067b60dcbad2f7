"""Algorithm 1: participants, ties, batches, and the round to which line 8 belongs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    claim,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.shared_batch import OneBatch
from clusterproof.theory.exact.two_clusters import exact_path, two_cluster_task


def first_move(task: QuadraticMixture, participation: float, normalisation: str) -> float:
    """Return the total displacement of the models in the first round."""
    algorithm = CFLMGD(step_size=1.0, momentum=0.5, participation=participation, normalisation=normalisation)
    models = run(algorithm, task, rounds=1, initial=np.array([[0.5], [-0.5]])).models
    return float(np.abs(models[1] - models[0]).sum())


@claim(
    "cfl-mgd/algorithm-line-3-participation",
    label="Algorithm 1, line 3",
    repaired_by="cfl-mgd/division-by-clients",
    ill_posed=True,
)
def algorithm_line_3_participation(
    clients: Annotated[int, choice(20, 10)], participation: Annotated[float, choice(1.0, 0.5)]
) -> Sides:
    """With a random part of the clients in a round, the update of option I is as before.

    Hypotheses
        Participation below 1.

    Statement
        Line 3 draws M_t; line 8 uses u_i^(t-1) and g_i^(t-1); line 15 divides the sum over M_t by m.

    Source
        Zhao et al. (2023), Algorithm 1, lines 3, 8 and 15. A client that was absent has no
        g_i^(t-1) and an old u_i. Read: the server owns the momentum, so that nothing is old, and
        divides by m; ``normalisation="participants"`` divides by |M_t|.
    """
    task = two_cluster_task(clients, clients // 2)
    by_clients, by_participants = (
        first_move(task, participation, normalisation) for normalisation in ("clients", "participants")
    )
    words = (
        f"with {participation:g} of the clients the first move divided by m is {by_clients / by_participants:g} of "
        "that divided by |M_t|, and the g_i^(t-1) of a client that was absent does not exist; read: momentum of the "
        "server, division by m"
    )
    return equal((by_clients, by_participants), rounding=1e-9, words=words)


@claim(
    "cfl-mgd/algorithm-line-5-ties",
    label="Algorithm 1, line 5, ties",
    repaired_by="cfl-mgd/equation-8",
    ill_posed=True,
)
def algorithm_line_5_ties(second: Annotated[float, choice(-0.001, 0.0)]) -> Sides:
    """The best model of a client is unique.

    Statement
        p_hat = argmin_p phi_i(chi_p^t).

    Source
        Zhao et al. (2023), (8) and line 5. Read: the smallest index. Ties have probability zero for
        continuous data and different models; equal starts tie for every client.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=0.0)
    trace = run(algorithm, two_cluster_task(4, 2), rounds=60, initial=np.array([[0.0], [second]]))
    used = len(np.unique(trace.assignments))
    words = (
        f"from the starts 0 and {second:g} all clients tie; by the smallest index only {used} of the 2 models is used, "
        f"and the largest error is {np.asarray(trace.errors)[-1].max():.3g} for good; from 0 and -1/1000 both clusters "
        "are found; read: the smallest index"
    )
    return at_least(used, both=2, words=words)


@claim(
    "cfl-mgd/algorithm-line-7-resampling",
    label="Algorithm 1, lines 5 and 7",
    repaired_by="cfl-mgd/assumption-5-resampled",
    ill_posed=True,
)
def algorithm_line_7_resampling(batch: OneBatch) -> Sides:
    """Line 5 evaluates losses and line 7 the gradient.

    Statement
        p_hat = argmin_p phi_i(chi_p^t), g_i^t = (hat grad) phi_i(chi_p_hat^t): Algorithm 1
        does not state on which rows. Section 5 resamples 2T disjoint parts of the client's data.

    Symbols
        n' ``samples``; ``data="fresh"`` and ``"fixed"``.

    Source
        Zhao et al. (2023), Algorithm 1 and Section 5. Read: independent batches, which the theorems need.
    """
    same = batch.mean_gradient
    suppose("the client may choose its own model", same is not None)
    words = (
        f"y = +-1, f = (chi - y)^2 / 2, n' = {batch.samples}, models {batch.own} and {batch.other}: given that a "
        f"client chose {batch.own} its mean gradient is {same} on the batch that chose and {batch.own} on a fresh one; "
        "read: fresh"
    )
    return equal((same, batch.own), words=words)


def implied_rounds(rounds: int, rows: int) -> float:
    """T by Theorem 1 for n' = n / 2T, with rho = 1 / sqrt(n'), 8L / (l mu) = 16 and Delta = 2."""
    return 16 * math.log(math.sqrt(rows / (2 * rounds)))


@claim(
    "cfl-mgd/algorithm-rounds-and-samples",
    label="Theorem 1, T and n'",
    repaired_by="cfl-mgd/theorem-d",
    ill_posed=True,
    evaluations=2001,
)
def algorithm_rounds_and_samples(rows: Annotated[int, integers(1000, 3000)]) -> dict[str, Sides]:
    """T = (8L / l mu) log(Delta / 2 rho) rounds are made with n' = n / 2T rows each.

    Hypotheses
        l = 1/2, L = mu, Delta = 2 and rho = 1 / sqrt(n'), whose constants are left open; solutions T below 200 are
        counted.

    Statement
        n' = n / 2T, T = (8L / l mu) log(Delta / 2 rho), rho a function of n'.

    Source
        Zhao et al. (2023), Section 5 and Theorem 1. T is not a whole number, and T and n' define
        each other. Read: T and n' are independent inputs, and T is rounded up.
    """
    candidates = range(1, 200)
    rounded = sum(rounds == math.ceil(implied_rounds(rounds, rows)) for rounds in candidates)
    exact = sum(abs(implied_rounds(rounds, rows) - rounds) < 1e-9 for rounds in candidates)
    words = (
        f"for n = {rows}, T = 16 log(1 / rho(n / 2T)) has {exact} whole solutions, and rounded up {rounded}; read: T "
        "and n' are independent inputs"
    )
    return {
        "rounded up": equal((rounded, 1), words=words),
        "to the letter": equal((exact, 1), words=words),
    }


Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
SHARE, START = Fraction(1, 2), Fraction(1, 4)


def delayed_path(momentum: Fraction, rounds: int) -> list[Fraction]:
    """Errors where chi^t moves by the gradient at chi^(t-2), in exact arithmetic."""
    path = [START, START]
    while len(path) <= rounds:
        path.append(path[-1] + momentum * (path[-1] - path[-2]) - SHARE * path[-2])
    return path[: rounds + 1]


def suppose_right_choices(path: list[Fraction]) -> None:
    """Suppose that the errors are so small that no client changes its cluster."""
    suppose(
        "every client goes on choosing the model of its own cluster", max(map(abs, path)) < Fraction(3, 4)
    )


@claim(
    "cfl-mgd/algorithm-line-8",
    label="Algorithm 1, lines 2, 7, 8 and 15",
    repaired_by="cfl-mgd/equation-3",
    ill_posed=True,
)
def algorithm_line_8(momentum: Momentum, rounds: Annotated[int, integers(2, 14)]) -> Sides:
    """Round t of option I uses the gradient at the model that it broadcasts.

    Hypotheses
        Option I, no noise, full participation.

    Statement
        Round t broadcasts chi_p^t (line 2); g_i^t = grad phi_i(chi_p^t) (line 7); u_i^t = beta u_i^(t-1) + g_i^(t-1)
        (line 8); chi_p^t = chi_p^(t-1) - (eta / m) sum u_i^t (line 15).

    Source
        Zhao et al. (2023), Algorithm 1. Lines 7, 8 and 15 as equations are (3), (9) and (32). Line 2, "broadcast
        chi_p^(t)", has no meaning beside them, since line 15 of the same round computes chi_p^(t). Read: round t
        broadcasts chi^(t-1), ``cfl-mgd/equation-3``, ``update_order="momentum-first"``. With the newest model for
        chi^(t) in line 2 the gradient comes a round late: ``cfl-mgd/algorithm-line-8-delayed``.
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
    judges="reading",
    failure="misprint",
    repaired_by="cfl-mgd/lemma-h",
)
def algorithm_line_8_delayed(momentum: Momentum, rounds: Annotated[int, integers(10, 14)]) -> Sides:
    """Where line 2 broadcasts the newest model as chi^t, option I does not raise the error, for any momentum.

    Hypotheses
        No noise, eta = 1/L, 10 or more rounds.

    Statement
        chi^t = chi^(t-1) - (eta / m) sum u_i^t, u_i^t = beta u_i^(t-1) + g_i^(t-1), where g_i^t is the gradient at the
        model that line 15 of the round before computed: after the rounds ||chi - chi*|| is at most its start.

    Symbols
        eta ``step_size``, beta ``momentum``; this reading is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, line 2: "broadcast chi_p^(t)", see ``cfl-mgd/algorithm-line-8``. That chi^(t)
        is the newest model there is the reading's; (3), (9) and (32) exclude it. So is the bound: the paper prints
        none for Algorithm 1 with a delay.
    """
    path = delayed_path(momentum, rounds)
    suppose_right_choices(path)
    return at_most(abs(path[-1]), start=path[0])
