"""The page of a run, which presents facts as text, as a table, as JSON and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from clusterproof.theory.pages.facts import Facts
from clusterproof.theory.pages.records import ErrorPicture, Outcome, ResidualPicture

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Page:
    """A run compared with the theorems about its algorithm.

    Attributes
    ----------
    facts
        The content of the page, as numbers and names.
    further
        Function that computes the theorems that appear only in the table. It takes longer than the page.
    picture
        The content of the figure that ``plot`` draws.
    """

    facts: Facts
    further: Callable[[], tuple[Outcome, ...]] = field(default_factory=lambda: tuple)
    picture: ErrorPicture | ResidualPicture | None = None

    @property
    def theorems(self) -> tuple[Outcome, ...]:
        """Every theorem except the theorems that appear only in the table."""
        return (*self.facts.theorems, *self.facts.others)

    @property
    def title(self) -> str:
        """Algorithm, task, and numbers of runs and rounds."""
        from clusterproof.theory.pages.words import title

        return title(self.facts)

    @property
    def caption(self) -> str:
        """A description of the picture: the task, the run, and every mark."""
        from clusterproof.theory.pages.words import caption

        return caption(self.facts, self.picture)

    def __str__(self) -> str:
        from clusterproof.theory.pages.words import page

        return page(self.facts)

    def verbose(self) -> str:
        """Return the page with every theorem, every hypothesis and the meaning of every symbol."""
        from clusterproof.theory.pages.words import verbose_page

        return verbose_page(self.facts, self.further())

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
        """Draw the run with its theorems.

        Parameters
        ----------
        width, caption, title, labels
            See ``clusterproof.figures.style.Appearance``.

        Raises
        ------
        InvalidArgument
            If the page has no picture, matplotlib is not installed, or the width does not fit the figure.
        """
        import clusterproof  # import matplotlib here, because only drawing needs it

        appearance = {"width": width, "caption": caption, "title": title, "labels": labels}
        drawn: Figure = clusterproof.figures.page_figure(self, **appearance)
        return drawn

    def frame(self) -> polars.DataFrame:
        """Return the theorems as a table.

        The columns are ``claim``, ``source``, ``outcome``, ``quantity``, ``measured``, ``allowed`` and ``ratio``;
        ``hypothesis``, ``required`` and ``actual`` for the first hypothesis that is not satisfied; and ``remedy``.
        """
        import polars

        text = ("claim", "source", "outcome", "quantity", "hypothesis", "required", "actual", "remedy")
        columns: dict[str, Any] = {
            name: polars.String if name in text else polars.Float64
            for name in (*text[:4], "measured", "allowed", "ratio", *text[4:])
        }
        return polars.DataFrame(
            [_row(one) for one in (*self.theorems, *self.further())], schema=columns, orient="row"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as nested dicts and lists, for JSON."""
        found: dict[str, Any] = _plain(asdict(self.facts))
        found["results"] = [{"kind": type(one).__name__, **_plain(asdict(one))} for one in self.facts.results]
        found["theorems"] = [_outcome(one) for one in self.facts.theorems]
        found["others"] = [_outcome(one) for one in self.facts.others]
        return found


def _outcome(one: Outcome) -> dict[str, Any]:
    hypotheses = [{**_plain(asdict(each)), "met": each.met} for each in one.hypotheses]
    return {**_plain(asdict(one)), "hypotheses": hypotheses, "ratio": one.ratio}


def _row(one: Outcome) -> tuple[Any, ...]:
    failing = one.unmet
    sides = ("", "") if failing is None else failing.sides()
    name = "" if failing is None else failing.name
    numbers = (one.measured, one.allowed, one.ratio)
    return (one.claim, one.source, one.outcome, one.quantity, *numbers, name, *sides, one.remedy)


def _plain(value: Any) -> Any:
    """Replace tuples and sets in a value with lists, and records with dicts."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
