"""Verdicts on the SoFL paper: what each statement deserves, by hand or by another library, over seeds."""

import importlib.util
import itertools
import json
import math
import sys

import numpy as np
import pytest
from listed_once import listed_once
from minisom import MiniSom
from scipy.optimize import root
from scipy.stats import binom
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument, adjusted_rand_index
from clusterproof.commands.application import main
from clusterproof.theory.sofl import tables, theorem_1
from clusterproof.theory.sofl.frozen_cells import FrozenRow
from clusterproof.theory.sofl.label_shift import ceiling, table_3_label_skew
from clusterproof.theory.sofl.tables_3_4 import tables_3_and_4
from clusterproof.theory.sofl.theorem_1_parts import pull
from clusterproof.theory.sofl.uniform_cells import mean_field_fixed_point
from clusterproof.theory.verdict import Kind

EXPECTED = {
    "sofl/mean-square-distortion": Kind.VIOLATED,
    "sofl/mean-square-distortion-nearest": Kind.CONSISTENT,
    "sofl/figure-9-levels": Kind.VIOLATED,
    "sofl/conclusion-gains": Kind.CONSISTENT,
    "sofl/no-extra-communication": Kind.CONSISTENT,
    "sofl/initialisation": Kind.CONSISTENT,
    "sofl/ifca-consumption": Kind.CONSISTENT,
    "sofl/equation-3": Kind.ILL_POSED,
    "sofl/equation-4": Kind.VIOLATED,
    "sofl/equation-6": Kind.CONSISTENT,
    "sofl/theorem-1": Kind.VIOLATED,
    "sofl/theorem-1-robbins-monro": Kind.CONSISTENT,
    "sofl/running-mean": Kind.CERTIFIED,
    "sofl/frozen-cell-variance": Kind.CERTIFIED,
    "sofl/mean-field-fixed-point": Kind.CONSISTENT,
    "sofl/clustering-condition": Kind.VACUOUS,
    "sofl/equation-10": Kind.CONSISTENT,
    "sofl/shrinking-neighbourhood": Kind.VIOLATED,
    "sofl/elbow-exact-winners": Kind.VIOLATED,
    "sofl/one-cluster": Kind.VIOLATED,
    "sofl/elbow-below-chord": Kind.CONSISTENT,
    "sofl/equations-14-15": Kind.CONSISTENT,
    "sofl/algorithm-1-line-30": Kind.ILL_POSED,
    "sofl/aggregation-in-cluster": Kind.CONSISTENT,
    "sofl/guarded-count": Kind.CONSISTENT,
    "sofl/table-2": Kind.CONSISTENT,
    "sofl/label-shift-ceiling": Kind.CONSISTENT,
    "sofl/table-3-label-skew": Kind.VIOLATED,
    "sofl/table-4-single-model": Kind.VIOLATED,
    "sofl/tables-3-and-4": Kind.VIOLATED,
    "sofl/table-3-in-table-4": Kind.CONSISTENT,
    "sofl/table-4-best": Kind.VIOLATED,
    "sofl/above-single-models": Kind.CERTIFIED,
    "sofl/gains-over-fedavg": Kind.CERTIFIED,
    "sofl/gains-over-cfl": Kind.VIOLATED,
    "sofl/gain-over-cfl-range": Kind.CERTIFIED,
    "sofl/drop-with-clusters": Kind.VIOLATED,
    "sofl/mean-drop-with-clusters": Kind.CERTIFIED,
    "sofl/abstract-gains": Kind.VIOLATED,
    "sofl/table-5-balance": Kind.CERTIFIED,
}


def test_every_claim_is_expected_and_there_are_enough() -> None:
    assert sorted(EXPECTED) == sorted(claim.id for claim in theory.claims("sofl"))
    quick = [claim for claim in theory.claims("sofl") if claim.quick]
    assert len(quick) >= 10


@pytest.mark.parametrize("claim_id", EXPECTED)
def test_verdict(claim_id: str) -> None:
    verdict = theory.check(claim_id, seed=1)
    assert verdict.verdict is EXPECTED[claim_id], verdict.reason
    assert verdict.reason
    if verdict.verdict is Kind.VIOLATED:
        assert verdict.repaired_by is not None
        assert EXPECTED[verdict.repaired_by] in (Kind.CONSISTENT, Kind.CERTIFIED)
        stored = json.loads(json.dumps(theory.as_json(verdict)))
        again = theory.replay(claim_id, stored["counterexample"])
        assert again.verdict is Kind.VIOLATED
        assert again.measured == pytest.approx(verdict.measured)
    if verdict.verdict is Kind.CONSISTENT:
        assert verdict.instances
        # the guard may be wrong in 5 %, k-means from one start in 60 % of 60 pairs beside 30 of the map
        share = 0.4 if claim_id == "sofl/initialisation" else 0.1
        assert (verdict.failures or 0) <= share * (verdict.trials or 0)


SEEDS = {
    # trials that keep the whole within a minute or two while the check still does all that it does
    "sofl/equation-3": 5,
    "sofl/equation-6": 20,
    "sofl/theorem-1-robbins-monro": 1,
    "sofl/running-mean": 10,
    "sofl/frozen-cell-variance": 5,
    "sofl/equation-10": 100,
    "sofl/elbow-below-chord": 10,
    "sofl/equations-14-15": 30,
    "sofl/algorithm-1-line-30": 30,
    "sofl/aggregation-in-cluster": 30,
    "sofl/guarded-count": 4,
    "sofl/label-shift-ceiling": 20,
    "sofl/initialisation": 1,
}


@pytest.mark.parametrize("claim_id", SEEDS)
def test_thirty_seeds(claim_id: str) -> None:
    with listed_once():
        for seed in range(30):
            verdict = theory.check(claim_id, seed=seed, trials=SEEDS[claim_id])
            assert verdict.verdict is EXPECTED[claim_id], (seed, verdict.reason)


def test_every_random_check_that_is_not_a_search_is_above() -> None:
    """What is left ends with a counterexample, or after all instances that there are."""
    rest = set(EXPECTED) - set(SEEDS)
    assert {
        name for name in rest if EXPECTED[name] is not Kind.VIOLATED and not theory.check(name).exhausted
    } == set()


def test_the_floor_of_theorem_1_by_hand() -> None:
    """w = (1 - u, u): u moves by eta / 3 towards 0 or by g eta / 3 towards 1, each half of the time."""
    verdict = theory.check("sofl/theorem-1")
    found = verdict.counterexample
    assert found == {"learning_rate": "1/10", "radius": "3/2"}
    rate, pull = 0.1 / 3, 0.1 / 3 * math.exp(-0.5 / 0.5**2)
    mean = pull / (rate + pull)
    forget = 1 - ((1 - rate) ** 2 + (1 - pull) ** 2) / 2
    second = (2 * (1 - pull) * pull * mean + pull**2) / 2 / forget
    assert verdict.measured == pytest.approx(2 * second, rel=1e-12)


def test_the_floor_of_theorem_1_by_minisom() -> None:
    """The library itself, with the paper's parameters, ends where the recursion says."""
    theirs = MiniSom(1, 2, 2, sigma=1.5, learning_rate=0.1, activation_distance="cosine", random_seed=3)
    theirs._weights = np.eye(2)[None].copy()
    squares = []
    for seed in range(12):
        theirs._weights = np.eye(2)[None].copy()
        samples = np.eye(2)[np.random.default_rng(seed).integers(0, 2, 3000)]
        theirs.train(samples, len(samples), random_order=False)
        squares.append(((theirs.get_weights()[0, 0] - [1, 0]) ** 2).sum())
    # the relative spread of one square is about 0.4, of the mean of twelve 0.12
    assert np.mean(squares) == pytest.approx(theory.check("sofl/theorem-1").measured, rel=0.5)


def test_the_mean_field_by_another_solver() -> None:
    grid = np.arange(10)
    near = np.exp(-((grid[:, None] - grid) ** 2) / 0.5)

    def mean_update(points: np.ndarray) -> np.ndarray:
        ends = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2, [1.0]])
        # int over cell k of (x - w_j) dx = (b^2 - a^2) / 2 - w_j (b - a)
        return near @ (np.diff(ends**2) / 2) - points * (near @ np.diff(ends))

    solved = root(mean_update, (grid + 0.5) / 10, tol=1e-13).x
    np.testing.assert_allclose(mean_field_fixed_point(10, 0.5), solved, atol=1e-10)


def test_the_smallest_partition_of_equation_4_by_trying_all() -> None:
    found = theory.check("sofl/equation-4").counterexample
    assert found is not None
    points = np.array([float(found[name]) for name in sorted(found)])
    sums, pairs = {}, {1: {}, 2: {}}
    for labels in itertools.product(range(2), repeat=len(points)):
        groups = [points[np.array(labels) == k] for k in range(2)]
        if min(map(len, groups)) == 0:
            continue
        sums[labels] = sum(len(group) * group.var() for group in groups)
        for power in pairs:
            pairs[power][labels] = sum((np.abs(group[:, None] - group) ** power).sum() for group in groups)
    for power in (1, 2):
        least = min(pairs[power].values())
        assert min(sums[labels] for labels, value in pairs[power].items() if value <= least + 1e-9) > (
            min(sums.values()) + 1e-9
        )


def test_the_curve_of_the_elbow_by_scikit_learn() -> None:
    verdict = theory.check("sofl/elbow-exact-winners")
    assert verdict.counterexample == {"x1": 0, "y1": 1, "x2": 1, "y2": 0, "x3": 1, "y3": 1}
    winners = np.array([[0.0, 1], [1, 0], [1, 1]])
    curve = [KMeans(k, n_init=10, random_state=0).fit(winners).inertia_ for k in (1, 2, 3)]
    np.testing.assert_allclose(curve, [4 / 3, 1 / 2, 0], atol=1e-12)
    assert curve[1] < (curve[0] + curve[2]) / 2  # below the chord: an elbow at 2, where there are 3 clusters
    assert (verdict.measured, verdict.bound) == (3.0, 2.0)


def test_a_regular_simplex_is_the_one_set_that_the_elbow_calls_one_cluster() -> None:
    """Seven corners: every partition into k parts has the sum (7 - k) times half the squared side."""
    from clusterproof.algorithms.parts.second_clustering import elbow

    curve = [KMeans(k, n_init=10, random_state=0).fit(np.eye(7)).inertia_ for k in range(1, 7)]
    np.testing.assert_allclose(curve, [7 - k for k in range(1, 7)], atol=1e-9)
    assert elbow(np.array([7.0 - k for k in range(1, 8)])) == 1


def test_ceilings_by_hand() -> None:
    from fractions import Fraction

    quarter, twentieth = Fraction(1, 4), Fraction(1, 20)
    assert ceiling([0, 2, 4, 6], [quarter] * 4, 10) == quarter
    # 20 clients in 8 clusters of 3, 3, 3, 3, 2, 2, 2, 2
    clients = [*[c for c in range(4) for _ in range(3)], *[c for c in range(4, 8) for _ in range(2)]]
    assert ceiling(clients, [twentieth] * 20, 10) == Fraction(3, 20)
    assert ceiling([0, 10], [Fraction(1, 2)] * 2, 10) == 1


def test_the_ceiling_against_a_trained_majority_vote() -> None:
    """Draws from the partition itself: the most frequent label of each input is right 1/K of the time."""
    stream = np.random.default_rng(0)
    inputs, cluster = stream.integers(0, 10, 40_000), stream.integers(0, 4, 40_000)
    labels = (inputs + 2 * cluster) % 10
    votes = np.array([np.bincount(labels[inputs == x], minlength=10).argmax() for x in range(10)])
    assert (votes[inputs] == labels).mean() == pytest.approx(0.25, abs=0.01)


def test_table_4_at_eight_clusters_by_scipy() -> None:
    """15.84 % of 2000 images are at least 317 right; 12.5 % expected."""
    verdict = theory.check("sofl/table-4-single-model")
    assert verdict.counterexample == {"data": "MNIST", "clusters": 8, "method": "FedAvg"}
    assert verdict.measured == pytest.approx(0.1584)
    assert 1e-6 < binom.sf(316, 2000, 1 / 8) < 1e-4  # 4.5 standard errors
    assert binom.sf(round(verdict.bound * 2000), 2000, 1 / 8) <= 1e-4 < binom.sf(306, 2000, 1 / 8)
    assert verdict.bound == 307 / 2000


def test_the_impossible_entries_of_table_3() -> None:
    for data in tables.TEST_IMAGES:
        for method in tables.SINGLE_MODEL:
            sides = table_3_label_skew(data, method)
            assert sides.measured > 1.3 * sides.allowed
    assert theory.check("sofl/table-3-label-skew").measured == 0.7189


def test_differences_of_the_tables_by_hand() -> None:
    verdict = theory.check("sofl/tables-3-and-4")
    assert verdict.measured == pytest.approx(71.89 - 25.17)
    pairs = [tables_3_and_4(data, method) for data in tables.TEST_IMAGES for method in tables.METHODS]
    assert sum(sides.measured > sides.allowed for sides in pairs) == 4
    assert theory.check("sofl/gains-over-cfl").measured == pytest.approx(89.45 - 87.50 - 1.92)
    assert theory.check("sofl/drop-with-clusters").measured == pytest.approx(48.36 - 14.12 - 33)
    assert theory.check("sofl/abstract-gains").measured == pytest.approx(93.53 - 48.50 - 18)


def test_a_row_with_a_rare_cell_is_outside_the_repaired_theorem_1() -> None:
    """60 eta_0 P(X_c) >= 1 is asked of every cell: at eta_0 = 0.1 of one with an eighth of the samples, too."""
    cells = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    row = theorem_1.write_row(FrozenRow(samples=np.eye(2)[cells], cells=cells, start=np.eye(2)))
    with pytest.raises(InvalidArgument, match="60 eta_0"):
        theory.replay("sofl/theorem-1-robbins-monro", {"row": row})


@pytest.mark.parametrize("radius", [0.5, 1.5])
def test_the_bound_of_the_mean_field_is_each_neurons_own(radius: float) -> None:
    points = np.array([0.05, 0.2, 0.3, 0.6, 0.9])
    bounds = [0.0, *((one + other) / 2 for one, other in itertools.pairwise(points)), 1.0]
    cells = [(high - low, (high + low) / 2) for low, high in itertools.pairwise(bounds)]
    for j, allowed in enumerate(pull(points, radius)):
        weights = [math.exp(-((j - k) ** 2) / 2 / radius**2) * width for k, (width, _) in enumerate(cells)]
        farthest = max(abs(middle - cells[j][1]) for _, middle in cells)
        assert allowed == pytest.approx((1 - weights[j] / sum(weights)) * farthest)


def test_table_2_by_scikit_learn() -> None:
    scores = {
        name: adjusted_rand_score(tables.TRUE_CLUSTERS, labels) for name, labels in tables.TABLE_2.items()
    }
    assert [round(score, 3) for score in scores.values()] == [0.669, 0.486, 1.0]
    for name, labels in tables.TABLE_2.items():
        assert adjusted_rand_index(np.array(labels), np.array(tables.TRUE_CLUSTERS)) == pytest.approx(
            scores[name]
        )


def test_quick_checks_need_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    for claim in theory.claims("sofl"):
        if claim.quick:
            theory.check(claim.id, trials=1)


def test_without_scikit_learn_the_guard_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidArgument, match=r"clusterproof\[cluster\]"):
        theory.check("sofl/guarded-count")
    assert main(["check", "sofl/guarded-count"]) == 1
    errors = capsys.readouterr().err
    assert "clusterproof[cluster]" in errors
    assert "Traceback" not in errors


def test_same_seed_same_numbers() -> None:
    for name in ("sofl/theorem-1", "sofl/label-shift-ceiling"):
        first, second = (theory.as_json(theory.check(name, seed=3)) for _ in range(2))
        first.pop("seconds"), second.pop("seconds")
        assert first == second


@pytest.mark.parametrize(
    ("claim_id", "forged", "rule"),
    [
        ("sofl/equation-4", {"b2": -1}, "b2"),
        ("sofl/theorem-1", {"radius": 0}, "radius"),
        ("sofl/elbow-exact-winners", {"x1": 2, "y1": 0}, "direction of its own"),
        ("sofl/shrinking-neighbourhood", {"updates": 0}, "updates"),
        ("sofl/table-4-single-model", {"clusters": 5}, "clusters"),
        ("sofl/algorithm-1-line-30", {"other": 0}, "other"),
    ],
)
def test_a_forged_instance_is_refused(claim_id: str, forged: dict[str, int], rule: str) -> None:
    found = theory.check(claim_id).counterexample
    assert found is not None
    with pytest.raises(InvalidArgument, match=rule):
        theory.replay(claim_id, {**found, **forged})
