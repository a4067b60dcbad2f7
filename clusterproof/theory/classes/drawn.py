"""Random functions, sets and operators of classes, with an exact common solution."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq

from clusterproof.theory.classes.concrete import ConcreteOracle, ConcreteWorld
from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.draw_formulas import (
    draw_basis,
    draw_formula,
    draw_separable,
    draw_small,
    draw_unit,
    magnitude,
    pick,
)
from clusterproof.theory.classes.formulas import Maximum
from clusterproof.theory.classes.sets import Indicator
from clusterproof.theory.classes.vectors import Vector, combination, inner, zero
from clusterproof.theory.squares.exact import Rational, fraction, rational


def draw_world(
    definitions: Sequence[Definition],
    groups: Sequence[int],
    stream: np.random.Generator,
    *,
    distance: Fraction | None = None,
    dimension: int | None = None,
) -> ConcreteWorld:
    """Return random functions, sets and operators of classes, with an exact solution.

    Each is drawn with a prescribed subgradient (normal vector, image) at the solution, such that their sum there
    is zero.

    Parameters
    ----------
    definitions
        The class of every function, set and operator, those of one group after those of the other. Functions
        that are not convex are single.
    groups
        Number of them in every summand, which is their mean, as of ``problem``.
    stream
        Source of randomness.
    distance
        |start - solution| is at most this; None for no limit.
    dimension
        Of the space; None for 1 to 4.
    """
    if dimension is None:
        dimension = pick((1, 1, 1, 2, 2, 3, 4), stream)
    if isinstance(definitions[0], FunctionClass) and not definitions[0].convex:
        return _draw_bounded(definitions[0], dimension, stream)
    weights = [fmpq(1, size) for size in groups for _ in range(size)]
    if distance is None:
        radius = pick((fmpq(1), magnitude(stream)), stream)
    else:
        radius = rational(distance) * pick((1, 1, 1, fmpq(1, 2), magnitude(stream, -6, 0)), stream)
    solution = pick((zero(dimension), draw_small(dimension, stream)), stream)
    if len(definitions) == 1:
        (definition,) = definitions
        fixed = isinstance(definition, OperatorClass) and definition.has_fixed_point
        subgradients = [solution if fixed else zero(dimension)]
    else:
        subgradients = _draw_balanced(definitions, weights, dimension, radius, stream)
    oracles, minimum = [], fmpq(0)
    for definition, weight, subgradient in zip(definitions, weights, subgradients, strict=True):
        value = Fraction(pick((0, 0, 1, -2), stream) if isinstance(definition, FunctionClass) else 0)
        formula = draw_formula(definition, solution, subgradient, value, radius, stream)
        several = isinstance(formula, Maximum | Indicator)  # others have one subgradient only
        oracles.append(ConcreteOracle(definition, formula, [(solution, subgradient)] if several else ()))
        minimum += weight * rational(value)
    start = solution + radius * draw_unit(dimension, stream)
    return ConcreteWorld(oracles, start, solution, fraction(minimum), _further(solution, radius, stream))


def _draw_balanced(
    definitions: Sequence[Definition],
    weights: Sequence[Rational],
    dimension: int,
    radius: Rational,
    stream: np.random.Generator,
) -> list[Vector]:
    """Return subgradients at the solution whose weighted sum is zero, those of Lipschitz functions short enough."""
    limits = [
        definition.lipschitz if isinstance(definition, FunctionClass) else None for definition in definitions
    ]
    sets = [i for i, definition in enumerate(definitions) if isinstance(definition, SetClass)]
    free = [i for i, limit in enumerate(limits) if limit is None and i not in sets]
    if stream.random() < 0.25 or len(sets) == len(definitions):
        return [zero(dimension)] * len(definitions)
    vectors = []
    for definition, limit in zip(definitions, limits, strict=True):
        smoothness = definition.smoothness if isinstance(definition, FunctionClass) else None
        size = radius * rational(smoothness or Fraction(1)) / 2
        if limit is None:
            vectors.append(size * pick((0, 1), stream) * draw_small(dimension, stream))
        else:
            share = pick((0, 1, fmpq(1, 2)), stream)
            vectors.append(rational(limit) * share * draw_unit(dimension, stream))
    # the others' sum is taken off a function without a limit, an operator, else a set, else the last
    last = (free or sets or [len(definitions) - 1])[-1]
    if last in sets:  # the normal vectors of the other sets are zero
        vectors = [zero(dimension) if i in sets else vector for i, vector in enumerate(vectors)]
    vectors[last] = zero(dimension)
    vectors[last] = -combination(weights, vectors) / weights[last]
    while any(
        limit is not None and inner(vector, vector) > rational(limit) ** 2
        for vector, limit in zip(vectors, limits, strict=True)
    ):
        vectors = [vector / 2 for vector in vectors]
    return vectors


def _draw_bounded(definition: FunctionClass, dimension: int, stream: np.random.Generator) -> ConcreteWorld:
    """Return a function that is not convex, of which the infimum is known."""
    L = rational(definition.smoothness)
    scale = pick((fmpq(1), magnitude(stream)), stream)
    start, centre = draw_small(dimension, stream), draw_small(dimension, stream)
    gradient, value = L * scale / 2 * draw_small(dimension, stream), fmpq(pick((0, 1, -2), stream))
    basis = draw_basis(dimension, stream)
    formula = draw_separable(-L, L, basis, centre, gradient, value, scale, stream)
    minimum = sum((part.infimum() for part in formula.parts), fmpq(0))
    oracle = ConcreteOracle(definition, formula)
    return ConcreteWorld([oracle], start, None, fraction(minimum), _further(start, scale, stream))


def _further(centre: Vector, radius: Rational, stream: np.random.Generator) -> list[Vector]:
    """Return points around a point."""
    return [centre + radius * magnitude(stream) * draw_unit(centre.dimension, stream) for _ in range(3)]
