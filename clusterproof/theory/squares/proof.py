"""What a proof by sums of squares is, and its check: an identity of polynomials, and matrices that are >= 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from clusterproof.theory.squares.exact import is_positive_semidefinite
from clusterproof.theory.squares.terms import Powers, Terms, product, product_of


@dataclass(frozen=True)
class Block:
    """A product of generators times b' Q b, which is a sum of squares if Q >= 0.

    Attributes
    ----------
    factors
        Indices of the generators that are multiplied.
    basis
        The polynomials b.
    matrix
        Q, symmetric, of fractions.
    """

    factors: tuple[int, ...]
    basis: Sequence[Terms]
    matrix: Sequence[Sequence[Fraction]]


def is_proof(target: Terms, generators: Sequence[Terms], blocks: Sequence[Block]) -> bool:
    """Return whether the target is the sum of the blocks, so that it is >= 0 where the generators are.

    Nothing is rounded: the coefficients of both sides are compared as fractions, and every matrix is factorised in
    fractions.

    Parameters
    ----------
    target, generators
        Polynomials in the same variables.
    blocks
        The summands.
    """
    variables = len(next(iter(target), ()))
    total: dict[Powers, Fraction] = {}
    for block in blocks:
        matrix = block.matrix
        order = len(block.basis)
        if [len(row) for row in matrix] != [order] * order:
            return False
        if any(matrix[i][j] != matrix[j][i] for i in range(order) for j in range(i)):
            return False
        if not all(type(entry) is Fraction for row in matrix for entry in row):
            return False
        if not is_positive_semidefinite(matrix):
            return False
        weight = product_of((generators[index] for index in block.factors), variables)
        for i, left in enumerate(block.basis):
            for j, right in enumerate(block.basis):
                if matrix[i][j]:
                    for powers, value in product(weight, product(left, right)).items():
                        total[powers] = total.get(powers, Fraction(0)) + matrix[i][j] * value
    return {powers: value for powers, value in total.items() if value} == dict(target)
