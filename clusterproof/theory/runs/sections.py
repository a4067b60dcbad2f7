"""The entries Task, Run and Error of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.runs.bounded import FEWEST_RUNS
from clusterproof.theory.runs.page import Entry, Page, entry
from clusterproof.theory.runs.picture import ErrorPicture, caption_of, error_curve, start_curve

TASKS = {
    "regression": "linear regression",
    "quadratic": "quadratics",
    "noisy-quadratic": "noisy quadratics",
    "logistic": "logistic regression",
    "log-cosh": "log-cosh losses",
    "two-point": "two-point losses",
}
"""Names of the tasks in a title."""

MOST_SIZES = 5
"""Clusters up to which each one's size is written."""

REMEDY = "; --restarts 10, --least-share 0.1"
"""Of a lost cluster."""

FOUND = {1: "the cluster", 2: "both clusters"}

DATA = {"fresh": "new samples per client and round", "fixed": "fixed samples per client"}


def title(trace: Trace) -> str:
    """Return the title of a page: algorithm and kind of task."""
    known = "known" if trace.errors is not None else "unknown"
    return f"{trace.settings['algorithm']['algorithm']} on {kind(trace)} with {known} optima"


def kind(trace: Trace) -> str:
    """Return the kind of a run's task."""
    task = str(trace.settings["task"]["task"])
    return TASKS.get(task, task)


def replicated(values: np.ndarray, trace: Trace) -> np.ndarray:
    """Return a record of the run with an axis of replicates after that of the rounds."""
    return values if trace.models.ndim == 4 else values[:, None]


def sizes_words(task: Mixture) -> str:
    """Return the sizes of the clusters."""
    sizes = np.bincount(task.labels)
    clients, clusters = len(task.labels), len(sizes)
    if clusters == 1:
        return f"1 cluster of m = {clients} clients"
    names = [str(size) for size in sizes]
    each = f": {', '.join(names[:-1])} and {names[-1]}" if clusters <= MOST_SIZES else ""
    return f"{clusters} clusters{each} of m = {clients} clients"


def task_entry(task: Mixture) -> Entry:
    """Return the entry Task: sizes, data, and optima, curvatures and variances where they are known."""
    sizes = np.bincount(task.labels)
    clusters = len(sizes)
    share = f" (smallest share l = {sizes.min() / len(task.labels):.3g})" if clusters > 1 else ""
    lines = [f"{sizes_words(task)}{share}"]
    parts = [f"d = {task.dimension}"]
    if isinstance(task, RegressionMixture):
        exact = task.data == "population"
        parts.append("exact losses and gradients" if exact else f"n' = {task.samples} {DATA[task.data]}")
        parts.append(f"noise {float(task.noise):.4g}")
    lines.append(", ".join(parts))
    if not hasattr(task, "optima"):
        return entry("Task", *lines)
    norms = f"norms <= {np.linalg.norm(task.optima, axis=-1).max():.3g}"
    apart = f"optima >= Delta = {task.separation:.4g} apart, {norms}" if clusters > 1 else f"optimum: {norms}"
    lines.append(f"{apart}; L = {task.smoothness:.4g}, mu = {task.strong_convexity:.4g}")
    if isinstance(task, RegressionMixture) and task.data != "population":
        loss, gradient = variances(task)
        lines.append(f"variance at the optimum: loss sigma^2 = {loss:.3g}, gradient v^2 = {gradient:.3g}")
    return entry("Task", *lines)


def variances(task: RegressionMixture) -> tuple[float, float]:
    """Return sigma^2 and v^2 of one row at the clusters' optima, the largest of them."""
    pairs = list(enumerate(task.optima))
    loss = max(float(task.loss_variance(optimum, cluster)) for cluster, optimum in pairs)
    return loss, max(float(task.gradient_variance(optimum, cluster)) for cluster, optimum in pairs)


def settings_line(task: Mixture, trace: Trace) -> str:
    """Return the settings of a run of CFL-MGD or IFCA, its rounds and its replicates."""
    algorithm: Any = dynamics_of(trace)
    name = trace.settings["algorithm"]["algorithm"]
    parts = [step_words(algorithm.step_size * task.smoothness)]
    if name != "ifca":
        parts.append(f"momentum {algorithm.momentum:.4g}")
    if algorithm.averaging == "model":
        steps = algorithm.local_steps
        parts.append(f"models averaged after {steps} local step{'s' * (steps != 1)}")
    elif name == "ifca":
        parts.append("gradients averaged")
    if algorithm.averaging == "gradient" and algorithm.normalisation != "clients":
        parts.append(f"divided by the {algorithm.normalisation.replace('cluster', 'members')}")
    for value, words in (
        (algorithm.momentum_owner, "clients' momentum"),
        (algorithm.update_order, "delayed gradients"),
    ):
        if value in ("client", "as-printed"):
            parts.append(words)
    if algorithm.reset_momentum:
        parts.append("reset every round")
    if algorithm.participation < 1:
        parts.append(f"{100 * algorithm.participation:.3g} % of the clients a round")
    return ", ".join([*parts, rounds_words(trace), runs_words(trace)])


def step_words(scaled: float) -> str:
    """Write a step size in units of 1/L."""
    return "step 1/L" if abs(scaled - 1) <= 1e-9 else f"step {scaled:.4g}/L"


def descent_words(algorithm: Any, smoothness: float) -> str:
    """Write the step size, in units of 1/L, and the number of local steps."""
    step = step_words(algorithm.step_size * smoothness)
    local_steps = getattr(algorithm, "local_steps", 1)
    return step if local_steps == 1 else f"{local_steps} local steps {step.removeprefix('step ')}"


def rounds_words(trace: Trace) -> str:
    """Write the number of rounds."""
    return f"{trace.rounds} round{'s' * (trace.rounds != 1)}"


def runs_words(trace: Trace) -> str:
    """Write the number of replicates, and whether they start from the same models."""
    if trace.models.ndim == 3 or trace.models.shape[1] == 1:
        return "1 run"
    start = "one start" if (trace.models[0] == trace.models[0][0]).all() else "starts of their own"
    return f"{trace.models.shape[1]} runs from {start}"


def choices_lines(task: Mixture, trace: Trace) -> list[str]:
    """Say which clusters were found, how many choices were wrong, and how probable one is at the start.

    A cluster is lost in a run where at most half of its clients choose its model in the end.
    """
    last = trace.last_assignments.reshape(-1, task.clients)
    took_part = trace.assignments >= 0
    wrong = int((took_part & (trace.assignments != trace.labels)).sum())
    found: dict[int, str] = {}
    for cluster in range(task.clusters):
        chosen = last[:, trace.labels == cluster]
        known = (chosen >= 0).sum(axis=1)
        lost = (known > 0) & (2 * (chosen == cluster).sum(axis=1) <= known)
        if lost.any():
            others = chosen[lost]
            counts = np.bincount(others[others >= 0], minlength=task.clusters)
            counts[cluster] = 0
            number, runs = int(lost.sum()), len(last)
            runs_lost = "" if number == runs else f" in {number} of {runs} runs"
            found[cluster + 1] = (
                f"cluster {cluster + 1} ({chosen.shape[1]} clients) lost{runs_lost}: they chose model "
                f"{int(np.argmax(counts)) + 1}"
            )
    total = int(took_part.sum())
    of_all = f"{wrong} of {_large(total)} choices"
    choices = f"{of_all} of a cluster wrong"
    if len(found) > 1:
        lines = [f"clusters {', '.join(map(str, found))} lost in some of the runs{REMEDY}; {of_all} wrong"]
    elif found:
        lines = [f"{words}{REMEDY}; {of_all} wrong" for words in found.values()]
    elif trace.rounds > 0 and (last >= 0).all():
        lines = [f"{FOUND.get(task.clusters, f'all {task.clusters} clusters')} found; {choices}"]
    else:
        lines = [choices]
    if isinstance(task, RegressionMixture) and task.data == "fresh":
        first = trace.models[0].reshape(-1, task.clusters, task.dimension)[0]
        chances = [task.misclassification_probability(first, p).sum() for p in range(task.clusters)]
        largest = min(1.0, float(max(chances)))
        size = "below 1e-300" if largest < 1e-300 else f"at most {largest:.2g}"
        lines.append(f"(probability of a wrong choice at the start: {size})")
    return lines


def error_entry(trace: Trace, distance: str = "") -> Entry:
    """Return the entry Error: the largest distance of a model from its optimum, over the replicates.

    ``distance`` says of what from what, where it is not that.
    """
    assert trace.errors is not None
    largest = replicated(trace.errors, trace).max(axis=-1)
    with np.errstate(all="ignore"):
        first, last = (float(np.median(largest[at])) for at in (0, -1))
    runs = largest.shape[1]
    spread = ""
    if runs >= FEWEST_RUNS:
        spread = f" (median; 95 % of the runs below {np.quantile(largest[-1], 0.95):.3g})"
    elif runs > 1:
        spread = f" (median; largest {largest[-1].max():.3g})"
    model = "a model from its optimum" if trace.errors.shape[-1] > 1 else "the model from its optimum"
    return entry(
        "Error",
        f"{distance or f'largest distance of {model}'}: {first:.3g} at the start,",
        f"{last:.3g} after round {trace.rounds}{spread}",
    )


def error_picture(trace: Trace, page: Page) -> ErrorPicture:
    """Return the picture of a page without one of its own: the largest error of a model by round."""
    errors = replicated(np.asarray(trace.errors), trace)  # (rounds + 1, R, models)
    lines = [line for one in page.sections[0][1] if one.label in ("Task", "Run") for line in one.lines]
    model = "a model from its optimum" if errors.shape[-1] > 1 else "the model from its optimum"
    quantity, largest = f"largest distance of {model}", errors.max(axis=-1)
    curves = (error_curve(largest), start_curve(largest))
    return ErrorPicture(page.title, quantity, caption_of(trace, lines), curves)


def _large(count: int) -> str:
    return f"{count / 1e6:.3g} million" if count >= 1e6 else str(count)
