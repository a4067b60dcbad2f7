"""A reproducible table: its units, their computation, and the assembly of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from clusterproof.experiments.choices import Choice, Value, chosen_note
from clusterproof.experiments.comparison import Table
from clusterproof.experiments.store import Unit


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes
    ----------
    seeds
        Seeds 0, 1, ..., of data and runs.
    rounds
        Communication rounds; None for the table's own number.
    scale
        ``"full"``, as the paper, or ``"small"``, to see that everything works.
    choices
        What the user chose of the table's choices, by name, read by ``read_choices``; nothing else.
    """

    seeds: int
    rounds: int | None = None
    scale: str = "full"
    choices: Mapping[str, Value] = field(default_factory=dict)

    @property
    def as_long_as_the_papers(self) -> bool:
        """Whether it is the paper's run by its length and size; what is shorter or smaller gets no verdicts."""
        return self.scale == "full" and self.rounds is None

    def chosen(self, name: str, default: Any) -> Any:
        """Return what was chosen, or the default."""
        return self.choices.get(name, default)


Results: TypeAlias = Mapping[tuple[str, int], Mapping[str, Any]]
"""Results of all units by method and seed."""


@dataclass(frozen=True)
class ReproducibleTable:
    """A table of a paper.

    Attributes
    ----------
    id
        ``paper/table-n``.
    title
        What it shows, one line.
    seeds
        How many where nobody says.
    units
        Which units a request needs; no two with the same method and seed. Raises InvalidArgument for a
        request that makes no sense. What is chosen is part of the settings of the units that depend on
        it; with the defaults they are the same as without a choice.
    compute
        A unit's result, plain JSON values, from the unit alone.
    assemble
        The table from the results of all units of a request.
    choices
        What the paper leaves unsaid and a user may settle otherwise.
    """

    id: str
    title: str
    seeds: int
    units: Callable[[Request], list[Unit]]
    compute: Callable[[Unit], Mapping[str, Any]]
    assemble: Callable[[Request, Results], Table]
    choices: tuple[Choice, ...] = ()

    def table(self, request: Request, results: Results) -> Table:
        """Assemble the table and say in it what was chosen."""
        made = self.assemble(request, results)
        if not request.choices:
            return made
        note = chosen_note(self.choices, request.choices, request.scale)
        return replace(
            made,
            notes=[*([] if note is None else [note]), *made.notes],
            settings={**made.settings, "choices": dict(request.choices)},
        )
