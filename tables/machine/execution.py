"""Units from a store, or computed by an engine and stored: what tables and sweeps have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clusterproof.algorithms import InvalidArgument
from clusterproof.tables.machine.engines import Engine, Work
from clusterproof.tables.machine.progress import Progress
from clusterproof.tables.machine.store import Outcome, Unit, UnitStore


@dataclass
class Execution:
    """What became of units.

    Attributes
    ----------
    outcomes
        Of those that are finished, by their place in the list of units.
    failures
        Those that failed, with a line on what went wrong.
    unstored
        What could not be stored, a line each; the outcomes are there all the same.
    computed
        How many were not in the store.
    """

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    failures: list[tuple[Unit, str]] = field(default_factory=list)
    unstored: list[str] = field(default_factory=list)
    computed: int = 0


def run_units(
    work: Work,
    units: Sequence[Unit],
    store: UnitStore,
    engine: Engine,
    watch: Callable[[Progress], None],
) -> Execution:
    """Compute what the store does not have, store each unit as soon as it is finished.

    Parameters
    ----------
    work
        What takes a unit.
    units
        All that are wanted, no two alike.
    store
        Where finished ones are.
    engine
        Where the others are computed.
    watch
        Called at the start and whenever a unit has ended.
    """
    found = Execution()
    places = {store.key(unit): place for place, unit in enumerate(units)}
    missing = []
    for place, unit in enumerate(units):
        if (outcome := store.read(unit)) is None:
            missing.append(unit)
        else:
            found.outcomes[place] = outcome
    found.computed = len(missing)
    progress = Progress(len(units), len(found.outcomes), sum(unit.cost for unit in missing))
    watch(progress)
    if not missing:
        return found
    for unit, answer in engine.compute(work, missing):
        progress.add(unit.cost, isinstance(answer, str))
        watch(progress)
        if isinstance(answer, str):
            found.failures.append((unit, answer))
            continue
        found.outcomes[places[store.key(unit)]] = answer
        try:
            store.write(unit, answer)
        except InvalidArgument as error:  # a full disk must not cost what is still in memory
            found.unstored.append(f"{unit.name}: {error}")
    return found
