"""The tube: a deterministic bound on every round's error, computed forward from bounds on earlier rounds.

Theorems D and E bound the distance of a run from its noise-free path, round by round: r_t uses bounds y_k on the
errors of rounds k < t only, so there is no fixed point to be found. The proof freezes the noise at the first *bad
round*, in which a model leaves its tube or a count exceeds its quantile. Up to there the error is the noise-free
path, plus the drift of misassigned clients, plus a martingale sum whose increments the tube bounds; by Lemma N and a
union over rounds and clusters the sum stays below W; hence by induction no round is bad.

A *chain* is one cluster of one run; chains of one run share the tube's widest model, on which wrong choices depend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.theory.bounds.logarithmic.norm_inequality import NormBound, norm_bound
from clusterproof.theory.bounds.logarithmic.responses import Moments, Responses
from clusterproof.theory.bounds.logarithmic.rows import GaussianRows
from clusterproof.theory.statistics import binomial_quantile

ROUNDING = 1 + 1e-9
"""By which every bound is raised, against rounding."""

NEAR_RIM = 0.999
"""Share of B* at which a chain that left the basin is evaluated further; its bound stays infinite."""

REUSE = 1e-4
"""W is evaluated for inputs this much larger, and its value kept while the inputs stay below them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Members:
    """Who takes part in each round, for every chain, as far as it is known beforehand; all (rounds, N).

    Attributes
    ----------
    own
        Upper bound on the participants of the chain's cluster.
    least_own
        Lower bound on them.
    foreign
        Upper bound on the others.
    divisor
        What the sum of gradients is divided by; 0 where that is the number of those who chose the model.
    """

    own: np.ndarray
    least_own: np.ndarray
    foreign: np.ndarray
    divisor: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """Everything that the recursion needs; N chains, S = rounds * local_steps steps.

    Attributes
    ----------
    rows
        The law of the rows.
    clusters
        P; the chains of one run follow each other.
    diameter
        Largest distance of two optima (D).
    step_size
        eta.
    local_steps
        H.
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
        Coefficient of y^2 (Sigma u u' Sigma) by which a random step adds to the covariance, (rounds, N).
    freezing
        Whether a cluster that nobody chose keeps its model and its momentum.
    count_tail
        Probability with which one count may exceed its quantile; 0 where a misassigned client counts as a failure.
    everywhere, inside, last
        Failure probabilities of one use of W: at a round, at a local step, and after the last round.
    """

    rows: GaussianRows
    clusters: int
    diameter: float
    step_size: float
    local_steps: int = 1
    spectrum: np.ndarray
    common_spectrum: bool
    growth: np.ndarray
    responses: Responses
    members: Members
    fluctuation: np.ndarray
    freezing: bool = False
    count_tail: float
    everywhere: float
    inside: float = 0.0
    last: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Tube:
    """The bound; N chains.

    Attributes
    ----------
    deviation
        r_t: distance from the noise-free path, (rounds + 1, N); infinite after a round in which some model of the
        run may have left the basin, or it is not sure whether anybody chose the cluster.
    reach
        y_t: the error, (rounds + 1, N).
    last_deviation, last_reach
        The same after the last round only, with its own failure probability, (N,).
    misclassification
        pi_t: probability with which a participant prefers a given wrong model, (rounds, N).
    intruders, strays
        n_in and n_out, (rounds, N).
    steps
        Bound on the error of any participant at every local step, (rounds * local_steps + 1, N).
    searches
        What W used: for every step from the first on and, last, for the last round alone.
    evaluations
        How many sums W was applied to at a round, at a local step, and after the last round.
    levels
        Failure probability of one use of W at each of these.
    """

    deviation: np.ndarray
    reach: np.ndarray
    last_deviation: np.ndarray
    last_reach: np.ndarray
    misclassification: np.ndarray
    intruders: np.ndarray
    strays: np.ndarray
    steps: np.ndarray
    searches: list[NormBound]
    evaluations: tuple[int, int, int]
    levels: tuple[float, float, float]

    @property
    def applicable(self) -> bool:
        """Whether every model stays in the basin in every round."""
        return bool(np.isfinite(self.reach).all() and np.isfinite(self.last_reach).all())


@dataclass(eq=False)
class _Sums:
    """What each step adds to the sums over the past, (N, S) each, and the sums over steps that were put away, (N,)."""

    rank_one: np.ndarray
    foreign_trace: np.ndarray
    foreign_norm: np.ndarray
    scale: np.ndarray
    drift: np.ndarray
    member_rank_one: np.ndarray
    member_scale: np.ndarray
    old_slack: np.ndarray
    old_foreign_trace: np.ndarray
    old_foreign_norm: np.ndarray
    old_scale: np.ndarray
    old_drift: np.ndarray

    @classmethod
    def zero(cls, chains: int, steps: int) -> _Sums:
        return cls(*(np.zeros((chains, steps)) for _ in range(7)), *(np.zeros(chains) for _ in range(5)))

    def put_away(self, step: int, plain: np.ndarray, steep: np.ndarray) -> None:
        """Bound what a step adds from now on, by the largest responses that are still to come."""
        widest = np.maximum(self.rank_one[:, step], self.member_rank_one[:, step])
        largest = np.maximum(self.scale[:, step], self.member_scale[:, step])
        self.old_slack = self.old_slack + widest * steep**2
        self.old_foreign_trace = self.old_foreign_trace + self.foreign_trace[:, step] * plain**2
        self.old_foreign_norm = self.old_foreign_norm + self.foreign_norm[:, step] * plain**2
        self.old_scale = np.maximum(self.old_scale, largest * plain)
        self.old_drift = self.old_drift + self.drift[:, step] * plain


@dataclass(frozen=True, eq=False)
class _Kept:
    """A value of W and the inputs that it is valid for: columns tr, op, Gamma, eps_1 and v."""

    inputs: np.ndarray
    value: NormBound

    def serves(self, inputs: np.ndarray) -> bool:
        """Whether the value holds for these inputs, and is no more than 3 REUSE above theirs."""
        if inputs.shape != self.inputs.shape:
            return False
        close = inputs[:, :3] >= (1 - 3 * REUSE) * self.inputs[:, :3]
        return bool((inputs <= self.inputs).all() and close.all())


def forward(chains: Chains) -> Tube:
    """Compute the tube."""
    rows, local = chains.rows, chains.local_steps
    count, dimension = chains.spectrum.shape
    rounds = len(chains.members.own)
    steps = rounds * local
    reach = np.full((steps + 1, count), np.inf)
    deviation = np.full((rounds + 1, count), np.inf)
    reach[0], deviation[0] = chains.growth[0] * ROUNDING, 0.0
    pairwise, intruders, strays = (
        np.zeros((rounds, count)),
        np.zeros((rounds, count)),
        np.zeros((rounds, count)),
    )
    sums, moments = _Sums.zero(count, steps), Moments.zero(chains.spectrum.shape)
    kept: dict[int, _Kept] = {}
    searches: list[NormBound] = []
    last_deviation = last_reach = deviation[0] if rounds == 0 else np.full(count, np.inf)
    if rounds == 0:
        last_reach = reach[0]
    alive, uses = np.ones(count, dtype=bool), [0, 0, 0]
    forked = moments
    for step in range(steps):
        turn, within = divmod(step, local)
        if within == 0:
            widest = reach[step].reshape(-1, chains.clusters).max(axis=1)
            alive &= np.repeat(widest < rows.largest_radius, chains.clusters)
            radii = np.minimum(widest, NEAR_RIM * rows.largest_radius)
            pairwise[turn] = np.repeat([rows.misclassification(one) for one in radii], chains.clusters)
            intruders[turn], strays[turn] = _counts(chains, turn, pairwise[turn])
            alive &= _settled(chains, turn, intruders[turn], strays[turn])
            if not alive.any():
                break
            forked = moments
        error = np.where(alive, reach[step], 0.0)
        shared, member = _enter(chains, sums, step, error, intruders[turn], strays[turn])
        moments = chains.responses.propagate(moments, step, shared[:, None] * chains.spectrum)
        plain, steep = chains.responses.advance(step + 1)
        first = step + 1 - plain.shape[1]
        if first > 0:
            sums.put_away(first - 1, *chains.responses.beyond)
        ends_round = within == local - 1
        if not ends_round:
            forked = chains.responses.propagate(forked, step, member[:, None] * chains.spectrum)
        begin = step + 1 if ends_round else turn * local
        spread = (moments if ends_round else forked).now
        inputs = _inputs(sums, spread, plain, steep, first, begin)
        if within not in kept or not kept[within].serves(inputs):
            tail = chains.everywhere if ends_round else chains.inside
            kept[within] = _Kept(inputs * (1 + REUSE), _evaluate(inputs * (1 + REUSE), tail, dimension))
        bound = kept[within].value
        drift = sums.old_drift + np.einsum("nk,nk->n", sums.drift[:, first : step + 1], plain)
        reach[step + 1] = (chains.growth[step + 1] + drift + bound.radius) * ROUNDING
        uses[0 if ends_round else 1] += count
        searches.append(bound)
        if ends_round:
            deviation[turn + 1] = np.where(alive, (drift + bound.radius) * ROUNDING, np.inf)
        if step == steps - 1:
            final = _evaluate(inputs * (1 + REUSE), chains.last, dimension)
            last_deviation = np.where(alive, (drift + final.radius) * ROUNDING, np.inf)
            last_reach = np.where(alive, (chains.growth[-1] + drift + final.radius) * ROUNDING, np.inf)
            searches.append(final)
            uses[2] += count
    return Tube(
        deviation=deviation,
        reach=np.where(np.isfinite(deviation), reach[::local], np.inf),
        last_deviation=last_deviation,
        last_reach=last_reach,
        misclassification=pairwise,
        intruders=intruders,
        strays=strays,
        steps=reach,
        searches=searches,
        evaluations=(uses[0], uses[1], uses[2]),
        levels=(chains.everywhere, chains.inside, chains.last),
    )


def _counts(chains: Chains, turn: int, pairwise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """n_in and n_out of every chain; zero where no misassigned client is tolerated."""
    members, tail = chains.members, chains.count_tail
    if tail == 0:
        return np.zeros(len(pairwise)), np.zeros(len(pairwise))
    away = np.minimum(1.0, (chains.clusters - 1) * pairwise)
    inward = [_quantile(*one, tail) for one in zip(members.foreign[turn], pairwise, strict=True)]
    outward = [_quantile(*one, tail) for one in zip(members.own[turn], away, strict=True)]
    return np.array(inward, dtype=float), np.array(outward, dtype=float)


def _settled(chains: Chains, turn: int, intruders: np.ndarray, strays: np.ndarray) -> np.ndarray:
    """Whether each chain's cluster is surely chosen by some of its own, or surely by nobody.

    Only needed where the divisor is the number of those who chose it, or where a cluster that nobody chose stands
    still: otherwise all chains are.
    """
    members = chains.members
    present = members.least_own[turn] - strays
    settled = np.where(members.own[turn] > 0, present >= 1, intruders == 0)
    return np.asarray(settled | ~((members.divisor[turn] == 0) | chains.freezing))


def _quantile(count: float, probability: float, tail: float) -> int:
    if count * probability <= tail:  # Markov: already one is too rare
        return 0
    return binomial_quantile(int(count), float(probability), tail)


def _enter(
    chains: Chains, sums: _Sums, step: int, error: np.ndarray, intruders: np.ndarray, strays: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Record what a step adds; gives the factors of Sigma in the covariance of the mean's and a member's noise."""
    rows, members, turn = chains.rows, chains.members, step // chains.local_steps
    eta, samples = chains.step_size, rows.samples
    own, divisor = members.own[turn], members.divisor[turn]
    present = members.least_own[turn] - strays
    counted = divisor == 0
    safe = np.where(counted, np.maximum(present, 1.0), divisor)
    far = np.where(intruders > 0, chains.diameter + error, 0.0)
    most = np.minimum(intruders, safe)  # i / (n + i)^2 is largest at i = n
    foreign = eta**2 / samples * np.where(counted, most / (safe + most) ** 2, intruders / safe**2)
    weight = eta**2 / samples * np.where(counted, own > 0, own / safe) / safe
    tails = [np.where(own > 0, rows.tail(error), 0.0), np.where(intruders > 0, rows.tail(far), 0.0)]
    sums.scale[:, step] = eta / (safe * samples) * np.maximum(*tails)
    leaning = intruders / (safe + intruders) * (chains.diameter + 2 * error)
    shifted = (intruders * far + strays * error) / safe
    sums.drift[:, step] = eta * rows.smoothness * np.where(counted, leaning, shifted)
    sums.rank_one[:, step] = (weight + chains.fluctuation[turn]) * rows.rank_one(error)
    shared = weight * rows.variance(error)
    if chains.common_spectrum:
        sums.rank_one[:, step] += foreign * rows.rank_one(far)
        shared = shared + foreign * rows.variance(far)
    else:
        tail = rows.rank_one(far) * rows.smoothness**2
        widest = chains.spectrum.sum(axis=-1).max()
        sums.foreign_trace[:, step] = foreign * (rows.variance(far) * widest + tail)
        sums.foreign_norm[:, step] = foreign * (rows.variance(far) * rows.smoothness + tail)
    single = np.where(own > 0, eta**2 / samples, 0.0)
    sums.member_rank_one[:, step] = single * rows.rank_one(error)
    sums.member_scale[:, step] = single / eta * rows.tail(error)
    return shared, single * rows.variance(error)


def _inputs(
    sums: _Sums, profile: np.ndarray, plain: np.ndarray, steep: np.ndarray, first: int, begin: int
) -> np.ndarray:
    """Columns tr, op, Gamma, eps_1 and v of W, (N, 4 + d).

    The responses are of the steps from ``first`` on, earlier ones were put away; steps from ``begin`` on are a
    member's own.
    """
    step = first + plain.shape[1]

    def joined(shared: np.ndarray, member: np.ndarray) -> np.ndarray:
        return (
            shared[:, first:step]
            if begin >= step
            else np.concatenate([shared[:, first:begin], member[:, max(first, begin) : step]], axis=1)
        )

    slack = sums.old_slack + np.einsum(
        "nk,nk,nk->n", joined(sums.rank_one, sums.member_rank_one), steep, steep
    )
    foreign_trace, foreign_norm = (
        old + np.einsum("nk,nk,nk->n", one[:, first:step], plain, plain)
        for old, one in (
            (sums.old_foreign_trace, sums.foreign_trace),
            (sums.old_foreign_norm, sums.foreign_norm),
        )
    )
    newest = (joined(sums.scale, sums.member_scale) * plain).max(axis=1)
    scale = np.maximum(sums.old_scale, newest)
    trace = profile.sum(axis=-1) + slack + foreign_trace
    largest = profile.max(axis=-1) + slack + foreign_norm
    if foreign_trace.any():  # the profile does not contain the intruders' part
        profile = np.full_like(profile, np.nan)
    return np.column_stack([trace, largest, scale, slack, profile])


def _evaluate(inputs: np.ndarray, failure: float, dimension: int) -> NormBound:
    trace, largest, scale, slack = inputs[:, :4].T
    profile = None if np.isnan(inputs[:, 4:]).any() else inputs[:, 4:]
    level = -math.log(failure)
    return norm_bound(trace, largest, scale, level, dimension, profile=profile, slack=slack)
