"""Statements of the SoFL paper by hand or by another library."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from catalogue import checked
from minisom import MiniSom
from scipy.optimize import root
from sklearn.cluster import KMeans
from tolerance import assert_close

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.papers.sofl import theorem_1
from clusterproof.theory.papers.sofl.frozen_cells import FrozenRow
from clusterproof.theory.papers.sofl.label_shift import ceiling
from clusterproof.theory.papers.sofl.theorem_1_parts import pull
from clusterproof.theory.papers.sofl.uniform_cells import mean_field_fixed_point


def test_the_end_of_a_run_by_hand() -> None:
    """A rate of 1/30 keeps (1/30) / (2 - 1/30) = 1/59 of the variance 1/16 of 1 and 3/2."""
    verdict = checked("sofl/theorem-1-at-the-end")
    assert verdict.counterexample == {"learning_rate": "1/10", "radius": "3/2"}
    assert verdict.measured == pytest.approx(1 / 59 / 16, rel=1e-12)


def test_the_end_of_a_run_with_all_neurons_by_minisom() -> None:
    """Runs of the library with the paper's parameters end at the limit of the recursion, well above the lesser one."""
    theirs = MiniSom(1, 2, 2, sigma=1.5, learning_rate=0.1, activation_distance="cosine", random_seed=3)
    alone, everything = theorem_1.last_distances(Fraction(1, 10), Fraction(3, 2))
    all_samples = np.array([[1, 0], [1.5, 0], [0, 1], [0, 1.5]])
    squares = []
    for seed in range(12):
        theirs._weights = 1.25 * np.eye(2)[None]
        samples = all_samples[np.random.default_rng(seed).integers(0, 4, 3000)]
        theirs.train(samples, len(samples), random_order=False)
        squares.append(((theirs.get_weights()[0, 0] - [1.25, 0]) ** 2).sum())
    # the relative spread of one square is about 0.4, of the mean of twelve 0.12
    assert np.mean(squares) == pytest.approx(everything, rel=0.5)
    assert np.mean(squares) > 10 * alone


def test_the_mean_field_by_another_solver() -> None:
    grid = np.arange(10)
    near = np.exp(-((grid[:, None] - grid) ** 2) / 0.5)

    def mean_update(points: np.ndarray) -> np.ndarray:
        ends = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2, [1.0]])
        # int over cell k of (x - w_j) dx = (b^2 - a^2) / 2 - w_j (b - a)
        return near @ (np.diff(ends**2) / 2) - points * (near @ np.diff(ends))

    solved = root(mean_update, (grid + 0.5) / 10, tol=1e-13).x
    np.testing.assert_allclose(mean_field_fixed_point(10, 0.5), solved, atol=1e-10)


def test_the_curve_of_the_elbow_by_scikit_learn() -> None:
    verdict = checked("sofl/elbow-exact-winners")
    assert verdict.counterexample == {"x1": 0, "y1": 1, "x2": 1, "y2": 0, "x3": 1, "y3": 1}
    winners = np.array([[0.0, 1], [1, 0], [1, 1]])
    curve = [KMeans(k, n_init=10, random_state=0).fit(winners).inertia_ for k in (1, 2, 3)]
    assert_close(curve, [4 / 3, 1 / 2, 0])
    assert curve[1] < (curve[0] + curve[2]) / 2  # below the chord: an elbow at 2, where there are 3 clusters
    assert (verdict.measured, verdict.bound) == (3.0, 2.0)


def test_a_regular_simplex_is_the_one_set_that_the_elbow_calls_one_cluster() -> None:
    """Seven corners: every partition into k parts has the sum (7 - k) times half the squared side."""
    from clusterproof.algorithms.second_clustering import elbow

    curve = [KMeans(k, n_init=10, random_state=0).fit(np.eye(7)).inertia_ for k in range(1, 7)]
    np.testing.assert_allclose(curve, [7 - k for k in range(1, 7)], atol=1e-9)
    assert elbow(np.array([7.0 - k for k in range(1, 8)])) == 1


def test_ceilings_by_hand() -> None:
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
