"""Both sides of the steps of proofs, at generic numbers and vectors, from what each step says."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import assert_pairs, assert_sides, sides_at, sides_with

from clusterproof.theory.claims import Outside


def inner(first: tuple[F, ...], second: tuple[F, ...]) -> F:
    return sum((a * b for a, b in zip(first, second, strict=True)), F(0))


def check(step: str, instance: dict[str, Any], measured: Any, **terms: Any) -> None:
    """Compare a step, "claim: part" or "claim: part: name"; without terms it is an equation."""
    claim, part, *name = step.split(": ")
    found = sides_at(claim, instance, part, *name)
    if found.identity:
        assert_pairs(found, *measured)
    else:
        assert_sides(found, measured, **terms)


def test_a_fresh_batch_is_unbiased() -> None:
    """The mean over three batches, whatever the chances with which each is chosen."""
    names = ("first", "second", "third")
    weights, chances, gradients = (
        (F(3, 2), F(2, 3), F(1)),
        (F(1, 4), F(3, 4), F(1)),
        (F(1, 2), F(-3, 2), F(2)),
    )
    one = dict(zip(names, weights, strict=True))
    one |= {f"chosen_{name}": chance for name, chance in zip(names, chances, strict=True)}
    one |= {f"slope_{name}": slope for name, slope in zip(names, gradients, strict=True)}
    mean = inner(weights, gradients) / sum(weights)
    check("cfl-mgd/assumption-5-resampled: algebra", one, [mean])
    with pytest.raises(Outside, match="some batch"):
        sides_at(
            "cfl-mgd/assumption-5-resampled", one | {f"chosen_{name}": F(0) for name in names}, "algebra"
        )


def test_steps_of_lemma_p() -> None:
    a, b, s, c, more = F(1, 2), F(9, 4), F(3, 4), F(5, 4), F(3, 4)
    both, one = 2 * s**2 + a**2 + b**2, {"a": a, "b": b, "s": s, "c": c, "more": more}
    covariance = s**2 - a * b
    check("cfl-mgd/pairwise-error: largest covariance", one, [both**2 - 4 * covariance**2])
    bound = {"any_covariance": (b**2 - a**2) * (both**2 - 4 * c**2)}
    check("cfl-mgd/pairwise-error: no covariance", one, (b**2 - a**2) * both**2, **bound)
    check("cfl-mgd/pairwise-error: the cases agree", one, [(b - a) ** 2 / (4 * a * b + (b - a) ** 2)])

    def ratio(a: F, b: F) -> F:
        return (b**2 - a**2) / (2 * s**2 + a**2 + b**2)

    name = "cfl-mgd/pairwise-error: monotone without covariance"
    check(f"{name}: a", one, ratio(a + more, b), nearer=ratio(a, b))
    check(f"{name}: b", one, ratio(a, b + more), nearer=ratio(a, b))
    one = {"gap": F(5, 4), "s": s, "more": more}
    wide, near = (each**2 / (4 * s**2 + each**2) for each in (F(2), F(5, 4)))
    check("cfl-mgd/pairwise-error: monotone with covariance", one, wide, nearer=near)


def test_steps_of_lemma_r() -> None:
    def psi(z: float) -> float:
        return -math.log(1 - z) - z

    c, x = 0.4 * 0.3, 0.3
    gamma = 2 * psi(2 * x) / (2 * x) ** 2
    one = {"spread": 0.3, "correlation": 0.4}
    left = (psi(c + x) + psi(c - x)) / 2
    assert_sides(sides_at("cfl-mgd/row-lemma", one), left, gamma=(c**2 + x**2) * gamma / 2)
    check("cfl-mgd/row-lemma: gamma", {"argument": 0.6}, gamma, pole=1 / 0.4)
    for lower, upper in ((-2.5, 0.7), (0.2, 0.4)):
        ratios = [psi(z) / z**2 for z in (lower, upper)]
        check("cfl-mgd/row-lemma: psi", {"lower": lower, "upper": upper}, ratios[0], later=ratios[1])
    for wrong, name in (({"lower": 0.5, "upper": 0.4}, "lower"), ({"lower": 1e-4, "upper": 0.4}, "rounding")):
        with pytest.raises(Outside, match=name):
            sides_at("cfl-mgd/row-lemma", wrong, "psi")
    check("cfl-mgd/row-lemma: coefficients", {"i": 5}, F(2, 7), pole=1)
    check("cfl-mgd/row-lemma: moment", {"spread": 0.2, "correlation": -0.7}, [1])
    sums = [F(1, 4) - F(25, 16), 2 * (F(9, 4) + F(25, 16))]
    check("cfl-mgd/row-lemma: two logarithms", {"c": F(3, 2), "x": F(5, 4)}, sums)
    sigma, e, nu = np.diag([0.75, 1.5]), np.array([0.5, -1.5]), np.array([2.0, -1.0])
    matrix = (0.25 + e @ sigma @ e) * sigma + np.outer(sigma @ e, sigma @ e)
    two = {"small": "3/4", "large": "3/2", "noise": "1/4", "nu": "2", "nu_2": "-1", "e": "1/2", "e_2": "-3/2"}
    check("cfl-mgd/row-lemma: covariance", two, [nu @ matrix @ nu])


def test_steps_of_lemma_n() -> None:
    b, c = F(5, 4), F(3, 2)
    check("cfl-mgd/norm-inequality: divergence", {"b": b, "c": c, "away": F(7, 4)}, [b * c**2 / 2])
    one: dict[str, Any] = {"dimension": 10, "radius": 7.5}
    ratio = stats.chi2.cdf(7.5, 12) / stats.chi2.cdf(7.5, 10)
    check("cfl-mgd/norm-inequality: restricted posterior", one, ratio, whole=1)
    with pytest.raises(Outside, match="mass"):
        sides_at("cfl-mgd/norm-inequality", {"dimension": 100, "radius": 1.0}, "restricted posterior")
    one = {"root_of_op": F(3, 4), "root_of_tr": F(5, 2), "root_of_2u": F(7, 4)}
    check("cfl-mgd/norm-inequality: N1 without a search", one, [F(5, 2) + F(3, 4) * F(7, 4)])
    one = {"b": 1.5, "variance": 0.7, "g": 2.5, "along": 1.25}
    check("cfl-mgd/norm-inequality: Gaussian integral", one, [1])
    stream = np.random.default_rng(3)
    profile, errors = stream.exponential(size=10), stream.standard_normal((10, 2)) * stream.uniform(0, 1)
    direction = stream.standard_normal(10)
    whole, b_, g = np.diag(profile) + errors @ errors.T, 1.5, 2.5
    slack, trace = np.trace(errors @ errors.T), np.trace(whole)
    exact = math.log(np.linalg.det(np.eye(10) + g * whole / b_))
    inside = direction @ np.linalg.inv(b_ * np.eye(10) + g * whole) @ direction / (direction @ direction)
    rows = {
        "known profile": (exact, {"profile": sum(math.log(1 + g * v / b_) for v in profile)}),
        "known trace": (exact, {"trace": 10 * math.log(1 + g * trace / (10 * b_))}),
        "inverse": (inside, {"norm": 1 / (b_ + g * (max(profile) + slack))}),
    }
    rows["known profile"][1]["error"] = g * slack / (b_ + g * min(profile))
    for name, (measured, terms) in rows.items():
        found = sides_with(
            "cfl-mgd/norm-inequality", 10, b_, g, np.random.default_rng(3), statement="volume", line=name
        )
        assert_sides(found, measured, **terms)


def test_steps_of_theorem_a_prime() -> None:
    constant, scale, slope = 1.25, 0.6, -0.75
    lam, v = scale / (2 * constant**2), 2 * constant * slope
    bound = math.exp(lam**2 * v**2 / (2 * (1 - scale))) / math.sqrt(1 - scale)
    left = (math.exp(lam * (v + constant**2)) + math.exp(lam * (-v + constant**2))) / 2
    one: dict[str, Any] = {"scale": "3/5", "slope": "-3/4"}
    check("cfl-mgd/theorem-a-prime: two-valued step", one, left, bound=bound)
    check("cfl-mgd/theorem-a-prime: Gaussian step", one, [1])
    shares = np.random.default_rng(3).uniform(size=30) ** 4
    determinant = np.prod([1 - 0.6 * share for share in shares])
    found = sides_with(
        "cfl-mgd/theorem-a-prime", 30, F(3, 5), np.random.default_rng(3), statement="determinant"
    )
    assert_sides(found, -math.log(determinant) / 2, bound=-sum(shares) * math.log(0.4) / 2)
    c, proxy, r, phi, square_v = F(3, 2), F(5, 4), F(3, 10), F(7, 4), F(9, 4)
    following = r * phi + 2 * c * proxy
    value = r * square_v / following / (1 - 2 * c * proxy / following)
    one = {"c_1_squared": c, "proxy": proxy, "rate_squared": r, "phi": phi, "v": square_v}
    check("cfl-mgd/theorem-a-prime: slope", one, [value])
    following = r * phi + 2 * c
    one = {"rate_squared": r, "phi": phi, "w": c}
    check("cfl-mgd/theorem-a-prime: telescoping", one, [1 / phi, r * phi / following])
    phi_t = phi
    for _ in range(7):
        phi_t = F(81, 100) * phi_t + 2
    value_ = math.log(phi_t / (F(9, 10) ** 14 * phi)) / 2 + 2.5**2 / float(phi)
    one = {"rate": "9/10", "rounds": 7, "distance": 2.5, "weight": phi}
    check("cfl-mgd/theorem-a-prime: chain", one, [value_])
    spread, start, x, u = sum(0.9 ** (2 * k) for k in range(7)), 0.9**14 * 2.5**2, 0.3, -math.log(0.1)
    reach = (1 + x) * (start / x + 2 * spread * (3 / 2 * math.log(1 + 1 / x) + u))
    one = {"rate": 0.9, "rounds": 7, "distance": 2.5, "dimension": 3, "failure": 0.1, "weight": x}
    left = stats.ncx2.sf(reach / spread, 3, start / spread)
    check("cfl-mgd/theorem-a-prime: frequency", one, left, allowed=0.1)


def test_steps_of_theorem_d() -> None:
    own, missing_members, false_members, curvature, e, far = (
        F(7, 2),
        F(3, 4),
        F(5, 4),
        F(3, 2),
        F(-2, 3),
        F(4, 3),
    )
    mean = ((own - missing_members) * curvature * e + 2 * false_members * curvature * far) / (own + 5)
    one = {
        "own": own,
        "missing_members": missing_members,
        "false_members": false_members,
        "curvature": curvature,
        "e": e,
        "far": far,
    }
    check("cfl-mgd/theorem-d: mean gradient", one, [mean])
    beta, a, x = F(2, 5), F(3, 7), (F(1, 2), F(-1, 3), F(3, 4))
    now = before = e
    for inflow in x:
        now, before = (1 + beta - a) * now - beta * before + inflow, now
    one = {"momentum": beta, "a": a, "e": e, "first": x[0], "second": x[1], "third": x[2]}
    check("cfl-mgd/theorem-d: recursion in three rounds", one, [now])
    shares = {"a": F(1, 4), "b": F(1, 2), "c": F(3, 4), "d": F(1)}
    for clients, exceeded in ((4, 1), (3, 2), (2, 0)):
        tails = []
        for chances in ([F(2, 3) * share for share in shares.values()][:clients], [F(2, 3)] * clients):
            law = [F(1)]  # of the number of wrong choices, one client after the other
            for chance in chances:
                law = [chance * x + (1 - chance) * y for x, y in zip([F(0), *law], [*law, F(0)], strict=True)]
            tails.append(sum(law[exceeded + 1 :]))
        numbers: dict[str, Any] = shares | {"clients": clients, "exceeded": exceeded, "most": F(2, 3)}
        check("cfl-mgd/theorem-d: domination", numbers, tails[0], binomial=tails[1])
    with pytest.raises(Outside, match="exceeded"):
        sides_at("cfl-mgd/theorem-d", numbers | {"exceeded": 2}, "domination")


def test_steps_of_theorem_d_with_partial_participation() -> None:
    clients, marked, drawn = 9, 5, 4
    law = {k: math.comb(5, k) * math.comb(4, 4 - k) / math.comb(9, 4) for k in range(5)}
    slope, mean = 1.3, 4 * 5 / 9
    moment = math.log(sum(p * math.exp(slope * (k - mean)) for k, p in law.items()))
    one: dict[str, Any] = {"clients": clients, "marked": marked, "drawn": drawn, "slope": slope}
    check("cfl-mgd/theorem-d: fluctuation", one, moment, proxy=slope**2 / 2 * 4 * (1 - 3 / 9) / 4)
    for tail in (0.3, 0.01):
        least = max(k for k in range(5) if sum(law[j] for j in range(k)) <= tail / 2)
        most = min(k for k in range(5) if sum(law[j] for j in range(k + 1, 5)) <= tail / 2)
        beyond = sum(p for k, p in law.items() if not least <= k <= most)
        check("cfl-mgd/theorem-d: counts of participants", one | {"tail": tail}, beyond, tail=tail)
    with pytest.raises(Outside, match="others"):
        sides_at("cfl-mgd/theorem-d", one | {"marked": 9, "tail": 0.3}, "counts of participants")
    a, more, i, fewer = F(5, 2), F(3, 2), F(2), F(7, 2)
    one = {"present": a, "more": more, "false_members": i, "fewer": fewer}
    most_, small, name = i + fewer, a + i + fewer, "cfl-mgd/theorem-d: worst counts"
    check(f"{name}: drift", one, i / (a + more + i), worst=most_ / (a + most_))
    check(f"{name}: noise, own", one, most_ / (a + more + most_) ** 2, worst=most_ / (a + most_) ** 2)
    check(f"{name}: noise, false members", one, i / (small + i) ** 2, worst=most_ / (small + most_) ** 2)
    many = a + more
    check(f"{name}: noise, many false members", one, many / (a + many) ** 2, worst=a / (2 * a) ** 2)
