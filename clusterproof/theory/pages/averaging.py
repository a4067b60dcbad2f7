"""The pages of FedAvg and FedProx: their fixed points, their rates, and theorems about them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value
from clusterproof.theory.pages.facts import Facts, Next, Result
from clusterproof.theory.pages.method import rest_facts, rest_rate
from clusterproof.theory.pages.one_model import error_facts, head, law_facts, on_every_run
from clusterproof.theory.pages.outcomes import Outcome
from clusterproof.theory.pages.theorem import Theorem, judge_all
from clusterproof.theory.papers.fedavg.drift import DRIFT
from clusterproof.theory.papers.fedprox import gain
from clusterproof.theory.runs.averaging import AveragingRun


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
"""Names of theorems about runs that the library does not make."""
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
        on_every_run(DRIFT),
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
