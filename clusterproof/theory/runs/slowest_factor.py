"""The factor of the slowest cluster of a run, beside that of the same rounds without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.exact.exact_moments import error_moments
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.factor import (
    MeasuredFactor,
    last_rounds,
    measured_factor,
)
from clusterproof.theory.runs.law import Recursion, recursion_of
from clusterproof.theory.runs.page import Entry, entry


@dataclass(frozen=True)
class SlowestFactor:
    """The factor of the slowest cluster, and what is computed for the same rounds.

    Attributes
    ----------
    cluster
        Its number, from 0.
    measured
        Its factor.
    exact
        That of the same rounds without noise; None where it is not known.
    floor
        The noise floor as computed; None where it is not known, or the error is not known to rest there.
    of_all
        Whether every cluster has a factor.
    without_noise
        Error of every cluster without noise, (rounds + 1, P); None where it is not known.
    """

    cluster: int
    measured: MeasuredFactor
    exact: float | None
    floor: float | None
    of_all: bool
    without_noise: np.ndarray | None


def slowest_factor(task: Mixture, trace: Trace) -> SlowestFactor | None:
    """Measure the factor of every cluster, and return the largest; None if the replicates start apart.

    A cluster whose error does not fall comes first, then one without a linear phase; one that noise covers comes last.
    """
    starts = trace.models[0].reshape(-1, *trace.models.shape[-2:])
    if (starts != starts[0]).any():
        return None
    errors = sections.replicated(np.asarray(trace.errors), trace)
    models = sections.replicated(trace.models, trace)
    variances = (
        models.var(axis=1, ddof=1).sum(axis=-1) if models.shape[1] > 1 else np.zeros(models[:, 0].shape[:2])
    )
    factors = [
        measured_factor(errors[:, :, cluster], variances[:, cluster]) for cluster in range(task.clusters)
    ]
    recursion = _followed(task, trace)
    lengths = None if recursion is None else np.linalg.norm(recursion.path(trace.rounds), axis=-1)
    rests = [False] * task.clusters
    if lengths is not None and isinstance(task, RegressionMixture) and task.data == "fresh":
        rests = [bool(part <= one.floor / 2) for part, one in zip(lengths[-1], factors, strict=True)]

    def speed(cluster: int) -> tuple[bool, bool, float]:
        one = factors[cluster]
        value = -1.0 if one.value is None else one.value
        return not one.falls, one.value is None and not rests[cluster], value

    slowest = max(range(task.clusters), key=speed)
    measured, exact, floor = factors[slowest], None, None
    if lengths is not None and measured.value is not None:
        ratio = lengths[measured.rounds, slowest] / lengths[0, slowest]
        exact = float(ratio ** (1 / measured.rounds))
    if recursion is not None and rests[slowest] and measured.falls and measured.floor_reached:
        floor = _computed_floor(recursion, slowest, trace.rounds)
    of_all = all(one.value is not None for one in factors)
    return SlowestFactor(slowest, measured, exact, floor, of_all, lengths)


def _followed(task: Mixture, trace: Trace) -> Recursion | None:
    """Return the recursion that the errors followed; None where it is not known, or a client was misassigned."""
    try:
        recursion = recursion_of(task, trace)
    except InvalidArgument:
        return None
    return recursion if (trace.assignments == trace.labels).all() else None


def _computed_floor(recursion: Recursion, cluster: int, rounds: int) -> float:
    """Return the exact root mean square error of the last rounds."""
    path, variance = error_moments(
        recursion.spectra[cluster],
        recursion.start[cluster],
        step=float(recursion.steps[cluster]),
        momentum=recursion.momentum,
        noise=recursion.noise,
        rows=float(recursion.rows[cluster]),
        rounds=rounds,
    )
    return float(np.sqrt((path + variance)[-last_rounds(rounds) :].mean()))


def factor_entry(trace: Trace, factor: SlowestFactor | None) -> Entry:
    """Return the entry Factor."""
    if factor is None:
        return entry("Factor", "none: the runs start from different models")
    one, rounds = factor.measured, trace.rounds
    if not one.falls and rounds:
        return entry("Factor", f"none: the error of cluster {factor.cluster + 1} does not fall")
    if one.value is None:
        if factor.floor is not None:
            return entry("Factor", f"none: noise from round {one.rounds + 1} on; more --samples")
        remedy = "" if one.floor_reached else "; more --rounds"
        return entry("Factor", f"none: less than 5 rounds above 4 x the last errors{remedy}")
    interval = (
        "no interval: one run"
        if one.interval is None
        else f"95 % interval {one.interval[0]:.4f} to {one.interval[1]:.4f}"
    )
    which = "slowest cluster" if factor.of_all else "slowest measured"
    lines = [f"{one.value:.4f} a round ({interval}), {which},"]
    exact = "" if factor.exact is None else f"; the same rounds without noise: {factor.exact:.4f}, exactly"
    lines.append(f"rounds 0 to {one.rounds}{exact}")
    if factor.floor is not None:
        lines.append(
            f"later its error stays at {one.floor:.2g}, the noise floor (computed: {factor.floor:.2g})"
        )
    elif not one.floor_reached or factor.exact is not None:
        lines.append(f"floor not reached in {sections.rounds_words(trace)}")
    else:
        lines.append(f"over the last {last_rounds(rounds)} rounds its error is {one.floor:.2g}")
    return entry("Factor", *lines)
