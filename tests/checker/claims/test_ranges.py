"""Ranges: what is tried, what the statement speaks of, and what JSON gives back."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, get_args

import numpy as np
import pytest
from hypothesis import strategies as st
from toy_claims import decided

from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Sides,
    at_most,
    choice,
    drawn,
    integers,
    least,
    rationals,
    reals,
    sequences,
    simplex,
)
from clusterproof.checker.claims.arrays import matrices, vectors
from clusterproof.checker.claims.class_ranges import functions
from clusterproof.checker.claims.ranges import Range, example_of
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel import Refused
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture, RegressionMixture

F = Fraction
Share = Annotated[Fraction, rationals(0, 1, 3)]


@dataclass(frozen=True)
class Clusters:
    clients: Annotated[int, integers(2, 4, upwards=True)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    round: Annotated[int, integers(0, 1)]


def inequality(one: Clusters, share: Share, *, c_1: float = 2.0) -> Sides:
    return at_most(one.own * share, whole=one.clients, more=c_1)


SPACE = Space.of(inequality)
VALID = {"clients": 3, "own": 2, "round": 0, "share": "1/2"}


def test_the_signature_is_the_space() -> None:
    assert list(SPACE.ranges) == ["clients", "own", "round", "share"]
    one = SPACE.decode(VALID)
    made = SPACE.arguments(one)
    assert made == {"one": Clusters(3, 2, 0), "share": Fraction(1, 2)}
    assert SPACE.flatten(made) == one


def test_all_instances_are_listed_once_simple_ones_first_and_json_gives_each_back() -> None:
    listed = SPACE.instances(60)
    assert listed is not None
    # 1 + 2 + 3 pairs of clients and own, two rounds, shares 0, 1, 1/2, 1/3 and 2/3
    assert len(listed) == len({SPACE.key(one) for one in listed}) == 6 * 2 * 5
    assert listed[0] == {"clients": 2, "own": 1, "round": 0, "share": 0}
    assert all(0 < one["own"] < one["clients"] for one in listed)
    assert SPACE.instances(59) is None
    for one in listed:
        again = SPACE.decode(json.loads(json.dumps(SPACE.encode(one))))
        assert again == one
        assert [type(value) for value in again.values()] == [int, int, int, Fraction]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"own": -4}, "counterexample.own is -4, but it must be an integer in 1 .. 2"),
        ({"own": 3}, "counterexample.own"),
        ({"own": 2.0}, "counterexample.own"),
        ({"own": True}, "counterexample.own"),
        ({"own": "2"}, "counterexample.own"),
        ({"own": None}, "counterexample.own"),
        ({"clients": [3]}, "counterexample.clients"),
        ({"share": 0.5}, "counterexample.share"),
        ({"share": "0.5"}, "counterexample.share"),
        ({"share": "7/5"}, "counterexample.share"),
        ({"share": "1/0"}, "counterexample.share"),
        ({"share": "-1/2"}, "counterexample.share"),
        ({"other": 1}, "counterexample.other is 1, but it is unknown"),
    ],
)
def test_a_forged_number_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        SPACE.decode(VALID | change)
    assert named in str(refusal.value)


def test_a_missing_quantity_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match=r"counterexample\.round is missing: it must be given"):
        SPACE.decode({name: value for name, value in VALID.items() if name != "round"})


def test_a_statement_may_speak_of_more_than_is_tried() -> None:
    assert SPACE.decode(VALID | {"clients": 1000, "own": 999, "share": "1/7"})["own"] == 999
    assert not SPACE.complete


def test_long_ranges_are_drawn_from_and_not_listed() -> None:
    assert integers(0, 10**18).values({}) is None
    assert 0 <= integers(0, 10**18).draw({}, np.random.default_rng(0)) <= 10**18
    assert list(integers(-2, 3).values({})) == [0, 1, -1, 2, -2, 3]


@pytest.mark.parametrize("allowed", [integers(-2, 10**40), rationals(-2, 10**40, 3)])
def test_ends_far_beyond_machine_integers_are_drawn_from_uniformly(allowed: Any) -> None:
    """The share below the middle is a half: of 2000 draws within 5 standard errors, .056."""
    stream = np.random.default_rng(0)
    drawn = [allowed.draw({}, stream) for _ in range(2000)]
    assert allowed.values({}) is None
    assert all(-2 <= each <= 10**40 for each in drawn)
    assert abs(sum(each < 5 * 10**39 for each in drawn) / 2000 - 0.5) < 0.056
    assert len(set(drawn)) == 2000


@pytest.mark.slow(reason="a second or more")
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("make", [integers, partial(rationals, denominator=2)])
def test_an_open_end_that_grows_past_what_floats_and_digits_hold_is_tried(make: Any) -> None:
    """2^n exceeds the floats at n = 1024, and the 4300 digits that Python writes at 14 285; n is tried to 20 000."""
    size = make(0, lambda n: 2**n)

    def within(n: Annotated[int, integers(5, 20, upwards=True)], k: Annotated[Any, size]) -> Sides:
        return at_most(k, bound=2**n)

    def below(n: Annotated[int, integers(5, 20, upwards=True)], k: Annotated[Any, size]) -> Sides:
        return at_most(k, bound=2**2000)

    assert decided(within).verdict is Kind.CONSISTENT
    found = decided(below)
    assert found.verdict is Kind.VIOLATED
    assert found.counterexample is not None
    assert found.counterexample["n"] > 2000


def test_integers_that_cannot_be_written_are_not_tried_and_not_called_exhausted() -> None:
    far = integers(10**5000, 10**5000 + 3)
    assert far.values({}) is None
    assert not far.holds(far.draw({}, np.random.default_rng(0)), {})


def test_an_end_may_be_a_function_of_earlier_quantities() -> None:
    assert rationals(lambda x: x, 1, 2).values({"x": Fraction(1, 2)}) == (1, Fraction(1, 2))
    assert rationals(1, lambda x: x / 2 + 1, 2).values({"x": 1, "y": 7}) == (1, Fraction(3, 2))
    assert rationals(0, 25_001, 4).values({}) is None  # 100 005 quarters
    assert integers(lambda x: x / 2, 3).tried_ends({"x": 3}) == (2, 3)  # 1.5 and more


# wrong types on purpose: what a user writes whose editor does not check them
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: integers(5, 1), "low is 5, but it must be at most high = 1. Exchange"),
        (
            lambda: rationals(Fraction(3, 2), 1, 4),
            "low is Fraction(3, 2), but it must be at most high = 1. Exchange",
        ),
        (lambda: reals(2.0, 1.0), "low is 2.0, but it must be at most high = 1.0. Exchange"),
        (lambda: integers(1.5, 3), "low is 1.5, but it must be an integer. Round it"),  # type: ignore[arg-type]
        (lambda: integers(1, Fraction(7, 2)), "high is Fraction(7, 2), but it must be an integer. Round it"),
        (lambda: choice(1, np.int32(3)), "must not be NumPy's integers, which wrap around"),
        (
            lambda: choice([1, 2]),
            "values is [1, 2], but it must be a number, a string or a tuple. Write choice(*values)",
        ),
        (lambda: integers("a", "b"), "low is 'a', but it must be a number"),  # type: ignore[arg-type]
        (lambda: reals(0, None), "high is missing: it must be a number"),  # type: ignore[arg-type]
        (lambda: sequences(3, 2), "values is 3, but it must be a range"),  # type: ignore[arg-type]
        (lambda: simplex(0), "length is 0, but it must be an integer, at least 1"),
        (lambda: simplex(Fraction(3, 2)), "length is Fraction(3, 2), but it must be an integer, at least 1"),
        (least, "numbers is (), but it must be one or more"),
        (lambda: reals(0.0, math.inf), "high is "),
        (lambda: integers(-math.inf, 3), "low is "),  # type: ignore[arg-type]
        (lambda: rationals(math.nan, 1, 4), "low is "),  # type: ignore[arg-type]
        (lambda: rationals(0, 1, 0), "denominator is "),
        (lambda: rationals(0, 1, 0.5), "denominator is "),  # type: ignore[arg-type]
        (lambda: vectors(-1), "length is "),
        (lambda: matrices(2, 10**9), "length is "),
    ],
)
def test_a_range_of_nothing_is_refused_where_it_is_written(make: Any, said: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        make()
    assert said in str(refusal.value)


def test_ends_that_are_numpys_integers_become_pythons() -> None:
    low, high = rationals(np.int64(0), lambda: np.int64(3), 2).ends({})
    assert {type(low.numerator), type(high.numerator)} == {int}
    assert type(integers(lambda: np.int32(1), 5).ends({})[0]) is int


@pytest.mark.parametrize(
    ("low", "high", "denominator"), [(0, 1, 10), (Fraction(-3, 2), Fraction(7, 3), 9), (-2, -1, 6)]
)
def test_fractions_are_listed_by_denominator_and_size(low: Any, high: Any, denominator: int) -> None:
    """The same set as by reducing all quotients, in the order of denominator, size and sign."""
    quotients = {Fraction(p, q) for q in range(1, denominator + 1) for p in range(-2 * q, 3 * q)}
    expected = sorted(
        (each for each in quotients if low <= each <= high), key=lambda x: (x.denominator, abs(x), x < 0)
    )
    assert list(rationals(low, high, denominator).values({})) == expected


def test_a_choice_tells_one_from_true_and_from_itself_in_words() -> None:
    assert choice(1, 2).decode(1) == 1
    for wrong in (True, "1", 3, [1]):
        with pytest.raises(Refused):
            choice(1, 2).decode(wrong)
    assert choice(Fraction(1, 2), Fraction(1)).decode("1/2") == Fraction(1, 2)
    assert choice(True, False).decode(False) is False
    for doubles in ((), (1, 1)):
        with pytest.raises(InvalidArgument, match="distinct"):
            choice(*doubles)


def test_what_evidence_cannot_store_is_rejected() -> None:
    for wrong in (len, Decimal("1.5"), (1, print), np.float32(0.5)):
        with pytest.raises(InvalidArgument, match="a number, a string or a tuple"):
            choice(0, wrong)
    for make in (
        choice,
        lambda end: integers(0, end, upwards=True),
        lambda end: rationals(1 / Fraction(end), 1, 2),
    ):
        with pytest.raises(InvalidArgument, match="4000 digits"):
            make(10**5000)


def test_a_tuple_with_too_many_parts_is_rejected_without_visiting_them() -> None:
    shared: Any = (1, 2)
    for _ in range(40):
        shared = (shared, shared)
    for options in ((shared, (1,)), (1, (2, shared)), ((0,) * 1001,)):
        with pytest.raises(
            InvalidArgument, match=r"^values is 'a longer tuple', but it must have at most 1000"
        ):
            choice(*options)
    longest = ((0,) * 498, (0,) * 499)
    assert choice(longest, (1,)).values({}) == (longest, (1,))


@pytest.mark.usefixtures("registry")
def test_an_end_that_divides_by_zero_is_refused_with_the_quantities() -> None:
    def statement(
        n: Annotated[int, integers(-1, 1)], x: Annotated[Any, rationals(lambda n: F(1, n), 2, 2)]
    ) -> Sides:
        return at_most(x, two=2)

    def constant(x: Annotated[Any, rationals(lambda: F(1, 0), 2, 2)]) -> Sides:
        return at_most(x, two=2)

    for function, said, remedy in (
        (
            statement,
            "an end of a range is 'a division by zero at n = 0', but it must have a value",
            "range of n",
        ),
        (constant, "an end of a range is 'a division by zero', but it must have a value", "change the end"),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            decided(function)
        assert said in str(refusal.value)
        assert refusal.value.remedy.endswith(remedy)
        assert refusal.value.__notes__[0].startswith("test_ranges.py, line ")


def test_a_function_without_names_is_no_end() -> None:
    for wrong in (abs, max, math.factorial):
        with pytest.raises(InvalidArgument, match=f"{wrong.__name__}.*a function of quantities"):
            integers(0, wrong)


def test_a_long_sequence_is_rejected_at_once() -> None:
    assert sequences(choice(0, 1), 1000).values({}) is None
    assert len(sequences(integers(1, 10), 4).values({}) or ()) == 10**4
    assert sequences(integers(1, 10), 5).values({}) is None
    assert sequences(choice(7), 20_000).values({}) == [(7,) * 20_000]
    with pytest.raises(InvalidArgument, match="1000000"):
        sequences(choice(0, 1), lambda: 10**9).values({})


def test_equal_numbers_of_other_types_do_not_take_each_others_place() -> None:
    """`typing` keeps one object for equal annotations; which claim was imported first must not matter."""
    for first, second in ((0, 0.0), (1, True), (Fraction(2), 2)):
        for made in (choice, lambda end: reals(end, 5)):
            ranges = [get_args(Annotated[float, made(value)])[1] for value in (first, second)]
            kept = [getattr(one, "low", None) if made is not choice else one.values({})[0] for one in ranges]
            assert [type(value) for value in kept] == [type(first), type(second)]


def test_reals_keep_every_digit() -> None:
    allowed = reals(0, 1)
    value = allowed.draw({}, np.random.default_rng(0))
    assert allowed.decode(json.loads(json.dumps(allowed.encode(value)))) == value
    for wrong in (float("nan"), 1.5, -0.1, float("inf")):
        assert not allowed.holds(wrong, {})


def regression(stream: np.random.Generator, clients: int = 3) -> RegressionMixture:
    return RegressionMixture(
        optima=stream.standard_normal((2, 2)),
        covariance=np.array([1.0, stream.uniform(0.1, 1)]),
        noise=0.5,
        labels=np.arange(clients) % 2,
        samples=3,
    )


def test_a_drawn_task_is_written_by_its_arguments_and_one_of_another_kind_is_refused() -> None:
    def pair(first: Annotated[RegressionMixture, drawn(regression)]) -> Sides:
        return at_most(first.samples, many=10)

    space = Space.of(pair)
    task = space.ranges["first"].draw({}, np.random.default_rng(3))
    again = space.decode(json.loads(json.dumps(space.encode({"first": task}))))["first"]
    assert again.settings == task.settings
    assert (again.optima == task.optima).all()
    other = QuadraticMixture.random(clusters=1, clients=2, dimension=2)
    with pytest.raises(InvalidArgument, match=r"^counterexample.first .* constructor of RegressionMixture"):
        space.decode({"first": other.settings})


def test_a_maker_takes_earlier_quantities_and_draws_again_with_them() -> None:
    def made(stream: np.random.Generator, clients: int) -> RegressionMixture:
        return regression(stream, clients)

    def sized(
        clients: Annotated[int, integers(2, 5)], task: Annotated[RegressionMixture, drawn(made)]
    ) -> Sides:
        return at_most(task.clients, count=clients)

    space, stream = Space.of(sized), np.random.default_rng(0)
    first = space.draw(stream)
    drawn_again = [space.draw(stream, start=first, names=["clients"]) for _ in range(10)]
    assert len({one["clients"] for one in drawn_again if one}) > 1
    assert all(one and one["task"].clients == one["clients"] for one in [first, *drawn_again])


def test_an_example_of_a_strategy_is_that_of_the_state_of_a_generator() -> None:
    lists = st.lists(st.integers(0, 10**6), min_size=3)
    one, same, other = (example_of(lists, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one == same != other


def test_a_signature_that_is_no_space_is_refused() -> None:
    def untyped(x: int) -> Sides:
        return at_most(x, one=1)

    def twice(one: Clusters, own: Annotated[int, integers(1, 2)]) -> Sides:
        return at_most(own, one=1)

    def reserved(seed: Annotated[int, integers(1, 2)]) -> Sides:
        return at_most(seed, one=1)

    for function, name in ((untyped, "x"), (twice, "own"), (reserved, "seed")):
        with pytest.raises(InvalidArgument, match=f"^parameter is '{name}'"):
            Space.of(function)


@pytest.mark.parametrize(
    "later",
    [
        integers(0, lambda y: y),
        vectors(lambda y: y),
        vectors(2, reals(0, lambda y: y)),
        functions(smoothness=lambda y: y),
        drawn(
            lambda stream, y: QuadraticMixture.random(clients=y, clusters=1, dimension=2, generator=stream)
        ),
    ],
)
def test_a_range_depends_on_quantities_before_it_alone(later: Range) -> None:
    def statement(x: Annotated[int, integers(1, 2)], z: Annotated[Any, later]) -> Sides:
        return at_most(x, one=1)

    with pytest.raises(
        InvalidArgument,
        match=r"^z is .*, but it depends on `y`, .* earlier quantity\. Name one of these: x\.$",
    ):
        Space.of(statement)


def test_an_open_end_is_passed_by_the_multiple_that_is_said() -> None:
    def both(
        low: Annotated[int, integers(-3, 9, downwards=True)],
        high: Annotated[int, integers(0, 4, upwards=True)],
        closed: Annotated[int, integers(0, 4)],
    ) -> Sides:
        return at_most(low, limit=high + closed)

    space, one = Space.of(both), {"low": 0, "high": 1, "closed": 2}
    far = {name: space.at_multiple(one, name, 10 * sign) for name, sign in (("low", -1), ("high", 1))}
    assert far == {"low": one | {"low": -30}, "high": one | {"high": 40}}
    assert space.at_multiple(one, "closed", 10) is None
    assert space.multiples(one | {"low": -30, "high": 40}) == {"low": 10, "high": 10}


def test_an_object_that_is_no_task_needs_functions_that_write_and_read_it() -> None:
    with pytest.raises(
        InvalidArgument, match=r"make is 0\.5, but it must draw tasks .*\. Write drawn\(make, write="
    ):
        drawn(lambda stream: 0.5).encode(0.5)


def fails_at_two(y: int) -> int:
    return 6 // (y - 2)


def fails_to_draw(stream: np.random.Generator, y: int) -> QuadraticMixture:
    return QuadraticMixture.random(clusters=1, clients=2, dimension=2, condition_number=y - 1.5)


@pytest.mark.parametrize(
    ("later", "function"),
    [
        (integers(fails_at_two, 9), fails_at_two),
        (rationals(0, fails_at_two, 4), fails_at_two),
        (vectors(2, reals(0, fails_at_two)), fails_at_two),
        (functions(smoothness=fails_at_two), fails_at_two),
        (drawn(fails_to_draw), fails_to_draw),
    ],
)
def test_an_error_in_a_function_of_a_range_names_its_file_and_line(later: Range, function: Any) -> None:
    def statement(y: Annotated[int, choice(2)], z: Annotated[Any, later]) -> Sides:
        return at_most(y, one=2)

    space = Space.of(statement)
    with pytest.raises((ArithmeticError, InvalidArgument)) as caught:
        space.draw(np.random.default_rng(0))
    line = function.__code__.co_firstlineno + 1
    assert caught.value.__notes__ == [f"test_ranges.py, line {line}"]
