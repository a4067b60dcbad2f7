"""Whether a counterexample depends on the last digits of a floating number: rounding, or a jump."""

from __future__ import annotations

import math
from contextlib import suppress

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.evaluation import Evaluation, evaluate
from clusterproof.theory.checker.ranges import Reals
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Statement

SHARES = (0.0, *(2.0**power for power in range(-48, -15, 4)))
"""Of a number, how far from it to look, beyond the next float: 1.5e-5 at most."""


def holds_nearby(part: Statement, context: Context, found: Evaluation) -> tuple[str, float] | None:
    """Return a quantity with a value beside that of an instance where the statement holds; None if there is none.

    A difference of large numbers that nearly cancel breaks a true statement like this. Where both sides are
    continuous and computed to rounding of their own size, an excess of 1e-9 of that does not vanish so.
    """
    if part.random:
        return None
    reals = [name for name, allowed in part.space.ranges.items() if isinstance(allowed, Reals)]
    for share in SHARES:
        for name in reals:
            for end in (-math.inf, math.inf):
                value = found.instance[name]
                moved = math.nextafter(value, end) + math.copysign(share * value, end)
                with suppress(Outside, ArithmeticError, ValueError):
                    one = found.instance | {name: moved}
                    if part.space.holds(one) and evaluate(part, context, one).broken is None:
                        return name, moved
    return None
