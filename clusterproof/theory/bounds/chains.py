"""Input for the recursion of bounds in Theorem D. A *chain* is one cluster of one run on Gaussian regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.theory.bounds.gaussian import GaussianDynamics
from clusterproof.theory.bounds.responses import Responses
from clusterproof.theory.bounds.rows import GaussianRows


@dataclass(frozen=True, eq=False, kw_only=True)
class Members:
    """Known bounds on the numbers of participants in each round, with one column per chain, (rounds, N).

    Attributes
    ----------
    own
        Upper bound on the number of participants from the chain's cluster.
    least_own
        Lower bound on the number of participants from the chain's cluster.
    foreign
        Upper bound on the number of participants from other clusters.
    divisor
        Divisor of the sum of gradients, or 0 if it is the number of clients that chose the model.
    """

    own: np.ndarray
    least_own: np.ndarray
    foreign: np.ndarray
    divisor: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """Input for the recursion, with N chains and S = rounds * local_steps steps.

    Attributes
    ----------
    rows
        Distribution of the samples.
    clusters
        Number of clusters P. The chains of one run are adjacent.
    diameter
        Largest distance between two optima (D).
    step_size
        Step size eta.
    local_steps
        Number of local steps H.
    participants
        Number of participants K.
    spectrum
        Eigenvalues lambda of the covariances, (N, d).
    common_spectrum
        Whether all clusters have the same covariance.
    growth
        Distance between the noise-free path and the optimum after each step, (S + 1, N).
    responses
        Responses of the chains to disturbances.
    members
        Bounds on the numbers of participants.
    fluctuation
        Coefficient of the term y^2 (Sigma u u' Sigma) that a random step size adds to the covariance, (rounds, N).
    freezing
        Whether the model and the momentum of a cluster stay unchanged if no client chose the cluster.
    count_tail
        Probability that a count may exceed its quantile, or 0 if any misassigned client counts as a failure.
    everywhere, inside, last
        Failure probability of a single use of the bound W after a round, after a local step, and after the last
        round.
    """

    rows: GaussianRows
    clusters: int
    diameter: float
    step_size: float
    local_steps: int
    participants: int
    spectrum: np.ndarray
    common_spectrum: bool
    growth: np.ndarray
    responses: Responses
    members: Members
    fluctuation: np.ndarray
    freezing: bool
    count_tail: float
    everywhere: float
    inside: float
    last: float


def gaussian_chains(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    responses: Responses,
    members: Members,
    *,
    failure: tuple[float, float, float],
    counts: float,
    freezing: bool,
    fluctuation: float = 0.0,
) -> Chains:
    """Make the input for Theorem D, and divide the failure probabilities among all uses of the bound W.

    Parameters
    ----------
    dynamics
        Dynamics of the runs. There is one chain per column of ``members``.
    start
        Components of e_0 along the eigenvectors, (..., P, d), or norms of e_0, (P,).
    responses, members
        Responses of all chains to disturbances, and bounds on their numbers of participants.
    failure
        Failure probabilities delta_1 (unused here), delta_2 and delta_3.
    counts
        Failure probability of all counts of clients that wrongly chose a cluster. All counts of clients that wrongly
        left a cluster have the same failure probability.
    freezing, fluctuation
        See ``Chains``. Here the values are the same for all rounds.
    """
    rounds, chains = members.own.shape
    clusters, local = dynamics.clusters, dynamics.local_steps
    runs, uses = chains // clusters, max(rounds, 1) * clusters
    if runs > 1:
        start = start.reshape(chains, -1) if start.ndim == 3 else np.tile(start, (runs, 1)[: start.ndim])
    _, everywhere, last = failure
    return Chains(
        rows=dynamics.rows,
        clusters=clusters,
        diameter=dynamics.diameter,
        step_size=dynamics.algorithm.step_size,
        local_steps=local,
        participants=dynamics.participants,
        spectrum=np.tile(dynamics.spectra, (runs, 1)),
        common_spectrum=dynamics.common_covariance,
        growth=_growth(responses.start(), start),
        responses=responses,
        members=members,
        fluctuation=np.full(members.own.shape, fluctuation),
        freezing=freezing,
        count_tail=counts / uses,
        everywhere=everywhere / ((2 if local > 1 else 1) * uses),
        inside=everywhere / (2 * dynamics.participants * max(rounds, 1) * max(local - 1, 1)),
        last=last / clusters,
    )


def _growth(response: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the largest norm of the noise-free error after each step, (S + 1, N), over the given initial errors."""
    if start.ndim == 1:
        return np.asarray(np.abs(response).max(axis=-1) * start)
    squares = np.square(start).reshape(-1, *start.shape[-2:])
    paths = np.einsum("snj,rnj->srn", np.square(response), squares)
    return np.asarray(np.sqrt(paths.max(axis=1)))
