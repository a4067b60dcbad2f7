"""Theorem E: Theorem D under partial participation, with any divisor, and for option II with local steps.

K participants are drawn uniformly without replacement, independently of all data. Either no misassignment is
tolerated, and its probability is added to the failure probability, or intruders and strays are counted as in
Theorem D (``counted``; option I only).

**On the record.** Condition on who took part in every round: the rows keep their law. With k own participants and the
divisor N the step eta k / N of a round is known, and Theorem D's proof goes through with the responses of the
recursion whose step varies; a frozen cluster stands still, one that coasts has step 0. The chosen clusters must not
be conditioned on (later choices depend on earlier gradients), so the counts keep their quantiles.

**Before the run**, divisor "cluster": the step is eta; V and Gamma decrease in k, so that the least count k_- not
excluded by a hypergeometric tail is the worst. Divisor m or K: the mean step is eta l_p K / N, k_+ the largest count
(and where an empty cluster freezes, k_- >= 1 is needed, too: each side then has half of the tail);
-eta (k_t - l_p K) Sigma e_t / N adds a centred term whose log-moment is at most theta' V theta / 2 with
V = eta^2 K (1 - (K - 1) / m) / (4 N^2) Sigma e e' Sigma (Hoeffding 1963, Serfling 1974: a centred hypergeometric
count is sub-Gaussian).

**Option II.** The clients of a cluster share the Hessian, so that the mean over participants of (chi_i, u_i) follows
the recursion of T H steps with step eta, its noise averaged over the participants at their own points. Inside a round
a client's own noise replaces the mean's: it is not added to it.

**Counted intruders, divisor "cluster"** (an addition of ours to the counts of Theorem D). Let o <= n_out of the k own
participants stray and i <= n_in others come. The mean gradient of the a + i members, a = k - o, is Sigma e +
mis + zeta with ||mis|| <= i / (a + i) L (D + 2 y), because an intruder's expected gradient differs from Sigma_p e by
Sigma_q (chi_p - theta_q) - Sigma_p e. The right side increases in i and decreases in a. The own rows' covariance
carries a / (a + i)^2 <= 1 / a, the intruders' i / (a + i)^2, which for i <= n_in is largest at min(n_in, a) and then
decreases in a; Gamma carries 1 / (a + i) <= 1 / a. So a = k_- - n_out is the worst throughout. If everybody who takes
part belongs elsewhere the sum has no own rows, and the bound gives up: k_- - n_out >= 1 is required.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.logarithmic.gaussian import GaussianDynamics
from clusterproof.theory.bounds.logarithmic.responses import ConstantStep, Responses, VaryingStep
from clusterproof.theory.bounds.logarithmic.theorem_d import growth_of
from clusterproof.theory.bounds.logarithmic.tube import Chains, Members, Tube, forward


@dataclass(frozen=True, eq=False, kw_only=True)
class ParticipationBound:
    """Theorem E's bound.

    Attributes
    ----------
    tube
        Its chains are the clusters of one run after the other.
    response
        Response to the start at every round, (rounds + 1, runs, P, d).
    members
        The participants that it reckons with.
    misassignment
        Bound on the probability that any participant is misassigned, one a run; 0 where they are counted.
    """

    tube: Tube
    members: Members
    response: np.ndarray
    misassignment: np.ndarray


def theorem_e_recorded(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    own: np.ndarray,
    *,
    failure: tuple[float, float, float],
    counted: bool = False,
) -> ParticipationBound:
    """Bound runs whose participants are known.

    With probability at least 1 - delta_2 - delta_3 - misassignment (1 - delta_1 - delta_2 - delta_3 where
    ``counted``) a run stays below its bound at every round and after the last.

    Parameters
    ----------
    dynamics
        The run.
    start
        e_0 along the eigenvectors, (P, d) or (runs, P, d), or norms, (P,).
    own
        Participants of each cluster in each round, integers (rounds, runs, P).
    failure
        delta_1 (counts; not used otherwise), delta_2 and delta_3.
    counted
        Tolerate misassigned clients, by counts.

    Raises
    ------
    InvalidArgument
        If misassigned clients are to be counted under option II.
    """
    _check_counted(dynamics, counted)
    rounds, runs, _ = own.shape
    flat = own.reshape(rounds, -1).astype(float)
    algorithm, spectrum = dynamics.algorithm, np.tile(dynamics.spectra, (runs, 1))
    divisor = _divisor(dynamics)
    by_members = divisor == 0
    empty = flat == 0
    freezes = algorithm.averaging == "model" or algorithm.empty_cluster == "freeze"
    share = np.where(empty, 0.0, 1.0) if by_members else flat / divisor
    local = dynamics.local_steps
    steps = np.repeat(algorithm.step_size * share, local, axis=0)
    frozen = np.repeat(empty & freezes, local, axis=0)
    resets = (np.arange(rounds * local) % local == 0) & algorithm.reset_momentum
    responses = VaryingStep(steps[:, :, None] * spectrum, spectrum, algorithm.momentum, frozen, resets)
    members = Members(
        own=flat,
        least_own=flat,
        foreign=dynamics.participants - flat,
        divisor=np.full(flat.shape, divisor),
    )
    tail = failure[0] / 2 if counted else 0.0
    return _bound(dynamics, start, responses, members, np.zeros(flat.shape), failure, tail, freezes)


def theorem_e(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    *,
    rounds: int,
    failure: tuple[float, float, float],
    counted: bool = False,
) -> ParticipationBound:
    """Bound a run before it is made, whoever will take part.

    With probability at least 1 - delta_1 - delta_2 - delta_3 - misassignment the run stays below its bound at every
    round and after the last. A cluster that may be empty (k_- = 0) under the divisor "cluster" or option II has no
    bound: use the record.

    Parameters
    ----------
    dynamics
        The run.
    start
        e_0 along the eigenvectors, (..., P, d), or norms, (P,).
    rounds
        T.
    failure
        delta_1 (counts of participants, and of misassigned ones where ``counted``), delta_2 and delta_3.
    counted
        Tolerate misassigned clients, by counts.

    Raises
    ------
    InvalidArgument
        If misassigned clients are to be counted under option II.
    """
    _check_counted(dynamics, counted)
    clusters, clients, drawn = dynamics.clusters, dynamics.clients, dynamics.participants
    divisor = _divisor(dynamics)
    by_members = divisor == 0
    shape = (rounds, clusters)
    algorithm, local = dynamics.algorithm, dynamics.local_steps
    freezes = algorithm.averaging == "model" or algorithm.empty_cluster == "freeze"
    total = failure[0] / (2 if counted else 1)
    least, most = participant_range(
        dynamics.own,
        drawn,
        total / (max(rounds, 1) * clusters),
        below=by_members or freezes,
        above=not by_members,
    )
    share = np.ones(clusters) if by_members else dynamics.own * drawn / clients / divisor
    curvature = algorithm.step_size * share[:, None] * dynamics.spectra
    steps = rounds * local
    responses: Responses
    if algorithm.reset_momentum and local > 1:
        every = np.broadcast_to(curvature, (steps, *curvature.shape))
        resets = np.arange(steps) % local == 0
        standing = np.zeros((steps, clusters), dtype=bool)
        responses = VaryingStep(every, dynamics.spectra, algorithm.momentum, standing, resets)
    else:
        momentum = 0.0 if algorithm.reset_momentum else algorithm.momentum
        responses = ConstantStep(curvature, dynamics.spectra, momentum, steps)
    spread = 0.0 if by_members or drawn == clients else drawn / (4 * divisor**2) * (1 - (drawn - 1) / clients)
    members = Members(
        own=np.broadcast_to(most.astype(float), shape),
        least_own=np.broadcast_to(least.astype(float), shape),
        foreign=np.broadcast_to(np.minimum(drawn - least, clients - dynamics.own).astype(float), shape),
        divisor=np.full(shape, divisor),
    )
    fluctuation = np.full(shape, algorithm.step_size**2 * spread)
    counts = failure[0] / 4 if counted else 0.0
    return _bound(dynamics, start, responses, members, fluctuation, failure, counts, freezes)


def participant_range(
    own: np.ndarray, drawn: int, tail: float, *, below: bool = True, above: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Counts k_- and k_+ of each cluster's participants that a round exceeds with at most a given probability.

    Parameters
    ----------
    own
        Clients of each cluster, integers (P,).
    drawn
        K, participants in a round.
    tail
        Allowed P(k < k_- or k > k_+); each side has half where both are asked for.
    below, above
        Whether that side is needed; where not, it is the sure one.
    """
    from scipy.stats import hypergeom

    clients = int(own.sum())
    each = tail / (below + above) if below or above else 1.0

    def largest(marked: int) -> int:
        """Least k with P(Hyp(m, marked, K) > k) <= the tail of one side."""
        low, high = -1, min(marked, drawn)
        while high - low > 1:
            middle = (low + high) // 2
            exceeds = hypergeom.sf(middle, clients, marked, drawn)
            low, high = (low, middle) if exceeds <= each else (middle, high)
        return high

    fewest = [
        drawn - (largest(clients - int(one)) if below else min(clients - int(one), drawn)) for one in own
    ]
    most = [largest(int(one)) if above else min(int(one), drawn) for one in own]
    return np.array(fewest), np.array(most)


def _divisor(dynamics: GaussianDynamics) -> float:
    """N, or 0 where it is the number of those who chose the model."""
    algorithm = dynamics.algorithm
    if algorithm.averaging == "model" or algorithm.normalisation == "cluster":
        return 0.0
    return float(dynamics.clients if algorithm.normalisation == "clients" else dynamics.participants)


def _check_counted(dynamics: GaussianDynamics, counted: bool) -> None:
    if counted and dynamics.algorithm.averaging == "model":
        raise InvalidArgument(
            "counted",
            counted,
            "must be False under option II, where an intruder's local steps lead elsewhere",
            "leave it out: any misassignment then counts as a failure",
        )


def _bound(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    responses: Responses,
    members: Members,
    fluctuation: np.ndarray,
    failure: tuple[float, float, float],
    counts: float,
    freezes: bool,
) -> ParticipationBound:
    """Run the recursion; ``counts`` is what all counts of misassigned clients may fail with, each half."""
    rounds, chains = members.own.shape
    clusters, local, drawn = dynamics.clusters, dynamics.local_steps, dynamics.participants
    runs, turns = chains // clusters, max(rounds, 1)
    response = responses.start()
    path = start
    if start.ndim == 1:
        path = np.tile(start, runs)
    elif start.ndim == 3 and runs > 1:
        path = start.reshape(chains, -1)
    elif start.ndim == 2 and runs > 1:
        path = np.tile(start, (runs, 1))
    _, everywhere, last = failure
    halves = 2 if local > 1 else 1
    tube = forward(
        Chains(
            rows=dynamics.rows,
            clusters=clusters,
            diameter=dynamics.diameter,
            step_size=dynamics.algorithm.step_size,
            local_steps=local,
            spectrum=np.tile(dynamics.spectra, (runs, 1)),
            common_spectrum=dynamics.common_covariance,
            growth=growth_of(response, path),
            responses=responses,
            members=members,
            fluctuation=fluctuation,
            freezing=freezes,
            count_tail=counts / (turns * clusters),
            everywhere=everywhere / (halves * turns * clusters),
            inside=everywhere / (2 * drawn * turns * max(local - 1, 1)),
            last=last / clusters,
        )
    )
    wrong = np.zeros(runs)
    if counts == 0:
        wrong = drawn * (clusters - 1) * tube.misclassification[:, ::clusters].sum(axis=0)
    return ParticipationBound(
        tube=tube,
        members=members,
        response=response[::local].reshape(rounds + 1, runs, clusters, -1),
        misassignment=wrong,
    )
