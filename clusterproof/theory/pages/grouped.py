"""Common parts of the pages of GL-CFL, CFL and SoFL: fixed points of groups on exact quadratics."""

from __future__ import annotations

from collections.abc import Iterator

from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.pages.facts import Rest, Result
from clusterproof.theory.pages.judging import Theorem
from clusterproof.theory.pages.measured import comes_to_rest
from clusterproof.theory.pages.personal import departure
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.runs.groups import GroupRun, is_true, settled
from clusterproof.theory.runs.run import AT_REST


def rest_facts(run: GroupRun) -> list[Result]:
    """Return the distances between final models and their groups' fixed points, or the first round that differs."""
    if run.moves is None or not run.rounds:
        return []
    if run.difference is not None:
        return departure(run.difference)
    distances, radius = run.rest
    return [Rest("the groups' fixed points", None, float(distances[-1].max()), AT_REST * run.size, radius)]


def usual_needs(run: GroupRun) -> Iterator[Hypothesis]:
    """Yield the hypotheses of a claim about the update of a client."""
    return run.right_rounds(run.exact_needs())


def _clustered_needs(run: GroupRun) -> Iterator[Hypothesis]:
    def known() -> Iterator[Hypothesis]:
        yield from run.exact_needs()
        yield Hypothesis("eta L", "<", 2, float(run.algorithm.step_size * run.client_smoothness))
        right = run.rounds > 0 and all(is_true(labels, run.trace.labels) for labels in run.labels[-1])
        yield Hypothesis("the true clusters", "=", True, right)

    return run.right_rounds(known())


def _clustered(run: GroupRun) -> Outcome:
    """Compare with ``baselines/clustered``: in correct clusters, each model is the fixed point of FedAvg."""
    largest = run.rest[0][settled(run.labels) - 1 :].max(axis=(1, 2))
    return comes_to_rest(run, largest[:, None])


IN_GROUPS = Theorem("baselines/clustered", _clustered, _clustered_needs)
