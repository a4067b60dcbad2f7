"""The page of a run of FPFC: its task, its groups, and Theorem 1."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.algorithms import FPFC, InvalidArgument, Trace
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.checker.same_task import check_same_task
from clusterproof.theory.runs.numbers import many, short
from clusterproof.theory.runs.page import Entry, Page, entry
from clusterproof.theory.runs.stationarity import setting_of, theorem_sections


def fusion_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of FPFC.

    Parameters
    ----------
    task, trace
        The run, and the task that it was made on.

    Raises
    ------
    InvalidArgument
        If the run has other dynamics than FPFC's or another task.
    """
    algorithm = dynamics_of(trace)
    if not isinstance(algorithm, FPFC):
        raise InvalidArgument("trace", algorithm.name, "must have the dynamics of fpfc", "use such a run")
    check_same_task(task, trace)
    kind = "quadratics" if isinstance(task, QuadraticMixture) else f"{task.name} losses"
    known = "" if trace.errors is None else " with known optima"
    about, settings = _task(task), _run(algorithm, task, trace)
    facts = (about, settings, *_groups(task, trace))
    sections, theorems, picture = theorem_sections(algorithm, task, trace, (*about.lines, *settings.lines))
    return Page(f"fpfc on {kind}{known}", (("", facts), *sections), theorems, picture=picture)


def _task(task: Mixture) -> Entry:
    sizes = np.bincount(task.labels)
    groups = f"{len(sizes)} groups"
    if np.ptp(sizes) == 0:
        groups = f"{many(len(sizes), 'group')} of {sizes[0]}"
    elif len(sizes) <= 4:
        groups = f"groups of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
    clients = f"m = {task.clients} clients in {groups}, d = {task.dimension}"
    apart = f"optima: groups >= {short(task.separation)} apart" if len(sizes) > 1 else "one optimum"
    if not isinstance(task, QuadraticMixture):
        curvature = f"L = {short(task.smoothness)}, mu = {short(task.strong_convexity)}"
        return entry("Task", f"{clients}, {curvature}", apart)
    least = float(np.linalg.eigvalsh(task.hessians).min())
    away = float(np.linalg.norm(task.centers - task.optima[task.labels], axis=-1).max())
    return entry(
        "Task",
        f"{clients}, no noise, L_f = {short(task.client_smoothness)}, mu = {short(least)}",
        f"{apart}, clients <= {short(away)} from their group's",
    )


def _run(algorithm: FPFC, task: Mixture, trace: Trace) -> Entry:
    parts = [f"lambda {short(algorithm.strength)}"]
    setting = setting_of(algorithm, task)
    if algorithm.penalty == "scad":
        penalty = setting.penalty
        parts += [f"xi {short(penalty.smoothing)}", f"a {short(penalty.concavity)}"]
    who = "all clients"
    if setting.participation < 1:
        who = f"{setting.active} of {task.clients} clients a round"
    longest = 1 / (setting.smoothness + 2 * algorithm.augmentation)
    named = isinstance(task, QuadraticMixture) and math.isclose(algorithm.step_size, longest, rel_tol=1e-9)
    step = "1/(L_f + 2 rho)" if named else short(algorithm.step_size)
    steps = f"{many(trace.rounds, 'round')} of {many(algorithm.local_steps, 'local step')} {step}"
    more = [f"nu {short(algorithm.threshold)}"]
    if trace.models.ndim == 4:
        more.append(many(trace.models.shape[1], "run"))
    if algorithm.start == "own":
        more.append("own starts")
    if algorithm.pair_rule != "either":
        more.append(f"pairs: {algorithm.pair_rule}")
    penalised = f"{'SCAD' if algorithm.penalty == 'scad' else algorithm.penalty}: {', '.join(parts)}"
    return entry(
        "Run",
        f"{penalised}; rho {short(algorithm.augmentation)}; {who}",
        "; ".join([steps, *more]),
    )


def _groups(task: Mixture, trace: Trace) -> tuple[Entry, ...]:
    """Return the groups after the last round, since when they are those, and where their means are."""
    if trace.rounds == 0:
        return ()
    models, labels = trace.models[-1], trace.assignments
    if trace.models.ndim == 3:
        models, labels = models[None], labels[:, None]
    true = _partition(task.labels)
    ends = [_partition(one) for one in labels[-1]]
    right = [bool((end == true).all()) for end in ends]
    since = max(_settled(labels[:, run]) for run in range(len(ends)))
    counts = sorted({len(np.unique(end)) for end in ends})
    if len(ends) == 1:
        verdict = "the true ones" if right[0] else f"not the true {task.clusters}"
        found = f"{counts[0]}, {verdict}, from round {since}"
    else:
        number = short(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        found = f"{number}, the true ones in {sum(right)} of {len(ends)} runs, all from round {since}"
    if trace.errors is None:
        return (entry("Groups", found),)
    means = np.stack([group_averages(one, end) for one, end in zip(models, labels[-1], strict=True)])
    distances = np.linalg.norm(means[:, :, None] - task.optima, axis=-1)
    away = float(distances.min(axis=-1).max())
    where = "the optima" if all(right) else "the nearest optimum"
    if all(right):
        away = float(distances[:, np.arange(task.clients), task.labels].max())
    plural = "means end" if counts[-1] > 1 else "its mean ends"
    return (entry("Groups", f"{found}; {plural} within {short(away)} of {where}"),)


def _partition(labels: np.ndarray) -> np.ndarray:
    """Return the first client of every client's group, (m,): equal for equal groups, however they are numbered."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _settled(labels: np.ndarray) -> int:
    """Return the first round after which the groups (rounds, m) never change."""
    last = _partition(labels[-1])
    for number in range(len(labels) - 1, 0, -1):
        if not np.array_equal(_partition(labels[number - 1]), last):
            return number + 1
    return 1
