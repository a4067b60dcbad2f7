"""The page of SoFL: the single clustering, the resulting groups, and theorems about both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.algorithms.cfl import STATIONARY, mean_and_largest
from clusterproof.algorithms.self_organising_map import decayed
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, all_met
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.pages.facts import Facts, Next, Result, Told
from clusterproof.theory.pages.grouped import rest_facts
from clusterproof.theory.pages.judging import Theorem, judge_all, judged_events
from clusterproof.theory.pages.measured import error_facts, group_facts, run_facts, task_facts
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.papers.sofl.elbow import ALLOWED, COUNTS
from clusterproof.theory.runs.groups import ClusteredRun

ABOUT = 0.1
"""Largest difference between mean cosines for which the page says "about the same"."""

FEWEST_DIVERGING = 60
"""Number of updates after which the schedule ``robbins-monro`` has halved the learning rate."""

OFF = "distance of a model from what is stated"


def _off(run: ClusteredRun, *, printed: bool) -> tuple[float, float]:
    """Return the distance between a model and the result of line 30 for its group, and the share of the group."""
    furthest, share = 0.0, 1.0
    for one, start in enumerate(run.when):
        for number in range(run.rounds if start is None else start, run.rounds):
            groups, sent = run.labels[number, one], run.received[number, one] + run.updates(number, one)
            for group in np.unique(groups):
                members = groups == group
                stated = sent[members].sum(axis=0) / (len(groups) if printed else int(members.sum()))
                away = float(np.abs(run.after[number, one][members] - stated).max())
                if away > furthest:
                    furthest, share = away, float(members.mean())
    return furthest, share


def _clustered(run: ClusteredRun) -> Iterator[Hypothesis]:
    yield from run.exact_needs()
    yield Hypothesis("clusterings", ">", 0, sum(number is not None for number in run.when))


def _clustered_by_its_rounds(run: ClusteredRun) -> Iterator[Hypothesis]:
    return run.right_rounds(_clustered(run))


def _line_30(run: ClusteredRun) -> Outcome:
    """Compare the models with line 30 as printed, where the weights n_m / n refer to the data of all clients."""
    furthest, share = _off(run, printed=True)
    holds = furthest <= 10 * ROUNDING * run.size
    return Outcome(
        "holds" if holds else "is broken",
        quantity=OFF,
        measured=furthest,
        allowed=0.0,
        constants={"share of the group": share},
        reason="one group" if holds else "weights that do not sum to 1",
    )


def _as_meant(run: ClusteredRun) -> Outcome:
    """Compare each group's model with the mean of its clients' models. They are equal in rounds of the algorithm."""
    furthest, _ = _off(run, printed=False)
    if furthest <= 10 * ROUNDING * run.size:
        return Outcome("holds", quantity=OFF, measured=furthest, allowed=0.0, reason="means of the groups")
    rounds = Hypothesis("the rounds of its settings", "=", True, False)
    return Outcome("does not apply", hypotheses=(rounds,), constants={"distance of a round": furthest})


def _stationary(run: ClusteredRun) -> Iterator[Hypothesis]:
    clustered = Hypothesis("clusterings", ">", 0, sum(number is not None for number in run.when[:1]))
    needs = tuple(run.right_rounds((run.option("trigger", "stationary"), *run.exact_needs(), clustered)))
    yield from needs
    if all_met(needs) and run.first is not None:
        mean, largest = mean_and_largest(run.updates(run.first, 0))
        yield Hypothesis("mean update", "<", float(STATIONARY * largest), float(mean), "0.1 of the largest")


def _condition(run: ClusteredRun) -> Outcome:
    """Evaluate conditions (a) and (b) of the claim in the clustering round."""
    assert run.first is not None
    mean, largest = mean_and_largest(run.updates(run.first, 0))
    return Outcome(
        "says nothing",
        quantity="mean update by the largest",
        measured=mean / largest,
        allowed=STATIONARY,
        constants={"round": run.first + 1},
        reason="condition (b) is always met",
    )


def _count_needs(run: ClusteredRun) -> Iterator[Hypothesis]:
    algorithm, sizes = run.algorithm, np.bincount(run.task.labels)

    def known() -> Iterator[Hypothesis]:
        yield run.option("cluster_count", "silhouette")
        exact = tuple(run.exact_needs())
        yield from exact
        yield Hypothesis("clusterings", "=", len(run.when), sum(number is not None for number in run.when))
        yield Hypothesis("clients", "=", 24, run.task.clients)
        equal = len(sizes) in COUNTS and int(np.ptp(sizes)) == 0
        yield Hypothesis("1, 2, 4 or 8 equal clusters", "=", True, equal)
        yield Hypothesis("grid", "=", 5, algorithm.grid)
        yield Hypothesis("--initialisation", "=", "sample", algorithm.initialisation)
        yield Hypothesis("--schedule", "=", "as-printed", algorithm.schedule)
        if all_met(exact):
            inside, across = run.cosines
            supposed = 0.8 if len(sizes) > 1 else 0.1
            yield Hypothesis("mean cosine in a cluster", "=", supposed, inside, room=ABOUT / supposed)
            yield Hypothesis("size of the mean cosine across", "<=", ABOUT, abs(across))

    return run.right_rounds(known())


def _count(run: ClusteredRun) -> Outcome:
    """Compare the number of groups with ``sofl/guarded-count``, if the updates satisfy its hypotheses."""
    wrong = sum(len(np.unique(groups)) != run.task.clusters for groups in run.labels[-1])
    return judged_events((wrong, wrong), runs=len(run.labels[-1]), rate=ALLOWED)


def _endless(run: ClusteredRun) -> Iterator[Hypothesis]:
    yield Hypothesis("updates without end", "=", True, False)


def _learning_rate(run: ClusteredRun) -> Mapping[str, Value]:
    algorithm = run.algorithm
    end = decayed(algorithm.learning_rate, algorithm.updates, algorithm.updates, algorithm.schedule)
    return {"updates": algorithm.updates, "last learning rate": float(end)}


def _diverging(run: ClusteredRun) -> Iterator[Hypothesis]:
    yield run.option("schedule", "robbins-monro")
    yield Hypothesis("60 eta_0", ">=", 1, float(FEWEST_DIVERGING * run.algorithm.learning_rate), room=0.0)


THEOREMS = (
    Theorem("sofl/algorithm-1-line-30", _line_30, _clustered_by_its_rounds),
    Theorem("sofl/aggregation-in-cluster", _as_meant, _clustered),
    Theorem("sofl/clustering-condition", _condition, _stationary),
    Theorem("sofl/theorem-1", Outcome("inconclusive"), _endless, _learning_rate),
    Theorem("sofl/theorem-1-robbins-monro", Outcome("inconclusive", reason="a mean over orders"), _diverging),
    Theorem("sofl/guarded-count", _count, _count_needs),
)


def self_organising_facts(run: ClusteredRun) -> Facts:
    """Return the facts of a run of SoFL."""
    elbow = run.algorithm.cluster_count == "elbow"
    remedy = f"--pretraining {2 * max(run.algorithm.pretraining, 10)}"
    groups = group_facts(run, "--cluster-count silhouette" if elbow else remedy)
    results: list[Result] = [groups, *_clustering(run)]
    error = error_facts(run, "distance of the worst client from its cluster's optimum")
    results += [] if error is None else [error]
    theorems, others = judge_all(THEOREMS, run)
    option = Next("run sofl", "another number of groups")
    if not elbow:
        option = Next("run sofl --cluster-count elbow", "the number as published")
    commands = [option, Next("check sofl/elbow-exact-winners", "where that number is wrong")]
    if run.quadratics is None:
        commands = [Next("run sofl", "its updates on quadratics")]
    facts = (*results, *rest_facts(run))
    return Facts(task_facts(run), run_facts(run), facts, theorems, others, tuple(commands))


def _clustering(run: ClusteredRun) -> list[Result]:
    """Return facts about the cosines in the clustering round of the first run."""
    if run.first is None or run.moves is None:
        return []
    cosines = cosine_similarities(run.updates(run.first, 0))
    same = run.task.labels[:, None] == run.task.labels
    known: dict[str, Value] = {"round": run.first + 1, "least cosine inside": float(cosines[same].min())}
    if same.all():
        return [Told("the clustering of one cluster", known)]
    return [Told("the clustering", known | {"largest cosine across": float(cosines[~same].max())})]
