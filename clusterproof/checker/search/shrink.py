"""Simplify a counterexample to a line."""

from __future__ import annotations

import itertools
from typing import Any

from clusterproof.checker.search.confirmation import is_certain
from clusterproof.checker.search.equations import solutions
from clusterproof.checker.search.instances import REDRAWS, some, stream_of
from clusterproof.checker.search.margin import by_margin
from clusterproof.checker.search.state import Tried

SIMPLIFYING = 400
"""Number of random draws of the other quantities if a simpler value of one quantity alone does not break the line."""
SOLUTIONS = 400
"""Number of attempts to find another instance that meets the equations."""


def simplify(tried: Tried, name: str) -> None:
    """Simplify a counterexample one quantity at a time; if the line then holds, redraw the other quantities.

    If hypotheses are equations, no quantity can change alone. The search therefore tries simpler solutions of the
    equations first.
    """
    findings, space = tried.lines[name], tried.space
    first, left = findings.found, SIMPLIFYING
    if first is None or space.key(first.instance) in map(space.key, tried.statement.first):
        return  # an example is reported as its author wrote it
    tried.asking = (name,)
    stream = stream_of(tried, "simpler")
    for solved in () if space.drawn else solutions(tried, stream, SOLUTIONS, simple=SOLUTIONS):
        if space.complexity(solved) < space.complexity((findings.found or first).instance):
            _still_breaks(tried, name, solved)
    while (found := findings.found) is not None:
        moves = space.simpler(found.instance)
        if any(space.holds(move) and _still_breaks(tried, name, move) for move in moves):
            continue
        cost = space.complexity(found.instance)
        for move, _ in itertools.product(() if space.drawn else moves, range(REDRAWS)):
            if left == 0 or findings.found is not found:
                break
            left -= 1
            others = [other for other in space.ranges if move[other] is found.instance[other]]
            if not others:
                break
            drawn = space.draw(stream, 1, start=move, names=some(stream, others))
            if drawn is not None and space.complexity(drawn) < cost:
                _still_breaks(tried, name, drawn)
        if findings.found is found:
            break
    tried.asking = ()
    if found is first or found is None or findings.basis != "floats":
        return
    if by_margin(tried.evaluator, found, name, findings.magnitude):
        findings.found = first


def _still_breaks(tried: Tried, name: str, instance: dict[str, Any]) -> bool:
    """Evaluate an instance, and store it as the new counterexample if it refutes the line.

    If the previous counterexample refuted this line but no earlier one, the new counterexample must do the same.
    """
    findings, key = tried.lines[name], tried.space.key(instance)
    known = tried.seen.get(key, (name,))
    if known is None or (findings.basis == "floats" and name not in known):
        return False
    evaluation = tried.evaluation(instance)
    if evaluation is None or name not in evaluation.broken:
        return False
    judged = evaluation.judged[name]
    if findings.basis == "intervals" and not (judged.basis or is_certain(tried.statement, evaluation, name)):
        return False
    if findings.echo(evaluation, name) and findings.alone:
        return False
    findings.found = evaluation
    return True
