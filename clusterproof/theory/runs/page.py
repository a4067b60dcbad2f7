"""The page of a run, and the rows of its table."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from clusterproof.theory.runs.picture import ErrorPicture, ResidualPicture

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

WIDTH, LABEL = 80, 10
"""Columns of a page, and of the labels at its left."""

Outcome = Literal["holds", "broken", "says nothing", "does not apply", "inconclusive"]


@dataclass(frozen=True)
class Entry:
    """A label of at most nine characters, and the sentences beside it, each on lines of its own."""

    label: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        shown = [
            part
            for line in self.lines
            for part in textwrap.wrap(line, WIDTH - LABEL, break_long_words=False) or [""]
        ]
        labels = [self.label, *[""] * (len(shown) - 1)]
        return "\n".join(
            f"{label:<{LABEL}}{part}".rstrip() for label, part in zip(labels, shown, strict=True)
        )


def entry(label: str, *lines: str) -> Entry:
    """Return an entry of a page, without its empty lines."""
    return Entry(label, tuple(line for line in lines if line))


def following(*commands: tuple[str, str]) -> Entry:
    """Return the entry Next: commands, each with what it shows."""
    width = max(len(command) for command, _ in commands)
    return entry("Next", *(f"clusterproof {command:<{width}}  {shows}" for command, shows in commands))


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


Section = tuple[str, tuple[Entry, ...]]
"""A heading, empty for none, and what stands below it."""


@dataclass(frozen=True)
class Page:
    """A run beside the theorems about its algorithm.

    Attributes
    ----------
    title
        Algorithm and kind of task.
    sections
        Headings with their entries.
    theorems
        Theorems of the page.
    further
        Computes theorems that are in the table only: they take longer than the page.
    picture
        What ``plot`` draws.
    """

    title: str
    sections: tuple[Section, ...]
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

    def plot(
        self,
        *,
        width: float | None = None,
        caption: bool = True,
        title: str | None = None,
        labels: Sequence[str] = (),
    ) -> Figure:
        """Draw the run beside its theorems.

        Parameters
        ----------
        width, caption, title, labels
            As for ``clusterproof.figures.style.Appearance``.

        Raises
        ------
        InvalidArgument
            If the page has no picture, matplotlib is not installed, or the figure cannot have this width.
        """
        import clusterproof  # only drawing needs matplotlib

        appearance = {"width": width, "caption": caption, "title": title, "labels": labels}
        drawn: Figure = clusterproof.figures.page_figure(self, **appearance)
        return drawn

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
