"""Both sides of the claims on noise-free runs, by plain heavy ball in rational arithmetic."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions

import pytest
from sides_by_hand import assert_sides, heavy_ball, sides_at


@pytest.mark.parametrize(
    ("clients", "own", "beta", "start", "t"), [(70, 30, F(7, 10), F(1, 4), 3), (70, 50, F(3, 5), F(1, 10), 2)]
)
def test_two_scalar_clusters_without_noise(clients: int, own: int, beta: F, start: F, t: int) -> None:
    """The appendix's (A22) to (A37), where cluster 1 is the smaller and the larger one."""
    one = {"clients": clients, "own": own, "momentum": beta, "start": start, "round": t}
    share, smallest = F(own, clients), F(min(own, clients - own), clients)
    e, floor = heavy_ball(share, beta, start, t + 1), smallest / 4
    for name in ("a35", "a37"):
        shrunk = (1 - smallest / 8) * abs(e[t])
        assert_sides(sides_at(name, one), abs(e[t + 1]), contraction=shrunk, mismatch=floor)
    past, total = sum((beta ** (t - 1 - k) * e[k] for k in range(t)), F(0)), sum(e[:t], F(0))
    weighted, plain, raised = ((own * (x - e[t])) ** 2 for x in (past, total, total / (1 - beta)))
    assert_sides(sides_at("a23", one), weighted, noise=0)
    assert_sides(sides_at("a23-weights", one), weighted, raised=raised)
    assert_sides(sides_at("a23-factor", one), raised, factored=plain / (1 - beta) ** 2)
    assert_sides(sides_at("a23-mean", one), plain / (1 - beta) ** 2, noise=0)
    for first, second in (("a24", "a27"), ("a25", "a34")):
        assert_sides(sides_at(first, one), own * abs(past - e[t]), noise=0)
        assert_sides(sides_at(second, one), beta * share * abs(past), mismatch=floor)
    right = beta / clients * (own * past - e[t]) + beta * share * e[t]
    assert_sides(sides_at("a22-parentheses", one), [(beta * share * past, right)])
