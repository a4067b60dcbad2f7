"""The hypotheses of a theorem on a run, and the word of the first that fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from clusterproof.algorithms import Trace
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.runs.page import TheoremOnRun

AT_REST = 1e-9
"""A model is at rest nearer to the fixed point than this share of its size: farther on, rounding covers the way."""

MOVED = 1e-8
"""A round that comes nearer by no more than this share of the size does not tell one step size from another."""

Need = tuple[bool, str, str]
"""Whether a hypothesis is met, the hypothesis, and what is met with here."""


class Compared(Protocol):
    """A run whose rounds were compared with its algorithm's."""

    @property
    def algorithm(self) -> Any:
        """The algorithm whose dynamics it has."""

    @property
    def trace(self) -> Trace:
        """Its record."""

    @property
    def difference(self) -> tuple[int, float] | None:
        """The first round that leads elsewhere, and by how much."""


def refusal(claim: str, needs: Iterable[Need], run: Compared) -> TheoremOnRun | None:
    """Return what the first hypothesis that fails says, or a round that is not the algorithm's; None if all are met."""
    unmet = [(needed, here) for met, needed, here in needs if not met]
    if not unmet and run.difference is not None:
        number, size = run.difference
        needed = f"the rounds of {run.algorithm.name} with these options"
        unmet = [(needed, f"round {number} is {short(size)} off")]
    if unmet:
        words = f"does not apply: needs {unmet[0][0]}, here {unmet[0][1]}"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    if run.trace.rounds == 0:
        return TheoremOnRun(claim, "inconclusive", None, None, "inconclusive: no round was run")
    return None
