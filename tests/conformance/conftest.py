"""Runs of the definitions are computed once: explanations try the same mistakes on the same probes again and again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from clusterproof.conformance import diagnosis, judge, probes
from clusterproof.conformance.definitions import KNOWN_MISTAKES, Mistake
from clusterproof.conformance.probes import Probe, snapshots

LISTED = {id(mistake) for bank in KNOWN_MISTAKES.values() for mistake in bank.values()}
RUNS: dict[Any, list[Mapping[str, Any]]] = {}
PROBES: WeakKeyDictionary[Probe, Any] = WeakKeyDictionary()


def probe_key(probe: Probe) -> Any:
    """Return what a run on a probe depends on: the numbers of its task, settings and schedule."""
    if probe not in PROBES:
        arrays = [value if value is None else value.tobytes() for value in vars(probe.task).values()]
        PROBES[probe] = (*arrays, repr(sorted(probe.settings.items())), probe.schedule)
    return PROBES[probe]


def stored_snapshots(
    definition: type,
    probe: Probe,
    *,
    mistakes: Sequence[Mistake] = (),
    changed: Mapping[str, Any] | None = None,
) -> list[Mapping[str, Any]]:
    """Return ``snapshots`` of the same arguments, computed once if all mistakes are those of the bank."""
    if not all(id(mistake) in LISTED for mistake in mistakes):
        return snapshots(definition, probe, mistakes=mistakes, changed=changed)
    names = tuple(id(mistake) for mistake in mistakes)
    key = (definition, probe_key(probe), names, repr(sorted((changed or {}).items())))
    if key not in RUNS:
        RUNS[key] = snapshots(definition, probe, mistakes=mistakes, changed=changed)
        for state in RUNS[key]:
            for value in state.values():
                value.flags.writeable = False
    return RUNS[key]


@pytest.fixture(scope="module", autouse=True)
def runs_of_definitions_are_stored() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (judge, diagnosis, probes):
            patch.setattr(module, "snapshots", stored_snapshots)
        yield
