"""Write the results of a search as evidence for the kernel. This module does not decide verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.class_ranges import class_of
from clusterproof.checker.claims.ranges import Choice, Integers
from clusterproof.checker.kernel.evaluation import limited
from clusterproof.checker.kernel.rules import cases
from clusterproof.checker.search.squares import NO_FORMULA, blocks
from clusterproof.checker.search.state import Tried

MOST_STATES = 26
"""Largest number of symbols for rounds and for the states after the rounds."""


def evidence_of(tried: Tried, line: str, claim: kernel.Claim) -> tuple[dict[str, Any], kernel.Word] | None:
    """Return evidence that the kernel accepts for a line, with the kernel's verdict; return None if there is none.

    Parameters
    ----------
    tried
        State of the search for one of the claim's statements.
    line
        Name of the line, or an empty string if it is the only one.
    claim
        The claim as a text that the kernel reads.
    """
    name = tried.statement.name
    with suppress(ValueError):  # a number with more digits than Python can write
        for data in _candidates(tried, line, claim.statements[name]):
            record = {"statement": name, "line": line, **data}
            with suppress(kernel.Refused):
                return record, kernel.show(claim, record)[1]
    return None


def refusal_of(tried: Tried, line: str, claim: kernel.Claim) -> str:
    """Return the reason why the kernel rejects multipliers, or an empty string if the search found none."""
    worst = tried.worst.get(line)
    if worst is None or worst.family is None:
        return ""
    try:
        kernel.show(claim, {"statement": tried.statement.name, "line": line, **worst.family})
    except kernel.Refused as refused:
        return str(refused)
    return ""


def _candidates(tried: Tried, line: str, statement: kernel.Statement) -> Iterator[dict[str, Any]]:
    findings = tried.lines.get(line)
    if findings is None or not findings.instances:
        if tried.coverage.exhausted:
            yield {"rule": "empty", "listed": True}
        yield {"rule": "empty"}
        if findings is None:
            return
    if findings.found is not None:
        yield {"rule": "instance", "instance": tried.space.for_kernel(findings.found.instance)}
        return
    if tried.coverage.exhausted and tried.space.complete:
        yield {"rule": "exhausted"}
    if findings.tightest is None:
        return
    witness = tried.space.for_kernel(findings.tightest.instance)
    if class_of(tried.space):
        dual = tried.worst[line].multipliers if line in tried.worst else None
        if dual is not None:
            yield dual
            if "witness" not in dual:
                yield {**dual, "witness": witness}
        return
    ranges = tried.space.ranges.items()
    listed = [name for name, allowed in ranges if isinstance(allowed, Integers) and allowed.complete]
    between = [name for name, allowed in ranges if isinstance(allowed, Choice) and _are_fractions(allowed)]
    for fewer in ({"between": between}, {}, {"listed": listed}):
        if fewer and not any(fewer.values()):
            continue
        data: dict[str, Any] = {"witness": witness, **fewer}
        states = _states(statement, line, data)
        if states is None:
            continue
        if states:
            data |= {"rule": "induction", "states": states}
        else:
            yield {"rule": "signs", **data}
        squares = blocks(statement, line, data)
        if squares is not None:
            yield {"rule": "squares", "blocks": squares, **data}


def _are_fractions(allowed: Choice) -> bool:
    """Return whether all options are fractions. Integers do not become symbols, because they may be list indices."""
    return all(type(option) is Fraction for option in allowed.options)


def _states(statement: kernel.Statement, line: str, data: Mapping[str, Any]) -> int | None:
    """Return the number of symbols for rounds, states and values in a line, or None if the line has no formula."""
    used = 0
    try:
        with limited():
            for case in cases(statement, line, data, MOST_STATES):
                used = max(used, case.evaluation.taken)
    except NO_FORMULA:
        return None
    return used
