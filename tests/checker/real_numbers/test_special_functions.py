"""What the table says of SciPy's functions, compared with SciPy itself, and where SciPy's digits do not suffice."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from scipy.stats import norm
from toy_claims import Unit, decided

from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides, at_least, at_most, reals
from clusterproof.checker.real_numbers.comparison import nearest_float
from clusterproof.checker.real_numbers.counterparts import Counterparts
from clusterproof.checker.real_numbers.special_functions import ONE, TWO

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda a, m: [
        sp.logsumexp(a),
        sp.logsumexp(m, axis=1),
        sp.softmax(a),
        sp.log_softmax(a),
        sp.comb(5, 2),
    ],
    "normal": lambda a, m: [norm.cdf(a), norm.sf(a), norm.pdf(a), norm.logcdf(a), norm.logsf(a)],
    "linear": lambda a, m: [sl.expm(m), sl.norm(a), sl.solve(m, a), sl.inv(m), sl.det(m), sl.svdvals(m)],
}
VECTOR, MATRIX = (
    np.array([0.5, 0.25, 0.75]),
    np.array([[2.0, 0.5, 0.25], [0.125, 3.0, 1.0], [0.5, 0.75, 4.0]]),
)


def same(found: Any, expected: Any) -> None:
    floats = np.vectorize(nearest_float, otypes=[float])(np.asarray(found, dtype=object))
    np.testing.assert_allclose(floats, np.asarray(expected, dtype=float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_scipys_functions_give_what_scipy_gives(name: str) -> None:
    counterparts = Counterparts()
    vector, matrix = (counterparts.real(each, chosen=True) for each in (VECTOR, MATRIX))
    found = counterparts.of(CALLS[name], globals(), name)(vector, matrix)
    for one, other in zip(found, CALLS[name](VECTOR, MATRIX), strict=True):
        same(one, other)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_function_of_numbers_gives_what_scipy_gives(name: str) -> None:
    values = (2.5, 3.25) if name == "zeta" else (0.25, 0.75)
    counterparts = Counterparts()
    live = getattr(sp, name)
    function = counterparts.of(live, {}, name)
    for given in [values[:1], values[1:]] if name in ONE else [values, values[::-1]]:
        same(function(*(counterparts.real(each, chosen=True) for each in given)), np.real(live(*given)))


@pytest.mark.usefixtures("registry")
def test_digits_that_scipy_loses_accuse_nobody() -> None:
    def tail(x: Annotated[float, reals(0, 30)]) -> Sides:
        return at_least(1 - norm.cdf(x), norm.sf(x))

    def false_tail(x: Annotated[float, reals(0, 30)]) -> Sides:
        return at_most(1 - norm.cdf(x), norm.pdf(x) / (1 + x))

    def entropy(x: Unit) -> Sides:
        return at_most(sp.entr(x) + sp.entr(1 - x), 0.69)

    assert decided(tail, evaluations=200).verdict is Kind.CONSISTENT
    for false in (false_tail, entropy):
        found = decided(false, evaluations=200)
        assert (found.verdict, found.basis) == (Kind.VIOLATED, "intervals")
