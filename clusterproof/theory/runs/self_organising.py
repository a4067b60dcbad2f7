"""The page of SoFL: its one clustering, the groups that it leaves, and what is stated of them."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import SoFL, Trace
from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.algorithms.cfl import STATIONARY, mean_and_largest
from clusterproof.algorithms.self_organising_map import decayed
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.sofl.elbow import ALLOWED, COUNTS
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.affine_rounds import exact_quadratics
from clusterproof.theory.runs.bounded import FEWEST_RUNS, counted, outcome_of
from clusterproof.theory.runs.group_rounds import GroupRun, group_run, rest_entry, usual_needs
from clusterproof.theory.runs.groups import groups_entry, merged_words
from clusterproof.theory.runs.hypotheses import refusal
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

ABOUT = 0.1
"""Mean cosines that differ by so much are about the same."""

FEWEST_DIVERGING = 60
"""Updates over which the rate of the schedule robbins-monro halves."""


def self_organising_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of SoFL."""
    algorithm = dynamics_of(trace)
    assert isinstance(algorithm, SoFL)
    run = group_run(algorithm, task, trace)
    when = clustering_rounds(run)
    facts = [sections.task_entry(task), _run_entry(algorithm, task, trace)]
    remedy = f"--pretraining {2 * max(algorithm.pretraining, 10)}"
    if algorithm.cluster_count == "elbow":
        remedy = "--cluster-count silhouette"
    facts.append(groups_entry(trace, *merged_words(trace, remedy)))
    facts += _clustering_entry(run, when)
    if trace.errors is not None:
        facts.append(sections.error_entry(trace, "largest distance from a cluster's optimum"))
    facts += rest_entry(run)
    named = [
        ("Line 30", line_30_on_run(run, when)),
        ("As meant", mean_on_run(run, when)),
        ("(a), (b)", condition_on_run(run, when)),
        ("Theorem 1", _theorem_1(run)),
        ("Repaired", _theorem_1_repaired(run)),
        ("Count", count_on_run(run, when)),
    ]
    shown = [entry(label, one.words) for label, one in named]
    theorems = tuple(one for _, one in named)
    return Page(sections.title(trace), (("", tuple(facts)), ("Theorems", (*shown, _next(run)))), theorems)


def _run_entry(algorithm: SoFL, task: Mixture, trace: Trace) -> Entry:
    parts = [algorithm.method, sections.descent_words(algorithm, task.smoothness)]
    if algorithm.proximal:
        parts.append(f"mu {short(algorithm.proximal)}")
    if algorithm.participation < 1:
        parts.append(f"{100 * algorithm.participation:.3g} % of the clients a round")
    parts += [sections.rounds_words(trace), sections.runs_words(trace)]
    rates = f"eta_0 {short(algorithm.learning_rate)}, sigma_0 {short(algorithm.radius)}, {algorithm.schedule}"
    side = algorithm.grid
    map_words = f"map {side} x {side}, {algorithm.updates} updates, {rates}; {algorithm.cluster_count}"
    return entry("Run", ", ".join(parts), map_words)


def clustering_rounds(run: GroupRun) -> list[int | None]:
    """Return the round of each run, counted from 0, in which the clients were clustered; None before it."""
    algorithm = run.algorithm
    found: list[int | None] = []
    for one in range(run.labels.shape[1]):
        apart = [len(np.unique(groups)) > 1 for groups in run.labels[:, one]]
        if True in apart:
            found.append(apart.index(True))
        elif algorithm.trigger == "round" and len(apart) > algorithm.pretraining:
            found.append(algorithm.pretraining)
        else:
            found.append(None)
    return found


def _clustering_entry(run: GroupRun, when: list[int | None]) -> list[Entry]:
    """Return the entry Updates: the cosines that the first run was clustered by."""
    number = when[0] if when else None
    if number is None or run.moves is None:
        return []
    updates, labels = run.updates(number, 0), run.task.labels
    cosines = cosine_similarities(updates)
    same = labels[:, None] == labels
    inside = cosines[same].min()
    words = f"round {number + 1}: cosine inside a cluster at least {inside:.3f}"
    if not same.all():
        words += f", across at most {cosines[~same].max():.3f}"
    return [entry("Updates", words)]


def line_30_on_run(run: GroupRun, when: list[int | None]) -> TheoremOnRun:
    """Compare the models with line 30 as printed, whose weights n_m / n are of the data of all clients."""
    return _aggregation(run, when, "sofl/algorithm-1-line-30", printed=True)


def mean_on_run(run: GroupRun, when: list[int | None]) -> TheoremOnRun:
    """Compare the models with the mean of the clients' models in each group."""
    return _aggregation(run, when, "sofl/aggregation-in-cluster", printed=False)


def _aggregation(run: GroupRun, when: list[int | None], claim: str, *, printed: bool) -> TheoremOnRun:
    rounds = [number for number in when if number is not None]
    needs = [*usual_needs(run), (bool(rounds), "a clustering", "none yet")]
    # line 30 is compared with the rounds as they are; that they are the mean is what its reading says
    unmet = [(needed, here) for met, needed, here in needs if not met]
    if unmet:
        words = f"does not apply: needs {unmet[0][0]}, here {unmet[0][1]}"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    if printed:
        refused = refusal(claim, needs, run)
        if refused is not None:
            return refused
    furthest, share = 0.0, 1.0
    for one, start in enumerate(when):
        if start is None:
            continue
        for number in range(start, len(run.labels)):
            sent = run.received[number, one] + run.updates(number, one)
            groups = run.labels[number, one]
            for group in np.unique(groups):
                members = groups == group
                total = len(groups) if printed else int(members.sum())
                stated = sent[members].sum(axis=0) / total
                away = float(np.abs(run.after[number, one][members] - stated).max())
                if away > furthest:
                    furthest, share = away, float(members.mean())
    if furthest <= 10 * ROUNDING * run.size:
        words = f"holds: a model is the mean of its group's, to {short(furthest)}"
        if printed:
            words = "holds: all clients are in one group, whose weights n_m/n sum to 1"
        return TheoremOnRun(claim, "holds", furthest, 0.0, words)
    if not printed:
        words = (
            f"does not apply: needs the rounds of {run.algorithm.name}, here a model is {short(furthest)} off"
        )
        return TheoremOnRun(claim, "does not apply", None, None, words)
    words = f"broken: its weights sum to {short(share)}, and its sum is {short(furthest)} from the model"
    return TheoremOnRun(claim, "broken", furthest, 0.0, words)


def condition_on_run(run: GroupRun, when: list[int | None]) -> TheoremOnRun:
    """Say what conditions (a) and (b) are worth in the round of the clustering."""
    claim, trigger = "sofl/clustering-condition", run.algorithm.trigger
    number = when[0] if when else None
    needs = [
        (trigger == "stationary", "--trigger stationary", trigger),
        *usual_needs(run),
        (number is not None, "a clustering", "none yet"),
    ]
    refused = refusal(claim, needs, run)
    if refused is not None:
        return refused
    assert number is not None
    mean, largest = mean_and_largest(run.updates(number, 0))
    share = mean / largest if largest > 0 else np.inf
    words = (
        f"says nothing by (b): delta_2 < 10 delta_1 = max |Delta w_i| always; (a), as a mean: {short(share)} < "
        f"{STATIONARY:g} in round {number + 1}"
    )
    return TheoremOnRun(claim, "says nothing", share, STATIONARY, words)


def count_on_run(run: GroupRun, when: list[int | None]) -> TheoremOnRun:
    """Compare the number of groups with ``sofl/guarded-count``, where the updates are such as it supposes."""
    claim, algorithm, task = "sofl/guarded-count", run.algorithm, run.task
    sizes = np.bincount(task.labels)
    usual = (algorithm.grid, algorithm.initialisation, algorithm.schedule) == (5, "sample", "as-printed")
    inside, across = _cosines(run, when)
    supposed = 0.8 if len(sizes) > 1 else 0.1
    alike = abs(inside - supposed) <= ABOUT and abs(across) <= ABOUT
    needs = [
        (algorithm.cluster_count == "silhouette", "--cluster-count silhouette", algorithm.cluster_count),
        *usual_needs(run),
        (bool(when) and None not in when, "a clustering", "none yet"),
        (len(task.labels) == 24, "24 clients", str(len(task.labels))),
        (len(sizes) in COUNTS and np.ptp(sizes) == 0, "1, 2, 4 or 8 equal clusters", str(len(sizes))),
        (usual, "a map of 5 x 5, from samples, as printed", "another"),
        (bool(alike), f"mean cosines {supposed:g} inside and 0 across", f"{inside:.2f}, {across:.2f}"),
    ]
    refused = refusal(claim, needs, run)
    if refused is not None:
        return refused
    found = [len(np.unique(groups)) for groups in run.labels[-1]]
    wrong, runs = sum(count != len(sizes) for count in found), len(found)
    outcome = outcome_of([(wrong, ALLOWED)], runs)
    if outcome == "holds" and runs < FEWEST_RUNS:
        outcome = "inconclusive"
    words = f"{outcome}: another number of groups in {counted(wrong, runs, ALLOWED)}"
    if outcome == "inconclusive":
        words += f"; --replicates {10 * runs}"
    return TheoremOnRun(claim, outcome, wrong / runs, ALLOWED, words)


def _cosines(run: GroupRun, when: list[int | None]) -> tuple[float, float]:
    """Return the mean cosine of two clients of a cluster, and of two clusters, at the clusterings; 0 of none."""
    if run.moves is None:
        return 0.0, 0.0
    same = run.task.labels[:, None] == run.task.labels
    pairs = ~np.eye(len(same), dtype=bool)
    found = [
        cosine_similarities(run.updates(number, one)) for one, number in enumerate(when) if number is not None
    ]
    inside, across = (
        [float(each[chosen].mean()) for each in found if chosen.any()] for chosen in (same & pairs, ~same)
    )
    return float(np.mean(inside or [0.0])), float(np.mean(across or [0.0]))


def _theorem_1(run: GroupRun) -> TheoremOnRun:
    algorithm = run.algorithm
    end = decayed(algorithm.learning_rate, algorithm.updates, algorithm.updates, algorithm.schedule)
    here = f"{algorithm.updates}, {short(float(end))}"
    words = f"does not apply: needs updates without end, eta -> 0, here {here}"
    return TheoremOnRun("sofl/theorem-1", "does not apply", None, None, words)


def _theorem_1_repaired(run: GroupRun) -> TheoremOnRun:
    claim, algorithm = "sofl/theorem-1-robbins-monro", run.algorithm
    if algorithm.schedule != "robbins-monro":
        words = f"does not apply: needs --schedule robbins-monro, here {algorithm.schedule}"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    least = FEWEST_DIVERGING * algorithm.learning_rate
    if least < 1:
        words = f"does not apply: needs 60 eta_0 P(X_c) >= 1, here 60 eta_0 = {short(least)}"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    words = "inconclusive: it bounds a mean over the orders of the updates, of which a run has one"
    return TheoremOnRun(claim, "inconclusive", None, None, words)


def _next(run: GroupRun) -> Entry:
    if exact_quadratics(run.task) is None:
        return entry("Next", "clusterproof run sofl   on quadratics: its updates, exactly")
    first = "clusterproof run sofl --cluster-count elbow   the count as published"
    if run.algorithm.cluster_count == "elbow":
        first = "clusterproof run sofl                         another count of groups"
    return entry("Next", first, "clusterproof check sofl/elbow-exact-winners   where that fails")
