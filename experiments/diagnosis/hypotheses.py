"""The assumptions of CFL-MGD's analysis, each with what was measured, what it requires, and whether it holds."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.experiments.diagnosis.evidence import Answer, Evidence, Hypothesis, Scope, decide, number
from clusterproof.experiments.diagnosis.observation import SCALES


def algorithm(evidence: Evidence) -> Hypothesis:
    """Section 5: the algorithm of Theorem 1."""
    differences = []
    if evidence.foreign:
        differences.append(f"its algorithm, {evidence.foreign}, does not claim to be CFL-MGD")
    elif evidence.averaging != "gradient":
        differences.append(f"models are averaged after {evidence.local_steps} local steps")
    elif evidence.normalisation != "clients":
        differences.append(f"the sum of gradients is divided by the number of {evidence.normalisation}")
    if evidence.participation < 1:
        differences.append(f"a share {evidence.participation:g} of the clients takes part")
    return Hypothesis(
        name="Section 5 (algorithm)",
        statement="gradient averaging divided by m, all clients in every round",
        required="option I, participation 1",
        measured=evidence.foreign
        or f"averaging {evidence.averaging}, participation {evidence.participation:g}",
        answer=Answer.FAILS if differences else Answer.HOLDS,
        scope=Scope.EXACT,
        reason=f"Theorem 1 does not speak of this run: {' and '.join(differences)}."
        if differences
        else "Theorem 1 speaks of this algorithm.",
    )


def smoothness(evidence: Evidence) -> Hypothesis:
    """Assumption 1."""
    rounds = [
        max(cell.curvature.value[1] for cell in observation.clusters) for observation in evidence.observations
    ]
    least, most = evidence.smoothness_range
    steepest = max(secants(evidence), default=None)
    secant = "" if steepest is None else f", steepest secant between measured rounds {number(steepest)}"
    return Hypothesis(
        name="Assumption 1 (smoothness)",
        statement="||grad phi_p(chi) - grad phi_p(chi')|| <= L ||chi - chi'|| for all chi, chi'",
        required="some L for all models",
        measured=f"largest eigenvalue {number(evidence.smoothness)} on the clients that were asked, "
        f"{number(most)} at most ({number(min(rounds))} to {number(max(rounds))} along the run); on all clients "
        f"of a cluster {number(least)} at least{secant}",
        answer=Answer.UNDECIDED,
        scope=Scope.LOCAL,
        reason="Every L is at least the largest eigenvalue that was found; what it is between and beyond the "
        "measured models, and at the kinks of piecewise linear activations, no product shows.",
        numbers={"smoothness": evidence.smoothness, "at_least": least, "at_most": most},
    )


def strong_convexity(evidence: Evidence) -> Hypothesis:
    """Assumption 2."""
    least, most = evidence.strong_convexity_range
    found = evidence.strong_convexity
    answer = Answer.FAILS if most < 0 else Answer.HOLDS if least > 0 else Answer.UNDECIDED
    reasons = {
        Answer.FAILS: "There is a direction of negative curvature of a cluster's mean loss, beyond what the choice of "
        "the asked clients explains: strong convexity fails, and so does convexity.",
        Answer.HOLDS: "The smallest eigenvalue is positive at every measured model; elsewhere it was not measured.",
        Answer.UNDECIDED: "The smallest eigenvalue's error bar contains zero: ask for more products or clients.",
    }
    residual = max(evidence.over_cells(lambda _, cell: cell.curvature.residual[0]))
    return Hypothesis(
        name="Assumption 2 (strong convexity)",
        statement="phi_p(chi') >= phi_p(chi) + <grad phi_p(chi), chi' - chi> + (mu/2) ||chi' - chi||^2",
        required="mu > 0",
        measured=f"smallest eigenvalue {number(found)} on the clients that were asked, {number(least)} at least "
        f"(residual at most {number(residual)}); on all clients of a cluster {number(most)} at most",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reasons[answer],
        numbers={"strong_convexity": found, "at_least": least, "at_most": most, "residual": residual},
    )


def variances(evidence: Evidence) -> Hypothesis:
    """Assumption 3."""
    cells = [cell for observation in evidence.observations for cell in observation.clusters]
    scaled = np.max([cell.scaled_variance.value for cell in evidence.last.clusters], axis=0)
    growth = ", ".join(
        f"{number(value)} at {scale:g} chi_p" for scale, value in zip(SCALES, scaled, strict=True)
    )
    others = max(float(cell.intruder_variance.value) for cell in cells)
    gradient, gradient_error = max(
        (float(cell.gradient_variance.value), float(cell.gradient_variance.error)) for cell in cells
    )
    loss, loss_error = max(
        pair
        for cell in cells
        for pair in zip(cell.loss_variance.value, cell.loss_variance.error, strict=True)
    )
    return Hypothesis(
        name="Assumption 3 (boundedness)",
        statement="E (f(chi; y) - phi_p(chi))^2 <= sigma^2 and E ||grad f(chi; y) - grad phi_p(chi)||^2 <= v^2 "
        "for every chi",
        required="finite sigma^2 and v^2 for all models",
        measured=f"sigma^2 = {number(loss)} +- {number(loss_error)}, v^2 = {number(gradient)} +- "
        f"{number(gradient_error)} (other clusters' samples: {number(others)})",
        answer=Answer.UNDECIDED,
        scope=Scope.LOCAL,
        reason=f"Along a ray the loss's variance is {growth}: one sigma^2 for every chi would have to exceed all "
        "of these; on the measured models the stated values serve.",
        numbers={
            "loss_variance": float(loss),
            "gradient_variance": gradient,
            "loss_variance_error": float(loss_error),
            "gradient_variance_error": gradient_error,
            "intruder_variance": others,
            **{f"loss_variance_at_{scale:g}": float(v) for scale, v in zip(SCALES, scaled, strict=True)},
        },
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
        name="Assumption 4 (initialisation)",
        statement="||chi_p^0 - chi_p*|| <= (1/4) sqrt(mu/L) Delta",
        required=f"at most sqrt(mu/L) times {number(separation / 4)}",
        measured=f"farthest start {number(farthest)}, Delta {number(separation)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=f"{reason} The last models are no optima: their gradients put every stationary point at least "
        f"{number(least)} away, if L is the local one.",
        numbers={"start_distance": farthest, "separation": separation, "stand_in_error": least},
    )


def enough_samples(evidence: Evidence) -> Hypothesis:
    """Assumption 4, second part."""
    variance, separation = evidence.loss_variance, evidence.last.separation

    def needed(mu: float) -> float:
        return 256 * (evidence.clusters - 1) * variance / (mu**2 * separation**4) if mu > 0 else math.inf

    answer, reason = decide(evidence, lambda mu, _: evidence.choice_samples >= needed(mu), needs_sample=True)
    most = needed(evidence.strong_convexity_range[1])
    return Hypothesis(
        name="Assumption 4 (samples)",
        statement="n' >~ P sigma^2 / (mu^2 Delta^4)",
        required="at least 256 (P - 1) sigma^2 / (mu^2 Delta^4), which the proof uses of it"
        + (f": {number(most)} at least" if math.isfinite(most) else ""),
        measured=f"n' = {evidence.choice_samples}, sigma^2 = {number(variance)}, Delta {number(separation)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"samples": evidence.choice_samples, "needed": most},
    )


def small_optima(evidence: Evidence) -> Hypothesis:
    """Assumption 4, third part."""
    largest = max(cell.norm for cell in evidence.last.clusters)
    return Hypothesis(
        name="Assumption 4 (norm of the optima)",
        statement="max_p ||chi_p*|| <~ 1",
        required="at most 1, as (A10) uses it",
        measured=f"largest norm {number(largest)}",
        answer=Answer.HOLDS if largest <= 1 else Answer.FAILS,
        scope=Scope.STAND_IN,
        reason="The condition depends on where the origin is, though the algorithm does not; its constant is hidden.",
        numbers={"norm": largest},
    )


def fresh_batches(evidence: Evidence) -> Hypothesis:
    """Assumption 5 by the resampling of Section 5."""
    held, steps = evidence.held, evidence.local_steps
    needed = (evidence.choice_samples + steps * evidence.gradient_samples) * evidence.rounds
    measured = "every batch is sampled independently"
    answer = Answer.HOLDS
    reason = "Assignment and gradient have independent batches, and the gradient is unbiased."
    if held is not None:
        measured = (
            f"n = {held}; {evidence.choice_samples} for a choice and {evidence.gradient_samples} for each of "
            f"{steps} gradients, T = {evidence.rounds}"
        )
        reason = "The samples suffice for disjoint batches."
    if held is not None and held < needed:
        answer = Answer.FAILS
        reason = (
            "The same samples choose the model and give the gradient, round after round: given the choice, "
            "the gradient need not be unbiased."
        )
    return Hypothesis(
        name="Assumption 5 (unbiasedness, by resampling)",
        statement="E[g_i] = grad phi_i(chi_p), with n = 2 n' T samples in disjoint batches",
        required="fresh batches" if held is None else f"n >= {needed} for disjoint batches",
        measured=measured,
        answer=answer,
        scope=Scope.EXACT,
        reason=reason,
        numbers={} if held is None else {"held": held, "needed": needed},
    )


def enough_data(evidence: Evidence) -> Hypothesis:
    """Section 5: at least as much data in an iteration and cluster as parameters."""
    available = float(evidence.proportions.min()) * evidence.clients * evidence.gradient_samples
    return Hypothesis(
        name="Section 5 (data and dimension)",
        statement="l m n' >~ d",
        required=f"at least d = {evidence.dimension}, with 1 for the hidden constant",
        measured=f"l m n' = {available:.0f}",
        answer=Answer.HOLDS if available >= evidence.dimension else Answer.FAILS,
        scope=Scope.EXACT,
        reason=f"The smallest cluster has {number(available / evidence.dimension)} samples a parameter in a round.",
        numbers={"available": available, "dimension": evidence.dimension},
    )


def secants(evidence: Evidence) -> list[float]:
    """||grad phi_p(chi) - grad phi_p(chi')|| / ||chi - chi'|| between one measured round and the next."""
    found = []
    for before, after in zip(evidence.observations, evidence.observations[1:], strict=False):
        for cluster in before.rows.keys() & after.rows.keys():
            rows = before.rows[cluster], after.rows[cluster]
            length = np.linalg.norm(after.models[rows[1]] - before.models[rows[0]])
            if length > 0:
                change = np.linalg.norm(after.gradients[rows[1]] - before.gradients[rows[0]])
                found.append(float(change / length))
    return found
