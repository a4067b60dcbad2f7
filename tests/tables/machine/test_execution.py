"""What an engine is given, in which order, and what is counted, timed and stored of its answers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clusterproof.tables.machine.engines import Answers, Work, costliest_first
from clusterproof.tables.machine.execution import run_units
from clusterproof.tables.machine.progress import Progress
from clusterproof.tables.machine.store import Outcome, Unit, UnitStore

WORK = Work("nowhere:nothing", ("clusterproof.tables.machine",))
UNITS = [Unit(name, seed, {"rounds": 2}, cost=cost) for name, seed, cost in
         (("a", 0, 1.0), ("a", 1, 2.0), ("b", 0, 4.0), ("b", 1, 8.0))]  # fmt: skip


@dataclass
class Engine:
    """Gives answers in the reverse order, and remembers what it was given."""

    answers: dict[str, Outcome | str]
    given: list[Unit] = field(default_factory=list)

    def compute(self, work: Work, units: Sequence[Unit]) -> Answers:
        self.given += units
        for unit in reversed(units):
            yield unit, self.answers[unit.name]


def test_what_is_stored_is_not_computed_again_and_everything_is_counted(tmp_path: Path) -> None:
    """Of four units two are stored; of the others one fails."""
    store = UnitStore.open(tmp_path, {"table": "p/t"})
    outcomes = [Outcome({"value": place}, 1.0, 2.0) for place in range(4)]
    for place in (0, 2):
        store.write(UNITS[place], outcomes[place])
    engine = Engine({"a, seed 1": outcomes[1], "b, seed 1": "no luck"})
    texts: list[str] = []
    costs: set[float] = set()

    def watch(progress: Progress) -> None:
        texts.append(progress.text.partition(" failed")[0])
        costs.add(progress.cost)

    found = run_units(WORK, UNITS, store, engine, watch)
    assert [unit.name for unit in engine.given] == ["a, seed 1", "b, seed 1"]
    assert found.outcomes == {place: outcomes[place] for place in (0, 1, 2)}
    assert found.failures == [(UNITS[3], "no luck")]
    assert (found.computed, found.unstored) == (2, [])
    # the last has ended first; 2 + 8 were left to be computed
    assert texts == ["2 of 4 done, 0", "2 of 4 done, 1", "3 of 4 done, 1"]
    assert costs == {10.0}
    assert store.read(UNITS[1]) == outcomes[1]
    assert store.read(UNITS[3]) is None
    again = run_units(WORK, UNITS[:3], store, Engine({}), lambda progress: None)
    assert (again.computed, list(again.outcomes)) == (0, [0, 1, 2])


def test_what_cannot_be_stored_is_there_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    store = UnitStore.open(folder, {})
    folder.rmdir()
    folder.touch()
    found = run_units(
        WORK, UNITS[:1], store, Engine({"a, seed 0": Outcome({}, 1.0, 1.0)}), lambda progress: None
    )
    assert list(found.outcomes) == [0]
    assert [line.partition(":")[0] for line in found.unstored] == ["a, seed 0"]


def test_the_costliest_go_first_and_equals_as_they_came() -> None:
    assert [unit.name for unit in costliest_first([*UNITS, Unit("c", 0, cost=4.0)])] == [
        "b, seed 1", "b, seed 0", "c, seed 0", "a, seed 1", "a, seed 0"
    ]  # fmt: skip


def slow(units: Sequence[Unit]) -> list[dict[str, int]]:
    """Takes a fifth of a second for all."""
    time.sleep(0.2)
    return [{}] * len(units)
