"""Rounds of SCAFFOLD and FedLin on clients in the plane. Without loss of generality, x* = 0 and g_i* = 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import integers, rationals, suppose
from clusterproof.methods.controls import scaffold
from clusterproof.methods.exact import descend, exact_clients
from clusterproof.theory.bounds.round_theorems import RoundCase
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector

Pace = Annotated[Fraction, rationals(0, 1, 4)]
"""The product eta L K."""
LocalSteps = Annotated[int, integers(1, 6, upwards=True)]
"""The number K of local steps."""


@dataclass(frozen=True)
class Start:
    """State before a round: x - x*, and the c_i - c - g_i*, with alternating signs before their mean is subtracted."""

    x: Coordinate
    y: Coordinate
    control_x: Coordinate
    control_y: Coordinate
    pace: Pace
    local_steps: LocalSteps


def contraction(step_size: Any, strong_convexity: Any, local_steps: int) -> Any:
    """Return the factor (1 - eta mu)^(2K) of a round."""
    return (1 - step_size * strong_convexity) ** (2 * local_steps)


def rate_of(case: RoundCase) -> Any:
    """Return the factor (1 - eta mu)^(2K) for a case."""
    return contraction(case.step_size, case.strong_convexity, case.local_steps)


def weight_of(case: RoundCase) -> Any:
    """Return (K eta)^2, the weight of the controls under option II."""
    return (case.local_steps * case.step_size) ** 2


def step_size_of(clients: PlanarClients, pace: Fraction, local_steps: int) -> Fraction:
    """Return the step size eta."""
    suppose("mu < L", clients.strong_convexity < clients.smoothness)
    suppose("eta > 0", pace > 0)
    return pace / clients.smoothness / local_steps


def psi_and_next(clients: PlanarClients, start: Start, option: str, share: Any = 1) -> tuple[Any, Any]:
    """Return ||x - x*||^2 + share (K eta)^2 mean ||c_i - c - g_i*||^2 before and after a round of SCAFFOLD."""
    step_size, steps = step_size_of(clients, start.pace, start.local_steps), start.local_steps
    before = vector(start.x, start.y), 0, list(clients.deviations(start.control_x, start.control_y))
    of_clients = exact_clients(clients.functions(), [steps] * clients.clients)
    after = scaffold(of_clients, *before, step_size=step_size, option=option)

    def psi(model: np.ndarray, control: Any, controls: Any) -> Any:
        apart = mean(squares(np.array(controls) - control))
        return squares(model).item() + share * (steps * step_size) ** 2 * apart

    return psi(*before), psi(*after)


def gaps(clients: PlanarClients, start: Start) -> list[Any]:
    """Return the means of D_i(y_i^k) in a round for k = 0, ..., K - 1. The first is f(x) - f*."""
    step_size = step_size_of(clients, start.pace, start.local_steps)
    corrected = clients.functions(-clients.deviations(start.control_x, start.control_y))
    first = vector(start.x, start.y)
    return [
        clients.mean_gap([descend(gradient, first, step_size, k) for gradient in corrected])
        for k in range(start.local_steps)
    ]
