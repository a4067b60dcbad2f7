"""The statements that a claim consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusterproof.theory.checker.conclusions import WHOLE
from clusterproof.theory.checker.statement import Statement


@dataclass
class Parts:
    """Statements of one claim.

    Attributes
    ----------
    id
        Of the claim.
    parts
        All statements: the first, the same on other spaces (``also``), further inequalities (``step``).
    ill_posed
        Whether an instance that breaks it shows that it has no single meaning, instead of that it is false.
    """

    id: str
    parts: list[Statement] = field(default_factory=list)
    ill_posed: bool = False


def factor_names(part: Statement, conclusion: str, term: str, *, several: bool) -> list[str]:
    """Names of a factor: one for the statement; for all that is allowed in one of several parts also the part's."""
    owners = [""] if part.same else [part.name]
    if part.same and several and part.name and term == WHOLE:
        owners.append(part.name)
    return [": ".join(each for each in (own, conclusion, term) if each) for own in owners]
