"""Maps of momentum, of model averaging and of success, and paths, against runs, powers and the recursion."""

import numpy as np
import pytest
from drawings import SEED, SMALL, drawn, figure_of, line
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.figures.momentum_maps import ContractionMap, ModelAveragingMap
from clusterproof.figures.momentum_paths import START, MomentumPaths
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture


def panels():
    return drawn("contraction-map").axes[:2]


def observe(momentum, condition_number):
    """Run the algorithm on two equal clusters: does a step, and does the rate, miss the factor?"""
    spectrum = np.geomspace(1 / condition_number, 1, 5)
    task = QuadraticMixture(
        hessians=np.stack([np.diag(spectrum)] * 2), centers=np.eye(5)[:2] * 9.0, labels=np.array([0, 1])
    )
    displaced = task.optima + 0.1 * np.eye(5)[:, None, :]
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    errors = run(algorithm, task, rounds=60, replicates=5, initial=displaced).errors
    factor = 1 - 0.5 / (8 * condition_number)
    matrix = np.zeros((10, 10))
    matrix[:5, :5] = np.diag(1 + momentum - 0.5 * spectrum)
    matrix[:5, 5:] = -momentum * np.eye(5)
    matrix[5:, :5] = np.eye(5)
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    worst = (errors[1:] / np.where(errors[:-1] > 1e-10, errors[:-1], np.inf)).max()
    return worst > factor, radius > factor


@pytest.mark.parametrize("momentum", [0.0, 0.05, 0.12, 0.4, 0.88, 0.9, 0.97, 0.99])
def test_cells_agree_with_runs_of_the_algorithm_and_eigenvalues(momentum):
    condition_numbers = np.array([1.0, 4.0, 25.0, 300.0])
    verdicts = ContractionMap().cells(np.array([momentum]), condition_numbers)
    observed = [observe(momentum, condition_number) for condition_number in condition_numbers]
    assert list(zip(verdicts.step_fails[:, 0], verdicts.rate_fails[:, 0], strict=True)) == observed


@pytest.mark.slow(reason="several seconds")
def test_the_boundary_lines_lie_on_the_closed_forms():
    left, right = panels()
    momenta, condition_numbers = line(left, "rate-boundary")
    np.testing.assert_allclose(np.sqrt(momenta), 1 - 1 / (16 * condition_numbers), rtol=1e-7)
    gaps, condition_numbers = line(right, "rate-boundary")
    np.testing.assert_allclose(np.sqrt(1 - gaps), 1 - 1 / (16 * condition_numbers), rtol=1e-7)
    steps, _ = line(left, "step-boundary")
    np.testing.assert_allclose(steps, 1.5 - np.sqrt(2), rtol=1e-7)
    np.testing.assert_allclose(line(left, "paper-momentum")[0], 0.9, rtol=1e-7)
    np.testing.assert_allclose(line(right, "paper-momentum")[0], 0.1, rtol=1e-7)


@pytest.mark.slow(reason="a second or more")
def test_the_painted_cells_are_ratios_of_logarithms_and_cross_one_at_the_line():
    for panel, near_one in zip(panels(), (False, True), strict=True):
        mesh = panel.collections[0]
        corners = mesh.get_coordinates()
        ratios = mesh.get_array().reshape(corners.shape[0] - 1, corners.shape[1] - 1)
        across, up = corners[0, :, 0], corners[:, 0, 1]
        momenta = 1 - np.sqrt(across[1:] * across[:-1]) if near_one else (across[1:] + across[:-1]) / 2
        condition_numbers = np.sqrt(up[1:] * up[:-1])[:, None]
        slower = np.sqrt(momenta) > 1 - 1 / (16 * condition_numbers)
        np.testing.assert_array_equal(ratios < 1, slower)
        for row, column in ((0, 0), (20, 50), (59, 100)):
            momentum, kappa = momenta[column], condition_numbers[row, 0]
            # of each eigenvalue the larger root of z^2 - (1 + beta - l lambda) z + beta
            roots = [
                np.roots([1, -(1 + momentum - 0.5 * curvature), momentum])
                for curvature in np.geomspace(1 / kappa, 1, 5)
            ]
            rate = np.abs(roots).max()
            expected = np.log(rate) / np.log(1 - 1 / (16 * kappa))
            assert ratios[row, column] == pytest.approx(expected, rel=1e-6)


def growth(momentum: float, local_steps: int, *, reset: bool) -> float:
    """Return the factor a round of an actual run, over its last rounds."""
    task = QuadraticMixture(
        hessians=np.array([[[0.01]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(
        step_size=1.0, momentum=momentum, averaging="model", local_steps=local_steps, reset_momentum=reset
    )
    models = np.abs(run(algorithm, task, rounds=400, initial=np.array([[1.0]])).models[:, 0, 0])
    return float((models[-60:].max() / models[100:160].max()) ** (1 / 241))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("momentum", "local_steps"), [(0.3, 4), (0.9, 5), (0.8, 5), (0.9, 20), (0.95, 6)])
def test_cells_are_the_rates_of_runs(momentum: float, local_steps: int) -> None:
    cells = ModelAveragingMap(most_local_steps=20).cells(np.array([momentum]))
    row = local_steps - 1
    assert cells.rates[row, 0] == pytest.approx(growth(momentum, local_steps, reset=False), abs=0.01)
    assert cells.reset_rates[row, 0] == pytest.approx(growth(momentum, local_steps, reset=True), abs=0.01)


def test_the_line_separates_divergence_and_reset_has_none() -> None:
    figure = drawn("model-averaging-map")
    left, right = figure.axes[:2]
    assert any(artist.get_gid() == "divergence" for artist in left.get_children())
    assert not any(artist.get_gid() == "divergence" for artist in right.get_children())
    cells = np.asarray(left.collections[0].get_array()).reshape(6, 99)[:, ::20]
    momenta = (np.arange(99) + 0.5)[::20] * 0.01
    np.testing.assert_allclose(cells, figure_of("model-averaging-map").cells(momenta).rates, rtol=1e-7)
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "1.3307" in caption
    assert f"Seed {SEED}" in caption


@pytest.mark.parametrize("momentum", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("step_size", [1.0, 1.9, 0.25])
def test_paths_are_those_of_the_recursion_and_stay_below_their_bounds(momentum, step_size):
    """With step 1 / L gradient descent has a double root, 0; with momentum 1/4 and step 1 / 4L, the heavy ball 1/2."""
    figure = MomentumPaths(kappa=20, momentum=momentum, step_size=step_size, rounds=200)
    curvatures = np.array([1 / 20, 1.0])
    for beta, path in zip((0.0, momentum), figure.compute().values(), strict=True):
        before = here = START
        for point in path.points:
            np.testing.assert_allclose(point, here, atol=1e-12)
            before, here = here, here - step_size * curvatures * here + beta * (here - before)
        distances = np.linalg.norm(path.points, axis=1)
        assert (distances <= path.bound * (1 + 1e-9) + 1e-12).all()
        assert path.bound[-1] < 0.2 * path.bound[0]


ALGORITHMS = {"IFCA": IFCA(step_size=1.0), "CFL-MGD": CFLMGD(step_size=1.0, momentum=0.9)}


def mesh(name):
    panel = drawn("success-map").axes[list(ALGORITHMS).index(name)]
    return panel.collections[0]


def cells(name):
    return np.asarray(mesh(name).get_array()).reshape(2, 3)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 1), (1, 1), (1, 2)])
def test_a_cell_is_the_share_of_runs_with_the_true_partition(name, row, column):
    corners = mesh(name).get_coordinates()
    separation = np.sqrt(corners[0, column, 0] * corners[0, column + 1, 0])
    noise = np.sqrt(corners[row, 0, 1] * corners[row + 1, 0, 1])
    corner = separation / np.sqrt(2) * np.eye(10)[:4]
    task = RegressionMixture(
        optima=corner - corner.mean(axis=0),
        covariance=np.ones(10),
        noise=noise,
        labels=np.repeat(np.arange(4), 15),
        samples=20,
    )
    assert task.separation == pytest.approx(separation)
    assert task.diameter == pytest.approx(separation)
    repetitions = SMALL["success-map"]["replicates"]
    start = task.optima + figure_of("success-map").directions()
    np.testing.assert_allclose(np.linalg.norm(start - task.optima, axis=-1), 1)
    votes = run(
        ALGORITHMS[name], task, rounds=50, seed=SEED, replicates=repetitions, initial=start
    ).assignments[-1]
    recovered = sum(adjusted_rand_score(task.labels, chosen) == 1 for chosen in votes)
    assert cells(name)[row, column] == recovered / repetitions


def test_the_line_is_where_the_law_of_f_makes_all_sixty_right_with_probability_one_half():
    for panel in drawn("success-map").axes[:2]:
        separations, noises = line(panel, "even-odds")
        ratio = separations / noises
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-7)
        gap = ratio[0] ** 2
        width = np.sqrt((2 + gap) ** 2 - 4)
        wrong = stats.f.sf((width + gap) / (width - gap), 20, 20)
        assert (1 - 3 * wrong) ** 60 == pytest.approx(0.5, rel=1e-6)
        np.testing.assert_allclose(line(panel, "basin")[0], 4)
