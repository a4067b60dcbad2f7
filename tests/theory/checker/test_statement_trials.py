"""How a statement is tried: exhaustion, search, streams, counts and vacuity."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Digit, Large, Share, claim

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    drawn,
    earlier,
    equal,
    integers,
    reals,
    suppose,
    trial,
)

pytestmark = pytest.mark.usefixtures("registry")

Wide = Annotated[int, integers(0, 10**6)]


def test_a_finite_space_is_exhausted_and_knows_no_seed() -> None:
    """One instance in a thousand breaks it: a search of a few hundred would miss it on most seeds."""

    def needle(a: Digit, b: Digit, c: Digit) -> Sides:
        return at_most(int((a, b, c) == (9, 8, 7)), nothing=0)

    claim(needle)
    for seed in range(2):
        verdict = theory.check("toy/one", seed=seed)
        assert verdict.verdict is Kind.VIOLATED
        assert verdict.counterexample == {"a": 9, "b": 8, "c": 7}
        assert verdict.exhausted is False


def test_exhausted_says_that_all_were_evaluated() -> None:
    def true(a: Digit, b: Digit) -> Sides:
        suppose("a <= b", a <= b)
        return at_most(a, b=b)

    claim(true)
    verdict = theory.check("toy/one")
    assert (verdict.verdict, verdict.instances, verdict.exhausted) == (Kind.CERTIFIED, 55, True)
    assert verdict.rejected == {"a <= b": 45}
    assert "all 55 instances, in exact arithmetic" in verdict.reason
    assert verdict.sharpness == {"all": 1}
    assert verdict.trials is verdict.failures is None


def test_a_grid_and_floating_numbers_are_not_all_that_a_statement_speaks_of() -> None:
    upwards = Annotated[int, integers(0, 9, upwards=True)]
    rounded = Annotated[float, choice(0.5, 1.0)]
    for name, space, reason in (
        ("fractions", Share, "all 7 instances of the grid"),
        ("upwards", upwards, "all 10 instances of the grid"),
        ("floats", rounded, "holds on all 2 instances"),
    ):
        claim(lambda_with(space), name)
        verdict = theory.check(f"toy/{name}")
        assert verdict.verdict is Kind.CONSISTENT
        assert reason in verdict.reason


def lambda_with(space: Any) -> Callable[..., Sides]:
    def below(x: space) -> Sides:  # type: ignore[valid-type]
        return at_most(x, more=x + 9)  # type: ignore[misc, operator]

    return below


def test_a_large_space_is_searched_and_simplified() -> None:
    def product(a: Large, b: Large) -> Sides:
        return at_most(a * b, bound=900_000)

    claim(product)
    for seed in range(3):
        verdict = theory.check("toy/one", seed=seed)
        assert verdict.verdict is Kind.VIOLATED
        assert verdict.counterexample is not None
        a, b = verdict.counterexample["a"], verdict.counterexample["b"]
        assert a * b > 900_000
        assert (a - 1) * b <= 900_000
        assert verdict.measured == a * b


def test_a_large_space_without_an_admissible_instance_is_vacuous() -> None:
    def nothing(a: Large, b: Large) -> Sides:
        suppose("a is negative", a < 0)
        return at_most(b, zero=0)

    claim(nothing, budget=100)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.VACUOUS
    assert '"a is negative" excludes all of them' in verdict.reason


def test_an_open_end_whose_evaluation_does_not_end_is_given_up(plant: Callable[..., Any]) -> None:
    plant(trial, "LONGEST", 0.1)
    evaluated: set[int] = set()

    def endless(count: Annotated[int, integers(1, 9, upwards=True)]) -> Sides:
        evaluated.add(count)
        while count >= 900:
            pass
        return at_most(count, bound=count)

    claim(endless)
    assert theory.check("toy/one").verdict is Kind.CONSISTENT
    assert any(count >= 900 for count in evaluated)
    assert len([count for count in evaluated if count >= 900]) < 8  # each makes the distance less than half


@pytest.mark.parametrize(
    ("conclusion", "verdict"),
    [
        (lambda rest: at_most(rest, nothing=0.0), Kind.CONSISTENT),
        (lambda rest: at_most(rest**2, nothing=0.0), Kind.CONSISTENT),
        (
            lambda rest: at_most(np.array([rest, rest / 10]), nothing=np.array([0.0, rest / 20])),
            Kind.CONSISTENT,
        ),
        (lambda rest: equal((rest, 0.0)), Kind.CONSISTENT),
        (lambda rest: at_most(rest, nothing=0.0, rounding=0.0), Kind.VIOLATED),
        (lambda rest: equal((rest, 0.0), rounding=0.0), Kind.VIOLATED),
        (lambda rest: at_most(1e5 * rest, nothing=0.0), Kind.VIOLATED),
        (lambda rest: equal((1e5 * rest, 0.0)), Kind.VIOLATED),
    ],
)
def test_what_rounding_leaves_of_the_quantities_of_an_instance_breaks_nothing(
    conclusion: Callable[[float], Sides], verdict: Kind
) -> None:
    def statement(scale: Annotated[float, reals(1, 2)]) -> Sides:
        return conclusion((0.1 * 3 - 0.3) * scale)  # 5e-17, 0 in exact arithmetic

    claim(statement, budget=50)
    assert theory.check("toy/one").verdict is verdict


def test_instances_are_counted_once() -> None:
    evaluated = []

    def true(a: Large, b: Large) -> Sides:
        suppose("a is even", a % 2 == 0)
        evaluated.append((a, b))
        return at_most(a, sum=a + b)

    claim(true, budget=200)
    verdict = theory.check("toy/one")
    admissible = [each for each in evaluated if each[0] % 2 == 0]  # others are tried without the hypothesis
    assert verdict.instances == len(set(admissible)) == len(admissible)
    assert 100 <= verdict.instances <= 500  # corners and neighbours among them
    assert verdict.exhausted is False
    assert theory.check("toy/one", trials=20).instances <= 50  # type: ignore[operator]


def test_what_comes_twice_is_counted_once() -> None:
    seen: list[tuple[int, int]] = []

    def listed(a: Digit) -> Sides:
        return at_most(a, nine=9)

    def sampled(a: Digit, b: Digit, stream: Stream) -> Sides:
        seen.append((a, b))
        return at_most(a, sum=a + b)

    claim(listed, extremes=[{"a": 4}])
    assert theory.check("toy/one").instances == 10
    claim(sampled, "two", budget=70)
    assert theory.check("toy/two").instances == 70
    assert len(seen) == len(set(seen)) == 70


def test_extremes_come_first() -> None:
    def false(a: Large, b: Large) -> Sides:
        return at_most(int((a, b) == (777, 3)), nothing=0)

    claim(false, extremes=[{"a": 777, "b": 3}], budget=10)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.instances == 1
    with pytest.raises(InvalidArgument, match=r"b = 1000: must be a whole number in 0 \.\. 999"):
        claim(false, "two", extremes=[{"a": 777, "b": 1000}])


def test_a_relation_in_the_range_wastes_no_draw() -> None:
    def ordered(a: Digit, b: Annotated[int, integers(earlier("a"), 9)]) -> Sides:
        return at_most(a, b=b)

    claim(ordered)
    verdict = theory.check("toy/one")
    assert (verdict.instances, verdict.rejected) == (55, {})


def test_no_verdict_without_admissible_instances_and_the_hypotheses_that_exclude_each_other() -> None:
    def empty(a: Digit, b: Digit) -> Sides:
        suppose("a is not 9", a != 9)
        suppose("a < 3", a < 3)
        suppose("b is even", b % 2 == 0)
        suppose("b > 5", b > 5)
        suppose("b < a", b < a)
        return at_most(100, one=1)

    claim(empty)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.VACUOUS
    assert verdict.instances == 0
    for name in ("a < 3", "b > 5", "b < a"):
        assert f'"{name}"' in verdict.reason
    for name in ("a is not 9", "b is even"):
        assert name not in verdict.reason
    assert set(verdict.rejected or {}) == {"a is not 9", "a < 3", "b is even", "b > 5", "b < a"}


def test_a_hypothesis_that_hides_an_undefined_statement_stays() -> None:
    def empty(a: Digit) -> Sides:
        suppose("a != 0", a != 0)
        suppose("1 / a > 1", Fraction(1, a) > 1)
        return at_most(1, one=1)

    claim(empty)
    reason = theory.check("toy/one").reason
    assert '"a != 0"' in reason
    assert '"1 / a > 1"' in reason


def noisy(scale: float, level: float = 0.1, shifts: tuple[float, ...] = (0.0, 1.0)) -> Callable[..., Sides]:
    def tail(shift: Annotated[float, choice(*shifts)], stream: Stream, replicates: Replicates) -> Sides:
        draws = shift + stream.exponential(size=(replicates, 3)).max(axis=1)
        quantile = -np.log(1 - (1 - level) ** (1 / 3))
        return at_most(draws, shift=shift, quantile=scale * quantile, failure=level)

    return tail


def test_a_probability_is_judged_setting_by_setting() -> None:
    claim(noisy(1.0))
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.CONSISTENT
    assert (verdict.instances, verdict.trials) == (2, 800)
    assert 40 < (verdict.failures or 0) < 120
    assert verdict.confidence is not None
    # the claim's share of the error level, divided between two settings
    assert verdict.confidence.level == pytest.approx(1 - 1e-9 / 2, abs=1e-15)
    stated = claim(noisy(1.0), "several")
    stated.also("again")(noisy(1.0))
    assert theory.check("toy/several").trials == 1600
    claim(noisy(0.4), "two")
    verdict = theory.check("toy/two")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.bound == 0.1
    assert verdict.measured == pytest.approx((verdict.failures or 0) / 400)


def test_few_repetitions_refute_nothing_and_have_no_sharpness() -> None:
    claim(noisy(0.4))
    verdict = theory.check("toy/one", trials=3)
    assert verdict.verdict is Kind.INCONCLUSIVE
    assert verdict.reason.startswith("6 repetitions would not show twice the probability 0.1")
    assert verdict.sharpness == {"all": None, "shift": None, "quantile": None}


def test_a_factor_of_a_probability_is_where_the_interval_passes() -> None:
    claim(noisy(1.0, shifts=(0.0,)), replicates=1000)
    factor = (theory.check("toy/one").sharpness or {})["quantile"]
    assert factor is not None
    theory.REGISTRY.clear()  # the stream of another claim would be another one
    claim(noisy(factor * (1 - 1e-4), shifts=(0.0,)), replicates=1000)
    assert theory.check("toy/one").verdict is Kind.VIOLATED
    theory.REGISTRY.clear()
    claim(noisy(factor * (1 + 1e-6), shifts=(0.0,)), replicates=1000)
    assert theory.check("toy/one").verdict is Kind.CONSISTENT


def test_conclusions_with_one_failure_probability_hold_at_once() -> None:
    def both(stream: Stream, replicates: Replicates) -> dict[str, Sides]:
        uniform = stream.uniform(size=replicates)
        return {
            "low": at_most(-uniform, bound=-0.2, failure=0.2),
            "high": at_most(uniform, bound=0.8, failure=0.2),
        }

    def apart(stream: Stream, replicates: Replicates) -> dict[str, Sides]:
        conclusions = both(stream, replicates)
        return conclusions | {"high": at_most(conclusions["high"].measured, bound=0.8, failure=0.2001)}

    claim(both, "both", replicates=3000)
    claim(apart, "apart", replicates=3000)
    assert (
        theory.check("toy/both").verdict is Kind.VIOLATED
    )  # each fails in a fifth, one of them in two fifths
    assert theory.check("toy/apart").verdict is Kind.CONSISTENT


def stream_of(seen: list[float]) -> Callable[..., Sides]:
    def random(x: Digit, stream: Stream) -> Sides:
        seen.append(float(stream.uniform()))
        return at_most(0.0, one=1.0)

    return random


def test_an_evaluation_is_a_function_of_seed_claim_part_and_instance() -> None:
    first: list[float] = []
    again: list[float] = []
    claim(stream_of(first))
    theory.check("toy/one", seed=1)
    theory.REGISTRY.clear()
    for name in ("before", "one", "after"):
        claim(stream_of(again if name == "one" else []), name)
    theory.check("toy/before", seed=1)
    theory.check("toy/one", seed=1)
    assert first == again
    assert len(set(first)) == 10  # instances have streams of their own
    others: list[float] = []
    claim(stream_of(others), "other")
    theory.check("toy/other", seed=1)
    theory.check("toy/one", seed=2)
    assert not {*first} & {*others, *again[10:]}


def test_a_part_has_a_stream_of_its_own() -> None:
    seen: list[float] = []
    theorem = claim(stream_of(seen))
    theorem.step("two")(stream_of(seen))
    theory.check("toy/one")
    assert len(set(seen)) == 20


def test_adding_a_claim_moves_no_number_of_another() -> None:
    def searched(a: Large, b: Large) -> Sides:
        return at_most(a * b, bound=996_000)

    def numbers() -> list[str]:
        claim(searched, "search", budget=300)
        claim(noisy(0.9), "random")
        verdicts = [
            theory.as_json(theory.check(f"toy/{name}", seed=4)) | {"seconds": 0}
            for name in ("search", "random")
        ]
        return [json.dumps(verdict, default=str) for verdict in verdicts]

    before = numbers()
    theory.REGISTRY.clear()
    for number in range(30):
        claim(noisy(1.0), f"added-{number}")
    assert numbers() == before


def test_what_a_counterexample_does_not_need_is_as_simple_as_can_be() -> None:
    def small(idle: Wide, x: Wide, y: Wide, z: Wide) -> Sides:
        return at_most(int(min(x, y, z) == 10**6), nothing=0)

    claim(small, budget=100)  # false in a corner alone
    ends = dict.fromkeys("xyz", 10**6)
    assert theory.check("toy/one").counterexample == {"idle": 0, **ends}


def task_like(stream: np.random.Generator) -> dict[str, float]:
    return {"size": float(stream.uniform())}


Thing = Annotated[dict, drawn(task_like, write=dict, read=dict)]


def test_drawn_things_are_drawn_until_enough_are_admissible() -> None:
    def half(thing: Thing) -> Sides:
        suppose("size < 1/2", thing["size"] < 0.5)
        return at_most(thing["size"], half=0.5)

    claim(half, budget=30)
    verdict = theory.check("toy/one")
    assert verdict.instances == 30
    assert 10 < (verdict.rejected or {})["size < 1/2"] < 80
    assert verdict.exhausted is False
    assert "30 instances" in verdict.reason


def test_a_drawn_thing_outside_the_hypotheses_is_refused() -> None:
    def half(thing: Thing) -> Sides:
        suppose("size < 1/2", thing["size"] < 0.5)
        return at_most(thing["size"], tenth=0.1)

    claim(half)
    found = theory.check("toy/one").counterexample
    assert found is not None
    assert theory.replay("toy/one", found).verdict is Kind.VIOLATED
    with pytest.raises(InvalidArgument, match='must meet the hypothesis "size < 1/2"'):
        theory.replay("toy/one", {"thing": {"size": 0.7}})
