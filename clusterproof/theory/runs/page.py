"""The page of a run, a row of it, a theorem with what it needs and what it says, and what its picture shows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clusterproof.theory.bounds.hypotheses import Need, unmet

Role = Literal[
    "run", "round alone", "without noise", "repaired", "printed", "printed factor", "start", "limit"
]
"""What a curve is, on which its colour and line style depend."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and the label that stands at it.

    Attributes
    ----------
    role
        What it is.
    label
        Formulas are in TeX.
    values
        By round; NaN where there is none.
    band
        Lower and upper ends of a band around it, or None.
    last
        The value after the last round where it is of another kind, such as a sharper bound; or None.
    """

    role: Role
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run by round, from the start on, and what is known about them.

    Attributes
    ----------
    title, quantity, caption
        Title, name of the vertical axis, and caption.
    curves
        Each with ``rounds + 1`` values.
    factor
        What is written at the first rounds of the run, and the last of these rounds; None where no factor is measured.
    """

    title: str
    quantity: str
    caption: str
    curves: tuple[Curve, ...]
    factor: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ResidualPicture:
    """Mean residuals of a run of FPFC by the number of rounds K = 1, 2, ..., and its groups.

    Attributes
    ----------
    caption
        Caption.
    curves
        Each with a value for every K.
    ratios
        Bounds over the mean after the last round, as written, by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    caption: str
    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int


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
    return entry("Next", *(f"clusterproof {command:<{width}}   {shows}" for command, shows in commands))


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
