"""Statements about expectations: an interval decides, so that true ones are not violated, whatever the law."""

import math
from itertools import chain, repeat
from typing import Annotated, Any

import numpy as np
import pytest
from attempts import betting_interval, verdict_on
from scipy import stats

from clusterproof.checker import Kind, Verdict
from clusterproof.checker.claims import (
    Expectation,
    Frequency,
    Replicates,
    Stream,
    choice,
    expectation,
    probability,
    reals,
)
from clusterproof.checker.claims.expectation import BETS, replicates_to_try
from clusterproof.checker.claims.judge import judge
from clusterproof.common import InvalidArgument

One = Annotated[int, choice(1)]
LAWS: dict[str, tuple[Any, float, tuple[float, float] | None]] = {
    # draws, their expectation, and their range
    "normal": (lambda stream, n: stream.standard_normal(n) + 2, 2.0, None),
    "exponential": (lambda stream, n: stream.exponential(3.0, n), 3.0, None),
    "heavy tail": (lambda stream, n: stream.pareto(2.1, n), 1 / 1.1, None),
    "rare event": (lambda stream, n: (stream.random(n) < 1e-3).astype(float), 1e-3, None),
    "rare event, bounded": (lambda stream, n: (stream.random(n) < 1e-3).astype(float), 1e-3, (0.0, 1.0)),
    "uniform, bounded": (lambda stream, n: stream.random(n), 0.5, (0.0, 1.0)),
    "square": (lambda stream, n: stream.chisquare(1, n), 1.0, (0.0, math.inf)),
    "heavy tail, at least 0": (lambda stream, n: stream.pareto(2.1, n), 1 / 1.1, (0.0, math.inf)),
    "at least -3": (lambda stream, n: stream.exponential(1.0, n) - 3, -2.0, (-3.0, math.inf)),
    "constant": (lambda stream, n: np.ones(n), 1.0, None),
}
MORE = pytest.mark.slow(reason="more seeds")


def check(law: str, sense: str, factor: float, seed: int = 0, replicates: int = 20_000) -> Verdict:
    draws, expected, bounds = LAWS[law]

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(draws(stream, replicates), range=bounds, **{sense: factor * expected})

    return verdict_on(mean, seed, replicates=replicates)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=MORE)])
@pytest.mark.parametrize("sense", ["at_most", "at_least", "equal"])
@pytest.mark.parametrize("law", LAWS)
def test_a_true_expectation_is_not_violated(law: str, sense: str, seeds: range) -> None:
    for seed in seeds:
        assert check(law, sense, 1.0, seed).verdict is not Kind.VIOLATED


@pytest.mark.parametrize(
    ("bounds", "confirmed"), [(None, True), ((0.0, 2.0), False), ((0.0, math.inf), False)]
)
def test_only_an_asymptotic_interval_is_confirmed_on_a_second_sample(
    bounds: tuple[float, float] | None, confirmed: bool
) -> None:
    """The first sample of the statement breaks it, no later one does."""
    calls = []

    def mean(one: One, stream: Stream, replicates: Replicates) -> dict[str, Expectation]:
        calls.append(replicates)
        samples = stream.random(replicates) + (len(calls) == 1), stream.random(replicates)
        return {
            str(bounds): expectation(samples[0], range=bounds, at_most=0.9),
            "true": expectation(samples[1], at_most=0.9),
        }

    assert (verdict_on(mean, replicates=20_000).verdict is not Kind.VIOLATED) == confirmed
    assert len(calls) > 1 or not confirmed


@pytest.mark.parametrize(
    ("first", "second", "kind", "exercised"),
    [
        (1.0, 1.0, Kind.VIOLATED, True),
        (1.0, -1.0, Kind.INCONCLUSIVE, False),
        (1.0, 0.0, Kind.INCONCLUSIVE, False),
        (1.0, math.inf, Kind.INCONCLUSIVE, False),
        (0.0, 0.0, Kind.CONSISTENT, True),
    ],
)
def test_samples_that_do_not_agree_exercise_nothing(
    first: float, second: float, kind: Kind, exercised: bool
) -> None:
    """The two samples of an expectation that is 0; inf is a second one that a single replicate dominates."""
    shifts = chain([first, second], repeat(first))

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        samples, shift = stream.uniform(-0.1, 0.1, replicates), next(shifts)
        if shift == math.inf:
            samples[0], shift = 1e3, 1.0
        return expectation(samples + shift, equal=0.0)

    verdict = verdict_on(mean, replicates=10_000)
    assert verdict.verdict is kind
    assert ("not tested" not in verdict.reason) == exercised


@pytest.mark.parametrize("law", ["normal", "exponential", "uniform, bounded"])
@pytest.mark.parametrize(
    ("sense", "factor"), [("at_most", 0.8), ("at_least", 1.25), ("equal", 0.8), ("equal", 1.25)]
)
def test_a_bound_that_is_a_fifth_off_is_violated(law: str, sense: str, factor: float) -> None:
    verdict = check(law, sense, factor)
    assert verdict.verdict is Kind.VIOLATED
    assert "replicates" in verdict.reason
    assert verdict.confidence is not None
    # 1e-9 for a claim, a quarter of it for each of 10 000 and 20 000 replicates, and of the second samples
    assert 1 - verdict.confidence.level == pytest.approx(2.5e-10, rel=1e-3)
    assert verdict.confidence.lower <= LAWS[law][1] <= verdict.confidence.upper


@pytest.mark.parametrize(
    ("law", "replicates"), [("normal", 9_999), ("constant", 20_000), ("rare event", 20_000)]
)
def test_what_cannot_decide_is_not_exercised(law: str, replicates: int) -> None:
    verdict = check(law, "at_most", 0.5, replicates=replicates)
    assert verdict.verdict is Kind.INCONCLUSIVE
    assert verdict.reason.startswith("no interval decides anything")
    assert "not tested" in verdict.reason


def test_the_exact_interval_is_where_the_bets_win_from_both_ends_of_the_range() -> None:
    samples = np.random.default_rng(0).random((500, 3))
    lower, upper, decides = Expectation(samples, np.ones(3), "at_most", (0.0, 1.0)).interval(0.03)
    for entry in range(3):
        expected = betting_interval(samples[:, entry], 0.0, 1.0, 0.01 / 2)
        np.testing.assert_allclose([lower[entry], upper[entry]], expected, atol=2e-5)
    assert decides.all()


@pytest.mark.parametrize("law", ["square", "heavy tail, at least 0", "at least -3", "rare event"])
def test_the_limit_for_samples_of_at_least_0_is_above_the_mean_as_rarely_as_it_says(law: str) -> None:
    """500 samples at level .05; by Markov the true share is smaller, and 5 % would be exceeded by 2 % seldom."""
    draws, mean, bounds = LAWS[law]
    least = 0.0 if bounds is None else bounds[0]
    samples = draws(np.random.default_rng(1), 200 * 500).reshape(200, 500)
    one = Expectation(samples, np.ones(500), "at_most", (least, math.inf))
    lower, _, decides = one.interval(0.05 * 500)
    assert decides.all()
    assert (lower > mean).mean() < 0.07
    assert (lower >= least - 1e-6).all()


def test_the_limit_for_samples_of_at_least_0_is_where_the_bets_win() -> None:
    """The mean over lambda of prod (1 + lambda (x / m - 1)) passes 1 / alpha there, by its definition."""
    samples = np.random.default_rng(2).exponential(size=(300, 1))
    (lower,), *_ = Expectation(samples, np.ones(1), "at_most", (0.0, math.inf)).interval(0.01)
    won = [
        np.mean([np.prod(1 + bet * (samples / m - 1)) for bet in BETS])
        for m in (lower * (1 - 1e-4), lower * (1 + 1e-4))
    ]
    assert won[0] > 100 > won[1]
    assert 0.7 < lower < samples.mean()


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, Kind.VIOLATED), (1.0, Kind.CONSISTENT)])
def test_squares_decide_with_fewer_replicates(factor: float, verdict: Kind) -> None:
    found = check("square", "at_most", factor, replicates=5_000)
    assert found.verdict is verdict
    assert "not tested" not in found.reason


@pytest.mark.parametrize("sense", ["at_least", "equal"])
def test_without_a_largest_value_no_limit_above_the_mean_is_exact(sense: str) -> None:
    assert "not tested" in check("square", sense, 1.0, replicates=5_000).reason


def test_replicates_double_up_to_the_budget() -> None:
    assert replicates_to_try(65_000) == [10_000, 20_000, 40_000, 65_000]
    assert replicates_to_try(10_000) == [10_000]
    assert replicates_to_try(300) == [300]


@pytest.mark.parametrize(
    ("factor", "sizes"),
    [
        (0.5, [10_000, 40_000]),  # a second sample of all replicates confirms
        (1.0, [10_000, 20_000, 40_000]),
        (2.0, [10_000, 40_000]),  # the tightness is that of all replicates
    ],
)
def test_the_replicates_of_a_claim_double_while_its_interval_straddles(
    factor: float, sizes: list[int]
) -> None:
    drawn = []

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        drawn.append(replicates)
        return expectation(stream.standard_normal(replicates) + 2, at_most=2 * factor)

    verdict = verdict_on(mean, replicates=40_000)
    assert (verdict.verdict is Kind.VIOLATED, drawn) == (factor < 1, sizes)
    if verdict.counterexample is not None:
        assert verdict.counterexample["replicates"] == 10_000
    else:
        half = (verdict.confidence.upper - verdict.confidence.lower) / 2
        assert half == pytest.approx(6.6 / 40_000**0.5, rel=0.05)


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0), (0.1 - 2e-13, math.inf)])
@pytest.mark.parametrize("sense", ["at_most", "at_least", "equal"])
def test_rounding_breaks_no_expectation(sense: str, bounds: tuple[float, float] | None) -> None:
    """One tenth in another unit, up to the last digits: its interval would be 1e-18 wide.

    Equal replicates give an interval only where a range has two ends: of rarer, larger values they say nothing.
    """

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        samples = 0.1 + 1e-16 * stream.standard_normal((replicates, 2))
        shift = -1e-13 if sense == "at_most" else 1e-13
        return expectation(samples, range=bounds, **{sense: 0.1 + shift})

    known = bounds is not None and bounds[1] < math.inf
    kind = Kind.CONSISTENT if known else Kind.INCONCLUSIVE
    assert verdict_on(mean, replicates=20_000).verdict is kind


def test_a_rare_event_that_no_replicate_shows_is_inconclusive() -> None:
    """The expectation is 1; of 20 000 replicates none is expected to differ from 0."""

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        samples = np.where(stream.random(replicates) < 1e-9, 1e9, 0.0)
        return expectation(samples, at_most=0.9, range=(0, math.inf))

    verdict = verdict_on(mean, replicates=20_000)
    assert (verdict.verdict, verdict.confidence) == (Kind.INCONCLUSIVE, None)
    assert "of rarer values nothing is known" in verdict.reason


@pytest.mark.parametrize("seed", range(2))
def test_four_times_the_allowed_share_is_violated(seed: int) -> None:
    """80 of 4 000 where 20 are allowed, as an expectation and as a probability; 20 refute nothing."""

    def share(stream: np.random.Generator, replicates: int, chance: float = 0.02) -> np.ndarray:
        return (stream.random(replicates) < chance).astype(float)

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(share(stream, replicates), at_most=0.005, range=(0, 1))

    def true(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(share(stream, replicates, 0.005), at_most=0.005, range=(0, 1))

    def event(one: One, stream: Stream, replicates: Replicates) -> Frequency:
        return probability(share(stream, replicates), at_most=0.005)

    assert verdict_on(mean, seed, replicates=4000).verdict is Kind.VIOLATED
    assert verdict_on(true, seed, replicates=4000).verdict is Kind.CONSISTENT
    assert verdict_on(event, seed, replicates=4000).verdict is Kind.VIOLATED


@pytest.mark.parametrize("happened", [0, 1, 7, 399, 400])
def test_limits_of_an_event_are_exact_binomial_ones(happened: int) -> None:
    """Each is exceeded with a quarter of the error."""
    samples = (np.arange(400) < happened).astype(float)
    lower, upper, decides = expectation(samples, at_most=0.5, range=(0, 1)).interval(0.02)
    assert (
        float(lower) == 0
        if happened == 0
        else stats.binom.sf(happened - 1, 400, lower) == pytest.approx(0.005)
    )
    assert (
        float(upper) == 1
        if happened == 400
        else stats.binom.cdf(happened, 400, upper) == pytest.approx(0.005)
    )
    assert decides


@pytest.mark.parametrize(("happened", "of", "allowed"), [(1, 4000, 0.0), (400, 400, 0.9)])
def test_an_event_is_more_likely_than_what_it_all_but_rules_out(
    happened: int, of: int, allowed: float
) -> None:
    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        return expectation((np.arange(of) < happened).astype(float), at_most=allowed, range=(0, 1))

    def event(one: One, stream: Stream, replicates: Replicates) -> Frequency:
        return probability(np.arange(of) < happened, at_most=allowed)

    for function in (mean, event):
        verdict = verdict_on(function, replicates=of)
        assert verdict.verdict is Kind.VIOLATED
        assert verdict.confidence is not None
        assert 0 <= verdict.confidence.lower <= verdict.confidence.upper <= 1


@pytest.mark.parametrize("end", [0, 1])
def test_an_interval_stays_within_the_range(end: int) -> None:
    """By what rounding of samples and of an instance may add it would begin below 0, or end beyond 1."""

    def mean(x: Annotated[float, reals(1, 2)], stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(np.abs(end - 1e-12 * stream.random(replicates)), at_most=1, range=(0, 1))

    confidence = verdict_on(mean, replicates=1000).confidence
    assert confidence is not None
    assert (confidence.lower, confidence.upper)[end] == end


def test_an_event_happened_or_did_not() -> None:
    """Errors in place of a comparison with them would all count as events."""
    for events in (np.array([0.5, 2.0]), np.array([0.0, math.nan]), np.array([1, 2])):
        with pytest.raises(InvalidArgument, match=r"must be booleans, 0 or 1\. Write a comparison"):
            probability(events, at_most=0.5)
    for events in (np.array([0.0, 1.0]), np.array([0, 1]), [False, True]):
        assert probability(events, at_most=0.5).events.tolist() == [False, True]


def test_a_constant_that_is_what_is_allowed_needs_no_interval() -> None:
    """Round 0 of a run from a fixed start says nothing against the rounds that are exercised."""

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        errors = np.stack([np.ones(replicates), stream.random(replicates)], axis=-1)
        conclusion = expectation(errors, at_most=[1.0, 0.6])
        # so that no further replicates are asked for
        assert judge({"": conclusion}, 1e-9)[""].settled
        return conclusion

    verdict = verdict_on(mean, replicates=20_000)
    assert "not tested" not in verdict.reason
    assert verdict.measured == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("allowed", "place"),
    [
        ([[0.9, 0.6], [0.55, 0.8]], (1, 0)),  # the least room, in widths of its interval
        ([[0.9, 0.4], [0.55, 0.3]], (0, 1)),  # the first that is broken
        ([[0.6, 0.9], [0.9, 0.5]], (0, 0)),  # (1, 1) is 0.5 always
    ],
)
def test_the_entry_that_is_shown_is_the_one_that_decides(allowed: Any, place: tuple[int, int]) -> None:
    samples = np.random.default_rng(3).random((20_000, 2, 2))
    samples[:, 1, 1] = 0.5
    if place == (0, 1):
        samples[:, 1, 1] = samples[:, 0, 1]
    found = judge({"": expectation(samples, at_most=allowed)}, 1e-9)[""]
    assert found.place == place
    assert found.measured == pytest.approx(samples.mean(axis=0)[place])
    assert found.allowed == np.array(allowed)[place]
    assert found.broken == (place == (0, 1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "must be the only one"),
        ({"at_most": 1, "equal": 1}, "must be the only one"),
        ({"at_most": 1, "range": (0, 0.5)}, "must contain every sample"),
    ],
)
def test_what_is_no_expectation_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        expectation([0.2, 0.7], **arguments)


def test_what_rounding_leaves_of_the_instance_breaks_no_expectation() -> None:
    """0 in exact arithmetic, for a task without noise: 5e-17 squared, next to a bound of 0."""

    def mean(scale: Annotated[float, reals(1, 2)], stream: Stream, replicates: Replicates) -> Expectation:
        left = ((0.1 * 3 - 0.3) * scale) ** 2
        return expectation(np.full(replicates, left), at_most=0.0, range=(0, np.inf))

    assert verdict_on(mean, replicates=20_000).verdict is Kind.CONSISTENT


@pytest.mark.parametrize("bounds", [None, (-math.inf, math.inf), (0.0, math.inf)])
@pytest.mark.parametrize(
    ("value", "sense", "allowed", "expected"),
    [
        (math.inf, "at_most", 2.0, Kind.VIOLATED),
        (math.inf, "equal", 0.5, Kind.VIOLATED),
        (math.inf, "at_least", 2.0, Kind.CONSISTENT),
        *((math.nan, sense, 0.5, Kind.INCONCLUSIVE) for sense in ("at_most", "equal", "at_least")),
        (math.inf, "at_most", math.inf, Kind.INCONCLUSIVE),
        (math.inf, "equal", math.inf, Kind.INCONCLUSIVE),
    ],
)
def test_an_infinite_sample_is_judged_as_a_number_would_be_and_what_is_none_decides_nothing(
    value: float, sense: str, allowed: float, expected: Kind, bounds: Any
) -> None:
    """In the first sample alone: it is enough, since no interval is needed."""
    calls = []

    def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
        samples = stream.random(replicates)
        samples[::2] = value if not calls else 0.5
        calls.append(replicates)
        return expectation(samples, range=bounds, **{sense: allowed})

    verdict = verdict_on(mean, replicates=10_000)
    assert verdict.verdict is expected, verdict.reason
    refuted = expected is Kind.VIOLATED or math.isnan(value)
    assert ("5000 not finite among 10000 replicates" in verdict.reason) == refuted
    assert verdict.confidence is None
    assert verdict.tightness is None


@pytest.mark.parametrize("sense", ["at_most", "at_least", "equal"])
def test_a_range_without_ends_breaks_nothing(sense: str) -> None:
    samples = np.random.default_rng(0).random(20_000)
    conclusion = expectation(samples, range=(-math.inf, math.inf), **{sense: 0.5})
    assert not judge({"": conclusion}, 1e-9)[""].broken


@pytest.mark.parametrize("sense", ["at_most", "at_least", "equal"])
def test_equal_replicates_say_nothing_of_rarer_values(sense: str) -> None:
    wrong = {"at_most": 0.5, "at_least": 2.0, "equal": 0.5}[sense]

    def verdict(bounds: Any) -> Verdict:
        def mean(one: One, stream: Stream, replicates: Replicates) -> Expectation:
            return expectation(np.full(replicates, 0.1 * 3 + 0.7), range=bounds, **{sense: wrong})

        return verdict_on(mean, replicates=20_000)

    unknown = verdict(None)
    assert unknown.verdict is Kind.INCONCLUSIVE
    assert "all replicates are equal" in unknown.reason
    assert "give range=" in unknown.reason
    assert "10000" not in unknown.reason
    assert (unknown.confidence, unknown.tightness) == (None, None)
    assert verdict((0, 4)).verdict is Kind.VIOLATED


@pytest.mark.parametrize("bounds", [None, (0.0, 9.0), (0.0, math.inf)])
@pytest.mark.parametrize("power", [-900, 700])
def test_an_interval_does_not_depend_on_the_unit(bounds: Any, power: int) -> None:
    samples, unit = np.random.default_rng(0).random((10_000, 2)), 2.0**power
    scaled = None if bounds is None else (0.0, bounds[1] * unit)
    ends = expectation(samples, at_most=1.0, range=bounds).interval(1e-9)
    others = expectation(unit * samples, at_most=unit, range=scaled).interval(1e-9)
    for end, other in zip(ends[:2], others[:2], strict=True):
        np.testing.assert_array_equal(end * unit, other)
    np.testing.assert_array_equal(ends[2], others[2])


def test_a_violation_names_an_asymptotic_interval() -> None:
    assert "exact only for many replicates" in check("normal", "at_most", 0.5).reason
    assert "exact only" not in check("uniform, bounded", "at_most", 0.5).reason


def test_an_interval_without_a_range_is_that_of_the_sample_variance() -> None:
    samples = np.array([[0.3, 5.0], [1.1, 2.0], [0.7, 4.5], [2.0, 1.0], [1.6, 3.0]])
    lower, upper, decides = expectation(samples, at_most=9.0).interval(1e-3)
    half = stats.norm.isf(1e-3 / 2 / 2) * samples.std(axis=0, ddof=1) / math.sqrt(5)
    mean, rounding = samples.mean(axis=0), 1e-9 * 9
    np.testing.assert_allclose([mean - lower, upper - mean], [half + rounding] * 2, rtol=1e-9)
    assert not decides.any()


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_that_rare_large_values_carry_is_not_violated_for_want_of_them(seed: int) -> None:
    """0.9 + 1000 x 1e-4 = 1: of 10 000 replicates a third have none of these values, of 100 000 one in e^10."""

    def mean(n: One, stream: Stream, replicates: Replicates) -> Expectation:
        rare = 1000.0 * (stream.random(replicates) < 1e-4)
        return expectation(0.9 * stream.uniform(0, 2, replicates) + rare, at_least=1.0)

    assert verdict_on(mean, seed, replicates=100_000).verdict is Kind.INCONCLUSIVE
