"""Run a definition, or a definition with slips, on a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Observed, Probe
from clusterproof.conformance.slips import Slip
from clusterproof.conformance.tolerance import Snapshot, first_difference, is_bounded


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
    settings = {**probe.settings, **(changed or {})}
    with np.errstate(all="ignore"):
        run = definition(probe.task, settings, [slip.changes for slip in slips])
        states = [run.snapshot()]
        for participants in probe.schedule:
            if not is_bounded(states[-1]):
                break
            run.round(list(participants))
            states.append(run.snapshot())
    return states


def agree(
    definition: type[Definition],
    runs: Sequence[Observed],
    dtype: str,
    *,
    slips: Sequence[Slip] = (),
    changed: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether the reference, with these slips and settings, agrees with all runs that were observed."""
    for run in runs:
        expected = snapshots(definition, run.probe, slips=slips, changed=changed)
        shared = set(expected[0]) & set(run.states[0])
        if not shared:
            return False
        if any(expected[0][name].shape != run.states[0][name].shape for name in shared):
            return False
        if first_difference(run.states, expected, dtype) is not None:
            return False
    return True
