"""Find the multipliers of a round with Clarabel, round them to rationals, and keep those that pass the exact check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.certificates.one_round import (
    MEAN,
    Proof,
    RoundCertificate,
    failing_condition,
)
from clusterproof.theory.certificates.rounds import Block, Round, interpolation
from clusterproof.theory.certificates.solving import optimum

SLACKS = (Fraction(1, 10**4), Fraction(1, 10**3), Fraction(1, 10**2))
"""Relative additions to the least constant, tried in turn, that leave room for rounding the multipliers."""

SECONDS = 60.0
"""Time limit of one solve."""

DIGITS = 12
"""Decimals of a multiplier."""


def prove_round(
    round_: Round,
    *,
    distance: Fraction = Fraction(1),
    disagreement: Fraction = Fraction(1),
    rate: Fraction | None = None,
    weight: Fraction = Fraction(0),
    ratio: Fraction | None = None,
) -> RoundCertificate | None:
    """Return a certificate that bounds rate D^2 + constant G closely from above, in units of the round's parameters.

    Parameters
    ----------
    round_
        The round.
    distance, disagreement
        D^2 and G, at which the bound is to be least.
    rate
        The rate; if None, the one with the least bound.
    weight
        Weight a of the control variates' error after the round.
    ratio
        constant / rate, for rates of a Lyapunov function: equal to ``weight``. If None, the constant is free.

    Returns
    -------
    RoundCertificate or None
        None if the solver claims no bound, or none passes the exact check.
    """
    unit = round_.unit**2
    search = Search(Proof(round_, weight=weight / unit))
    goal = (float(distance / unit), float(disagreement))
    scaled = None if ratio is None else ratio / unit
    best = search.least(
        goal, rate=None if rate is None else float(rate), ratio=None if scaled is None else float(scaled)
    )
    if best is None:
        return None
    for slack in SLACKS:
        proved_rate = rate if rate is not None else rounded_up(best.rate + float(slack) * abs(1 - best.rate))
        constant = rounded_up(best.constant * (1 + float(slack))) if scaled is None else proved_rate * scaled
        multipliers = search.interior(float(proved_rate), float(constant))
        if multipliers is None:
            continue
        certificate = RoundCertificate(
            round=round_,
            rate=proved_rate,
            constant=constant * unit,
            weight=weight,
            multipliers=balanced(search.proof, multipliers),
        )
        if failing_condition(certificate) is None:
            return certificate
    return None


@dataclass(frozen=True)
class Least:
    """The solver's optimum, in units of the step."""

    rate: float
    constant: float
    value: float


class Search:
    """The semidefinite program of a number of rounds: unknowns are the rate, the constant, a margin, and lambda_ab.

    Parameters
    ----------
    proof
        Its conditions.
    """

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        self.names = list(proof.pairs)
        blocks = (proof.trajectory.means, proof.trajectory.deviations)
        self.blocks = [self._tabulate(block, mean=k == 0) for k, block in enumerate(blocks)]
        self.flow = np.zeros((len(proof.trajectory.labels) - 1, 3 + len(self.names)))
        for column, (a, b) in enumerate(proof.pairs.values(), start=3):
            for point, sign in ((a, 1.0), (b, -1.0)):
                if point > 0:
                    self.flow[point - 1, column] = sign

    def least(
        self, goal: tuple[float, float], *, rate: float | None = None, ratio: float | None = None
    ) -> Least | None:
        """Minimise rate goal[0] + constant goal[1]; None if unsolved."""
        cost = np.zeros(3 + len(self.names))
        cost[:2] = np.array(goal) / max(goal)
        fixed = {2: 0.0}
        if rate is not None:
            fixed[0] = rate
        answer = self._solve(cost, fixed, ratio)
        if answer is None:
            return None
        return Least(answer[0], answer[1], float(answer[:2] @ goal))

    def interior(self, rate: float, constant: float) -> np.ndarray | None:
        """Return multipliers with the largest margin at a rate and a constant; None if it is not positive."""
        cost = np.zeros(3 + len(self.names))
        cost[2] = -1.0
        answer = self._solve(cost, {0: rate, 1: constant}, None)
        return None if answer is None or answer[2] <= 0 else np.asarray(answer[3:])

    def _tabulate(self, block: Block, *, mean: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the constant matrix of a block, and that of each unknown, (unknowns, size, size)."""
        positions, gradients = (
            np.array(vectors, dtype=float) for vectors in (block.positions, block.gradients)
        )
        size = positions.shape[1]
        constant = np.zeros((size, size))
        for share, vector in block.outcomes:
            row = vector.astype(float)
            constant -= float(share) * np.outer(row, row)
        unknowns = np.zeros((3 + len(self.names), size, size))
        for place, start in enumerate((block.start, block.disagreement)):
            if start is not None:
                unknowns[place] = np.outer(start.astype(float), start.astype(float))
        unknowns[2] = -np.eye(size)
        a, b = np.array(list(self.proof.pairs.values())).T
        vectors = np.stack([positions[a], positions[b], gradients[a], gradients[b]], axis=1)
        for curvatures in {self.proof.curvatures(name) for name in self.names}:
            chosen = np.array(
                [
                    self.proof.curvatures(name) == curvatures and (mean or not name.startswith(MEAN))
                    for name in self.names
                ]
            )
            form = np.array(interpolation(*map(float, curvatures)))
            mine = vectors[chosen]
            unknowns[3:][chosen] = -np.swapaxes(mine, 1, 2) @ (form @ mine)
        return constant, unknowns

    def _solve(self, cost: np.ndarray, fixed: dict[int, float], ratio: float | None) -> np.ndarray | None:
        """Minimise a cost under the conditions."""
        count = len(cost)
        equalities, values = [self.flow], [np.zeros(len(self.flow))]
        for column, value in fixed.items():
            equalities.append(np.eye(count)[[column]])
            values.append(np.array([value]))
        if ratio is not None:
            equalities.append(np.array([[-ratio, 1.0] + [0.0] * (count - 2)]))
            values.append(np.zeros(1))
        signs = -np.eye(count)[3:]
        signs[:, 2] = 1.0  # lambda - margin >= 0
        rows, vectors = [*equalities, signs], [*values, np.zeros(len(signs))]
        for constant, unknowns in self.blocks:
            rows.append(-_triangle(unknowns).T)
            vectors.append(_triangle(constant[None])[0])
        orders = [len(constant) for constant, _ in self.blocks]
        sizes = (sum(map(len, equalities)), len(signs), orders)
        return optimum(np.concatenate(rows), np.concatenate(vectors), cost, sizes, SECONDS)


def balanced(proof: Proof, multipliers: np.ndarray) -> dict[str, Fraction]:
    """Round multipliers and add each point's imbalance to its pair with x*, so that function values cancel."""
    scale = 10**DIGITS
    exact = {
        name: Fraction(round(max(number, 0.0) * scale), scale)
        for name, number in zip(proof.pairs, multipliers.tolist(), strict=True)
    }
    for label, surplus in proof.imbalances(exact).items():
        if label != "*" and surplus != 0:
            exact[f"*,{label}" if surplus > 0 else f"{label},*"] += abs(surplus)
    return {name: number for name, number in exact.items() if number != 0}


def rounded_up(value: float) -> Fraction:
    """Return the next decimal with twelve significant digits."""
    scale = Fraction(10) ** (11 - math.floor(math.log10(abs(value) or 1.0)))
    return Fraction(math.floor(Fraction(value) * scale) + 1) / scale


def _triangle(matrices: np.ndarray) -> np.ndarray:
    """Return the upper triangles, column by column, with off-diagonal entries times sqrt(2), as Clarabel has them."""
    columns, rows = np.tril_indices(matrices.shape[-1])
    weights: Any = np.where(rows == columns, 1.0, np.sqrt(2.0))
    return np.asarray(matrices[:, rows, columns] * weights)
