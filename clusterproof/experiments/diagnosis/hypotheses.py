"""The hypotheses of CFL-MGD's analysis, each with what it requires, what was measured, and whether it holds."""

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
from clusterproof.experiments.diagnosis.observation import ClusterObservation, Observation


def algorithm(evidence: Evidence) -> Hypothesis:
    """Section 5: the algorithm of Theorem 1."""
    normalisation = evidence.parameter("normalisation", "clients")
    participation = float(evidence.parameter("participation", 1.0))
    differences = []
    if not evidence.recursion_is_known:
        differences.append(f"its algorithm, {evidence.algorithm.name}, does not claim to be CFL-MGD")
    elif evidence.parameter("averaging", "gradient") != "gradient":
        differences.append(f"models are averaged after {evidence.parameter('local_steps', 1)} local steps")
    elif normalisation != "clients":
        differences.append(f"the sum of gradients is divided by the number of {normalisation}")
    if participation < 1:
        differences.append(f"a share {participation:g} of the clients takes part")
    return Hypothesis(
        "Section 5 (algorithm)",
        "gradient averaging divided by m, all clients in every round",
        Scope.EXACT,
        Answer.FAILS if differences else Answer.HOLDS,
        "option I, participation 1",
        f"Theorem 1 does not speak of this run: {' and '.join(differences)}."
        if differences
        else "Theorem 1 speaks of this algorithm.",
        {"participation": participation},
    )


def strong_convexity(evidence: Evidence) -> Hypothesis:
    """Assumption 2."""
    least, most = evidence.strong_convexity_range
    answer = Answer.FAILS if most < 0 else Answer.HOLDS if least > 0 else Answer.UNDECIDED
    reason = "The smallest eigenvalue was measured at these models, and nowhere else."
    if answer is Answer.FAILS:
        reason = "A cluster's mean loss has a direction of negative curvature: convexity fails, too."
    return Hypothesis(
        "Assumption 2 (strong convexity)",
        "phi_p(chi') >= phi_p(chi) + <grad phi_p(chi), chi' - chi> + (mu/2) ||chi' - chi||^2",
        Scope.LOCAL,
        answer,
        "mu > 0",
        reason,
        {"strong_convexity": evidence.strong_convexity, "at_least": least, "at_most": most},
    )


def initialisation(evidence: Evidence) -> Hypothesis:
    """Assumption 4, first part."""
    farthest, separation = float(evidence.start_distances.max()), evidence.last.separation
    # a stationary point is at least ||grad phi|| / L away
    least = max(
        cell.gradient_norm / float(cell.curvature.value[1]) if cell.curvature.value[1] > 0 else math.inf
        for cell in evidence.last.clusters
    )
    answer, reason = decide(
        evidence, lambda mu, smooth: farthest <= 0.25 * math.sqrt(min(1.0, mu / smooth)) * separation
    )
    if math.isnan(farthest):
        answer, reason = Answer.UNDECIDED, "The first models were not seen."
    elif farthest > separation / 4:
        answer = Answer.FAILS
        reason = "The farthest start exceeds Delta / 4, the radius at mu = L, and so that of any mu and L."
    return Hypothesis(
        "Assumption 4 (initialisation)",
        "||chi_p^0 - chi_p*|| <= (1/4) sqrt(mu/L) Delta",
        Scope.STAND_IN,
        answer,
        f"at most sqrt(mu/L) times {number(separation / 4)}",
        f"{reason} The last models are no optima: their gradients put every stationary point at least "
        f"{number(least)} away, if L is the local one.",
        {"start_distance": farthest, "separation": separation, "stand_in_error": least},
    )


def enough_samples(evidence: Evidence) -> Hypothesis:
    """Assumption 4, second part."""
    clusters, samples = evidence.variants.batch.clusters, evidence.variants.choice_samples
    variance, separation = evidence.loss_variance, evidence.last.separation

    def needed(mu: float) -> float:
        return 256 * (clusters - 1) * variance / (mu**2 * separation**4) if mu > 0 else math.inf

    answer, reason = decide(evidence, lambda mu, _: samples >= needed(mu), needs_sample=True)
    most = needed(evidence.strong_convexity_range[1])
    return Hypothesis(
        "Assumption 4 (samples)",
        "n' >~ P sigma^2 / (mu^2 Delta^4)",
        Scope.STAND_IN,
        answer,
        "at least 256 (P - 1) sigma^2 / (mu^2 Delta^4), which the proof uses of it",
        reason,
        {"samples": samples, "loss_variance": variance, "separation": separation, "needed": most},
    )


def small_optima(evidence: Evidence) -> Hypothesis:
    """Assumption 4, third part."""
    largest = max(cell.norm for cell in evidence.last.clusters)
    return Hypothesis(
        "Assumption 4 (norm of the optima)",
        "max_p ||chi_p*|| <~ 1",
        Scope.STAND_IN,
        Answer.HOLDS if largest <= 1 else Answer.FAILS,
        "at most 1, as (A10) uses it",
        "The condition depends on where the origin is, though the algorithm does not; its constant is hidden.",
        {"norm": largest},
    )


def fresh_batches(evidence: Evidence) -> Hypothesis:
    """Assumption 5 by the resampling of Section 5."""
    variants, held = evidence.variants, evidence.variants.held
    steps = evidence.parameter("local_steps", 1)
    needed = (variants.choice_samples + steps * variants.gradient_samples) * evidence.rounds
    fresh = held is None or held >= needed
    return Hypothesis(
        "Assumption 5 (unbiasedness, by resampling)",
        "E[g_i] = grad phi_i(chi_p), with n = 2 n' T samples in disjoint batches",
        Scope.EXACT,
        Answer.HOLDS if fresh else Answer.FAILS,
        "fresh batches" if held is None else f"n >= {needed} for disjoint batches",
        "Assignment and gradient have independent batches."
        if fresh
        else "The same samples choose the model and give the gradient, round after round: given the choice, "
        "the gradient need not be unbiased.",
        {} if held is None else {"held": held, "needed": needed},
    )


def enough_data(evidence: Evidence) -> Hypothesis:
    """Section 5: at least as much data in an iteration and cluster as parameters."""
    task = evidence.variants.batch
    available = float(evidence.proportions.min()) * task.clients * evidence.variants.gradient_samples
    return Hypothesis(
        "Section 5 (data and dimension)",
        "l m n' >~ d",
        Scope.EXACT,
        Answer.HOLDS if available >= task.dimension else Answer.FAILS,
        f"l m n' at least d = {task.dimension}, with 1 for the hidden constant",
        f"The smallest cluster has {number(available / task.dimension)} samples a parameter in a round.",
        {"available": available, "dimension": task.dimension},
    )


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
        "Lemma 1 (28)",
        "phi_p(chi_q) - phi_p(chi_p) >= (mu/4) Delta^2, and > 0, for q != p",
        Scope.LOCAL,
        answer,
        "above 0" if highest == 0 else f"at least {number(highest)}",
        reason,
        {"gap": found, "at_least": least, "at_most": most, "needed": highest},
    )


def misclassification(evidence: Evidence) -> Hypothesis:
    """(23): Lemma 1's bound with the measured constants, against the measured rate."""
    from clusterproof.theory.papers.cfl_mgd.lemma_1.lemma_1 import CONSTANT

    variants = evidence.variants
    factor = CONSTANT * variants.batch.clusters * evidence.loss_variance / variants.choice_samples
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
    bounds = [_cantelli(cell, evidence.variants.choice_samples) for cell in cells]
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

    cells = evidence.last.clusters
    wrong, asked = sum(cell.wrong for cell in cells), sum(cell.asked for cell in cells)
    interval = clopper_pearson(wrong, asked, FAILURE)
    smallest, largest = bounds
    if math.isinf(smallest):
        answer, reason = Answer.UNDECIDED, "Without mu > 0 there is no bound to compare with."
    elif smallest >= 1:
        answer, reason = Answer.VACUOUS, "A bound of 1 or more on a probability says nothing."
    elif interval.lower > largest:
        answer = Answer.FAILS
    else:
        answer = Answer.HOLDS if interval.upper <= smallest else Answer.UNDECIDED
    return Hypothesis(
        name,
        statement,
        Scope.LOCAL,
        answer,
        "no bound without mu > 0" if math.isinf(smallest) else f"at most {number(smallest)}",
        reason,
        {"rate": wrong / asked, "at_least": interval.lower, "at_most": interval.upper, "bound": smallest},
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
    return Hypothesis(
        "Theorem 1 (step size)",
        "eta = 1/L; the repaired theorems need eta <= 1/L",
        Scope.LOCAL,
        compare(least, most, 1.0),
        "eta L <= 1",
        "L is the largest curvature at the measured models.",
        {"step_times_smoothness": found, "at_least": least, "at_most": most},
    )


def heavy_ball(evidence: Evidence) -> Hypothesis:
    """Stability of momentum descent along the measured curvatures."""
    from clusterproof.theory.exact.heavy_ball import spectral_rate

    momentum = evidence.parameter("momentum", 0.0)
    normalisation = evidence.parameter("normalisation", "clients")
    local = evidence.parameter("averaging", "gradient") == "model"
    present = evidence.parameter("participation", 1.0) if normalisation == "clients" else 1.0
    whole_step = local or normalisation == "cluster"

    def effective_step(observation: Observation, cell: ClusterObservation) -> float:
        """The factor of a cluster's mean gradient in one step: eta l_p where (5) divides by m."""
        share = 1.0 if whole_step else float(evidence.proportions[cell.cluster]) * present
        return observation.step_size * share

    limit = 2 * (1 + momentum)
    found, least, most = evidence.scaled_smoothness(effective_step)
    lowest = min(evidence.over_cells(lambda o, c: effective_step(o, c) * c.curvature.value[0]))
    steepest, flattest = (float(spectral_rate(a, momentum)) for a in (found, lowest))
    reason = f"Along the steepest direction an error changes by a factor {number(steepest)} a step."
    if flattest > 1:
        reason += f" Along the most negative curvature an error grows by {number(flattest)} a step."
    if local:
        steps = evidence.parameter("local_steps", 1)
        reason += f" One of {steps} local steps is meant, and a client's own curvature may be larger."
    return Hypothesis(
        "Section 5 (stability of momentum)",
        f"{'eta' if whole_step else 'eta l_p'} L < 2 (1 + beta), where the heavy ball is stable",
        Scope.LOCAL,
        compare(least, most, math.nextafter(limit, 0)),
        f"below {number(limit)}",
        reason,
        {
            "step_times_smoothness": found,
            "at_least": least,
            "at_most": most,
            "steepest": steepest,
            "flattest": flattest,
        },
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
        "Theorem 1 (A38)",
        "rho_0 <= (l/32) (mu/L)^(3/2) Delta, where rho_0 >= l/4 with the appendix's c_4",
        Scope.STAND_IN,
        answer,
        f"l/4 at most (mu/L)^(3/2) times {number(share / 32 * separation)}",
        reason,
        {"floor_at_least": floor, "separation": separation},
    )


def repaired_basin(evidence: Evidence) -> Hypothesis:
    """Assumptions (R) of Theorems A and D: a basin that contains the run."""
    last, separation = evidence.last, evidence.last.separation
    distances = [distance for seen in evidence.observations for distance in seen.distances_to(last)]
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
        "Theorems A and D (ours), basin",
        "||chi_p^t - chi_p*|| <= B < Delta / (1 + sqrt(L/mu)) at every round",
        Scope.STAND_IN,
        answer,
        f"below {number(separation)} / (1 + sqrt(L/mu))",
        reason,
        {"distance": farthest, "separation": separation},
    )


RECURSION = (step_size, heavy_ball)
"""Hypotheses about the steps of CFL-MGD, and of no other algorithm."""

HYPOTHESES = (
    algorithm,
    strong_convexity,
    initialisation,
    enough_samples,
    small_optima,
    fresh_batches,
    enough_data,
    loss_gap,
    misclassification,
    misclassification_without_convexity,
    *RECURSION,
    contraction,
    repaired_basin,
)
"""The hypotheses in the order of the report."""


def judge(evidence: Evidence) -> tuple[Hypothesis, ...]:
    """Judge the hypotheses that the algorithm of a run has."""
    rows = [row for row in HYPOTHESES if evidence.recursion_is_known or row not in RECURSION]
    return tuple(row(evidence) for row in rows)
