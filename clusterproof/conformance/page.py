"""The page that ``clusterproof conform`` prints for the author of the code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterproof.conformance.diagnosis import Hypothesis

if TYPE_CHECKING:
    from clusterproof.conformance.definitions import Definition
    from clusterproof.conformance.report import Reached, Report

ANSWERS = {
    "conforms": "{implementation} conforms to the algorithm {algorithm}: it {sentence}.",
    "variant": "{implementation} is a variant of the algorithm {algorithm}: it {sentence}.",
    "differs": "{implementation} differs from the algorithm {algorithm}.",
    "unusable": "{implementation} cannot be compared with {algorithm}: {sentence}.",
    "inconclusive": "{implementation} was not compared with {algorithm}: {sentence}.",
}
"""First line of the page for each verdict."""
SYMBOLS = {
    "x": "model of the server",
    "y_i": "model of client i",
    "g_i": "gradient of client i",
    "c_i": "control of client i",
    "c": "control of the server",
    "K_i": "local steps of client i",
    "p_i": "weight of client i",
    "mu": "weight of the proximal term",
    "eta": "step size",
    "gamma": "server step size",
    "sum_S": "sum over participants",
    "1/N": "share of one of N clients",
}
"""Meaning of each symbol in the formulas of a round."""
MOST_LISTED = 4
"""Largest number of hypotheses that a page lists."""
WIDTH, MARGIN = 80, 15
"""Width of the page, and width of the left column with the labels, in characters."""


def page(report: Report) -> str:
    """Return the page: verdict, likely cause, checks, sizes of the runs, definition, and a next command."""
    heading = ANSWERS[report.verdict].format(
        implementation=report.implementation, algorithm=report.algorithm, sentence=report.sentence
    )
    parts = [[*_wrapped(heading), *cause(report)], list(_checks(report)), list(_runs(report))]
    parts.append(list(_definition(report)))
    parts.append(["Next", *_entry("", ["clusterproof conform --list   all algorithms and settings"])])
    return "\n\n".join("\n".join(part) for part in parts if part)


def cause(report: Report) -> list[str]:
    """Return lines on the likely cause of a difference, its first place, and mistakes that the runs cannot detect."""
    lines = []
    if report.verdict == "differs":
        lines += _wrapped(f"{report.sentence[:1].upper()}{report.sentence[1:]}.")
        lines += _listed(report.likely if len(report.likely) > 1 else ())
    if (first := report.localised) is not None:
        lines += _wrapped(f"First failing check: {first.probe}. It tests {first.meaning}.")
        lines += _wrapped(f"{first.difference}.", indent="  ")
    if report.unseen:
        known = _counted(len(report.unseen), "known mistake")
        lines += _wrapped(f"These runs cannot detect {known}. Code with {_them(report.unseen)} would pass:")
        lines += _listed(report.unseen)
    return lines


def _checks(report: Report) -> Iterator[str]:
    if not report.checks:
        return
    yield "Checks"
    failed = "other form" if report.verdict == "variant" else "failed"
    for outcome, label in (("passed", "passed"), ("failed", failed)):
        names = [check.name for check in report.checks if check.outcome == outcome]
        if names:
            yield from _entry(label, [", ".join(names)])
    yield from _entry("meanings", ["docs/how-to/compare-code-with-a-paper.md"])
    skipped = [f"{check.name}: {check.sentence}" for check in report.checks if check.outcome == "skipped"]
    if skipped:
        yield from _entry("skipped", skipped)


def _runs(report: Report) -> Iterator[str]:
    if report.reached is None:
        return
    yield "Runs"
    yield from _sizes(report.reached)
    if names := report.not_compared:
        yield from _entry("not compared", [f"{', '.join(names)}. The code does not hand {_them(names)} out."])
    if names := report.not_varied:
        yield from _entry("not varied", [f"{', '.join(names)}. Code that ignores {_them(names)} would pass."])


def _sizes(reached: Reached) -> Iterator[str]:
    yield from _entry(
        "clients", [f"{_range(reached.clients)}, {_range(reached.participants)} of them in a round"]
    )
    yield from _entry("rounds", [_range(reached.rounds)])
    yield from _entry("samples", [f"{_range(reached.samples)} of a client"])
    yield from _entry(
        "models", [f"norms to {reached.model:.3g}; an entry moves by up to {reached.move:.3g} in a round"]
    )
    yield from _entry("gradients", [f"norms to {reached.gradient:.3g} at the start"])


def _definition(report: Report) -> Iterator[str]:
    yield "Definition"
    yield from _origin(report.source, report.equation, report.paper_was_read)
    if report.settings:
        yield from _entry("declared", [_settings(report.settings)])


def describe(definition: type[Definition]) -> str:
    """Describe a definition: its name, source, formulas, settings, and the forms that a user can declare."""
    lines = [definition.name, *_origin(definition.source, definition.equation, definition.paper_was_read)]
    lines += _entry("settings", [_settings(definition.defaults())])
    forms = {**definition.variants, **definition.choices}
    lines += _entry("forms", [f"{name}: {', '.join(map(str, each))}" for name, each in forms.items()])
    return "\n".join(lines)


def _origin(source: str, equation: str, paper_was_read: bool) -> Iterator[str]:
    yield from _entry("source", [source])
    checked = "We checked it against the paper."
    unchecked = (
        "We did not have the paper. The definition follows other texts or the named code, so it may differ."
    )
    yield from _entry("", [checked if paper_was_read else unchecked])
    yield from _entry("round", equation.split("; "))
    used = [
        f"{symbol}: {meaning}"
        for symbol, meaning in SYMBOLS.items()
        if re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", equation)
    ]
    yield from _entry("symbols", ["; ".join(used)] if used else [])


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {'all' if value is None else value}" for name, value in values.items())


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _them(names: Sequence[object]) -> str:
    return "it" if len(names) == 1 else "them"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(hypotheses: Sequence[Hypothesis]) -> list[str]:
    more = len(hypotheses) - MOST_LISTED
    lines = [line for one in hypotheses[:MOST_LISTED] for line in _wrapped(f"- {one}", indent="  ")]
    return lines + [f"  - {more} more"] * (more > 0)


def _entry(label: str, texts: Iterable[str]) -> list[str]:
    """Return the wrapped lines of texts, with a label to the left of the first line."""
    found = [
        line
        for text in texts
        for line in textwrap.wrap(text, WIDTH - MARGIN, break_long_words=False, break_on_hyphens=False)
    ]
    return [f"  {'' if place else label:{MARGIN - 2}}{line}" for place, line in enumerate(found)]


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  " * bool(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
