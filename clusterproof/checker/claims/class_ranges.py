"""Every function, operator or set of a class, as the range of a claim's quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from clusterproof.checker.claims.drawn_functions import Drawn, Known, draw
from clusterproof.checker.claims.ranges import End, Instance, Range, parameters_of, value_of
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.functions import Problem, problem
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, OperatorClass, SetClass, slacks_of
from clusterproof.checker.kernel.worlds import World
from clusterproof.common import InvalidArgument

Function: TypeAlias = Problem
ConvexSet: TypeAlias = Problem
Operator: TypeAlias = Problem
"""What a claim's function is given."""
Member = Known | Drawn
"""Value of a quantity."""


@dataclass(frozen=True, eq=False)
class Group:
    """Functions, sets or operators of one class, of which the mean is meant.

    Attributes
    ----------
    kind
        ``FunctionClass``, ``SetClass`` or ``OperatorClass``.
    constants
        Of the class, by name; numbers, or functions of earlier quantities.
    count
        How many of them.
    """

    kind: type[Class]
    constants: Mapping[str, Any]
    count: int = 1

    def definition(self, so_far: Instance) -> Class:
        """Return the class at an instance's earlier quantities."""
        values = {name: value_of(end, so_far) for name, end in self.constants.items()}
        exact: dict[str, Any] = {
            n: v if v is None or isinstance(v, bool) else _constant(n, v) for n, v in values.items()
        }
        return self.kind(**exact)


@dataclass(frozen=True, eq=False)
class OfClass(Range):
    """A function, operator or set of a class, or a sum of them with one solution."""

    groups: tuple[Group, ...]
    distance: End | None = None
    names: tuple[str, ...] = field(init=False)

    complete = False
    drawn = True

    def __post_init__(self) -> None:
        ends = [end for group in self.groups for end in group.constants.values()]
        named = {name: None for end in (*ends, self.distance) if callable(end) for name in parameters_of(end)}
        object.__setattr__(self, "names", tuple(named))

    def __add__(self, other: OfClass) -> OfClass:
        if not isinstance(other, OfClass):
            return NotImplemented
        for each in (self, other):
            for group in each.groups:
                if group.constants.get("convex") is False:
                    rule = "must be convex in a sum"
                    raise InvalidArgument("convex", False, rule, "state the claim of the single function")
        if self.distance is not None and other.distance is not None:
            rule, remedy = "must be given by one summand", "leave it out of the other"
            raise InvalidArgument("distance", other.distance, rule, remedy)
        distance = other.distance if self.distance is None else self.distance
        return OfClass(self.groups + other.groups, distance)

    @property
    def depends_on(self) -> Sequence[str]:  # type: ignore[override]  # follows from the constants
        """Earlier quantities that the constants name."""
        return self.names

    def world(self, value: Member, so_far: Instance) -> World:
        """Return functions of which nothing was asked.

        Raises
        ------
        Refused
            If there is no member of the class with these triplets.
        """
        return value.world(self._groups(so_far), self._reach(so_far))

    def _reach(self, so_far: Instance) -> Fraction | None:
        return None if self.distance is None else _constant("distance", value_of(self.distance, so_far))

    def _groups(self, so_far: Instance) -> list[tuple[int, Class]]:
        return [(group.count, group.definition(so_far)) for group in self.groups]

    def passed(self, value: Member, so_far: Instance) -> Problem:
        """Return the value on a fresh world, so that one evaluation does not depend on another."""
        return problem(self.world(value, so_far))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether it consists of functions, sets or operators of the classes."""
        try:  # of earlier quantities outside of their ranges there may be no such class
            if type(value) is Drawn:
                return value.groups == self._groups(so_far)
            return type(value) is Known and self.world(value, so_far) is not None
        except Refused:
            return False

    def require(self, value: Member, so_far: Instance) -> None:
        """Require that what was asked of a function fulfils the conditions of its class.

        Raises
        ------
        InvalidArgument
            If a condition fails.
        """
        world = self.world(value, so_far)
        for oracle in world.oracles:
            triplets = [*oracle.known.values(), *oracle.proximal.values()]
            if any(slack < 0 for slack in slacks_of(oracle.definition, triplets, world.minimum).values()):
                rule, remedy = f"must be {self.describe(so_far)}", "take the counterexample from a report"
                raise InvalidArgument("a function", str(oracle.definition), rule, remedy)

    def describe(self, so_far: Instance) -> str:
        """Name the classes."""
        return " + ".join(
            f"a {each}" if count == 1 else f"the mean of {count} functions, each a {each}"
            for count, each in self._groups(so_far)
        )

    def encode(self, value: Member) -> Any:
        """Write start, solution, minimum, further points and triplets as the kernel reads them."""
        return value.code

    def for_kernel(self, value: Member) -> Any:
        """Write what ``encode`` does."""
        return value.code

    def decode(self, code: Any) -> Known:
        """Read what ``encode`` wrote."""
        return Known(code)

    def key(self, value: Member) -> str:
        """Return what tells values apart, whatever was asked of them."""
        return repr(value)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Drawn | None:
        """Draw functions, sets and operators in fractions, with an exact solution; None if the class has no member."""
        try:
            return draw(self._groups(so_far), self._reach(so_far), stream)
        except Refused:
            return None


def class_of(space: Space) -> str | None:
    """Return the quantity of a space that is a function of a class; None if none is."""
    names = [name for name, each in space.ranges.items() if isinstance(each, OfClass)]
    return names[0] if names else None


def require_members(space: Space, instance: Instance) -> None:
    """Require that what was asked of an instance's functions fulfils the conditions of their class.

    Raises
    ------
    InvalidArgument
        If a condition fails.
    """
    for name, allowed in space.ranges.items():
        if isinstance(allowed, OfClass):
            allowed.require(instance[name], instance)


def functions(
    *,
    smoothness: End | None = None,
    strong_convexity: End = 0,
    lipschitz: End | None = None,
    convex: bool = True,
    distance: End | None = None,
    count: int = 1,
) -> Any:
    """Every function of a class, from R^d for any d, with a start and, if it is convex, a minimiser.

    Constants are ints, Fractions or functions of earlier quantities, such as ``lambda mu: mu``.

    Parameters
    ----------
    smoothness
        L: the gradient is L-Lipschitz. None for functions that need not be differentiable, of which ``f.gradient`` is
        any subgradient, the same at the same point.
    strong_convexity
        mu: f - mu |x|^2 / 2 is convex.
    lipschitz
        M: every subgradient has at most this length.
    convex
        False for smooth functions that need not be convex: they have ``f.minimum`` and no ``f.minimiser``.
    distance
        What |start - minimiser| is at most; ``f.distance`` is this number then.
    count
        Number of functions of which the mean is meant, ``f.parts``.

    Raises
    ------
    InvalidArgument
        If a constant is none of these, negative, or contradicts another one.
    """
    _check(smoothness=smoothness, strong_convexity=strong_convexity, lipschitz=lipschitz, distance=distance)
    if not convex and (smoothness is None or strong_convexity != 0 or lipschitz or distance or count != 1):
        rule = "must be smooth, single, and without strong_convexity, lipschitz and distance"
        raise InvalidArgument("convex", convex, rule, "give smoothness= alone")
    if lipschitz is not None and strong_convexity != 0:
        rule = "must be 0 for Lipschitz functions: none is strongly convex"
        raise InvalidArgument("strong_convexity", strong_convexity, rule, "leave one of them out")
    numbers = [end for end in (strong_convexity, smoothness) if end is not None and not callable(end)]
    if len(numbers) == 2 and numbers[0] > numbers[1]:
        raise InvalidArgument(
            "strong_convexity", strong_convexity, "must be at most the smoothness", "correct it"
        )
    if type(count) is not int or count < 1:
        raise InvalidArgument("count", count, "must be an integer, at least 1", "correct it")
    constants = {
        "smoothness": smoothness,
        "strong_convexity": strong_convexity,
        "lipschitz": lipschitz,
        "convex": convex,
    }
    return OfClass((Group(FunctionClass, constants, count),), distance)


def sets(*, diameter: End | None = None) -> Any:
    """Every closed convex set, with a start and, in a sum, a solution in it.

    Parameters
    ----------
    diameter
        D: two points of the set are at most this far apart; None for no limit.
    """
    _check(diameter=diameter)
    return OfClass((Group(SetClass, {"diameter": diameter}),))


def operators(
    *,
    monotone: bool = True,
    strong_monotonicity: End = 0,
    cocoercivity: End | None = None,
    lipschitz: End | None = None,
    distance: End | None = None,
) -> Any:
    """Every operator of a class, with a start and a zero, ``A.solution``.

    Parameters
    ----------
    monotone, strong_monotonicity
        <A x - A y, x - y> >= mu |x - y|^2, with mu the strong monotonicity.
    cocoercivity
        beta: <A x - A y, x - y> >= beta |A x - A y|^2.
    lipschitz
        L: |A x - A y| <= L |x - y|. With ``monotone=False`` alone, as of nonexpansive operators, ``A.solution`` is a
        fixed point in place of a zero. Beside another condition the pairwise conditions are necessary only: a
        certificate then counts, and a violation needs an explicit operator.
    distance
        What |start - solution| is at most.
    """
    _check(
        strong_monotonicity=strong_monotonicity,
        cocoercivity=cocoercivity,
        lipschitz=lipschitz,
        distance=distance,
    )
    if not monotone and lipschitz is None and cocoercivity is None:
        rule, remedy = "must be true where no other condition is given", "give lipschitz= or cocoercivity="
        raise InvalidArgument("monotone", monotone, rule, remedy)
    constants = {
        "monotone": monotone,
        "strong_monotonicity": strong_monotonicity,
        "cocoercivity": cocoercivity,
        "lipschitz": lipschitz,
    }
    return OfClass((Group(OperatorClass, constants),), distance)


INFINITE = {
    "smoothness": "leave it out for functions that need not be differentiable, and bound subgradients by lipschitz=",
    "strong_convexity": "leave it out for 0",
    "lipschitz": "leave it out for no limit",
    "distance": "leave it out for no limit",
    "diameter": "leave it out for no limit",
    "strong_monotonicity": "leave it out for 0",
    "cocoercivity": "leave it out",
}
"""What to write in place of a constant that is infinite or NaN."""


def _constant(name: str, value: Any) -> Fraction:
    """Return a constant of a class.

    Raises
    ------
    InvalidArgument
        If it is infinite or NaN.
    """
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        raise InvalidArgument(name, value, "must be a finite number, at least 0", INFINITE[name])
    return Fraction(value)


def _check(**constants: Any) -> None:
    """Refuse constants that are no exact numbers, or negative."""
    for name, value in constants.items():
        if value is None or callable(value):
            continue
        if isinstance(value, float | np.floating):
            _constant(name, value)
        if type(value) is not int and type(value) is not Fraction:
            rule = "must be an int, a Fraction or a function of earlier quantities"
            near = Fraction(value).limit_denominator(1000) if isinstance(value, float) else "1, 2"
            remedy = (
                f"write Fraction({near.numerator}, {near.denominator})" if isinstance(near, Fraction) else ""
            )
            raise InvalidArgument(name, value, rule, remedy or "correct it")
        if value < 0:
            raise InvalidArgument(name, value, "must be at least 0", "correct it")
