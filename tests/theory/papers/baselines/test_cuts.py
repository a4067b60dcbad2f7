"""CFL's clusters from round to round, and the orders, updates and tasks that the baselines' claims draw."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides

from clusterproof.algorithms import CFL
from clusterproof.theory.papers.baselines import averaging as resting
from clusterproof.theory.papers.baselines import cfl as cfl_cut


def test_clusters_that_do_not_refine_those_before_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice a client moves from a cluster to another one that stays; at the end the clusters are the true ones."""
    labels, true = np.repeat([0, 1, 2], 3), CFL.step
    script = {1: [0, 0, 1, 1, 1, 1, 1, 1, 1], 2: [0, 0, 1, 1, 1, 1, 2, 2, 2], 3: [0, 0, 0, 1, 1, 1, 2, 2, 2]}
    rounds = 0

    def scripted(self: CFL, state: Any, *rest: Any) -> Any:
        nonlocal rounds
        rounds += 1
        return replace(true(self, state, *rest), assignments=np.array(script[min(rounds, 3)]))

    monkeypatch.setattr(CFL, "step", scripted)
    found = cfl_cut.client_ids(labels)
    assert_sides(found["refines"], [(1, 0)])
    assert_sides(found["finds"], [(1, 1)])
    script[3] = script[2]
    rounds = 0
    found = cfl_cut.client_ids(labels)
    assert_sides(found["refines"], [(0, 0)])
    assert found["finds"].pairs[0][0] < 0.9


def test_drawn_orders_and_updates() -> None:
    seen = set()
    for seed in range(60):
        labels = cfl_cut.draw_labels(np.random.default_rng(seed)).tolist()
        assert cfl_cut.read_labels(labels).tolist() == labels
        updates = cfl_cut.draw_updates(np.random.default_rng(seed))
        assert cfl_cut.read_updates(updates.tolist()).tolist() == updates.tolist()
        seen |= {("labels", len(labels)), ("clients", len(updates)), ("dimension", updates.shape[1])}
        seen |= {("whole", bool((updates == np.round(updates)).all())), ("sorted", labels == sorted(labels))}
    drawn = [("labels", 3 * one) for one in (3, 4, 5)] + [("clients", one) for one in range(2, 9)]
    drawn += [("dimension", one) for one in range(1, 5)] + [
        ("whole", False),
        ("whole", True),
        ("sorted", False),
    ]
    assert seen == set(drawn)
    for wrong in ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2, 2], [[0, 1, 2]], [*range(6)] * 3):
        with pytest.raises(ValueError, match="three clients"):
            cfl_cut.read_labels(wrong)
    for rows in ([[1.0]], [[1.0]] * 9, [[1.0], [float("inf")]], [1.0, 2.0]):
        with pytest.raises(ValueError, match="two to eight"):
            cfl_cut.read_updates(rows)


def test_sizes_of_the_drawn_tasks() -> None:
    sizes, least = set(), 1.0
    for seed in range(120):
        task = resting.draw_task(np.random.default_rng(seed))
        sizes |= {("clients", task.clients), ("dimension", task.dimension), ("clusters", task.clusters)}
        least = min(least, float(np.linalg.eigvalsh(task.hessians).min()))
    drawn = [("clients", one) for one in range(1, 7)] + [("dimension", one) for one in range(1, 5)]
    assert sizes == {*drawn, ("clusters", 1)}
    assert 0.25 <= least < 0.3
