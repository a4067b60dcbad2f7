"""Runs that implementation and definition are compared on, from the plainest to all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.tasks import ConformanceTask, random_task, two_class
from clusterproof.conformance.tolerance import Snapshot

SUPPORTS = ("batches", "server-step", "participation", "strengths")
"""What an implementation may be unable to vary."""

ALL = ((0, 1, 2, 3),)
ABSENCES = ((0, 2, 3), (1, 3), (0, 1), (0, 1, 2, 3), (1, 2))


@dataclass(frozen=True, eq=False)
class Probe:
    """One run: its task, complete settings and the participants of each round.

    Attributes
    ----------
    name
        As in ids of tests.
    meaning
        What it means if this is the first probe that fails.
    """

    name: str
    meaning: str
    task: ConformanceTask
    settings: Mapping[str, Any]
    schedule: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Observed:
    """What an implementation did on a probe: its states, the type of its model, and how long it took."""

    probe: Probe
    states: Sequence[Snapshot]
    dtype: str
    seconds: float


@dataclass(frozen=True)
class Plan:
    """A probe before an algorithm is known: what it changes and needs."""

    name: str
    seed: int
    meaning: str
    samples: tuple[int, ...]
    schedule: tuple[tuple[int, ...], ...]
    settings: Mapping[str, Any]
    needs: tuple[str, ...] = ()


EQUAL = (2, 2, 2, 2)
TWO, THREE = {"local_epochs": 2}, {"local_epochs": 3}

PLANS = (
    Plan("one-step", 1, "the local step, the start, or the mean", EQUAL, ALL, {}),
    Plan("local-epochs", 2, "what local steps add away from x, or their number", EQUAL, ALL, THREE),
    Plan("rounds", 3, "what is carried between rounds", EQUAL, ALL * 4, THREE),
    Plan("sizes", 4, "the weights of the clients", (1, 2, 3, 5), ALL * 3, TWO),
    Plan(
        "batches",
        5,
        "the number of steps, batches times epochs, which differs between clients",
        (2, 4, 4, 8),
        ALL * 3,
        {**TWO, "batch_size": 2},
        ("batches",),
    ),
    Plan(
        "server-step",
        6,
        "the server's step",
        EQUAL,
        ALL * 3,
        {**TWO, "server_step_size": 0.6, "eta": 0.1},
        ("server-step",),
    ),
    Plan(
        "participation",
        7,
        "absent clients: N or |S|, or stale state",
        EQUAL,
        ABSENCES,
        TWO,
        ("participation",),
    ),
    Plan("strengths", 8, "a strength that is fixed or without effect", EQUAL, ALL * 3, TWO, ("strengths",)),
    Plan(
        "everything",
        9,
        "a combination of batches, sizes, server step and participation",
        (2, 5, 4, 8),
        ABSENCES,
        {**TWO, "batch_size": 2, "server_step_size": 0.7},
    ),
    Plan(
        "clusters",
        14,
        "a client that changes its cluster, or a cluster that becomes empty",
        (2, 3, 2, 4),
        ALL * 8 + ((0,), (0, 1, 2, 3)),
        {**TWO, "step_size": 0.2},
    ),
)


def applicable_plans(definition: type[Definition]) -> tuple[Plan, ...]:
    """Return the plans of the probes that mean something for an algorithm."""
    needed = {
        "server-step": definition.server_step is not None,
        "participation": not definition.needs_all_clients,
        "strengths": bool(definition.strengths),
        "clusters": bool(definition.clusters),
    }
    return tuple(plan for plan in PLANS if needed.get(plan.name, True))


def make_probes(
    definition: type[Definition],
    chosen: Mapping[str, Any],
    supports: Iterable[str],
    loss: str = "quadratic",
) -> tuple[tuple[Probe, ...], tuple[tuple[str, str], ...]]:
    """Make the probes of an algorithm.

    Parameters
    ----------
    definition
        The algorithm.
    chosen
        Settings that the user fixed; no probe changes them.
    supports
        Which of ``SUPPORTS`` the implementation can vary.
    loss
        ``"quadratic"``, or ``"cross-entropy"`` for the task ``two_class``, which has full batches only.

    Returns
    -------
    tuple
        The probes, and (name, reason) of those that are skipped.
    """
    make_task = random_task if loss == "quadratic" else two_class
    supported = frozenset(supports) - ({"batches"} if loss == "cross-entropy" else set())
    defaults = definition.defaults()
    probes, skipped = [], []
    for plan in applicable_plans(definition):
        lacking = sorted(set(plan.needs) - supported)
        if lacking:
            reason = f"the implementation does not support {', '.join(lacking)}"
            if loss == "cross-entropy" and "batches" in lacking:
                reason = "rows of a two-class task differ, so that minibatches have no exact gradient"
            skipped.append((plan.name, reason))
            continue
        changes = dict(plan.settings)
        schedule = plan.schedule
        if plan.name == "strengths":
            changes |= definition.strengths
        if "batches" not in supported:
            changes.pop("batch_size", None)
        if "server-step" not in supported:
            changes.pop("server_step_size", None)
            changes.pop("eta", None)
        if "participation" not in supported or definition.needs_all_clients:
            schedule = tuple(ALL[0] for _ in schedule)
        changes = {name: value for name, value in changes.items() if name in defaults}
        settings = {**defaults, **changes, **chosen}
        samples = (4, 4, 4, 4) if definition.needs_all_clients and settings["batch_size"] else plan.samples
        task = make_task(plan.seed, samples, clusters=definition.clusters)
        probes.append(Probe(plan.name, plan.meaning, task, settings, schedule))
    return tuple(probes), tuple(skipped)
