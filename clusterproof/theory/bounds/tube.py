"""The *tube* of a run: bounds on the error after every round, each computed from the bounds on earlier rounds.

Theorem D bounds the distance of a run from the noise-free run, round by round. The bound r_t uses bounds y_k on the
errors of rounds k < t only, so no fixed point is needed. Call a round *bad* if in it an error exceeds its bound or a
count exceeds its quantile. The proof sets the noise to 0 from the first bad round on. Up to this round the error is
the sum of the noise-free error, the drift of misassigned clients, and a martingale sum with bounded increments. By
Lemma N and a union bound over rounds and clusters, the martingale sum is at most W. By induction, there is no bad
round.

A *chain* is one cluster of one run. The probability of a wrong choice depends on the largest bound of all models in
the run, which is common to the chains of the run. A chain has two kinds of misassigned clients. *False members*
belong to another cluster and chose this chain's model. *Missing members* belong to this chain's cluster and chose
another model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.checker.claims.statistics import binomial_quantile
from clusterproof.theory.bounds.chains import Chains
from clusterproof.theory.bounds.norm_inequality import NormBound, norm_bound
from clusterproof.theory.bounds.responses import Moments

ROUNDING = 1 + 1e-9
"""Factor that multiplies every bound, to allow for rounding errors."""

NEAR_RIM = 0.999
"""Largest radius, as a share of B*, for which pi is evaluated. Beyond B*, the bound of a chain is infinite."""

REUSE = 1e-4
"""W is evaluated at inputs that are larger by this fraction.

The value is reused as long as the actual inputs are at most the enlarged inputs.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tube:
    """The bounds on N chains.

    Attributes
    ----------
    deviation
        Bound r_t on the distance from the noise-free run, (rounds + 1, N). It is infinite after a round in which some
        model may have left the basin, or in which it is uncertain whether a client chose the cluster.
    reach
        Bound y_t on the error, (rounds + 1, N).
    last_deviation, last_reach
        The same two bounds for the last round alone, with a separate failure probability, (N,).
    response
        Response to the initial error after every round, (rounds + 1, runs, P, d).
    misassignment
        Bound on the probability that any participant is misassigned, (runs,), or 0 if misassigned clients are counted.
    misclassification
        Bound pi_t on the probability that a participant prefers a given wrong model, (rounds, N).
    false_members, missing_members
        Bounds n_in and n_out on the numbers of clients that wrongly joined and wrongly left the cluster, (rounds, N).
    steps
        Bound on the error of any participant at every local step, (rounds * local_steps + 1, N).
    searches
        Values of W, one per step, and one for the last round alone.
    evaluations
        Number of sums to which W was applied after a round, after a local step, and after the last round.
    levels
        Failure probability of one use of W after a round, after a local step, and after the last round.
    count_tail
        Probability that a count may exceed its quantile, or 0 if misassigned clients are not counted.
    """

    deviation: np.ndarray
    reach: np.ndarray
    last_deviation: np.ndarray
    last_reach: np.ndarray
    response: np.ndarray
    misassignment: np.ndarray
    misclassification: np.ndarray
    false_members: np.ndarray
    missing_members: np.ndarray
    steps: np.ndarray
    searches: list[NormBound]
    evaluations: tuple[int, int, int]
    levels: tuple[float, float, float]
    count_tail: float

    @property
    def applicable(self) -> bool:
        """Whether every model stays in the basin in every round."""
        return bool(np.isfinite(self.reach).all() and np.isfinite(self.last_reach).all())


class _Sums:
    """Terms of the sums over past steps, one column per step, (N, S)."""

    def __init__(self, chains: int, steps: int) -> None:
        self.rank_one, self.foreign_trace, self.foreign_norm, self.scale = np.zeros((4, chains, steps))
        self.drift, self.member_rank_one, self.member_scale = np.zeros((3, chains, steps))


def forward(chains: Chains) -> Tube:
    """Compute the tube."""
    rows, local = chains.rows, chains.local_steps
    count, dimension = chains.spectrum.shape
    rounds = len(chains.members.own)
    steps = rounds * local
    reach = np.full((steps + 1, count), np.inf)
    deviation = np.full((rounds + 1, count), np.inf)
    reach[0], deviation[0] = chains.growth[0] * ROUNDING, 0.0
    pairwise, false_members, missing_members = np.zeros((3, rounds, count))
    sums, moments = _Sums(count, steps), Moments.zero(chains.spectrum.shape)
    stored: dict[int, tuple[np.ndarray, NormBound]] = {}
    searches: list[NormBound] = []
    last_deviation, last_reach = (deviation[0], reach[0]) if rounds == 0 else np.full((2, count), np.inf)
    alive, uses = np.ones(count, dtype=bool), [0, 0, 0]
    member_moments = moments
    for step in range(steps):
        t, within = divmod(step, local)
        if within == 0:
            widest = reach[step].reshape(-1, chains.clusters).max(axis=1)
            alive &= np.repeat(widest < rows.largest_radius, chains.clusters)
            radii = np.minimum(widest, NEAR_RIM * rows.largest_radius)
            pairwise[t] = np.repeat([rows.misclassification(radius) for radius in radii], chains.clusters)
            false_members[t], missing_members[t] = _counts(chains, t, pairwise[t])
            alive &= _settled(chains, t, false_members[t], missing_members[t])
            if not alive.any():
                break
            member_moments = moments
        error = np.where(alive, reach[step], 0.0)
        shared, single = _record(chains, sums, step, error, false_members[t], missing_members[t])
        moments = chains.responses.propagate(moments, step, shared[:, None] * chains.spectrum)
        plain, weighted = chains.responses.advance(step + 1)
        ends_round = within == local - 1
        if not ends_round:
            inflow = single[:, None] * chains.spectrum
            member_moments = chains.responses.propagate(member_moments, step, inflow)
        begin = step + 1 if ends_round else t * local
        spread = (moments if ends_round else member_moments).now
        inputs = _inputs(sums, spread, plain, weighted, begin)
        if within not in stored or not _covers(stored[within][0], inputs):
            tail = chains.everywhere if ends_round else chains.inside
            stored[within] = (inputs * (1 + REUSE), _evaluate(inputs * (1 + REUSE), tail, dimension))
        bound = stored[within][1]
        drift = np.einsum("nk,nk->n", sums.drift[:, : step + 1], plain)
        reach[step + 1] = (chains.growth[step + 1] + drift + bound.radius) * ROUNDING
        uses[0 if ends_round else 1] += count
        searches.append(bound)
        if ends_round:
            deviation[t + 1] = np.where(alive, (drift + bound.radius) * ROUNDING, np.inf)
        if step == steps - 1:
            final = _evaluate(inputs * (1 + REUSE), chains.last, dimension)
            last_deviation = np.where(alive, (drift + final.radius) * ROUNDING, np.inf)
            last_reach = np.where(alive, (chains.growth[-1] + drift + final.radius) * ROUNDING, np.inf)
            searches.append(final)
            uses[2] += count
    union = chains.participants * (chains.clusters - 1) * pairwise[:, :: chains.clusters].sum(axis=0)
    return Tube(
        deviation=deviation,
        reach=np.where(np.isfinite(deviation), reach[::local], np.inf),
        last_deviation=last_deviation,
        last_reach=last_reach,
        response=chains.responses.start()[::local].reshape(rounds + 1, -1, chains.clusters, dimension),
        misassignment=np.zeros_like(union) if chains.count_tail else union,
        misclassification=pairwise,
        false_members=false_members,
        missing_members=missing_members,
        steps=reach,
        searches=searches,
        evaluations=(uses[0], uses[1], uses[2]),
        levels=(chains.everywhere, chains.inside, chains.last),
        count_tail=chains.count_tail,
    )


def _counts(chains: Chains, t: int, pairwise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return n_in and n_out for every chain. Both are 0 if every misassignment is a failure."""
    members, tail = chains.members, chains.count_tail
    if tail == 0:
        return np.zeros(len(pairwise)), np.zeros(len(pairwise))

    def quantile(count: float, probability: float) -> float:
        if (
            count * probability <= tail
        ):  # by Markov's inequality, even a single misassigned client has a probability below the tail
            return 0.0
        return float(binomial_quantile(int(count), float(probability), tail))

    away = np.minimum(1.0, (chains.clusters - 1) * pairwise)
    return (
        np.array([quantile(*pair) for pair in zip(members.foreign[t], pairwise, strict=True)]),
        np.array([quantile(*pair) for pair in zip(members.own[t], away, strict=True)]),
    )


def _settled(chains: Chains, t: int, false_members: np.ndarray, missing_members: np.ndarray) -> np.ndarray:
    """Return for each chain whether it is certain that some client chooses the cluster, or certain that no client does.

    The result matters in two cases: the divisor is the number of clients that chose the cluster, or the model of a
    cluster that no client chose stays unchanged. In all other cases, the result is True.
    """
    members = chains.members
    present = members.least_own[t] - missing_members
    settled = np.where(members.own[t] > 0, present >= 1, false_members == 0)
    return np.asarray(settled | ~((members.divisor[t] == 0) | chains.freezing))


def _record(
    chains: Chains,
    sums: _Sums,
    step: int,
    error: np.ndarray,
    false_members: np.ndarray,
    missing_members: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Store the terms of a step; return the factors of Sigma in the noise covariances of the mean and of a client."""
    rows, members, t = chains.rows, chains.members, step // chains.local_steps
    eta, samples = chains.step_size, rows.samples
    own_counts, divisor = members.own[t], members.divisor[t]
    counted = divisor == 0
    safe = np.where(counted, np.maximum(members.least_own[t] - missing_members, 1.0), divisor)
    far = np.where(false_members > 0, chains.diameter + error, 0.0)
    most = np.minimum(false_members, safe)  # i / (n + i)^2 is largest for i = n
    foreign = eta**2 / samples * np.where(counted, most / (safe + most) ** 2, false_members / safe**2)
    weight = eta**2 / samples * np.where(counted, own_counts > 0, own_counts / safe) / safe
    tails = [
        np.where(own_counts > 0, rows.tail(error), 0.0),
        np.where(false_members > 0, rows.tail(far), 0.0),
    ]
    sums.scale[:, step] = eta / (safe * samples) * np.maximum(*tails)
    mixed = false_members / (safe + false_members) * (chains.diameter + 2 * error)
    shifted = (false_members * far + missing_members * error) / safe
    sums.drift[:, step] = eta * rows.smoothness * np.where(counted, mixed, shifted)
    sums.rank_one[:, step] = (weight + chains.fluctuation[t]) * rows.rank_one(error)
    shared = weight * rows.variance(error)
    if chains.common_spectrum:
        sums.rank_one[:, step] += foreign * rows.rank_one(far)
        shared = shared + foreign * rows.variance(far)
    else:
        tail = rows.rank_one(far) * rows.smoothness**2
        widest = chains.spectrum.sum(axis=-1).max()
        sums.foreign_trace[:, step] = foreign * (rows.variance(far) * widest + tail)
        sums.foreign_norm[:, step] = foreign * (rows.variance(far) * rows.smoothness + tail)
    single = np.where(own_counts > 0, eta**2 / samples, 0.0)
    sums.member_rank_one[:, step] = single * rows.rank_one(error)
    sums.member_scale[:, step] = single / eta * rows.tail(error)
    return shared, single * rows.variance(error)


def _inputs(
    sums: _Sums, profile: np.ndarray, plain: np.ndarray, weighted: np.ndarray, begin: int
) -> np.ndarray:
    """Return the arguments tr, op, Gamma, eps_1 and v for W as columns, (N, 4 + d).

    From the step ``begin`` on, the noise is the noise of a single client.
    """
    step = plain.shape[1]

    def joined(shared: np.ndarray, member: np.ndarray) -> np.ndarray:
        return np.concatenate([shared[:, : min(begin, step)], member[:, begin:step]], axis=1)

    rank_one = joined(sums.rank_one, sums.member_rank_one)
    slack = np.einsum("nk,nk,nk->n", rank_one, weighted, weighted)
    foreign_trace, foreign_norm = (
        np.einsum("nk,nk,nk->n", getattr(sums, name)[:, :step], plain, plain)
        for name in ("foreign_trace", "foreign_norm")
    )
    scale = (joined(sums.scale, sums.member_scale) * plain).max(axis=1)
    trace = profile.sum(axis=-1) + slack + foreign_trace
    largest = profile.max(axis=-1) + slack + foreign_norm
    if foreign_trace.any():  # the profile does not contain the part of the false members
        profile = np.full_like(profile, np.nan)
    return np.column_stack([trace, largest, scale, slack, profile])


def _covers(stored: np.ndarray, inputs: np.ndarray) -> bool:
    """Return whether W at the stored inputs bounds W at the given inputs, with a relative excess of at most 3 REUSE."""
    if inputs.shape != stored.shape:
        return False
    close = inputs[:, :3] >= (1 - 3 * REUSE) * stored[:, :3]
    return bool((inputs <= stored).all() and close.all())


def _evaluate(inputs: np.ndarray, failure: float, dimension: int) -> NormBound:
    trace, largest, scale, slack = inputs[:, :4].T
    profile = None if np.isnan(inputs[:, 4:]).any() else inputs[:, 4:]
    level = -math.log(failure)
    return norm_bound(trace, largest, scale, level, dimension, profile=profile, slack=slack)
