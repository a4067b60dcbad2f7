"""Theorem D: option I on Gaussian regression, with the failure probability inside a logarithm, and two-sided."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.logarithmic.gaussian import GaussianDynamics
from clusterproof.theory.bounds.logarithmic.responses import ConstantStep
from clusterproof.theory.bounds.logarithmic.tube import Chains, Members, Tube, forward


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
        mis_t + zeta_t: the nominal step is deterministic, whatever the assignment, mis_t = [- strays Sigma_p e_t +
        sum over intruders of Sigma_q (chi_p - theta_q)] / m, and zeta_t is centred. (2) Bad round: the first in which
        some error exceeds y or some count its quantile. Freeze: mis and zeta are 0 from it on. (3) The frozen error
        is Pi_t e_0 - eta sum_(k<t) h_(t-1-k) (mis_k + zeta_k), and equals e_t up to the bad round. (4) The drift's
        part is at most bias_t. (5) The noise's part is a martingale sum to which Lemmas R and N apply: the
        part tau^2 Sigma of the covariance commutes with h and goes into v, of Sigma e e' Sigma only ||e|| <= y is
        known, so it goes into E. (6) A union over rounds and clusters; binomial domination of the counts, 2TP events
        of delta_1 / 2TP. (7) Outside these events there is no bad round, by induction on t.

    Parameters
    ----------
    dynamics
        The run.
    start
        e_0 along the eigenvectors, (..., P, d): several starts share the widest path. Or its norms, (P,): then every
        direction is allowed for, which is up to 130 times larger where e_0 lies in a fast one.
    rounds
        T.
    failure
        delta_1, delta_2, delta_3: counts, all rounds, last round.

    Returns
    -------
    Tube
        With one chain a cluster.

    Raises
    ------
    InvalidArgument
        If participation is partial, models are averaged, or the server divides by something else than m.
    """
    return forward(theorem_d_chains(dynamics, start, rounds=rounds, failure=failure))


def theorem_d_chains(
    dynamics: GaussianDynamics, start: np.ndarray, *, rounds: int, failure: tuple[float, float, float]
) -> Chains:
    """Give Theorem D's recursion: parameters, and what it refuses, as ``theorem_d``."""
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
    own, clusters = dynamics.own.astype(float), dynamics.clusters
    curvature = algorithm.step_size * (own / dynamics.clients)[:, None] * dynamics.spectra
    responses = ConstantStep(curvature, dynamics.spectra, algorithm.momentum, rounds)
    counts, everywhere, last = failure
    turns = max(rounds, 1)
    shape = (rounds, clusters)
    return Chains(
        rows=dynamics.rows,
        clusters=clusters,
        diameter=dynamics.diameter,
        step_size=algorithm.step_size,
        spectrum=dynamics.spectra,
        common_spectrum=dynamics.common_covariance,
        growth=growth_of(responses.start(), start),
        responses=responses,
        members=Members(
            own=np.broadcast_to(own, shape),
            least_own=np.broadcast_to(own, shape),
            foreign=np.broadcast_to(dynamics.clients - own, shape),
            divisor=np.full(shape, float(dynamics.clients)),
        ),
        fluctuation=np.zeros(shape),
        freezing=algorithm.empty_cluster == "freeze",
        count_tail=counts / (2 * turns * clusters),
        everywhere=everywhere / (turns * clusters),
        last=last / clusters,
    )


def growth_of(response: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Norm of the noise-free path, (S + 1, N); the widest where several starts are given.

    Parameters
    ----------
    response
        Response to the start, (S + 1, N, d).
    start
        e_0 along the eigenvectors, (..., N, d), or its norms, (N,).
    """
    if start.ndim == 1:
        return np.asarray(np.abs(response).max(axis=-1) * start)
    squares = np.square(start).reshape(-1, *start.shape[-2:])
    paths = np.einsum("snj,rnj->srn", np.square(response), squares)
    return np.asarray(np.sqrt(paths.max(axis=1)))
