import numpy as np
import pytest
from drawings import drawn, line

from clusterproof.algorithms import CFLMGD
from clusterproof.figures.contraction_map import ContractionMap
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture


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


def test_the_corners_of_the_map_are_those_of_the_audit():
    """The pairs are: some step contracts less than printed, the spectral radius is larger than printed."""

    def fails(momentum, condition_number):
        cell = ContractionMap().cells(np.array([momentum]), np.array([condition_number]))
        return cell.step_fails.item(), cell.rate_fails.item()

    assert fails(0.05, 10.0) == (False, False)
    assert fails(0.9, 1.0) == (True, True)  # .94868 against .9375
    assert fails(0.99, 4.0) == (True, True)  # .99499 against .98438
    assert fails(0.9, 4.0) == (True, False)
    assert fails(0.99, 25.0) == (True, False)


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


@pytest.mark.slow(reason="a second or more")
def test_no_cell_disagrees_with_the_closed_forms():
    assert "disagree with 0 of 19200 cells" in panels()[0].figure.get_supxlabel().replace("\n", " ")
