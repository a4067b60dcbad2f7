"""Classes of functions, convex sets and operators, by their constants."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True)
class FunctionClass:
    """Functions of a class.

    Attributes
    ----------
    smoothness
        L: the gradient is L-Lipschitz; None for functions that need not be differentiable.
    strong_convexity
        mu: f - mu |x|^2 / 2 is convex.
    lipschitz
        M: every subgradient has at most this length; None for no limit.
    convex
        Whether they are convex. If not, they are smooth, bounded from below, and need no minimiser.
    """

    smoothness: Fraction | None = None
    strong_convexity: Fraction = Fraction(0)
    lipschitz: Fraction | None = None
    convex: bool = True

    def __str__(self) -> str:
        convexity = f"{self.strong_convexity}-strongly convex" if self.strong_convexity else "convex"
        words = [] if self.smoothness is None else [f"{self.smoothness}-smooth"]
        words += [] if self.lipschitz is None else [f"{self.lipschitz}-Lipschitz"]
        return " ".join([*words, convexity if self.convex else "perhaps not convex", "function"])

    @property
    def curvature(self) -> Fraction:
        """Least second derivative: mu, or -L of functions that are not convex."""
        return self.strong_convexity if self.convex or self.smoothness is None else -self.smoothness


@dataclass(frozen=True)
class SetClass:
    """Closed convex sets, by their indicators.

    Attributes
    ----------
    diameter
        D: two points of a set are at most this far apart; None for no limit.
    """

    diameter: Fraction | None = None

    def __str__(self) -> str:
        return "closed convex set" + (
            "" if self.diameter is None else f" of diameter at most {self.diameter}"
        )


@dataclass(frozen=True)
class OperatorClass:
    """Operators of a class.

    Attributes
    ----------
    monotone
        Whether <A x - A y, x - y> >= mu |x - y|^2.
    strong_monotonicity
        mu.
    cocoercivity
        beta: <A x - A y, x - y> >= beta |A x - A y|^2; None for no such condition.
    lipschitz
        L: |A x - A y| <= L |x - y|; None for no such condition.
    """

    monotone: bool = True
    strong_monotonicity: Fraction = Fraction(0)
    cocoercivity: Fraction | None = None
    lipschitz: Fraction | None = None

    def __str__(self) -> str:
        words = [] if self.cocoercivity is None else [f"{self.cocoercivity}-cocoercive"]
        words += [] if self.lipschitz is None else [f"{self.lipschitz}-Lipschitz"]
        if self.monotone:
            words.append(
                f"{self.strong_monotonicity}-strongly monotone" if self.strong_monotonicity else "monotone"
            )
        return " ".join([*words, "operator"])

    @property
    def has_fixed_point(self) -> bool:
        """Whether the solution is a fixed point, A x = x, as of nonexpansive operators; else a zero."""
        return not self.monotone and self.cocoercivity is None

    @property
    def only_necessary(self) -> bool:
        """Whether the pairwise conditions do not ensure that there is such an operator."""
        conditions = (self.monotone, self.cocoercivity is not None, self.lipschitz is not None)
        return sum(conditions) > 1 and not (
            self.monotone and self.strong_monotonicity == 0 and not conditions[2]
        )


Definition: TypeAlias = FunctionClass | SetClass | OperatorClass
"""A class of functions, sets or operators."""
