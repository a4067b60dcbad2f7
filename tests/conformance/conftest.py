"""Runs of the definitions are computed once: explanations try the same slips on the same probes again and again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from clusterproof.conformance import diagnosis, judge, probes
from clusterproof.conformance.known_mistakes import SLIPS, Slip
from clusterproof.conformance.probes import Probe, snapshots

KNOWN_SLIPS = {id(slip) for bank in SLIPS.values() for slip in bank.values()}
RUNS: dict[Any, list[Mapping[str, Any]]] = {}
PROBES: WeakKeyDictionary[Probe, Any] = WeakKeyDictionary()


def probe_key(probe: Probe) -> Any:
    """Return what a run on a probe depends on: the numbers of its task, settings and schedule."""
    if probe not in PROBES:
        arrays = [value if value is None else value.tobytes() for value in vars(probe.task).values()]
        PROBES[probe] = (*arrays, repr(sorted(probe.settings.items())), probe.schedule)
    return PROBES[probe]


def stored_snapshots(
    definition: type, probe: Probe, *, slips: Sequence[Slip] = (), changed: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]]:
    """Return ``snapshots`` of the same arguments, computed once if all slips are those of the bank."""
    if not all(id(slip) in KNOWN_SLIPS for slip in slips):
        return snapshots(definition, probe, slips=slips, changed=changed)
    names = tuple(id(slip) for slip in slips)
    key = (definition, probe_key(probe), names, repr(sorted((changed or {}).items())))
    if key not in RUNS:
        RUNS[key] = snapshots(definition, probe, slips=slips, changed=changed)
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
