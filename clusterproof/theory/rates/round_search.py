"""Search for multipliers of a round with Clarabel, rounded to fractions and checked exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from clusterproof.checker.search.paths import Coordinates
from clusterproof.checker.search.semidefinite import minimum, triangles
from clusterproof.theory.rates.one_round import RoundRate
from clusterproof.theory.rates.rounds import Round
from clusterproof.theory.rates.traced_rounds import TracedRounds, trace_rounds

SLACKS = (Fraction(1, 10**4), Fraction(1, 10**3), Fraction(1, 10**2))
"""Relative increases of the smallest constant, as a margin for rounding the multipliers, in the order of attempts."""

SMALL = Fraction(1, 1000)
"""Share of the decrease of the distance in a round that is added to the constant in the computation of margins."""

MAX_SCALE = 1e4
"""Largest D^2 / G in the program, in units of the step size.

For larger values, the best rate changes by at most 1e-8.
"""

MEAN = ("mean 0", "mean 1")
"""Names of the two interpolation conditions on the clients' mean loss between the initial model and x*."""

DIGITS = 12
"""Number of decimals of a multiplier."""


def prove_round(
    round_: Round,
    *,
    distance: Fraction = Fraction(1),
    disagreement: Fraction = Fraction(1),
    rate: Fraction | None = None,
    weight: Fraction = Fraction(0),
    ratio: Fraction | None = None,
) -> RoundRate | None:
    """Return a bound rate D^2 + constant G close to the smallest such bound.

    Parameters
    ----------
    round_
        The round.
    distance, disagreement
        D^2 and G, for which the bound should be as small as possible.
    rate
        The rate. If None, it is the rate with the smallest bound.
    weight
        Weight a of the control variates' error after the round.
    ratio
        The quotient constant / rate, which equals ``weight`` for rates of a Lyapunov function. If None, the constant is
        free.

    Returns
    -------
    RoundRate or None
        The bound, or None if the solver finds no bound that passes the exact check.
    """
    unit = round_.unit**2
    relative = float(distance / unit / disagreement)
    scale = 1.0 if ratio is not None else min(max(relative, 1.0), MAX_SCALE)
    search = Search(trace_rounds(round_, weight=weight / unit), scale)
    scaled = None if ratio is None else ratio / unit
    given = rate is not None
    if rate is None:
        goal = (min(relative, 1.0), 1.0) if ratio is None else (1.0, 0.0)
        best = search.least(goal, ratio=None if scaled is None else float(scaled))
        if best is None:
            return None
        rate = 1 + rounded_up(best[0] / search.scale)
    constant = Fraction(0)
    if scaled is None:
        best = search.least((0.0, 1.0), rate=rate)
        if best is None:
            return None
        constant = Fraction(best[1])
    for slack in SLACKS:
        if scaled is None:
            # if the constant can be 0, the program has interior points only for rates with a margin
            proved_rate = rate if given else rounded_up(rate + SMALL * slack * abs(1 - rate))
            margin = SMALL * abs(rate - 1) * Fraction(scale)
            proved = rounded_up(constant + slack * (constant + margin))
        else:
            proved_rate = rounded_up(rate + slack * abs(1 - rate))
            proved = proved_rate * scaled
        multipliers = search.interior(proved_rate, proved)
        if multipliers is None:
            continue
        found = RoundRate(
            round=round_,
            rate=proved_rate,
            constant=proved * unit,
            weight=weight,
            multipliers=balanced(search.traced, multipliers),
        )
        if not any(found.failures()):
            return found
    return None


class Search:
    """Semidefinite program for one or several rounds.

    The unknowns are the gain (rate - 1) scale, the constant, a margin, and the multipliers lambda_ab. If the scale is
    about D^2 / G in units of the step size, the gain and the constant contribute about equally to the bound.

    Parameters
    ----------
    traced
        The rounds.
    scale
        The scale, greater than 0.
    """

    def __init__(self, traced: TracedRounds, scale: float = 1.0) -> None:
        self.traced, self.scale = traced, scale
        known = [traced.split(each) for each in (traced.before, traced.heterogeneity, traced.after)]
        conditions = [traced.split(each) for each in traced.conditions.values()]
        self.count = 3 + len(conditions)
        forms = [*known, *conditions]
        of_values = Coordinates(forms)
        self.flow = np.array([of_values.others(form)[:-1] for form in forms]).T
        self.blocks = []
        for vectors in traced.blocks.values():
            own = [
                {key: v for key, v in form.items() if key[0] in vectors and len(key) == 2} for form in forms
            ]
            coordinates = Coordinates(own)
            units = np.ones(len(coordinates.vectors))  # scales of the basis vectors
            if 1 in coordinates.vectors:
                units[coordinates.vectors[1]] = math.sqrt(scale)
            distance, disagreement, outcome, *others = (
                coordinates.matrix(form) * np.outer(units, units) for form in own
            )
            unknowns = [distance / scale, disagreement, -np.eye(len(units)), *(-each for each in others)]
            self.blocks.append((distance - outcome, np.array(unknowns)))

    def least(
        self, goal: tuple[float, float], *, rate: Fraction | None = None, ratio: float | None = None
    ) -> tuple[float, float] | None:
        """Minimise goal[0] gain + goal[1] constant, and return gain and constant, or None if the solver fails.

        Parameters
        ----------
        goal
            The two weights.
        rate
            A fixed rate, or None if the rate is free.
        ratio
            A fixed quotient constant / rate, or None if both are free.
        """
        cost = np.zeros(self.count)
        cost[:2] = goal
        fixed = {2: 0.0} if rate is None else {2: 0.0, 0: float(rate - 1) * self.scale}
        answer = self._solve(cost, fixed, ratio)
        return None if answer is None else (float(answer[0]), float(answer[1]))

    def interior(self, rate: Fraction, constant: Fraction) -> np.ndarray | None:
        """Return multipliers with the largest margin for a rate and a constant, or None if no margin is positive."""
        cost = np.zeros(self.count)
        cost[2] = -1.0
        answer = self._solve(cost, {0: float(rate - 1) * self.scale, 1: float(constant)}, None)
        return None if answer is None or answer[2] <= 0 else np.asarray(answer[3:])

    def _solve(self, cost: np.ndarray, fixed: dict[int, float], ratio: float | None) -> np.ndarray | None:
        """Minimise a cost over the unknowns.

        Parameters
        ----------
        cost
            Coefficients of the cost.
        fixed
            Fixed values of unknowns, indexed by the unknowns' indices.
        ratio
            See ``least``.
        """
        count = len(cost)
        equalities, values = [self.flow], [np.zeros(len(self.flow))]
        for column, value in fixed.items():
            equalities.append(np.eye(count)[[column]])
            values.append(np.array([value]))
        if ratio is not None:
            equalities.append(np.array([[-ratio / self.scale, 1.0] + [0.0] * (count - 2)]))
            values.append(np.array([ratio]))
        signs = -np.eye(count)[3:]
        signs[:, 2] = 1.0  # the constraint lambda - margin >= 0
        rows, vectors = [*equalities, signs], [*values, np.zeros(len(signs))]
        for constant, unknowns in self.blocks:
            rows.append(-triangles(unknowns).T)
            vectors.append(triangles(constant))
        orders = [len(constant) for constant, _ in self.blocks]
        sizes = (sum(map(len, equalities)), len(signs), orders)
        found = minimum(np.concatenate(rows), np.concatenate(vectors), cost, sizes)
        return None if found is None else found.unknowns


def balanced(traced: TracedRounds, multipliers: np.ndarray) -> dict[str, Fraction]:
    """Round the multipliers, and add multipliers for pairs with x* that make all function values cancel."""
    scale, surplus = 10**DIGITS, defaultdict[str, Fraction](Fraction)
    exact = {
        name: Fraction(round(max(number, 0.0) * scale), scale)
        for name, number in zip(traced.conditions, multipliers.tolist(), strict=True)
    }
    for name, number in exact.items():
        first, second = (
            ("1", "0")[:: 1 if name == "mean 0" else -1] if name in MEAN else name.split(":")[1].split(",")
        )
        surplus[first] += number
        surplus[second] -= number
    for label, amount in surplus.items():
        if label != "0":
            exact[f"0:0,{label}:0" if amount > 0 else f"0:{label},0:0"] += abs(amount)
    return {name: number for name, number in exact.items() if number}


def rounded_up(value: Fraction | float) -> Fraction:
    """Round a number up to twelve significant digits."""
    numerator, denominator = map(Decimal, value.as_integer_ratio())
    return Fraction(Context(prec=12, rounding=ROUND_CEILING).divide(numerator, denominator))
