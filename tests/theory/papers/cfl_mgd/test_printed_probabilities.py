"""Probabilities of CFL-MGD, the floor of Theorem 1; best constants of loose statements by a second route."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from fractions import Fraction as F  # noqa: N817 - a table of fractions  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from best_constants import by_cantelli, markov_on_the_mean
from scipy import stats
from sides_by_hand import assert_sides

from clusterproof import checker
from clusterproof.algorithms import CFLMGD
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.algebra import exponential_bounds
from clusterproof.theory.exact.scalar_clusters import has_positive_probability
from clusterproof.theory.exact.two_point_losses import RARE, tightest
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import (
    CERTAIN,
    exceeded_across,
    exceeded_displacement,
)
from clusterproof.theory.papers.cfl_mgd.appendix.a35_to_a42 import floor_of_a_round
from clusterproof.theory.papers.cfl_mgd.floor import FloorConstants, printed_conclusion, printed_floor
from clusterproof.theory.papers.cfl_mgd.lemma_2 import lemma_2

RECORDED = read_verdicts()
LAMBDA = 1e-4
"""lambda_0 = ... = lambda_4: any number in (0, 1) is allowed, and without noise no bound depends on it."""


def lambda_5(smallest: int, clusters: int = 2) -> float:
    """The line before (A36), c = 1/8."""
    return LAMBDA * (1 + clusters + 2 + 1 + clusters) + 4 * math.exp(-smallest / 8)


def of_a_round(smallest: int) -> float:
    """1 - P lambda_5, of (A37) = (31)."""
    return 1 - 2 * lambda_5(smallest)


def of_one_cluster(smallest: int) -> float:
    """1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), of (A35)."""
    return 1 - lambda_5(smallest)


def of_own_momentum(smallest: int) -> float:
    """1 - lambda_3 - 2 exp(-clm), of (A27)."""
    return 1 - LAMBDA - 2 * math.exp(-smallest / 8)


def of_momentum(smallest: int) -> float:
    """1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-clm), of (A34) = (38)."""
    return 1 - 4 * LAMBDA - 2 * math.exp(-smallest / 8)


def errors_of_a_run(found: dict[str, Any], rounds: int) -> np.ndarray:
    """Errors of model 1 by the algorithm, on a task that is made here."""
    labels = np.array([0] * found["own"] + [1] * (found["clients"] - found["own"]))
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    task = QuadraticMixture(hessians=np.ones((len(labels), 1, 1)), centers=centers, labels=labels)
    assert (task.separation, task.smoothness, task.strong_convexity) == (2, 1, 1)
    start = float(F(found.get("start", "1/2")))
    assert start <= math.sqrt(task.strong_convexity / task.smoothness) * task.separation / 4  # Assumption 4
    initial = np.array([[1 - start], [start - 1]])
    algorithm = CFLMGD(step_size=1.0, momentum=float(F(found["momentum"])))
    trace = run(algorithm, task, rounds=rounds, initial=initial)
    assert (trace.assignments == labels).all()
    return np.asarray(trace.errors)[:, 0]


CLAIMS: list[tuple[str, Callable[[int], float], int]] = [
    ("lemma-2", of_a_round, 17),
    ("appendix-a35#(A37) = (31) of Lemma 2", of_a_round, 17),
    ("theorem-1-small-constant", of_a_round, 17),
    ("appendix-a35#(A35)", of_one_cluster, 12),
    ("appendix-a27#(A27)", of_own_momentum, 6),
    ("appendix-a27#(A34)", of_momentum, 6),
]


@pytest.mark.parametrize(("name", "probability", "least"), CLAIMS, ids=[name for name, _, _ in CLAIMS])
def test_a_counterexample_has_just_enough_clients(
    name: str, probability: Callable[[int], float], least: int
) -> None:
    found = RECORDED[f"cfl-mgd/{name}"]["counterexample"]
    assert min(found["own"], found["clients"] - found["own"]) >= least
    assert probability(least) > 0
    assert probability(least - 1) < 0
    with pytest.raises(InvalidArgument, match=r"the hypothesis .* > 0|that the instance has"):
        checker.replay(f"cfl-mgd/{name}", found | {"clients": 2 * least - 2, "own": least - 1})


@pytest.mark.parametrize("c_4", [1, 44, 1000])
def test_lemma_2_is_false_for_every_constant(c_4: int) -> None:
    """|e_2| tends to 9/20 as l tends to 0, and all that is allowed to 0."""
    clients = 17 * 5 * (c_4 + 1)
    sides = lemma_2(clients, clients - 17, F(9, 10), F(1, 2), 1, c_4=F(c_4))
    l = 17 / clients  # noqa: E741 - the paper's name
    second = abs((1.9 - (1 - l)) * l / 2 - 0.9 / 2)
    assert second > (1 - l / 8) * l / 2 + c_4 * l
    assert_sides(sides, second, contraction=(1 - l / 8) * l / 2, mismatch=c_4 * l)
    assert of_a_round(17) > 0


def test_the_least_numbers_of_clients_are_those_of_floating_point() -> None:
    for tails in (2, 4, 8, 12, 40):
        for smallest in range(200):
            assert has_positive_probability(tails, smallest) == (tails * math.exp(-smallest / 8) < 1)


def test_the_contraction_without_its_floor_fails_where_31_holds() -> None:
    """l = 1/2 and beta = 1/2: e_2 = 0 and |e_3| = 1/8, which the floor c_4 l = 1/8 allows."""
    found = RECORDED["cfl-mgd/per-step-contraction"]["counterexample"]
    assert found == {"momentum": "1/2", "round": 2}
    errors = errors_of_a_run({"clients": 2, "own": 1, "momentum": "1/2"}, 3)
    assert errors[2] == 0
    assert errors[3] == 1 / 8
    assert errors[3] <= (1 - 0.5 / 8) * errors[2] + 0.5 / 4


PRINTED = [384, math.sqrt(128), 1 / 2, 1 / 4, 384, math.sqrt(128)]


ONE: dict[str, Any] = {"share": 0.1, "clusters": 4, "clients": 37, "samples": 11}
ONE |= {"momentum": 0.3, "smoothness": 1.7, "strong_convexity": 0.6, "separation": 1.3}


def rho_0(t: int, v: float, sigma: float, level: float, c: list[float]) -> float:
    """(A36) of ``ONE``, term by term, with lambda_0 = ... = lambda_4 = ``level``."""
    m, n, beta, share, count = 37, 11, 0.3, 0.1, 4
    mu, smooth, gap = 0.6, 1.7, 1.3
    wrong = sigma**2 / (mu**2 * level * gap**4 * n)
    cross = v * sigma / (level * mu * smooth * gap**2 * n * math.sqrt(m * level))
    total = 2 * v / (level * smooth * math.sqrt(share * m * n)) + c[3] * share
    total += c[2] * beta * v * math.sqrt(share * t) / (level * (1 - beta) * smooth * math.sqrt(m * n))
    total += (c[0] + c[4] * beta) * wrong + c[1] * math.sqrt(count) * cross
    return total + c[5] * beta * math.sqrt(count * t) * cross / (1 - beta)


def test_the_floor_is_the_sum_of_the_seven_terms_of_a36() -> None:
    at: Any = {"round_number": 5, "gradient_deviation": 0.7, "loss_deviation": 1.9, "failure": 0.4}
    for c in (PRINTED, [2.0, 30.0, 5.0, 7.0, 11.0, 13.0]):
        found = printed_floor(**ONE, **at, constants=FloorConstants(*c))
        assert found == pytest.approx(rho_0(5, 0.7, 1.9, 0.4, c))
    assert printed_floor(**ONE, **at) == pytest.approx(rho_0(5, 0.7, 1.9, 0.4, PRINTED))
    exact: dict[str, Any] = {name: F(str(value)) if value % 1 else value for name, value in ONE.items()}
    one = floor_of_a_round(
        **exact, gradient_deviation=F(7, 10), loss_deviation=F(19, 10), level=F(2, 5), round_=5
    )
    assert_sides(one, [(1, 1)])
    assert printed_conclusion(1.7 / 0.6, 0.1, 0.3) == pytest.approx(16 * 1.7 / (0.6 * 0.1) * 0.3)


@pytest.mark.parametrize("exponent", [0, 1 / 8, 0.2, 1, 5, 40])
def test_exponential_is_enclosed(exponent: float) -> None:
    low, high = exponential_bounds(F(exponent))
    assert low <= high
    assert (float(low), float(high)) == pytest.approx((math.exp(-exponent),) * 2, rel=1e-12)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_cantellis_law_is_attained_exactly_for_every_number_of_rows(samples: int) -> None:
    """P = x / (1 + x) in rational arithmetic for one row, x = 64 sigma^2 / (mu^2 Delta^4 n'), and nearly for more."""
    law = tightest(samples)
    x = 64 * law.loss_variance / (16 * samples)
    share = law.error_probability * (1 + x) / x
    assert share <= 1
    assert share == 1 if samples == 1 else share > Fraction(99, 100)


def test_no_more_than_a_fifth_errs_for_any_number_of_clusters() -> None:
    """The quadratic of ``by_cantelli`` is at least 1 where a client errs, and has the stated mean."""
    stream = np.random.default_rng(0)
    for clusters in (2, 3, 5, 20):
        r, g, s = math.sqrt(clusters - 1), 1.0, 1 / (16 * (clusters - 1))
        u = 2 * s / g
        own = 3 * stream.standard_normal(5000)
        others = 3 * stream.standard_normal((5000, clusters - 1))
        others[:, 0] = own - g - np.where(stream.random(5000) < 0.5, 0.0, stream.exponential(1.0, 5000))
        own[0], others[0] = (g + 2 * u) / 2 - u, u  # where it is least
        others[0, 0] = own[0] - g
        value = (1 + r) * ((own + u) ** 2 + ((others - u) ** 2).sum(axis=1) / r) / (g + 2 * u) ** 2
        assert value.min() >= 1 - 1e-12
        mean = (1 + r) * (s + u**2 + (clusters - 1) * (s + u**2) / r) / (g + 2 * u) ** 2
        assert mean == pytest.approx((1 + r) ** 2 * s / (g**2 + 4 * s))
        assert mean <= 0.5 * by_cantelli() * (1 + 1e-12)


def test_a_quarter_of_36_covers_markovs_inequality_at_every_level_and_no_less_does() -> None:
    """The least factors of both terms, in units of 3 x / 2 and of sqrt(x) v / (L sqrt(m n'))."""
    needed = []
    for clusters, first, second in itertools.product(
        (2, 3, 10), np.geomspace(1e-6, 0.49, 40), np.linspace(0.01, 0.999, 60)
    ):
        failure = clusters * first + second
        if failure < 1:
            count = 1.5 / failure / (6 / second)
            cross = 1 / failure / (math.sqrt(2 * clusters) / (first * math.sqrt(second)))
            assert cross <= 0.25
            needed.append(count)
    assert markov_on_the_mean() == 0.25
    assert 0.249 < max(needed) <= 0.25


def test_the_exact_law_of_the_false_members_agrees_with_scipys_binomial() -> None:
    law, foreign, clients = tightest(), CERTAIN["foreign"], CERTAIN["foreign"] + 1
    failure = 2 * float(CERTAIN["level_1"]) + float(CERTAIN["level_2"])
    exact = exceeded_displacement(law, clients, foreign, failure)
    # noise of mean 0 averages out: 3/2 for each of as many false members as are exceeded with that probability
    assert exact == pytest.approx(1.5 * stats.binom.isf(failure, foreign, float(RARE)) / clients, rel=1e-3)


def test_the_length_across_agrees_with_drawn_ones() -> None:
    law, foreign, directions = tightest(), 20_000, 50
    exact = exceeded_across(law, foreign + 1, foreign, 0.8, 3.0, directions)
    stream = np.random.default_rng(1)
    counts = stream.binomial(foreign, float(RARE), 200_000)
    drawn = 3.0 / (foreign + 1) * np.sqrt(counts * stream.chisquare(directions, 200_000) / directions)
    assert exact == pytest.approx(np.quantile(drawn, 0.2), rel=5e-3)
    assert exceeded_across(law, 11, 10, 0.8, 3.0, directions) == 0


RECORDED_BEST_CONSTANTS = read_verdicts()
ATTAINED = """
equation-26#(26), convexity; equation-26#(26), distance; equation-26#(27), smoothness, as meant
equation-26#(27), distance, as meant; equation-26#(28); equation-12-shifted#(13), expected losses
appendix-a2#(A2), sharper; appendix-a10#(A10), meant: geometry; appendix-a12#(A11); a7-step#at least
"""
# rare jumps attain Chebyshev's inequality; Cantelli's 64 and 3 L for 3/2 L are a quarter of (A17) = (36)
USES = [(line.strip(), 1 - 1e-6, 1 + 1e-6) for line in ATTAINED.replace("\n", ";").split(";") if line.strip()]
USES += [(f"equation-24#({number})", 0.99, 1.0) for number in (24, 29, 30)]
USES += [("appendix-a15#(A17), two values", 1 / 4.5, 1 / 4), ("appendix-a3#(A8)", 1 / 2, 1.0)]
USES += [(name, 1e-9, 0.9999) for name in ("appendix-a10#(A26), in units",)]


@pytest.mark.parametrize(("line", "least", "most"), USES)
def test_how_much_of_its_bound_a_line_uses(line: str, least: float, most: float) -> None:
    assert least <= RECORDED_BEST_CONSTANTS[f"cfl-mgd/{line}"]["worst"] <= most
