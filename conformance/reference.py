"""Run a definition, or a definition with slips, on a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Probe
from clusterproof.conformance.slips import Slip
from clusterproof.conformance.tolerance import LARGEST, Snapshot, first_difference


def snapshots(
    definition: type[Definition],
    probe: Probe,
    *,
    slips: Sequence[Slip] = (),
    changed: Mapping[str, Any] | None = None,
) -> list[Snapshot]:
    """Return every quantity of the reference before the first and after each round.

    Parameters
    ----------
    definition, probe
        What to run on which probe.
    slips
        Mistakes to make.
    changed
        Settings in place of the probe's.
    """
    return list(_states(definition, probe, slips, changed))


def agrees(
    definition: type[Definition],
    probe: Probe,
    observed: Sequence[Snapshot],
    dtype: str,
    *,
    slips: Sequence[Slip] = (),
    changed: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether the reference, with these slips and settings, agrees with a run that was observed."""
    expected = snapshots(definition, probe, slips=slips, changed=changed)
    shared = set(expected[0]) & set(observed[0])
    return (
        bool(shared)
        and all(expected[0][name].shape == observed[0][name].shape for name in shared)
        and len(expected) == len(observed)
        and first_difference(observed, expected, dtype) is None
    )


def _states(
    definition: type[Definition], probe: Probe, slips: Sequence[Slip], changed: Mapping[str, Any] | None
) -> list[Snapshot]:
    settings = {**probe.settings, **(changed or {})}
    # a replaced line first: what multiplies it or adds to it then still shows
    ordered = sorted(slips, key=lambda slip: not slip.replaced)
    with np.errstate(all="ignore"):
        run: Any = definition(probe.task, settings, [slip.changes for slip in ordered])
        states: list[Snapshot] = [_snapshot(run)]
        for participants in probe.schedule:
            run.round(list(participants))
            states.append(_snapshot(run))
            if not is_bounded(states[-1]):
                break
    return states


def is_bounded(snapshot: Snapshot) -> bool:
    """Return whether every entry is finite and below 1e8 in size."""
    return all(bool((np.abs(value) <= LARGEST).all()) for value in snapshot.values())


def _snapshot(run: Any) -> Snapshot:
    return {name: np.array(getattr(run, name), dtype=float) for name in run.quantities}
