"""Gates for continuous integration: verdicts that fail a build, and what changed since an earlier report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.verdict import Kind, Verdict

if TYPE_CHECKING:
    from clusterproof.theory.checker.report import Recorded

WORSE = 1.05
"""How many times looser a bound that was sharp may look before it counts as a change."""


def read_kinds(text: str, option: str = "fail_on") -> frozenset[Kind]:
    """Read verdicts that are separated by commas.

    Parameters
    ----------
    text
        What was given.
    option
        That names them, for a refusal.

    Raises
    ------
    InvalidArgument
        If one of them is no verdict.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in set(Kind):
            raise InvalidArgument(
                option, text, f"must be verdicts of {', '.join(Kind)}", "separate them by commas"
            )
    return frozenset(map(Kind, words))


def unwanted(verdicts: Sequence[Verdict], kinds: frozenset[Kind]) -> list[str]:
    """Name each claim whose verdict fails the build."""
    return [f"{one.claim}: {one.verdict}, which --fail-on names" for one in verdicts if one.verdict in kinds]


def changes(verdicts: Sequence[Verdict], earlier: Sequence[Recorded], named: bool) -> list[str]:
    """Name each claim that is not what an earlier report says.

    A verdict that changed is one, for better or worse. So is a sharpness that got worse, where both times all
    instances were evaluated: what a search finds depends on its seed. A claim that is new is none.

    Parameters
    ----------
    verdicts
        Of now.
    earlier
        What the report holds.
    named
        Whether only some claims were asked for, so that the report may hold more.
    """
    known = {one.claim: one for one in earlier}
    found = []
    for one in verdicts:
        before = known.get(one.claim)
        if before is None:
            continue
        if before.verdict != one.verdict:
            found.append(f"{one.claim}: was {before.verdict}, is {one.verdict}")
            continue
        if one.exhausted and before.exhausted:
            found.extend(f"{one.claim}: {words}" for words in _looser(one, before))
    evaluated = {one.claim for one in verdicts}
    for claim in known:
        if claim not in evaluated and not (named and claim in REGISTRY):
            why = "was not evaluated" if claim in REGISTRY else "is no claim any more"
            found.append(f"{claim}: was {known[claim].verdict}, {why}")
    return found


def _looser(now: Verdict, before: Recorded) -> list[str]:
    """Say of what the sharpness got worse."""
    words = []
    for name, factor in (before.sharpness or {}).items():
        new = (now.sharpness or {}).get(name)
        if factor and (new is None or new * WORSE < factor):
            words.append(
                f"sharpness of {name} was {factor:.4g}, is {'none' if new is None else f'{new:.4g}'}"
            )
    return words
