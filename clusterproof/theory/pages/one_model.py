"""Common content of pages for algorithms with one model: task, run, error, rate, law, and theorems on rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clusterproof.theory.bounds.round_theorems import RoundTheorem
from clusterproof.theory.bounds.trace_bound import Compared
from clusterproof.theory.pages.facts import ErrorFacts, Law, Rate, RunFacts, TaskFacts
from clusterproof.theory.pages.judging import Theorem, count, judged
from clusterproof.theory.pages.measured import rate_of, run_facts, task_facts
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.one_model import MEASURED, OneModelRun


def head(of: OneModelRun) -> tuple[TaskFacts, RunFacts]:
    """Return the facts about task and run, where L and mu are constants of every single client's loss."""
    known = dict(zip(("L", "mu"), map(float, of.curvatures), strict=True))
    if of.gradients is not None:
        known["zeta"] = of.heterogeneity
    return task_facts(of, known), replace(run_facts(of, of.curvatures[0]), participants=of.participants)


def error_facts(of: OneModelRun) -> ErrorFacts:
    """Return distances to the common optimum, and distances between the last models and the clusters' optima."""
    first, last = (float(np.median(of.distances[at])) for at in (0, -1))
    spread = of.runs > 1 and np.ptp(of.distances[-1]) > 0
    away = np.linalg.norm(of.path[-1][:, None] - of.task.optima, axis=-1)
    return ErrorFacts(
        "distance from the common optimum",
        first,
        last,
        largest=float(of.distances[-1].max()) if spread else None,
        nearest=float(away.min()),
        farthest=float(away.max()),
    )


def exact_rate(of: OneModelRun, name: str, distances: np.ndarray, limit: float | None) -> Rate:
    """Measure the factor of distances (rounds + 1, R) in a run without random numbers."""
    if of.random is not None:
        return Rate(name, limit=limit, unmet=of.random)
    return rate_of(name, distances, MEASURED * of.unit, limit)


def law_facts(of: OneModelRun) -> Law:
    """Return the comparison of the run with the exact path for its settings."""
    path = of.law
    return Law(
        "path" if path.coins is None else "coins",
        path.outcome,
        round=path.round,
        distance=path.distance,
        coins=path.coins,
        heads=path.heads,
        reason="the models of its settings overflow" if path.diverges else "",
        unmet=path.unmet,
    )


def compare_all(of: OneModelRun, compared: Sequence[Compared], failure: float = 0.0) -> Outcome:
    """Decide the outcome of a bound. It is inconclusive if the run differs from the exact path of its settings."""
    found = judged(compared, [count("in some round", compared, failure)])
    return replace(found, outcome="inconclusive", reason="other rounds") if of.law.differs else found


def allowed_by(theorem: RoundTheorem, of: OneModelRun) -> np.ndarray:
    """Return a theorem's bound on the error after each round, (rounds + 1, R)."""
    squared = theorem.squared_bound(of.case, np.arange(of.rounds + 1)[:, None])
    return np.asarray(np.sqrt(squared))


def on_every_run(theorem: RoundTheorem) -> Theorem:
    """Make a theorem from a bound that holds in every run."""
    return Theorem(
        theorem.claim,
        lambda of: compare_all(of, [of.compared(allowed_by(theorem, of))]),
        lambda of: theorem.needs(of.case),
    )


def in_expectation(theorem: RoundTheorem, *, in_all_rounds: bool) -> Theorem:
    """Make a theorem with the bound E Psi_T <= rate^T Psi_0, and compare runs with 20 times the bound.

    The error is the distance of the mean of the x_i, and its square is at most Psi / m. The bound holds in each step,
    so Psi_t / rate^t is a supermartingale. The probability that this quantity ever exceeds 20 times the initial value
    is at most 1/20.
    """
    assert theorem.rate is not None
    rate = theorem.rate

    def says(of: OneModelRun) -> Outcome:
        allowed = allowed_by(theorem, of) / np.sqrt(FAILURE)
        if not in_all_rounds:
            allowed[:-1] = np.inf
        found = compare_all(of, [of.compared(allowed)], FAILURE)
        known = {"factor of E Psi": float(rate(of.case)), "probability": 1 - FAILURE}
        sentence = "in all rounds" if in_all_rounds else "at the end"
        return replace(found, constants=known, reason=found.reason or sentence)

    return Theorem(theorem.claim, says, lambda of: theorem.needs(of.case))


def with_certified(theorem: Theorem, *certified: Theorem) -> tuple[Theorem, ...]:
    """Return a theorem that implies certified claims, and these claims.

    If a certified claim holds on the run, the paragraph of the theorem states its id and its bound. The page lists
    the certified claim itself only if the run breaks the claim. The table of all theorems always lists it.
    """
    judge = theorem.says
    assert callable(judge)

    def says(of: OneModelRun) -> Outcome:
        found = judge(of)
        judged_ones = (each.on(of) for each in certified)
        one = next((one for one in judged_ones if one.outcome == "holds"), None)
        known = {} if one is None else {"certified claim": one.claim, "certified bound": one.allowed}
        return replace(found, constants={**found.constants, **known})

    return replace(theorem, says=says), *map(_on_page_if_broken, certified)


def _on_page_if_broken(theorem: Theorem) -> Theorem:
    return replace(theorem, on_page=lambda of: theorem.on(of).outcome == "is broken")


def largest_factor(of: OneModelRun, values: np.ndarray, unit: float) -> float | None:
    """Return the largest factor per round of norms (rounds + 1, R), among norms above rounding errors."""
    counted = values[:-1] > MEASURED * unit
    ratios = values[1:][counted] / values[:-1][counted]
    return float(ratios.max()) if ratios.size else None
