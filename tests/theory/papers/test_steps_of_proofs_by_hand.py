"""Both sides of the steps of proofs, at generic numbers and vectors, from what each step says."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_pairs, assert_sides, sides_at, sides_with

from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.scaffold.sharp_option_1 import summed_shares

LEFT = {"distance": F(3, 2), "controls": F(5, 3), "rate": F(4, 7), "used": F(2, 11), "lost": F(1, 13)}
"""||x - x*||^2, mean ||q||^2, p^(2K), u and what a proof leaves out."""
D, C, RATE, USED, LOST = LEFT.values()


def square(*vector: F) -> F:
    return sum((each**2 for each in vector), F(0))


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


def test_whole_rounds_of_scaffold_and_fedlin() -> None:
    numbers = {
        "distance": D,
        "controls": C,
        "last": F(1, 7),
        "gained": F(2, 5),
        "margin": F(1, 9),
        "lost": LOST,
    }
    rate = F(1, 7) + F(2, 5) + F(1, 9)
    check("scaffold/sharp: round", numbers, rate * D + F(19, 35) * C - LOST, rate=rate * (D + C))
    after = RATE * (D + USED * C) - LOST
    check("scaffold/sharp-option-1: round", LEFT, after, rate=RATE * (D + C / 3))
    check("fedlin/sharp: round", LEFT, after - C / 3, contraction=RATE * D, spared=-(1 - RATE) * C / 3)
    numbers = LEFT | {"gained": F(3, 8), "used_of_2": F(3, 7), "lost_of_2": F(1, 6), "losses": F(4, 9)}
    after = D + USED * C - LOST - F(3, 8)
    check("scaffold/convex: round: I", numbers, after, before=D + C / 4, gained=-F(3, 8))
    check("fedlin/convex: round", numbers, after - C / 4, before=D, gap=-F(3, 8))
    after = D + F(3, 7) * C - F(1, 6) - F(8, 9)
    check("scaffold/convex: round: II", numbers, after, before=D + C, gained=-F(8, 9))


def test_single_local_steps_of_scaffold_as_vectors() -> None:
    """|y - w|^2 with y = P - sigma q and w = (sigma q + z) / (2b - 1), and with y = d - (k / K) q."""
    y, q, z, share, factor = (F(2), F(3)), (F(1, 2), F(3, 4)), (F(1), F(1, 4)), F(2, 3), F(1, 3)
    w = tuple(factor * (share * a + b) for a, b in zip(q, z, strict=True))
    slack = inner(tuple(a + share * b for a, b in zip(y, q, strict=True)), w) - (1 / factor + 1) / 2 * square(
        *w
    )
    assert slack > 0
    numbers = {"before": square(*y), "share": share, "factor": factor, "q": square(*q), "z": square(*z)}
    numbers |= {"qz": inner(q, z), "slack": slack}
    left = square(*(a - b for a, b in zip(y, w, strict=True)))
    bound = {"before": square(*y), "gained": factor * share**2 * square(*q)}
    check("scaffold/sharp: one local step", numbers, left, **bound)
    k, count, larger, loss, d = 2, 5, F(1, 3), F(1, 7), (F(3), F(5, 2))
    y = (d[0] - F(k, count) * q[0], d[1] - F(k, count) * q[1])
    slack = inner(d, w) - loss - (count + larger) / 2 * square(*w)
    assert slack > 0
    apart = square(*(a - b / count for a, b in zip(w, q, strict=True)))
    numbers = {"k": F(k), "later": F(count - 1 - k), "larger": larger, "before": square(*y), "w": square(*w)}
    numbers |= {"q": square(*q), "apart": apart, "loss": loss, "slack": slack}
    left = square(*(a - b for a, b in zip(y, w, strict=True)))
    bound = {"before": square(*y), "gained": -2 * loss, "used": F(k, count**2) * square(*q)}
    check("scaffold/convex: one local step of II", numbers, left, **bound)


def test_powers_and_shares_of_scaffold() -> None:
    count, m, pace = F(4), F(2, 5), F(2, 5) + F(3, 5) * F(3, 4)
    mean_power = (1 - m / 4) * F(2, 3)  # S_K / K
    inverse = 2 * (1 - m / count) / ((pace - m) / count)  # 2b
    numbers = {"local_steps": count, "m": m, "smooth": F(3, 4), "average": F(2, 3), "used": F(5, 7)}
    gained = (1 - 1 / count) * count * mean_power * F(5, 7) / (inverse - 1)
    check("scaffold/sharp: (*)", numbers, gained, allowed=(1 - m * mean_power) ** 2 - (1 - mean_power) ** 2)
    check("scaffold/sharp: power of three", {"a": F(2, 9)}, F(7, 9) ** 3, square=(1 - F(1, 3)) ** 2)
    numbers = {"count": F(3), "a": F(2, 7)}
    check("scaffold/sharp: power", numbers, (1 - F(3, 7)) * F(5, 7), root=1 - F(5, 7))
    j, c = F(3), F(2, 9)
    product_ = (2 - j * c) / (2 + j * c) * (2 - c) / (2 + c)
    after = (2 - (j + 1) * c) / (2 + (j + 1) * c)
    check("scaffold/sharp-option-1: powers", {"j": j, "c": c}, product_, after=after)
    k, sigma = F(3), F(2, 3)
    step = (1 - sigma**2) / (k + 1)  # sigma^2 = 1 - (k + 1) eta mu
    before, after = (k + sigma) ** 2 * (1 - (k + 2) * step), ((k + 1) * sigma * (1 - step)) ** 2
    check("scaffold/sharp-option-1: inverse powers", {"k": k, "sigma": sigma}, before, allowed=after)
    for side, k, n in ((1, F(5), F(4)), (0, F(2), F(10))):
        numbers = {"smaller": F(2), "apart": F(3), "s": F(3, 5), "above": F(1, 4), "larger": F(2, 7)}
        gap = summed_shares(k, k + n, F(3, 5)) - summed_shares(k - 1, k + n, F(3, 5))
        scaled = k * (F(3, 5) + F(2, 5) / 4) - F(3, 5) * n / 2  # s K xi_k
        bound = {"allowed": 2 * gap * ((n + 3 * k) / 2 + F(2, 7))}
        check(
            "scaffold/sharp-option-1: share",
            numbers | {"side": F(side)},
            3 * (k + n) ** 2 * scaled**2,
            **bound,
        )
    for claim, s, first, term in (
        ("sharp-option-1", F(3, 5), F(1, 15), {"third": F(1, 3)}),
        ("convex", F(1), F(2, 5) ** 2 / (F(5) * 9 / 8), {"quarter": F(1, 4)}),
    ):  # K = 5
        later = 2 * summed_shares(F(4), F(4), s) / (3 * 16 * 25)
        numbers = {"last": F(4)} | ({"s": s} if claim == "sharp-option-1" else {})
        check(f"scaffold/{claim}: sum", numbers, later + first, **term)


@pytest.mark.parametrize("earlier", [0, 1])
def test_one_local_step_of_option_1(earlier: int) -> None:
    """||z_k||^2 - lambda_(k,k-1) h(d_k), over p^(2n)."""
    p, n, power, loss = F(4, 5), F(3), F(2, 3), F(1, 6)
    numbers = {"earlier": earlier, "n": n, "p": p, "power": power, "c": F(7, 4), "z": F(9, 5), "loss": loss}
    numbers |= {
        "square": F(5, 4),
        "product": F(2, 3),
        "correction": F(3, 7),
        "next_loss": F(1, 8),
        "inverse": F(6),
    }
    value = F(9, 5) - earlier * (n + 1) * p**2 * power * loss
    check("scaffold/sharp-option-1: one local step", numbers, [value])


def multipliers(earlier: int, n: F, p: F, power: F) -> tuple[F, F, F]:
    """lambda_{*k}, lambda_{k*} and lambda_{k+1,k} over p^(2n + 1)."""
    first = 2 - (1 - p) * n * power
    return first, first + n * power - earlier * (n + 1) * p * power, n * power


def test_curvatures_of_option_1() -> None:
    """(1 - m) A_k with (1 - m) b = K - m + larger, at k = 0 and later, and of convex clients."""
    n, m, larger, above = F(3), (1 + F(2, 5)) / 2, F(1, 3), F(1, 4)
    count, eta_mu = n + 1, m / 4
    c = 2 * eta_mu / (2 - eta_mu)
    least = (2 - n * c) / (2 + n * c)
    power = least + above * (1 - least)
    first, to, neighbour = multipliers(0, n, 1 - eta_mu, F(1))
    b_0 = (count - m + larger) * (first + to) / 2 - (1 - m) * (1 + (1 - eta_mu) * neighbour)
    numbers = {"half": 1, "share": F(2, 5), "later": n, "larger": larger, "above": above}
    a_0 = b_0 - (1 - m) * count**2 / power**2 / 3
    bound = {"least": (1 - m) * (3 * n**2 / (4 * count) + F(1, 2))}
    check("scaffold/sharp-option-1: first local step: A_0", numbers, a_0, **bound)
    check("scaffold/sharp-option-1: first local step: from x*", numbers, first, least=1)
    check("scaffold/sharp-option-1: first local step: to x*", numbers, to, least=1)
    k, m, power = F(2), F(3, 7), F(5, 8)
    count = k + n + 1
    p = 1 - m / count
    first, to, neighbour = multipliers(1, n, p, power)
    a_k = (count - m + larger) * (first + to) / 2 - (1 - m) * (1 + p * neighbour)
    numbers = {"k": k, "later": n, "m": m, "power": power, "larger": larger}
    check("scaffold/sharp-option-1: curvature: A_k", numbers, a_k, least=(n + 3 * k) / 2)
    check("scaffold/sharp-option-1: curvature: from x*", numbers, first, least=1)
    check("scaffold/sharp-option-1: curvature: to x*", numbers, to, least=1)
    # lambda_{*0} = 2 and lambda_{0*} = 2 + n, of which K / 4 is not used
    a_0 = (4 + larger) * (2 + 2 + n - 1) / 2 - (1 + n) - F(16, 4)
    numbers = {"later": n, "larger": larger}
    check("scaffold/convex: first local step: A_0", numbers, a_0, least=4 * F(8) / 8)
    check("scaffold/convex: first local step: from x*", numbers, 2, least=1)
    check("scaffold/convex: first local step: to x*", numbers, 2 + n - 1, least=1)


def test_steps_on_the_drift_of_fedavg() -> None:
    d, z, flat, past = (F(3), F(2)), (F(2), F(1, 2)), F(2, 3), F(1, 4)
    span = 2 * flat / (1 + past)
    rest = square(*(a - b for a, b in zip(d, z, strict=True)))
    numbers = {
        "flat": flat,
        "past": past,
        "inner": square(*z),
        "slack": inner(z, d) - square(*z),
        "rest": rest,
    }
    left = square(*(flat * a - span * b for a, b in zip(d, z, strict=True)))
    check("fedavg/drift: one step contracts", numbers, left, flat=flat**2 * square(*d))
    g, c, pace = (F(3), F(1)), (F(1), F(1, 2)), F(3, 2)
    numbers = {
        "pace": pace,
        "gradient": square(*g),
        "change": square(*c),
        "slack": pace * inner(c, g) - square(*c),
    }
    left = pace * square(*(a - b for a, b in zip(g, c, strict=True)))
    check("fedavg/drift: gradients do not grow", numbers, left, before=pace * square(*g))
    numbers = {"decay": F(3, 4), "kept": F(5, 2), "floors": F(2, 3), "drift": F(4, 5)}
    shares = {"used": F(6, 7), "contracts": F(1, 2), "drifts": F(2, 5), "together": F(8, 9)}
    left = F(8, 9) * (F(1, 2) * F(3, 4) * F(6, 7) * F(19, 6) + F(2, 5) * F(4, 5))
    bound = {"start": F(15, 8), "drift": F(1, 2) + F(4, 5)}
    check("fedavg/drift: induction", numbers | shares, left, **bound)


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


def test_the_volume_of_lemma_n() -> None:
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


def test_a_determinant_of_theorem_a_prime() -> None:
    shares = np.random.default_rng(3).uniform(size=30) ** 4
    determinant = np.prod([1 - 0.6 * share for share in shares])
    found = sides_with(
        "cfl-mgd/theorem-a-prime", 30, F(3, 5), np.random.default_rng(3), statement="determinant"
    )
    assert_sides(found, -math.log(determinant) / 2, bound=-sum(shares) * math.log(0.4) / 2)
