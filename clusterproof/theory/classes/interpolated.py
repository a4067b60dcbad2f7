"""The explicit function, set or operator of a class through given triplets, and the conditions that it exists.

The conditions are those of Taylor, Hendrickx and Glineur (Math. Program. 161, 2017; SIAM J. Optim. 27, 2017) for
functions and indicators, of Ryu, Taylor, Bergeling and Giselsson (SIAM J. Optim. 30, 2020) for operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from flint import fmpq

from clusterproof.theory.classes.concrete import ConcreteOracle
from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.formulas import Envelope, Formula, Maximum, SmoothMaximum
from clusterproof.theory.classes.operators import Pairs
from clusterproof.theory.classes.sets import Hull
from clusterproof.theory.classes.vectors import Vector, inner, zero
from clusterproof.theory.squares.exact import Rational, rational


def interpolated(
    definition: Definition,
    points: Sequence[Vector],
    gradients: Sequence[Vector],
    values: Sequence[Fraction],
    *,
    minimum: Fraction | None = None,
) -> ConcreteOracle:
    """Return a function of a class through triplets which fulfil its conditions.

    With d_i = g_i - mu x_i it is, of L-smooth functions, mu/2 |x|^2 plus the least over weights a >= 0 of sum 1 of
    (L - mu)/2 |x - sum a_i z_i|^2 + sum a_i c_i, where z_i = x_i - d_i/(L - mu) and
    c_i = f_i - mu/2 |x_i|^2 - |d_i|^2/(2(L - mu)); of functions that are not convex the same with mu = -L. Not smooth:
    mu/2 |x|^2 + max_i of the affine functions. Smooth and Lipschitz: the Moreau envelope of such a maximum.
    A set is the convex hull of the points, an operator the list of its pairs.

    Parameters
    ----------
    definition
        The class.
    points, gradients, values
        x_i, g_i (normal vectors; images) and f_i (0 of sets and operators).
    minimum
        The infimum that a function that is not convex is to have; it is reached at a further, distant point if
        the triplets leave it higher.

    Raises
    ------
    ValueError
        If the triplets do not fulfil a condition of the class, or if the conditions do not ensure an operator.
    """
    violated = violated_condition(definition, points, gradients, values, minimum=minimum)
    if violated is not None:
        raise ValueError(
            f"no function, set or operator of the class has these triplets: {violated} is violated"
        )
    known = list(zip(points, gradients, strict=True))
    if isinstance(definition, SetClass):
        return ConcreteOracle(definition, Hull(tuple(points)), known)
    if isinstance(definition, OperatorClass):
        if definition.only_necessary:
            raise ValueError("the conditions of these operators are necessary only: there may be none")
        return ConcreteOracle(definition, Pairs(tuple(points), tuple(gradients)), known)
    x, g, f = list(points), list(gradients), [rational(value) for value in values]
    if not definition.convex and minimum is not None:
        x, g, f = _with_minimum(definition, x, g, f, rational(minimum))
    return ConcreteOracle(definition, _function(definition, x, g, f), known)


def violated_condition(
    definition: Definition,
    points: Sequence[Vector],
    gradients: Sequence[Vector],
    values: Sequence[Fraction],
    *,
    minimum: Fraction | None = None,
) -> str | None:
    """Return the first interpolation condition that triplets do not fulfil, as text; None if they fulfil all.

    Parameters
    ----------
    definition, points, gradients, values
        As of ``interpolated``; numbers in the text count triplets from 1.
    minimum
        f* of functions that are not convex: f_i - f* >= |g_i|^2/(2 L) is a condition, too.
    """
    triplets = list(zip(points, gradients, [rational(value) for value in values], strict=True))
    for i, (_, g, f) in enumerate(triplets, 1):
        for name, slack in _single_conditions(definition, g, f, minimum):
            if slack < 0:
                return name.replace("_i", f"_{i}")
    for (i, first), (j, second) in permutations(enumerate(triplets, 1), 2):
        for name, slack in _pair_conditions(definition, first, second):
            if slack < 0:
                return name.replace("_i", f"_{i}").replace("_j", f"_{j}")
    return None


Conditions = list[tuple[str, Rational]]
"""Names, and what must not be negative."""


def _single_conditions(
    definition: Definition, g: Vector, f: Rational, minimum: Fraction | None
) -> Conditions:
    if not isinstance(definition, FunctionClass):
        return [("f_i = 0", -abs(f))]
    conditions: Conditions = []
    if definition.lipschitz is not None:
        conditions.append(("|g_i| <= M", rational(definition.lipschitz) ** 2 - inner(g, g)))
    if not definition.convex and minimum is not None and definition.smoothness is not None:
        L = rational(definition.smoothness)
        conditions.append(("f_i - f* >= |g_i|^2/(2 L)", f - rational(minimum) - inner(g, g) / (2 * L)))
    return conditions


def _pair_conditions(
    definition: Definition, first: tuple[Vector, Vector, Rational], second: tuple[Vector, Vector, Rational]
) -> Conditions:
    (x_i, g_i, f_i), (x_j, g_j, f_j) = first, second
    d, r = x_i - x_j, g_i - g_j
    if isinstance(definition, SetClass):
        conditions = [("<g_j, x_i - x_j> <= 0", -inner(g_j, d))]
        if definition.diameter is not None:
            conditions.append(("|x_i - x_j| <= D", rational(definition.diameter) ** 2 - inner(d, d)))
        return conditions
    if isinstance(definition, OperatorClass):
        conditions = []
        if definition.monotone:
            mu = rational(definition.strong_monotonicity)
            conditions.append(("<A_i - A_j, x_i - x_j> >= mu |x_i - x_j|^2", inner(r, d) - mu * inner(d, d)))
        if definition.cocoercivity is not None:
            beta = rational(definition.cocoercivity)
            conditions.append(
                ("<A_i - A_j, x_i - x_j> >= beta |A_i - A_j|^2", inner(r, d) - beta * inner(r, r))
            )
        if definition.lipschitz is not None:
            L = rational(definition.lipschitz)
            conditions.append(("|A_i - A_j| <= L |x_i - x_j|", L**2 * inner(d, d) - inner(r, r)))
        return conditions
    mu = rational(definition.curvature)
    slack = f_i - f_j - inner(g_j, d) - mu / 2 * inner(d, d)
    name = "f_i - f_j >= <g_j, x_i - x_j>" + (" + mu/2 |x_i - x_j|^2" if mu != 0 else "")
    if definition.smoothness is None:
        return [(name, slack)]
    L, rest = rational(definition.smoothness), r - mu * d
    if mu == L:
        return [("g_i - g_j = mu (x_i - x_j)", -inner(rest, rest)), (name, slack)]
    name += " + |g_i - g_j - mu (x_i - x_j)|^2/(2 (L - mu))" if mu != 0 else " + |g_i - g_j|^2/(2 L)"
    return [
        (
            name.replace("mu", "(-L)") if not definition.convex else name,
            slack - inner(rest, rest) / (2 * (L - mu)),
        )
    ]


def _function(definition: FunctionClass, x: list[Vector], g: list[Vector], f: list[Rational]) -> Formula:
    """Return the function through triplets which fulfil the conditions."""
    mu = rational(definition.curvature)
    triplets = list(zip(x, g, f, strict=True))
    if definition.lipschitz is not None and definition.smoothness is not None:
        # the Moreau envelope takes |g_i|^2/(2 L) off the maximum at its point x_i
        L = rational(definition.smoothness)
        offsets = [f_i - inner(g_i, x_i) + inner(g_i, g_i) / (2 * L) for x_i, g_i, f_i in triplets]
        return SmoothMaximum(L, tuple(g), tuple(offsets))
    if definition.smoothness is None or definition.smoothness == definition.curvature:
        shifted = [g_i - mu * x_i for x_i, g_i, _ in triplets]
        offsets = [f_i - inner(g_i, x_i) + mu / 2 * inner(x_i, x_i) for x_i, g_i, f_i in triplets]
        if definition.smoothness is not None:  # the quadratic: every triplet gives the same
            shifted, offsets = shifted[:1], offsets[:1]
        return Maximum(mu, tuple(shifted), tuple(offsets))
    K = rational(definition.smoothness) - mu
    shifted = [g_i - mu * x_i for x_i, g_i, _ in triplets]
    points = [x_i - d / K for x_i, d in zip(x, shifted, strict=True)]
    costs = [
        f_i - mu / 2 * inner(x_i, x_i) - inner(d, d) / (2 * K)
        for (x_i, _, f_i), d in zip(triplets, shifted, strict=True)
    ]
    return Envelope(mu, K, tuple(points), tuple(costs))


def _with_minimum(
    definition: FunctionClass, x: list[Vector], g: list[Vector], f: list[Rational], minimum: Rational
) -> tuple[list[Vector], list[Vector], list[Rational]]:
    """Add a stationary point with the least value, so far away that the conditions hold.

    The infimum of the function through the triplets is the least f_i - |g_i|^2/(2 L).
    """
    L = rational(definition.smoothness)
    if min(f_i - inner(g_i, g_i) / (2 * L) for g_i, f_i in zip(g, f, strict=True)) == minimum:
        return x, g, f
    origin = zero(x[0].dimension)
    axis = Vector([1, *[0] * (x[0].dimension - 1)])
    distance = fmpq(1)
    while True:
        last = (distance * axis, origin, minimum)
        pairs = [(last, triplet) for triplet in zip(x, g, f, strict=True)]
        if all(slack >= 0 for pair in pairs for _, slack in _pair_conditions(definition, *pair)):
            return [*x, last[0]], [*g, origin], [*f, minimum]
        distance *= 2
