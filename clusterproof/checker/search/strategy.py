"""The steps of a search: the author's examples, random instances, tighter instances, and simpler counterexamples."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from clusterproof.checker.claims.class_ranges import class_of
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.freeze import Frozen
from clusterproof.checker.real_numbers.comparison import steps_taken
from clusterproof.checker.search.confirmation import holds_over_the_reals, is_certain, is_inexact
from clusterproof.checker.search.equations import solutions
from clusterproof.checker.search.evaluator import Evaluator
from clusterproof.checker.search.every_function import decide
from clusterproof.checker.search.instances import REDRAWS, sample, some, stream_of
from clusterproof.checker.search.margin import by_margin
from clusterproof.checker.search.maximise import change_entries, go_far, refine
from clusterproof.checker.search.repeated import DECIDED, decide_settings, unlikely
from clusterproof.checker.search.state import LEAST, LOOKING, Tried
from clusterproof.common.limits import SPENT

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


REFINED = 8
"""At most one in this many evaluations refines the tightest instance by smaller and smaller steps."""
FEW = 12
"""Number of instances to draw after a proof for all values has been found."""
ENTRIES = 2
"""At most one in this many evaluations changes vectors and sequences entry by entry."""


def search(
    statement: Statement,
    seed: int,
    significance: float,
    evaluations: int | None = None,
    *,
    frozen: Frozen | None = None,
) -> Tried:
    """Evaluate a statement at its examples, then at all instances or random ones, up to a number of evaluations.

    Parameters
    ----------
    statement
        The statement to search.
    seed
        Seed of the random numbers.
    significance
        Probability that at least one interval of the statement is wrong.
    evaluations
        Overrides the number of instances in the statement, or the number of replicates if instances are repeated.
    frozen
        The claim as a text that the kernel reads. If None, worst cases of a class are not searched.
    """
    evaluator, wanted = begin(statement, seed, significance, evaluations)
    tried = Tried(evaluator, frozen=frozen or Frozen(None, {statement.name: "its text was not written"}, {}))
    try:
        explore(tried, wanted)
        if tried.work.is_spent and not tried.coverage.stopped:
            tried.stop(tried.last, SPENT)
        for name, findings in tried.lines.items():
            tried.confirm(name, LEAST)
            if statement.random:
                findings.unlikely = unlikely(tried, findings)
            else:
                look_at_all(tried, name, wanted)
                simplify(tried, name)
    except KeyboardInterrupt:
        tried.interrupt()
    return tried


def look_at_all(tried: Tried, name: str, wanted: int) -> None:
    """If a line holds in floats at all of a few instances, evaluate it with real numbers at all of them."""
    findings, tightest = tried.lines[name], tried.lines[name].tightest
    is_complete = tried.coverage.exhausted and tried.space.complete and not findings.unanswered
    if (
        not is_complete
        or findings.found
        or tightest is None
        or not is_inexact(tried.statement, tightest, name)
    ):
        return
    listed = tried.space.instances(wanted) or ()
    left = LOOKING
    for instance in listed:
        if not holds_over_the_reals(tried.statement, instance, name):
            tried.asking = (name,)
            evaluation = tried.conclude(instance)
            tried.asking = ()
            if evaluation is not None and name in evaluation.broken:
                findings.found, findings.alone, findings.basis = evaluation, True, "intervals"
            return
        left -= steps_taken()
        if left < 0:
            return
    findings.all_hold = True


def begin(
    statement: Statement, seed: int, significance: float, evaluations: int | None
) -> tuple[Evaluator, int]:
    """Return the evaluator of a statement and the number of instances to try; the parameters are as in ``search``."""
    evaluator = Evaluator.of(statement, seed, significance, evaluations)
    wanted = statement.wanted if evaluations is None or statement.repeated else evaluations
    if statement.random:
        decided = DECIDED + 1 if statement.repeated else wanted
        evaluator = replace(evaluator, settings=len(statement.first) + decided)
    return evaluator, wanted


def explore(tried: Tried, wanted: int) -> None:
    """Evaluate the examples and ``wanted`` instances, then search for tighter instances."""
    statement = tried.statement
    for instance in statement.first:
        tried.evaluate(instance)
    if class_of(statement.space) and not statement.random:
        tried.worst = decide(tried)
    if tried.is_proved:  # a few instances show how tight the bound is
        tried.coverage.farthest = 1.0
        sample(tried, min(wanted, FEW))
    elif statement.repeated:
        decide_settings(tried, wanted)
    elif sample(tried, wanted) and not statement.random:
        _make_worse(tried, wanted)


def _make_worse(tried: Tried, wanted: int) -> None:
    for name in list(tried.lines):
        if tried.space.several:
            change_entries(tried, name, wanted // ENTRIES // len(tried.lines))
    for name in list(tried.lines):
        if not tried.space.drawn:
            refine(tried, name, wanted // REFINED // len(tried.lines))
            go_far(tried, name)
