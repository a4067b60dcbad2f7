"""The page of ProxSkip: comparison of runs with the exact law, and rates of the expectation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterproof.theory.bounds.hypotheses import all_met
from clusterproof.theory.pages.facts import Facts, Next, Rate, Result, Told
from clusterproof.theory.pages.judging import judge_all
from clusterproof.theory.pages.one_model import (
    allowed_by,
    error_facts,
    head,
    in_expectation,
    law_facts,
    with_certified,
)
from clusterproof.theory.papers import rounds_on_every_loss
from clusterproof.theory.papers.proxskip import SHARP, THEOREM_6
from clusterproof.theory.runs.coins import RunOfCoins, second_moments
from clusterproof.theory.runs.factor import rounds_above
from clusterproof.theory.runs.one_model import MEASURED
from clusterproof.theory.runs.run import FEWEST_RUNS

FEWEST_ROUNDS = 5
"""Smallest number of rounds over which a factor is measured."""

THEOREMS = (
    in_expectation(THEOREM_6, in_all_rounds=False),
    *with_certified(
        in_expectation(SHARP, in_all_rounds=True),
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
    printed, ours = (float(allowed_by(theorem, of)[-1].max()) for theorem in (THEOREM_6, SHARP))
    exact = None if moments is None else float(np.sqrt(moments[-1]))
    known = {"printed bound": printed, "our bound": ours, "root mean square": exact}
    return Told("root mean square error" if exact is None else "exact root mean square error", known)


def _rate(of: RunOfCoins, moments: np.ndarray | None) -> Rate:
    """Return the factor of the runs, and the factor of the root mean square error, which depends on rare coin flips."""
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
