"""Both sides of the claims on CFL's cuts, from their statements: all cuts, and merges in plain loops."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides, sides_at

from clusterproof.algorithms import CFL
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.baselines import cfl_cut


def across(cosines: np.ndarray, side: set[int]) -> float:
    return max(float(cosines[i, j]) for i in side for j in set(range(len(cosines))) - side)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_similarity_over_all_cuts(seed: int) -> None:
    stream = np.random.default_rng(seed)
    updates = stream.standard_normal((6, 2))
    unit = np.array([x / np.sqrt(sum(x**2)) for x in updates])
    cosines = unit @ unit.T
    sides = [set(one) for size in range(1, 6) for one in itertools.combinations(range(6), size)]
    least = min(across(cosines, side) for side in sides)
    assert_sides(sides_at("cfl/single-linkage", {"updates": updates}), [(least, least)])
    clusters = [{i} for i in range(6)]
    while len(clusters) > 2:
        x, y = max(
            itertools.combinations(clusters, 2),
            key=lambda pair: min(cosines[i, j] for i in pair[0] for j in pair[1]),
        )
        clusters = [one for one in clusters if one not in (x, y)] + [x | y]
    assert_sides(
        sides_at("cfl/complete-linkage", {"updates": updates}), [(across(cosines, clusters[0]), least)]
    )


def test_the_hypotheses_of_complete_linkage() -> None:
    angles = np.array([0.0, 1.0, 2.5, 2.5 + 1.2])
    updates = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    sides_at("cfl/complete-linkage", {"updates": updates})
    sides_at("cfl/complete-linkage", {"updates": updates[:2]})
    for changed, hypothesis in (
        (updates * [[1], [0], [1], [1]], "no update is 0"),
        (
            np.concatenate([updates, updates[:1] @ [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]]),
            "same similarity",
        ),
    ):
        with pytest.raises(Outside, match=hypothesis):
            sides_at("cfl/complete-linkage", {"updates": changed})
    sides_at("cfl/complete-linkage", {"updates": np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]])})


def test_positions_for_ids_by_hand() -> None:
    """Of 0, 2, 4 | 1, 3, 5, 6 cut in two, clients 0, 2, 3, 5 and 6 are listed wrongly."""
    assert_sides(sides_at("cfl/notebook-index", {"sides": "0101011", "cut": 2}), 5, zero=0)
    # 0 and 1 | 2, 3 are listed as 0 and 0 | 1, 2: client 2 alone is where it belongs
    assert_sides(sides_at("cfl/notebook-index", {"sides": "0111", "cut": 1}), 3, zero=0)
    # 1, 3 and 0, 2 | 4 are listed as 1, 3 and 0, 1 | 2
    assert_sides(sides_at("cfl/notebook-index", {"sides": "10101", "cut": 2}), 3, zero=0)
    for sides, cut in (("0101", 1), ("1111", 1), ("01110", 3)):
        with pytest.raises(Outside, match="more than two clients"):
            sides_at("cfl/notebook-index", {"sides": sides, "cut": cut})
    sides_at("cfl/notebook-index", {"sides": "01110", "cut": 2})


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
            cfl_cut.read_labels(wrong)  # type: ignore[arg-type]
    for rows in ([[1.0]], [[1.0]] * 9, [[1.0], [float("inf")]], [1.0, 2.0]):
        with pytest.raises(ValueError, match="two to eight"):
            cfl_cut.read_updates(rows)  # type: ignore[arg-type]
