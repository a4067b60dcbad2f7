"""True counterexamples come out again; altered ones are refused by name."""

from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof import checker
from clusterproof.checker import Kind, check
from clusterproof.checker.claims import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    equal,
    integers,
    suppose,
)
from clusterproof.checker.report.replay import in_fractions
from clusterproof.common import InvalidArgument

# ---- one counterexample


@pytest.fixture
def random_example(registry: dict[str, Any]) -> dict[str, Any]:
    @claim("toy/random", replicates=2000)
    def tail(shift: Annotated[float, choice(0.5, 1.0)], stream: Stream, replicates: Replicates) -> Sides:
        return at_most(shift + stream.uniform(size=replicates), shift=shift, half=0.8, failure=0.1)

    verdict = check("toy/random", seed=5)
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    assert {**verdict.counterexample, "shift": 0.5} == {"shift": 0.5, "seed": 5, "replicates": 2000}
    again = checker.replay("toy/random", verdict.counterexample)
    assert (again.verdict, again.trials, again.failures) == (Kind.VIOLATED, 2000, verdict.failures)
    return verdict.counterexample


def test_a_random_counterexample_is_decided_by_share_and_interval(random_example: dict[str, Any]) -> None:
    few = checker.replay("toy/random", random_example | {"replicates": 10})
    assert few.verdict is Kind.CONSISTENT
    assert few.failures is not None  # some of the ten exceed the bound, which decides nothing
    assert checker.replay("toy/random", random_example | {"seed": 6}).verdict is Kind.VIOLATED


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": seed} for seed in (-1, 1.5, None)),
        *({"replicates": count} for count in (0, 10**12, True)),
        {"shift": 0.75},
    ],
)
def test_altered_randomness_is_refused(random_example: dict[str, Any], change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(InvalidArgument, match=rf"counterexample\.{name}"):
        checker.replay("toy/random", random_example | change)


def test_instances_of_a_true_claim_are_consistent_and_others_refused() -> None:
    true: dict[str, Any] = {"root": 1, "share": "1/2", "separation": 2, "part_of_floor": "1/2", "rounds": 3}
    true |= {"line": "(A39)"}
    assert checker.replay("cfl-mgd/appendix-a39", true).verdict is Kind.CONSISTENT
    for change in ({"root": "1/4"}, {"part_of_floor": "-1/2"}, {"share": 7}):
        with pytest.raises(InvalidArgument, match=r"counterexample\."):
            checker.replay("cfl-mgd/appendix-a39", true | change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"own": -4}, "counterexample.own is -4, but it must be an integer in 1 .. 4"),
        ({"clients": 3, "own": 3}, 'must meet the hypothesis "some client is of another cluster"'),
        ({"line": "other"}, "counterexample.line is 'other'"),
        ({"seed": 1}, "counterexample.seed is 1, but it is unknown"),
    ],
)
def test_an_altered_counterexample_is_refused_by_what_it_breaks(
    registry: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    @claim("toy/violated")
    def violated(
        clients: Annotated[int, integers(2, 5, upwards=True)], own: Annotated[int, integers(1, 4)]
    ) -> Sides:
        suppose("some client is of another cluster", own < clients)
        return at_most(Fraction(own, clients), half=Fraction(1, 2))

    assert checker.replay("toy/violated", {"clients": 3, "own": 2}).verdict is Kind.VIOLATED
    larger = checker.replay("toy/violated", {"clients": 10**6, "own": 4})  # than those that are tried
    assert larger.verdict is Kind.CONSISTENT
    with pytest.raises(InvalidArgument) as error:
        checker.replay("toy/violated", {"clients": 3, "own": 2} | change)
    assert said in str(error.value)


def test_both_sides_are_written_in_fractions_where_they_are_numbers(registry: dict[str, Any]) -> None:
    """An equation of arrays, and a side in floats, have none."""

    @claim("toy/thirds")
    def thirds(n: Annotated[int, integers(1, 9)]) -> dict[str, Sides]:
        third = Fraction(n, 3)
        return {
            "bound": at_most(third, half=Fraction(1, 2), less=Fraction(-1, 6)),
            "equation": equal((third, n), (third, Fraction(1))),
            "arrays": equal((np.array([third, third], dtype=object), np.array([n, n], dtype=object))),
            "floats": at_most(float(third), half=0.5),
            "too long": at_most(10**4500 * third, half=0),
            "floats decide": at_most(2 if 1 / 10 + 2 / 10 == 3 / 10 else 1, one=1),  # 1 <= 1 in floats
        }

    lines = ("bound", "equation", "arrays", "floats", "too long", "floats decide")
    found = {line: in_fractions("toy/thirds", {"n": 2, "line": line}) for line in lines}
    assert found == {
        "bound": "2/3 > 1/2 (half) - 1/6 (less)",
        "equation": "2/3 != 2",
        "arrays": "",
        "floats": "",
        "too long": "",
        "floats decide": "",
    }
