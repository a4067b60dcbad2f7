"""A reproducible table: its units, their computation, and the assembly of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias, TypeVar

from clusterproof.experiments.choices import Choice, Value, chosen_note
from clusterproof.experiments.comparison import Table
from clusterproof.experiments.store import Unit

Settings = TypeVar("Settings", bound=Any)


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

    def settle(self, settings: Settings) -> Settings:
        """Return a dataclass with the fields that were chosen; choices have their names, with dashes."""
        names = [each.name for each in fields(settings)]
        given = {name.replace("-", "_"): value for name, value in self.choices.items()}
        return replace(settings, **{name: given[name] for name in names if name in given})

    def widths(self, network: Mapping[str, Any]) -> dict[str, Any]:
        """Return the name and options of a network with the widths that were chosen, of all networks or of its name."""
        options = {
            part: list(self.chosen(f"{part}-{network['name']}", self.chosen(part, network[part])))
            for part in network
            if part != "name"
        }
        return {"name": network["name"], **options}


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
        settings = {"seeds": request.seeds, "scale": request.scale, **made.settings}
        if devices := {str(result["device"]) for result in results.values() if "device" in result}:
            settings["devices"] = sorted(devices)
        if not request.choices:
            return replace(made, settings=settings)
        note = chosen_note(self.choices, request.choices, request.scale)
        return replace(
            made,
            notes=[*([] if note is None else [note]), *made.notes],
            settings={**settings, "choices": dict(request.choices)},
        )


def in_words(settings: Mapping[str, Any]) -> str:
    """Return settings by name, without brackets; networks by their name and widths."""

    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            options = (f"{name} {shown(part)}" for name, part in value.items() if name != "name")
            return " ".join([value["name"], *options])
        if isinstance(value, list | tuple):
            return " ".join(map(str, value))
        return "none" if value is None else str(value)

    return ", ".join(f"{name.replace('_', ' ')} {shown(value)}" for name, value in settings.items())
