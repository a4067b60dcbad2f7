"""Digits of the two sides in what verdicts say: as many as tell them apart."""

import math
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.theory.checker import Sides, at_most, choice, sentences
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.rounding import as_float
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

NEAR = Fraction(1, 10**20)


@pytest.mark.parametrize(
    ("measured", "bound", "said"),
    [
        (1.0000001, 1.0, "1.0000001 > 1"),
        (10**6 + 1.0, 10**6, "1000001 > 1000000"),
        (0.3 + 1e-12, 0.3, "0.300000000001 > 0.3"),
        (1 + NEAR, 1, "1 > 1, by 1e-20"),
        (np.array([1, 1 + NEAR], dtype=object), 1, "1 > 1 at entry 1, by 1e-20"),
    ],
)
def test_sides_that_differ_are_written_differently(measured: Any, bound: Any, said: str) -> None:
    def stated(x: Annotated[int, choice(1)]) -> Sides:
        return at_most(measured, bound=bound, rounding=0)

    trial = attempt(Statement("", stated), Context(0, None, 1e-9, "toy/one"))
    assert trial.found is not None
    told = sentences.broken(trial, trial.found).removeprefix("at x = 1: ")
    assert told.replace("1e+06", "1000000") == said


@pytest.mark.parametrize(
    ("first", "second"), [(0.1, 0.2), (1.0, 1 + 2**-52), (0.1 + 0.2, 0.3), (1e9, 1e9 + 1)]
)
def test_two_numbers_get_the_fewest_digits_that_tell_them_apart(first: float, second: float) -> None:
    digits = sentences.digits_apart(first, second)
    assert f"{first:.{digits}g}" != f"{second:.{digits}g}"
    assert digits == 5 or f"{first:.{digits - 1}g}" == f"{second:.{digits - 1}g}"


def test_an_exact_number_beyond_all_floats_becomes_infinite_with_its_sign() -> None:
    assert [as_float(sign * Fraction(10) ** 400) for sign in (1, -1)] == [math.inf, -math.inf]
