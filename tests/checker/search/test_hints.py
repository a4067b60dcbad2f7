"""An author's own multipliers, right and wrong; and theorems that fail at one number, which only their source names."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from families_by_hand import Curved, Share, Smooth, descent_of, gradient_descent
from kernel_statements import blocks_of, executed, in_language, shown

from clusterproof.checker import kernel
from clusterproof.checker.claims import drawn
from clusterproof.checker.claims.claim import claim
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.families import needs
from clusterproof.checker.search.families import NotShown, family_of, traced
from clusterproof.checker.search.hints import named
from clusterproof.checker.search.instances import numbers_in
from clusterproof.checker.search.strategy import search
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Sides, Z, at_most, iterate, rationals, suppose

pytestmark = pytest.mark.usefixtures("registry")
Quarter = Annotated[Fraction, rationals(0, Fraction(1, 4), 12)]
Slow = Annotated[Fraction, rationals(0, lambda beta: 1 - beta, 12)]
WITNESS = {
    **dict.fromkeys(("mu", "beta", "step"), "1/4"),
    "f": {
        "start": ["0"],
        "solution": ["0"],
        "minimum": 0,
        "further": [["0"]],
        "triplets": [[[["0"], ["0"], 0]]],
    },
}


def momentum(mu: Quarter, beta: Share, step: Slow, f: Curved) -> Sides:
    """One step of gradient descent with momentum lowers a potential by 1 - s mu."""
    suppose("beta < 1", beta < 1)
    x, past, rate = f.start, f.point(), 1 - step * mu

    def potential(now, before):
        z = (1 - beta) * (now - f.minimiser) + beta * (now - before)
        return rate * (z @ z) + 2 * step * beta * (f(before) - f.minimum)

    new = x - step * f.gradient(x) + beta * (x - past)
    return at_most(potential(new, x), rate=rate * potential(x, past))


def by_hand(mu: Any, beta: Any, step: Any) -> dict[str, Any]:
    rate = 1 - step * mu
    return {
        "0:0,1:0": 2 * step * (1 - beta) * rate,
        "0:1,0:0": 2 * step * (rate - beta),
        "0:2,1:0": 2 * step * beta * rate,
    }


def less_by_hand(mu: Any, beta: Any, step: Any) -> dict[str, Any]:
    return {name: Fraction(1, 2) * value for name, value in by_hand(mu, beta, step).items()}


def test_multipliers_by_hand_are_evidence() -> None:
    data = family_of(in_language(momentum).statements[""], "", {"line 0": by_hand})
    assert shown(momentum, **data, witness=WITNESS).word is kernel.Word.CERTIFIED


def test_wrong_multipliers_are_none() -> None:
    with pytest.raises(NotShown, match="line 0"):
        family_of(in_language(momentum).statements[""], "", {"line 0": less_by_hand})


PARTS = {
    "one is searched": lambda n: {"hypothesis 0": 1, "0:0,1:0": 1, "0:1,2:0": None},
    "the conditions are named": ["hypothesis 0", "0:0,1:0", "0:1,2:0"],
}


@pytest.mark.parametrize("part", PARTS)
def test_the_search_finds_what_is_missing(part: str) -> None:
    data = family_of(in_language(gradient_descent).statements[""], "", {"round 0": PARTS[part]})
    used = data["proofs"][1]["multipliers"]
    assert used["0:1,2:0"][0] == [[[0, 0], 1], [[0, 1], 1]]  # n + 1


def test_conditions_that_are_not_named_are_not_used() -> None:
    with pytest.raises(NotShown, match="round 0"):
        family_of(in_language(gradient_descent).statements[""], "", {"round 0": ["hypothesis 0", "0:0,1:0"]})


def test_what_is_not_shown_is_named() -> None:
    fails_at_start = in_language(descent_of(Fraction(1), Fraction(1, 2), 1, 1)).statements[""]
    with pytest.raises(NotShown, match="start 0"):
        family_of(fails_at_start, "")
    fails_in_a_round = in_language(descent_of(Fraction(1), Fraction(1, 2), 2, 0)).statements[""]
    with pytest.raises(NotShown, match="round 0"):
        family_of(fails_in_a_round, "")


def test_loops_are_told_apart() -> None:
    def twice(f: Smooth, rounds: int = Z[1:]) -> Sides:
        def near(x, n):
            apart = x - f.minimiser
            return n >= 0, apart @ apart <= f.distance**2

        x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=near)
        y = iterate(lambda x: x - f.gradient(x), x, rounds, invariant=near)
        return at_most((y - f.minimiser) @ (y - f.minimiser), start=f.distance**2)

    found = named(needs(in_language(twice).statements[""], "", {"states": 1}))
    names = ["start 0", "round 0", "loop 2, start 0", "loop 2, round 0", "line 0"]
    assert [name for name, _ in found] == names


WRONG: dict[str, dict[str, Any]] = {
    "not a part of the proof": {"runde 0": ["1"]},
    "not a condition": {"line 0": ["0:0,9:0"]},
    "has more parameters": {"line 0": lambda mu, beta, step, n: {}},
    "ZeroDivisionError": {"line 0": lambda mu: {"0:0,1:0": 1 / 0}},
    "must be multipliers": {"line 0": lambda mu: {"0:0,1:0": 0.5}},
}


@pytest.mark.parametrize("what", WRONG)
def test_hints_about_nothing_are_refused(what: str) -> None:
    with pytest.raises(InvalidArgument, match=what):
        family_of(in_language(momentum).statements[""], "", WRONG[what])


@pytest.mark.parametrize("hints", [3, {"line 0": 3}, {"line 0": [3]}, {0: []}])
def test_hints_have_one_form(hints: Any) -> None:
    with pytest.raises(InvalidArgument, match="multipliers"):
        claim("toy/hinted", multipliers=hints)(momentum)


def nested(f: Smooth, steps: int = Z[1:], rounds: int = Z[1:]) -> Sides:
    """Rounds of gradient steps do not raise f."""

    def lower(x: Any, passed: Any) -> Any:
        return f(x) <= f(f.start)

    def some_steps(x: Any) -> Any:
        before = f(x)
        return iterate(lambda y: y - f.gradient(y), x, steps, invariant=lambda y, n: f(y) <= before)

    x = iterate(some_steps, f.start, rounds, invariant=lower)
    return at_most(f(x), start=f(f.start))


def test_a_loop_within_a_round_has_names_of_its_own() -> None:
    stated = in_language(nested).statements[""]
    names = [name for name, _ in traced(stated, "")[1]]
    assert names == ["start 0", "inner start 0", "inner round 0", "round 0", "line 0"]
    hints = {
        "start 0": [],
        "inner start 0": [],
        "inner round 0": lambda: {"hypothesis 1": 1, "0:3,4:0": 1},
        "round 0": ["hypothesis 0", "hypothesis 1"],
        "line 0": ["hypothesis 0"],
    }
    assert len(family_of(stated, "", hints)["proofs"]) == 5


BLOCKS = {first: source for first, _, source in blocks_of(Path(__file__).with_name("literals.txt"))}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_number_of_the_source_is_tried(name: str) -> None:
    function = executed(BLOCKS[name], f"{name}.txt")["statement"]
    found = search(Statement("", function), 0, 1e-9).lines[""].found
    assert found is not None
    assert 777_771 in (abs(each) for each in found.instance.values())


def test_numbers_of_other_modules_are_not_read() -> None:
    def many(x: Annotated[Any, drawn(lambda stream: stream)]) -> int:
        return len([Fraction(each, 12_345) for each in (1, 2)])

    assert numbers_in(many) == [12_345, 2, 1]
