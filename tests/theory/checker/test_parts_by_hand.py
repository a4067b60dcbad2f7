"""Parts of the checker at numbers small enough to be computed by hand."""

import math
import re
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import Phase, find, settings
from toy_claims import Digit

from clusterproof import claim, expectation, theory
from clusterproof.algorithms import FedAvg, InvalidArgument, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import code_of
from clusterproof.theory.certificates.exact import fraction
from clusterproof.theory.certificates.lyapunov import Unknowns
from clusterproof.theory.certificates.repair import rounded
from clusterproof.theory.checker import (
    Sides,
    at_least,
    at_most,
    choice,
    earlier,
    equal,
    integers,
    probability,
    rationals,
    reals,
)
from clusterproof.theory.checker.comparison import Comparison, least_factor
from clusterproof.theory.checker.conclusions import judge
from clusterproof.theory.checker.ranges import Range, encode_number
from clusterproof.theory.checker.search import without_local_constants
from clusterproof.theory.checker.ties import _equal
from clusterproof.theory.runs.run_code import run_code
from clusterproof.theory.runs.trace_bound import TraceBound

F = Fraction
GENERATED = settings(phases=(Phase.generate,), database=None, max_examples=200)


# short, value, the least f >= 0 with short <= f * value; a negative value is strengthened by 1 / f
@pytest.mark.parametrize(
    ("short", "value", "factor"),
    [
        (F(3), F(2), F(3, 2)),
        (F(-3), F(2), 0),
        (F(0), F(2), 0),
        (F(-3), F(-2), F(2, 3)),
        (F(3), F(-2), math.inf),
        (F(0), F(-2), math.inf),
        (F(0), F(0), 0),
        (F(-1), F(0), 0),
        (F(1), F(0), math.inf),
        (3.0, F(2), 1.5),
        (-3.0, F(-2), 2 / 3),
        (math.nan, F(2), math.inf),
    ],
)
def test_least_factors(short: Any, value: Any, factor: Any) -> None:
    assert least_factor(short, value) == factor
    if short and not isinstance(short, float):  # arrays of exact numbers and of floats agree
        for kind in (object, float):
            two = Comparison(at_most(np.array([short] * 2, dtype=kind), of=np.array([value] * 2, dtype=kind)))
            assert two.factors("of").astype(float) == pytest.approx([float(factor)] * 2, rel=1e-8)


def test_the_worst_entry_of_all_and_of_a_replicate() -> None:
    held = Comparison(at_most(np.array([[1.0, 2.0], [1.5, 0.0]]), limit=np.array([[4.0, 4.0], [2.0, 1.0]])))
    assert (held.worst(), held.worst(0), held.worst(1)) == ((1, 0), (0, 1), (1, 0))  # 1.5 / 2, 2 / 4
    assert held.by_replicate(held.factors(None)) == pytest.approx([0.5, 0.75], rel=1e-8)
    # what exceeds by most is worst, not what exceeds by the largest factor
    broken = Comparison(at_most(np.array([[9.0, 0.1], [3.0, 1.0]]), limit=np.array([[8.5, 0.0], [2.0, 9.0]])))
    assert (broken.worst(), broken.worst(0), broken.worst(1)) == ((1, 0), (0, 0), (1, 0))
    assert broken.broken.tolist() == [[True, True], [True, False]]
    assert broken.terms["limit"][1, 1] == 9
    (below,) = judge({"": at_least(np.array([1.0, 5.0]), limit=2.0)}, 1e-9).values()
    assert (below.parts, below.place) == ({"limit": 2}, (0,))
    unknown = Comparison(at_most(np.array([9.0, math.nan]), limit=1.0))
    assert unknown.worst() == (1,)


def test_equations_break_where_the_largest_gap_of_a_pair_exceeds_rounding() -> None:
    gaps = Comparison(equal((np.array([1.0, -3.0]), np.array([1.0, 0.0])), (2.0, 1.0), rounding=0.5))
    assert gaps.measured == pytest.approx([3, 1])
    assert Comparison(equal((2.0, 2.4), rounding=0.5)).broken.tolist() == [False]
    assert Comparison(equal((2.0, 2.6), rounding=0.5)).broken.tolist() == [True]
    for rounding, broken in ((None, False), (0, True)):
        assert Comparison(equal((2.0, 2.0 + 1e-12), rounding=rounding)).broken.tolist() == [broken]


# range, what is tried, whether that is all, a value that is spoken of, one that is not, words
@pytest.mark.parametrize(
    ("allowed", "tried", "complete", "inside", "outside", "words"),
    [
        (integers(-1, 1), [0, 1, -1], True, 1, 2, "a whole number in -1 .. 1"),
        (integers(1, 3, upwards=True), [1, 2, 3], False, 7, 0, "a whole number in 1 .."),
        (integers(-1, 0, downwards=True), [0, -1], False, -9, 1, "a whole number in .. 0"),
        (rationals(0, F(1, 2), 3), [0, F(1, 2), F(1, 3)], False, F(2, 5), F(3, 5), "a fraction in 0 .. 1/2"),
        (reals(0, F(1, 2)), [], False, 0.5, 0.6, "a number in 0 .. 1/2"),
        (choice(3, F(1, 2)), [3, F(1, 2)], True, F(1, 2), True, "one of 3, 1/2"),
    ],
)
def test_ranges(
    allowed: Range, tried: list[Any], complete: bool, inside: Any, outside: Any, words: str
) -> None:
    assert list(allowed.values({})) == tried
    assert (allowed.listed, allowed.complete) == (bool(tried), complete)
    assert (allowed.holds(inside, {}), allowed.holds(outside, {})) == (True, False)
    assert allowed.describe() == words
    assert allowed.decode(allowed.encode(inside)) == inside
    drawn = {allowed.draw({}, np.random.default_rng(seed)) for seed in range(40)}
    assert all(allowed.holds(each, {}) for each in drawn)
    if tried:
        assert 0 < allowed.at_least() <= len(tried)
        assert drawn == set(tried)
        assert {find(allowed.strategy({}), lambda one: one == each) for each in tried} == set(tried)  # noqa: B023
    for wrong in (None, "x", [1]):
        with pytest.raises((TypeError, ValueError)):
            allowed.decode(wrong)


def test_ends_that_depend_on_another_quantity_are_read_from_it() -> None:
    own = integers(1, earlier("clients") * 2 - 1)
    assert own.at_least() == 1
    assert list(own.values({"clients": 2})) == [1, 2, 3]
    assert (own.holds(3, {"clients": 2}), own.holds(4, {"clients": 2})) == (True, False)
    assert own.describe() == "a whole number in 1 .. 2 clients - 1"
    assert str(earlier("x") / 2 + F(1, 3)) == "1/2 x + 1/3"


def test_long_grids_are_drawn_and_searched_between_their_ends() -> None:
    low, high, most = F(1, 3), F(5, 2), 10**6
    for allowed in (rationals(low, high, most), reals(low, high)):
        drawn = [allowed.draw({}, np.random.default_rng(seed)) for seed in range(60)]
        drawn.append(find(allowed.strategy({}), lambda one: one > 1, settings=GENERATED))
        assert all(allowed.holds(each, {}) for each in drawn)
        assert all(F(each).denominator <= most or isinstance(each, float) for each in drawn)
        assert min(drawn) < 0.5
        assert max(drawn) > 2.3
    assert [encode_number(each) for each in (F(4, 2), F(-3, 9), 0.5, "x")] == [2, "-1/3", 0.5, "x"]


@pytest.mark.parametrize(
    ("first", "second", "rounding", "same"),
    [
        ([F(1, 3)], [F(1, 3)], 0.0, True),
        ([F(1, 3)], [F(1, 3) + F(1, 10**30)], 1.0, False),
        ([1.0], [1.0, 1.0], 0.0, False),
        ([-5.0, 0.0], [-5.0, 4e-9], 0.0, True),  # 1e-9 of the largest magnitude
        ([-5.0, 0.0], [-5.0, 6e-9], 0.0, False),
        ([0.0, F(0)], [-5.0, 0.0], 0.0, False),
        ([1e-12], [3e-12], 0.0, False),
        ([1e-12], [3e-12], 2.1e-12, True),
        ([F(1)], [1.0], 0.0, True),
    ],
)
def test_sides_that_are_the_same(first: list[Any], second: list[Any], rounding: float, same: bool) -> None:
    assert (_equal(first, second, rounding), _equal(second, first, rounding)) == (same, same)


TASK = QuadraticMixture.random(clusters=2, clients=4, dimension=2, condition_number=4, seed=0)


def distance(state: Any, task: Any) -> Any:
    """A quantity that is measured."""
    return np.abs(state.models).max()


@pytest.mark.parametrize("measure", [{}, {"distance": distance}])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_code_of_a_run_runs_where_the_error_there_exceeds_the_limit_and_not_at_it(
    measure: Any, seed: int
) -> None:
    algorithm, start = FedAvg(step_size=0.3, participation=0.5), np.array([[1.0, -2.0]])
    trace = run(algorithm, TASK, rounds=3, initial=start, seed=seed, measure=measure)
    assert trace.errors is not None
    error = trace.measured["distance"][2] if measure else trace.errors[2, 0]
    place = (2,) if measure else (2, 0)

    def code(limit: float) -> str:
        return run_code(TASK, algorithm, start, 3, seed, place, limit, "round 2", measure)

    exec(code(math.nextafter(float(error), -math.inf)), {})
    with pytest.raises(AssertionError):
        exec(code(float(error)), {})
    assert "# round 2\n" in code(1.0)
    unnamed = run_code(TASK, algorithm, start, 3, seed, (2,), 1.0, "", {"own": lambda state, task: 0})
    assert "measure = ...  # your function 'own' of (state, task)\n" in unnamed


def false(digit: Digit) -> Sides:
    return at_most(digit, limit=7)


def test_a_counterexample_as_code_imports_what_states_the_claim(registry: None) -> None:
    claim("toy/one")(false)
    verdict = theory.check("toy/one")
    code = code_of(verdict) or ""
    assert f"\nimport {__name__}  # states the claim\n" in code
    exec(code, {})
    assert "from math" not in code
    unknown = code_of(verdict.__class__(**{**vars(verdict), "claim": "toy/other"})) or ""
    assert "import" not in unknown.split("\n", 1)[1]
    for example in ({"x": math.inf}, {"x": {"y": [1.0, math.nan]}}):
        infinite = code_of(verdict.__class__(**{**vars(verdict), "counterexample": example})) or ""
        assert infinite.startswith("from math import inf, nan\n")


def test_events_and_estimates_share_a_level_and_only_what_breaks_itself_is_broken() -> None:
    """Four intervals: of two failure probabilities, one of which two conclusions have, a share and an expectation."""
    wrong, none = (np.arange(100) < failing for failing in (90, 0))
    conclusions = {
        "kept": at_most(none * 1.0, half=0.5, failure=0.1),
        "broken": at_most(wrong * 1.0, half=0.5, failure=0.1),
        "other": at_most(wrong * 1.0, half=0.5, failure=0.95),
        "share": probability(wrong, at_most=0.95),
        "mean": expectation(wrong * 1.0, at_most=2.0, range=(0, 1)),
    }
    judged = judge(conclusions, 1e-2)
    assert {one.interval.level for one in judged.values() if one.interval} == {1 - 1e-2 / 4}
    assert [name for name, one in judged.items() if one.broken] == ["broken"]
    assert [judged[name].failures for name in ("kept", "broken")] == [90, 90]  # one event


def test_rounding_of_a_large_quantity_widens_an_interval() -> None:
    one = expectation(np.array([0.2, 0.4, 0.3]), at_most=0.25, range=(0, 1))
    small, large = (judge({"": one}, 1e-3, {"x": x})[""].interval for x in (1.0, -1e8))
    assert small is not None
    assert large is not None
    assert [small.lower - large.lower, large.upper - small.upper] == pytest.approx([1e-6] * 2, rel=1e-3)


def test_the_name_of_a_part_is_new(registry: None) -> None:
    def stated(x: Annotated[int, choice(1, 2)]) -> Sides:
        return at_most(x, two=2)

    theorem = claim("toy/one")(stated)
    for name in ("first", "second"):
        theorem.also(name)(stated)
    for taken in ("first", "second", ""):
        with pytest.raises(InvalidArgument, match="must be new among the parts"):
            theorem.also(taken)(stated)


def test_a_solution_keeps_twelve_digits_of_its_largest_number() -> None:
    free = {"matrix": (-1e6, 1 / 3, 0, 0, 0, 0), "values": (-2 / 3, 0)}
    sizes = {name: (0.0,) * length for name, length in Unknowns.sizes().items()}
    found = rounded(Unknowns(**{**sizes, **free}))
    kept = [fraction(found.matrix[0]), fraction(found.matrix[1]), fraction(found.values[0])]
    assert kept == [-(10**6), F(333333, 10**6), -F(666667, 10**6)]
    assert fraction(rounded(Unknowns(**{**sizes, "start": (-0.5, 0.5)})).start[0]) == 0


def test_a_search_tries_no_constants_of_files_that_were_read_before() -> None:
    from hypothesis.internal.conjecture import providers

    if not hasattr(providers, "CONSTANTS_CACHE"):
        pytest.skip("this version of Hypothesis reads no constants of files")
    cache = providers.CONSTANTS_CACHE.cache
    cache["before"] = 1
    with without_local_constants():
        assert not cache
        cache["within"] = 1
    assert not cache


def test_a_bound_on_a_run_is_shown_as_a_table() -> None:
    bound = TraceBound(np.array([[4.0, 3.0], [1.0, 2.0]]), 0.25, last=np.array([1.5, 0.5]), quantity="gap")
    facts = "on the gap 4 -> 2, shape (2, 2), failure probability 0.25, after the last round 1.5"
    assert repr(bound) == f"<TraceBound: {facts}>"
    assert repr(TraceBound(np.array(2.0))).startswith("<TraceBound: on the error 2 -> 2, shape (),")
    shown = re.sub(r"\s*<[^>]*>\s*", " ", bound._repr_html_())
    assert all(word in shown for word in ("TraceBound", "on the gap", "4 ", "after the last round"))
    assert "<t" in bound._repr_html_()
    away = TraceBound(np.zeros((2, 1)), reference=np.zeros((2, 1, 3)), deviation=np.array([[0.5], [0.75]]))
    assert repr(away).endswith("distance from the reference path at most 0.75>")


@pytest.mark.parametrize(
    ("value", "sense", "allowed", "factor"),
    [
        (0.5, "at_most", 0.8, lambda low, high: low / 0.8),
        (0.5, "at_most", 0.3, lambda low, high: 1.0),
        (0.02, "at_most", 0.3, lambda low, high: 0.0),
        (0.5, "at_least", 0.2, lambda low, high: 0.2 / high),
        (0.5, "at_least", 0.8, lambda low, high: 1.0),
        (0.5, "at_least", -0.2, lambda low, high: 0.0),
        (-0.5, "at_least", -0.8, None),
        (-0.5, "at_most", -0.2, None),
        (0.5, "equal", 0.5, None),
    ],
)
def test_the_factor_of_an_expectation_is_that_of_the_end_that_favours_it(
    value: float, sense: str, allowed: float, factor: Any
) -> None:
    """Bernstein's interval of equal samples in an interval of length 1: 3 log(3 / alpha) / n on both sides."""
    half = 3 * math.log(3 / 1e-3) / 600
    one = expectation(np.full(600, value), range=(value - 0.5, value + 0.5), **{sense: allowed})
    expected = {} if factor is None else {"all": pytest.approx(factor(value - half, value + half))}
    assert judge({"": one}, 1e-3)[""].factors == expected
