"""Classes of functions, sets and operators, and the conditions on finitely many points that define them.

A *triplet* (x, g, f) is a point, a subgradient at the point (for a set a normal vector, for an operator the image), and
the value. The conditions below are necessary. Except for the classes with ``only_necessary``, they are also sufficient:
triplets that satisfy them belong to a member of the class, in every dimension that contains them. (A nonconvex member
may need a further point at which it attains its infimum. This point can be so far away that the conditions hold for it,
too.) Certificates are correct because the conditions are necessary, and counterexamples because they are sufficient.

Sources, restated: for functions, Taylor, Hendrickx and Glineur, *Smooth strongly convex interpolation and exact
worst-case performance of first-order methods*, Math. Program. 161 (2017), Theorem 4. For Lipschitz functions, functions
that need not be convex, and indicators of sets: the same authors, *Exact worst-case performance of first-order methods
for composite convex optimization*, SIAM J. Optim. 27 (2017), Section 3. For operators, Ryu, Taylor, Bergeling and
Giselsson, *Operator splitting performance estimation*, SIAM J. Optim. 30 (2020), Section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import number
from clusterproof.checker.kernel.quotients import Fact, Quotient

Triplet = tuple[Any, Any, Any]
"""A point x, a subgradient g and a value f; the entries are symbolic, or have coordinates."""


@dataclass(frozen=True)
class FunctionClass:
    """A class of functions.

    Attributes
    ----------
    smoothness
        L: the gradient is L-Lipschitz, or None for functions that need not be differentiable.
    strong_convexity
        mu: f - mu |x|^2 / 2 is convex.
    lipschitz
        M: every subgradient has norm at most M, or None if there is no limit.
    convex
        Whether the functions are convex. If False, the functions are smooth and bounded below, but need not be convex
        or have a minimiser.

    Constants may be symbols. In this case, ``required`` returns facts that a proof must show about the constants.
    """

    smoothness: Fraction | None = None
    strong_convexity: Fraction = Fraction(0)
    lipschitz: Fraction | None = None
    convex: bool = True

    def __post_init__(self) -> None:
        require_numbers(self.smoothness, self.strong_convexity, self.lipschitz)
        if not self.convex and (
            self.smoothness is None
            or is_symbol(self.strong_convexity)
            or self.strong_convexity
            or self.lipschitz is not None
        ):
            raise Refused("functions that need not be convex are smooth, and nothing else")
        if self.lipschitz is not None and (is_symbol(self.strong_convexity) or self.strong_convexity):
            raise Refused("no strongly convex function is Lipschitz")
        if is_symbol(self.smoothness) or is_symbol(self.strong_convexity):
            return
        if not self.convex and self.smoothness == 0:
            raise Refused("only linear functions have a smoothness of 0, and they are convex")
        if self.smoothness is not None and self.smoothness < self.strong_convexity:
            raise Refused("no function is more strongly convex than smooth")

    def __str__(self) -> str:
        L, mu, M = _letters(L=self.smoothness, mu=self.strong_convexity, M=self.lipschitz)
        words = [] if L is None else [f"{L}-smooth"]
        words += [] if M is None else [f"{M}-Lipschitz"]
        words += [f"{mu}-strongly convex"] if mu else []
        return " ".join([*words, "function" if self.convex else "function that need not be convex"])

    only_necessary = False

    def of_one(self, triplet: Triplet, minimum: Any) -> list[Any]:
        """Return the numbers that must be >= 0 for each triplet: M^2 - |g|^2; f - f* - |g|^2 / (2 L) if not convex."""
        _, g, f = triplet
        slacks = [] if self.lipschitz is None else [self.lipschitz**2 - g @ g]
        if not self.convex and self.smoothness is not None:
            slacks.append(f - minimum - (g @ g) / (2 * self.smoothness))
        return slacks

    def of_two(self, first: Triplet, second: Triplet) -> list[Any]:
        """Return the numbers that must be >= 0 for each ordered pair of triplets.

        With d = x_i - x_j and r = g_i - g_j - mu d, this is f_i - f_j - <g_j, d> - mu/2 |d|^2 - |r|^2 / (2 (L - mu)),
        without the last term if the function is not smooth. If L = mu, -|r|^2 must also be >= 0. For functions that
        need not be convex, mu = -L.
        """
        (x, g, f), (y, h, e) = first, second
        L, mu = self.smoothness, self.strong_convexity
        if not self.convex and L is not None:
            mu = -L
        d = x - y
        r = g - h - d * mu
        slack = f - e - h @ d - (d @ d) * (mu / 2)
        if L is None:
            return [slack]
        if not (is_symbol(mu) or is_symbol(L)) and mu == L:
            return [slack, -(r @ r)]
        return [slack - (r @ r) / (2 * (L - mu))]


@dataclass(frozen=True)
class SetClass:
    """A class of closed convex sets; two points of a set are at most ``diameter`` apart (None for no limit)."""

    diameter: Fraction | None = None

    def __post_init__(self) -> None:
        require_numbers(self.diameter)

    def __str__(self) -> str:
        (D,) = _letters(D=self.diameter)
        return "closed convex set" + ("" if D is None else f" of diameter at most {D}")

    only_necessary = False

    def of_one(self, triplet: Triplet, minimum: Any) -> list[Any]:
        """Return an empty list, because a single point always belongs to some set of the class."""
        return []

    def of_two(self, first: Triplet, second: Triplet) -> list[Any]:
        """Return the numbers that must be >= 0 for each ordered pair: -<g_j, x_i - x_j> and D^2 - |x_i - x_j|^2."""
        (x, _, _), (y, h, _) = first, second
        d = x - y
        return [-(h @ d)] + ([] if self.diameter is None else [self.diameter**2 - d @ d])


@dataclass(frozen=True)
class OperatorClass:
    """A class of operators.

    Constants may be symbols. In this case, ``required`` returns facts that a proof must show about the constants.

    Attributes
    ----------
    monotone, strong_monotonicity
        <A x - A y, x - y> >= mu |x - y|^2.
    cocoercivity
        beta: <A x - A y, x - y> >= beta |A x - A y|^2, or None if there is no such condition.
    lipschitz
        L: |A x - A y| <= L |x - y|, or None if there is no such condition.
    """

    monotone: bool = True
    strong_monotonicity: Fraction = Fraction(0)
    cocoercivity: Fraction | None = None
    lipschitz: Fraction | None = None

    def __post_init__(self) -> None:
        require_numbers(self.strong_monotonicity, self.cocoercivity, self.lipschitz)
        mu = self.strong_monotonicity
        if not self.monotone and self.cocoercivity is None and self.lipschitz is None:
            raise Refused("an operator is monotone, cocoercive or Lipschitz")
        if not self.monotone and (is_symbol(mu) or mu):
            raise Refused("a strongly monotone operator is monotone")
        if any(type(slack) is not Quotient and slack < 0 for slack in self.room):
            raise Refused("no operator has these constants: mu times the identity is to be one")

    def __str__(self) -> str:
        mu, beta, L = _letters(mu=self.strong_monotonicity, beta=self.cocoercivity, L=self.lipschitz)
        words = [] if beta is None else [f"{beta}-cocoercive"]
        words += [] if L is None else [f"{L}-Lipschitz"]
        if self.monotone:
            words.append(f"{mu}-strongly monotone" if mu else "monotone")
        return " ".join([*words, "operator"])

    @property
    def room(self) -> list[Any]:
        """The numbers L - mu and 1 - mu beta. If both are at least 0, mu times the identity belongs to the class."""
        mu, beta, L = self.strong_monotonicity, self.cocoercivity, self.lipschitz
        return ([] if L is None else [L - mu]) + ([] if beta is None else [1 - mu * beta])

    @property
    def has_fixed_point(self) -> bool:
        """Whether the solution is a fixed point, A x = x, as for nonexpansive operators; otherwise it is a zero."""
        return not self.monotone and self.cocoercivity is None

    @property
    def of_gradients(self) -> FunctionClass:
        """A class of convex functions whose subgradients are operators of this class.

        The gradient of a mu-strongly convex and L-smooth function is mu-strongly monotone, L-Lipschitz and
        1/L-cocoercive (J.-B. Baillon and G. Haddad, 1977).
        """
        limits = [] if self.lipschitz is None else [self.lipschitz]
        limits += [1 / self.cocoercivity] if self.cocoercivity else []
        return FunctionClass(min(limits, default=None), self.strong_monotonicity)

    @property
    def only_necessary(self) -> bool:
        """Whether the conditions do not suffice: triplets may satisfy them although no operator has these triplets."""
        stated = [
            self.monotone and self.strong_monotonicity > 0,
            self.cocoercivity is not None,
            self.lipschitz is not None,
        ]
        return sum(stated) > 1 or (self.monotone and self.lipschitz is not None)

    def of_one(self, triplet: Triplet, minimum: Any) -> list[Any]:
        """Return an empty list, because a single triplet always belongs to some operator of the class."""
        return []

    def of_two(self, first: Triplet, second: Triplet) -> list[Any]:
        """Return, for each ordered pair, the differences between the sides of the inequalities, which must be >= 0."""
        (x, g, _), (y, h, _) = first, second
        d, r = x - y, g - h
        slacks = [r @ d - (d @ d) * self.strong_monotonicity] if self.monotone else []
        slacks += [] if self.cocoercivity is None else [r @ d - (r @ r) * self.cocoercivity]
        return slacks + ([] if self.lipschitz is None else [(d @ d) * self.lipschitz**2 - r @ r])


Class = FunctionClass | SetClass | OperatorClass
"""A class of functions, sets or operators."""
KINDS: dict[str, type[Class]] = {"function": FunctionClass, "set": SetClass, "operator": OperatorClass}
"""The kinds of classes, indexed by their names in a text."""


def is_symbol(constant: Any) -> bool:
    """Return whether a constant is a symbol."""
    return type(constant) is Quotient


def _letters(**constants: Any) -> list[Any]:
    """Return constants for a description; a letter replaces each constant that is a symbol."""
    return [letter if is_symbol(value) else value for letter, value in constants.items()]


def required(definition: Class) -> list[Fact]:
    """Return the facts to prove about constants that are symbols.

    All constants must be at least 0. Functions need mu < L, because a further condition would apply for L = mu.
    Functions that need not be convex need L > 0. Operators need mu <= L and mu beta <= 1: then mu times the identity
    belongs to the class, so the class is never empty. The conditions of operators and sets contain only sums and
    products of constants, so they are valid for all values of the symbols that satisfy these facts.
    """
    constants: tuple[Any, ...] = tuple(vars(definition).values())
    facts = [value >= 0 for value in constants if is_symbol(value)]
    if isinstance(definition, OperatorClass):
        facts += [slack >= 0 for slack in definition.room if is_symbol(slack)]
    elif isinstance(definition, FunctionClass) and definition.smoothness is not None:
        L, mu = constants[:2]
        facts += [mu < L] if is_symbol(L) or is_symbol(mu) else []
    return facts


def require_numbers(*constants: Any) -> None:
    """Require that each constant is None, a symbol, or a number that is at least 0."""
    for value in constants:
        if value is not None and not is_symbol(value) and number(value) < 0:
            raise Refused(f"a constant of a class is at least 0, not {value}")


def slacks_of(definition: Class, triplets: list[Triplet], minimum: Any) -> dict[str, Any]:
    """Return all numbers that must be >= 0 for a member's triplets, with names such as ``0,2:0`` or ``1:0``."""
    slacks = {}
    for i, first in enumerate(triplets):
        for c, slack in enumerate(definition.of_one(first, minimum)):
            slacks[f"{i}:{c}"] = slack
        spend(16 * len(triplets))
        for j, second in enumerate(triplets):
            for c, slack in enumerate(definition.of_two(first, second) if i != j else ()):
                slacks[f"{i},{j}:{c}"] = slack
    return slacks
