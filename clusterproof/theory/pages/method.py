"""The page of a method without known theorems: the fixed point of its rounds, and its rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.theory.pages.facts import Facts, Next, Rate, Rest, Result
from clusterproof.theory.pages.one_model import error_facts, exact_rate, head, law_facts
from clusterproof.theory.runs.method import MethodRun
from clusterproof.theory.runs.one_model import MEASURED


def method_facts(of: MethodRun) -> Facts:
    """Return the facts of a run of a method without known theorems."""
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
    """Return the fixed point of the rounds."""
    assert of.rest is not None
    assumes = ("all clients",) * (of.participants < of.task.clients) + ("exact gradients",) * of.inexact
    end = None
    if of.random is None:
        end = float(np.linalg.norm(of.path[-1] - of.rest.point, axis=-1).max())
    return Rest("the rounds", of.rest.distance, end, MEASURED * of.unit, of.rest.radius, assumes)


def rest_rate(of: MethodRun) -> Rate:
    """Return the factor by which a run approaches the fixed point of its rounds."""
    name = "distance from where the rounds rest"
    if of.rest is None:
        if getattr(of.algorithm, "reshuffle", False):
            return Rate(name, reason="a step takes one sample")
        return Rate(name, reason="losses are not quadratic" if of.groups is None else "no map of a round")
    found = exact_rate(of, name, np.linalg.norm(of.path - of.rest.point, axis=-1), of.rest.radius)
    return found if of.rest.distance else replace(found, of="error")
