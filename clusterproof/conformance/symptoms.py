"""Facts about the runs that differ from the definition, for reports on runs that no known mistake explains."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Observed, right_states
from clusterproof.conformance.tolerance import Snapshot, first_difference, unit

HALF = 2 * float(np.finfo("float16").eps)
"""Largest deviation of an entry of size 1 that a few roundings to half precision per round can explain."""


@dataclass(frozen=True)
class Compared:
    """A run, and the states of the definition on the same probe.

    Attributes
    ----------
    run, expected
        States of the implementation and of the definition.
    local_steps
        The largest number of local steps of any client, per round.
    since
        Number of the round after which the states first differ, or None if all states agree.
    """

    run: Observed
    expected: Sequence[Snapshot]
    local_steps: Sequence[int]
    since: int | None

    def differs(self, rounds: int) -> bool:
        """Return whether the run differs from the definition in its first rounds."""
        return self.since is not None and self.since <= rounds


Feature = Callable[[Compared, int], bool]
"""Function (run, number of rounds) that returns whether the run has a property in its first rounds."""


def statements(definition: type[Definition], runs: Sequence[Observed], dtype: str) -> Iterator[str]:
    """Yield facts about all runs: which quantities never change, which quantities are right, and which runs differ."""
    expected = [right_states(definition, run.probe) for run in runs]
    names = [name for name in expected[0][0] if name in runs[0].states[0]]
    for name in names:
        if _never_moves(name, [run.states for run in runs]) and not _never_moves(name, expected):
            yield f"`{name}` never moves"
    rounds = {name: _first_wrong_round(name, runs, expected, dtype) for name in names}
    wrong = {name: number for name, number in rounds.items() if number is not None}
    right = [name for name in names if name not in wrong]
    if right and wrong:
        yield f"{_quantities(right)} right in every run, {_quantities(list(wrong))} not"
    if wrong and min(wrong.values()) > 1:
        first = min(wrong.values())
        late = [name for name, number in wrong.items() if number == first]
        before = "the first round is" if first == 2 else f"the first {first - 1} rounds are"
        verb = "differs" if len(late) == 1 else "differ"
        yield f"{before} right in every run; after round {first} `{'`, `'.join(late)}` {verb} in one or more"
    yield from _coordinates(runs, expected, dtype)
    compared = [_compared(definition, run, one, dtype) for run, one in zip(runs, expected, strict=True)]
    words = distinction(compared)
    if words:
        yield f"the runs that differ are the runs with {words}"
    everywhere = all(one.since is not None for one in compared)
    if everywhere and all(_within_half(run.states, one) for run, one in zip(runs, expected, strict=True)):
        yield "it agrees only up to the rounding of float16"


def _quantities(names: Sequence[str]) -> str:
    """Return the subject and the verb of a sentence about quantities."""
    noun, verb = ("quantity", "is") if len(names) == 1 else ("quantities", "are")
    return f"the {noun} `{'`, `'.join(names)}` {verb}"


def _compared(
    definition: type[Definition], run: Observed, expected: Sequence[Snapshot], dtype: str
) -> Compared:
    probe, steps = run.probe, [1] * len(run.probe.schedule)
    if "local_epochs" in probe.settings:  # otherwise a client takes one step
        reference = definition(probe.task, probe.settings)
        steps = [max(reference.steps(i) for i in participants) for participants in probe.schedule]
    difference = first_difference(run.states, expected, dtype)
    return Compared(run, expected, steps, None if difference is None else max(1, difference.round))


def distinction(compared: Sequence[Compared]) -> str | None:
    """Return the only property that all differing runs and no other runs have, or None if there is no such property.

    No run may differ before it has the property. If several properties qualify, the rounds are compared as well: each
    run must differ from exactly that round on in which it first has the property. In addition, the runs must
    distinguish the property from others. Either a differing run and an agreeing run are equal in all other properties,
    or there are at least two differing and two agreeing runs.
    """
    whole = [len(one.run.states) - 1 for one in compared]
    if all(one.since is not None for one in compared):
        return None
    heads = [
        (one, rounds) for one, last in zip(compared, whole, strict=True) for rounds in range(1, last + 1)
    ]
    ends = [rounds == len(one.run.states) - 1 for one, rounds in heads]
    differs = np.array([one.differs(rounds) for one, rounds in heads])
    columns = {
        words: np.array([holds(one, rounds) for one, rounds in heads]) for words, holds in features(compared)
    }
    fitting = {
        words: column
        for words, column in columns.items()
        if (column >= differs).all() and (column == differs)[ends].all()
    }
    exact = {words: column for words, column in fitting.items() if (column == differs).all()}
    if len(exact or fitting) != 1:
        return None
    ((words, _),) = (exact or fitting).items()
    others = np.array([column for name, column in columns.items() if name != words]).T.reshape(len(heads), -1)
    equal = (others[differs][:, None] == others[~differs][None]).all(axis=-1).any()
    least = min(int((differs & ends).sum()), int((~differs & ends).sum()))
    return words if equal or least > 1 else None


def features(compared: Sequence[Compared]) -> Iterator[tuple[str, Feature]]:
    """Yield properties that may distinguish runs: sizes, and settings that differ from the first run's settings."""
    first = min((one.since for one in compared if one.since is not None), default=1)
    few = max((max(one.local_steps) for one in compared if one.since is None), default=1)
    yield f"at least {first} rounds", lambda _, rounds: rounds >= first
    yield (
        f"a client that takes more than {few} local step{'s' if few > 1 else ''} in a round",
        lambda one, rounds: max(one.local_steps[:rounds]) > few,
    )
    yield "absent clients", lambda one, rounds: any(_absent(one, number) for number in range(rounds))
    yield "a cluster without members in a round", lambda one, rounds: bool(_empty(one, rounds).any())
    # this property is useless if every cluster has members at first
    if any(_empty(one, 1).any() for one in compared):
        yield "a cluster that loses all its members", _emptied
    yield "minibatches", lambda one, _: one.run.probe.settings["batch_size"] is not None
    yield "clients of unequal sizes", lambda one, _: len(set(one.run.probe.task.samples)) > 1
    yield "more than 4 clients", lambda one, _: one.run.probe.task.clients > 4
    yield "more than 3 coordinates", lambda one, _: one.run.probe.task.dimension > 3
    plain = compared[0].run.probe.settings
    for name in plain:
        if name not in ("local_epochs", "batch_size"):

            def changed(one: Compared, _: int, name: str = name, value: Any = plain[name]) -> bool:
                return bool(one.run.probe.settings[name] != value)

            yield f"a {name} other than {plain[name]}", changed


def _absent(one: Compared, number: int) -> bool:
    return len(one.run.probe.schedule[number]) < one.run.probe.task.clients


def _empty(one: Compared, rounds: int) -> np.ndarray:
    """Return which clusters have no member in each of the first rounds, booleans (rounds, P)."""
    if "assignments" not in one.expected[0]:
        return np.zeros((rounds, 1), dtype=bool)
    clusters = np.arange(len(one.expected[0]["model"]))
    chosen = [state["assignments"] for state in one.expected[1 : rounds + 1]]
    empty = [~np.isin(clusters, assignments) for assignments in chosen]
    return np.array(empty, dtype=bool).reshape(-1, len(clusters))


def _emptied(one: Compared, rounds: int) -> bool:
    empty = _empty(one, rounds)
    return bool((empty & ~np.minimum.accumulate(empty, axis=0)).any())


def _never_moves(name: str, runs: Sequence[Sequence[Snapshot]]) -> bool:
    return all(np.array_equal(states[0][name], state[name]) for states in runs for state in states)


def _first_wrong_round(
    name: str, runs: Sequence[Observed], expected: Sequence[Sequence[Snapshot]], dtype: str
) -> int | None:
    """Return the number of the first round after which a quantity differs in at least one run."""
    rounds = []
    for run, wanted in zip(runs, expected, strict=True):
        found = [{name: state[name]} for state in run.states]
        difference = first_difference(found, [{name: state[name]} for state in wanted], dtype)
        rounds += [] if difference is None else [difference.round]
    return min(rounds, default=None)


def _coordinates(
    runs: Sequence[Observed], expected: Sequence[Sequence[Snapshot]], dtype: str
) -> Iterator[str]:
    """Yield a sentence about the model's coordinates that are right in every run, if other coordinates are wrong."""
    wrong: set[int] = set()
    for run, wanted in zip(runs, expected, strict=True):
        for number, (state, one) in enumerate(zip(run.states, wanted, strict=False)):
            far = ~(np.abs(state["model"] - one["model"]) <= unit(number, one["model"], dtype))
            wrong |= set(np.nonzero(far)[-1].tolist())
    right = set(range(min(run.probe.task.dimension for run in runs))) - wrong
    if wrong and right:
        yield f"coordinate {', '.join(map(str, sorted(right)))} of the model is right in every run, others are not"


def _within_half(states: Sequence[Snapshot], expected: Sequence[Snapshot]) -> bool:
    for number, (state, wanted) in enumerate(zip(states, expected, strict=False)):
        for name in [name for name in wanted if name in state and name != "assignments"]:
            allowed = HALF * (1 + number) * max(1.0, float(np.abs(wanted[name]).max()))
            if not (np.abs(state[name] - wanted[name]) <= allowed).all():
                return False
    return True
