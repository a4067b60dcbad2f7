"""Two steps in the proof of the repaired theorem, for every loss and penalty and every number of local steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Function,
    Sides,
    Z,
    at_most,
    claim,
    functions,
    iterate,
    rationals,
    suppose,
)

Length = Annotated[Fraction, rationals(0, 1, 12)]
"""The number z = alpha L_h, where h_i is L_h-smooth with L_h = L_f + rho."""
Augmentation = Annotated[Fraction, rationals(2, 9, 8, upwards=True)]
"""The quotient rho / L_g."""
Smooth = Annotated[Function, functions(smoothness=1, convex=False)]
"""A function, convex or not, scaled to be 1-smooth."""


@claim(
    "fpfc/local-steps-every-loss",
    label="proof of Theorem 1, local steps and pairs, every loss",
    source="ours",
    expected="certified",
    places="approach; algorithm 1, line 3; algorithm 1, line 5",
)
def local_steps(length: Length, h: Smooth, steps: int = Z[1:]) -> Sides:
    """T local steps decrease h_i by at least (1 - (1 - z)^(2T)) / 2 L_h ||M_i||^2, for every smooth loss and every T.

    Hypotheses
        h_i(w) = f_i(w) + rho / 2 ||w - zeta_i||^2 is L_h-smooth and bounded from below. Neither f_i nor h_i needs to be
        convex or to have a minimiser. 0 < z = alpha L_h <= 1.

    Statement
        h_i(w_T) <= h_i(w_0) - (1 - (1 - z)^(2T)) / (2 L_h) ||grad h_i(w_0)||^2 for every T.

        *pairs*: take an L_g-smooth penalty g >= 0, which need not be convex, every rho >= 2 L_g and any models. Let
        theta+ and v+ = v + rho (w_i - w_j - theta+) be the updated difference and the updated dual variable of a
        pair. The update decreases the terms of this pair in the augmented Lagrangian by at least (rho^2 - rho L_g - 2
        L_g^2) / (2 rho) ||theta+ - theta||^2. Both before and after the update, v = grad g(theta).

    Source
        Ours, from the proof of Theorem 1 of Yu et al. (2023). ``fpfc/repaired-proof`` checks these steps on random
        tasks, and ``fpfc/round-every-loss`` combines them for two clients.
    """
    suppose("0 < z", length > 0)
    slope = h.gradient(h.start)
    square, before = slope @ slope, h(h.start)

    def next_state(state: Any) -> Any:
        model, remaining = state
        return model - length * h.gradient(model), (1 - length) ** 2 * remaining

    def says(state: Any, passed: Any) -> Any:
        model, remaining = state
        here = h.gradient(model)
        return (
            remaining >= 0,
            h(model) <= before - (1 - remaining) / 2 * square,
            remaining * square <= here @ here,
        )

    model, remaining = iterate(next_state, (h.start, 1), steps, invariant=says)
    return at_most(h(model), before=before, descent=-(1 - remaining) / 2 * square)


@local_steps.line("pairs")
def pairs(augmentation: Augmentation, g: Smooth) -> Sides:
    """Check the update of a pair. theta+ is an arbitrary point, and w_i - w_j follows from the update equation."""
    rho, theta, after = augmentation, g.start, g.point()
    dual, new = g.gradient(theta), g.gradient(after)
    apart = after + (new - dual) / rho  # w_i - w_j, from grad g(theta+) = v + rho (w_i - w_j - theta+)

    def lagrangian(theta: Any, dual: Any) -> Any:
        gap = apart - theta
        return g(theta) + dual @ gap + rho / 2 * (gap @ gap)

    moved = after - theta
    return at_most(
        lagrangian(after, new),
        before=lagrangian(theta, dual),
        fall=-(rho**2 - rho - 2) / (2 * rho) * (moved @ moved),
    )
