"""Lines 3, 5 and 7 of Algorithm 1 and its number of rounds: what they leave open, and how we read it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind


def ambiguous(differs: bool, reason: str, measured: float) -> Finding:
    """Judge a line that has two readings: ill-posed where they differ."""
    return Finding(
        verdict=Kind.ILL_POSED if differs else Kind.CONSISTENT, reason=reason, measured=measured, bound=0.0
    )


def pair_of_clusters(clients: int) -> QuadraticMixture:
    """Give half of the clients the minimiser 1 and half -1, curvature 1."""
    labels = np.repeat([0, 1], clients // 2)
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    return QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)


@register("cfl-mgd/algorithm-line-3-participation", label="Algorithm 1, line 3", kind="definition",
          repaired_by="cfl-mgd/division-by-clients")  # fmt: skip
def algorithm_line_3_participation(context: Context) -> Finding:
    """With a random part of the clients in a round, the update of option I is as before.

    Hypotheses
        Participation below 1.

    Statement
        Line 3 draws M_t; line 8 uses u_i^(t-1) and g_i^(t-1); line 15 divides the sum over M_t by m.

    Symbols
        m ``clients``, |M_t| the participants; ``participation``, ``normalisation``.

    Source
        Zhao et al. (2023), Algorithm 1, lines 3, 8 and 15. A client that was absent has no
        g_i^(t-1) and an old u_i. Read: the server owns the momentum, so that nothing is old, and
        divides by m; ``normalisation="participants"`` divides by |M_t|.

    Checked
        Runs with half of the clients: divided by m, the first move is |M_t| / m of the other's, so that
        the step is eta l_p times the participation rate. All theorems assume M_t = [m].
    """
    task = pair_of_clusters(20)
    initial = np.array([[0.5], [-0.5]])
    moves = []
    for normalisation in ("clients", "participants"):
        algorithm = CFLMGD(step_size=1.0, momentum=0.5, participation=0.5, normalisation=normalisation)
        models = run(algorithm, task, rounds=1, seed=context.seed, initial=initial).models
        moves.append(float(np.abs(models[1] - models[0]).sum()))
    ratio = moves[0] / moves[1]
    return ambiguous(
        abs(ratio - 1) > 1e-9,
        f"with half of the clients the first move divided by m is {ratio:g} of that divided by |M_t|, and the "
        "g_i^(t-1) of a client that was absent does not exist; read: momentum of the server, division by m",
        ratio,
    )


@register("cfl-mgd/algorithm-line-5-ties", label="Algorithm 1, line 5, ties", kind="definition",
          repaired_by="cfl-mgd/equation-8")  # fmt: skip
def algorithm_line_5_ties(context: Context) -> Finding:
    """The best model of a client is unique.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        p_hat = argmin_p phi_i(chi_p^t).

    Symbols
        P ``clusters``.

    Source
        Zhao et al. (2023), (8) and line 5. Read: the smallest index. Ties have probability zero for
        continuous data and different models; equal starts tie for every client.

    Checked
        Models start at 0 and 0 between the optima +-1: all clients choose the first, the second stays
        empty for good. From 0 and 1/1000 both clusters are found: the choice at the tie decides.
    """
    task = pair_of_clusters(4)
    ends, occupied = [], []
    for second in (0.0, -0.001):
        trace = run(CFLMGD(step_size=1.0, momentum=0.0), task, rounds=60, initial=np.array([[0.0], [second]]))
        occupied.append(len(np.unique(trace.assignments)))
        ends.append(float(np.asarray(trace.errors)[-1].max()))
    return ambiguous(
        occupied == [1, 2],
        f"from equal starts all clients tie, and with the smallest index {occupied[0]} of 2 models is ever used, its "
        f"largest error staying {ends[0]:.3g}; starts 0 and -1/1000 use {occupied[1]} and end at {ends[1]:.1g}; read: "
        "the smallest index",
        ends[0] - ends[1],
    )


@register("cfl-mgd/algorithm-line-7-resampling", label="Algorithm 1, lines 5 and 7", kind="definition",
          repaired_by="cfl-mgd/assumption-5-resampled")  # fmt: skip
def algorithm_line_7_resampling(context: Context) -> Finding:
    """Line 5 evaluates losses and line 7 the gradient.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        p_hat = argmin_p phi_i(chi_p^t), g_i^t = (hat grad) phi_i(chi_p_hat^t): on which rows, Algorithm 1
        does not say. Section 5 resamples 2T disjoint parts of the client's data.

    Symbols
        n' ``samples``; ``data="fresh"`` and ``"fixed"``.

    Source
        Zhao et al. (2023), Algorithm 1 and Section 5. Read: independent batches, which the theorems
        need.

    Checked
        Exactly, on the two-point law of ``cfl-mgd/assumption-5-same-batch``: the mean gradient given
        the choice, from the batch that chose and from a fresh one.
    """
    # at the top of the file it would register Assumption 5 before this line
    from theory.cfl_mgd.assumption_5 import selected_gradient

    own, other, samples = Fraction(1, 4), Fraction(1), 2
    found = selected_gradient(own, other, samples)
    same = own if found is None else found[0]
    return ambiguous(
        same != own,
        f"y = +-1, f = (chi - y)^2 / 2, n' = {samples}, models 1/4 and 1: given that a client chose 1/4 its mean "
        f"gradient is {float(same):g} on the batch that chose and {float(own):g} on a fresh one; read: fresh",
        float(abs(same - own)),
    )


def implied_rounds(rounds: int, rows: int) -> float:
    """T by Theorem 1 for n' = n / 2T, with rho = 1 / sqrt(n'), 8L / (l mu) = 16 and Delta = 2."""
    return 16 * math.log(math.sqrt(rows / (2 * rounds)))


@register("cfl-mgd/algorithm-rounds-and-samples", label="Theorem 1, T and n'", kind="definition",
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def algorithm_rounds_and_samples(context: Context) -> Finding:
    """T = (8L / l mu) log(Delta / 2 rho) rounds are made with n' = n / 2T rows each.

    Hypotheses
        None: it is a definition; n is given.

    Statement
        n' = n / 2T, T = (8L / l mu) log(Delta / 2 rho), rho a function of n'.

    Symbols
        T ``rounds``, n' ``samples``.

    Source
        Zhao et al. (2023), Section 5 and Theorem 1. T is not a whole number, and T and n' define
        each other. Read: T and n' are independent inputs, and T is rounded up.

    Checked
        With the favourable rho = 1 / sqrt(n'), kappa = 1, l = 1/2, Delta = 2: for how many of n = 1000 ..
        3000 some whole T satisfies T = ceil(16 log(1 / rho)), and for how many none or several do.
    """
    rows = range(1000, 3001)
    counts = [sum(rounds == math.ceil(implied_rounds(rounds, n)) for rounds in range(1, 200)) for n in rows]
    exact = sum(any(abs(implied_rounds(rounds, n) - rounds) < 1e-9 for rounds in range(1, 200)) for n in rows)
    unsolved = sum(count != 1 for count in counts)
    return ambiguous(
        unsolved > 0 or exact < len(counts),
        f"T = 16 log(1 / rho(n / 2T)) has a whole solution for {exact} of {len(counts)} values of n, and rounded up "
        f"one for {len(counts) - unsolved}, none or several for {unsolved}; read: T and n' are independent inputs",
        unsolved / len(counts),
    )
