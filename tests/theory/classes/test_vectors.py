"""Exact vectors: what they do, and what they refuse."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from clusterproof.theory.classes.vectors import Vector

v = Vector([1, Fraction(1, 2)])
w = Vector([-3, 2])


def test_linear_combinations_and_inner_products_are_exact():
    assert (2 * v - w / 3 + -v * Fraction(1, 2)).entries == (Fraction(5, 2), Fraction(1, 12))
    assert sum([v, w]) == v + w
    assert type(v @ w) is Fraction
    assert v @ w == -2


def test_equal_vectors_are_one_key():
    assert {v: 1}[w + Vector([4, Fraction(-3, 2)])] == 1
    assert v != w
    assert v != (1, Fraction(1, 2))
    assert pickle.loads(pickle.dumps(v)) == v


@pytest.mark.parametrize(
    "operation",
    [
        lambda: v * 0.5,
        lambda: 0.5 * v,
        lambda: v / 2.0,
        lambda: v * True,
        lambda: np.float64(2) * v,
        lambda: v * np.int64(2),
        lambda: np.ones(2) + v,
        lambda: np.linalg.norm(v),
        lambda: v + 1,
        lambda: v + 0,
        lambda: 1 + v,
        lambda: 1 - v,
        lambda: v * v,
        lambda: v @ 2,
        lambda: v**2,
        lambda: abs(v),
        lambda: v[0],
        lambda: len(v),
        lambda: float(v),
        lambda: sorted([v, w]),
        lambda: bool(v),
        lambda: list(v),
    ],
)
def test_everything_else_is_refused(operation):
    with pytest.raises(TypeError):
        operation()


def test_the_sum_of_vectors_starts_at_0() -> None:
    vectors = [Vector([1, Fraction(1, 2)]), Vector([Fraction(1, 3), 0])]
    assert sum(vectors) == Vector([Fraction(4, 3), Fraction(1, 2)])
    with pytest.raises(TypeError):
        1 + vectors[0]
