"""Both ends of spectra against numpy's and ARPACK's, error bars included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.experiments.diagnosis.curvature import FAILURE, extreme_eigenvalues


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
    # an eigenvector that the start barely contains is found as far as double precision shows it; squares underflow
    allowed = 1e-6 * np.abs(truth).max() + 1e-140
    assert found.value[0] == pytest.approx(truth[0], abs=allowed)
    assert found.value[1] == pytest.approx(truth[-1], abs=allowed)
    assert found.value[0] <= found.value[1]


def test_agrees_with_arpack_on_a_spectrum_like_a_networks():
    # a few outliers, a bulk around zero, negative tail
    stream = np.random.default_rng(3)
    values = np.concatenate([[9.0, 5.0, 4.0, -0.8], 0.1 * stream.standard_normal(396)])
    matrix = symmetric(values)
    found = extreme_eigenvalues(lambda v: matrix @ v, 400, generator(1), products=60)
    operator = LinearOperator((400, 400), matvec=lambda v: matrix @ v, dtype=float)
    smallest, largest = np.sort(eigsh(operator, k=2, which="BE", tol=1e-12, return_eigenvectors=False))
    assert found.value[1] == pytest.approx(largest, rel=1e-10)
    assert found.value[0] == pytest.approx(smallest, rel=1e-10)
    assert found.value[0] < 0


@pytest.mark.parametrize("outlier", [3.0, 1e12])
def test_vectors_are_unit_and_the_values_are_their_quotients(outlier):
    matrix = symmetric([*np.linspace(0, 2, 49), outlier])
    found = extreme_eigenvalues(lambda v: matrix @ v, 50, generator(2), products=30)
    for value, vector in zip(found.value, found.vectors, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1)
        assert value == pytest.approx(vector @ matrix @ vector, abs=1e-14 * outlier)


def test_ritz_values_never_leave_the_spectrum_and_outer_ends_cover_it():
    # the hardest case for Lanczos: equally spaced, no gap at either end
    truth = np.linspace(-1.0, 2.0, 300)
    matrix = symmetric(truth)
    for products in (8, 12, 20):
        for seed in range(30):
            found = extreme_eigenvalues(lambda v: matrix @ v, 300, generator(seed), products=products)
            assert found.value[0] >= -1 - 1e-12
            assert found.value[1] <= 2 + 1e-12
            assert found.outer[0] <= -1
            assert found.outer[1] >= 2
    # and the bracket is not so wide that it says nothing
    assert found.outer[1] - found.value[1] < 0.5
    # both ends fail with half of the probability, by Kuczynski and Wozniakowski's theorem for 20 products
    share = (found.outer[1] - found.value[1]) / np.ptp(found.outer)
    assert 1.648 * np.sqrt(300) * np.exp(-np.sqrt(share) * 39) == pytest.approx(FAILURE / 2)
    few = extreme_eigenvalues(lambda v: matrix @ v, 300, generator(0), products=3)
    assert few.outer.tolist() == [-np.inf, np.inf]  # too few products bound nothing


def test_products_that_are_not_those_of_one_symmetric_matrix_are_refused():
    stream = np.random.default_rng(0)

    def of_a_new_batch(v):
        rows = stream.standard_normal((30, 20))
        return rows.T @ (rows @ v) / 30

    matrix = np.triu(stream.standard_normal((20, 20)))
    for product, words in (
        (of_a_new_batch, "one symmetric matrix"),
        (lambda v: matrix @ v, "one symmetric matrix"),
        (lambda v: v * np.nan, "finite"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            extreme_eigenvalues(product, 20, generator(0), products=15)


def test_single_precision_shows_as_asymmetry_and_not_as_an_error():
    matrix = symmetric(np.linspace(-1, 3, 50)).astype(np.float32)
    found = extreme_eigenvalues(lambda v: matrix @ v.astype(np.float32), 50, generator(2), products=50)
    assert 0 < found.asymmetry < 1e-5
    assert found.value[1] == pytest.approx(3, abs=1e-3)
    assert found.value[0] == pytest.approx(-1, abs=1e-3)


@pytest.mark.parametrize("constant", [0.0, 2.5])
def test_a_multiple_of_the_identity(constant):
    found = extreme_eigenvalues(lambda v: constant * v, 7, generator(0))
    assert found.value[0] == pytest.approx(constant)
    assert found.value[1] == pytest.approx(constant)
    assert found.outer[1] == pytest.approx(constant)
