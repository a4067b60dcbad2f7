"""The assumptions of CFL-MGD's analysis, each with what was measured, what it asks for, and whether it holds."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clusterproof.neural.diagnosis.measured_constants import Evidence, remaining_distance
from clusterproof.neural.diagnosis.observation import SCALES


class Answer(enum.StrEnum):
    """Whether a hypothesis holds; vacuous is one that could not fail."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "not decidable"
    VACUOUS = "vacuous"


class Scope(enum.StrEnum):
    """What an answer speaks of."""

    EXACT = "exact: follows from the settings"
    LOCAL = "local: at the measured models, on the clients that were asked"
    STAND_IN = "stand-in: the last model in the optimum's place"


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One hypothesis, judged.

    Attributes
    ----------
    name
        As in the paper.
    statement, required, measured
        What it says, what that asks for here, and what was found, with its uncertainty.
    answer, scope
        Whether it holds, and of what that is said.
    reason
        A sentence.
    numbers
        What was measured and required, by name.
    """

    name: str
    statement: str
    required: str
    measured: str
    answer: Answer
    scope: Scope
    reason: str
    numbers: dict[str, float] = field(default_factory=dict)


def number(value: float) -> str:
    """Write a number for reading."""
    return f"{value:.3g}"


def decide(
    evidence: Evidence, holds: Callable[[float, float], bool], *, needs_sample: bool = False
) -> tuple[Answer, str]:
    """Decide a condition on (mu, L) that is the easier, the larger mu and the smaller L.

    Parameters
    ----------
    evidence
        Bounds both constants from both sides.
    holds
        Whether the condition is met by mu > 0 and L.
    needs_sample
        Whether the condition speaks of more than the measured models, so that it can only be refuted.

    Returns
    -------
    tuple
        The answer, and a sentence that gives the decisive constants.
    """
    least_curved, most_curved = evidence.strong_convexity_range
    least_smooth, most_smooth = evidence.smoothness_range
    if most_curved <= 0:
        return Answer.FAILS, "There is no mu > 0 (Assumption 2), and so nothing that meets it."
    favourable = f"mu = {number(most_curved)} and L = {number(max(least_smooth, most_curved))}"
    if not holds(most_curved, max(least_smooth, most_curved)):
        return Answer.FAILS, f"It is not met even by {favourable}, the most favourable that were measured."
    unfavourable = f"mu = {number(least_curved)} and L = {number(most_smooth)}"
    if (
        not needs_sample
        and least_curved > 0
        and math.isfinite(most_smooth)
        and holds(least_curved, most_smooth)
    ):
        return Answer.HOLDS, f"It is met even by {unfavourable}, the least favourable that were measured."
    return (
        Answer.UNDECIDED,
        f"It is met by {favourable}, but nothing shows that constants such as these serve everywhere.",
    )


def smoothness(evidence: Evidence) -> Hypothesis:
    """Assumption 1."""
    found = [
        max(float(cell.curvature.value[1]) for cell in observation.clusters)
        for observation in evidence.observations
    ]
    least, most = evidence.smoothness_range
    slopes = secants(evidence)
    steepest = f", steepest secant between measured rounds {number(max(slopes))}" if slopes else ""
    return Hypothesis(
        name="Assumption 1 (smoothness)",
        statement="||grad phi_p(chi) - grad phi_p(chi')|| <= L ||chi - chi'|| for all chi, chi'",
        required="some L for all models",
        measured=f"largest eigenvalue {number(evidence.smoothness)} on the clients that were asked, "
        f"{number(most)} at most ({number(min(found))} to {number(max(found))} along the run); on all clients "
        f"of a cluster {number(least)} at least{steepest}",
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
    if most < 0:
        answer = Answer.FAILS
        reason = (
            "There is a direction of negative curvature of a cluster's mean loss, beyond what the choice of the "
            "asked clients explains: strong convexity fails, and so does convexity."
        )
    elif least > 0:
        answer = Answer.HOLDS
        reason = "The smallest eigenvalue is positive at every measured model; elsewhere it was not measured."
    else:
        answer = Answer.UNDECIDED
        reason = "The smallest eigenvalue's error bar contains zero: ask for more products or clients."
    residual = max(float(cell.curvature.residual[0]) for cell in evidence.cells)
    return Hypothesis(
        name="Assumption 2 (strong convexity)",
        statement="phi_p(chi') >= phi_p(chi) + <grad phi_p(chi), chi' - chi> + (mu/2) ||chi' - chi||^2",
        required="mu > 0",
        measured=f"smallest eigenvalue {number(found)} on the clients that were asked, {number(least)} at least "
        f"(residual at most {number(residual)}); on all clients of a cluster {number(most)} at most",
        answer=answer,
        scope=Scope.LOCAL,
        reason=reason,
        numbers={"strong_convexity": found, "at_least": least, "at_most": most, "residual": residual},
    )


def variances(evidence: Evidence) -> Hypothesis:
    """Assumption 3."""
    scaled = np.max([cell.scaled_variance.value for cell in evidence.last.clusters], axis=0)
    growth = ", ".join(
        f"{number(value)} at {scale:g} chi_p" for scale, value in zip(SCALES, scaled, strict=True)
    )
    intruders = max(float(cell.intruder_variance.value) for cell in evidence.cells)
    worst = max(evidence.cells, key=lambda cell: float(cell.gradient_variance.value)).gradient_variance
    gradient, gradient_error = float(worst.value), float(worst.error)
    widest = max(evidence.cells, key=lambda cell: float(cell.loss_variance.value.max())).loss_variance
    loss, loss_error = float(widest.value.max()), float(widest.error[widest.value.argmax()])
    return Hypothesis(
        name="Assumption 3 (boundedness)",
        statement="E (f(chi; y) - phi_p(chi))^2 <= sigma^2 and E ||grad f(chi; y) - grad phi_p(chi)||^2 <= v^2 "
        "for every chi",
        required="finite sigma^2 and v^2 for all models",
        measured=f"sigma^2 = {number(loss)} +- {number(loss_error)}, v^2 = {number(gradient)} +- "
        f"{number(gradient_error)} (other clusters' samples: {number(intruders)})",
        answer=Answer.UNDECIDED,
        scope=Scope.LOCAL,
        reason=f"Along a ray the loss's variance is {growth}: one sigma^2 for every chi would have to exceed all "
        "of these; on the measured models the stated values serve.",
        numbers={
            "loss_variance": loss,
            "gradient_variance": gradient,
            "loss_variance_error": loss_error,
            "gradient_variance_error": gradient_error,
            "intruder_variance": intruders,
            **{f"loss_variance_at_{scale:g}": float(v) for scale, v in zip(SCALES, scaled, strict=True)},
        },
    )


def initialisation(evidence: Evidence) -> Hypothesis:
    """Assumption 4, first part."""
    distances, separation = evidence.start_distances, evidence.separation
    farthest = float(distances.max())
    least = max(remaining_distance(cell) for cell in evidence.last.clusters)
    if math.isnan(farthest):
        answer, reason = Answer.UNDECIDED, "The first models were not seen."
    else:
        answer, reason = decide(
            evidence, lambda mu, smooth: farthest <= 0.25 * math.sqrt(min(1.0, mu / smooth)) * separation
        )
        if farthest > separation / 4:
            answer = Answer.FAILS
            reason = (
                "The farthest start exceeds Delta / 4, the radius at mu = L, and so that of any mu and L."
            )
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
    constant = 256 * (evidence.clusters - 1)
    variance, separation = evidence.loss_variance, evidence.separation

    def needed(mu: float) -> float:
        return constant * variance / (mu**2 * separation**4)

    answer, reason = decide(evidence, lambda mu, _: evidence.choice_samples >= needed(mu), needs_sample=True)
    most = evidence.strong_convexity_range[1]
    return Hypothesis(
        name="Assumption 4 (samples)",
        statement="n' >~ P sigma^2 / (mu^2 Delta^4)",
        required="at least 256 (P - 1) sigma^2 / (mu^2 Delta^4), which the proof uses of it"
        + (f": {number(needed(most))} at least" if most > 0 else ""),
        measured=f"n' = {evidence.choice_samples}, sigma^2 = {number(variance)}, Delta {number(separation)}",
        answer=answer,
        scope=Scope.STAND_IN,
        reason=reason,
        numbers={"samples": evidence.choice_samples, "needed": needed(most) if most > 0 else math.inf},
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
    steps = evidence.local_steps
    needed = (evidence.choice_samples + steps * evidence.gradient_samples) * evidence.rounds
    held = evidence.held
    if held is None:
        answer, measured = Answer.HOLDS, "every batch is drawn anew"
        reason = "Assignment and gradient have independent batches, and the gradient is unbiased."
    else:
        answer = Answer.HOLDS if held >= needed else Answer.FAILS
        measured = (
            f"n = {held}; {evidence.choice_samples} for a choice and {evidence.gradient_samples} for each of {steps} "
            f"gradients, T = {evidence.rounds}"
        )
        reason = (
            "The samples suffice for disjoint batches."
            if held >= needed
            else "The same samples choose the model and give the gradient, round after round: given the choice, "
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
    available = evidence.smallest_share * evidence.clients * evidence.gradient_samples
    enough = available >= evidence.dimension
    return Hypothesis(
        name="Section 5 (data and dimension)",
        statement="l m n' >~ d",
        required=f"at least d = {evidence.dimension}, with 1 for the hidden constant",
        measured=f"l m n' = {available:.0f}",
        answer=Answer.HOLDS if enough else Answer.FAILS,
        scope=Scope.EXACT,
        reason=f"The smallest cluster has {number(available / evidence.dimension)} samples a parameter in a round.",
        numbers={"available": available, "dimension": evidence.dimension},
    )


def algorithm(evidence: Evidence) -> Hypothesis:
    """Section 5: which algorithm Theorem 1 speaks of."""
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
        reason=("Theorem 1 does not speak of this run: " + " and ".join(differences) + ".")
        if differences
        else "Theorem 1 speaks of this algorithm.",
    )


def secants(evidence: Evidence) -> list[float]:
    """||grad phi_p(chi) - grad phi_p(chi')|| / ||chi - chi'|| between one measured round and the next."""
    found = []
    for before, after in zip(evidence.observations, evidence.observations[1:], strict=False):
        rows = {cell.cluster: row for row, cell in enumerate(before.clusters)}
        for row, cell in enumerate(after.clusters):
            earlier = rows.get(cell.cluster)
            if earlier is None:
                continue
            length = np.linalg.norm(after.models[row] - before.models[earlier])
            if length > 0:
                change = np.linalg.norm(after.gradients[row] - before.gradients[earlier])
                found.append(float(change / length))
    return found
