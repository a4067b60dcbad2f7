"""The page of a run of FPFC: its task, its groups, and Theorem 1."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.algorithms import FPFC, InvalidArgument, Trace
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.runs.fpfc_conditions import setting_of
from clusterproof.theory.runs.groups import found_words, is_true
from clusterproof.theory.runs.page import LABEL, WIDTH, Entry, Page, entry
from clusterproof.theory.runs.same_task import check_same_task
from clusterproof.theory.runs.stationarity import theorem_sections


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
    curvatures = f"L_f = {short(task.client_smoothness)}, mu = {short(least)}"
    first = f"{clients}, no noise, {curvatures}"
    return entry(
        "Task",
        first if len(first) <= WIDTH - LABEL else f"{clients}, {curvatures}",
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
    first = f"{penalised}; rho {short(algorithm.augmentation)}"
    if len(f"{first}; {who}") <= WIDTH - LABEL:
        return entry("Run", f"{first}; {who}", "; ".join([steps, *more]))
    return entry("Run", first, "; ".join([who, steps, *more]))


def _groups(task: Mixture, trace: Trace) -> tuple[Entry, ...]:
    """Return the groups after the last round, since when they are those, and where their means are."""
    if trace.rounds == 0:
        return ()
    models, labels = trace.models[-1], trace.assignments
    if trace.models.ndim == 3:
        models, labels = models[None], labels[:, None]
    right = [is_true(end, task.labels) for end in labels[-1]]
    counts = {len(np.unique(end)) for end in labels[-1]}
    found = found_words(labels, task.labels)
    if trace.errors is None:
        return (entry("Groups", found),)
    means = np.stack([group_averages(one, end) for one, end in zip(models, labels[-1], strict=True)])
    distances = np.linalg.norm(means[:, :, None] - task.optima, axis=-1)
    away = float(distances.min(axis=-1).max())
    where = "the optima" if all(right) else "the nearest optimum"
    if all(right):
        away = float(distances[:, np.arange(task.clients), task.labels].max())
    plural = "means end" if max(counts) > 1 else "its mean ends"
    return (entry("Groups", f"{found}; {plural} within {short(away)} of {where}"),)
