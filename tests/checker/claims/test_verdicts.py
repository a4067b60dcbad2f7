"""The six verdicts, and each reason for *inconclusive*, next to a claim of which it is not true."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Digit, One, Unit, decided

from clusterproof import InvalidArgument, replay
from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    equal,
    integers,
    probability,
    rationals,
    suppose,
)

pytestmark = pytest.mark.usefixtures("registry")
Rounds = Annotated[int, integers(1, 40, upwards=True)]


def below_one(x: Unit) -> Sides:
    return at_most(np.abs(x), one=1)


# ---- certified, violated, ill-posed


@pytest.mark.parametrize(
    ("compare", "verdict"),
    [
        (lambda n: at_most(math.factorial(n), power=n**n), Kind.CERTIFIED),
        (lambda n: at_most(math.factorial(n), power=10**500), Kind.VIOLATED),
        (lambda n: at_most(10 ** (2 * n), one=1), Kind.VIOLATED),
        (lambda n: at_least(1, power=102**n - 100**n), Kind.VIOLATED),
        (lambda n: equal(((10**n + 1) ** 2, 10 ** (2 * n) + 2 * 10**n + 1)), Kind.CERTIFIED),
        (lambda n: equal(((10**n + 1) ** 2, 10 ** (2 * n) + 2 * 10**n + (n < 299))), Kind.VIOLATED),
    ],
)
def test_integers_larger_than_any_float_are_compared_exactly(compare: Any, verdict: Kind) -> None:
    def about(n: Annotated[int, integers(1, 300)]) -> Sides:
        sides: Sides = compare(n)
        return sides

    found = decided(about)
    assert found.verdict is verdict
    if verdict is Kind.VIOLATED:
        assert replay("toy/one", found.counterexample or {}).verdict is verdict


def test_a_list_of_instances_is_no_proof_where_numpys_integers_may_wrap_around() -> None:
    """40! = 8.2e47, whose product in 64 bits is below the bound."""

    def factorial(n: Annotated[int, integers(1, 40)]) -> Sides:
        return at_most(int(np.prod(np.arange(1, n + 1))), bound=10**19)

    def of_fractions(n: Annotated[int, integers(2, 40)]) -> Sides:
        weights = np.arange(1, n + 1) ** 9
        return at_most(sum(Fraction(weight, weights.sum()) for weight in weights), one=1)

    def powers(n: Annotated[int, integers(1, 70)]) -> Sides:
        return at_most(2 ** (n - 1), product=int(np.prod(np.arange(1, n + 1))))

    found = decided(factorial)
    assert (found.verdict, found.basis, found.counterexample) == (Kind.VIOLATED, "intervals", {"n": 21})
    assert decided(powers).verdict is Kind.CONSISTENT
    assert "np.prod" in found.outside
    assert "not of the language" in found.outside
    with pytest.raises(InvalidArgument, match="must be fractions of Python's integers"):
        decided(of_fractions)


@pytest.mark.parametrize(("ill_posed", "verdict"), [(True, Kind.ILL_POSED), (False, Kind.VIOLATED)])
def test_a_definition_that_breaks_is_ill_posed_and_keeps_its_instance(ill_posed: bool, verdict: Kind) -> None:
    def readings(x: Digit) -> Sides:
        return equal((x**2, 2 * x), words=lambda: f"{x} squared is {x**2}")

    found = decided(readings, ill_posed=ill_posed)
    assert (found.verdict, found.reason) == (verdict, "1 squared is 1")
    assert found.counterexample == {"x": 1}
    assert replay("toy/one", found.counterexample).verdict is verdict


# ---- vacuous


@pytest.mark.parametrize(
    ("power", "verdict"), [(1, Kind.VACUOUS), (2, Kind.VIOLATED)], ids=["certified", "violated"]
)
def test_a_bound_that_holds_of_everything_says_nothing_once_it_is_certified(
    power: int, verdict: Kind
) -> None:
    def bounded(x: Digit) -> Sides:
        return at_most(x**power, nine=9)

    found = decided(bounded, says_nothing="every digit is at most 9")
    assert found.verdict is verdict
    assert found.reason.startswith("every digit is at most 9") == (verdict is Kind.VACUOUS)
    consistent = decided(below_one, says_nothing="that is all of [0, 1]", evaluations=60)
    assert consistent.verdict is Kind.CONSISTENT


def test_hypotheses_that_exclude_each_other_are_named_without_those_that_could_be_left_out() -> None:
    def empty(a: Digit, b: Digit) -> Sides:
        suppose("a is not 9", a != 9)
        suppose("a < 3", a < 3)
        suppose("b is even", b % 2 == 0)
        suppose("b > 5", b > 5)
        suppose("b < a", b < a)
        return at_most(100, one=1)

    found = decided(empty)
    assert (found.verdict, found.instances) == (Kind.VACUOUS, 0)
    for name in ("a < 3", "b > 5", "b < a"):
        assert f'"{name}"' in found.reason
    for name in ("a is not 9", "b is even"):
        assert name not in found.reason


def test_a_hypothesis_that_hides_an_undefined_statement_stays() -> None:
    def empty(a: Digit) -> Sides:
        suppose("a != 0", a != 0)
        suppose("1 / a > 1", Fraction(1, a) > 1)
        return at_most(1, one=1)

    reason = decided(empty).reason
    assert '"a != 0"' in reason
    assert '"1 / a > 1"' in reason


@pytest.mark.parametrize(("limit", "verdict"), [(2.0, Kind.INCONCLUSIVE), (0.5, Kind.CONSISTENT)])
def test_hypotheses_that_were_never_met_prove_nothing(limit: float, verdict: Kind) -> None:
    def sine(x: Unit) -> Sides:
        suppose("sin(9 x) > limit", math.sin(9 * x) > limit)
        return at_most(x, one=1)

    assert decided(sine, evaluations=100).verdict is verdict


# ---- inconclusive


@pytest.mark.parametrize(("evaluations", "verdict"), [(20, Kind.INCONCLUSIVE), (30, Kind.CONSISTENT)])
def test_fewer_than_thirty_instances(evaluations: int, verdict: Kind) -> None:
    found = decided(below_one, evaluations=evaluations)
    assert found.verdict is verdict
    assert (found.instances or 0) >= evaluations
    few = f"{found.instances} different instances are too few"
    assert found.reason.startswith(few) == (verdict is Kind.INCONCLUSIVE)


def test_repetitions_of_few_instances_of_a_range_are_not_many_instances() -> None:
    def event(x: Annotated[Fraction, rationals(0, 1, 3)], stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.uniform(size=replicates) < x, equal=float(x))

    found = decided(event, evaluations=4)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "different instances are too few" in found.reason
    assert decided(event, evaluations=60).verdict is Kind.CONSISTENT


def growing(ratio: Callable[[int], float]) -> Callable[..., Sides]:
    """State what cannot be evaluated far beyond the end of its range."""

    def statement(n: Rounds) -> Sides:
        suppose("n <= 80", n <= 80)
        return at_most(ratio(n), one=1.0)

    return statement


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (lambda n: n**2 / 1e6, Kind.INCONCLUSIVE),  # 1 at n = 1000
        (lambda n: n**2 / 1e10, Kind.CONSISTENT),  # 1 at n = 100 000, more than 1000 times the end
        (lambda n: math.log(n) / 8, Kind.INCONCLUSIVE),  # 1 at n = 2981
        (lambda n: math.log(n) / 12, Kind.CONSISTENT),  # 1 at n = 162 755
        (lambda n: 1 - 1 / n, Kind.CONSISTENT),
        (lambda n: 0.9 - 0.5 * n**-0.5, Kind.CONSISTENT),
        (lambda n: 0.99, Kind.CONSISTENT),
    ],
)
def test_a_ratio_that_grows_without_slowing_down(ratio: Callable[[int], float], verdict: Kind) -> None:
    found = decided(growing(ratio), evaluations=100)
    assert found.verdict is verdict
    assert ("grows with n and would pass 1" in found.reason) == (verdict is Kind.INCONCLUSIVE)


@pytest.mark.parametrize(("replicates", "verdict"), [(400, Kind.INCONCLUSIVE), (10_000, Kind.CONSISTENT)])
def test_a_probability_of_which_twice_could_not_be_seen(replicates: int, verdict: Kind) -> None:
    """Of 400 repetitions 8 break a level of .01 where .02 is true, 9 standard deviations less than 1e-9 asks for."""

    def tail(one: One, stream: Stream, replicates: Replicates, *, bound: float = 0.995) -> Sides:
        return at_most(stream.random(replicates), bound=bound, failure=0.01)

    found = decided(tail, replicates=replicates)
    assert found.verdict is verdict
    assert ("would not show twice the probability 0.01" in found.reason) == (verdict is Kind.INCONCLUSIVE)
    if verdict is Kind.CONSISTENT:
        tail.__kwdefaults__["bound"] = 0.98
        assert decided(tail, replicates=replicates).verdict is Kind.VIOLATED


@pytest.mark.parametrize(("level", "verdict"), [(0.4, Kind.INCONCLUSIVE), (0.5, Kind.CONSISTENT)])
def test_repetitions_that_speak_against_it_together_alone(level: float, verdict: Kind) -> None:
    """An event of probability 1/2: 200 of 400 are no proof against .4, 2000 of 4000 are, of each setting and of all."""

    def tail(x: Digit, stream: Stream) -> Any:
        return at_most(stream.random(400), failure=level, bound=0.5)

    found = decided(tail)
    assert found.verdict is verdict
    assert ("all replicates together speak against it" in found.reason) == (verdict is Kind.INCONCLUSIVE)
