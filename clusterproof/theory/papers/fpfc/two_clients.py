"""Two clients of FPFC with arbitrary smooth losses and an arbitrary smooth penalty, in the kernel's language.

A function f is L-smooth exactly if phi = f + L / 2 ||. - c||^2 is convex and 2L-smooth, for any point c. So the
claims are about three convex functions phi. The kernel assumes that the sum of the given functions has a minimiser,
and c is this minimiser. The assumption excludes nothing, because the sum has a fourth, arbitrary convex function: for
any phi, a suitable linear function makes any given point a minimiser of the sum. No claim evaluates the fourth
function. The unit is rho - L_g = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Function, functions, iterate, rationals, suppose

Lipschitz = Annotated[Fraction, rationals(0, 1, 12)]
"""L_g. Since rho = 1 + L_g, the hypothesis rho > 2 L_g reads L_g < 1."""
Smoothness = Annotated[Fraction, rationals(lambda lipschitz: 1 + lipschitz, 9, 8, upwards=True)]
"""L_h = L_f + rho."""
Length = Annotated[Fraction, rationals(0, 1, 12)]
"""z = alpha L_h."""
Three = Annotated[
    Function,
    functions(smoothness=lambda smoothness, lipschitz: 2 * (smoothness - 1 - lipschitz), count=2)
    + functions(smoothness=lambda lipschitz: 2 * lipschitz)
    + functions(),
]
"""phi_1 and phi_2 for the losses, phi for the penalty, and a further convex function."""


def square(vector: Any) -> Any:
    """Return ||v||^2."""
    return vector @ vector


@dataclass(frozen=True)
class TwoClients:
    """Two clients with their losses, and the penalty of their pair.

    The state (theta, v) of the pair is stored as the point c + v + rho theta. Since v = grad g(theta), the proximal
    map of phi maps this point to c + theta. Models are tuples of two points.

    Attributes
    ----------
    f
        The functions phi of the losses and of the penalty.
    smoothness, lipschitz
        L_h and L_g.
    """

    f: Any
    smoothness: Any
    lipschitz: Any

    def gradient(self, client: int, model: Any) -> Any:
        """Return grad f_i(w)."""
        curvature = self.smoothness - 1 - self.lipschitz
        return self.f.parts[0].parts[client].gradient(model) - curvature * (model - self.f.minimiser)

    def loss(self, client: int, model: Any) -> Any:
        """Return f_i(w)."""
        curvature = self.smoothness - 1 - self.lipschitz
        return self.f.parts[0].parts[client](model) - curvature / 2 * square(model - self.f.minimiser)

    def penalty(self, theta: Any) -> Any:
        """Return g(theta)."""
        return self.f.parts[1](self.f.minimiser + theta) - self.lipschitz / 2 * square(theta)

    def objective(self, models: Any) -> Any:
        """Return F(w_1, w_2) with the smoothed penalty."""
        return self.loss(0, models[0]) + self.loss(1, models[1]) + self.penalty(models[0] - models[1]) / 2

    def pair(self, state: Any) -> tuple[Any, Any]:
        """Return theta and v."""
        theta = self.f.parts[1].prox(state, 1) - self.f.minimiser
        return theta, state - self.f.minimiser - (1 + self.lipschitz) * theta

    def lagrangian(self, models: Any, state: Any) -> Any:
        """Return L_rho. The ordered pairs (1, 2) and (2, 1) contribute equal terms."""
        theta, dual = self.pair(state)
        gap = models[0] - models[1] - theta
        of_pair = self.penalty(theta) + dual @ gap + (1 + self.lipschitz) / 2 * square(gap)
        return self.loss(0, models[0]) + self.loss(1, models[1]) + of_pair / 2

    def pull(self, models: Any, state: Any) -> Any:
        """Return rho (w_1 - zeta_1), which is -rho (w_2 - zeta_2)."""
        theta, dual = self.pair(state)
        return ((1 + self.lipschitz) * (models[0] - models[1] - theta) + dual) / 2

    def slopes(self, models: Any, state: Any) -> Any:
        """Return M_1 and M_2, the gradients of L_rho in the models."""
        pull = self.pull(models, state)
        return self.gradient(0, models[0]) + pull, self.gradient(1, models[1]) - pull

    def updated(self, models: Any, state: Any) -> Any:
        """Return the pair's state after its update at the new models."""
        _, dual = self.pair(state)
        return self.f.minimiser + dual + (1 + self.lipschitz) * (models[0] - models[1])

    def after_local_steps(
        self, models: Any, state: Any, length: Any, steps: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Return the models after T local steps, (1 - z)^(2T), ||M_1||^2 and ||M_2||^2, and the change of h_1 + h_2."""
        rho, pull = 1 + self.lipschitz, self.pull(models, state)
        pulls, squares = (pull, -pull), [square(slope) for slope in self.slopes(models, state)]

        def gradient(client: int, model: Any) -> Any:  # of h_i
            return self.gradient(client, model) + pulls[client] + rho * (model - models[client])

        def change(client: int, model: Any) -> Any:  # of h_i
            moved = model - models[client]
            own = self.loss(client, model) - self.loss(client, models[client])
            return own + pulls[client] @ moved + rho / 2 * square(moved)

        def next_state(now: Any) -> Any:
            first, second, remaining = now
            first = first - length / self.smoothness * gradient(0, first)
            second = second - length / self.smoothness * gradient(1, second)
            return first, second, (1 - length) ** 2 * remaining

        def says(now: Any, passed: Any) -> Any:
            first, second, remaining = now
            return (
                remaining >= 0,
                2 * self.smoothness * change(0, first) <= -(1 - remaining) * squares[0],
                remaining * squares[0] <= square(gradient(0, first)),
                2 * self.smoothness * change(1, second) <= -(1 - remaining) * squares[1],
                remaining * squares[1] <= square(gradient(1, second)),
            )

        first, second, remaining = iterate(next_state, (*models, 1), steps, invariant=says)
        return (first, second), remaining, squares, change(0, first) + change(1, second)


def suppose_the_hypotheses(smoothness: Any, lipschitz: Any, length: Any) -> None:
    """Suppose the strict inequalities among the hypotheses. The ranges of the quantities contain all others."""
    suppose("0 < L_f", smoothness > 1 + lipschitz)
    suppose("0 < L_g", lipschitz > 0)
    suppose("2 L_g < rho", lipschitz < 1)
    suppose("0 < alpha", length > 0)


def denominator(lipschitz: Any) -> Any:
    """Return den = rho^2 - L_g rho - 2 L_g^2."""
    return (1 - lipschitz) * (1 + 2 * lipschitz)
