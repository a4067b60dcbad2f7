"""A theorem in the table of an algorithm: what it needs, what it says of a run, and the page that this makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clusterproof.theory.bounds.hypotheses import Need, unmet
from clusterproof.theory.runs.page import Entry, Outcome, Page, TheoremOnRun, entry


@dataclass(frozen=True)
class Said:
    """What a theorem says of a run: columns of ``TheoremOnRun``, what more the page has, and further lines of it."""

    outcome: Outcome
    words: str
    measured: float | None = None
    bound: float | None = None
    more: str = ""
    lines: tuple[str, ...] = ()

    def of(self, claim: str) -> TheoremOnRun:
        """Return the row of a claim."""
        return TheoremOnRun(claim, self.outcome, self.measured, self.bound, self.words)


def says(
    outcome: Outcome, words: str, measured: float | None = None, bound: float | None = None, tag: str = ""
) -> Said:
    """Return a sentence that begins with the outcome."""
    return Said(outcome, f"{outcome}{tag}: {words}", measured, bound)


def does_not_apply(needed: str) -> Said:
    """Return what a theorem says one of whose hypotheses is not met."""
    return says("does not apply", f"needs {needed}")


NO_ROUND = says("inconclusive", "no round was run")


@dataclass(frozen=True)
class Row:
    """A theorem in the table of an algorithm.

    Attributes
    ----------
    label
        At the left of the page; empty for one that is only in ``Page.frame``.
    claim
        Its id.
    says
        What it says of a run that meets its hypotheses.
    needs
        The hypotheses, of which the first that is not met is told.
    source
        Stands before the sentence on the page.
    ours
        Whether the page says that it is ours where it applies.
    """

    label: str
    claim: str
    says: Said | Callable[[Any], Said]
    needs: Callable[[Any], Iterable[Need]] | None = None
    source: str = ""
    ours: bool = False

    def on(self, run: Any) -> tuple[TheoremOnRun, Entry]:
        """Judge the theorem on a run."""
        if needed := unmet(self.needs(run)) if self.needs is not None else "":
            said = does_not_apply(needed)
        else:
            said = self.says if isinstance(self.says, Said) else self.says(run)
        ours = " (ours)" if self.ours and said.outcome != "does not apply" else ""
        return said.of(self.claim), entry(
            self.label, f"{self.source}{said.words}{said.more}{ours}", *said.lines
        )


def page_of(
    title: str,
    facts: Iterable[Entry],
    rows: Sequence[Row],
    run: Any,
    *after: Entry,
    told: Sequence[str] | None = None,
) -> Page:
    """Return a page: what is known of the run, the theorems of a table, and what follows them.

    ``told`` has the labels of the theorems that the page itself has; all that have one if None.
    """
    if not run.rounds:
        rows = [replace(row, says=NO_ROUND) if callable(row.says) else row for row in rows]
    judged = [(row, *row.on(run)) for row in rows]
    shown = [entry for row, _, entry in judged if (row.label if told is None else row.label in told)]
    theorems = tuple(theorem for _, theorem, _ in judged)
    return Page(title, (("", tuple(facts)), ("Theorems", (*shown, *after))), theorems)


def three_digits(number: float) -> str:
    """Write a bound with its last zeros: 0.00150, 1730."""
    shown = f"{number:#.3g}"
    return f"{float(shown):.0f}" if 100 <= abs(number) < 1e6 else shown
