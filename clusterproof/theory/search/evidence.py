"""From what was tried to records of evidence, which the kernel replays: nothing here is trusted with a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

from clusterproof.theory import kernel
from clusterproof.theory.claims.class_ranges import class_of
from clusterproof.theory.claims.ranges import Instance
from clusterproof.theory.kernel.numbers import write
from clusterproof.theory.search.squares import blocks
from clusterproof.theory.search.tried import Tried


def evidence_of(tried: Tried, line: str, statement: kernel.Statement) -> dict[str, Any] | None:
    """Return evidence that the kernel accepts for a line; None if none is found.

    Parameters
    ----------
    tried
        Of the same statement.
    line
        Its name; empty of a single one.
    statement
        In the language.
    """
    with suppress(ValueError):  # more digits than Python writes
        for data in _candidates(tried, line, statement):
            evidence = {"line": line, "digest": statement.digest, **data}
            if kernel.replay(statement, evidence).word is not kernel.Word.INCONCLUSIVE:
                return evidence
    return None


def _candidates(tried: Tried, line: str, statement: kernel.Statement) -> Iterator[dict[str, Any]]:
    findings = tried.lines.get(line)
    if findings is None or not findings.instances:
        if tried.coverage.exhausted:
            yield {"rule": "empty", "listed": True}
        yield {"rule": "empty"}
        if findings is None:
            return
    if findings.found is not None:
        yield {"rule": "instance", "instance": _written(tried, findings.found.instance)}
        return
    if tried.coverage.exhausted and tried.space.complete:
        yield {"rule": "exhausted"}
    if findings.tightest is None:
        return
    witness = _written(tried, findings.tightest.instance)
    if class_of(tried.space):
        dual = tried.worst[line].multipliers if line in tried.worst else None
        if dual is not None:
            yield dual
            yield {**dual, "witness": witness}
        return
    yield {"rule": "signs", "witness": witness}
    squares = blocks(statement, line)
    if squares is not None:
        yield {**squares, "witness": witness}


def _written(tried: Tried, instance: Instance) -> dict[str, Any]:
    """Write an instance such that the kernel reads it, a function of a class by the points that were evaluated."""
    of_class = class_of(tried.space)
    return {
        name: tried.space.ranges[name].encode(value) if name == of_class else _number(value)
        for name, value in instance.items()
    }


def _number(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_number, value))
    return write(Fraction(value) if isinstance(value, float) else value)
