"""The verdict *violated* on a potential: the kernel has shown that the invariant of a loop is false in some round."""

from __future__ import annotations

from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.statement import quantities
from clusterproof.checker.report.sentences import plural
from clusterproof.checker.report.verdict import Line
from clusterproof.checker.search.state import Tried


def line_of_potential(stated: kernel.Claim, tried: Tried) -> Line | None:
    """Return a violated line if the search found a false potential and the kernel agrees; otherwise return None."""
    broken, statement = tried.broken_potential, tried.statement
    if broken is None:
        return None
    record: dict[str, Any] = {
        "statement": statement.name,
        "line": kernel.POTENTIAL,
        "rule": "potential",
        "instance": tried.space.for_kernel(broken.instance),
    }
    try:
        (_, line), _ = kernel.show(stated, record)
    except kernel.Refused:
        return None
    name, numbers = kernel.printed(statement.name, line), statement.space.encode(broken.instance)
    rounds, place = broken.comparison.rounds, broken.comparison.place
    which = f"comparison {place} of the potential" if place else "the potential"
    when = f"after {plural('round', rounds)}" if rounds else "at the start"
    return Line(
        name=name,
        verdict=Kind.VIOLATED,
        basis="exact",
        reason=f"{name}, at {quantities(statement.space, broken.instance)}: {which} of the proof does not hold {when}",
        counterexample={**numbers, "line": name},
        evidence=record,
        role=kernel.POTENTIAL,
    )
