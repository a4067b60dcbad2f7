"""Vectors, matrices, weights and sequences: what is drawn, written and read, and what the search finds."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.checker.claims.space import Space
from clusterproof.checker.report.decide import decide
from clusterproof.common import InvalidArgument, generator
from clusterproof.theorem import (
    Sides,
    at_most,
    choice,
    integers,
    matrices,
    rationals,
    reals,
    sequences,
    simplex,
    vectors,
)
from tests.checker.claims.attempts import stated, verdict_on

Vector = Annotated[np.ndarray, vectors(3)]
Weights = Annotated[tuple[Fraction, ...], simplex(3)]
Rounds = Annotated[int, integers(1, 12)]
Errors = Annotated[tuple[Fraction, ...], sequences(rationals(-1, 1, 4), lambda rounds: rounds)]


def everything(
    size: Annotated[int, integers(1, 4)],
    x: Annotated[np.ndarray, vectors(lambda size: size)],
    y: Annotated[np.ndarray, vectors(3, reals(-1, 1))],
    counts: Annotated[np.ndarray, vectors(2, integers(0, 5))],
    A: Annotated[np.ndarray, matrices(2, lambda size: size)],
    H: Annotated[np.ndarray, matrices(lambda size: size, lambda size: size)],
    weights: Annotated[tuple[Fraction, ...], simplex(lambda size: size)],
    signs: Annotated[tuple[int, ...], sequences(choice(-1, 1), lambda size: 2 * size)],
) -> Sides:
    return at_most((A @ x) @ (A @ x), frobenius=(A * A).sum() * (x @ x))


SPACE = Space.of(everything)


def test_what_is_drawn_is_of_the_range_exact_and_read_back_from_json() -> None:
    stream = generator(0, "several")
    for _ in range(60):
        instance = SPACE.draw(stream)
        assert instance is not None
        again = SPACE.decode(json.loads(json.dumps(SPACE.encode(instance))))
        assert all(np.array_equal(again[name], instance[name]) for name in instance)
        assert {type(entry) for entry in again["x"]} == {Fraction}
        assert {type(entry) for entry in again["counts"].tolist()} == {int}
        assert again["y"].dtype == float
        size = instance["size"]
        assert (again["A"].shape, again["H"].shape) == ((2, size), (size, size))
        assert sum(again["weights"]) == 1
        assert len(again["signs"]) == 2 * size


def test_a_changed_length_changes_what_depends_on_it() -> None:
    instance = SPACE.draw(generator(1, "several"))
    assert instance is not None
    for size in (1, 2, 3, 4):
        assert SPACE.holds(SPACE.fit(instance | {"size": size}))
    assert SPACE.fit(instance)["H"] is instance["H"]


def test_neighbours_and_changes_stay_in_the_range() -> None:
    stream = generator(2, "several")
    start = SPACE.draw(stream)
    assert start is not None
    for _ in range(40):
        assert SPACE.draw(stream, start=start, names=list(SPACE.ranges)[1:], nudged=True) is not None
    assert all(SPACE.holds(each) for each in SPACE.changes(start))


@pytest.mark.slow(reason="several seconds")
def test_lengths_may_be_0_and_a_negative_one_is_no_instance() -> None:
    def state(
        size: Annotated[int, integers(0, 2)],
        x: Annotated[np.ndarray, vectors(lambda size: size - 1, reals(-1, 1))],
        e: Annotated[tuple[int, ...], sequences(choice(-1, 1), lambda size: size - 1)],
        H: Annotated[np.ndarray, matrices(lambda size: size, lambda size: size)],
    ) -> Sides:
        return at_most(float(x @ x) + len(e), size=size)

    space, stream = Space.of(state), generator(4, "several")
    drawn = [instance for _ in range(60) if (instance := space.draw(stream)) is not None]
    assert {instance["size"] for instance in drawn} == {1, 2}
    again = [space.decode(json.loads(json.dumps(space.encode(instance)))) for instance in drawn]
    assert {(each["size"], len(each["x"]), len(each["e"])) for each in again} == {(1, 0, 0), (2, 1, 1)}
    assert verdict_on(state, evaluations=60).verdict == "consistent"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("x", [1, 2]),
        ("x", [0.5]),
        ("x", ["1/0"]),
        ("x", 1),
        ("y", [0, 0, 2]),
        ("counts", ["1/2", 0]),
        ("A", [[1], [1], [1]]),
        ("A", [1, 1]),
        ("H", [[1], [1]]),
        ("weights", ["1/2"]),
        ("weights", [2]),
        ("signs", [1, 0]),
        ("signs", [1]),
    ],
)
def test_a_forged_vector_is_refused_by_name(name: str, code: Any) -> None:
    valid = {"size": 1, "x": [1], "y": [0.0, 0.5, 1.0], "counts": [0, 1], "A": [[1], ["1/2"]]}
    valid |= {"H": [[1]], "weights": [1], "signs": [1, -1]}
    assert SPACE.holds(SPACE.decode(valid))
    with pytest.raises(InvalidArgument, match=rf"counterexample\.{name}"):
        SPACE.decode(valid | {name: code})


def test_an_argument_cannot_be_changed_by_the_function() -> None:
    def changes(x: Vector) -> Sides:
        x[0] = Fraction(0)
        return at_most(x[0], zero=0)

    with pytest.raises(ValueError, match="read-only"):
        verdict_on(changes)


def test_an_example_may_be_written_as_lists() -> None:
    def first(x: Vector, w: Weights) -> Sides:
        return at_most(x @ x, weight=w[0] - 1)

    verdict = verdict_on(first, example={"x": [1, Fraction(1, 2), 0], "w": [1, 0, 0]})
    assert verdict.counterexample == {"x": [1, "1/2", 0], "w": [1, 0, 0]}
    assert "x = (1, 1/2, 0), w = (1, 0, 0): 1.25 > 0" in verdict.reason


def test_short_sequences_of_choices_are_exhausted() -> None:
    Signs = Annotated[tuple[int, ...], sequences(choice(-1, 1), lambda rounds: rounds)]

    def total(rounds: Annotated[int, integers(1, 6)], signs: Signs) -> Sides:
        return at_most(abs(sum(signs)), rounds=rounds)

    verdict = verdict_on(total)
    assert (verdict.verdict, verdict.proof, verdict.instances) == ("certified", "exhausted", 2**7 - 2)


# ---- false theorems, and what is true


def inexact_descent(error: Fraction) -> Callable[..., Sides]:
    """x+ = x - (x + e) / 2: |x_T| <= 2^-T + max |e| sum 2^-k, the sum below 1."""

    def state(rounds: Rounds, errors: Errors) -> Sides:
        x = Fraction(1)
        for e in errors:
            x -= (x + e) / 2
        return at_most(abs(x), start=Fraction(1, 2) ** rounds, error=error)

    return state


def test_a_counterexample_is_simple_and_breaks_the_claim_again() -> None:
    false = stated(inexact_descent(Fraction(9, 10)))
    verdict = decide(false)
    # 2^-T + 1 - 2^-T > 2^-T + 9/10 from T = 4 on, at errors of one sign
    assert verdict.counterexample is not None
    assert verdict.counterexample["rounds"] == len(verdict.counterexample["errors"]) == 4
    assert len(set(verdict.counterexample["errors"])) == 1
    again = false.statements[0].space.decode(json.loads(json.dumps(verdict.counterexample)))
    sides = false.function(**again)
    assert sides.measured > sides.allowed
