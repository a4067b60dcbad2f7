"""(A3), (A8): the own clients' averaged noise, and the bound on T_1, with their probabilities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from clusterproof.theory.claims import Replicates, Sides, Stream, at_most, claim, suppose
from clusterproof.theory.papers.cfl_mgd.appendix.rounds import Level, simulate_round
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import ExtremeTask, Place, two_values

# one own client, whose noise has the norm v always: Markov's inequality on the norm is an equality
ALWAYS = {"task": two_values(1, 1, 0.1), "level": Fraction(9, 10), "place": "optima"}


@claim("cfl-mgd/a3", label="(A3)", replicates=300, evaluations=15, example=(ALWAYS,))
def a3(task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates) -> Sides:
    """The own clients' averaged noise is at most v / (lambda_0 sqrt(n' |C_1 n C*_1|)).

    Hypotheses
        Assumption 3 with v at chi_1, gradients on batches that the choice of clusters did not use.

    Statement
        Given the clusters, with probability at least 1 - lambda_0,
        ||T_12|| <= v / (lambda_0 sqrt(n' |C_1 n C*_1|)). The line before prints E ||T_12||^2 = v^2 / (n'
        |C_1 n C*_1|): meant is <=.

    Source
        Zhao et al. (2023), (A3). Probability, by Markov's inequality; Chebyshev's would have
        lambda_0^(1/2).
    """
    one = simulate_round(task, place, replicates, stream, with_clients_of=0)
    # multiplied by |C_1 n C*_1|
    spread = one.gradient_deviation(0) * np.sqrt(one.shared(0) / task.samples)
    return at_most(
        np.linalg.norm(one.deviation(0), axis=-1), noise=spread / float(level), failure=float(level)
    )


# a tenth of the clients, all of whom stay, with hardly any noise; and noise alone
QUIET = {"task": two_values(8, 72, 1e-3), "level": Fraction(1, 10), "place": "apart"}
NOISE = {"task": two_values(40, 40, 0.2), "level": Fraction(1, 10), "place": "optima"}


@claim("cfl-mgd/a8", label="(A8) = (35)", replicates=300, evaluations=15, example=(QUIET, NOISE))
def a8(task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates) -> Sides:
    """The own clients' part of a round contracts by 1 - l mu / 8L up to 2 v / (lambda_0 L sqrt(l m n')).

    Hypotheses
        Assumptions 1-4, eta = 1/L, models in the basin, v at chi_1.

    Statement
        With probability at least 1 - lambda_0 - 2 exp(-clm), c = 1/8,
        ||T_1|| <= (1 - l mu / 8L) ||chi_1 - chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')).

    Source
        Zhao et al. (2023), (A8) = (35), from (A3), (A6) and (A7). Probability; with at most l_1 m own
        clients the floor is v sqrt(l_1) / (lambda_0 L sqrt(m n')), smaller by up to 2 / l.
    """
    share, smooth = float(task.proportions.min()), task.smoothness
    failure = float(level) + 2 * math.exp(-share * task.clients / 8)
    suppose("lambda_0 + 2 exp(-clm) < 1", failure < 1)
    one = simulate_round(task, place, replicates, stream)
    before = one.models[0] - task.optima[0]
    after = before - one.total(0) / (task.clients * smooth)
    root = math.sqrt(share * task.clients * task.samples)
    return at_most(
        np.linalg.norm(after, axis=-1),
        contraction=(1 - share / (8 * task.condition_number)) * np.linalg.norm(before),
        noise=2 * one.gradient_deviation(0) / (float(level) * smooth * root),
        failure=failure,
    )
