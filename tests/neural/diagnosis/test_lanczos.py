"""Both ends of spectra against numpy's and ARPACK's, error bars included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.neural.diagnosis.lanczos import extreme_eigenvalues


def symmetric(values, seed=0):
    """A dense symmetric matrix with the given eigenvalues."""
    stream = np.random.default_rng(seed)
    rotation = np.linalg.qr(stream.standard_normal((len(values), len(values))))[0]
    matrix = (rotation * np.asarray(values, dtype=float)) @ rotation.T
    return (matrix + matrix.T) / 2


@given(
    values=st.lists(st.floats(-100, 100), min_size=1, max_size=12),
    seed=st.integers(0, 2**20),
)
def test_all_products_give_the_ends_of_any_small_spectrum(values, seed):
    matrix = symmetric(values, seed)
    found = extreme_eigenvalues(lambda v: matrix @ v, len(values), generator(seed), products=len(values))
    truth = np.linalg.eigvalsh(matrix)
    scale = max(1e-300, np.abs(truth).max())
    # an eigenvector that the start barely contains is found as far as double precision shows it
    assert found.smallest.value == pytest.approx(truth[0], abs=1e-6 * scale)
    assert found.largest.value == pytest.approx(truth[-1], abs=1e-6 * scale)
    assert found.smallest.value <= found.largest.value


def test_agrees_with_arpack_on_a_spectrum_like_a_networks():
    # a few outliers, a bulk around zero, negative tail
    stream = np.random.default_rng(3)
    values = np.concatenate([[9.0, 5.0, 4.0, -0.8], 0.1 * stream.standard_normal(396)])
    matrix = symmetric(values)
    found = extreme_eigenvalues(lambda v: matrix @ v, 400, generator(1), products=60)
    operator = LinearOperator((400, 400), matvec=lambda v: matrix @ v, dtype=float)
    smallest, largest = np.sort(eigsh(operator, k=2, which="BE", tol=1e-12, return_eigenvectors=False))
    assert found.largest.value == pytest.approx(largest, rel=1e-10)
    assert found.smallest.value == pytest.approx(smallest, rel=1e-10)
    assert found.smallest.value < 0


def test_vectors_are_unit_eigenvectors_and_the_residual_is_theirs():
    matrix = symmetric(np.linspace(-1, 3, 50))
    found = extreme_eigenvalues(lambda v: matrix @ v, 50, generator(2), products=20)
    for end in (found.smallest, found.largest):
        assert np.linalg.norm(end.vector) == pytest.approx(1)
        image = matrix @ end.vector
        assert end.value == pytest.approx(end.vector @ image)
        assert end.residual == pytest.approx(np.linalg.norm(image - end.value * end.vector), rel=1e-6)
        # Weyl: an eigenvalue lies within the residual
        assert np.abs(np.linalg.eigvalsh(matrix) - end.value).min() <= end.residual + 1e-12


def test_ritz_values_never_leave_the_spectrum_and_outer_ends_cover_it():
    # the hardest case for Lanczos: equally spaced, no gap at either end
    truth = np.linspace(-1.0, 2.0, 300)
    matrix = symmetric(truth)
    for products in (8, 12, 20):
        for seed in range(30):
            found = extreme_eigenvalues(lambda v: matrix @ v, 300, generator(seed), products=products)
            assert found.smallest.value >= -1 - 1e-12
            assert found.largest.value <= 2 + 1e-12
            assert found.smallest.outer <= -1
            assert found.largest.outer >= 2
    # and the bracket is not so wide that it says nothing
    assert found.largest.outer - found.largest.value < 0.5


def test_too_few_products_say_that_nothing_bounds_the_ends():
    matrix = symmetric(np.linspace(-1.0, 2.0, 300))
    found = extreme_eigenvalues(lambda v: matrix @ v, 300, generator(0), products=3)
    assert found.largest.outer == np.inf
    assert found.smallest.outer == -np.inf


def test_a_new_matrix_at_every_call_is_refused():
    stream = np.random.default_rng(0)

    def of_a_new_batch(v):
        rows = stream.standard_normal((30, 20))
        return rows.T @ (rows @ v) / 30

    with pytest.raises(InvalidArgument, match="one symmetric matrix"):
        extreme_eigenvalues(of_a_new_batch, 20, generator(0), products=15)


def test_a_map_that_is_not_symmetric_is_refused():
    matrix = np.triu(np.random.default_rng(0).standard_normal((20, 20)))
    with pytest.raises(InvalidArgument, match="one symmetric matrix"):
        extreme_eigenvalues(lambda v: matrix @ v, 20, generator(0), products=15)


def test_single_precision_shows_as_asymmetry_and_not_as_an_error():
    matrix = symmetric(np.linspace(-1, 3, 50)).astype(np.float32)
    found = extreme_eigenvalues(lambda v: matrix @ v.astype(np.float32), 50, generator(2), products=50)
    assert 0 < found.asymmetry < 1e-5
    assert found.largest.value == pytest.approx(3, abs=1e-3)
    assert found.smallest.value == pytest.approx(-1, abs=1e-3)


@pytest.mark.parametrize("constant", [0.0, 2.5])
def test_a_multiple_of_the_identity(constant):
    found = extreme_eigenvalues(lambda v: constant * v, 7, generator(0))
    assert found.smallest.value == pytest.approx(constant)
    assert found.largest.value == pytest.approx(constant)
    assert found.largest.outer == pytest.approx(constant)


def test_products_that_are_not_finite_are_refused():
    with pytest.raises(InvalidArgument, match="finite"):
        extreme_eigenvalues(lambda v: v * np.nan, 7, generator(0))
