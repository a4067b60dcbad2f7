"""How a statement is tried: all instances or drawn ones, corners, hypotheses that are met, and what is simplified."""

import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Count, Digit, Large, Open, Share, Unit, decided

from clusterproof import check, checker
from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides, at_most, choice, drawn, integers, reals, suppose
from clusterproof.checker.claims.space import Space
from clusterproof.checker.search import state
from clusterproof.common import InvalidArgument

pytestmark = pytest.mark.usefixtures("registry")
SEEDS = range(3)


# ---- all instances


def test_a_finite_space_is_exhausted_whatever_the_seed() -> None:
    """One instance in a thousand breaks it: a few hundred drawn ones would miss it on most seeds."""

    def needle(a: Digit, b: Digit, c: Digit) -> Sides:
        return at_most(int((a, b, c) == (9, 8, 7)), nothing=0)

    for seed in range(2):
        verdict = decided(needle, seed)
        assert verdict.counterexample == {"a": 9, "b": 8, "c": 7}
        assert verdict.exhausted is False


def test_exhausted_says_that_all_admissible_instances_were_evaluated() -> None:
    def true(a: Digit, b: Digit) -> Sides:
        suppose("a <= b", a <= b)
        return at_most(a, b=b)

    verdict = decided(true)
    assert (verdict.verdict, verdict.instances, verdict.exhausted) == (Kind.CERTIFIED, 55, True)
    assert "all 55 instances, in exact arithmetic" in verdict.reason
    assert (verdict.proof, verdict.worst_exact) == ("exhausted", "1")
    assert verdict.trials is verdict.failures is None


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (Share, "all 7 instances of the grid"),
        (Annotated[int, integers(0, 9, upwards=True)], "all 10 instances of the grid"),
        (Annotated[float, choice(0.5, 1.0)], "all 2 instances"),
    ],
)
def test_a_grid_and_floating_numbers_are_not_all_that_a_statement_speaks_of(allowed: Any, said: str) -> None:
    def below(x: allowed) -> Sides:
        return at_most(np.abs(x - 3), more=x + 9)

    verdict = decided(below, evaluations=100)
    assert verdict.verdict is Kind.CONSISTENT
    assert said in verdict.reason


def test_instances_are_counted_once() -> None:
    evaluated: list[tuple[int, int]] = []

    def true(a: Large, b: Large) -> Sides:
        suppose("a is even", a % 2 == 0)
        evaluated.append((a, b))
        return at_most(a, sum=a + b)

    found = decided(true, evaluations=200, example={"a": 4, "b": 3})
    numbers = [one for one in evaluated if isinstance(one[0], int)]  # others were symbols
    assert numbers[0] == (4, 3)
    assert (
        found.instances == len(numbers[1:]) == len(set(numbers)) == 201
    )  # the first gives the names of the lines
    assert found.exhausted is False
    assert check("toy/one", evaluations=20).instances == 21


def test_an_example_comes_first_and_must_be_an_instance() -> None:
    def false(a: Large, b: Large) -> Sides:
        return at_most(int((a, b) == (777, 3)), nothing=0)

    verdict = decided(false, example=[{"a": 777, "b": 3}], evaluations=10)
    assert verdict.counterexample == {"a": 777, "b": 3}  # one of a million
    with pytest.raises(InvalidArgument, match=r"b is 1000, but it must be an integer in 0 \.\. 999"):
        decided(false, example={"a": 777, "b": 1000})


def test_an_open_end_whose_evaluation_does_not_end_is_given_up(plant: Callable[..., Any]) -> None:
    plant(state, "LINES", 10_000)
    plant(state, "MANY_LINES", 5_000)
    evaluated: set[int] = set()

    def endless(count: Annotated[int, integers(1, 9, upwards=True)]) -> Sides:
        evaluated.add(count)
        while count >= 900:
            pass
        return at_most(count, bound=count)

    assert decided(endless, evaluations=200).verdict is Kind.CONSISTENT
    assert (
        0 < len([count for count in evaluated if count >= 900]) < 8
    )  # each makes the distance less than half


def test_drawn_objects_are_drawn_until_enough_are_admissible() -> None:
    def thing(stream: np.random.Generator) -> dict[str, float]:
        return {"size": float(stream.uniform())}

    def half(thing: Annotated[dict, drawn(thing, write=dict, read=dict)], *, bound: float = 0.5) -> Sides:
        suppose("size < 1/2", thing["size"] < 0.5)
        return at_most(thing["size"], half=bound)

    verdict = decided(half, evaluations=30)
    assert (verdict.instances, verdict.exhausted) == (30, False)
    with pytest.raises(InvalidArgument, match='must meet the hypothesis "size < 1/2"'):
        checker.replay("toy/one", {"thing": {"size": 0.7}})
    half.__kwdefaults__["bound"] = 0.1
    found = decided(half).counterexample
    assert found is not None
    assert checker.replay("toy/one", found).verdict is Kind.VIOLATED


def test_the_draws_end_where_there_are_fewer_instances_than_are_wanted() -> None:
    draws = []

    def coin(stream: np.random.Generator) -> int:
        draws.append(int(stream.integers(2)))
        return draws[-1]

    def tossed(side: Annotated[int, drawn(coin, write=int, read=int)]) -> Sides:
        return at_most(side, one=1)

    verdict = decided(tossed, evaluations=40)
    assert (verdict.verdict, verdict.instances) == (Kind.INCONCLUSIVE, 2)
    assert "stopped after" not in verdict.reason
    assert len(draws) < 1000


# ---- drawn instances


def values(allowed: Any, count: int) -> np.ndarray:
    """Draw values of a statement's only quantity."""

    def stated(x: allowed) -> Sides:
        return at_most(x, more=x + 1)

    space, stream = Space.of(stated), np.random.default_rng(0)
    return np.array([one["x"] for _ in range(count) if (one := space.draw(stream)) is not None])


def test_a_third_are_ends_a_tenth_beyond_and_a_quarter_near_an_end() -> None:
    """Distances of 1e-6 to 1, uniform in the logarithm: two of three are below 1e-2, as are 2 % of the uniform ones."""
    x = values(Open, 4000)
    assert len(x) == 4000
    near = ((x > 0) & (x < 0.01)) | ((x > 0.99) & (x < 1))
    for found, share in (
        ((x == 0) | (x == 1), 0.35),
        (x > 1, 0.10),
        (near, 0.25 * 2 / 3 + 0.30 * 0.02),
        ((x >= 0.01) & (x <= 0.99), 0.25 / 3 + 0.30 * 0.98),
    ):
        assert found.mean() == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000))
    beyond = np.log(x[x > 1]) / math.log(1000)
    assert beyond.max() <= 1
    np.testing.assert_allclose(np.quantile(beyond, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.12)


def test_a_closed_end_is_never_passed_and_beyond_an_open_one_neighbours_and_both_parities_are_drawn() -> None:
    assert values(Unit, 2000).max() == 1
    n = values(Count, 10_000)
    assert {9, 10} <= {*n.tolist()}
    assert 0.4 < (n[n > 16] % 2).mean() < 0.6
    assert 4000 < n.max() <= 8001


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("remainder", [0, 1])
def test_what_is_false_at_every_second_number_beyond_an_open_end_is_found(remainder: int, seed: int) -> None:
    def stated(n: Count) -> Sides:
        return at_most(int(n > 8 and n % 2 == remainder), nothing=0)

    verdict = decided(stated, seed)
    assert verdict.counterexample is not None
    assert verdict.counterexample["n"] > 8


def nearly_exclusive(x: Unit, y: Unit) -> Sides:
    suppose("x + y >= 1.99", x + y >= 1.99)
    suppose("x <= y - .005", x <= y - 0.005)
    return at_most(x, less=y)


def window(x: Unit) -> Sides:
    suppose("x is in the window", 0.43 <= x <= 0.48)
    return at_most(x, half=0.5)


def diagonal(x: Unit, y: Unit, z: Unit) -> Sides:
    suppose("x < y", x < y)
    suppose("y < x + .02", y < x + 0.02)
    return at_most(x, y=y)


@pytest.mark.parametrize("function", [nearly_exclusive, window, diagonal])
def test_hypotheses_are_met_by_drawing_again_what_they_name(function: Any) -> None:
    verdict = decided(function, evaluations=1000)
    assert verdict.verdict in (Kind.CONSISTENT, Kind.CERTIFIED)
    assert (verdict.instances or 0) >= 30


def test_a_seed_gives_its_instances_and_a_further_claim_moves_none() -> None:
    seen: list[tuple[float, int]] = []

    def stated(x: Open, n: Count) -> Sides:
        seen.append((x, n))
        suppose("x < n", x < n)
        return at_most(x, n=n)

    runs = []
    for seed in (1, 1, 2):
        seen.clear()
        decided(stated, seed, evaluations=60)
        runs.append([one for one in seen if isinstance(one[1], int)])
    assert runs[0] == runs[1] != runs[2]


# ---- what breaks, made simpler


def product(x: Annotated[float, reals(0, 10)], n: Annotated[int, integers(1, 10**6)], idle: Unit) -> Sides:
    return at_most(x * n, bound=1000)


def later(x: Unit, n: Count) -> Sides:
    return at_most(x * n, bound=20)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", [product, later])
def test_simplifying_ends_with_the_shortest_instance_that_was_seen_to_break(function: Any, seed: int) -> None:
    """Evaluations are counted: a simplification that went round in circles would not end."""
    space, evaluated = Space.of(function), list[dict[str, Any]]()

    def statement(**one: Any) -> Sides:
        evaluated.append(one)
        sides: Sides = function(**one)
        return sides

    statement.__annotations__ = function.__annotations__
    statement.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    verdict = decided(statement, seed)
    assert verdict.counterexample is not None
    shortest = space.decode(verdict.counterexample)
    in_floats = (one for one in evaluated if isinstance(one["x"], float))
    broken = [one for one in in_floats if one["x"] * one["n"] > function(**one).allowed]
    assert space.complexity(shortest) == pytest.approx(min(map(space.complexity, broken)))
    assert len(repr(shortest["x"])) <= 5
    assert shortest.get("idle", 0.0) in (0.0, 1.0)


def test_a_product_is_simplified_until_one_less_breaks_nothing() -> None:
    def product(a: Large, b: Large) -> Sides:
        return at_most(a * b, bound=900_000)

    for seed in SEEDS:
        verdict = decided(product, seed)
        assert verdict.counterexample is not None
        a, b = verdict.counterexample["a"], verdict.counterexample["b"]
        assert (a - 1) * b <= 900_000 < a * b == verdict.measured


def test_what_a_counterexample_does_not_need_is_as_simple_as_can_be() -> None:
    wide = Annotated[int, integers(0, 10**6)]

    def small(idle: wide, x: wide, y: wide, z: wide) -> Sides:
        return at_most(int(min(x, y, z) == 10**6), nothing=0)

    # false in corners alone
    ends = dict.fromkeys("xyz", 10**6)
    assert decided(small, evaluations=100).counterexample == {"idle": 0, **ends}


def test_a_claim_has_at_most_100_quantities() -> None:
    """More of them would be nested too deeply when all instances are listed."""
    for count in (100, 101):
        names = [f"q{i}" for i in range(count)]

        def function(**quantities: int) -> Sides:
            return at_most(sum(quantities.values()), 0)

        function.__annotations__ = dict.fromkeys(names, Annotated[int, integers(0, 0)])
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as for wrappers
        if count <= 100:
            assert Space.of(function).instances(1) == [dict.fromkeys(names, 0)]
        else:
            with pytest.raises(InvalidArgument, match="at most 100"):
                Space.of(function)
