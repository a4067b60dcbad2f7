"""What is true of every run that differs from the definition, where no known mistake explains them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Observed, Probe, snapshots
from clusterproof.conformance.tolerance import Snapshot, first_difference, unit

FEATURES: tuple[tuple[str, Callable[[Probe, Probe], bool]], ...] = (
    ("several local epochs", lambda probe, _: probe.settings["local_epochs"] > 1),
    ("minibatches", lambda probe, _: probe.settings["batch_size"] is not None),
    ("clients of unequal sizes", lambda probe, _: len(set(probe.task.samples)) > 1),
    ("absent clients", lambda probe, _: any(len(S) < probe.task.clients for S in probe.schedule)),
    ("more than 4 clients", lambda probe, _: probe.task.clients > 4),
    ("more than 20 rounds", lambda probe, _: len(probe.schedule) > 20),
    ("several rounds", lambda probe, _: len(probe.schedule) > 1),
)
"""Properties of a run, beside settings that are not those of the first."""
HALF = 2 * float(np.finfo("float16").eps)
"""What rounding once or a few times in half precision changes in a round, of an entry of size 1."""


def statements(definition: type[Definition], runs: Sequence[Observed], dtype: str) -> Iterator[str]:
    """Yield sentences that are true of all runs: what never moves, what is right, and which runs differ."""
    expected = [snapshots(definition, run.probe) for run in runs]
    names = [name for name in expected[0][0] if name in runs[0].states[0]]
    for name in names:
        if _never_moves(name, [run.states for run in runs]) and not _never_moves(name, expected):
            yield f"`{name}` never moves"
    rounds = {name: _first_wrong_round(name, runs, expected, dtype) for name in names}
    wrong = {name: number for name, number in rounds.items() if number is not None}
    right = [name for name in names if name not in wrong]
    if right and wrong:
        yield f"`{'`, `'.join(right)}` is right in every run, `{'`, `'.join(wrong)}` is not"
    if wrong and min(wrong.values()) > 1:
        first = min(wrong.values())
        late = [name for name, number in wrong.items() if number == first]
        before = "the first round is" if first == 2 else f"the first {first - 1} rounds are"
        yield f"{before} right in every run; after round {first} `{'`, `'.join(late)}` differs in one or more"
    yield from _coordinates(runs, expected, dtype)
    differs = [
        first_difference(run.states, one, dtype) is not None for run, one in zip(runs, expected, strict=True)
    ]
    for words, holds in _features(runs):
        if [holds(run.probe, runs[0].probe) for run in runs] == differs and not all(differs):
            yield f"the runs that differ are those with {words}"
    if all(differs) and all(_within_half(run.states, one) for run, one in zip(runs, expected, strict=True)):
        yield "it agrees to the rounding of float16 only"


def _never_moves(name: str, runs: Sequence[Sequence[Snapshot]]) -> bool:
    return all(np.array_equal(states[0][name], state[name]) for states in runs for state in states)


def _first_wrong_round(
    name: str, runs: Sequence[Observed], expected: Sequence[Sequence[Snapshot]], dtype: str
) -> int | None:
    """Return the number of the first round after which a quantity differs in any run."""
    rounds = []
    for run, wanted in zip(runs, expected, strict=True):
        found = [{name: state[name]} for state in run.states]
        difference = first_difference(found, [{name: state[name]} for state in wanted], dtype)
        rounds += [] if difference is None else [difference.round]
    return min(rounds, default=None)


def _coordinates(
    runs: Sequence[Observed], expected: Sequence[Sequence[Snapshot]], dtype: str
) -> Iterator[str]:
    """Yield which coordinates of the model are right in every run, if some are and others are not."""
    wrong: set[int] = set()
    for run, wanted in zip(runs, expected, strict=True):
        for number, (state, one) in enumerate(zip(run.states, wanted, strict=False)):
            far = ~(np.abs(state["model"] - one["model"]) <= unit(number, one["model"], dtype))
            wrong |= set(np.nonzero(far)[-1].tolist())
    right = set(range(min(run.probe.task.dimension for run in runs))) - wrong
    if wrong and right:
        yield f"coordinate {', '.join(map(str, sorted(right)))} of the model is right in every run, others are not"


def _features(runs: Sequence[Observed]) -> Iterator[tuple[str, Callable[[Probe, Probe], bool]]]:
    yield from FEATURES
    first = runs[0].probe.settings
    for name in first:
        if name not in ("local_epochs", "batch_size"):

            def changed(probe: Probe, plain: Probe, name: str = name) -> bool:
                return bool(probe.settings[name] != plain.settings[name])

            yield f"another {name} than {first[name]}", changed


def _within_half(states: Sequence[Snapshot], expected: Sequence[Snapshot]) -> bool:
    for number, (state, wanted) in enumerate(zip(states, expected, strict=False)):
        for name in [name for name in wanted if name in state and name != "assignments"]:
            allowed = HALF * (1 + number) * max(1.0, float(np.abs(wanted[name]).max()))
            if not (np.abs(state[name] - wanted[name]) <= allowed).all():
                return False
    return True
