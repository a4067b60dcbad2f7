"""What a report holds, and what is said of an instance and of a search, with numbers computed by hand."""

import dataclasses
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from attempts import Digit, stated, verdict_on
from scipy.stats import beta, binomtest

from clusterproof import InvalidArgument
from clusterproof.checker import Confidence, Kind, Line, Verdict, claim, code_of, replay
from clusterproof.checker.claims import (
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
    suppose,
)
from clusterproof.checker.claims.statement import short
from clusterproof.checker.report.decide import check, decide
from clusterproof.checker.report.tables import evidence, read_kinds, report, summary, tightness_words, to_json
from clusterproof.checker.search.repeated import DECIDED

TIMES = "\N{MULTIPLICATION SIGN}"
FIELDS = (
    "claim paper label verdict reason measured bound instances exhausted trials failures confidence proof "
    "tightness seed counterexample repaired_by source error_kind only_where worst worst_exact"
)
"""What is promised of each object of a report."""


# ---- the report


def chain(x: Digit) -> dict[str, Sides]:
    return {
        "(1)": at_most(x, eight=8),
        "(2)": at_most(x, nine=9),
        "(3)": at_most(x, eight=8, more=Fraction(1, 2)),
    }


def test_a_report_has_the_promised_fields_one_object_a_claim_or_line(registry: dict[str, Any]) -> None:
    claim("toy/chain", label="Lemma 1", source="ours", repaired_by=("toy/one",))(chain)
    claim("toy/one")(lambda: at_most(1, two=2))
    found = json.loads(to_json(report([check("toy/chain", seed=3)], 3)))
    assert set(found) == {"claims", "times", "sources", "versions", "seed"}
    assert (found["seed"], list(found["times"]), found["sources"]) == (3, ["toy/chain"], {})
    assert {"clusterproof", "numpy", "python"} == set(found["versions"])
    records = {record["claim"]: record for record in found["claims"]}
    assert list(records) == ["toy/chain", "toy/chain#(1)", "toy/chain#(2)", "toy/chain#(3)"]
    assert all(set(FIELDS.split()) <= set(record) for record in records.values())
    whole, first, second, third = records.values()
    assert (whole["verdict"], whole["counterexample"]) == ("violated", {"x": 9, "line": "(1)"})
    assert (first["measured"], first["bound"], first["only_where"]) == (9, 8, None)
    assert (second["verdict"], second["proof"], second["worst_exact"]) == ("certified", "exhausted", "1")
    assert (third["verdict"], third["only_where"]) == ("violated", "(1)")
    assert (whole["label"], whole["source"], whole["repaired_by"]) == ("Lemma 1", "ours", ["toy/one"])


def test_numbers_that_json_does_not_know_are_null() -> None:
    assert json.loads(to_json({"x": [math.inf, math.nan, Fraction(1, 3), np.arange(2)]})) == {
        "x": [None, None, "1/3", [0, 1]]
    }


def test_a_counterexample_as_code_runs_and_imports_what_states_the_claim(registry: dict[str, Any]) -> None:
    claim("toy/one")(false)
    verdict = check("toy/one")
    code = code_of(verdict) or ""
    assert f"\nimport {__name__}  # states the claim\n" in code
    exec(code, {})
    assert "from math" not in code
    with pytest.raises(AssertionError):
        exec(code.replace("'x': 9", "'x': 7").replace("'x': 8", "'x': 7"), {})
    assert "import" not in (code_of(dataclasses.replace(verdict, claim="toy/other")) or "").split("\n", 1)[1]
    for example in ({"x": math.inf}, {"x": {"y": [1.0, math.nan]}}):
        infinite = code_of(dataclasses.replace(verdict, counterexample=example)) or ""
        assert infinite.startswith("from math import inf, nan\n")
    assert code_of(dataclasses.replace(verdict, counterexample=None)) is None
    assert replay("toy/one", verdict.counterexample or {}).verdict is Kind.VIOLATED


def false(x: Digit) -> Sides:
    return at_most(x, limit=7)


def verdict_with(**fields: Any) -> Verdict:
    known: dict[str, Any] = {"name": "", "verdict": Kind.CONSISTENT, "reason": "why", "label": "(1)"}
    return Verdict(**known | {"claim": "falsify/toy", "paper": "falsify"} | fields)


def test_verdicts_that_fail_a_build_are_read() -> None:
    assert read_kinds("violated, consistent") == {Kind.VIOLATED, Kind.CONSISTENT}
    for wrong in ("", "violatd", "violated,"):
        with pytest.raises(InvalidArgument, match=r"fail_on is .*must be verdicts of certified, consistent"):
            read_kinds(wrong)


# ---- words for an instance that breaks a line

One = Annotated[int, choice(0)]


def summed(x: Digit) -> Sides:
    return at_most(x, base=5, more=2)


def at_an_entry(x: Digit) -> dict[str, Sides]:
    return {"low": at_least(np.array([9.0, x, 7.0]), limit=2.0)}


def unequal(x: Digit) -> Sides:
    return equal((x, min(x, 8)))


def undefined(x: Digit) -> Sides:
    return at_most(math.inf - math.inf, limit=2)


def unequal_in_floats(x: One) -> Sides:
    return equal((math.cos(x), 1.0), (math.exp(x), 2.0))


def unequal_arrays(x: One) -> Sides:
    return equal((x, 0), (np.array([Fraction(1), Fraction(2)]), np.array([Fraction(1), Fraction(5)])))


def close(x: One) -> Sides:
    return at_most(Fraction(1, 3) + Fraction(1, 10**30), third=Fraction(1, 3))


def quarter(x: One, stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 4 == 0, at_most=0.1)


def never(x: One, stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 4 == 0, equal=0.5)


def coins(sense: str, first: float, second: float) -> Callable[..., Any]:
    """Two shares of 1 among samples: a half, and a quarter."""

    def mean(x: One, stream: Stream, replicates: Replicates) -> Any:
        samples = np.stack([np.arange(replicates) % 2, np.arange(replicates) % 4 == 0], axis=1)
        return expectation(samples, range=(0, 1), **{sense: [first, second]})

    return mean


def exact(failures: int, trials: int) -> str:
    """Clopper-Pearson interval, by scipy."""
    found = binomtest(failures, trials).proportion_ci(1 - 1e-9, method="exact")
    return f"(interval {found.low:.4g} to {found.high:.4g})"


SHARE = "at x = 0: the event occurred in 250 of 1000 repetitions,"


@pytest.mark.parametrize(
    ("function", "replicates", "said"),
    [
        (summed, None, "at x = 8: 8 > 7 = base 5 + more 2"),
        (at_an_entry, None, "low, at x = 0: 0 < 2 at entry 1"),
        (unequal, None, "at x = 9: 9 != 8"),
        (unequal_in_floats, None, "at x = 0: 1 != 2 at entry 1"),
        (unequal_arrays, None, "at x = 0: 2 != 5 at entry 1"),
        (undefined, None, "at x = 0: the side that is to be at most 2 is not a number"),
        (close, None, "at x = 0: 0.33333 > 0.33333, by 1e-30"),
        (quarter, 1000, f"{SHARE} more than its probability of 0.1 {exact(250, 1000)}"),
        (never, 1000, f"{SHARE} and its probability is not 0.5 {exact(250, 1000)}"),
    ],
)
def test_what_is_said_of_an_instance_that_breaks_a_line(
    function: Callable[..., Any], replicates: int | None, said: str
) -> None:
    assert verdict_on(function, **({"replicates": replicates} if replicates else {})).reason == said


@pytest.mark.parametrize(
    ("sense", "first", "second", "mean", "entry"),
    [("at_most", 0.7, 0.1, 0.25, "> 0.1 at entry 1"), ("at_least", 0.7, 0.1, 0.5, "< 0.7 at entry 0"),
     ("equal", 0.5, 0.5, 0.25, "and not 0.5 at entry 1")],
)  # fmt: skip
def test_what_is_said_of_an_expectation_that_breaks_a_line(
    sense: str, first: float, second: float, mean: float, entry: str
) -> None:
    reason = verdict_on(coins(sense, first, second), replicates=2000).reason
    start = rf"at x = 0: expectation {mean:g} \(interval (0\.\d+) to (0\.\d+), 2000 replicates\) {entry}"
    found = re.fullmatch(start, reason)
    assert found is not None, reason
    samples = (np.arange(2000) % round(1 / mean) == 0).astype(float)
    # half of the level for each entry, half of that for each of two samples, and half for samples that are events
    count, level = int(samples.sum()), 1e-9 / 8
    expected = beta.ppf(level / 2, count, 2001 - count), beta.ppf(1 - level / 2, count + 1, 2000 - count)
    assert [float(end) for end in found.groups()] == pytest.approx(expected, abs=3e-5)


# ---- words for what was not refuted


def within(x: Digit) -> Sides:
    return at_most(int(x), limit=x + 1)


def even(x: Digit) -> Sides:
    suppose("x is even", int(x) % 2 == 0)
    return within(x)


def floating(x: Digit) -> Sides:
    return at_most(float(x), limit=x + 1)


def single(x: Annotated[int, choice(7)]) -> Sides:
    return within(x)


def formula(x: Annotated[int, integers(0, 10**6)]) -> Sides:
    return at_most(x, limit=x + 1)


def tenth(x: One, stream: Stream, replicates: Replicates) -> Sides:
    return at_most(np.arange(replicates) % 10 == 0, limit=0, failure=0.25)


def half(x: One, stream: Stream, replicates: Replicates) -> Any:
    return probability(np.arange(replicates) % 2 == 0, equal=0.5)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (within, "holds on all 10 instances, in exact arithmetic"),
        (even, "holds on all 5 instances, in exact arithmetic"),
        (single, "holds on its only instance, in exact arithmetic"),
        (floating, "holds at all 10 instances over the real numbers"),
        (formula, "proved symbolically for every instance in the ranges; holds on "),
        (tenth, "; 40 of 400 repetitions break it, no more than its probability 0.25 allows"),
        (half, "; the event occurred in 200 of 400 repetitions, which its probability 0.5 allows"),
    ],
)
def test_what_is_said_of_a_line_that_no_instance_breaks(function: Callable[..., Any], said: str) -> None:
    told = decide(stated(function, evaluations=None if "all" in said else 60, replicates=400)).reason
    assert (
        told.startswith(said) if said[-1] == " " else told.endswith(said) if said[0] == ";" else told == said
    )


def test_an_open_end_is_said_with_how_far_it_was_tried() -> None:
    def far(x: Annotated[int, integers(0, 9, upwards=True)]) -> Sides:
        return at_most(int(x), limit=x + 1)

    told = verdict_on(far, evaluations=40).reason
    known = re.fullmatch(
        r"holds on all 10 instances of the grid and (\d+) others, "
        r"and beyond the values that are usually drawn: up to (\d+) times the largest for x",
        told,
    )
    assert known
    assert int(known[1]) >= 10
    assert 500 <= int(known[2]) <= 1000  # an end is multiplied by 1000 at last


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ([1, 2, 3], "(1, 2, 3)"),
        ([-1] * 32, "(-1, -1, -1, -1, ..., 32 entries)"),
        ([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], "((1, 2), (3, 4), ..., 5 entries)"),
        ([[10**20, 10**20]] * 3, "an array of 3 entries"),
    ],
)
def test_a_long_sequence_is_cut_at_an_entry_and_closed(value: Any, written: str) -> None:
    assert short(value) == written


# ---- the evidence in a line


@pytest.mark.parametrize(
    ("ratios", "tight", "words"),
    [
        ({"all": 2.5, "noise": 1e4}, False, [f"tight {TIMES}2.5", "noise loose"]),
        ({"all": None}, False, ["bound not tested: nothing measured reaches 0.1% of it"]),
        ({"all": 150.0}, False, ["loose: at least 150 times what was measured"]),
        ({"all": 1.0}, True, [f"tight {TIMES}1"]),
        ({"all": 1.25}, True, [f"tight {TIMES}1.25", "not attained"]),
    ],
)
def test_tightness_in_words(ratios: dict[str, float | None], tight: bool, words: list[str]) -> None:
    numbers = {name: {"ratio": ratio, "instance": {}} for name, ratio in ratios.items()}
    assert "; ".join(tightness_words(numbers, tight=tight)).replace(", not", "; not") == "; ".join(words)


def test_what_is_attained_somewhere_only_says_where() -> None:
    numbers = {"all": {"ratio": 3.0, "instance": {"k": 2}, "only_at": {"k": 1}}}
    assert tightness_words(numbers) == [f"tight {TIMES}3, attained only at k = 1"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": "in \n  words"}, "in words"),
        ({"instances": 7, "counterexample": {"x": 1}}, "why; the simplest of 7 instances that were tried"),
        ({"instances": 1, "counterexample": {"x": 1}}, "why; the first that was tried"),
        (
            {"instances": 1, "counterexample": {"f": {"triplets": []}}},
            "why; the first that was tried; `show` prints its points",
        ),
        ({"confidence": Confidence(level=0.9, lower=0.1, upper=0.25)}, "why; expectation in [0.1, 0.25]"),
        (
            {"confidence": Confidence(level=0.9, lower=0.1, upper=0.25), "trials": 9},
            "why; failure probability in [0.1, 0.25]",
        ),
        ({"repaired_by": ("a/b", "a/c")}, "why; repaired by a/b, a/c"),
    ],
)
def test_evidence_in_a_line(fields: dict[str, Any], said: str) -> None:
    assert evidence(verdict_with(**fields)) == said


def test_lines_that_fail_only_where_the_first_does_are_told_apart() -> None:
    found = [
        Line(name="(1)", verdict=Kind.CERTIFIED, reason=""),
        Line(name="(2)", verdict=Kind.VIOLATED, reason=""),
        Line(name="(3)", verdict=Kind.VIOLATED, reason="", only_where="(2)"),
        Line(name="(4)", verdict=Kind.VIOLATED, reason=""),
        Line(name="(5)", verdict=Kind.VIOLATED, reason="", only_where="(4)"),
    ]
    told = evidence(verdict_with(verdict=Kind.VIOLATED, lines=tuple(found), instances=90))
    assert told == (
        "why; the first false line is (2); (3) fails only where it does, at 90 instances; "
        "(5) fails only where (4) does, at 90 instances; also (4)"
    )


def test_counts_of_verdicts_and_of_tightness() -> None:
    many = [verdict_with(tightness={"all": {"ratio": ratio}}) for ratio in (1.0, 2.0, 5.0, 10.0, 11.0)]
    many += [verdict_with(verdict=Kind.VIOLATED), verdict_with(verdict=Kind.VIOLATED, source="ours")]
    assert summary(many, 2, 7, 1.25) == (
        f"7 claims: 5 consistent, 2 violated; 2 others failed (seed 7, 1.2 s); of the bounds that were not refuted, "
        f"2 of 5 are tight {TIMES}2 or better, and 4 tight {TIMES}10\n"
        "2 violated: 1 printed (1 false statement), 1 ours"
    )
    assert summary(many[:1], 0, 7, 1.25).startswith("1 claim: 1 consistent (seed 7, 1.2 s); ")


# ---- many settings of one probability


def test_all_settings_together_must_be_as_likely_as_their_probability() -> None:
    """400 draws with probability 1/2 are not too many for 0.4 at the level 1e-9, those of all settings are."""

    def too_often(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.random(replicates) < 0.5, at_most=0.4)

    def as_often(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.random(replicates) < 0.5, at_most=0.5)

    found = verdict_on(too_often, replicates=400)
    assert found.verdict is Kind.VIOLATED
    assert (found.trials or 0) >= 400 * DECIDED
    assert found.trials is not None
    assert binomtest(found.failures or 0, found.trials, 0.4, "greater").pvalue < 1e-10
    assert verdict_on(as_often, replicates=400).reason.endswith("no more than its probability 0.5 allows")


def test_several_events_are_not_counted_as_one() -> None:
    """The most frequent of a thousand events is three standard deviations too frequent at each of five settings."""

    def thousand(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return {str(i): probability(stream.random(replicates) < 0.5, at_most=0.5) for i in range(1000)}

    assert verdict_on(thousand, replicates=200).verdict is not Kind.VIOLATED


# ---- sides that compare nothing


def test_a_side_that_is_not_a_number_accuses_nobody() -> None:
    def one(x: Digit) -> Sides:
        return at_most(math.nan if x == 3 else 1.0, bound=2.0)

    def always(x: Digit) -> Sides:
        return at_most(math.nan, bound=2.0)

    def beside(x: Digit) -> Sides:
        return at_most(np.array([math.nan, 3.0 if x == 5 else 0.0]), bound=2.0)

    for function, places in ((one, "3"), (always, "0")):
        verdict = verdict_on(function)
        said = f"at x = {places}: the side that is to be at most 2 is not a number"
        assert (verdict.verdict, verdict.counterexample) == (Kind.INCONCLUSIVE, None)
        assert verdict.reason.startswith(said)
    found = verdict_on(beside)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "NaN, which is no number, has no rigorous value" in found.reason


def test_two_infinite_sides_are_no_evidence() -> None:
    def always(x: Digit) -> Sides:
        return at_most(math.inf, bound=math.inf)

    def some(x: Annotated[int, integers(1, 99)]) -> Sides:
        return at_most(math.inf if x % 2 else 1.0, bound=math.inf if x % 2 else 2.0)

    verdict = verdict_on(always)
    assert (verdict.verdict, verdict.instances) == (Kind.INCONCLUSIVE, 0)
    assert verdict.reason == "both sides are infinite at all 10 instances that were tried"
    verdict = verdict_on(some)
    assert (verdict.verdict, verdict.instances) == (Kind.CONSISTENT, 49)
    assert "at 50 others both sides are infinite" in verdict.reason


def test_an_integer_that_a_float_bound_excludes_holds_up_to_rounding_only() -> None:
    def beyond(x: Annotated[int, integers(1, 50)]) -> Sides:
        return at_most(2**53 + x, bound=float(2**53))

    def within_(x: Annotated[int, integers(1, 50)]) -> Sides:
        return at_most(2**53 - x, bound=float(2**53))

    said = "at 50 of these up to rounding of floats, 1e-9 of the larger side"
    assert said in verdict_on(beyond).reason
    assert verdict_on(within_).reason == "holds at all 50 instances over the real numbers"
