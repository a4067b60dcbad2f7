import numpy as np
import pytest
from drawings import drawn, line

from clusterproof.algorithms import CFLMGD, run
from clusterproof.figures import contraction_map
from clusterproof.synthetic import QuadraticMixture


def panels():
    return drawn("contraction-map").axes


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
    verdicts = contraction_map.compute(np.array([momentum]), condition_numbers)
    observed = [observe(momentum, condition_number) for condition_number in condition_numbers]
    assert list(zip(verdicts.step_fails[:, 0], verdicts.rate_fails[:, 0], strict=True)) == observed


def test_the_corners_of_the_map_are_those_of_the_audit():
    def category(momentum, condition_number):
        return contraction_map.compute(np.array([momentum]), np.array([condition_number])).category.item()

    assert category(0.05, 10.0) == contraction_map.HOLDS
    assert category(0.9, 1.0) == contraction_map.RATE_FAILS  # .94868 against .9375
    assert category(0.99, 4.0) == contraction_map.RATE_FAILS  # .99499 against .98438
    assert category(0.9, 4.0) == contraction_map.STEP_FAILS
    assert category(0.99, 25.0) == contraction_map.STEP_FAILS


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


def test_the_painted_cells_change_colour_at_the_lines():
    for panel, near_one in zip(panels(), (False, True), strict=True):
        (mesh,) = panel.collections
        corners = mesh.get_coordinates()
        categories = mesh.get_array().reshape(corners.shape[0] - 1, corners.shape[1] - 1)
        across, up = corners[0, :, 0], corners[:, 0, 1]
        momenta = 1 - np.sqrt(across[1:] * across[:-1]) if near_one else (across[1:] + across[:-1]) / 2
        condition_numbers = np.sqrt(up[1:] * up[:-1])[:, None]
        oscillates = momenta > 1.5 - np.sqrt(2)
        slower = np.sqrt(momenta) > 1 - 1 / (16 * condition_numbers)
        np.testing.assert_array_equal(categories, oscillates.astype(int) + slower)


def test_no_cell_disagrees_with_the_closed_forms():
    assert "disagree with 0 of 19200 cells" in panels()[0].figure.get_supxlabel().replace("\n", " ")
