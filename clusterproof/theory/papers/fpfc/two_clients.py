"""A claim on a round of FPFC for two clients that take part, for every loss, penalty and number of local steps.

Losses and penalties need not be convex. A function f is L-smooth exactly if phi = f + L/2 ||.||^2 is convex and
2L-smooth, so the claim is about three convex functions phi. By default, a claim supposes that the sum of its functions
has a minimiser. This hypothesis adds nothing here, because the sum has a fourth part: for all phi, some linear function
makes any point a minimiser of the sum. The claim uses neither the fourth part nor the minimiser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

Smoothness = Annotated[Fraction, rationals(0, 9, 8, upwards=True)]
"""The quotient L_f / L_g."""
Augmentation = Annotated[Fraction, rationals(2, 9, 8, upwards=True)]
"""The quotient rho / L_g."""
Length = Annotated[Fraction, rationals(0, 1, 12)]
"""The number z = alpha L_h, with L_h = L_f + rho."""
Three = Annotated[
    Function,
    functions(smoothness=lambda smoothness: 2 * smoothness, count=2) + functions(smoothness=2) + functions(),
]
"""The functions phi_1 and phi_2 of the losses, phi of the penalty, and another convex function; L_g = 1."""


def square(vector: Any) -> Any:
    """Return ||v||^2."""
    return vector @ vector


@dataclass(frozen=True)
class TwoClients:
    """Two clients with their losses and the penalty of their pair.

    Attributes
    ----------
    f
        The functions phi of the losses and of the penalty.
    smoothness, augmentation
        L_f / L_g and rho / L_g.
    """

    f: Any
    smoothness: Any
    augmentation: Any

    def loss(self, client: int, model: Any) -> Any:
        """Return f_i(w)."""
        return self.f.parts[0].parts[client](model) - self.smoothness / 2 * square(model)

    def gradient(self, client: int, model: Any) -> Any:
        """Return grad f_i(w)."""
        return self.f.parts[0].parts[client].gradient(model) - self.smoothness * model

    def dual(self, theta: Any) -> Any:
        """Return v = grad g(theta)."""
        return self.f.parts[1].gradient(theta) - theta

    def lagrangian(self, models: Any, theta: Any, dual: Any) -> Any:
        """Return L_rho for theta and v of the pair (1, 2). The pair (2, 1) contributes the same to the sum."""
        gap = models[0] - models[1] - theta
        penalty = self.f.parts[1](theta) - square(theta) / 2
        of_pair = penalty + dual @ gap + self.augmentation / 2 * square(gap)
        return self.loss(0, models[0]) + self.loss(1, models[1]) + of_pair / 2

    def anchors(self, models: Any, theta: Any, dual: Any) -> Any:
        """Return zeta_1 and zeta_2."""
        middle, half = (models[0] + models[1]) / 2, (theta - dual / self.augmentation) / 2
        return middle + half, middle - half

    def local(self, client: int, model: Any, anchor: Any) -> Any:
        """Return h_i(w) = f_i(w) + rho / 2 ||w - zeta_i||^2."""
        return self.loss(client, model) + self.augmentation / 2 * square(model - anchor)

    def local_gradient(self, client: int, model: Any, anchor: Any) -> Any:
        """Return grad h_i(w)."""
        return self.gradient(client, model) + self.augmentation * (model - anchor)

    def updated(self, models: Any, dual: Any) -> Any:
        """Return theta+, which minimises g(theta) - <v, theta> + rho / 2 ||w_1 - w_2 - theta||^2, and v+."""
        apart, convexity = models[0] - models[1], self.augmentation - 1
        theta = self.f.parts[1].prox((dual + self.augmentation * apart) / convexity, 1 / convexity)
        return theta, dual + self.augmentation * (apart - theta)


# ---- multipliers


def of_fall(client: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers that prove that a local step lowers h_i."""

    def multipliers(smoothness: Any, augmentation: Any, length: Any) -> dict[str, Any]:
        return {
            f"{client}:2,3:0": 2 * (smoothness + augmentation),
            f"hypothesis {2 * client}": 1,
            f"hypothesis {2 * client + 1}": 2 * length - length**2,
        }

    return multipliers


def of_gradient(client: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers that prove that a local step keeps a share of the length of h_i's gradient."""

    def multipliers(smoothness: Any, augmentation: Any, length: Any) -> dict[str, Any]:
        weight = 2 * (1 - length) * (smoothness + augmentation) / length
        pairs = {f"{client}:2,3:0": weight, f"{client}:3,2:0": weight}
        return {**pairs, f"hypothesis {2 * client + 1}": (1 - length) ** 2}

    return multipliers


def of_the_line(smoothness: Any, augmentation: Any) -> dict[str, Any]:
    """Return the multipliers of the round. The penalty's points are theta (1) and theta+ (2, and 3 for its value)."""
    weight, half = 1 / (2 * (smoothness + augmentation)), Fraction(1, 2)
    of_pair = {"2:1,2:0": half + 1 / augmentation, "2:2,1:0": 1 / augmentation, "2:2,3:0": half}
    return {"hypothesis 0": weight, "hypothesis 2": weight, **of_pair}


# ---- claim


@claim(
    "fpfc/round-every-loss",
    label="proof of Theorem 1, one round, every loss",
    source="ours",
    expected="certified",
    places="approach; algorithm 1, line 3; algorithm 1, line 5",
    multipliers={
        "round 0": of_fall(0),
        "round 1": of_gradient(0),
        "round 2": of_fall(1),
        "round 3": of_gradient(1),
        "line 0": of_the_line,
    },
)
def round_of_two_clients(
    smoothness: Smoothness, augmentation: Augmentation, length: Length, f: Three, steps: int = Z[1:]
) -> Sides:
    """A round lowers the augmented Lagrangian as lines 1 and 2 of the proof state, for every loss, penalty and T.

    Hypotheses
        Two clients both take part. Their losses are L_f-smooth with L_f > 0, the penalty g is L_g-smooth, and neither
        needs to be convex, bounded from below or a function of the distance. rho > 2 L_g, and 0 < z = alpha L_h <= 1.
        Models and theta are any points, and v = grad g(theta), as after every update.

    Statement
        L_rho decreases by at least (1 - (1 - z)^(2T)) / (2 L_h) sum_i ||M_i||^2 + den / (4 rho) ||d theta||^2, with M_i
        = grad_{w_i} L_rho before the round, L_h = L_f + rho and den = rho^2 - L_g rho - 2 L_g^2, for every T.

    Proof
        ``fpfc/repaired-proof`` has the lines of the proof: the local steps lower h_1 + h_2, which majorises L_rho in
        the models, and the pair's update lowers L_rho.

    Source
        Ours, from the proof of Theorem 1 of Yu et al. (2023). On drawn tasks, ``fpfc/repaired-proof`` has these lines
        for more clients and for absent clients.
    """
    suppose("0 < L_f", smoothness > 0)
    suppose("2 L_g < rho", augmentation > 2)
    suppose("0 < z", length > 0)
    two, whole = TwoClients(f, smoothness, augmentation), smoothness + augmentation
    first, second, theta = f.start, f.point(), f.point()
    dual = two.dual(theta)
    before = two.lagrangian((first, second), theta, dual)
    zeta, other = two.anchors((first, second), theta, dual)
    h, g = two.local(0, first, zeta), two.local(1, second, other)
    m, n = (square(two.local_gradient(0, first, zeta)), square(two.local_gradient(1, second, other)))

    def next_state(state: Any) -> Any:
        x, y, remaining = state
        x = x - length / whole * two.local_gradient(0, x, zeta)
        y = y - length / whole * two.local_gradient(1, y, other)
        return x, y, (1 - length) ** 2 * remaining

    def says(state: Any, passed: Any) -> Any:
        x, y, remaining = state
        return (
            remaining >= 0,
            2 * whole * (two.local(0, x, zeta) - h) <= -(1 - remaining) * m,
            remaining * m <= square(two.local_gradient(0, x, zeta)),
            2 * whole * (two.local(1, y, other) - g) <= -(1 - remaining) * n,
            remaining * n <= square(two.local_gradient(1, y, other)),
        )

    x, y, remaining = iterate(next_state, (first, second, 1), steps, invariant=says)
    after, new = two.updated((x, y), dual)
    den, moved = augmentation**2 - augmentation - 2, after - theta
    return at_most(
        two.lagrangian((x, y), after, new),
        before=before,
        local_steps=-(1 - remaining) / (2 * whole) * (m + n),
        pair=-den / (4 * augmentation) * square(moved),
    )
