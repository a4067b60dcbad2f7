"""A sum of squares of evidence, as the prelude reads it: each square with its weight and the hypotheses it is times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.theory.export.rocq_section import Section
from clusterproof.theory.export.rocq_text import listed, rational, whole
from clusterproof.theory.kernel import Statement
from clusterproof.theory.kernel.evaluation import limited
from clusterproof.theory.kernel.numbers import read
from clusterproof.theory.kernel.polynomials import Quotient
from clusterproof.theory.kernel.positivity import is_nonnegative, slack_of
from clusterproof.theory.kernel.rules import cases


def blocks_of(stated: Statement, record: Mapping[str, Any]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield for each inequality, in the order of cases and entries, its blocks; none where the coefficients decide."""
    if "blocks" not in record:
        yield from itertools.repeat(())
    blocks = iter(record["blocks"])
    with limited(10**9):
        for case in cases(stated, record["line"], record):
            for slack in case.sides.slacks:
                decided = case.sides.equation or type(slack) is not Quotient
                decided = decided or is_nonnegative(slack_of(slack, case.box, case.facts), case.box)
                yield () if decided else next(blocks, ())


def squares(made: Section, blocks: Sequence[Mapping[str, Any]]) -> str:
    """Write blocks b' Q b as squares, by LDL' of Q."""
    found = []
    for block in blocks:
        basis = [[(powers, Fraction(read(c))) for powers, c in polynomial] for polynomial in block["basis"]]
        factors = "; ".join(str(made.factors[place]) for place in block["factors"])
        for weight, row in _ldl([[Fraction(read(entry)) for entry in line] for line in block["matrix"]]):
            terms: dict[tuple[int, ...], Fraction] = {}
            for factor, polynomial in zip(row, basis, strict=True):
                for powers, c in polynomial:
                    terms[tuple(powers)] = terms.get(tuple(powers), Fraction(0)) + factor * c
            found.append(f"({rational(weight)}%Q, ([{factors}]%nat, {_formula(made, terms)}))")
    return listed(found)


def _ldl(matrix: list[list[Fraction]]) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Yield d and w, such that the matrix is the sum of d w w'."""
    rest = [list(row) for row in matrix]
    for k in range(len(rest)):
        pivot = rest[k][k]
        if not pivot:
            continue
        row = [entry / pivot for entry in rest[k]]
        yield pivot, row
        for i in range(len(rest)):
            factor = rest[i][k]
            for j in range(len(rest)):
                rest[i][j] -= factor * row[j]


def _formula(made: Section, terms: Mapping[tuple[int, ...], Fraction]) -> str:
    text = "(Num 0)"
    for powers, c in terms.items():
        part = f"(Div (Num ({whole(c.numerator)})) (Num {whole(c.denominator)}))"
        for symbol, power in zip(made.symbols, powers, strict=True):
            part = part if not power else f"(Mul {part} (Pow {symbol} {power}))"
        text = f"(Add {text} {part})"
    return text
