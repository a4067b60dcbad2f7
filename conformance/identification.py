"""Which algorithm an implementation is, if nobody says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterproof.conformance.conform import conform
from clusterproof.conformance.definitions import DEFINITIONS
from clusterproof.conformance.observation import TIMEOUT, Start
from clusterproof.conformance.probes import applicable_plans
from clusterproof.conformance.report import Report


def infer(
    start: Start,
    *,
    supports: Iterable[str] | None = None,
    dtype: str | None = None,
    timeout: float = TIMEOUT,
) -> tuple[Report, ...]:
    """Return the reports of all algorithms that an implementation conforms to, in a variant if not otherwise.

    The implementation is given the settings of all algorithms, those of the one that is tried before others.

    Parameters
    ----------
    start, supports, dtype, timeout
        As for ``conform``.

    Returns
    -------
    tuple
        Reports with the verdict ``"conforms"``, or ``"variant"`` if there are none; empty if no algorithm agrees.
    """
    everything: dict[str, Any] = {}
    for definition in DEFINITIONS.values():
        everything = {**definition.defaults(), **everything}

    def complete(task: Any, settings: Mapping[str, Any]) -> Any:
        return start(task, {**everything, **settings})

    support = getattr(start, "supports", None) if supports is None else supports
    found = []
    for definition in DEFINITIONS.values():
        # a constant server step is inferred, and no symmetry tells algorithms apart
        known = [
            plan.name for plan in applicable_plans(definition) if plan.name not in ("server-step", "clusters")
        ]
        report = conform(
            complete, definition.name, supports=support, dtype=dtype, checks=known, timeout=timeout
        )
        if report.verdict in ("conforms", "variant"):
            found.append(report)
    return tuple(report for report in found if report.verdict == "conforms") or tuple(found)
