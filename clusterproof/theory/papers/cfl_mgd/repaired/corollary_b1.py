"""Corollary B1: Theorem B with tuned momentum, in fully closed form."""

from __future__ import annotations

from typing import Annotated

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.audit_settings import experiment, tuned_momentum
from clusterproof.theory.bounds.bound_parts import BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.statements import Share, SmallTask
from clusterproof.theory.checker import Family, Replicates, Sides, Stream, choice

PAPER = Family("cfl-mgd")
BOUND = CorollaryB1()
"""The bound of the claim."""
Place = Annotated[str, choice("S1", "S1+", "S2", "S3+")]


def tuned(task: RegressionMixture) -> CFLMGD:
    """Return the algorithm to which the corollary applies."""
    return CFLMGD(step_size=1 / task.smoothness, momentum=tuned_momentum(task))


def small_bound(task: RegressionMixture) -> BoundParts:
    """The bound on a small task, within its hypotheses."""
    return statements.admissible(statements.small_parts(BOUND, task, tuned(task)))


@PAPER.claim(
    "corollary-b1",
    label="Corollary B1 (ours)",
    kind="probability",
    part="runs",
    bound_trace=BOUND.bound_trace,
)
def corollary_b1(place: Place, replicates: Replicates, stream: Stream) -> dict[str, Sides]:
    """Tuned momentum gives the rate 1 - sqrt(l mu / L) for every cluster, down to O(1/sqrt(m n')).

    Hypotheses
        As Theorem B, with eta = 1/L, q = 1 - sqrt(l mu / L), beta = q^2,
        v^2 = v_*^2 + v_1^2 B^2 and (2 / sqrt(3)) ||e_0|| + sqrt(PT / delta_2) S_p <= B, where
        S_p = (v / L) sqrt(l_p / (m n')) sqrt((1 + beta) / (1 - beta)^3).

    Statement
        With probability at least 1 - delta_2 - T m (P - 1) pi, for all t <= T and all p,
        ||chi_p^t - chi*_p|| <= q^t (2 / sqrt(3) + (1 - q) t) ||e_0|| + sqrt(PT / delta_2) S_p;
        with probability at least 1 - delta_2 - delta_3 - T m (P - 1) pi, for all p,
        ||chi_p^T - chi*_p|| <= q^T (2 / sqrt(3) + (1 - q) T) ||e_0|| + sqrt(P / delta_3) S_p.

    Proof
        Lemma H (``cfl-mgd/lemma-h``); |h_k| <= (k + 1) q^k because every cluster with l_p >= l is critically
        damped or underdamped; sum (k + 1)^2 q^(2k) = (1 + beta) / (1 - beta)^3.

    Symbols
        As Theorem B; l = min l_p.

    Source
        Ours; replaces Theorem 1 and Remark 1 of Zhao et al. (2023) on quadratics: about
        sqrt(L / (l mu)) log(.) rounds instead of (8L / (l mu)) log(.). Upper bound; S_p is
        attained as T grows at kappa = 1, l_p = l.

    Checked
        The whole in the setting two equal, in the same with so many samples that hardly any noise is left, in four
        unequal and in three wide with fifty times the samples, all at their tuned momentum; and each
        step of the proof where it is sharpest: the noise-free envelope, the variance and the
        misclassification, on small tasks within the hypotheses.
    """
    return statements.runs(BOUND, experiment(place, None), replicates, stream)


@corollary_b1.step("envelope", budget=40)
def envelope(task: SmallTask) -> Sides:
    """``cfl-mgd/lemma-h``: without noise errors are at most q^t (2 / sqrt(3) + (1 - q) t) ||e_0||."""
    return statements.envelope(small_bound(task), task, tuned(task))


@corollary_b1.step("variance", budget=40)
def variance(task: SmallTask) -> Sides:
    """The noise's part of the error has a second moment of at most S_p^2."""
    return statements.variance(small_bound(task), task, tuned(task))


@corollary_b1.step("misclassification", budget=40)
def misclassification(task: SmallTask, share: Share, stream: Stream) -> dict[str, Sides]:
    """In the basin a client errs with a probability of at most pi."""
    return statements.misclassification(BOUND, task, tuned(task), share, stream)
