"""Pages of methods with control variates: SCAFFOLD, FedLin and ProxSkip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, all_met
from clusterproof.theory.bounds.round_theorems import RoundTheorem
from clusterproof.theory.pages.facts import Facts, Next, Rate, Result, Told
from clusterproof.theory.pages.judging import Theorem, judge_all
from clusterproof.theory.pages.one_model import (
    allowed_by,
    compare_all,
    error_facts,
    exact_rate,
    head,
    in_expectation,
    largest_factor,
    law_facts,
    on_every_run,
    with_certified,
)
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.papers import fedlin, proxskip, rounds_on_every_loss
from clusterproof.theory.papers.proxskip import THEOREM_6
from clusterproof.theory.papers.scaffold.option_1 import SHARP_OPTION_1
from clusterproof.theory.papers.scaffold.sharp import SHARP
from clusterproof.theory.runs.factor import rounds_above
from clusterproof.theory.runs.methods import CorrectedRun, RunOfCoins, second_moments
from clusterproof.theory.runs.one_model import MEASURED
from clusterproof.theory.runs.run import FEWEST_RUNS


def _factors(of: CorrectedRun, theorem: RoundTheorem, values: np.ndarray | None) -> dict[str, Value]:
    """Return the factor per round that a theorem allows, and the largest factor of the norms (rounds + 1, R)."""
    assert theorem.rate is not None
    known: dict[str, Value] = {"(1 - eta mu)^K": float(theorem.rate(of.case)) ** 0.5}
    if values is not None:
        known["largest factor"] = largest_factor(of, values, of.unit)
    return known


def _scaffold(theorem: RoundTheorem) -> Theorem:
    """Return the theorem on SCAFFOLD's Psi, for all rounds together and for each round."""

    def says(of: CorrectedRun) -> Outcome:
        compared, roots = [of.compared(allowed_by(theorem, of))], None
        psi = None if of.law.differs or not of.law.measured else of.law.measured.get("psi")
        if psi is not None and theorem.rate is not None:
            rate = float(theorem.rate(of.case)) ** 0.5
            roots = np.sqrt(np.broadcast_to(np.asarray(psi).reshape(len(psi), -1), of.distances.shape))
            compared.append(of.compared(np.concatenate([roots[:1], rate * roots[:-1]]), roots, "sqrt Psi"))
        found = compare_all(of, compared)
        option = "factor of Psi, option I" if of.algorithm.option == "I" else "factor of Psi"
        return replace(found, constants=_factors(of, theorem, roots), reason=found.reason or option)

    return Theorem(theorem.claim, says, lambda of: theorem.needs(of.case))


def _fedlin(of: CorrectedRun) -> Outcome:
    """Compare with ``fedlin/sharp`` over all rounds, and in each round with the additional term of the claim."""
    allowed = allowed_by(fedlin.SHARP, of)
    rate = float(fedlin.SHARP.rate(of.case)) if fedlin.SHARP.rate is not None else 1.0
    spared = (of.local_steps * of.algorithm.step_size) ** 2 * (1 - rate) / 3
    after = np.empty((of.rounds, of.runs))
    for number, (model, error) in enumerate(zip(of.path[:-1], of.distances[:-1], strict=True)):
        found = of.gradients_at(model)
        away = np.square(found - found.mean(axis=-2, keepdims=True) - of.gradients).sum(axis=-1)
        after[number] = np.sqrt(np.maximum(rate * error**2 - spared * away.mean(axis=-1), 0.0))
    each = of.compared(np.concatenate([of.distances[:1], after]), name="error after a round")
    judged = compare_all(of, [of.compared(allowed), each])
    known = _factors(of, fedlin.SHARP, of.distances)
    return replace(judged, constants=known, reason=judged.reason or "factor of the error")


def _printed_steps(of: CorrectedRun) -> Iterator[Hypothesis]:
    yield from of.case.needs_plain_means()
    yield Hypothesis("mu < L", "=", True, of.curvatures[1] < of.curvatures[0])
    printed = 1 / (6 * of.curvatures[0] * of.local_steps)
    yield Hypothesis("step size", "=", printed, float(of.algorithm.step_size), "1/(6 L K)", room=1e-9)


def _printed_rate(of: CorrectedRun) -> Outcome:
    """Compare the gap in the loss with ``fedlin/rate``: f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*)."""
    if of.groups is None:
        return Outcome("inconclusive", reason="the gap of quadratics")
    share = of.groups.shares(np.ones(of.task.clients))
    hessian = np.einsum("g,gij->ij", share, of.groups.hessians)
    away = of.path - of.task.pooled_optimum
    roots = np.sqrt(np.maximum(np.einsum("tri,ij,trj->tr", away, hessian, away), 0.0) / 2)
    rate, unit = float(fedlin.recalled_rate(*of.curvatures)), float(np.sqrt(of.curvatures[0] / 2))
    allowed = rate ** (np.arange(of.rounds + 1) / 2)[:, None] * roots[0]
    found = compare_all(of, [of.compared(allowed, roots, "sqrt(f - f*)", unit)])
    largest = largest_factor(of, roots, of.unit * unit)
    known: dict[str, Value] = {
        "1 - mu/(6 L)": rate,
        "largest factor": None if largest is None else largest**2,
    }
    return replace(found, constants=known, reason=found.reason or "factor of the gap")


FEDLIN = (
    Theorem("fedlin/rate", _printed_rate, _printed_steps),
    *with_certified(
        Theorem("fedlin/sharp", _fedlin, lambda of: fedlin.SHARP.needs(of.case)),
        on_every_run(rounds_on_every_loss.FEDLIN),
    ),
)
SCAFFOLD = {
    "I": (_scaffold(SHARP_OPTION_1),),
    "II": with_certified(
        _scaffold(SHARP),
        on_every_run(rounds_on_every_loss.SCAFFOLD),
        on_every_run(rounds_on_every_loss.SCAFFOLD_FEW_STEPS),
    ),
}


def corrected_facts(of: CorrectedRun) -> Facts:
    """Return the facts of a run of SCAFFOLD or FedLin."""
    task, run = head(of)
    option = getattr(of.algorithm, "option", "")
    table = SCAFFOLD[option] if option else FEDLIN
    theorems, others = judge_all(table, of)
    commands = (
        Next("run fedlin --step-size 0.2", "a longer step"),
        Next("check fedlin/rate", "tests of this rate"),
    )
    if option:
        other = {"I": "II", "II": "I"}[option]
        commands = (
            Next(f"run scaffold --option {other}", "the other controls"),
            Next("check scaffold/option-1-diverges", "where option I diverges"),
        )
    results = (error_facts(of), exact_rate(of, "error", of.distances, of.radius), law_facts(of))
    return Facts(task, run, results, theorems, others, commands)


FEWEST_ROUNDS = 5
"""Smallest number of rounds over which a factor is measured."""

THEOREMS = (
    in_expectation(THEOREM_6, in_all_rounds=False),
    *with_certified(
        in_expectation(proxskip.SHARP, in_all_rounds=True),
        in_expectation(rounds_on_every_loss.PROXSKIP, in_all_rounds=True),
    ),
)


def skipping_facts(of: RunOfCoins) -> Facts:
    """Return the facts of a run of ProxSkip."""
    task, run = head(of)
    moments = second_moments(of)
    theorems, others = judge_all(THEOREMS, of)
    some = Next("run proxskip --probability 1", "gradient descent")
    if of.algorithm.probability == 1:
        some = Next("run proxskip --probability 0.5", "half the communication")
    commands = (some, Next("run proxskip --probability 0.2", "1 - p^2 decides the rate"))
    results: list[Result] = [error_facts(of), _rate(of, moments)]
    if all_met(THEOREM_6.needs(of.case)):
        results.append(_expectation(of, moments))
    return Facts(task, run, (*results, law_facts(of)), theorems, others, commands)


def _expectation(of: RunOfCoins, moments: np.ndarray | None) -> Told:
    """Return the bounds on the root mean square error after the last round, and the exact value."""
    printed, ours = (float(allowed_by(theorem, of)[-1].max()) for theorem in (THEOREM_6, proxskip.SHARP))
    exact = None if moments is None else float(np.sqrt(moments[-1]))
    known = {"printed bound": printed, "our bound": ours, "root mean square": exact}
    return Told("root mean square error" if exact is None else "exact root mean square error", known)


def _rate(of: RunOfCoins, moments: np.ndarray | None) -> Rate:
    """Return the factor of the runs, and of the root mean square error, which depends on rare coin tosses."""
    if not of.same_start:
        return Rate("error", reason="the runs start from different models")
    if of.random is not None:
        return Rate("error", unmet=of.random)
    if not np.isfinite(of.distances).all():
        return Rate("error", reason="the models overflow")
    last = rounds_above(np.median(of.distances, axis=1), MEASURED * of.unit)
    if last < FEWEST_ROUNDS:
        return Rate("error", reason="too few rounds")
    factors = (of.distances[last] / of.distances[0]) ** (1 / last)
    found = Rate("error", float(np.median(factors)), 0, last, spread=True)
    if np.ptp(factors) > 1e-4:
        enough = len(factors) >= FEWEST_RUNS
        low, high = np.quantile(factors, [0.025, 0.975] if enough else [0, 1])
        found = replace(found, low=float(low), high=float(high))
    root = None if moments is None else float((moments[last] / moments[0]) ** (1 / (2 * last)))
    return replace(found, root_mean_square=root)
