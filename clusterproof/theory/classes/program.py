"""The worst case of a traced claim: a semidefinite program over all inner products and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterproof.theory.classes.forms import Form
from clusterproof.theory.squares.solving import minimum, triangles

ROOT2 = np.sqrt(2.0)
TOLERANCES = (1e-10, 1e-8, 1e-7)
"""Tolerances of the solver, in this order: exact faces are read off the digits that the first one gives."""
SECONDS = 60.0
"""After which a stalled solver is a failed one."""


@dataclass(frozen=True, eq=False)
class Program:
    """Hypotheses and sides of one path, of n vectors and q values of which the last is the constant 1.

    Attributes
    ----------
    measured
        What is compared; the least of several.
    bound
        What is allowed.
    conditions, equations
        Forms that are at least 0, the constant 1 among them, and forms that are 0.
    """

    measured: Sequence[Form]
    bound: Form
    conditions: Sequence[Form]
    equations: Sequence[Form] = ()


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimum of a program in floats.

    Attributes
    ----------
    ratio
        Least rho with rho bound - sum weights measured = sum multipliers conditions + equations + <slack, G>.
    weights, multipliers, free
        Of the measured forms, the conditions and the equations.
    gram, values
        (n, n) and (q,): the worst instance, scaled such that the bound is 1.
    """

    ratio: float
    weights: np.ndarray
    multipliers: np.ndarray
    free: np.ndarray
    gram: np.ndarray
    values: np.ndarray


def solve(program: Program, kernel: np.ndarray | None = None) -> Solution | None:
    """Return the least ratio of a program; None if there is none, or if the solver fails.

    Parameters
    ----------
    program
        Sides and conditions.
    kernel
        (r, n): directions in which the slack is known to vanish.
    """
    complement = np.eye(len(program.bound.matrix)) if kernel is None else complement_of(kernel)
    count, wide = len(program.measured), len(program.measured) > 1
    unknown = [program.bound]
    unknown += [-1 * form for form in program.measured] if wide else []
    unknown += [-1 * form for form in (*program.conditions, *program.equations)]
    columns = np.array([_column(form, complement, kernel) for form in unknown]).T
    target = np.zeros(len(columns)) if wide else _column(program.measured[0], complement, kernel)
    n = complement.shape[1]
    q = len(columns) - n * (n + 1) // 2
    signed = np.arange(1, 1 + count * wide + len(program.conditions))
    rows = [columns[:q]]  # values and constant cancel
    right = [target[:q]]
    if wide:
        rows.append(np.eye(1, columns.shape[1], 0) * 0)
        rows[-1][0, 1 : 1 + count] = 1.0
        right.append(np.ones(1))
    equal = sum(len(each) for each in rows)
    rows.append(-np.eye(columns.shape[1])[signed])
    right.append(np.zeros(len(signed)))
    rows.append(-columns[q:])
    right.append(-target[q:])
    cost = np.zeros(columns.shape[1])
    cost[0] = 1.0
    found = minimise(cost, np.vstack(rows), np.concatenate(right), (equal, len(signed), n))
    if found is None:
        return None
    x, dual = found
    multipliers = x[1 + count * wide :]
    return Solution(
        ratio=float(x[0]),
        weights=x[1 : 1 + count] if wide else np.ones(1),
        multipliers=multipliers[: len(program.conditions)],
        free=multipliers[len(program.conditions) :],
        gram=complement @ matrix_of(dual[equal + len(signed) :], n) @ complement.T,
        values=-dual[: len(program.bound.linear)],
    )


def minimise(
    cost: np.ndarray, rows: np.ndarray, right: np.ndarray, cones: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimise cost @ x with rows @ x + s = right, s in {0} x nonnegative x positive semidefinite; None if it fails.

    Parameters
    ----------
    cost, rows, right
        (k,), (m, k), (m,).
    cones
        Equations, inequalities, and the order of the matrix.

    Returns
    -------
    x, dual
        (k,) and (m,).
    """
    sizes = (cones[0], cones[1], cones[2:] if cones[2] else ())
    found = minimum(rows, right, cost, sizes, seconds=SECONDS, tolerances=TOLERANCES, almost=True)
    return None if found is None else (found.unknowns, found.dual)


def complement_of(rows: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that are orthogonal to all rows."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, vectors = np.linalg.svd(rows)
    return vectors[np.sum(sizes > 1e-9) :].T


def matrix_of(triangle: np.ndarray, n: int) -> np.ndarray:
    """Read what ``triangles`` wrote."""
    matrix = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    matrix[rows, columns] = triangle / np.where(rows == columns, 1.0, ROOT2)
    return matrix + matrix.T - np.diag(np.diag(matrix))


def _column(form: Form, complement: np.ndarray, kernel: np.ndarray | None) -> np.ndarray:
    """Write values, products with the kernel, and the matrix on its complement."""
    products = () if kernel is None else (form.matrix @ kernel.T).ravel()
    return np.concatenate([form.linear, products, triangles(complement.T @ form.matrix @ complement)])
