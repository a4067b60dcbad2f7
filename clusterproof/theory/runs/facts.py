"""The entries of a page that say what the run was: Task, Run, Model, Groups, Error; and the picture of its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterproof.running import purity
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.papers.cfl_mgd.on_runs import variances
from clusterproof.theory.runs.page import Entry, Page, entry
from clusterproof.theory.runs.picture import Curve, ErrorPicture
from clusterproof.theory.runs.run import AT_REST, FEWEST_RUNS, MOVED, Run
from clusterproof.theory.runs.theorem import Said, says

MOST_SIZES = 5
"""Clusters up to which each one's size is written."""

MOST_NAMED = 3
"""Pairs of merged clusters that are named."""

DATA = {"fresh": "new samples per client and round", "fixed": "fixed samples per client"}


def title(run: Run) -> str:
    """Return the title of a page: algorithm and kind of task."""
    return f"{run.name} on {run.kind} with {'known' if run.trace.errors is not None else 'unknown'} optima"


def sizes_words(task: Mixture) -> str:
    """Return the sizes of the clusters."""
    names = [str(size) for size in np.bincount(task.labels)]
    if len(names) == 1:
        return f"1 cluster of m = {len(task.labels)} clients"
    each = f": {', '.join(names[:-1])} and {names[-1]}" if len(names) <= MOST_SIZES else ""
    return f"{len(names)} clusters{each} of m = {len(task.labels)} clients"


def task_entry(task: Mixture) -> Entry:
    """Return the entry Task: sizes, data, and optima, curvatures and variances where they are known."""
    sizes = np.bincount(task.labels)
    several = len(sizes) > 1
    share = f" (smallest share l = {sizes.min() / len(task.labels):.3g})" if several else ""
    parts = [f"d = {task.dimension}"]
    if isinstance(task, RegressionMixture):
        exact = "exact losses and gradients"
        parts.append(exact if task.data == "population" else f"n' = {task.samples} {DATA[task.data]}")
        parts.append(f"noise {float(task.noise):.4g}")
    lines = [f"{sizes_words(task)}{share}", ", ".join(parts)]
    if not hasattr(task, "optima"):
        return entry("Task", *lines)
    norms = f"norms <= {np.linalg.norm(task.optima, axis=-1).max():.3g}"
    apart = f"optima >= Delta = {task.separation:.4g} apart, {norms}" if several else f"optimum: {norms}"
    lines.append(f"{apart}; L = {task.smoothness:.4g}, mu = {task.strong_convexity:.4g}")
    if isinstance(task, RegressionMixture) and task.data != "population":
        loss, gradient = variances(task)
        lines.append(f"variance at the optimum: loss sigma^2 = {loss:.3g}, gradient v^2 = {gradient:.3g}")
    return entry("Task", *lines)


def step_words(scaled: float) -> str:
    """Write a step size in units of 1/L."""
    return "step 1/L" if abs(scaled - 1) <= 1e-9 else f"step {scaled:.4g}/L"


def descent_words(algorithm: Any, smoothness: float, local_steps: int | None = None) -> str:
    """Write the step size, in units of 1/L, and the number of local steps."""
    step = step_words(algorithm.step_size * smoothness)
    count = getattr(algorithm, "local_steps", 1) if local_steps is None else local_steps
    return step if count == 1 else f"{count} local steps {step.removeprefix('step ')}"


def runs_words(run: Run) -> str:
    """Write the number of rounds, and that of replicates, and whether these start from the same models."""
    start = "one start" if run.same_start else "starts of their own"
    return f"{many(run.rounds, 'round')}, {'1 run' if run.runs == 1 else f'{run.runs} runs from {start}'}"


def settings_words(run: Run) -> str:
    """Write every parameter of the algorithm, as the class states it where the user does not."""
    given = run.trace.settings["algorithm"].items()
    return ", ".join(f"{name} = {value}" for name, value in given if name != "algorithm")


def share_words(algorithm: Any) -> list[str]:
    """Write the share of clients in a round, where that is not all of them."""
    share = getattr(algorithm, "participation", 1.0)
    return [f"{100 * share:.3g} % of the clients a round"] if share < 1 else []


def range_words(values: np.ndarray) -> str:
    """Write the least and the largest number, or one where they look the same."""
    low, high = (short(float(value)) for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def error_entry(run: Run, distance: str = "", errors: np.ndarray | None = None) -> list[Entry]:
    """Return the entry Error, where errors are known: the largest distance of a model from its optimum.

    ``distance`` says of what from what, and ``errors`` are those, where they are not the trace's.
    """
    if run.trace.errors is None:
        return []
    errors = run.errors if errors is None else errors
    largest, spread = errors.max(axis=-1), ""
    with np.errstate(all="ignore"):
        first, last = (float(np.median(largest[at])) for at in (0, -1))
    if run.runs >= FEWEST_RUNS:
        spread = f" (median; 95 % of the runs below {np.quantile(largest[-1], 0.95):.3g})"
    elif run.runs > 1:
        spread = f" (median; largest {largest[-1].max():.3g})"
    distance = distance or f"largest distance of {_a_model(errors)}"
    lines = f"{distance}: {first:.3g} at the start,", f"{last:.3g} after round {run.rounds}{spread}"
    return [entry("Error", *lines)]


FEWEST_ROUNDS = 3
"""A factor is measured over at least so many rounds."""


def factor_entry(distances: np.ndarray, least: float, towards: str, limit: float | None) -> Entry:
    """Return the entry Factor of runs without noise: over the last half of the rounds above rounding.

    Parameters
    ----------
    distances
        From where they converge, (rounds + 1, R).
    least
        Length up to which they are rounding.
    towards
        Where that is.
    limit
        The exact factor after many rounds; None where it is not known.
    """
    exact = "" if limit is None else f"(limit, exactly: {limit:.4f})"
    largest = distances.max(axis=1)
    if not np.isfinite(largest).all():
        return entry("Factor", "none: the models overflow", exact)
    end = rounds_above(largest, least)
    start = end // 2
    if end - start < FEWEST_ROUNDS:
        return entry("Factor", "none: too few rounds", exact)
    value = float((largest[end] / largest[start]) ** (1 / (end - start)))
    grows = "; it grows" if value > 1 else ""
    return entry("Factor", f"{value:.4f} a round {towards}, rounds {start} to {end}{grows}", exact)


def rounds_above(values: np.ndarray, least: float) -> int:
    """Return the round before that after which values (rounds + 1,) are first below ``least``, else the last one."""
    below = np.flatnonzero(~(values >= least))
    return int(below[0]) - 1 if len(below) else len(values) - 1


def _a_model(errors: np.ndarray) -> str:
    return f"{'a' if errors.shape[-1] > 1 else 'the'} model from its optimum"


def error_picture(run: Run, page: Page) -> ErrorPicture:
    """Return the picture of a page without one of its own: the largest error of a model by round."""
    lines = [line for one in page.sections[0][1] if one.label in ("Task", "Run") for line in one.lines]
    largest = run.errors.max(axis=-1)
    curves, quantity = (
        (error_curve(largest), start_curve(largest)),
        f"largest distance of {_a_model(run.errors)}",
    )
    return ErrorPicture(page.title, quantity, caption_of(run, lines), curves)


def error_curve(errors: np.ndarray) -> Curve:
    """Return the median over the runs of errors (rounds + 1, runs), and where 95 % are; all of fewer than 20 runs."""
    runs = errors.shape[1]
    with np.errstate(all="ignore"):  # a diverged run
        median = np.median(errors, axis=1)
        if runs == 1:
            return Curve("run", "1 run", median)
        if runs < FEWEST_RUNS:
            band = errors.min(axis=1), errors.max(axis=1)
            return Curve("run", f"{runs} runs: median, least and largest", median, band)
        low, high = np.quantile(errors, [0.025, 0.975], axis=1)
    return Curve("run", f"{runs} runs: median, 95 % band", median, (low, high))


def start_curve(errors: np.ndarray) -> Curve:
    """Return the level of the error at the start, of errors (rounds + 1, runs)."""
    return Curve("start", "error at the start", np.full(len(errors), np.median(errors[0])))


def caption_of(run: Run, lines: Sequence[str]) -> str:
    """Join lines of a page, and add the seed, and the number of runs if no line has it."""
    number, told = many(run.runs, "run"), "; ".join(line.rstrip(".,;") for line in lines)
    return f"{told}{'' if f' {number}' in told else f'. R = {number}'}, seed {run.trace.settings['seed']}."


def comes_to_rest(run: Run, distances: np.ndarray, point: str) -> Said:
    """Say whether a run whose rounds are the stated ones is at rest, or comes nearer.

    Parameters
    ----------
    run
        The run.
    distances
        From the fixed point, since its rounds are the stated ones, (T, k).
    point
        Name of that.
    """
    end, number = float(distances[-1].max()), run.rounds
    where = f"{short(end)} from {point} after round {number}"
    if end <= AT_REST * run.size:
        return says("holds", f"at rest, {where}", end, 0.0)
    nearer = -float(np.diff(distances, axis=0).min(initial=0.0))
    if nearer > MOVED * run.size and end < distances[0].max():
        words = f"every round is the stated one; {short(end)} from its rest after round {number}"
        return says("holds", words, end, 0.0)
    return says("inconclusive", f"{where}; more --rounds", end, 0.0)


# ---- the groups of clients that a run finds: how many, which, and since when


def partition(labels: np.ndarray) -> np.ndarray:
    """Return the first client of every client's group, (m,): equal for equal groups, however they are numbered."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def settled(labels: np.ndarray) -> int:
    """Return the first round after which the groups (rounds, R, m) never change, of any run."""
    parts = np.apply_along_axis(partition, -1, labels)
    changed = np.flatnonzero((parts[1:] != parts[:-1]).any(axis=(1, 2)))
    return int(changed[-1]) + 2 if len(changed) else 1


def is_true(labels: np.ndarray, truth: np.ndarray) -> bool:
    """Whether groups (m,) are the true ones, and every client has one."""
    return bool((labels >= 0).all() and (partition(labels) == partition(truth)).all())


def found_words(labels: np.ndarray, truth: np.ndarray) -> str:
    """Say how many groups (rounds, R, m) there are in the end, whether they are the true ones, and since when."""
    ends, since = labels[-1], settled(labels)
    right = [is_true(end, truth) for end in ends]
    counts = sorted({len(np.unique(end[end >= 0])) for end in ends})
    if len(ends) == 1:
        verdict = "the true ones" if right[0] else f"not the true {len(np.unique(truth))}"
        return f"{counts[0]}, {verdict}, from round {since}"
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{number}, the true ones in {sum(right)} of {len(ends)} runs, all from round {since}"


def groups_entry(run: Run, *more: str) -> Entry:
    """Return the entry Groups: those found, their purity, and further sentences."""
    labels, truth = run.labels, run.trace.labels
    if not len(labels):
        return entry("Groups", "no round was run", *more)
    purities = np.array([purity(end, truth) for end in labels[-1]])
    measured = f"purity {short(float(np.median(purities)))}"
    if len(purities) >= FEWEST_RUNS or np.ptp(purities) > 0:
        measured += f" (median; least {short(float(purities.min()))})"
    absent = int((labels[-1] < 0).any(axis=0).sum())
    never = f"; {many(absent, 'client')} never took part" if absent else ""
    return entry("Groups", f"{found_words(labels, truth)}; {measured}{never}", *more)


def merged_words(run: Run, remedy: str) -> str:
    """Name true clusters that share a group after the last round of the first run in which some do, with a remedy."""
    truth = run.trace.labels
    for end in run.labels[-1:].reshape(-1, len(truth)):
        members = [end[truth == cluster] for cluster in np.unique(truth)]
        if (end < 0).any():
            continue
        usual = [int(np.bincount(groups).argmax()) for groups in members]  # that of most of its clients
        pairs = [(usual.index(group), other) for other, group in enumerate(usual) if group in usual[:other]]
        if pairs:
            names = [f"clusters {one + 1} and {other + 1} are in one group" for one, other in pairs]
            return "; ".join([*names[:MOST_NAMED], remedy])
    return ""
