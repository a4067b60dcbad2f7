"""The page of a run: the task, the run, and each theorem about its algorithm, in plain words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from clusterproof.algorithms.drawable import Drawable

if TYPE_CHECKING:
    import polars

    from clusterproof.theory.runs.picture import ErrorPicture, ResidualPicture

WIDTH, LABEL = 80, 10
"""Columns of a page, and of the labels at its left."""

Outcome = Literal["holds", "broken", "says nothing", "does not apply", "inconclusive"]


@dataclass(frozen=True)
class Entry:
    """A label and what stands beside it.

    Attributes
    ----------
    label
        At most nine characters, such as ``Task``.
    lines
        Sentences, each on lines of its own; long ones are wrapped.
    """

    label: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        shown = [part for line in self.lines for part in _wrapped(line)]
        labels = [self.label, *[""] * (len(shown) - 1)]
        return "\n".join(
            f"{label:<{LABEL}}{part}".rstrip() for label, part in zip(labels, shown, strict=True)
        )


@dataclass(frozen=True)
class TheoremOnRun:
    """What a theorem says of a run, as a row of ``Page.frame``.

    Attributes
    ----------
    claim
        Id of the claim, such as ``cfl-mgd/theorem-d``.
    outcome
        Whether the run keeps to it.
    measured, bound
        The quantity that it bounds and what it allows, after the last round; None where it gives no number.
    words
        The sentence of the page.
    """

    claim: str
    outcome: Outcome
    measured: float | None
    bound: float | None
    words: str


@dataclass(frozen=True)
class Page(Drawable):
    """A run beside the theorems about its algorithm.

    Attributes
    ----------
    title
        Algorithm and kind of task.
    sections
        Headings, empty for none, with their entries.
    theorems
        Theorems of the page.
    further
        Computes theorems that are in the table only: they take longer than the page.
    picture
        What ``plot`` draws.
    """

    drawn_by: ClassVar[str] = "page_figure"

    title: str
    sections: tuple[tuple[str, tuple[Entry, ...]], ...]
    theorems: tuple[TheoremOnRun, ...]
    further: Callable[[], tuple[TheoremOnRun, ...]] = field(default_factory=lambda: tuple)
    picture: ErrorPicture | ResidualPicture | None = None

    def __str__(self) -> str:
        blocks = [self.title]
        for number, (heading, entries) in enumerate(self.sections):
            body = "\n".join(str(entry) for entry in entries)
            blocks.append(f"\n{heading}\n{body}" if heading else f"\n{body}" if number == 0 else body)
        return "\n".join(blocks)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def frame(self) -> polars.DataFrame:
        """Return the theorems as a table with the columns claim, outcome, measured, bound and words."""
        import polars

        columns = {"claim": polars.String, "outcome": polars.String, "measured": polars.Float64}
        columns |= {"bound": polars.Float64, "words": polars.String}
        rows = [
            (one.claim, one.outcome, one.measured, one.bound, one.words)
            for one in (*self.theorems, *self.further())
        ]
        return polars.DataFrame(rows, schema=columns, orient="row")


def three_digits(number: float) -> str:
    """Write a bound with its last zeros: 0.00150, 1730."""
    shown = f"{number:#.3g}"
    return f"{float(shown):.0f}" if 100 <= abs(number) < 1e6 else shown


def entry(label: str, *lines: str) -> Entry:
    """Return an entry of a page."""
    return Entry(label, lines)


def _wrapped(line: str) -> Sequence[str]:
    return textwrap.wrap(line, WIDTH - LABEL, break_long_words=False) or [""]
