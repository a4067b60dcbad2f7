"""Theorem D: option I on Gaussian regression, with the failure probability inside a logarithm, and two-sided."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.chains import Chains, Members, gaussian_chains
from clusterproof.theory.bounds.gaussian import GaussianDynamics
from clusterproof.theory.bounds.responses import ConstantStep
from clusterproof.theory.bounds.tube import Tube, forward


def theorem_d(
    dynamics: GaussianDynamics, start: np.ndarray, *, rounds: int, failure: tuple[float, float, float]
) -> Tube:
    """Bound the deviation from the noise-free run and the error, at every round and after the last.

    Hypotheses
        Option I, full participation, division by m, server momentum updated first; fresh Gaussian rows, independent
        ones for choosing a cluster and for the gradient. beta in [0, 1), any eta > 0. Deterministic start.

    Statement
        With probability at least 1 - delta_1 - delta_2, for all t <= T and all p, ||e_t - Pi_t(alpha_p Sigma_p) e_0||
        <= r_(t,p) and ||e_t|| <= y_(t,p); with probability at least 1 - delta_1 - delta_2 - delta_3 also the sharper
        values after round T hold for all p.

    Proof
        (1) Given the models and the assignments of round t, the sum of the gradients divided by m is l_p Sigma e_t +
        mis_t + zeta_t: the nominal step is deterministic for any assignment, mis_t = [- (missing members)
        Sigma_p e_t + sum over false members of Sigma_q (chi_p - theta_q)] / m, and zeta_t is centred. (2) Bad round:
        the first in which some error exceeds y or some count its quantile. Freeze: mis and zeta are 0 from it on.
        (3) The frozen error is Pi_t e_0 - eta sum_(k<t) h_(t-1-k) (mis_k + zeta_k), and equals e_t up to the bad
        round. (4) The drift's part is at most bias_t. (5) The noise's part is a martingale sum to which Lemmas R and N
        apply: the part tau^2 Sigma of the covariance commutes with h and is a part of v; of Sigma e e' Sigma only
        ||e|| <= y is known, so that it is a part of E. (6) A union over rounds and clusters; binomial domination of
        the counts, 2TP events of delta_1 / 2TP. (7) Outside these events there is no bad round, by induction on t.

    Parameters
    ----------
    dynamics
        The run.
    start
        e_0 along the eigenvectors, (..., P, d), or its norms, (P,). The bound holds for all of these starts, or for
        every direction of e_0; the latter is up to 130 times larger if e_0 lies in a fast direction.
    rounds
        T.
    failure
        delta_1, delta_2, delta_3: counts, all rounds, last round.

    Returns
    -------
    Tube
        One chain per cluster.

    Raises
    ------
    InvalidArgument
        If participation is partial, models are averaged, or the server does not divide by m.
    """
    return forward(theorem_d_chains(dynamics, start, rounds=rounds, failure=failure))


def theorem_d_chains(
    dynamics: GaussianDynamics, start: np.ndarray, *, rounds: int, failure: tuple[float, float, float]
) -> Chains:
    """Return Theorem D's recursion; parameters and errors as in ``theorem_d``."""
    algorithm = dynamics.algorithm
    if dynamics.participants != dynamics.clients:
        raise InvalidArgument(
            "participation", algorithm.participation, "must be 1 in Theorem D", "use cfl-mgd/theorem-e"
        )
    if algorithm.averaging != "gradient" or algorithm.normalisation == "cluster":
        raise InvalidArgument(
            "algorithm",
            algorithm,
            "must average gradients and divide by all clients in Theorem D",
            "use cfl-mgd/theorem-e",
        )
    own_counts = np.broadcast_to(dynamics.own.astype(float), (rounds, dynamics.clusters))
    curvature = algorithm.step_size * (dynamics.own / dynamics.clients)[:, None] * dynamics.spectra
    members = Members(
        own=own_counts,
        least_own=own_counts,
        foreign=dynamics.clients - own_counts,
        divisor=np.full(own_counts.shape, float(dynamics.clients)),
    )
    return gaussian_chains(
        dynamics,
        start,
        ConstantStep(curvature, dynamics.spectra, algorithm.momentum, rounds),
        members,
        failure=failure,
        counts=failure[0] / 2,
        freezing=algorithm.empty_cluster == "freeze",
    )
