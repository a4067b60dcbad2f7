"""Both sides of the claims on noise-free runs, by plain heavy ball in rational arithmetic."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions

import pytest
from sides_by_hand import assert_sides, heavy_ball, sides_at


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
