"""Whether a counterexample depends on the last digit of a floating number: rounding, or a jump."""

from __future__ import annotations

import math
from contextlib import suppress

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.evaluation import Evaluation, evaluate
from clusterproof.theory.checker.ranges import Reals
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Statement


def depends_on_a_digit(part: Statement, context: Context, found: Evaluation) -> str | None:
    """Name a quantity at whose next float the statement holds that an instance breaks; None if there is none.

    A difference of large numbers that nearly cancel breaks a true statement like this. Where both sides are
    continuous and computed to rounding of their own size, an excess of 1e-9 of that does not vanish so.
    """
    if part.random:
        return None
    for name, allowed in part.space.ranges.items():
        for end in (-math.inf, math.inf) if isinstance(allowed, Reals) else ():
            moved = found.instance | {name: math.nextafter(found.instance[name], end)}
            with suppress(Outside, ArithmeticError, ValueError):
                if part.space.holds(moved) and evaluate(part, context, moved).broken is None:
                    return name
    return None
