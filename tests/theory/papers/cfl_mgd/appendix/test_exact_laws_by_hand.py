"""Both sides of the appendix's claims that are summed over all outcomes, from the printed statements."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import assert_pairs, assert_sides, sides_at

from clusterproof.theory.claims import Outside


def binomial(count: int, p: F) -> list[F]:
    return [math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]


@pytest.mark.parametrize(("count", "sixteenths"), [(13, 10), (40, 8), (36, 14)])
def test_a5_a6_and_a_larger_constant(count: int, sixteenths: int) -> None:
    p = F(sixteenths, 16)
    chances = binomial(count, p)
    far = sum(chance for k, chance in enumerate(chances) if abs(k - count * p) >= F(count, 4))
    few = sum(chance for k, chance in enumerate(chances) if k <= F(count, 4))
    one = {"count": count, "sixteenths": sixteenths}
    assert_sides(sides_at("a5", one), far, hoeffding=2 * math.exp(-count / 8))
    assert_sides(sides_at("a6", one), few, hoeffding=2 * math.exp(-count / 8))
    half = sum(binomial(count, F(1, 2))[: count // 4 + 1])
    found = sides_at("a5-constant", {"count": count, "constant": "1/5"})
    assert_sides(found, half, hoeffding=2 * math.exp(-count / 5))
    largest = 0.25 * math.log(1 / 2) + 0.75 * math.log(3 / 2)  # KL(1/4 || 1/2)
    words = found.words if isinstance(found.words, str) else found.words()
    assert f"{float(half):.4g} > 2 exp(-{count}/5) = {2 * math.exp(-count / 5):.4g}" in words
    assert f"KL(1/4 || 1/2) = {largest:.4f}" in words


def test_steps_of_a7_and_equation_25() -> None:
    one: dict[str, Any] = {"clients": 11, "own": 7, "shared": 3}
    assert_sides(sides_at("a7-step-printed", one), F(1, 4), step=F(3, 11))
    assert_sides(sides_at("a7-step", one, line="at least"), F(3, 11), quarter=F(4, 11) / 4)
    assert_sides(sides_at("a7-step", one, line="at most"), F(3, 11), one=1)
    for claim in ("a7-step", "a7-step-printed"):
        sides_at(claim, {"clients": 11, "own": 8, "shared": 2}, line="at most" if claim == "a7-step" else "")
        with pytest.raises(Outside, match="l_1 m / 4"):
            sides_at(claim, {"clients": 11, "own": 9, "shared": 2})
    one = {"own": "3/2", "other": "5/2", "mean_own": "1/2", "mean_other": "7/3"}
    assert_pairs(sides_at("equation-24", one, "(25)"), 3 / 2 - 17 / 12, 5 / 2 - 17 / 12)


def test_a38_where_the_optima_are_far_apart() -> None:
    """sqrt(kappa) = 5/4 and Delta = 20: rho_0 = l / 4 + 1/100 is below (l / 32) (mu / L)^(3/2) Delta."""
    one: dict[str, Any] = {"root": F(5, 4), "share": F(2, 7), "separation": F(20), "other_terms": F(1, 100)}
    radius, floor = F(20) / 4 / F(5, 4), F(1, 14) + F(1, 100)
    assert_sides(sides_at("a38", one), (1 - F(2, 7) / 8 * F(16, 25)) * radius + floor, radius=radius)
    limit = F(2, 7) / 32 * F(64, 125) * 20 - F(1, 14)
    sides_at("a38", one | {"other_terms": limit})
    with pytest.raises(Outside, match="A38"):
        sides_at("a38", one | {"other_terms": limit + F(1, 10**6)})


LAW = {"samples": 3, "rarity": F(1, 3), "jump": F(3), "first": F(-1, 4), "second": F(1, 4)}


def losses(y: F, models: tuple[F, F]) -> list[F]:
    return [(chi - y) ** 2 / 2 for chi in models]


def wrong_choice(one: dict[str, Any]) -> tuple[F, F]:
    """Chance that the mean of n' samples is at least as near to chi_1 as to chi_2, and the losses' larger variance."""
    values = {
        -1 + one["jump"]: one["rarity"],
        -1 - one["jump"] * one["rarity"] / (1 - one["rarity"]): 1 - one["rarity"],
    }
    models, wrong = (1 + one["first"], -1 + one["second"]), F(0)
    for batch in product(values, repeat=one["samples"]):
        own, other = (sum(losses(y, models)[k] for y in batch) for k in (1, 0))
        wrong += math.prod((values[y] for y in batch), start=F(1)) * (own >= other)
    variances = []
    for k in (0, 1):
        mean = sum(p * losses(y, models)[k] for y, p in values.items())
        variances.append(sum(p * (losses(y, models)[k] - mean) ** 2 for y, p in values.items()))
    return wrong, max(variances)


@pytest.mark.parametrize(("jump", "level"), [(F(3), F(9, 10)), (F(4), F(1, 2)), (F(1, 2), F(1, 10))])
def test_a16_as_printed(jump: F, level: F) -> None:
    one = LAW | {"jump": jump}
    wrong, variance = wrong_choice(one)
    threshold = 128 * (2 + 6) * variance / (16 * level * 3)
    many = sum(chance for k, chance in enumerate(binomial(6, wrong)) if k > threshold)
    assert_sides(sides_at("a16", one | {"own": 2, "foreign": 6, "level": level}), 1 - many, printed=1 - level)


def test_a33_after_rounds_without_noise() -> None:
    """P(more than 384 sigma^2 m / (16 lambda_2 |u|) clients of cluster 2 err in round t)."""
    one: dict[str, Any] = {"clients": 20, "foreign": 12, "round": 2, "momentum": F(9, 10), "start": F(1, 2)}
    one |= {"rarity": F(1, 1000), "jump": F(5, 2)}
    ends = []
    for share in (F(8, 20), F(12, 20)):
        e, u = one["start"], F(0)
        for _ in range(one["round"]):
            u = one["momentum"] * u + e
            e -= share * u
        ends.append((e, u))
    wrong, variance = wrong_choice(one | {"samples": 1, "first": -ends[0][0], "second": -ends[1][0]})
    assert wrong == F(1, 1000)
    for level in (F(99, 100), F(1, 2)):
        threshold = 3 * 128 * variance / 16 * 20 / (level * abs(ends[1][1]))
        many = sum(chance for k, chance in enumerate(binomial(12, wrong)) if k > threshold)
        assert 0 < many < 1
        assert_sides(sides_at("a33", one | {"level": level}), many, markov=level)
    for foreign in (4, 16):  # a model that four fifths of the clients have is 0.55 away after three rounds
        one |= {"foreign": foreign, "momentum": F(99, 100), "level": F(1, 2)}
        sides_at("a33", one | {"round": 2})
        with pytest.raises(Outside, match="basin"):
            sides_at("a33", one | {"round": 3})


def prescribed(one: dict[str, Any]) -> tuple[list[list[F]], list[list[F]], list[list[int]]]:
    """Buffers before each round, gradients and choices of four clients, line by line."""
    spread, u = one["spread"], [F(0)] * 4
    chi, drawn_on = [1 - one["start"], -1 + one["start"]], [1 + spread, 1 - spread, F(-1), F(-1)]
    buffers, gradients, choices = [], [], []
    for t in range(one["round"] + 1):
        chosen_on = [1, 1, -1, 1 if one["outliers"] >> t & 1 else -1]
        chosen = [0 if abs(chi[0] - y) <= abs(chi[1] - y) else 1 for y in chosen_on]
        g = [chi[p] - y for p, y in zip(chosen, drawn_on, strict=True)]
        buffers.append(u), gradients.append(g), choices.append(chosen)  # type: ignore[func-returns-value]
        u = [one["momentum"] * a + b for a, b in zip(u, g, strict=True)]
        chi = [chi[p] - sum(u[i] for i in range(4) if chosen[i] == p) / 4 for p in (0, 1)]
        u = [sum((u[i] for i in range(4) if chosen[i] == p), F(0)) / chosen.count(p) for p in chosen]
    return buffers, gradients, choices


@pytest.mark.parametrize(
    ("t", "outliers", "spread"), [(3, 0b1010, 0), (2, 0b111, 0), (3, 0b1101, 0), (3, 0, F(1, 4))]
)
def test_buffers_against_the_past_gradients(t: int, outliers: int, spread: F | int) -> None:
    one: dict[str, Any] = {
        "round": t,
        "outliers": outliers,
        "spread": F(spread),
        "momentum": F(3, 10),
        "start": F(1, 4),
    }
    buffers, gradients, choices = prescribed(one)
    past = [F(0)] * 4
    for g in gradients[:t]:
        past = [F(3, 10) * a + b for a, b in zip(past, g, strict=True)]
    if outliers:
        with pytest.raises(Outside, match="wrong cluster"):
            sides_at("a19", one)
    else:
        assert_sides(sides_at("a19", one), list(zip(buffers[t], past, strict=True)))
    for claim, clients in (("a20", (0, 1)), ("a21", (2, 3)), ("a28-sum", (2, 3))):
        if spread:
            with pytest.raises(Outside, match="noise"):
                sides_at(claim, one)
            continue
        first = [i for i in clients if choices[t][i] == 0]
        terms = [F(3, 40) * sum((values[i] for i in first), F(0)) for values in (buffers[t], past)]
        assert_sides(sides_at(claim, one), [tuple(terms)])


@pytest.mark.parametrize(("clients", "t", "start"), [(3, 2, F(1, 2)), (4, 1, F(-1, 2))])
def test_a_client_that_joins_the_wrong_cluster(clients: int, t: int, start: F) -> None:
    """chi_1 stays at 1, so that (A29)'s distance is S - 2; samples of the client are -1 or -1 +- 2."""
    beta, rarity = F(2, 5), F(1, 1000)
    chances, first, square = {F(0): 1 - 2 * rarity, F(2): rarity, F(-2): rarity}, F(0), F(0)
    tail = {F(1, 2): F(0), F(1, 10): F(0)}
    variance = 8 * rarity * t / (1 - beta) ** 2
    for noise in product(chances, repeat=t):
        e, u = start, F(0)
        for z in noise:
            u = beta * u + e - z
            e -= u / clients
        weight = math.prod((chances[z] for z in noise), start=F(1))
        first, square = first + weight * abs(u - 2), square + weight * (u - 2) ** 2
        for level in tail:
            tail[level] += weight * ((u - 2) ** 2 > variance / level**2)
    one: dict[str, Any] = {"clients": clients, "round": t, "momentum": beta, "start": start, "rarity": rarity}
    assert_sides(sides_at("a29", one), square, noise=variance)
    assert_sides(sides_at("a30", one), first**2, noise=variance)
    for level, chance in tail.items():
        assert_sides(sides_at("a31", one | {"level": level}), chance, markov=level)
    # the variance of the loss at 3/2 is 58 p - 16 p^2, of which 1/16 is allowed
    for claim in ("a29", "a30", "a31", "a32"):
        one |= {"level": F(1, 4), "rarity": F(1, 928)}
        sides_at(claim, one)
        with pytest.raises(Outside, match="256"):
            sides_at(claim, one | {"rarity": F(1, 927)})


def test_a23_with_noise_and_what_is_true_of_it() -> None:
    beta, t, n, m = F(3, 10), 4, 100, 3
    e = [0.4 * 0.8**k for k in range(t + 1)]
    v = [0.01 + 2 * x**2 for x in e]
    weights = [0.3 ** (t - 1 - k) for k in range(t)]
    mean = m * (sum(w * x for w, x in zip(weights, e, strict=False)) - e[t])
    noise = m / n * sum(w**2 * x for w, x in zip(weights, v, strict=False))
    one = {"clients": m, "samples": n, "momentum": beta, "round_": t}
    assert_sides(sides_at("a23", one, "noise"), mean**2 + noise, noise=m * v[0] * t / (n * 0.7**2))
    # gradients' noise of two values: all outcomes of two clients in three rounds
    law, square = {F(1, 4): F(1, 10), F(-1, 36): F(9, 10)}, F(0)
    for draws in product(law, repeat=6):
        rounds = [draws[k] + draws[3 + k] for k in range(3)]
        past = sum((beta ** (2 - k) * z for k, z in enumerate(rounds)), F(0))
        square += math.prod((law[z] for z in draws), start=F(1)) * past**2
    variance = sum(p * z**2 for z, p in law.items())
    one = {"clients": 2, "round_": 3, "momentum": beta, "curvature": "1/2", "rarity": "1/10", "jump": "1/4"}
    assert_sides(sides_at("a23-meant", one), square, martingale=2 * variance / (1 - beta**2))


PAIR: dict[str, Any] = {
    "condition_number": 3,
    "separation": F(2),
    "noise": F(7, 8),
    "samples": 5,
    "steep_axis": 0,
}
PAIR |= {"own_length": F(3, 4), "own_angle": F(1, 5), "other_length": F(1, 2), "other_angle": F(4, 5)}


@pytest.mark.parametrize("steep_axis", [0, 1])
def test_a_pair_of_models_under_gaussian_rows(steep_axis: int) -> None:
    """Sigma = diag(1, 1/3) or diag(1/3, 1), optima at 0 and (2, 0), models at 3/4 and 1/2 of the basin's radius."""
    spectrum = np.array([1, 1 / 3])[:: 1 - 2 * steep_axis]
    radius, n = math.sqrt(1 / 3) * 2 / 4, 5
    own = 3 / 4 * radius * np.array([math.cos(math.pi / 5), math.sin(math.pi / 5)])
    other = np.array([2, 0]) + radius / 2 * np.array([math.cos(4 * math.pi / 5), math.sin(4 * math.pi / 5)])
    a, b, c = (49 / 64 + x @ (spectrum * y) for x, y in ((own, own), (other, other), (own, other)))
    variance = max(a, b) ** 2 / 2
    q = math.sqrt((a + b) ** 2 - 4 * c**2)
    wrong = stats.f.sf((q + b - a) / (q - b + a), n, n)
    one, unit = PAIR | {"steep_axis": steep_axis}, variance / (2**4 / 9 * n)
    assert_sides(sides_at("lemma-1", one), wrong, chebyshev=128 * unit)
    assert_sides(sides_at("lemma-1-cantelli", one), wrong, cantelli=64 * unit / (64 * unit + 1))
