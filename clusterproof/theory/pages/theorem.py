"""A theorem in the table of an algorithm: its hypotheses, and its outcome on a run that meets them."""

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
        Its outcome on a run that meets its hypotheses, or a function of the run.
    needs
        Function of a run that yields the hypotheses; it leaves out hypotheses that mean nothing unless earlier ones
        hold.
    always
        Function of a run that returns numbers to print whether the theorem applies or not.
    on_page
        Function of a run: whether the page describes the theorem; otherwise only the table of all theorems has it.
    of_no_round
        Whether the theorem says something about a run without rounds.
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
    """Judge theorems on a run: the page's theorems, and the others."""
    found = [(each.on_page(run), each.on(run)) for each in theorems]
    shown, others = (tuple(one for on_page, one in found if on_page is kept) for kept in (True, False))
    return shown, others
