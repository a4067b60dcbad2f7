"""What CFL-MGD's lemmas and theorems require and state, with the constants that were measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from clusterproof.experiments.diagnosis.estimates import Estimate
from clusterproof.experiments.diagnosis.evidence import (
    FAILURE,
    Answer,
    Evidence,
    Hypothesis,
    Scope,
    compare,
    decide,
    number,
)
from clusterproof.experiments.diagnosis.observation import ClusterObservation


def loss_gap(evidence: Evidence) -> Hypothesis:
    """(28): how much worse another cluster's model is, which Lemma 1 derives from mu."""
    failure = evidence.failure

    def smallest(bound: Callable[[Estimate], np.ndarray]) -> float:
        return min(evidence.over_cells(lambda _, cell: np.delete(bound(cell.gaps), cell.model).min()))

    found = smallest(lambda gaps: gaps.value)
    least, most = smallest(lambda gaps: gaps.lower(failure)), smallest(lambda gaps: gaps.upper(failure))
    curved = evidence.strong_convexity_range
    # a valid mu may be any up to the largest that was measured, and 0 requires nothing
    lowest, highest = (max(0.0, mu) * evidence.last.separation**2 / 4 for mu in curved)
    if most < lowest or most <= 0:
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
    from clusterproof.theory.papers.cfl_mgd.lemma_1.lemma_1 import CONSTANT

    factor = CONSTANT * evidence.clusters * evidence.loss_variance / evidence.choice_samples
    # the larger mu is, the less the bound allows
    largest, smallest = (
        factor / (mu**2 * evidence.last.separation**4) if mu > 0 else math.inf
        for mu in evidence.strong_convexity_range
    )
    return _misclassification(
        evidence,
        "Lemma 1 (23)",
        "a client joins a wrong cluster with probability at most 128 P sigma^2 / (Delta^4 mu^2 n')",
        (smallest, largest),
        "Both are of the measured models.",
    )


def misclassification_without_convexity(evidence: Evidence) -> Hypothesis:
    """Cantelli's inequality with the measured gap, in place of that derived from mu."""
    cells = evidence.last.clusters
    bounds = [_cantelli(cell, evidence.choice_samples) for cell in cells]
    bound = float(np.average(bounds, weights=[cell.asked for cell in cells]))
    return _misclassification(
        evidence,
        "Lemma 1 (ours, without convexity)",
        "the probability is at most the sum over q of V / (V + n' gap^2), V = Var(f(chi_q; y) - f(chi_p; y))",
        (bound, bound),
        "Gap and variance are measured instead of being derived from mu, Delta and sigma^2; the batches "
        "of clients must be samples of their cluster's distribution.",
    )


def _misclassification(
    evidence: Evidence, name: str, statement: str, bounds: tuple[float, float], reason: str
) -> Hypothesis:
    """Compare the share of wrong choices in the last measured round with a bound (smallest, largest)."""
    from clusterproof.theory.checker.statistics import clopper_pearson

    wrong, asked = (
        sum(getattr(cell, count) for cell in evidence.last.clusters) for count in ("wrong", "asked")
    )
    interval = clopper_pearson(wrong, asked, FAILURE)
    low, high = interval.lower, interval.upper
    smallest, largest = bounds
    if math.isinf(smallest):
        answer, reason = Answer.UNDECIDED, "Without mu > 0 there is no bound to compare with."
    elif smallest >= 1:
        answer, reason = Answer.VACUOUS, "A bound of 1 or more on a probability says nothing."
    else:
        answer = Answer.FAILS if low > largest else Answer.HOLDS if high <= smallest else Answer.UNDECIDED
    return Hypothesis(
        name=name,
        statement=statement,
        required="no bound without mu > 0" if math.isinf(smallest) else f"at most {number(smallest)}",
        measured=f"{number(wrong / asked)} (between {number(low)} and {number(high)})",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"rate": wrong / asked, "at_least": low, "at_most": high, "bound": smallest},
    )


def _cantelli(cell: ClusterObservation, samples: int) -> float:
    """Return the sum over the other models of V / (V + n' gap^2), at most 1; 1 for a gap that is not positive."""
    gaps, variances = (np.delete(v.value, cell.model) for v in (cell.gaps, cell.difference_variance))
    if (gaps <= 0).any():
        return 1.0
    return float(min(1.0, (variances / (variances + samples * gaps**2)).sum()))


def step_size(evidence: Evidence) -> Hypothesis:
    """Theorem 1's step size."""
    found, least, most = evidence.scaled_smoothness(lambda observation, _: observation.step_size)
    answer = compare(least, most, 1.0)
    reasons = {
        Answer.FAILS: "The step exceeds 1/L for every L that the measurements allow.",
        Answer.HOLDS: "The step is within 1/L at every measured model.",
        Answer.UNDECIDED: "The error bar of L contains 1 / eta.",
    }
    largest = max(observation.step_size for observation in evidence.observations)
    return Hypothesis(
        name="Theorem 1 (step size)",
        statement="eta = 1/L; the repaired theorems need eta <= 1/L",
        required="eta L <= 1",
        measured=f"eta L = {number(found)} on the clients that were asked, {number(most)} at most, on all clients "
        f"of a cluster {number(least)} at least; eta at most {number(largest)}",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reasons[answer],
        numbers={"step_times_smoothness": found, "at_least": least, "at_most": most},
    )


def heavy_ball(evidence: Evidence) -> Hypothesis:
    """Stability of momentum descent along the measured curvatures."""
    from clusterproof.theory.exact.heavy_ball import spectral_rate

    limit = 2 * (1 + evidence.momentum)
    found, least, most = evidence.scaled_smoothness(evidence.effective_step)
    lowest = min(evidence.over_cells(lambda o, c: evidence.effective_step(o, c) * c.curvature.value[0]))
    steepest, flattest = (float(spectral_rate(a, evidence.momentum)) for a in (found, lowest))
    answer = compare(least, most, math.nextafter(limit, 0))
    reason = {
        Answer.FAILS: "The steepest direction is unstable: the error grows there every step.",
        Answer.HOLDS: "The steepest direction is stable.",
        Answer.UNDECIDED: "The error bar of L contains the limit.",
    }[answer]
    if flattest > 1:
        reason += f" Along the most negative curvature an error grows by {number(flattest)} a step."
    if evidence.averaging == "model":
        reason += f" One of {evidence.local_steps} local steps is meant, and a client's own curvature may be larger."
    step = "eta" if evidence.averaging == "model" or evidence.normalisation == "cluster" else "eta l_p"
    return Hypothesis(
        name="Section 5 (stability of momentum)",
        statement=f"{step} L < 2 (1 + beta), where the heavy ball is stable",
        required=f"below {number(limit)}",
        measured=f"{step} L = {number(found)} on the clients that were asked, {number(most)} at most, on all "
        f"clients of a cluster {number(least)} at least; factor a step "
        f"{number(steepest)} in the steepest direction",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"step_times_smoothness": found, "limit": limit, "steepest": steepest, "flattest": flattest},
    )


def contraction(evidence: Evidence) -> Hypothesis:
    """(A38): what Theorem 1's floor must not exceed."""
    from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import FloorConstants

    share, separation = float(evidence.proportions.min()), evidence.last.separation
    floor = FloorConstants().c4 * share  # one of the seven non-negative terms of rho_0
    answer, reason = decide(
        evidence,
        lambda mu, smooth: floor <= share / 32 * math.pow(mu / smooth, 1.5) * separation,
        needs_sample=True,
    )
    return Hypothesis(
        name="Theorem 1 (A38)",
        statement="rho_0 <= (l/32) (mu/L)^(3/2) Delta, where rho_0 >= l/4 with the appendix's c_4",
        required=f"l/4 = {number(floor)} at most (mu/L)^(3/2) times {number(share / 32 * separation)}",
        measured=_constants(evidence),
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"floor_at_least": floor},
    )


def positive_rounds(evidence: Evidence) -> Hypothesis:
    """Return whether Theorem 1's number of rounds is positive at the least floor that its constants allow."""
    from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import FloorConstants

    separation = evidence.last.separation
    answer, reason = decide(
        evidence,
        lambda mu, smooth: separation > 2 * 16 * smooth / mu * FloorConstants().c4,
        needs_sample=True,
    )
    return Hypothesis(
        name="Theorem 1 (rounds)",
        statement="T = (8L / (l mu)) log(Delta / (2 rho)) > 0, where rho = (16 L / (mu l)) rho_0 >= 4 L / mu",
        required="Delta > 8 L / mu",
        measured=f"{_constants(evidence)}, l {number(float(evidence.proportions.min()))}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"separation": separation},
    )


def repaired_basin(evidence: Evidence) -> Hypothesis:
    """Assumptions (R) of Theorems A and B: a basin that contains the run."""
    last, separation = evidence.last, evidence.last.separation
    distances = [
        float(np.linalg.norm(observation.models[observation.rows[cluster]] - last.models[row]))
        for observation in evidence.observations
        for cluster, row in last.rows.items()
        if cluster in observation.rows
    ]
    start = float(evidence.start_distances.max())
    farthest = max(distances) if math.isnan(start) else max(start, *distances)
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


def _constants(evidence: Evidence) -> str:
    return (
        f"Delta {number(evidence.last.separation)}, mu {number(evidence.strong_convexity)}, "
        f"L {number(evidence.smoothness)}"
    )
