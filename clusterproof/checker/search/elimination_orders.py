"""Choose the order in which vectors are eliminated, so that the kernel's rule *family* finds each pivot's sign."""

from __future__ import annotations

from collections.abc import Sequence

from clusterproof.checker.kernel.multipliers import Need, blocks, eliminate
from clusterproof.checker.kernel.polynomials import Polynomial, constant

MOST_ELIMINATIONS = 60
"""Largest number of pivots to try for one form."""
Matrix = Sequence[Sequence[Polynomial]]


class _Tried:
    """A search for an order, and the number of pivots that it may still try."""

    def __init__(self, need: Need) -> None:
        self.need, self.left = need, MOST_ELIMINATIONS

    def order(self, matrix: Matrix, rows: Sequence[int], last: Polynomial) -> list[int] | None:
        """Return an order of the rows that remain after a pivot, or None if none is found."""
        found: list[int] = []
        for block in blocks(matrix, rows):
            of_block = self._of_block(matrix, block, last)
            if of_block is None:
                return None
            found += of_block
        return found

    def _of_block(self, matrix: Matrix, block: Sequence[int], last: Polynomial) -> list[int] | None:
        if len(block) == 1:
            return [*block] if self.need.is_nonnegative(matrix[block[0]][block[0]]) else None
        if not all(matrix[row][row] for row in block):
            return None
        for first in sorted(block, key=lambda row: (len(matrix[row][row]), sum(map(bool, matrix[row])))):
            if not self.need.is_nonnegative(matrix[first][first]):
                continue
            if not self.left:
                return None
            self.left -= 1
            others, after = [row for row in block if row != first], [list(row) for row in matrix]
            eliminate(after, first, others, last)
            if (rest := self.order(after, others, matrix[first][first])) is not None:
                return [first, *rest]
        return None


def order_of(matrix: Matrix, need: Need) -> list[int] | None:
    """Return an order of a symmetric matrix's rows in which all pivots are proved to be nonnegative.

    Parameters
    ----------
    matrix
        A matrix of polynomials.
    need
        The need whose hypotheses prove the signs of the pivots.

    Returns
    -------
    list or None
        The order; the search tries pivots with few terms first. It is None if no order is found.

    Raises
    ------
    OutOfFuel
        If the search exceeds its limit of steps.
    """
    return _Tried(need).order(matrix, range(len(matrix)), constant(1, need.width))
