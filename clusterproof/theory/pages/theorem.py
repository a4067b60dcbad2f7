"""A theorem in the table of an algorithm: what it needs, and what it says of a run that meets that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, all_met
from clusterproof.theory.pages.judging import named
from clusterproof.theory.pages.outcomes import Outcome


@dataclass(frozen=True)
class Theorem:
    """A theorem in the table of an algorithm.

    Attributes
    ----------
    claim
        Id of the claim that states it.
    says
        What it says of a run that meets its hypotheses, or a function of the run.
    needs
        The hypotheses, of a run; those that mean nothing unless earlier ones are met are left out there.
    always
        Numbers of a run that are told whether it applies or not.
    on_page
        Of a run: whether the page tells of it; else it is in the table of all theorems only.
    of_no_round
        Whether it says something of a run without rounds.
    """

    claim: str
    says: Outcome | Callable[[Any], Outcome]
    needs: Callable[[Any], Iterator[Hypothesis]] | None = None
    always: Callable[[Any], Mapping[str, Value]] | None = None
    on_page: Callable[[Any], bool] = lambda _: True
    of_no_round: bool = False

    def on(self, run: Any) -> Outcome:
        """Judge the theorem on a run."""
        hypotheses = () if self.needs is None else tuple(self.needs(run))
        found = Outcome("does not apply")
        if all_met(hypotheses):
            if not callable(self.says):
                found = self.says
            elif not run.rounds and not self.of_no_round:
                found = Outcome("inconclusive", reason="no round")
            else:
                found = self.says(run)
        always = {} if self.always is None else self.always(run)
        told = (*hypotheses, *found.hypotheses)
        return named(self.claim, replace(found, hypotheses=told, constants={**always, **found.constants}))


def judge_all(theorems: Iterable[Theorem], run: Any) -> tuple[tuple[Outcome, ...], tuple[Outcome, ...]]:
    """Judge theorems on a run: those of its page, and the others."""
    found = [(each.on_page(run), each.on(run)) for each in theorems]
    shown, others = (tuple(one for on_page, one in found if on_page is kept) for kept in (True, False))
    return shown, others
