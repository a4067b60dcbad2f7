"""Checks in addition to the probes: repeatability, symmetries, absent clients, aliasing and fixed points."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.diagnosis import Observed
from clusterproof.conformance.fixed_points import fixed_point
from clusterproof.conformance.observation import Start, Unusable, observe
from clusterproof.conformance.probes import Probe
from clusterproof.conformance.reference import snapshots
from clusterproof.conformance.report import Check
from clusterproof.conformance.tasks import ConformanceTask, random_task
from clusterproof.conformance.tolerance import (
    EQUIVARIANCE_UNITS,
    Snapshot,
    first_difference,
    fixed_point_tolerance,
    unit,
)

SHIFT, SCALE, ORDER = 3.0, 4.0, (2, 0, 3, 1)
SCALE_FREE = ("fedadam", "fedyogi")
"""Algorithms whose strength tau has the models' unit, so that scaled tasks are other problems."""

NAMES = ("repeatable", "shift", "scale", "order", "absent", "control-mean", "aliasing", "fixed-point")
"""Checks in addition to the probes."""


@dataclass(frozen=True, eq=False)
class Subject:
    """An implementation with the definition that it is held against.

    Attributes
    ----------
    start, definition
        Both.
    settings
        Settings that were declared, in place of every probe's.
    changed
        Settings of the admissible form that was found in place of the declared one.
    dtype, timeout
        Type of the tolerance, and seconds for one run.
    """

    start: Start
    definition: type[Definition]
    settings: Mapping[str, Any]
    changed: Mapping[str, Any]
    dtype: str
    timeout: float

    def run(
        self,
        task: ConformanceTask,
        settings: Mapping[str, Any],
        schedule: Sequence[Sequence[int]],
        after_round: Callable[[Any], None] | None = None,
    ) -> list[Snapshot]:
        """Return what the implementation does."""
        shapes = self.definition.shapes(task)
        observed = observe(
            self.start, task, settings, schedule, shapes, after_round=after_round, timeout=self.timeout
        )
        return observed[0]


def additional_checks(subject: Subject, runs: Sequence[Observed], names: Sequence[str]) -> list[Check]:
    """Carry out the named checks; one whose run is unusable is skipped with the reason."""
    functions = {
        "repeatable": _repeatable,
        "shift": lambda subject, runs: _moved(subject, runs[-1], SHIFT, 1.0),
        "scale": lambda subject, runs: _moved(subject, runs[-1], 0.0, SCALE),
        "order": _order,
        "absent": _absent,
        "control-mean": _control_mean,
        "aliasing": _aliasing,
        "fixed-point": _fixed_point,
    }
    checks = []
    for name in names:
        begun = time.perf_counter()
        try:
            outcome, sentence = functions[name](subject, runs)
        except Unusable as error:
            outcome, sentence = "skipped", str(error)
        checks.append(Check(name, outcome, sentence, time.perf_counter() - begun))
    return checks


Outcome = tuple[str, str]
"""Passed, failed or skipped, and a sentence; checks look at the last run, in which most changes at once."""


def _compared(first: Sequence[Snapshot], second: Sequence[Snapshot], subject: Subject, what: str) -> Outcome:
    difference = first_difference(first, second, subject.dtype, allowed=EQUIVARIANCE_UNITS)
    if difference is None:
        return "passed", ""
    return "failed", (
        f"{what}: {difference.quantity} after round {difference.round} is {difference.observed:.6g}, "
        f"not {difference.expected:.6g}"
    )


def _repeatable(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    run = runs[-1]
    again = subject.run(run.probe.task, run.probe.settings, run.probe.schedule)
    return _compared(again, run.states, subject, "a second start on the same task gives another run")


def _moved(subject: Subject, run: Observed, shift: float, scale: float) -> Outcome:
    """The run on the image of the task is the image of the run."""
    probe = run.probe
    if probe.task.features is not None:
        return "skipped", "losses of a two-class task do not move with the model"
    if scale != 1 and subject.definition.name in SCALE_FREE:
        return "skipped", "tau has the unit of the models"
    states = subject.run(probe.task.moved(shift, scale), probe.settings, probe.schedule)
    moved = f"shifted by {shift:g}" if shift else f"scaled by {scale:g}"
    what = f"the run on the task {moved} is not the {moved.split()[0]} run"
    return _compared(states, [_image(state, shift, scale) for state in run.states], subject, what)


def _image(state: Snapshot, shift: float, scale: float) -> Snapshot:
    """Return the image of a state: models are points, controls are gradients, assignments stay."""
    shifts = {"model": shift, "personal": shift}
    return {
        name: value if name == "assignments" else scale * value + shifts.get(name, 0.0)
        for name, value in state.items()
    }


def _order(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    probe, states = runs[-1].probe, runs[-1].states
    place = {client: number for number, client in enumerate(ORDER)}
    schedule = [sorted(place[client] for client in participants) for participants in probe.schedule]
    found = subject.run(probe.task.permuted(ORDER), probe.settings, schedule)
    of_clients: tuple[str, ...] = ("controls", "personal", "assignments")
    if subject.definition.shapes(probe.task)["model"] == probe.task.optima.shape:
        of_clients = (*of_clients, "model")
    expected = [
        {name: value[list(ORDER)] if name in of_clients else value for name, value in state.items()}
        for state in states
    ]
    return _compared(found, expected, subject, "the run with the clients in another order is another run")


def _absent(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    """States of absent clients stay."""
    found = [run for run in runs if run.probe.name == "participation"]
    names = [name for name in ("controls", "personal") if found and name in found[0].states[0]]
    if not names:
        return "skipped", "no states of absent clients were observed"
    for before, after, participants in zip(
        found[0].states[:-1], found[0].states[1:], found[0].probe.schedule, strict=False
    ):
        absent = [i for i in range(found[0].probe.task.clients) if i not in participants]
        for name in names:
            if not np.array_equal(before[name][absent], after[name][absent]):
                return "failed", f"{name} of absent clients change"
    return "passed", ""


def _control_mean(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    """The server's control is the mean of the clients'."""
    if not {"control", "controls"} <= set(runs[0].states[0]):
        return "skipped", "control and controls are not both offered"
    for run in runs:
        for number, state in enumerate(run.states):
            mean = state["controls"].mean(axis=0)
            if np.abs(np.abs(mean) - np.abs(state["control"])).max() > unit(number, mean, subject.dtype):
                return "failed", f"the server's control is not the mean of the clients' after round {number}"
    return "passed", ""


def _aliasing(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    """Whether a user who writes to what was handed out changes the run; not a fault of the algorithm."""

    def overwrite(run: Any) -> None:
        for name in subject.definition.quantities:
            value: Any = getattr(run, name, None)
            value = value.detach().cpu().numpy() if hasattr(value, "detach") else value
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable:
                value[...] = np.nan

    probe = runs[-1].probe
    handed_out = "the run hands out its own arrays; copy them before writing to them"
    try:
        states = subject.run(probe.task, probe.settings, probe.schedule, after_round=overwrite)
    except Unusable:
        return "skipped", handed_out
    difference = first_difference(states, runs[-1].states, subject.dtype)
    return ("passed", "") if difference is None else ("skipped", handed_out)


def _fixed_point(subject: Subject, runs: Sequence[Observed]) -> Outcome:
    """After 120 rounds the run rests where linear algebra says."""
    definition = subject.definition
    if runs[0].probe.task.features is not None:
        return "skipped", "cross-entropy has no fixed point in closed form"
    given = {"step_size": 0.25, "local_epochs": 4, "batch_size": None}
    if set(given) & set(subject.settings):
        return "skipped", "it needs a step size and local epochs of its own"
    if definition.clusters:
        return "skipped", f"{definition.name} has no fixed point in closed form here"
    task = random_task(10, (1, 2, 3, 5))
    asked = {**definition.defaults(), **given, **subject.settings}
    settings = {**asked, **subject.changed}
    expected = fixed_point(definition.name, task, settings)
    if expected is None:
        return "skipped", f"{definition.name} has no fixed point in closed form here"
    schedule = ((0, 1, 2, 3),) * 120
    allowed = fixed_point_tolerance(subject.dtype)
    reference = snapshots(definition, Probe("fixed-point", "", task, settings, schedule))[-1]
    if any(np.abs(reference[name] - value).max() > allowed for name, value in expected.items()):
        return "skipped", "120 rounds do not come to rest with these settings"
    states = subject.run(task, asked, schedule)
    for name, value in expected.items():
        if name in states[-1]:
            distance = float(np.abs(states[-1][name] - value).max())
            if len(states) <= len(schedule) or distance > allowed:
                return "failed", f"{name} after 120 rounds is {distance:.3g} from the fixed point"
    return "passed", ""
