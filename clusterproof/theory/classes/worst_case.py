"""The worst case of a traced claim on one path: its ratio, whether the bound holds, and a certificate of that."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from clusterproof.theory.classes.certificate import Certificate, forced_face, tight, with_faces, with_slack
from clusterproof.theory.classes.explicit import LEAST, largest_excess
from clusterproof.theory.classes.path_program import PathProgram
from clusterproof.theory.classes.program import Solution, solve

SLACK = Fraction(1, 10**6)
"""Share by which the bound is raised where no certificate of the bound itself is found."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """What a solver and certificates give of one path.

    Attributes
    ----------
    path
        Its program.
    """

    path: PathProgram

    @cached_property
    def _first(self) -> Solution | None:
        return solve(self.path.program)

    @cached_property
    def forced(self) -> tuple[np.ndarray, list[int]] | None:
        """The face on which every certificate lies, of a sum of several functions; None if there is none."""
        if len(self.path.trace.oracles) == 1 or self._first is None:
            return None
        basis, active = forced_face(self.path, self._first.ratio)
        return (basis, active) if len(basis) else None

    @cached_property
    def solution(self) -> Solution | None:
        """The solver's optimum of measured over bound; None where there is none."""
        if self.forced is None:
            return self._first
        return solve(self.path.program, self.forced[0].astype(float)) or self._first

    @property
    def ratio(self) -> float | None:
        """Largest measured over bound, by a solver; None if it is unbounded, or the solver fails."""
        return None if self.solution is None else self.solution.ratio

    @cached_property
    def excess(self) -> float | None:
        """Largest measured - bound in a trace of 1, by a solver; None if that fails."""
        return largest_excess(self.path)

    @property
    def exceeds(self) -> bool:
        """Whether a solver's worst case exceeds the bound by more than its rounding."""
        if self.ratio is not None and self.ratio > 1 + float(SLACK):
            return True
        return self.certificate is None and (self.excess is None or self.excess > LEAST)

    @cached_property
    def certificate(self) -> Certificate | None:
        """A proof of the bound itself; None if none is found."""
        if self.solution is not None:
            if self.solution.ratio > 1 + float(SLACK):
                return None
            if self.solution.ratio < 1 - float(SLACK):
                found = with_slack(self.path, self.solution, Fraction(1), self.forced)
                if found is not None:
                    return found
            elif self.tight is not None and self.tight.ratio == 1:
                return self.tight
        return with_faces(self.path, Fraction(1))

    @cached_property
    def tight(self) -> Certificate | None:
        """A proof of the exact worst case, which is its ratio; None if that is no fraction, or is not found."""
        return None if self._first is None else tight(self.path, self._first)

    @cached_property
    def slack_certificate(self) -> Certificate | None:
        """A proof of the bound times 1 + 1e-6; None if none is found."""
        return None if self.solution is None else with_slack(self.path, self.solution, 1 + SLACK, self.forced)
