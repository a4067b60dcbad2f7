"""Ranges that contain every function, operator or set of a class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from clusterproof.checker.claims.class_members import Drawn, Known
from clusterproof.checker.claims.drawn_functions import draw
from clusterproof.checker.claims.ranges import End, EndLike, Range, end_of
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel import ranges as kernel_ranges
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.functions import Problem, noun_of, problem
from clusterproof.checker.kernel.interpolation import (
    Class,
    FunctionClass,
    OperatorClass,
    SetClass,
    require_numbers,
    slacks_of,
)
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.worlds import ANY, World
from clusterproof.common import InvalidArgument

Function: TypeAlias = Problem
ConvexSet: TypeAlias = Problem
Operator: TypeAlias = Problem
"""The object that a claim's function receives for a quantity with such a range."""
Member = Known | Drawn
"""The value that an instance stores for such a quantity."""


@dataclass(frozen=True, eq=False)
class OfClass(Range, kernel_ranges.OfClass):
    """Range of the functions, operators or sets of a class.

    The sum of two ranges contains the sums of a member of the first and a member of the second range. The solution is
    then a minimiser, zero or fixed point of the sum instead of each summand.
    """

    complete = False
    drawn = True

    def __add__(self, other: OfClass) -> OfClass:
        if not isinstance(other, OfClass):
            return NotImplemented
        for each in (self, other):
            for _, _, constants in each.groups:
                if ("convex", False) in constants:
                    rule = "must be convex in a sum"
                    raise InvalidArgument("convex", False, rule, "state the claim for a single function")
            if any(count == ANY for count, *_ in each.groups):
                rule, remedy = "must be a number in a sum", "state the number of functions, such as count=2"
                raise InvalidArgument("count", ANY, rule, remedy)
        if self.reach is not None and other.reach is not None:
            rule, remedy = "must be given by only one summand", "leave out distance= in the other summand"
            raise InvalidArgument("distance", other.reach, rule, remedy)
        return OfClass(self.groups + other.groups, other.reach if self.reach is None else self.reach)

    @property
    def depends_on(self) -> Sequence[str]:  # type: ignore[override]  # follows from the constants
        """Earlier quantities on which the constants depend."""
        return self.names

    def world(self, value: Member, so_far: Instance) -> World:
        """Return a new world for a value: the state of one evaluation, before the claim requests a point.

        Raises
        ------
        Refused
            If no member of the class passes through the triplets of the value.
        """
        return value.world(self.classes(so_far), self.distance(so_far))

    def distance(self, so_far: Instance) -> Fraction | None:
        """Return the largest allowed distance |start - solution|, or None if there is no limit."""
        found: Fraction | None = self.constant("distance", kernel_ranges.value_of(self.reach, so_far))
        return found

    def constant(self, name: str, value: Any) -> Any:
        """Convert a constant of a class to an exact number; a float becomes the fraction that equals it.

        Raises
        ------
        InvalidArgument
            If the constant is infinite or NaN.
        """
        if not isinstance(value, float):
            return super().constant(name, value)
        _require_finite(name, value)
        return Fraction(value)

    def passed(self, value: Member, so_far: Instance) -> Problem:
        """Return the value in a new world, so that two evaluations do not affect each other."""
        return problem(self.world(value, so_far))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value consists of members of the given classes."""
        try:  # if earlier quantities lie outside their ranges, the class may not exist
            if type(value) is Drawn:
                return value.groups == self.classes(so_far)
            return type(value) is Known and self.world(value, so_far) is not None
        except Refused:
            return False

    def require(self, value: Member, so_far: Instance) -> None:
        """Require that the stored points of a function satisfy the conditions of the class.

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

    @property
    def noun(self) -> str:
        """The noun for a member: function, operator or set."""
        return noun_of([kind for _, kind, _ in self.groups])

    def encode(self, value: Member) -> Any:
        """Convert a value to JSON: start, solution, minimum, further points and triplets."""
        return value.code

    def for_kernel(self, value: Member) -> Any:
        """Return the output of ``encode``."""
        return value.code

    def decode(self, code: Any) -> Known:
        """Read the output of ``encode``."""
        return Known(code)

    def key(self, value: Member) -> str:
        """Return a key for the value; the key does not depend on the points that a claim requested."""
        return repr(value)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Drawn | None:
        """Draw members of the classes in exact fractions, with their solution; return None if a class is empty."""
        try:
            return draw(self.classes(so_far), self.distance(so_far), stream)
        except Refused:
            return None


def class_of(space: Space) -> str | None:
    """Return the name of the first quantity that is a member of a class, or None if there is none."""
    names = [name for name, each in space.ranges.items() if isinstance(each, OfClass)]
    return names[0] if names else None


def noun_in(space: Space) -> str:
    """Return "function", "operator" or "set" for the first quantity of a class, or "function" if there is none."""
    return next((each.noun for each in space.ranges.values() if isinstance(each, OfClass)), "function")


def require_members(space: Space, instance: Instance) -> None:
    """Require that the stored points of an instance's functions satisfy the conditions of the classes.

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
    smoothness: EndLike | None = None,
    strong_convexity: EndLike = 0,
    lipschitz: EndLike | None = None,
    convex: bool = True,
    distance: EndLike | None = None,
    count: int | str = 1,
) -> Any:
    """Return the range of all functions of a class on R^d, for every d.

    Each function has a starting point ``f.start`` and, if it is convex, a minimiser. Constants are ints, Fractions or
    functions of earlier quantities, such as ``lambda mu: mu``.

    Parameters
    ----------
    smoothness
        L: the gradient is L-Lipschitz. If None, the functions need not be differentiable. In this case ``f.gradient``
        returns any subgradient, and always the same subgradient at the same point.
    strong_convexity
        mu: the function f - mu |x|^2 / 2 is convex.
    lipschitz
        M: every subgradient has norm at most M.
    convex
        Whether the functions must be convex. Functions that need not be convex must be smooth. They have ``f.minimum``,
        but no ``f.minimiser``.
    distance
        Largest |start - minimiser|, which ``f.distance`` returns.
    count
        Number of functions in ``f.parts``; f is their mean. With ``count="any"``, f is the mean of any number of
        functions, and ``f.parts`` evaluates each function f_i at its own point y_i. ``f.parts.gradient(y)`` returns the
        gradients of f_i at y_i, and ``f.parts(y)`` returns the mean of the values f_i(y_i). ``f.parts.point()`` returns
        a new arbitrary point for each function. ``f.parts.mean(y)`` returns the mean of the y_i, and ``u @ v`` returns
        the mean of the inner products <u_i, v_i>.

    Raises
    ------
    InvalidArgument
        If a constant has the wrong type, is negative, or contradicts another constant.
    """
    if not convex and (distance is not None or count != 1):
        raise InvalidArgument(
            "convex", convex, "must be True if distance= or count= is given", "leave out distance= and count="
        )
    if count != ANY and (type(count) is not int or count < 1):
        raise InvalidArgument(
            "count", count, 'must be an integer, at least 1, or "any"', "give the number of functions"
        )
    constants = {
        "smoothness": smoothness,
        "strong_convexity": strong_convexity,
        "lipschitz": lipschitz,
        "convex": convex,
    }
    return _of_class(FunctionClass, constants, distance, count)


def sets(*, diameter: EndLike | None = None) -> Any:
    """Return the range of all closed convex sets, each with a starting point and, in a sum, a solution in the set.

    Parameters
    ----------
    diameter
        D: the largest distance between two points of the set, or None if there is no limit.
    """
    return _of_class(SetClass, {"diameter": diameter})


def operators(
    *,
    monotone: bool = True,
    strong_monotonicity: EndLike = 0,
    cocoercivity: EndLike | None = None,
    lipschitz: EndLike | None = None,
    distance: EndLike | None = None,
) -> Any:
    """Return the range of all operators of a class, each with a starting point and a zero, ``A.solution``.

    Parameters
    ----------
    monotone, strong_monotonicity
        <A x - A y, x - y> >= mu |x - y|^2, where mu is the strong monotonicity.
    cocoercivity
        beta: <A x - A y, x - y> >= beta |A x - A y|^2.
    lipschitz
        L: |A x - A y| <= L |x - y|. With ``monotone=False`` and no other condition, as for nonexpansive operators,
        ``A.solution`` is a fixed point instead of a zero. If you combine ``lipschitz`` with another condition, the
        pairwise conditions are only necessary. They suffice for a certificate, but a violation needs an explicit
        operator: an affine operator, or the gradient of a convex function.
    distance
        Largest |start - solution|.
    """
    constants = {
        "monotone": monotone,
        "strong_monotonicity": strong_monotonicity,
        "cocoercivity": cocoercivity,
        "lipschitz": lipschitz,
    }
    return _of_class(OperatorClass, constants, distance)


INFINITE = {
    "smoothness": "leave it out for functions that need not be differentiable, and bound subgradients by lipschitz=",
    "strong_convexity": "leave it out for 0",
    "lipschitz": "leave it out for no limit",
    "distance": "leave it out for no limit",
    "diameter": "leave it out for no limit",
    "strong_monotonicity": "leave it out for 0",
    "cocoercivity": "leave it out",
}
"""Advice for a user whose constant is infinite or NaN."""


def _of_class(
    kind: type[Class], constants: Mapping[str, Any], distance: EndLike | None = None, count: int | str = 1
) -> OfClass:
    """Return the range of all members of a class with the given constants."""
    given: dict[str, Any] = {
        name: end_of(value) for name, value in {**constants, "distance": distance}.items()
    }
    for name, value in given.items():
        if isinstance(value, float):
            _require_finite(name, value)
            near = Fraction(value).limit_denominator(1000)
            rule = "must be an int, a Fraction or a function of earlier quantities"
            raise InvalidArgument(name, value, rule, f"write Fraction({near.numerator}, {near.denominator})")
    reach = given.pop("distance")
    any_number: Any = Quotient.symbol(0, 1)
    try:
        require_numbers(None if isinstance(reach, End) else reach)
        kind(**{name: any_number if isinstance(end, End) else end for name, end in given.items()})
    except Refused as refused:
        raise InvalidArgument(
            "constants", {**constants, "distance": distance}, str(refused), "change one of these constants"
        ) from None
    return OfClass(((count, kind, tuple(given.items())),), reach)


def _require_finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise InvalidArgument(name, value, "must be a finite number, at least 0", INFINITE[name])
