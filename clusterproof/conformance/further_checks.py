"""Further checks of an implementation: repeatability, symmetries, absent clients, aliasing and fixed points."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import DEFINITIONS
from clusterproof.conformance.observation import Unusable, advance_generators, undisturbed
from clusterproof.conformance.probes import Observed, Probe, snapshots
from clusterproof.conformance.report import Check, Report
from clusterproof.conformance.tasks import ConformanceTask, random_task
from clusterproof.conformance.tolerance import Snapshot, first_difference, fixed_point_tolerance, unit

EQUIVARIANCE_UNITS = 10.0
"""Largest allowed distance between two runs of the implementation, in units of ``tolerance.unit``."""
SHIFT, SCALE, ORDER = 3.0, 4.0, (2, 0, 3, 1)

Run = Callable[..., Observed]
"""Function (probe, after_round=None) -> observed run, which runs the implementation on a probe."""
Outcome = tuple[str, str]
"""Result of a check: ``"passed"``, ``"failed"`` or ``"skipped"``, and a sentence with the reason.

The checks use the last probe, because most of its settings differ from their defaults.
"""


def _compared(first: Sequence[Snapshot], second: Sequence[Snapshot], dtype: str, what: str) -> Outcome:
    difference = first_difference(first, second, dtype, allowed=EQUIVARIANCE_UNITS)
    if difference is None:
        return "passed", ""
    return "failed", f"{what}: {difference}"


def _repeatable(report: Report, run: Run) -> Outcome:
    """Run the implementation again, after draws from global random generators, and require bitwise equal runs."""
    last = report.runs[-1]
    with undisturbed(io.StringIO()):
        advance_generators()
        again = run(last.probe).states
    outcome = _compared(
        again, last.states, report.dtype, "a second start on the same task gives a different run"
    )
    difference = first_difference(again, last.states, report.dtype, allowed=0.0)
    if outcome[0] == "failed" or difference is None:
        return outcome
    return "skipped", (
        f"a second start on the same task gives a different {difference.quantity} after round {difference.round}, "
        "by rounding only: the order of a sum, or a random number, is not the same in two runs"
    )


def _moved(report: Report, run: Run, shift: float, scale: float) -> Outcome:
    """Shift or scale the task, and check that the models of the run are shifted or scaled in the same way."""
    last = report.runs[-1]
    if last.probe.task.features is not None:
        return "skipped", "losses of a two-class task do not move with the model"
    definition = DEFINITIONS[report.algorithm]
    if scale != 1 and definition.lengths:
        return "skipped", f"{definition.lengths} have a unit that does not scale with the task"
    declared = {**report.settings, **report.changed}
    if shift and (declared.get("weight_decay") or declared.get("weighting") == "unbiased-models"):
        return "skipped", "the declared form pulls to 0"
    states = run(replace(last.probe, task=last.probe.task.moved(shift, scale))).states
    moved = f"shifted by {shift:g}" if shift else f"scaled by {scale:g}"
    cause = "a pull to a point, such as weight decay" if shift else "a length that is fixed, such as clipping"
    what = f"the run on the task {moved} is not the {moved.split()[0]} run (is there {cause}?)"
    # models move like points, controls move like gradients, and assignments stay unchanged
    shifts = dict.fromkeys(("model", "personal", "group_models"), shift)
    scales = {"assignments": 1.0, "groups": 1.0}
    expected = [
        {name: scales.get(name, scale) * value + shifts.get(name, 0.0) for name, value in state.items()}
        for state in last.states
    ]
    return _compared(states, expected, report.dtype, what)


def _order(report: Report, run: Run) -> Outcome:
    """Reorder the clients of the task, and check that the run is reordered in the same way."""
    large = [one for one in report.runs if one.probe.task.clients >= len(ORDER)]
    if not large:
        return "skipped", f"no run has {len(ORDER)} clients"
    probe, states = large[-1].probe, large[-1].states
    order = [*ORDER, *range(len(ORDER), probe.task.clients)]
    schedule = tuple(tuple(sorted(map(order.index, participants))) for participants in probe.schedule)
    definition = DEFINITIONS[report.algorithm]
    if definition.order_matters(probe.settings):
        return "skipped", "the order of the clients replaces a random choice"
    task = probe.task.permuted(order)
    if task.starts is not None and definition.starts(probe.settings, task.clients) != definition.clusters:
        task = replace(task, starts=task.starts[order])
    found = run(replace(probe, task=task, schedule=schedule)).states
    shape = probe.task.optima.shape
    of_clients = {"assignments", "groups"}
    of_clients |= {name for name, value in states[0].items() if value.shape == shape}
    expected = [
        {name: value[order] if name in of_clients else value for name, value in state.items()}
        for state in states
    ]
    for state in expected:
        state.update(
            {name: state[name][order][:, order] for name in ("differences", "duals") if name in state}
        )
    what = "the run changes with the order of the clients"
    return _compared(found, expected, report.dtype, what)


def _absent(report: Report, run: Run) -> Outcome:
    """Check that the states of a client do not change in a round in which it does not take part."""
    one = {one.probe.name: one for one in report.runs}.get("participation")
    names = [name for name in ("controls", "personal") if name in report.runs[0].states[0]]
    if one is None or not names:
        return (
            "skipped",
            "a client that misses rounds; only for runs with states of clients (controls, personal)",
        )
    for before, after, participants in zip(one.states, one.states[1:], one.probe.schedule, strict=False):
        absent = [i for i in range(one.probe.task.clients) if i not in participants]
        for name in names:
            if not np.array_equal(before[name][absent], after[name][absent]):
                return "failed", f"{name} of absent clients change"
    return "passed", ""


def _control_mean(report: Report, run: Run) -> Outcome:
    """Check in every round that the server's control is the mean of the clients' controls."""
    if not {"control", "controls"} <= set(report.runs[0].states[0]):
        return "skipped", "only for runs with control and controls, as in SCAFFOLD"
    for one in report.runs:
        for number, state in enumerate(one.states):
            mean = state["controls"].mean(axis=0)
            if np.abs(np.abs(mean) - np.abs(state["control"])).max() > unit(number, mean, report.dtype):
                return "failed", f"the server's control is not the mean of the clients' after round {number}"
    return "passed", ""


def _aliasing(report: Report, run: Run) -> Outcome:
    """Change a returned array, and check whether this changes the run; the verdict does not depend on this check."""
    last = report.runs[-1]
    for name in [name for name in last.states[0] if name != "assignments"]:

        def overwrite(implementation: Any, name: str = name) -> None:
            value: Any = getattr(implementation, name)
            value = value.detach().cpu().numpy() if hasattr(value, "detach") else value
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable:
                value[...] = np.nan

        try:
            states = run(last.probe, after_round=overwrite).states
        except Unusable:
            states = []
        if not states or first_difference(states, last.states, report.dtype) is not None:
            return "skipped", (
                f"no mistake now, but a caller that writes into `run.{name}` changes the next round; return a copy to "
                "prevent this"
            )
    return "passed", ""


def _fixed_point(report: Report, run: Run) -> Outcome:
    """Compute the fixed point with linear algebra, and check that the run has reached it after 120 rounds."""
    definition = DEFINITIONS[report.algorithm]
    if report.runs[0].probe.task.features is not None:
        return "skipped", "cross-entropy has no fixed point in closed form"
    given = {"step_size": 0.25, "local_epochs": 4, "batch_size": None}
    if set(given) & set(report.settings):
        return "skipped", "it needs its own step size and local epochs"
    asked = {**definition.defaults(), **given, **report.settings}
    probe = Probe("fixed-point", "", random_task(10, (1, 2, 3, 5)), asked, ((0, 1, 2, 3),) * 120)
    expected = fixed_point(definition.name, probe.task, {**asked, **report.changed})
    if expected is None:
        return "skipped", f"{definition.name} has no fixed point in closed form here"
    allowed = fixed_point_tolerance(report.dtype)
    reference = snapshots(definition, probe, changed=report.changed)[-1]
    if any(np.abs(reference[name] - value).max() > allowed for name, value in expected.items()):
        return "skipped", "the run does not converge in 120 rounds with these settings"
    states = run(probe).states
    for name, value in expected.items():
        if name in states[-1]:
            distance = float(np.abs(states[-1][name] - value).max())
            if len(states) <= len(probe.schedule) or distance > allowed:
                return "failed", f"{name} after 120 rounds is {distance:.3g} from the fixed point"
    return "passed", ""


def fixed_point(
    algorithm: str, task: ConformanceTask, settings: Mapping[str, Any]
) -> dict[str, np.ndarray] | None:
    """Return the quantities at the fixed point for full participation and full batches, or None if we know no formula.

    In one round the model of client i changes by C_i (b_i - x), where C_i = (I - (I - eta B_i)^K) B_i^-1 A_i. Here B_i
    is A_i + mu I for FedProx and A_i otherwise. The fixed point of FedAvg, FedAvgM, FedNova (equal K) and FedProx is
    (sum p_i C_i)^-1 sum p_i C_i b_i. For FedLin the fixed point is the minimiser of the mean loss with weights p_i. For
    SCAFFOLD, ProxSkip and FedDyn it is the minimiser of the mean loss with equal weights.
    """
    if settings.get("weight_decay") or settings.get("schedule", "constant") != "constant":
        return None
    hessians, identity = task.curvatures, np.eye(task.dimension)
    if algorithm in ("scaffold", "feddyn", "proxskip"):
        return {"model": _rest(hessians, task)}
    if algorithm not in ("fedlin", "fedavg", "fedavgm", "fednova", "fedprox", "ditto"):
        return None
    samples = settings.get("weighting") in ("samples", "unbiased", "unbiased-models")
    counts = task.samples if samples else np.ones(task.clients)
    shares = (counts / counts.sum())[:, None, None]
    if algorithm == "fedlin":  # the mean gradient has the same weights as the models
        return {"model": _rest(shares * hessians, task)}
    bent = hessians + settings.get("proximal", 0.0) * identity
    left = np.linalg.matrix_power(identity - settings["step_size"] * bent, settings["local_epochs"])
    model = _rest(shares * (identity - left) @ np.linalg.solve(bent, hessians), task)
    if algorithm != "ditto":
        return {"model": model}
    lam = settings["lam"]
    pulled = np.einsum("ijk,ik->ij", hessians, task.optima) + lam * model
    return {"model": model, "personal": np.linalg.solve(hessians + lam * identity, pulled[..., None])[..., 0]}


def _rest(matrices: np.ndarray, task: ConformanceTask) -> np.ndarray:
    """Return (sum M_i)^-1 sum M_i b_i."""
    return np.asarray(np.linalg.solve(matrices.sum(axis=0), np.einsum("ijk,ik->j", matrices, task.optima)))


CHECKS: dict[str, Callable[[Report, Run], Outcome]] = {
    "repeatable": _repeatable,
    "shift": lambda report, run: _moved(report, run, SHIFT, 1.0),
    "scale": lambda report, run: _moved(report, run, 0.0, SCALE),
    "order": _order,
    "absent": _absent,
    "control-mean": _control_mean,
    "aliasing": _aliasing,
    "fixed-point": _fixed_point,
}
"""The further checks, indexed by name."""


def additional_checks(report: Report, run: Run, names: Sequence[str]) -> list[Check]:
    """Perform the named checks; if the implementation cannot be run for a check, skip the check with the reason."""
    checks = []
    for name in names:
        try:
            outcome, sentence = CHECKS[name](report, run)
        except Unusable as error:
            outcome, sentence = "skipped", str(error)
        checks.append(Check(name, outcome, sentence))
    return checks
