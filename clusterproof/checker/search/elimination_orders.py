"""Choose an order of elimination for which the kernel's rule *family* can prove the sign of every pivot."""

from __future__ import annotations

from collections.abc import Sequence

from clusterproof.checker.kernel.multipliers import Need, blocks, eliminate
from clusterproof.checker.kernel.polynomials import Polynomial, constant

MOST_ELIMINATIONS = 60
"""Largest number of pivots to try for one quadratic form."""
Matrix = Sequence[Sequence[Polynomial]]


class _Tried:
    """State of a search for an order: the inequality to prove, and the number of pivots that may still be tried."""

    def __init__(self, need: Need) -> None:
        self.need, self.left = need, MOST_ELIMINATIONS

    def order(self, matrix: Matrix, rows: Sequence[int], last: Polynomial) -> list[int] | None:
        """Return an order of the given rows, or None if none is found."""
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
    """Return an order of a symmetric matrix's rows for which the kernel can prove that no pivot is negative.

    Parameters
    ----------
    matrix
        A matrix of polynomials.
    need
        The inequality to prove; its hypotheses may be used to prove the signs of the pivots.

    Returns
    -------
    list or None
        The order, or None if no order is found. The search tries pivots with few terms first.

    Raises
    ------
    OutOfFuel
        If the search exceeds its limit of steps.
    """
    return _Tried(need).order(matrix, range(len(matrix)), constant(1, need.width))
