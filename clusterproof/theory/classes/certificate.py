"""Whether a sum of multiples of forms is shown to be nonnegative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from clusterproof.theory.classes.forms import Form
from clusterproof.theory.squares.exact import is_positive_semidefinite, rational


def failures_of(
    terms: Iterable[tuple[Fraction, Form]], blocks: Mapping[str, Sequence[int]] | None = None
) -> Iterator[str]:
    """Yield why a sum of multiples of forms is not shown to be nonnegative, in exact arithmetic.

    Parameters
    ----------
    terms
        Factors, and forms of integers.
    blocks
        Vectors that are orthogonal to those of all other blocks, by their names; None for all vectors in one.
    """
    terms = [(factor, form) for factor, form in terms if factor]
    unit = lcm(*(factor.denominator for factor, _ in terms))
    slack = sum(
        (int(factor * unit) * form for factor, form in terms[1:]), int(terms[0][0] * unit) * terms[0][1]
    )
    if any(slack.linear):
        yield "the function values do not cancel"
    for name, vectors in (blocks or {"": range(len(slack.matrix))}).items():
        matrix = [
            [rational(Fraction(entry)) for entry in row] for row in slack.matrix[np.ix_(vectors, vectors)]
        ]
        if not is_positive_semidefinite(matrix):
            yield f"{name}: the remaining quadratic form is not positive semidefinite".removeprefix(": ")
