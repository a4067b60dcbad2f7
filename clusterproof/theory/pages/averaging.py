"""The pages of FedAvg, FedProx and methods without theorems: fixed points, rates and theorems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value
from clusterproof.theory.pages.facts import Facts, Next, Rate, Rest, Result
from clusterproof.theory.pages.judging import Theorem, judge_all
from clusterproof.theory.pages.one_model import (
    error_facts,
    exact_rate,
    head,
    law_facts,
    on_every_run,
    with_certified,
)
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.papers import rounds_on_every_loss
from clusterproof.theory.papers.fedavg.drift import DRIFT
from clusterproof.theory.papers.fedprox import gain
from clusterproof.theory.runs.methods import AveragingRun, MethodRun
from clusterproof.theory.runs.one_model import MEASURED


def method_facts(of: MethodRun) -> Facts:
    """Return the facts of a run of a method for which the library has no theorems."""
    task, run = head(of)
    results: list[Result] = [error_facts(of)]
    results += [] if of.rest is None else [rest_facts(of)]
    name = of.algorithm.name if of.algorithm.name in ALGORITHMS else "FILE.py:NAME"
    count = 20 if of.local_steps == 1 else 1
    commands = (
        Next(f"run {name} --local-steps {count}", "another number of local steps"),
        Next(f"conform YOURS.py:NAME --as {name}", "whether your code is this"),
    )
    none = "no theorem of this algorithm"
    return Facts(task, run, (*results, rest_rate(of), law_facts(of)), (), (), commands, none)


def rest_facts(of: MethodRun) -> Rest:
    """Return the facts about the fixed point of the rounds."""
    assert of.rest is not None
    assumes = ("all clients",) * (of.participants < of.task.clients) + ("exact gradients",) * of.inexact
    end = None
    if of.random is None:
        end = float(np.linalg.norm(of.path[-1] - of.rest.point, axis=-1).max())
    return Rest("the rounds", of.rest.distance, end, MEASURED * of.unit, of.rest.radius, assumes)


def rest_rate(of: MethodRun) -> Rate:
    """Measure the factor by which a run approaches the fixed point of its rounds."""
    name = "distance from where the rounds rest"
    if of.rest is None:
        if getattr(of.algorithm, "reshuffle", False):
            return Rate(name, reason="a step takes one sample")
        return Rate(name, reason="losses are not quadratic" if of.groups is None else "no map of a round")
    found = exact_rate(of, name, np.linalg.norm(of.path - of.rest.point, axis=-1), of.rest.radius)
    return found if of.rest.distance else replace(found, of="error")


def _several_exact_steps(of: AveragingRun) -> Iterator[Hypothesis]:
    yield Hypothesis("local steps", ">", 1, of.local_steps)
    yield from of.case.exact_rounds
    yield from of.case.equal_weights


def _theorem_4(of: AveragingRun) -> Outcome:
    rests_there = of.rest is not None and not of.rest.distance
    return Outcome(
        "says nothing", reason="another problem" if rests_there else "fixed steps rest away from the optimum"
    )


def _falling_steps(of: AveragingRun) -> Iterator[Hypothesis]:
    yield Hypothesis("steps that fall like 1/t", "=", True, False)


def _exact_solves(of: AveragingRun) -> Iterator[Hypothesis]:
    yield Hypothesis("exact local solves", "=", True, False)
    if of.dissimilarity is not None:
        yield Hypothesis("gain", ">", 0, _gain(of))


def _large_proximal_term(of: AveragingRun) -> Iterator[Hypothesis]:
    yield Hypothesis("exact local solves", "=", True, False)
    if of.dissimilarity is not None:
        needed = 6 * of.curvatures[0] * of.dissimilarity**2
        yield Hypothesis("--proximal", "=", float(needed), float(of.algorithm.proximal), "6 L B^2")


def _gain(of: AveragingRun) -> float:
    root = math.sqrt(of.participants / 2)
    return float(gain(of.algorithm.proximal, of.dissimilarity, root, of.curvatures[0]))


def _dissimilarity(of: AveragingRun) -> Mapping[str, Value]:
    return {} if of.dissimilarity is None else {"B": of.dissimilarity, "steps": of.local_steps}


NEVER = Outcome("inconclusive")
"""Outcome of theorems about runs that the library cannot simulate."""
FEDPROX = (
    Theorem("fedprox/theorem-4", NEVER, _exact_solves, _dissimilarity),
    Theorem("fedprox/corollary-7", NEVER, _large_proximal_term, _dissimilarity),
    on_every_run(DRIFT),
)


def _fedavg(of: AveragingRun) -> tuple[Theorem, ...]:
    number = 1 if of.participants == of.task.clients else 3
    return (
        Theorem(f"fedavg/theorem-{number}", NEVER, _falling_steps),
        Theorem("fedavg/theorem-4", _theorem_4, _several_exact_steps),
        *with_certified(on_every_run(DRIFT), on_every_run(rounds_on_every_loss.FEDAVG)),
    )


def averaging_facts(of: AveragingRun) -> Facts:
    """Return the facts of a run of FedAvg or FedProx."""
    name = of.algorithm.name
    task, run = head(of)
    theorems, others = judge_all(FEDPROX if name == "fedprox" else _fedavg(of), of)
    steps = Next(f"run {name} --local-steps 1", "no distance is left")
    if of.local_steps == 1:
        steps = Next(f"run {name} --local-steps 20", "a distance is left")
    more = Next("check fedavg/theorem-4", "the problem of Theorem 4")
    if name == "fedprox":
        more = Next("run fedavg", "no proximal term")
    results: list[Result] = [error_facts(of)]
    results += [] if of.rest is None else [rest_facts(of)]
    return Facts(task, run, (*results, rest_rate(of), law_facts(of)), theorems, others, (steps, more))
