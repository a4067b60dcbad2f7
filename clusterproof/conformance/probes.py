"""Probes: the runs on which implementation and definition are compared, from the simplest to the most general."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition, Mistake
from clusterproof.conformance.tasks import ConformanceTask, random_task, two_class
from clusterproof.conformance.tolerance import Snapshot, first_difference, is_bounded

SUPPORTS = ("batches", "server-step", "participation", "strengths")
"""Features that an implementation may support. A user can declare that the code does not support a feature."""
FIXED = {
    "batches": "the code takes full batches only",
    "server-step": "the code has no server step size",
    "participation": "all clients always take part",
    "strengths": "the code's strengths are fixed",
}
"""For each feature, a description of the runs of an implementation without this feature."""


@dataclass(frozen=True, eq=False)
class Probe:
    """One run, described by a task, a value for every setting, and the participants of each round.

    Attributes
    ----------
    name
        Name of the probe, which is also part of a test's id.
    meaning
        The part of the code that is probably wrong if this is the first probe that fails.
    """

    name: str
    meaning: str
    task: ConformanceTask
    settings: Mapping[str, Any]
    schedule: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Observed:
    """An implementation's observed run on a probe: the states, and the type of the model."""

    probe: Probe
    states: Sequence[Snapshot]
    dtype: str


FILE = Path(__file__).with_name("probes.toml")
PLANS: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
"""Settings and participants of the probes, for every algorithm."""


def probe_names(definition: type[Definition]) -> tuple[str, ...]:
    """Return the names of the probes that apply to an algorithm."""
    needed = {
        "server-step": bool(definition.server_step),
        "participation": not definition.needs_all_clients,
        "strengths": bool(strengths(definition)),
        "clusters": bool(definition.clusters),
        "groups": "groups" in definition.quantities,
    }
    return tuple(name for name in PLANS if needed.get(name, True))


def strengths(definition: type[Definition]) -> dict[str, Any]:
    """Return another value for each strength of an algorithm: the value in the definition, or 0.6 times the default.

    A count is increased by one. The server's step size is not included, because it has a separate probe.
    """
    numbers = {
        name: value + 1 if isinstance(value, int) else 0.6 * value
        for name, value in definition.own_settings.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name != definition.server_step
    }
    return {**numbers, **definition.strengths}


def filling_a_batch(samples: Sequence[int], batch_size: int | None) -> tuple[int, ...]:
    """Return numbers of samples of at least one batch, so that every client takes a step even with `drop_last`."""
    return tuple(int(count) + max(0, (batch_size or 0) - int(min(samples))) for count in samples)


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
        Settings that the user fixed; no probe changes these settings.
    supports
        Features from ``SUPPORTS`` that the implementation can vary.
    loss
        ``"quadratic"``, or ``"cross-entropy"``, which uses the task ``two_class`` and full batches only.

    Returns
    -------
    tuple
        The probes, and (name, reason) of the skipped probes.
    """
    reasons = {
        name: f"{FIXED[name]}, as its attribute `supports` declares; also in `everything`"
        for name in set(SUPPORTS) - set(supports)
    }
    if loss == "cross-entropy":
        reasons["batches"] = "rows of a two-class task differ, so that minibatches have no exact gradient"
    varied = {
        **{"batches": ("batch_size",), "server-step": ("server_step_size", "eta")},
        "strengths": tuple(strengths(definition)),
    }
    fixed = {setting for name in reasons for setting in varied.get(name, ())}
    defaults = definition.defaults()
    all_clients = "participation" in reasons or definition.needs_all_clients
    probes, skipped = [], []
    for name in probe_names(definition):
        if name in reasons:
            skipped.append((name, reasons[name]))
            continue
        plan = PLANS[name]
        changes = {**plan.get("settings", {}), **(strengths(definition) if name == "strengths" else {})}
        changes = {one: value for one, value in changes.items() if one in defaults and one not in fixed}
        settings = {**defaults, **changes, **chosen}
        equal = definition.equal_steps and settings["batch_size"]
        samples = (5,) * len(plan["samples"]) if equal else plan["samples"]
        samples = filling_a_batch(samples, settings["batch_size"])
        starts = definition.starts(settings, len(samples))
        if "clusters" in plan and starts == definition.clusters:
            starts = starts and plan["clusters"]
        if loss == "cross-entropy":
            task = two_class(plan["seed"], samples, clusters=starts)
        else:
            sizes = {one: plan[one] for one in ("groups", "dimension") if one in plan}
            task = random_task(plan["seed"], samples, clusters=starts, **sizes)
            task = task.moved(0.0, plan["scale"]) if "scale" in plan else task
            task = _with_undecided(task, plan["undecided"]) if "undecided" in plan else task
        everyone = tuple(range(len(samples)))
        planned = [everyone if all_clients else tuple(each) for each in plan["schedule"]]
        least = definition.least_participants(settings)
        planned = [participants for participants in planned if len(participants) >= least]
        schedule = (*planned,) * plan.get("repeats", 1)
        probes.append(Probe(name, plan["meaning"], task, settings, schedule))
    return tuple(probes), tuple(skipped)


def _with_undecided(task: ConformanceTask, client: int) -> ConformanceTask:
    """Change the last initial model such that a client's loss there is 0.01 % below its loss at the best other one."""
    if task.starts is None:
        return task
    least = min(task.loss(client, start) for start in task.starts[:-1])
    offset = task.starts[-1] - task.optima[client]
    offset *= np.sqrt(0.9999 * least / task.loss(client, task.starts[-1]))
    return replace(task, starts=np.array([*task.starts[:-1], task.optima[client] + offset]))


def snapshots(
    definition: type[Definition],
    probe: Probe,
    *,
    mistakes: Sequence[Mistake] = (),
    changed: Mapping[str, Any] | None = None,
) -> list[Snapshot]:
    """Run the reference, and return every quantity before the first round and after each round.

    Parameters
    ----------
    definition, probe
        The definition and the probe to run it on.
    mistakes
        Mistakes that are inserted into the reference.
    changed
        Settings with values that replace the probe's values.
    """
    settings = {**probe.settings, **(changed or {})}
    for mistake in mistakes:
        settings |= mistake.settings
    with np.errstate(all="ignore"):
        run = definition(probe.task, settings, [mistake.changes for mistake in mistakes])
        states = [run.snapshot()]
        for participants in probe.schedule:
            if not is_bounded(states[-1]):
                break
            run.round(list(participants))
            states.append(run.snapshot())
    return states


@lru_cache(maxsize=64)  # runs are compared with these states, then explained, perhaps in both precisions
def _stored_states(definition: Any, probe: Probe) -> Sequence[Snapshot]:
    return snapshots(definition, probe)


def right_states(definition: Any, probe: Probe) -> Sequence[Snapshot]:
    """Return ``snapshots`` of the definition without mistakes, which are computed once per probe."""
    return _stored_states(definition, probe)


def agree(
    definition: type[Definition],
    runs: Sequence[Observed],
    dtype: str,
    *,
    mistakes: Sequence[Mistake] = (),
    changed: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether the reference agrees with all observed runs if it has these mistakes and settings."""
    for run in runs:
        expected = snapshots(definition, run.probe, mistakes=mistakes, changed=changed)
        if any(value.shape != expected[0].get(name, value).shape for name, value in run.states[0].items()):
            return False
        if first_difference(run.states, expected, dtype) is not None:
            return False
    return True
