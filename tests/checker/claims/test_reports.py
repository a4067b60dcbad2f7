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
from attempts import Digit, verdict_on
from scipy.stats import beta, binomtest

from clusterproof import InvalidArgument
from clusterproof.checker import Kind, Line, Verdict, claim, code_of, replay
from clusterproof.checker.claims import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    equal,
    expectation,
    integers,
    probability,
)
from clusterproof.checker.claims.statement import short
from clusterproof.checker.report.decide import check
from clusterproof.checker.report.tables import evidence, read_kinds, report, to_json
from clusterproof.checker.search.repeated import DECIDED

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


def coins(sense: str, first: float, second: float) -> Callable[..., Any]:
    """Two shares of 1 among samples: a half, and a quarter."""

    def mean(x: One, stream: Stream, replicates: Replicates) -> Any:
        samples = np.stack([np.arange(replicates) % 2, np.arange(replicates) % 4 == 0], axis=1)
        return expectation(samples, range=(0, 1), **{sense: [first, second]})

    return mean


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


def equation(left: Any, right: Any) -> Callable[..., Sides]:
    """One equation at the only instance x = 0."""

    def line(x: One) -> Sides:
        return equal((left(x), right))

    return line


@pytest.mark.parametrize(
    ("left", "right", "sides"),
    [
        (lambda x: x + 9, 8, (9, 8)),
        (lambda x: x + 8, 9, (8, 9)),
        (math.exp, 2.0, (1, 2)),
        (lambda x: np.array([Fraction(1), Fraction(2)]), np.array([Fraction(1), Fraction(5)]), (2, 5)),
    ],
)
def test_a_broken_equation_has_its_two_sides_and_their_order(
    left: Any, right: Any, sides: tuple[int, int]
) -> None:
    found = re.search(r"(\d+) (\S+) (\d+)(?: at entry 1)?$", verdict_on(equation(left, right)).reason)
    assert found is not None
    assert (int(found[1]), found[2], int(found[3])) == (sides[0], "!=", sides[1])


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
        "why; the first line that is violated is (2); (3) fails only where it does, at 90 instances; "
        "(5) fails only where (4) does, at 90 instances; also (4)"
    )


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
    """The most frequent of sixty events is 2.4 standard deviations too frequent at each of ten settings."""

    def sixty(x: Digit, stream: Stream, replicates: Replicates) -> Any:
        return {str(i): probability(stream.random(replicates) < 0.5, at_most=0.5) for i in range(60)}

    assert verdict_on(sixty, replicates=200).verdict is not Kind.VIOLATED


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
