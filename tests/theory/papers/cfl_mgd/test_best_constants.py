"""The best constants of loose statements, each by a second route: closed forms, scipy's laws, exact polynomials."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from best_constants import by_cantelli, markov_on_the_mean
from scipy import stats

from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.theory.exact.two_point_losses import RARE, tightest
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import (
    CERTAIN,
    exceeded_across,
    exceeded_displacement,
)


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


RECORDED = read_verdicts()
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
    assert least <= RECORDED[f"cfl-mgd/{line}"]["worst"] <= most
