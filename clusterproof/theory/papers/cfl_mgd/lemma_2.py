"""Lemma 2, (31): the contraction in one round."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.hypotheses import unmet
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.claims import Sides, at_least, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.exact.two_clusters import exact_path, has_positive_probability
from clusterproof.theory.papers.cfl_mgd.hypotheses import is_exact, needs_of

MISMATCH = Fraction(1, 4)
"""c_4 of (A27), the constant of the term c_4 l that no amount of data removes."""


@dataclass(frozen=True)
class TwoClusters:
    """A round of two scalar clusters at chi* = +-1 without noise, mu = L = 1."""

    clients: Annotated[int, integers(2, 100, upwards=True)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
    start: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))]
    round: Annotated[int, integers(0, 6, upwards=True)]

    @property
    def share(self) -> Fraction:
        """l_1."""
        return Fraction(self.own, self.clients)

    @property
    def fewest(self) -> int:
        """l m, the clients of the smaller cluster."""
        return min(self.own, self.clients - self.own)

    @property
    def smallest(self) -> Fraction:
        """l = min l_p."""
        return Fraction(self.fewest, self.clients)

    @property
    def errors(self) -> tuple[Fraction, Fraction]:
        """Error of model 1 before and after the round, |e_t| and |e_(t+1)|."""
        path = exact_path(self.share, self.momentum, self.start, self.round + 1)
        return abs(path[-2]), abs(path[-1])

    def sides(self, c_4: Fraction = MISMATCH) -> Sides:
        """Error after the round, and the right side of (31): rho_0 = c_4 l."""
        before, after = self.errors
        return at_most(after, contraction=(1 - self.smallest / 8) * before, mismatch=c_4 * self.smallest)


# the instance that can be followed by hand
BY_HAND = TwoClusters(clients=34, own=17, momentum=Fraction(2, 3), start=Fraction(1, 2), round=2)


def bound_trace(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound each round's error by that of the previous round, on tasks without noise, with probability 1.

    Raises
    ------
    InvalidArgument
        If the run is not one that the paper speaks of: other dynamics, another step size, clients that do not take
        part, too few clients for its probability to be positive, noise, or a start outside the basin.
    """
    cfl_mgd_of(trace)  # refuses other dynamics
    if not is_exact(task):
        raise InvalidArgument("task", task.settings["task"], "must be without noise", "use data='population'")
    errors = np.asarray(trace.errors)
    if errors.shape[-1] != task.clusters:
        rule = f"must have one model for each of {task.clusters} clusters"
        raise InvalidArgument("clusters", errors.shape[-1], rule, "leave out the algorithm's clusters")
    if failing := unmet(needs_of(task, trace)):
        raise InvalidArgument("trace", "...", f"must have {failing}", "use such a run")
    if not has_positive_probability(4 * task.clusters, round(task.proportions.min() * task.clients)):
        rule = "must have clusters of so many clients that the printed probability is positive, 17 of two clusters"
        raise InvalidArgument("trace", "...", rule, "raise the clients")
    smallest = float(task.proportions.min())
    bound = np.full(errors.shape, np.inf)
    bound[1:] = (1 - smallest / (8 * task.condition_number)) * errors[:-1] + float(MISMATCH) * smallest
    return TraceBound(bound)


@claim(
    "cfl-mgd/lemma-2",
    label="Lemma 2, (31)",
    judges={"every c_4": "ours"},
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    bound=bound_trace,
    example=({"pair": BY_HAND},),
)
def lemma_2(pair: TwoClusters, *, c_4: Fraction = MISMATCH) -> Sides:
    """In every round the error shrinks by 1 - l mu / 8L, up to rho_0.

    Hypotheses
        Assumptions 1-5 (two or more clusters whose clients share their expected loss, new samples in every round),
        option I with all clients and gradients divided by m, eta = 1/L. The printed probability 1 - P lambda_5 is
        positive: lambda_5 >= 4 exp(-clm) by (A36), so that two clusters need 8 exp(-l m / 8) < 1, that is 17 clients
        in the smaller one.

    Statement
        With probability at least 1 - P lambda_5, for all p, ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t -
        chi*_p|| + rho_0, where rho_0 is (A36) with the appendix's constants c_1 = 384, c_2 = c_6 = sqrt(128), c_3 =
        1/2, c_4 = 1/4, c_5 = 384.

    Lines
        every c_4
            The paper states of c_1 .. c_6 only that they exist. With 17 of m = 136 (c_4 + 1) clients in cluster 2,
            momentum 9/10, |e_0| = 1/2 and no noise, model 1 breaks (31) in its second round.

    Symbols
        chi_p model of cluster p, l = min l_p ``proportions``, mu and L the curvatures, beta
        ``momentum``, v and sigma the standard deviations of Assumption 3.

    Source
        Zhao et al. (2023), Lemma 2 and Appendix A, with c = 1/8 by Hoeffding's inequality. Only the
        shares of the clusters matter: with more clients the same shares refute it for every other c > 0.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, pair.fewest))
    return pair.sides(c_4)


@lemma_2.line("every c_4")
def every_constant(c_4: Annotated[int, integers(1, 1000, upwards=True)]) -> Sides:
    """The error |e_2| = -e_2 exceeds the right side, and so it does with a smaller constant than this whole one."""
    smallest = 1 / Fraction(8 * (c_4 + 1))
    _, before, after = exact_path(1 - smallest, Fraction(9, 10), Fraction(1, 2), 2)
    return at_least(-after, contraction=(1 - smallest / 8) * before, mismatch=c_4 * smallest)
