"""Cells whose verdict turns on a bound, by hand."""

import math

import pytest
from scipy.stats import t

from clusterproof.experiments.comparison import Cell, Printed


def test_a_difference_of_half_a_digit_is_chance_and_reproduced() -> None:
    printed = Printed(4.0, 0.0, 3, population=True, resolution=0.5)
    assert Cell((4.25, 4.25), printed).verdict == "reproduced"
    assert Cell((4.2501, 4.2501), printed).verdict == "not reproduced"


def test_more_than_half_a_digit_is_not_near_where_the_paper_does_not_spread() -> None:
    """4.0 and 4.16 are 0.08 off, with a standard error of 0.08: chance, but farther than half of 0.1."""
    printed = Printed(4.0, 0.0, 3, population=True, resolution=0.1)
    assert Cell((4.0, 4.16), printed).verdict == "within chance"
    assert Cell((3.96, 4.12), printed).verdict == "reproduced"


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
