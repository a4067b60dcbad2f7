"""Random tasks, settings and schedules, shrunk to the smallest on which an implementation differs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import settings as how_to_search
from hypothesis import strategies as st

from clusterproof.conformance.observation import Start, observe
from clusterproof.conformance.probes import Probe, filling_a_batch, snapshots
from clusterproof.conformance.settings import check_declared, check_settings, find_definition
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.conformance.tolerance import first_difference

NUDGE = 1e-7
"""Of the start, both ways: where the definition itself moves by a thousand times as much, rounding decides at a tie."""


@st.composite
def conformance_tasks(draw: st.DrawFn, clusters: int = 0) -> ConformanceTask:
    """Draw a task with N 2..6, d 2..4 and n_i 1..8; the simplest has N = 2 and diagonal curvatures."""
    clients, dimension = draw(st.integers(2, 6)), draw(st.integers(2, 4))

    def vectors(count: int, least: int = -8, largest: int = 8) -> np.ndarray:
        return np.array(
            [[draw(st.integers(least, largest)) / 4 for _ in range(dimension)] for _ in range(count)]
        )

    curvatures = np.array([np.diag(row) for row in vectors(clients, 2, 6)])
    if draw(st.booleans()):
        # terms of rank one and norm at most 1, by which the curvatures do not commute
        terms = vectors(clients, -2, 2)
        curvatures += np.einsum("ij,ik->ijk", terms, terms)
    return ConformanceTask(
        curvatures=curvatures,
        optima=vectors(clients),
        samples=np.array([draw(st.integers(1, 8)) for _ in range(clients)]),
        start=vectors(1)[0],
        starts=vectors(clusters) + np.arange(clusters)[:, None] if clusters else None,
    )


def check_random(
    start: Start,
    algorithm: str,
    *,
    settings: Mapping[str, Any] | None = None,
    supports: tuple[str, ...] | None = None,
    examples: int = 30,
) -> None:
    """Compare an implementation with a definition on random tasks, settings and schedules.

    Parameters
    ----------
    start, algorithm, supports
        As for ``conform``.
    settings
        Settings that are fixed.
    examples
        Number of tasks.

    Raises
    ------
    AssertionError
        On the smallest task that was found on which they differ; the message holds code that repeats it.
    """
    definition = find_definition(algorithm)
    chosen = check_settings(definition, settings or {})
    supported = check_declared(start, supports, None, None, chosen)[0]

    @given(st.data())
    def compare(data: st.DataObject) -> None:
        task = data.draw(conformance_tasks(definition.clusters))
        all_clients = list(range(task.clients))
        subset = st.lists(st.sampled_from(all_clients), min_size=1, unique=True).map(sorted)
        some = "participation" in supported and not definition.needs_all_clients
        schedule = data.draw(st.lists(subset if some else st.just(all_clients), min_size=1, max_size=4))
        drawn: dict[str, Any] = {"local_epochs": data.draw(st.integers(1, 3))}
        if "batches" in supported and not definition.needs_all_clients:
            drawn["batch_size"] = data.draw(st.none() | st.integers(1, 3))
        complete = {**definition.defaults(), **drawn, **chosen}
        if complete["drop_last"]:
            task = replace(
                task, samples=np.array(filling_a_batch(task.samples.tolist(), complete["batch_size"]))
            )
        probe = Probe("random", "", task, complete, tuple(map(tuple, schedule)))
        run, expected = observe(start, definition, probe), snapshots(definition, probe)
        difference = first_difference(run.states, expected, getattr(start, "dtype", None) or run.dtype)
        if difference is None:
            return
        for nudge in (NUDGE, -NUDGE):
            # unequal entries, so that two models that are equally good are not so afterwards
            move = nudge * np.arange(1, task.dimension + 1)
            starts = None if task.starts is None else task.starts + move
            nudged = replace(probe, task=replace(task, start=task.start + move, starts=starts))
            for one, other in zip(expected, snapshots(definition, nudged), strict=True):
                assume(np.abs(one["model"] - other["model"]).max() < 1000 * NUDGE)
        arrays = ", ".join(f"{name}=np.array({array.tolist()})" for name, array in task.arrays().items())
        raise AssertionError(
            f"{definition.name}: {difference}, on\n"
            f"task = ConformanceTask({arrays})\nsettings = {complete!r}\nschedule = {schedule!r}\n"
            "run = start(task, settings)\nfor participants in schedule:\n    run.round(participants)\n"
            f"np.testing.assert_allclose(run.{difference.quantity}{list(difference.index)}, {difference.expected!r})"
        )

    search = how_to_search(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    search(compare)()
