"""Both sides of the claims on noise-free runs, by plain heavy ball in rational arithmetic."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions

import pytest
from sides_by_hand import assert_sides, heavy_ball, sides_at


@pytest.mark.parametrize(("clients", "a", "beta", "t"), [(3, F(3, 5), F(3, 4), 4), (2, F(2, 7), F(2, 5), 5)])
def test_equations_12_to_18(clients: int, a: F, beta: F, t: int) -> None:
    """M is beta (1 + beta) in the first case and 1 + eta L / |C_p| in the second."""
    one = {"clients": clients, "curvature": a, "momentum": beta, "start": F(1, 4), "round_": t}
    path = heavy_ball(a, beta, F(1, 4), t + 1)
    growth, weight = 1 + a / clients, beta * (1 + beta)
    m = max(growth, weight)

    def at(k: int) -> F:
        return path[max(k, 0)]

    def eps(k: int) -> F:
        return abs(at(k))

    formula = at(t) - a * at(t - 1) + beta * (at(t - 1) - at(t - 2))
    assert_sides(sides_at("equation-12", one), [(eps(t + 1), abs(formula))])
    kept, ratio = growth * eps(t), eps(t - 1) ** 2 / eps(t - 2) ** 2
    move = beta * abs(at(t - 1) - at(t - 2))
    assert_sides(sides_at("equation-14", one), eps(t + 1), growth=kept, move=move)
    assert_sides(sides_at("equation-15", one), eps(t + 1), growth=kept, ratio=weight)
    assert_sides(sides_at("equation-16", one), eps(t + 1), growth=kept, ratio=weight * ratio)
    assert_sides(sides_at("equation-17", one), eps(t + 1), growth=m * eps(t), ratio=weight / m * ratio)
    start = m ** (t + 1) * eps(-1)
    ratios = sum((weight / m) ** (t - k) * eps(k) ** 2 / eps(k - 1) ** 2 for k in range(t))
    squares = sum(
        ((eps(k) / eps(k - 1) - beta / m) ** 2 - beta**2 / m**2) * eps(k - 1) ** 2 for k in range(t - 1)
    )
    last = beta**2 / (m - 1) * eps(t - 1) ** 2
    found = sides_at("equation-18", one)
    assert_sides(found, start + ratios, start=start, errors=weight / (m - 1) * squares, last=last)


@pytest.mark.parametrize(
    ("clients", "own", "beta", "start", "t"), [(70, 30, F(7, 10), F(1, 4), 3), (70, 50, F(3, 5), F(1, 10), 2)]
)
def test_two_scalar_clusters_without_noise(clients: int, own: int, beta: F, start: F, t: int) -> None:
    """Lemma 2 and (38), where cluster 1 is the smaller and the larger one."""
    one = {"clients": clients, "own": own, "momentum": beta, "start": start, "round": t}
    share, smallest = F(own, clients), F(min(own, clients - own), clients)
    e, floor = heavy_ball(share, beta, start, t + 1), smallest / 4
    shrunk = (1 - smallest / 8) * abs(e[t])
    assert_sides(sides_at("lemma-2", one), abs(e[t + 1]), contraction=shrunk, mismatch=floor)
    e = heavy_ball(share, beta, F(1, 2), t)
    one = {"clients": clients, "own": own, "momentum": beta, "round_": t}
    assert_sides(sides_at("equation-38", one), beta * abs(e[t] - e[t - 1]), mismatch=floor)
    e = heavy_ball(F(1, 2), beta, F(1, 2), t + 1)
    found = sides_at("per-step-contraction", {"momentum": beta, "round_": t})
    assert_sides(found, abs(e[t + 1]), contraction=(1 - F(1, 2) / 8) * abs(e[t]))
