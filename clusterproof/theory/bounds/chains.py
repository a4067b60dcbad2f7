"""Input of the tube of Theorem D. Each of its chains is one cluster of one run on Gaussian regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.theory.bounds.gaussian import GaussianDynamics
from clusterproof.theory.bounds.responses import Responses
from clusterproof.theory.bounds.rows import GaussianRows


@dataclass(frozen=True, eq=False, kw_only=True)
class Members:
    """Bounds, known in advance, on the number of participants in each round of every chain; all (rounds, N).

    Attributes
    ----------
    own
        Upper bound on the number of participants from the chain's cluster.
    least_own
        Lower bound on the number of participants from the chain's cluster.
    foreign
        Upper bound on the number of participants from other clusters.
    divisor
        Divisor of the sum of gradients; 0 if it is the number of clients that chose the model.
    """

    own: np.ndarray
    least_own: np.ndarray
    foreign: np.ndarray
    divisor: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """The input of the recursion; N chains, S = rounds * local_steps steps.

    Attributes
    ----------
    rows
        The law of the rows.
    clusters
        P; the chains of one run are adjacent.
    diameter
        Largest distance between two optima (D).
    step_size
        eta.
    local_steps
        H.
    participants
        K.
    spectrum
        lambda, (N, d).
    common_spectrum
        Whether all clusters have the same covariance.
    growth
        Norm of the noise-free path, (S + 1, N).
    responses
        Responses of the chains.
    members
        Participants of each round.
    fluctuation
        Coefficient of y^2 (Sigma u u' Sigma) that a random step adds to the covariance, (rounds, N).
    freezing
        Whether a cluster that no client chose keeps its model and its momentum.
    count_tail
        Probability with which one count may exceed its quantile; 0 if any misassigned client counts as a failure.
    everywhere, inside, last
        Failure probabilities of one use of W: at a round, at a local step, and after the last round.
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
    """Return the recursion of Theorem D, with the failure probabilities divided among all uses of W.

    Parameters
    ----------
    dynamics
        Dynamics of the runs; there are as many chains as ``members`` has columns.
    start
        e_0 along the eigenvectors, (..., P, d), or its norms, (P,).
    responses, members
        Responses and members of all chains.
    failure
        delta_1 (unused here), delta_2 and delta_3.
    counts
        Failure probability of all counts of false members together. The counts of missing members have the same failure
        probability.
    freezing, fluctuation
        As in ``Chains``, but constant for all rounds.
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
    """Return the norm of the noise-free path, (S + 1, N): the largest over starts (..., N, d), or from norms (N,)."""
    if start.ndim == 1:
        return np.asarray(np.abs(response).max(axis=-1) * start)
    squares = np.square(start).reshape(-1, *start.shape[-2:])
    paths = np.einsum("snj,rnj->srn", np.square(response), squares)
    return np.asarray(np.sqrt(paths.max(axis=1)))
