"""ProxSkip: the identity (P) and the sharp rate against a plain implementation on losses that are not quadratic."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from clusterproof import checker
from clusterproof.methods.controls import proxskip
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.exact.planar_clients import PlanarClients, squares, vector
from clusterproof.theory.papers.proxskip import Start

F = Fraction


CLIENTS = PlanarClients(3, F(2), F(3, 10), F(3, 4), F(1), F(2, 5), F(-1, 2), 1)
START = (F(3, 2), F(-1), F(1, 2), F(1, 3), F(1), F(-1, 2), F(3, 4))
NOISE = F(1), F(1, 2), F(-1, 3), F(2)


def by_client(clients: PlanarClients, start: Start, noise: tuple[F, F, F, F] = (F(0),) * 4) -> tuple[F, F, F]:
    """Psi, E Psi+ and gamma^2 V, client by client, by the method's iteration on arrays."""
    p, gamma = start.probability, start.step_length / clients.smoothness
    models = vector(start.x, start.y) + clients.deviations(start.spread_x, start.spread_y)
    controls = clients.deviations(start.control_x, start.control_y)
    errors = np.array([noise[2:] if i % 2 else noise[:2] for i in range(clients.clients)], dtype=object)

    def psi(x: Any, h: Any) -> F:
        found: F = (squares(np.array(x)) + (gamma / p) ** 2 * squares(np.array(h))).sum()
        return found

    after = F(0)
    for sign, (coin, share) in product((1, -1), ((True, p), (False, 1 - p))):
        on = exact_clients(clients.functions(sign * errors), [1] * clients.clients)
        state = proxskip(on, models, controls, step_size=gamma, probability=p, communicates=coin)
        after += share / 2 * psi(*state)
    return psi(models, controls), after, gamma**2 * squares(errors).sum()


@pytest.mark.parametrize("p", [F(3, 4), F(1, 4)])
def test_an_iteration_of_two_kinds_is_that_of_their_clients(p: F) -> None:
    """One of two kinds of clients stands for several."""
    start = Start(*START, p)
    before, after, _ = by_client(CLIENTS, start)
    flat, steep = 1 - F(3, 8) * F(3, 10), 1 - F(3, 4)
    rates = {"proxskip/sharp": max(flat**2, steep**2, 1 - p**2), "proxskip/theorem-6": max(flat, 1 - p**2)}
    for name, rate in rates.items():
        sides: Any = checker.find_claim(name).function(CLIENTS, start)
        assert (sides.measured, sides.terms) == (after, {"start": rate * before})
    before, after, added = by_client(CLIENTS, start, NOISE)
    sides = checker.find_claim("sproxskip/additive").function(CLIENTS, start, *NOISE)
    assert sides.measured == after
    assert sides.terms == {"start": rates["proxskip/sharp"] * before, "noise": added}


def test_the_one_step_constant_of_two_scalars() -> None:
    """Curvatures 1 and 2, gamma = p = 1/2: 3/4, from the controls."""
    clients = PlanarClients(2, F(2), F(1), F(0), F(100), F(1), F(100), 0)
    start = Start(F(0), F(0), F(0), F(0), F(0), F(1), F(1), F(1, 2))
    before, after, _ = by_client(clients, start)
    assert after == F(3, 4) * before
