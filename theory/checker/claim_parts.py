"""The statements that a claim consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

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
