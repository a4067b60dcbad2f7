"""Lemma 2, (31): the contraction in one round."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, suppose
from clusterproof.theory.exact.scalar_clusters import exact_path, has_positive_probability
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.cfl_mgd.on_runs import bound_by_lemma_2

START = among(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))
"""Initial error |e_0| of two scalar clusters at chi* = +-1 with mu = L = 1; Assumption 4 allows 1/2."""
BY_HAND = {"clients": 34, "own": 17, "momentum": Fraction(2, 3), "start": Fraction(1, 2), "round_": 2}


def after_a_round(
    clients: int, own: int, momentum: Fraction, start: Fraction, round_: int, c_4: Fraction
) -> Sides:
    """Compare the error of model 1 after a round without noise with (31), where rho_0 reduces to c_4 l."""
    smallest = Fraction(min(own, clients - own), clients)
    before, after = map(abs, exact_path(Fraction(own, clients), momentum, start, round_ + 1)[-2:])
    return at_most(after, contraction=(1 - smallest / 8) * before, mismatch=c_4 * smallest)


@claim(
    "cfl-mgd/lemma-2",
    label="Lemma 2, (31)",
    source={"every c_4": "ours"},
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    bound=bound_by_lemma_2,
    example=BY_HAND,
    expected="violated",
    headline=(
        "Lemma 2 is false: it allows 1 - l mu/(8L) times the error before a round, plus c_4 l. With two "
        "clusters of 17 clients (l = 1/2), momentum 2/3, no noise and c_4 = 1/4, an error is "
        "0.215 > 0.164. Every other c_4 > 0 also fails."
    ),
    rank=2,
    places="(31); after (38)",
)
def lemma_2(
    clients: int = Z[2:],
    own: int = Z[1 : lambda clients: clients - 1],
    momentum: Fraction = Q[0 : Fraction(9, 10) : 10],
    start: Fraction = START,
    round_: int = Z[0:],
    *,
    c_4: Fraction = C_4,
) -> Sides:
    """Every round multiplies the error by at most 1 - l mu / 8L, and adds at most rho_0.

    Hypotheses
        Assumptions 1-5 hold: there are two or more clusters, all clients of a cluster have the same expected loss,
        and every round draws new samples. Option I uses all clients and divides gradients by m, and eta = 1/L. The
        printed probability 1 - P lambda_5 is positive: lambda_5 >= 4 exp(-clm) by (A36), so for two clusters 8 exp(-l
        m / 8) < 1, that is, 17 clients in the smaller cluster.

    Statement
        With probability at least 1 - P lambda_5, for all p, ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t -
        chi*_p|| + rho_0, where l = min l_p. ``cfl-mgd/theorem-1`` states rho_0 in full. The appendix has c_4 = 1/4.

    Lines
        every c_4
            The paper states only that c_1 .. c_6 exist. With 17 of m = 136 (c_4 + 1) clients in cluster 2, momentum
            9/10, |e_0| = 1/2 and no noise, model 1 breaks (31) in its second round.

    Source
        Zhao et al. (2023), Lemma 2 and Appendix A, with c = 1/8 by Hoeffding's inequality. Only the shares of the
        clusters matter: for any other c > 0, the same shares with more clients refute the lemma. The reason is that
        momentum carries an error past 0. With 17 of 34 clients, beta = 2/3, no noise and e_0 = 1/2, the next errors
        are 1/4, -1/24 and -31/144. Theorem D bounds the error of the same algorithm by a recursion over the rounds.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, min(own, clients - own)))
    return after_a_round(clients, own, momentum, start, round_, c_4)


@lemma_2.line("every c_4")
def every_constant(c_4: int = Z[1:]) -> Sides:
    """The error |e_2| = -e_2 exceeds the right side for this c_4, and therefore for every smaller c_4."""
    smallest = 1 / Fraction(8 * (c_4 + 1))
    _, before, after = exact_path(1 - smallest, Fraction(9, 10), Fraction(1, 2), 2)
    return at_least(-after, contraction=(1 - smallest / 8) * before, mismatch=c_4 * smallest)
