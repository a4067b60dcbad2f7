"""Cells whose verdict turns on a bound, by hand."""

import math

import pytest
from scipy.stats import t

from clusterproof.experiments.comparison import Cell, Printed


def test_a_difference_of_half_a_digit_is_chance_and_reproduced() -> None:
    printed = Printed(4.0, 0.0, 3, population=True, resolution=0.5)
    assert Cell((4.25, 4.25), printed).verdict == "reproduced"
    assert Cell((4.2501, 4.2501), printed).verdict == "not reproduced"


def test_half_a_spread_is_of_both_sides_together() -> None:
    """Variances of a run 2 and 0: their mean is 1, and what is shown far more than 1 / 2."""
    cell = Cell((4.0, 4.0 + 2.0), Printed(5.0, 0.0, 10**9))
    assert cell.detectable is not None
    assert cell.verdict == "compatible"
    assert Cell(cell.values, Printed(5.0, 0.0, 10**9, negligible=cell.detectable)).verdict == "reproduced"
    assert (
        Cell(cell.values, Printed(5.0, 0.0, 10**9, negligible=0.99 * cell.detectable)).verdict == "compatible"
    )


def test_a_population_spread_of_one_run_is_none() -> None:
    """Of one number the deviation is 0, whatever its law's: ours is taken, 1 over three seeds and one run."""
    cell = Cell((1.0, 2.0, 3.0), Printed(5.0, 0.5, 1, population=True))
    assert cell.standard_error == pytest.approx(math.sqrt(1 / 3 + 1))


def test_a_spread_over_nobody_knows_how_many_runs_is_taken_as_exact() -> None:
    """Variances 1/3 of our mean, with two degrees of freedom, and 4 of the paper's: (1/3 + 4)^2 / ((1/3)^2 / 2)."""
    cell = Cell((1.0, 2.0, 3.0), Printed(5.0, 2.0))
    freedom = (1 / 3 + 4) ** 2 / ((1 / 3) ** 2 / 2)
    assert cell.allowed == pytest.approx(t.ppf(0.975, freedom) * math.sqrt(1 / 3 + 4))


def test_what_does_not_spread_has_no_standard_errors() -> None:
    cell = Cell((5.0, 5.0), Printed(4.0, 0.0, 3))
    assert (cell.standard_error, cell.in_standard_errors, cell.verdict) == (0.0, None, "not reproduced")


def test_a_population_spread_of_two_runs_is_twice_the_square() -> None:
    """Over n - 1 = 1 in place of 2; of a mean of two runs half, beside our 1 / 3."""
    printed = Printed(5.0, 0.5, 2, population=True)
    assert printed.variance(None) == pytest.approx(2 * 0.5**2)
    assert Cell((1.0, 2.0, 3.0), printed).standard_error == pytest.approx(math.sqrt(1 / 3 + 0.5**2))
    assert Printed(5.0, 0.5, 2).variance(None) == 0.5**2
    assert Printed(5.0, None, 2).variance(7.0) == 7.0
