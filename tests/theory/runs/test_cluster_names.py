"""Clusters have no names: a run from the same models in another order has the same page, and rounding has no ratio."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, IFCA, ProxSkip, Scaffold
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.compare import compare
from clusterproof.theory.pages.facts import Choices

TASK = RegressionMixture.random(clusters=3, clients=9, dimension=3, samples=200, seed=1)


@pytest.mark.parametrize("algorithm", [IFCA(step_size=0.5), CFLMGD(step_size=0.5, momentum=0.3)])
@pytest.mark.parametrize("replicates", [None, 3])
def test_the_order_of_the_starts_changes_no_page(algorithm: Any, replicates: int | None) -> None:
    starts = TASK.optima + 0.05 * np.random.default_rng(2).standard_normal(TASK.optima.shape)
    options: dict[str, Any] = {"rounds": 12, "seed": 3, "replicates": replicates}
    pages = []
    for order in itertools.permutations(range(3)):
        trace = run(algorithm, TASK, initial=starts[list(order)], **options)
        pages.append(str(compare(TASK, trace)))
        choices = compare(TASK, trace).facts.result(Choices)
        assert (choices.found, choices.wrong, choices.lost) == (True, 0, ()), order
    assert len(set(pages)) == 1


def test_a_cluster_without_a_model_is_lost_in_any_order() -> None:
    """Two models start at their clusters' optima, the third where nobody chooses it."""
    starts = np.array([*TASK.optima[:2], np.full(3, 50.0)])
    for order in itertools.permutations(range(3)):
        trace = run(IFCA(step_size=0.5), TASK, rounds=5, seed=3, initial=starts[list(order)])
        (lost,) = compare(TASK, trace).facts.result(Choices).lost
        assert lost.cluster == 3
        assert lost.clients == np.sum(TASK.labels == 2)


def test_clients_that_end_in_models_of_their_own_are_found_wherever_these_started() -> None:
    """All models start about the middle: which is nearest to which optimum means little."""
    found = 0
    for seed in range(12):
        middle = 0.3 * np.random.default_rng(seed).standard_normal(TASK.optima.shape)
        trace = run(
            IFCA(step_size=0.2), TASK, rounds=20, seed=seed, initial=TASK.optima.mean(axis=0) + middle
        )
        one = compare(TASK, trace).facts.result(Choices)
        if trace.adjusted_rand_index == 1:
            found += 1
            assert (one.found, one.lost) == (True, ()), seed
        else:
            assert not one.found
    assert found >= 2


@pytest.mark.parametrize(
    "algorithm", [IFCA(step_size=0.5), Scaffold(step_size=0.1, local_steps=2), ProxSkip(step_size=0.5)]
)
def test_what_is_rounding_has_no_ratio(algorithm: Any) -> None:
    """At the end of a long run without noise the bound is below what rounding leaves of the error."""
    exact: Any = replace(TASK, data="population")
    if not isinstance(algorithm, IFCA):
        exact = QuadraticMixture.random(
            clusters=1, clients=5, dimension=3, condition_number=2.0, spread=1.0, seed=1
        )
    starts = exact.optima[: algorithm.model_count(exact)] + 0.01
    page = compare(exact, run(algorithm, exact, rounds=600, seed=3, initial=starts))
    below = [
        one
        for one in page.facts.theorems
        if one.outcome == "holds" and one.allowed is not None and (one.measured or 0.0) > one.allowed
    ]
    assert below
    assert {(one.reason, one.ratio) for one in below} == {("rounding", None)}
