"""The text about theorems on a page: names, the table, and one paragraph per theorem."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from string import Formatter
from typing import Any

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.pages.records import Outcome, OutcomeWord
from clusterproof.theory.pages.results import need_words
from clusterproof.theory.pages.text import filled, joined, rows, table, word

ORDER: dict[OutcomeWord, tuple[str, str]] = {
    "is broken": ("is broken", "are broken"),
    "holds": ("holds", "hold"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "says nothing": ("says nothing", "say nothing"),
    "does not apply": ("does not apply", "do not apply"),
}
"""For each outcome, the words for one theorem and for several theorems, with the most important outcome first."""


def name_of(claim: str) -> str:
    """Return the name of a theorem, or the id for a claim of a user."""
    known = REGISTRY.get(claim.partition("#")[0])
    if known is not None and not str(known.module).startswith("clusterproof."):
        return claim
    return word("theorems", claim)


def quantity_of(one: Outcome, name: str) -> str:
    """Return the words for a quantity. If the glossary lacks it, as for a user's claim, they are its name."""
    return (
        table("quantities").get(name, f"the {name}")
        if name_of(one.claim) == one.claim
        else word("quantities", name)
    )


def _label(group: Sequence[Outcome]) -> str:
    return f"{joined([name_of(one.claim) for one in group])} ({word('sources', group[0].source)})"


def theorem_table(theorems: Sequence[Outcome]) -> str:
    """Return the lines of the table of theorems."""
    cells: list[tuple[str, ...]] = [("Theorem", "source", "outcome", "allowed", "measured", "ratio")]
    for one in theorems:
        numbers = [_cell(one.allowed, 3), _cell(one.measured, 3), _cell(one.ratio, 2)]
        cells.append((name_of(one.claim), word("sources", one.source), one.outcome, *numbers))
    return rows(cells, right=(3, 4, 5))


def _cell(value: float | None, digits: int) -> str:
    return "-" if value is None else short(value, digits)


def alike(theorems: Sequence[Outcome]) -> list[list[Outcome]]:
    """Group theorems that have the same outcome for the same reason. One sentence describes each group."""
    groups: list[list[Outcome]] = []
    for one in theorems:
        found = next((group for group in groups if _same(group[0], one)), None)
        if found is None:
            groups.append([one])
        else:
            found.append(one)
    return groups


def _same(one: Outcome, other: Outcome) -> bool:
    """Return whether one sentence can describe both theorems."""
    if (one.outcome, one.reason) != (other.outcome, other.reason):
        return False
    more = (set(one.constants) | set(other.constants)) & set(table("more"))
    if more or one.reason in table("remarks"):
        return False
    if one.outcome == "does not apply" and not one.reason:
        return one.unmet == other.unmet is not None
    names = [name for _, name, _, _ in Formatter().parse(table("reasons").get(one.reason, "{}"))]
    return not any(name is not None for name in names) and bool(one.reason)


def theorem_words(group: Sequence[Outcome], told: set[str], *, brief: bool = False) -> str:
    """Return the paragraph about one theorem, or about several theorems with the same outcome for the same reason.

    ``told`` contains earlier sentences about numbers, which the paragraph does not repeat. If ``brief`` is True and
    the theorem holds, the paragraph omits the numbers in the table, and is empty if there are no others.
    """
    one, several, known = group[0], len(group) > 1, _numbers(group[0])
    verb = ORDER[one.outcome][several]
    in_table = brief and one.outcome == "holds" and one.reason not in table("reasons")
    first = "" if in_table else _first(one, known)
    if several:
        first = first.replace("it needs", "they need", 1)
    name = names_of(group)
    said = [f"{name} {verb}: {first}" if first else f"{name} {verb}."]
    if one.reason in table("remarks"):
        said.append(filled(word("remarks", one.reason), known))
    if one.reason not in table("reasons") and one.above:
        said.append(_above(one))
    more = [filled(sentence, known) for name, sentence in table("more").items() if name in one.constants]
    said += [sentence for sentence in more if sentence not in told]
    told.update(more)
    if one.remedy:
        said.append(f"To decide, try {one.remedy}.")
    return "" if in_table and not any(said[1:]) else " ".join(filter(None, said))


def names_of(theorems: Sequence[Outcome]) -> str:
    """List theorems with their sources, grouped by source."""
    groups = [list(group) for _, group in groupby(theorems, key=lambda one: one.source)]
    labels = [_label(group) for group in groups]
    return ", and ".join(labels) if any(len(group) > 1 for group in groups) else joined(labels)


def _numbers(one: Outcome) -> dict[str, Any]:
    """Return all numbers of an outcome, indexed by name."""
    known: dict[str, Any] = {"measured": one.measured, "allowed": one.allowed, "start": one.start}
    if one.above:
        known |= {"count": one.above[-1].count, "runs": one.above[-1].runs, "may": one.above[-1].allowed}
    for hypothesis in one.hypotheses:
        known.setdefault(hypothesis.name, hypothesis.actual)
    return known | dict(one.constants)


def _first(one: Outcome, told: dict[str, Any]) -> str:
    """Return the sentence that follows the outcome."""
    if one.reason in table("reasons"):
        here = one.reason == "refused" and one.constants.get("here") is not None
        return filled(word("reasons", "refused here" if here else one.reason), told)
    if one.unmet is not None:
        return f"{need_words(one.unmet)}."
    quantity = quantity_of(one, one.quantity)
    if one.worst is not None:
        high, limit = apart(one.worst.measured, one.worst.allowed)
        cluster = "" if one.worst.cluster is None else f" in cluster {one.worst.cluster}"
        what = quantity_of(one, one.worst.quantity)
        return f"{what} is {high} after round {one.worst.round}{cluster}, where {limit} is allowed."
    if one.allowed is None:
        return ""
    if one.outcome == "is broken" and one.measured is not None:
        high, limit = apart(one.measured, one.allowed)
        return f"{quantity} is {high}, and {limit} is allowed."
    if one.outcome == "says nothing" and one.start is not None:
        return f"it allows {quantity} to be {short(one.allowed)}, but at the start {quantity} is {short(one.start)}."
    times = (
        ""
        if one.ratio is None or one.reason == "rounding"
        else f", {short(one.ratio, 2)} times the measured value"
    )
    return f"{quantity} may be up to {short(one.allowed)} at the end{times}."


def _above(one: Outcome) -> str:
    """Write how many runs are above a bound, or return "" for a deterministic bound that no run exceeds."""
    if not any(each.allowed for each in one.above):
        return ""
    parts = [
        f"{each.count or 'none'} of {many(each.runs, 'run')} {each.when} (allowed: "
        f"{short(100 * each.allowed / each.runs)} %, {short(each.allowed)} runs)"
        for each in one.above
    ]
    return f"Above the bound: {joined(parts)}."
