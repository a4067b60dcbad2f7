"""Runs that implementation and definition are compared on, from the plainest to all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.tasks import ConformanceTask, random_task, two_class

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


@dataclass(frozen=True)
class Plan:
    """A probe before an algorithm is known: what it changes and needs."""

    name: str
    seed: int
    meaning: str
    samples: tuple[int, ...]
    schedule: tuple[tuple[int, ...], ...]
    settings: Mapping[str, Any]
    needs: frozenset[str] = frozenset()


PLANS = (
    Plan("one-step", 1, "the local step, the start, or the mean", (2, 2, 2, 2), ALL, {}),
    Plan(
        "local-epochs",
        2,
        "what is added to the gradient away from x, or the number of steps",
        (2, 2, 2, 2),
        ALL,
        {"local_epochs": 3},
    ),
    Plan("rounds", 3, "what is carried between rounds", (2, 2, 2, 2), ALL * 4, {"local_epochs": 3}),
    Plan("sizes", 4, "the weights of the clients", (1, 2, 3, 5), ALL * 3, {"local_epochs": 2}),
    Plan(
        "batches",
        5,
        "the number of steps, batches times epochs, which differs between clients",
        (2, 4, 4, 8),
        ALL * 3,
        {"local_epochs": 2, "batch_size": 2},
        frozenset({"batches"}),
    ),
    Plan(
        "server-step",
        6,
        "the server's step",
        (2, 2, 2, 2),
        ALL * 3,
        {"local_epochs": 2, "server_step_size": 0.6, "eta": 0.1},
        frozenset({"server-step"}),
    ),
    Plan(
        "participation",
        7,
        "absent clients: N in place of |S|, or stale state",
        (2, 2, 2, 2),
        ABSENCES,
        {"local_epochs": 2},
        frozenset({"participation"}),
    ),
    Plan(
        "strengths",
        8,
        "a strength without effect, or one that is fixed in the code",
        (2, 2, 2, 2),
        ALL * 3,
        {"local_epochs": 2},
        frozenset({"strengths"}),
    ),
    Plan(
        "everything",
        9,
        "a combination: each of batches, sizes, server step and participation alone is right",
        (2, 5, 4, 8),
        ABSENCES,
        {"local_epochs": 2, "batch_size": 2, "server_step_size": 0.7},
    ),
)

CLUSTERS = Plan(
    "clusters",
    14,
    "a client that changes its cluster, or a cluster that becomes empty",
    (2, 3, 2, 4),
    ALL * 8 + ((0,), (0, 1, 2, 3)),
    {"local_epochs": 2, "step_size": 0.2},
)
"""The tenth probe, of clustered algorithms; with it ``test_probes`` finds a changed and an empty cluster."""


def applicable_plans(definition: type[Definition]) -> tuple[Plan, ...]:
    """Return the plans of the probes that mean something for an algorithm."""
    needless = set()
    if definition.server_step is None:
        needless.add("server-step")
    if definition.needs_everybody:
        needless.add("participation")
    if not definition.strengths:
        needless.add("strengths")
    plans = PLANS if not definition.clusters else (*PLANS, CLUSTERS)
    return tuple(plan for plan in plans if plan.name not in needless)


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
        lacking = sorted(plan.needs - supported)
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
        if "participation" not in supported or definition.needs_everybody:
            schedule = tuple(ALL[0] for _ in schedule)
        changes = {name: value for name, value in changes.items() if name in defaults}
        settings = {**defaults, **changes, **chosen}
        samples = (4, 4, 4, 4) if definition.needs_everybody and settings["batch_size"] else plan.samples
        task = make_task(plan.seed, samples, clusters=definition.clusters)
        probes.append(Probe(plan.name, plan.meaning, task, settings, schedule))
    return tuple(probes), tuple(skipped)
