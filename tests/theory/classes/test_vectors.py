"""Exact vectors: what they do, and what they refuse."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from clusterproof.theory.classes.vectors import Vector

V = Vector([1, Fraction(1, 2)])
W = Vector([-3, 2])


def test_linear_combinations_and_inner_products_are_exact():
    assert (2 * V - W / 3 + -V * Fraction(1, 2)).entries == (Fraction(5, 2), Fraction(1, 12))
    assert type(V @ W) is Fraction
    assert V @ W == -2


def test_equal_vectors_are_one_key():
    assert {V: 1}[W + Vector([4, Fraction(-3, 2)])] == 1
    assert V != W
    assert V != (1, Fraction(1, 2))
    assert pickle.loads(pickle.dumps(V)) == V


@pytest.mark.parametrize(
    "operation",
    [
        lambda: V * 0.5,
        lambda: 0.5 * V,
        lambda: V / 2.0,
        lambda: V * True,
        lambda: np.float64(2) * V,
        lambda: V * np.int64(2),
        lambda: np.ones(2) + V,
        lambda: np.linalg.norm(V),
        lambda: V + 1,
        lambda: 1 - V,
        lambda: V * V,
        lambda: V @ 2,
        lambda: V**2,
        lambda: abs(V),
        lambda: V[0],
        lambda: len(V),
        lambda: float(V),
        lambda: sorted([V, W]),
        lambda: bool(V),
        lambda: list(V),
    ],
)
def test_everything_else_is_refused(operation):
    with pytest.raises(TypeError):
        operation()
