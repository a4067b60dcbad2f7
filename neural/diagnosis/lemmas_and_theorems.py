"""What CFL-MGD's lemmas and theorems ask for and promise, with the constants that were measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from clusterproof.neural.diagnosis.hypotheses import Answer, Hypothesis, Scope, decide, number
from clusterproof.neural.diagnosis.measured_constants import FAILURE, Evidence
from clusterproof.neural.diagnosis.observation import ClusterObservation, Observation


def step_size(evidence: Evidence) -> Hypothesis:
    """Theorem 1's choice of the step."""
    found, least, most = _steepest(evidence, lambda observation, _: observation.step_size)
    if least > 1:
        answer, reason = Answer.FAILS, "The step exceeds 1/L for every L that the measurements allow."
    elif most <= 1:
        answer, reason = Answer.HOLDS, "The step is within 1/L at every measured model."
    else:
        answer, reason = Answer.UNDECIDED, "The error bar of L contains 1 / eta."
    return Hypothesis(
        name="Theorem 1 (step size)",
        statement="eta = 1/L; the repaired theorems need eta <= 1/L",
        required="eta L <= 1",
        measured=f"eta L = {number(found)} on the clients that were asked, {number(most)} at most, on all clients "
        f"of a cluster {number(least)} at least; eta at most {number(evidence.step_size)}",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"step_times_smoothness": found, "at_least": least, "at_most": most},
    )


def heavy_ball(evidence: Evidence) -> Hypothesis:
    """Stability of momentum descent along the measured curvatures."""
    from clusterproof.theory.instruments.heavy_ball import spectral_rate

    limit = 2 * (1 + evidence.momentum)
    found, least, most = _steepest(evidence, evidence.effective_step)
    lowest = min(
        evidence.effective_step(observation, cell) * float(cell.curvature.value[0])
        for observation in evidence.observations
        for cell in observation.clusters
    )
    steepest, flattest = (float(spectral_rate(a, evidence.momentum)) for a in (found, lowest))
    if least >= limit:
        answer, reason = Answer.FAILS, "The steepest direction is unstable: the error grows there every step."
    elif most < limit:
        answer, reason = Answer.HOLDS, "The steepest direction is stable."
    else:
        answer, reason = Answer.UNDECIDED, "The error bar of L contains the limit."
    step = "eta" if evidence.averaging == "model" or evidence.normalisation == "cluster" else "eta l_p"
    local = (
        f" One of {evidence.local_steps} local steps is meant, and a client's own curvature may be larger."
        if evidence.averaging == "model"
        else ""
    )
    along = (
        f" Along the most negative curvature an error grows by {number(flattest)} a step."
        if flattest > 1
        else ""
    )
    return Hypothesis(
        name="Section 5 (stability of momentum)",
        statement=f"{step} L < 2 (1 + beta), where the heavy ball is stable",
        required=f"below {number(limit)}",
        measured=f"{step} L = {number(found)} on the clients that were asked, {number(most)} at most, on all "
        f"clients of a cluster {number(least)} at least; factor a step "
        f"{number(steepest)} in the steepest direction",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason + along + local,
        numbers={"step_times_smoothness": found, "limit": limit, "steepest": steepest, "flattest": flattest},
    )


def loss_gap(evidence: Evidence) -> Hypothesis:
    """(28): how much worse another cluster's model is, which Lemma 1 derives from mu."""
    found, least, most = (min(each) for each in zip(*map(_gaps(evidence), evidence.cells), strict=True))
    curved = evidence.strong_convexity_range
    # a valid mu may be any up to the largest that was measured, and 0 asks for nothing
    lowest, highest = (max(0.0, mu) * evidence.separation**2 / 4 for mu in curved)
    if most < max(lowest, 0.0) or most <= 0:
        answer, reason = Answer.FAILS, "Another model is nearly as good for a cluster as its own, or better."
    elif least >= highest and least > 0:
        answer, reason = Answer.HOLDS, "Every cluster's own model is the best for it by so much."
    else:
        answer, reason = Answer.UNDECIDED, "The error bars of the gap and of mu overlap."
    if curved[1] <= 0:
        reason += " It does not follow from strong convexity, which fails: it was measured."
    return Hypothesis(
        name="Lemma 1 (28)",
        statement="phi_p(chi_q) - phi_p(chi_p) >= (mu/4) Delta^2, and > 0, for q != p",
        required="above 0" if highest == 0 else f"at least {number(highest)}",
        measured=f"smallest gap {number(found)} (between {number(least)} and {number(most)})",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"gap": found, "at_least": least, "at_most": most, "needed": highest},
    )


def misclassification(evidence: Evidence) -> Hypothesis:
    """(23): Lemma 1's bound with the measured constants, against the measured rate."""
    from clusterproof.theory.cfl_mgd.lemma_1.lemma_1 import CONSTANT

    rate, low, high = _wrong_rate(evidence)
    # the larger mu is, the less the bound allows
    loosest, tightest = (
        CONSTANT
        * evidence.clusters
        * evidence.loss_variance
        / (mu**2 * evidence.separation**4 * evidence.choice_samples)
        if mu > 0
        else math.inf
        for mu in evidence.strong_convexity_range
    )
    if math.isinf(tightest):
        answer, reason = Answer.UNDECIDED, "Without mu > 0 there is no bound to compare with."
    elif tightest >= 1:
        answer, reason = Answer.VACUOUS, "A bound of 1 or more on a probability says nothing."
    else:
        answer = Answer.FAILS if low > loosest else Answer.HOLDS if high <= tightest else Answer.UNDECIDED
        reason = "Both are of the measured models."
    return Hypothesis(
        name="Lemma 1 (23)",
        statement="a client joins a wrong cluster with probability at most 128 P sigma^2 / (Delta^4 mu^2 n')",
        required="no bound without mu > 0" if math.isinf(tightest) else f"at most {number(tightest)}",
        measured=f"{number(rate)} (between {number(low)} and {number(high)})",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"rate": rate, "at_least": low, "at_most": high, "bound": tightest},
    )


def misclassification_without_convexity(evidence: Evidence) -> Hypothesis:
    """Cantelli's inequality with the measured gap, in place of that derived from mu."""
    rate, low, high = _wrong_rate(evidence)
    cells = evidence.last.clusters
    asked = np.array([cell.asked for cell in cells])
    each = np.array([_cantelli(cell, evidence.choice_samples) for cell in cells])
    bound = float(np.average(each, weights=asked))
    reason = (
        "Gap and variance are measured instead of being derived from mu, Delta and sigma^2; the batches "
        "of clients must be samples of their cluster's distribution."
    )
    if bound >= 1:
        answer, reason = Answer.VACUOUS, "A bound of 1 or more on a probability says nothing."
    else:
        answer = Answer.FAILS if low > bound else Answer.HOLDS if high <= bound else Answer.UNDECIDED
    return Hypothesis(
        name="Lemma 1 (ours, without convexity)",
        statement="the probability is at most the sum over q of V / (V + n' gap^2), V = Var(f(chi_q; y) - f(chi_p; y))",
        required=f"at most {number(bound)}",
        measured=f"{number(rate)} (between {number(low)} and {number(high)})",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"rate": rate, "at_least": low, "at_most": high, "bound": bound},
    )


def contraction(evidence: Evidence) -> Hypothesis:
    """(A38): what Theorem 1's floor must not exceed."""
    from clusterproof.theory.cfl_mgd.theorem_1.printed_floor import FloorConstants

    share, separation = evidence.smallest_share, evidence.separation
    floor = FloorConstants().c4 * share  # one of the seven non-negative terms of rho_0

    def allowed(mu: float, smooth: float) -> float:
        return share / 32 * math.pow(mu / smooth, 1.5) * separation

    answer, reason = decide(evidence, lambda mu, smooth: floor <= allowed(mu, smooth), needs_sample=True)
    return Hypothesis(
        name="Theorem 1 (A38)",
        statement="rho_0 <= (l/32) (mu/L)^(3/2) Delta, where rho_0 >= l/4 with the appendix's c_4",
        required=f"l/4 = {number(floor)} at most (mu/L)^(3/2) times {number(share / 32 * separation)}",
        measured=f"Delta {number(separation)}, mu {number(evidence.strong_convexity)}, L "
        f"{number(evidence.smoothness)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"floor_at_least": floor},
    )


def positive_rounds(evidence: Evidence) -> Hypothesis:
    """Whether Theorem 1's number of rounds is positive at the least floor that its constants allow."""
    from clusterproof.theory.cfl_mgd.theorem_1.printed_floor import FloorConstants

    share, separation = evidence.smallest_share, evidence.separation

    def floor(mu: float, smooth: float) -> float:
        return 16 * smooth / (mu * share) * FloorConstants().c4 * share

    answer, reason = decide(
        evidence, lambda mu, smooth: separation > 2 * floor(mu, smooth), needs_sample=True
    )
    return Hypothesis(
        name="Theorem 1 (rounds)",
        statement="T = (8L / (l mu)) log(Delta / (2 rho)) > 0, where rho = (16 L / (mu l)) rho_0 >= 4 L / mu",
        required="Delta > 8 L / mu",
        measured=f"Delta {number(separation)}, mu {number(evidence.strong_convexity)}, L "
        f"{number(evidence.smoothness)}, l {number(share)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"separation": separation},
    )


def repaired_basin(evidence: Evidence) -> Hypothesis:
    """Assumptions (R) of Theorems A and B: a basin that contains the run."""
    separation = evidence.separation
    path = [float(evidence.start_distances.max())]
    for observation in evidence.observations:
        rows = {cell.cluster: row for row, cell in enumerate(observation.clusters)}
        for row, cell in enumerate(evidence.last.clusters):
            if cell.cluster in rows:
                offset = observation.models[rows[cell.cluster]] - evidence.last.models[row]
                path.append(float(np.linalg.norm(offset)))
    farthest = max(path, key=lambda distance: (not math.isnan(distance), distance))
    answer, reason = decide(
        evidence, lambda mu, smooth: farthest < separation / (1 + math.sqrt(max(1.0, smooth / mu)))
    )
    if farthest >= separation / 2:
        answer = Answer.FAILS
        reason = (
            "A model was as far as Delta / 2, where the basins meet at mu = L: no basin contains the run."
        )
    return Hypothesis(
        name="Theorems A and B (ours), basin",
        statement="||chi_p^t - chi_p*|| <= B < Delta / (1 + sqrt(L/mu)) at every round",
        required=f"below {number(separation)} / (1 + sqrt(L/mu))",
        measured=f"farthest seen {number(farthest)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"distance": farthest, "separation": separation},
    )


def _steepest(
    evidence: Evidence, step: Callable[[Observation, ClusterObservation], float]
) -> tuple[float, float, float]:
    """Largest step times L over the measured rounds: as found, at least and at most."""
    pairs = [(step(one, cell), cell.curvature) for one in evidence.observations for cell in one.clusters]
    return (
        max(by * float(curved.value[1]) for by, curved in pairs),
        max(by * float(curved.others.lower(evidence.each)[1]) for by, curved in pairs),
        max(by * (float(curved.outer[1]) + curved.rounding) for by, curved in pairs),
    )


def _gaps(evidence: Evidence) -> Callable[[ClusterObservation], tuple[float, float, float]]:
    """Smallest excess of another model's expected loss over the own one's: found, at least and at most."""

    def of(cell: ClusterObservation) -> tuple[float, float, float]:
        others = np.arange(len(cell.gaps.value)) != cell.model
        bounds = (cell.gaps.value, cell.gaps.lower(evidence.each), cell.gaps.upper(evidence.each))
        found, least, most = (float(bound[others].min()) for bound in bounds)
        return found, least, most

    return of


def _cantelli(cell: ClusterObservation, samples: int) -> float:
    """Sum over the other models of V / (V + n' gap^2), at most 1; 1 for a gap that is not positive."""
    others = np.arange(len(cell.gaps.value)) != cell.model
    gaps, spreads = cell.gaps.value[others], cell.difference_variance.value[others]
    positive = gaps > 0
    each = np.ones(len(gaps))
    each[positive] = spreads[positive] / (spreads[positive] + samples * gaps[positive] ** 2)
    return float(min(1.0, each.sum()))


def _wrong_rate(evidence: Evidence) -> tuple[float, float, float]:
    """Share of clients who chose a wrong model in the last measured round, and its Clopper-Pearson interval."""
    from clusterproof.theory.statistics import clopper_pearson

    wrong, asked = (
        sum(getattr(cell, name) for cell in evidence.last.clusters) for name in ("wrong", "asked")
    )
    interval = clopper_pearson(wrong, asked, FAILURE)
    return wrong / asked, interval.lower, interval.upper
