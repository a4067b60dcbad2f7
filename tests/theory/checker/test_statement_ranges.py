"""Ranges: what is tried, what the statement speaks of, and what JSON gives back."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, get_args

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.checker import Sides, at_most, choice, drawn, earlier, integers, rationals, reals
from clusterproof.theory.checker.sampler import times_end
from clusterproof.theory.checker.space import Space

Share = Annotated[Fraction, rationals(0, 1, 3)]


@dataclass(frozen=True)
class Clusters:
    clients: Annotated[int, integers(2, 4, upwards=True)]
    own: Annotated[int, integers(1, earlier("clients") - 1)]
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


def test_all_instances_are_listed_once_simple_ones_first() -> None:
    listed = SPACE.instances(1000)
    assert listed is not None
    # 1 + 2 + 3 pairs of clients and own, two rounds, shares 0, 1, 1/2, 1/3 and 2/3
    assert len(listed) == len({SPACE.key(one) for one in listed}) == 6 * 2 * 5
    assert listed[0] == {"clients": 2, "own": 1, "round": 0, "share": 0}
    assert all(0 < one["own"] < one["clients"] for one in listed)
    assert SPACE.instances(59) is None


def test_json_gives_back_the_very_instance() -> None:
    for one in SPACE.instances(1000) or []:
        again = SPACE.decode(json.loads(json.dumps(SPACE.encode(one))))
        assert again == one
        assert [type(value) for value in again.values()] == [int, int, int, Fraction]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"own": -4}, "counterexample.own = -4: must be a whole number in 1 .. clients - 1"),
        ({"own": 3}, "counterexample.own"),
        ({"own": 2.0}, "counterexample.own"),
        ({"own": True}, "counterexample.own"),
        ({"own": "2"}, "counterexample.own"),
        ({"own": None}, "counterexample.own"),
        ({"clients": [3]}, "counterexample.clients"),
        ({"share": 0.5}, "counterexample.share"),
        ({"share": "7/5"}, "counterexample.share"),
        ({"share": "1/0"}, "counterexample.share"),
        ({"share": "-1/2"}, "counterexample.share"),
        ({"other": 1}, "counterexample.other = 1: is unknown"),
    ],
)
def test_a_forged_number_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        SPACE.decode(VALID | change)
    assert named in str(refusal.value)


def test_a_missing_quantity_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match=r"counterexample\.round = None: is missing"):
        SPACE.decode({name: value for name, value in VALID.items() if name != "round"})


def test_a_statement_may_speak_of_more_than_is_tried() -> None:
    assert SPACE.decode(VALID | {"clients": 1000, "own": 999, "share": "1/7"})["own"] == 999
    assert not SPACE.complete


def test_long_ranges_are_not_written_out() -> None:
    assert integers(0, 10**18).values({})[5] == 5
    assert len(integers(-(10**12), 10**12).values({})) == 2 * 10**12 + 1
    assert 0 <= integers(0, 10**18).draw({}, np.random.default_rng(0)) <= 10**18


def test_ends_of_fractions_may_be_earlier_quantities() -> None:
    assert rationals(earlier("x"), 1, 2).values({"x": Fraction(1, 2)}) == (1, Fraction(1, 2))
    assert rationals(1, earlier("x") / 2 + 1, 2).values({"x": 1}) == (1, Fraction(3, 2))


def test_a_choice_tells_one_from_true_and_from_itself_in_words() -> None:
    assert choice(1, 2).decode(1) == 1
    for wrong in (True, "1", 3, [1]):
        with pytest.raises(ValueError, match="not listed"):
            choice(1, 2).decode(wrong)
    assert choice(Fraction(1, 2), Fraction(1)).decode("1/2") == Fraction(1, 2)
    assert choice(True, False).decode(False) is False
    for doubles in ((), (1, 1)):
        with pytest.raises(InvalidArgument, match="distinct"):
            choice(*doubles)


def test_reals_keep_every_digit() -> None:
    allowed = reals(0, 1)
    value = allowed.draw({}, np.random.default_rng(0))
    assert allowed.decode(json.loads(json.dumps(allowed.encode(value)))) == value
    for wrong in (float("nan"), 1.5, -0.1, float("inf")):
        assert not allowed.holds(wrong, {})


def regression(stream: np.random.Generator) -> RegressionMixture:
    return RegressionMixture(
        optima=stream.standard_normal((2, 2)),
        covariance=np.array([1.0, stream.uniform(0.1, 1)]),
        noise=0.5,
        labels=np.array([0, 1, 1]),
        samples=3,
    )


def test_a_drawn_task_is_written_by_its_arguments_and_read_back() -> None:
    allowed = drawn(regression)
    task = allowed.draw({}, np.random.default_rng(3))
    again = allowed.decode(json.loads(json.dumps(allowed.encode(task))))
    assert again.settings == task.settings
    assert (again.optima == task.optima).all()


def test_a_task_of_another_kind_is_refused() -> None:
    def pair(first: Annotated[RegressionMixture, drawn(regression)]) -> Sides:
        return at_most(first.samples, many=10)

    space = Space.of(pair)
    task = regression(np.random.default_rng(0))
    other = QuadraticMixture.random(clusters=1, clients=2, dimension=2)
    assert space.decode({"first": task.settings})["first"].settings == task.settings
    with pytest.raises(
        InvalidArgument, match=r"^counterexample.first .* the constructor of RegressionMixture"
    ):
        space.decode({"first": other.settings})


def test_a_signature_that_is_no_space_is_refused() -> None:
    def untyped(x: int) -> Sides:
        return at_most(x, one=1)

    def twice(one: Clusters, own: Annotated[int, integers(1, 2)]) -> Sides:
        return at_most(own, one=1)

    def reserved(seed: Annotated[int, integers(1, 2)]) -> Sides:
        return at_most(seed, one=1)

    for function, name in ((untyped, "x"), (twice, "own"), (reserved, "seed")):
        with pytest.raises(InvalidArgument, match=f"^{name} = "):
            Space.of(function)


def test_equal_numbers_of_other_types_do_not_take_each_others_place() -> None:
    """`typing` keeps one object for equal annotations; which claim was imported first must not matter."""
    for first, second in ((0, 0.0), (1, True), (Fraction(2), 2)):
        for made in (choice, lambda end: reals(end, 5)):
            ranges = [get_args(Annotated[float, made(value)])[1] for value in (first, second)]
            kept = [getattr(one, "low", None) if made is not choice else one.values({})[0] for one in ranges]
            assert [type(value) for value in kept] == [type(first), type(second)]


def test_an_open_end_is_passed_by_the_multiple_that_is_said() -> None:
    def both(
        low: Annotated[int, integers(-3, 9, downwards=True)],
        high: Annotated[int, integers(0, 4, upwards=True)],
        closed: Annotated[int, integers(0, 4)],
        small: Annotated[float, reals(0, 0.5, upwards=True)],
    ) -> Sides:
        return at_most(low, limit=high + closed + small)

    space, one = Space.of(both), {"low": 0, "high": 1, "closed": 2, "small": 0.25}
    moved = {
        name: times_end(space, one, name, 10 * sign)
        for name, sign in (("low", -1), ("high", 1), ("small", 1))
    }
    assert times_end(space, one, "closed", 10) is None
    assert moved == {"low": one | {"low": -30}, "high": one | {"high": 40}, "small": one | {"small": 5.0}}


@pytest.mark.parametrize(
    ("low", "high", "denominator"), [(0, 1, 10), (Fraction(-3, 2), Fraction(7, 3), 9), (-2, -1, 6), (1, 0, 3)]
)
def test_fractions_are_listed_by_denominator_and_size(low: Any, high: Any, denominator: int) -> None:
    """The same set as by reducing all quotients, in the order of denominator, size and sign."""
    quotients = {Fraction(p, q) for q in range(1, denominator + 1) for p in range(-2 * q, 3 * q)}
    expected = sorted(
        (each for each in quotients if low <= each <= high), key=lambda x: (x.denominator, abs(x), x < 0)
    )
    allowed = rationals(low, high, denominator)
    assert list(allowed.values({})) == expected
    # hypothesis hashes all values of a strategy: it is not made anew for every draw
    assert allowed.strategy({}) is allowed.strategy({})
