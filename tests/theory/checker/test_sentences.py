"""What verdicts say of an instance and of a search, with numbers computed by hand."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from toy_claims import Digit

from clusterproof.theory.checker import (
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    equal,
    expectation,
    integers,
    probability,
    rationals,
    sentences,
    suppose,
)
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.deciding import Certainty
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.report import evidence, summary, to_markdown
from clusterproof.theory.checker.statement import DECIDED, Statement
from clusterproof.theory.checker.trial import attempt
from clusterproof.theory.checker.verdict import Confidence, Finding, Kind, Verdict
from clusterproof.theory.runs.run_check import _compare_expectation

CONTEXT = Context(0, None, 1e-9, "toy/one")
LEVEL = 1e-9 / (DECIDED + 1)
"""Error probability of each setting that is decided, and of all together."""
Open = Annotated[int, integers(0, 9, upwards=True)]


def tried(function: Callable[..., Any], name: str = "", **how: Any) -> Trial:
    return attempt(Statement(name, function, **how), CONTEXT)


def summed(x: Digit) -> Sides:
    return at_most(x, base=5, more=2)


def at_an_entry(x: Digit) -> dict[str, Sides]:
    return {"low": at_least(np.array([9.0, x, 7.0]), limit=2.0)}


def a_prime(x: Annotated[Fraction, rationals(0, 1, 2)]) -> Sides:
    suppose("1009 x = 1", 1009 * x == 1)  # no denominator up to 1000 hits it
    return at_most(x, bound=0)


def unequal(x: Digit) -> Sides:
    return equal((x, min(x, 8)))


def undefined(x: Digit) -> Sides:
    return at_most(math.inf - math.inf, limit=2)


def quarter(x: Digit, stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 4 == 0, at_most=0.1)


def never(x: Digit, stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 4 == 0, equal=0.5)


def coins(sense: str, first: float, second: float) -> Callable[..., Any]:
    """Two shares of 1 among samples: a half, and a quarter."""

    def stated(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        samples = np.stack([np.arange(replicates) % 2, np.arange(replicates) % 4 == 0], axis=1)
        return expectation(samples, range=(0, 1), **{sense: [first, second]})

    return stated


def bernstein(mean: float, count: int = 2000) -> str:
    """Empirical Bernstein interval of one of two shares (Audibert, Munos and Szepesvari 2009)."""
    # half of the level for each entry, half of that for each of two samples
    log = math.log(3 / (LEVEL / 2 / 2))
    width = math.sqrt(2 * mean * (1 - mean) * log / count) + 3 * log / count + 1e-9
    return f"expectation {mean:.5g} (interval {mean - width:.5g} to {mean + width:.5g}, {count} replicates)"


def exact(failures: int, trials: int) -> str:
    """Clopper-Pearson interval, by scipy."""
    found = binomtest(failures, trials).proportion_ci(1 - LEVEL, method="exact")
    return f"(interval {found.low:.4g} to {found.high:.4g})"


@pytest.mark.parametrize(
    ("function", "replicates", "said"),
    [
        (summed, None, "part, at x = 8: 8 > 7 = base 5 + more 2"),
        (at_an_entry, None, "part: low, at x = 0: 0 < 2 at entry 1"),
        (unequal, None, "part, at x = 9: 1 > 0"),
        (undefined, None, "part, at x = 0: the side that is to be at most 2 is not a number"),
        (
            quarter,
            1000,
            "part, at x = 0: the event occurred in 250 of 1000 repetitions, more than its probability of 0.1 "
            + exact(250, 1000),
        ),
        (
            never,
            1000,
            "part, at x = 0: the event occurred in 250 of 1000 repetitions, and its probability is not 0.5 "
            + exact(250, 1000),
        ),
        (coins("at_most", 0.7, 0.1), 2000, f"part, at x = 0: {bernstein(0.25)} > 0.1 at entry 1"),
        (coins("at_least", 0.7, 0.1), 2000, f"part, at x = 0: {bernstein(0.5)} < 0.7 at entry 0"),
        (coins("equal", 0.5, 0.5), 2000, f"part, at x = 0: {bernstein(0.25)} and not 0.5 at entry 1"),
    ],
)
def test_what_is_said_of_an_instance_that_breaks_a_part(
    function: Callable[..., Any], replicates: int | None, said: str
) -> None:
    trial = tried(function, "part", replicates=replicates)
    assert trial.found is not None
    assert sentences.broken(trial, trial.found) == said
    alone = tried(function, replicates=replicates)
    assert alone.found is not None
    assert sentences.broken(alone, alone.found) == said.removeprefix("part, ").removeprefix("part: ")


def within(x: Digit) -> Sides:
    return at_most(x, limit=x + 1)


def even(x: Digit) -> Sides:
    suppose("x is even", x % 2 == 0)
    return within(x)


def floating(x: Digit) -> Sides:
    return at_most(float(x), limit=x + 1)


def small(x: Annotated[float, choice(1.0, 2.0, 4.0)]) -> Sides:
    # 1e-17 x is less than 1e-14 x
    return at_most(1.001e-17 * x, limit=1e-17 * x)


def small_at_one(x: Annotated[float, choice(1.0, 2.0, 4.0)]) -> Sides:
    return at_most(1.001e-17 * x if x == 1 else 0.0, limit=1e-17 * x)


def single(x: Annotated[int, choice(7)]) -> Sides:
    return within(x)


def far(x: Open) -> Sides:
    return at_most(x, limit=x + 1)


def tenth(x: Annotated[int, choice(1)], stream: Stream, replicates: Replicates) -> Sides:
    return at_most(np.arange(replicates) % 10 == 0, limit=0, failure=0.25)


def half(x: Annotated[int, choice(1)], stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 2 == 0, equal=0.5)


def equal_replicates(x: Annotated[int, choice(1, 2, 3, 4)], stream: Stream, replicates: Replicates) -> Any:
    return {
        "bits": expectation(np.arange(replicates) % 2.0, at_most=1, range=(0, 1)),
        "ones": expectation(np.ones(replicates), at_most=9, range=None if x < 3 else (0, 1)),
    }


@pytest.mark.parametrize(
    ("function", "how", "said"),
    [
        (within, {}, "holds on all 10 instances, in exact arithmetic"),
        (even, {}, "holds on all 5 instances, in exact arithmetic"),
        (single, {}, "holds on its only instance, in exact arithmetic"),
        (floating, {}, "holds on all 10 instances"),
        (
            small,
            {},
            "holds on all 3 instances; at 3 of these only because less than 1e-14 of the instance's numbers is "
            "rounding: give rounding=",
        ),
        (small_at_one, {}, "holds on all 3 instances"),
        (
            within,
            {"prove": True},
            "proved symbolically for every instance in the ranges; holds on 10 instances",
        ),
        (
            tenth,
            {"replicates": 400},
            "; 40 of 400 repetitions break it, no more than its probability 0.25 allows",
        ),
        (
            half,
            {"replicates": 400},
            "; the event occurred in 200 of 400 repetitions, which its probability 0.5 allows",
        ),
        (
            equal_replicates,
            {"replicates": 400},
            "holds on all 4 instances; at 2 of these the expectation is not exercised: all replicates are equal; of "
            "rarer values nothing is known: give range=",
        ),
    ],
)
def test_what_is_said_of_a_part_that_no_instance_breaks(
    function: Callable[..., Any], how: dict[str, Any], said: str
) -> None:
    told = sentences.holds([tried(function, "part", **how)], Certainty(None))
    assert told == f"part: {said}" if said[0] != ";" else told.endswith(said)


def test_an_open_end_is_said_with_how_far_it_was_tried() -> None:
    trial = tried(far)
    (multiple,) = trial.reached.values()
    others = trial.instances - 10
    grid = f"holds on all 10 instances of the grid and {others} others"
    assert (
        sentences.holds([trial], Certainty(None))
        == f"{grid}, and beyond the ranges: up to {multiple} times the end for x"
    )
    assert others > 0
    few = tried(within, exhaustible=0, budget=4)
    assert sentences.holds([few], Certainty(None)) == f"holds on {few.instances} instances"
    assert few.instances < 10


def test_a_part_without_instances_names_what_excludes_them() -> None:
    def empty(x: Digit) -> Sides:
        suppose("x is large", x > 9)
        suppose("x is small", x < 0)
        return within(x)

    trial = tried(empty)
    assert (
        sentences.holds([trial], Certainty(None))
        == "no instance met its hypotheses, so that it was not tried"
    )
    for names, why in (
        ([], ""),
        (["x is large"], ': "x is large" excludes all of them'),
        (["x is large", "x is small"], ': "x is large" and "x is small" exclude each other'),
    ):
        assert (
            sentences.none_admissible([trial], names) == f"none of the 10 instances meets the hypotheses{why}"
        )
    told = sentences.none_admissible([tried(a_prime)], ["1009 x = 1"], proved=True)
    assert told.endswith(
        '"1009 x = 1" excludes all of them; proved symbolically that no instance in the ranges does'
    )
    missed = tried(a_prime)
    count = missed.rejected.total()
    assert count > 100  # drawn again between the listed 0, 1/2 and 1
    told = sentences.none_admissible([missed], ["1009 x = 1"])
    assert told.startswith(
        f'none of {count} instances that were tried meets the hypotheses: "1009 x = 1" excludes all of them; not'
    )
    drawn = tried(empty, exhaustible=0, budget=5)
    count = sum(drawn.rejected.values())
    told = sentences.none_admissible([drawn], ["x is large", "x is small"])
    assert told.startswith(f"none of {count} instances that were tried meets the hypotheses: ")
    assert '"x is large" and "x is small" exclude all of them; not all were tried' in told
    assert told.endswith("define one quantity by the others")


def test_both_halves_of_the_replicates_of_a_run_are_judged() -> None:
    stream = np.random.default_rng(0)
    samples = np.concatenate([stream.standard_normal((30_000, 1)) + 3])

    def answer(allowed: float) -> Any:
        return _compare_expectation(expectation(samples, at_most=allowed))

    first = samples[::2, 0]
    half = norm.isf(1e-9 / 4) * first.std(ddof=1) / math.sqrt(15_000) + 1e-9 * samples.max()
    told = f"(interval {first.mean() - half:.5g} to {first.mean() + half:.5g}, 15000 of 30000 replicates)"
    asymptotic = (
        ", by an interval that is exact only for many replicates without rare large values (give range=)"
    )
    for allowed, kind, how in ((3.0, "holds", ""), (2.9, "broken", asymptotic)):
        found = answer(allowed)
        assert found.kind == kind
        assert found.sentence == f"expectation {first.mean():.5g} {told}, at most {allowed:.5g}{how}"
        assert found.slack == pytest.approx(allowed / first.mean())


def test_all_replicates_are_judged_at_once_where_the_interval_is_exact() -> None:
    found = _compare_expectation(expectation(np.arange(2000) % 2, at_most=0.25, range=(0, 1)))
    assert (found.kind, found.failures, found.replicates, found.slack) == ("broken", 2000, 2000, 0.5)
    assert ", 2000 of 2000 replicates), at most 0.25" in found.sentence
    assert _compare_expectation(expectation([0.0, 0.0], at_most=1, range=(0, 1))).slack == math.inf
    few = _compare_expectation(expectation(np.arange(1000) % 2, at_most=0.75))
    assert (few.kind, few.failures) == ("inconclusive", 0)


TERMS = {"all": 0.4, "noise": None, "start": 1e-4, "part: all": 1.0}
ALL_TERMS = (
    "sharp within \N{MULTIPLICATION SIGN}2.5; noise out of reach of so few repetitions; start not exercised; "
    "part within \N{MULTIPLICATION SIGN}1"
)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"reason": "in \n  words"}, "in words"),
        ({"trials": 40, "failures": 3}, "why; 3 of 40 trials failed"),
        ({"trials": 40}, "why; 0 of 40 trials failed"),
        ({"trials": 40, "instances": 7}, "why"),
        (
            {"instances": 7, "counterexample": {"x": 1}, "slack": 0.5},
            "why; the simplest of 7 instances that were tried",
        ),
        ({"trials": 40, "counterexample": {"x": 1}}, "why; the simplest of 40 instances that were tried"),
        ({"slack": 2.0}, "why; slack 2"),
        ({"slack": 2.0, "sharpness": {"all": 0.5}}, "why; sharp within \N{MULTIPLICATION SIGN}2"),
        ({"sharpness": TERMS}, f"why; {ALL_TERMS}"),
        ({"sharpness": {"all": 0.0}}, "why; bound not exercised"),
        (
            {"sharpness": {"all": 0.5}, "tightness": {"all": {"typical": 8.0}}},
            "why; sharp within \N{MULTIPLICATION SIGN}2 (half of the instances within \N{MULTIPLICATION SIGN}8)",
        ),
        (
            {"sharpness": {"all": 0.5}, "tightness": {"all": {"typical": None}}},
            "why; sharp within \N{MULTIPLICATION SIGN}2 (half of the instances far below)",
        ),
        (
            {"sharpness": {"all": 0.5}, "tightness": {"all": {"typical": 2.2}}},
            "why; sharp within \N{MULTIPLICATION SIGN}2",
        ),
        ({"confidence": Confidence(level=0.9, lower=0.1, upper=0.25)}, "why; expectation in [0.1, 0.25]"),
        (
            {"confidence": Confidence(level=0.9, lower=0.1, upper=0.25), "trials": 9, "instances": 1},
            "why; failure probability in [0.1, 0.25]",
        ),
        ({"rejected": {"a": 0, "b": 3, "c": 0}}, "why; 2 hypotheses exclude no instance"),
        # b is needed, c is not seen to be, d excludes nothing that could show it
        (
            {"rejected": {"b": 3, "c": 1, "d": 0}, "needed": {"b": True, "c": None, "d": None}},
            "why; 1 hypothesis excludes no instance; 1 hypothesis not exercised",
        ),
        (
            {"rejected": {"a": 1, "b": 3}, "needed": {"a": False, "b": None}},
            "why; 2 hypotheses not exercised",
        ),
        ({"verdict": Kind.VIOLATED, "rejected": {"a": 0}}, "why"),
    ],
)
def test_evidence_in_a_line(numbers: dict[str, Any], said: str) -> None:
    assert evidence(Finding(**{"verdict": Kind.CONSISTENT, "reason": "why", **numbers})) == said


def test_counts_of_verdicts_and_of_sharpness() -> None:
    def verdict(kind: Kind, whole: float | None) -> Verdict:
        return Verdict(
            verdict=kind, reason="why", sharpness=None if whole is None else {"all": whole, "term": 0.0},
            claim="toy/none", paper="toy", label="", seed=0, repaired_by=(), seconds=1.0,
        )  # fmt: skip

    many = [verdict(Kind.CONSISTENT, whole) for whole in (1.0, 0.5, 0.2, 0.1, 0.09)]
    many += [verdict(Kind.VIOLATED, None)]
    times = "\N{MULTIPLICATION SIGN}"
    assert summary(many, 2, 7, 1.25) == (
        f"8 claims: 5 consistent, 1 violated, 2 failed (seed 7, 1.2 s); of 5 with a sharpness 2 are sharp within "
        f"{times}2, 4 within {times}10; terms not exercised in 5\n1 violated: 1 printed (1 false statement)"
    )
    assert summary(many[:1], 0, 7, 1.25).startswith("1 claim: 1 consistent (seed 7, 1.2 s); ")


@pytest.mark.parametrize("count", [1000, 1001])
def test_a_proof_goes_through_a_thousand_choices(count: int) -> None:
    def stated(x: Annotated[int, choice(*range(count))]) -> Sides:
        return at_most(x, limit=x + 1)

    trial = tried(stated, prove=True, exhaustible=0, budget=1)
    assert trial.proved == (count == 1000)
    assert ("there are more than 1000 combinations of choices" in trial.unproved) == (count > 1000)


def test_a_text_stays_inside_its_cell_of_a_table() -> None:
    label = r"a \ b | c \| d"
    verdict = Verdict(
        verdict=Kind.CONSISTENT,
        reason="why",
        claim="x/y",
        paper="x",
        label=label,
        seed=0,
        repaired_by=(),
        seconds=0.0,
    )
    cells = re.findall(r"(?:\\.|[^|\\])+", to_markdown([verdict]).splitlines()[2])
    assert re.sub(r"\\(.)", r"\1", cells[1].strip()) == label


@pytest.mark.parametrize("level", [0.4, 0.5])
def test_all_instances_together_must_be_as_likely_as_their_probability(level: float) -> None:
    """Of 400 draws with probability 1/2 none are too many for 0.4 at the level 1e-10, of 2000 they are."""

    def half(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.random(replicates) < 0.5, at_most=level)

    def own_draws(x: Digit, stream: Stream) -> Any:
        return at_most(stream.random(400), failure=level, bound=0.5)

    found = tried(half, replicates=400)
    assert (found.found is not None) is (level == 0.4)
    if found.found is not None:
        assert found.found.replicates == 400 * DECIDED
    drawn = tried(own_draws)
    assert drawn.found is None
    tail = binomtest(drawn.failures, drawn.trials, level, "greater").pvalue
    said = sentences.holds([drawn], Certainty(None))
    if level == 0.5:
        assert tail > LEVEL
        assert said.endswith("no more than its probability 0.5 allows")
    else:
        assert tail < LEVEL
        how = f", more than its probability 0.4 allows over all instances ({tail:.2g})"
        assert said.endswith(f"{how}: give more replicates")


def test_an_event_with_exactly_its_probability_is_judged_one_by_one() -> None:
    def half(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.random(replicates) < 0.5, equal=0.4)

    found = tried(half, replicates=400)
    assert found.found is None
    assert sentences.holds([found], Certainty(None)).endswith("which its probability 0.4 allows")


def test_several_events_are_not_counted_as_one() -> None:
    """The most frequent of a thousand events is three standard deviations too frequent at each of five settings."""

    def thousand(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return {str(i): probability(stream.random(replicates) < 0.5, at_most=0.5) for i in range(1000)}

    found = tried(thousand, replicates=400)
    assert binomtest(found.failures, found.trials, 0.5, "greater").pvalue < LEVEL
    assert found.found is None
    assert sentences.holds([found], Certainty(None)).endswith("no more than its probability 0.5 allows")
