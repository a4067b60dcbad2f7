"""Theorem D: a two-sided bound for Gaussian regression, which depends on the failure probability logarithmically.

In every round, K of the m clients are drawn uniformly without replacement and independently of all data. Under option
I, the bound counts clients that wrongly joined or wrongly left a cluster. Alternatively, under both options, every
misassignment is a failure, and its probability is part of the failure probability.

``docs/explanation/theorem-d.md`` has the statement and the proof. The proof sets the noise to 0 from the first round
in which a bound fails. Then the error follows a linear recursion. The counts of misassigned clients bound the drift,
and Lemmas R and N bound the noise, which is a martingale sum. A union bound over rounds and clusters, and an
induction, show that no bound fails.
"""

from __future__ import annotations

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.theory.bounds.chains import Members, gaussian_chains
from clusterproof.theory.bounds.gaussian import GaussianDynamics
from clusterproof.theory.bounds.responses import ConstantStep, Responses, VaryingStep
from clusterproof.theory.bounds.tube import Tube, forward


def theorem_d(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    *,
    rounds: int,
    failure: tuple[float, float, float],
    counted: bool | None = None,
) -> Tube:
    """Bound a run in advance, for all possible draws of participants.

    With probability at least 1 - delta_1 - delta_2 - delta_3 - misassignment the error of the run is at most the
    bound after every round and after the last round. With the divisor "cluster", or under option II, there is no
    bound for a cluster that may be empty (k_- = 0). In this case use ``theorem_d_recorded``, with the recorded
    participants.

    Parameters
    ----------
    dynamics
        Dynamics of the run.
    start
        Components of e_0 along the eigenvectors, (..., P, d), or norms of e_0, (P,). For vectors, the bound holds for
        all given e_0. For norms, it holds for every direction of e_0, and can be 130 times larger than for an e_0
        whose direction contracts fast.
    rounds
        Number of rounds T.
    failure
        Failure probabilities: delta_1 for counts of participants (and of misassigned clients if ``counted``), delta_2
        and delta_3.
    counted
        Whether the bound counts misassigned clients. If False, every misassignment is a failure. If None,
        ``counts_all`` decides.

    Raises
    ------
    InvalidArgument
        If ``counted`` is True under option II.
    """
    clusters, clients, drawn = dynamics.clusters, dynamics.clients, dynamics.participants
    algorithm, local, divisor = dynamics.algorithm, dynamics.local_steps, _divisor(dynamics)
    counted = counts_all(dynamics) if counted is None else counted
    by_members, partial = divisor == 0, drawn < clients
    least, most = participant_range(
        dynamics.own,
        drawn,
        failure[0] / (2 if counted else 1) / (max(rounds, 1) * clusters),
        below=by_members or _freezes(dynamics),
        above=not by_members,
    )
    share = np.ones(clusters) if by_members else dynamics.own * drawn / clients / divisor
    curvature = algorithm.step_size * share[:, None] * dynamics.spectra
    steps = rounds * local
    responses: Responses
    if algorithm.reset_momentum and local > 1:
        constant = np.broadcast_to(curvature, (steps, *curvature.shape))
        resets = np.arange(steps) % local == 0
        frozen = np.zeros((steps, clusters), dtype=bool)
        responses = VaryingStep(constant, dynamics.spectra, algorithm.momentum, frozen, resets)
    else:
        momentum = 0.0 if algorithm.reset_momentum else algorithm.momentum
        responses = ConstantStep(curvature, dynamics.spectra, momentum, steps)
    spread = drawn / (4 * divisor**2) * (1 - (drawn - 1) / clients) if partial and not by_members else 0.0

    def every_round(counts: np.ndarray) -> np.ndarray:
        return np.broadcast_to(counts.astype(float), (rounds, clusters))

    members = Members(
        own=every_round(most),
        least_own=every_round(least),
        foreign=every_round(np.minimum(drawn - least, clients - dynamics.own)),
        divisor=np.full((rounds, clusters), divisor),
    )
    # if the counts of participants vary, half of delta_1 is for these counts
    counts = failure[0] / (4 if partial else 2) if counted else 0.0
    return _bound(
        dynamics, start, responses, members, failure, counts, fluctuation=algorithm.step_size**2 * spread
    )


def theorem_d_recorded(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    own: np.ndarray,
    *,
    failure: tuple[float, float, float],
    counted: bool = False,
) -> Tube:
    """Bound runs with known participants.

    With probability at least 1 - delta_2 - delta_3 - misassignment (1 - delta_1 - delta_2 - delta_3 if ``counted``) a
    run stays below the bound at every round and after the last round.

    Parameters
    ----------
    dynamics
        Dynamics of the run.
    start
        Components of e_0 along the eigenvectors, (P, d) or (runs, P, d), or norms of e_0, (P,).
    own
        Number of participants of each cluster in each round, integers (rounds, runs, P).
    failure
        Failure probabilities: delta_1 for counts (unused unless ``counted``), delta_2 and delta_3.
    counted
        Whether the bound counts misassigned clients. If False, every misassignment is a failure.

    Raises
    ------
    InvalidArgument
        If ``counted`` is True under option II.
    """
    rounds, runs, clusters = own.shape
    flat = own.reshape(rounds, runs * clusters).astype(float)
    algorithm, spectrum, local = (
        dynamics.algorithm,
        np.tile(dynamics.spectra, (runs, 1)),
        dynamics.local_steps,
    )
    divisor = _divisor(dynamics)
    share = np.where(flat == 0, 0.0, 1.0) if divisor == 0 else flat / divisor
    steps = np.repeat(algorithm.step_size * share, local, axis=0)
    frozen = np.repeat((flat == 0) & _freezes(dynamics), local, axis=0)
    resets = (np.arange(rounds * local) % local == 0) & algorithm.reset_momentum
    responses = VaryingStep(steps[:, :, None] * spectrum, spectrum, algorithm.momentum, frozen, resets)
    members = Members(
        own=flat,
        least_own=flat,
        foreign=dynamics.participants - flat,
        divisor=np.full(flat.shape, divisor),
    )
    counts = failure[0] / 2 if counted else 0.0
    return _bound(dynamics, start, responses, members, failure, counts)


def counts_all(dynamics: GaussianDynamics) -> bool:
    """Return whether all clients take part under option I, and the server divides the gradient sum by their number.

    In this case only the samples are random, and the bound always counts misassigned clients.
    """
    return dynamics.participants == dynamics.clients and _divisor(dynamics) == dynamics.clients


def participant_range(
    own: np.ndarray, drawn: int, tail: float, *, below: bool = True, above: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds k_- and k_+ on each cluster's number of participants, which fail with probability at most ``tail``.

    Parameters
    ----------
    own
        Number of clients of each cluster, integers (P,).
    drawn
        Number of participants in a round (K).
    tail
        Allowed probability P(k < k_- or k > k_+). If both bounds are needed, each fails with probability at most
        ``tail`` / 2.
    below, above
        Whether k_- and k_+ are needed. A bound that is not needed is the smallest or largest possible count.
    """
    clients = int(own.sum())
    if drawn == clients:
        return np.array(own), np.array(own)
    from scipy.stats import hypergeom  # this import takes 0.3 s, and full participation does not need it

    one_side = tail / (below + above) if below or above else 1.0

    def largest(marked: int) -> int:
        """Return the smallest k such that P(Hyp(m, marked, K) > k) is at most the allowed probability of one side."""
        low, high = -1, min(marked, drawn)
        while high - low > 1:
            middle = (low + high) // 2
            exceeds = hypergeom.sf(middle, clients, marked, drawn)
            low, high = (low, middle) if exceeds <= one_side else (middle, high)
        return high

    others = [clients - int(size) for size in own]
    least = [drawn - (largest(size) if below else min(size, drawn)) for size in others]
    most = [largest(int(size)) if above else min(int(size), drawn) for size in own]
    return np.array(least), np.array(most)


def _divisor(dynamics: GaussianDynamics) -> float:
    """Return the divisor N of the gradient sums, or 0 if it is the number of clients that chose the model."""
    algorithm = dynamics.algorithm
    if algorithm.averaging == "model" or algorithm.normalisation == "cluster":
        return 0.0
    return float(dynamics.clients if algorithm.normalisation == "clients" else dynamics.participants)


def _freezes(dynamics: GaussianDynamics) -> bool:
    """Return whether the model and the momentum of a cluster without participants stay unchanged."""
    return dynamics.algorithm.averaging == "model" or dynamics.algorithm.empty_cluster == "freeze"


def _bound(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    responses: Responses,
    members: Members,
    failure: tuple[float, float, float],
    counts: float,
    fluctuation: float = 0.0,
) -> Tube:
    """Compute the bound with the recursion. ``gaussian_chains`` describes the parameters."""
    if counts and dynamics.algorithm.averaging == "model":
        raise InvalidArgument(
            "counted",
            True,
            "must be False under option II, where local steps of a misassigned client lead to another optimum",
            "leave counted out, so that every misassignment is a failure",
        )
    return forward(
        gaussian_chains(
            dynamics,
            start,
            responses,
            members,
            failure=failure,
            counts=counts,
            freezing=_freezes(dynamics),
            fluctuation=fluctuation,
        )
    )
