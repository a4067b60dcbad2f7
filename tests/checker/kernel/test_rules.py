"""What each rule shows, the false neighbours that it refuses, and evidence that would take for ever."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from kernel_statements import OPEN, blocks_of, executed, in_language, replayed, shown

from clusterproof.checker.claims import Sides, at_most, equal, functions, given, integers, suppose
from clusterproof.checker.kernel import Word

Smooth = Annotated[Any, functions(smoothness=1)]
X1, Y1 = [1, 0], [0, 1]


def square(factors: list[int], basis: Any, matrix: Any) -> dict[str, Any]:
    return {"factors": factors, "basis": basis, "matrix": matrix}


def listed(start: Any, *triplets: Any) -> dict[str, Any]:
    """A function of one variable with its least value 0 at 0."""
    rows = [[[x], [g], f] for x, g, f in triplets]
    return {"start": [start], "solution": [0], "minimum": 0, "further": [], "triplets": [rows]}


# ---- statements that are shown, and their neighbours, which are false

STATEMENTS = {
    name: executed(source, f"{name}.txt")["statement"]
    for name, _, source in blocks_of(Path(__file__).with_name("rules.txt"))
}
SHOWN: list[tuple[str, str, dict[str, Any], Word]] = [
    ("below_the_square", "exhausted", {}, Word.CERTIFIED),
    ("below_the_square_strictly", "exhausted", {}, Word.CERTIFIED),
    ("squares_of_signs", "exhausted", {}, Word.CERTIFIED),
    ("sides_in_order", "exhausted", {}, Word.CERTIFIED),
    ("below_its_third", "instance", {"instance": {"x": "1/2"}}, Word.VIOLATED),
    ("below_ninety_nine_hundredths", "instance", {"instance": {"x": 1}}, Word.VIOLATED),
    ("products_of_signs", "instance", {"instance": {"s": 1, "t": -1}}, Word.VIOLATED),
    ("sides_in_weak_order", "instance", {"instance": {"x": 2, "y": 2}}, Word.VIOLATED),
    ("a_share_squared", "signs", {"witness": {"x": 0}}, Word.CERTIFIED),
    ("one_over", "signs", {"witness": {"x": 7}}, Word.CERTIFIED),
    ("two_over_negative", "signs", {"witness": {"x": -2}}, Word.CERTIFIED),
    ("binomial", "signs", {"witness": {"x": 1, "y": -1}}, Word.CERTIFIED),
    (
        "products",
        "squares",
        {"witness": {"x": 0, "y": 1}, "blocks": [[square([], [[[X1, 1], [Y1, -1]]], [[1]])]]},
        Word.CERTIFIED,
    ),
    (
        "under_a_hypothesis",
        "squares",
        {"witness": {"x": 0, "y": 1}, "blocks": [[square([4], [[[[0, 0], 1]]], [[1]])]]},
        Word.CERTIFIED,
    ),
    (
        "a_step",
        "dual",
        {"settings": [{"setting": {}, "paths": [[{"multipliers": {"0:1,2:0": 1}}]]}]},
        Word.CERTIFIED,
    ),
    (
        "a_gradient",
        "dual",
        {
            "witness": {"f": listed(1, (0, 0, 0), (1, 1, "1/2"))},
            "settings": [{"setting": {}, "paths": [[{"multipliers": {"0:0,1:0": 2, "0:1,0:0": 2}}]]}],
        },
        Word.CERTIFIED,
    ),
    ("impossible", "empty", {}, Word.VACUOUS),
    ("impossible_square", "empty", {}, Word.VACUOUS),
]
NEIGHBOURS: dict[str, list[str]] = {
    "below_the_square": ["below_ninety_nine_hundredths", "every_third_number_is_one"],
    "below_the_square_strictly": ["below_ninety_nine_hundredths"],
    "sides_in_order": ["sides_without_order", "sides_in_weak_order"],
    "squares_of_signs": ["products_of_signs"],
    "a_share_squared": ["a_share_squared_and_more", "a_number_squared", "below_its_third"],
    "one_over": ["one_over_less", "one_over_a_number"],
    "two_over_negative": ["two_over_negative_turned", "two_over_nonpositive"],
    "binomial": ["binomial_and_more", "products"],
    "products": ["products_and_more"],
    "under_a_hypothesis": ["without_the_hypothesis", "under_the_opposite"],
    "a_step": ["a_step_and_more", "a_long_step"],
    "a_gradient": ["a_gradient_and_more"],
    "impossible": ["possible_at_the_end", "a_share_squared"],
    "impossible_square": ["possible_square"],
}


@pytest.mark.parametrize(("function", "rule", "data", "word"), SHOWN)
def test_a_rule_shows_a_true_statement(function: str, rule: str, data: Any, word: Word) -> None:
    said = shown(STATEMENTS[function], rule, **data)
    assert said.word is word, said.why


@pytest.mark.parametrize(
    ("function", "rule", "data"),
    [(other, rule, data) for true, rule, data, _ in SHOWN for other in NEIGHBOURS.get(true, [])],
)
def test_the_same_evidence_does_not_show_a_false_neighbour(function: str, rule: str, data: Any) -> None:
    assert shown(STATEMENTS[function], rule, **data).word is OPEN


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("below_the_square", {"x": 1}),  # attained
        ("below_its_third", {"x": "1/3"}),
        ("below_its_third", {"x": "4/3"}),  # none of the range
        ("below_ninety_nine_hundredths", {"x": "1"}),
        ("sides_in_order", {"x": 2, "y": 2}),  # does not meet the hypothesis
        ("products_of_signs", {"s": -1, "t": -1}),
    ],
)
def test_an_instance_that_does_not_break_the_line_is_refused(function: str, code: Any) -> None:
    assert shown(STATEMENTS[function], "instance", instance=code).word is OPEN


# ---- hypotheses that no function meets, and those about points


def nearer_and_farther(f: Smooth) -> Sides:
    suppose("near", f.distance**2 <= 1)
    suppose("far", f.distance**2 >= 2)
    return at_most(1, bound=0)


def below_the_least(f: Smooth) -> Sides:
    suppose("below the least value", f(f.start) == f.minimum - 1)
    return at_most(1, bound=0)


def at_the_solution(f: Smooth) -> Sides:
    d = f.start - f.minimiser
    suppose("at the solution", f.start == f.minimiser)
    return at_most(d @ d, bound=0)


def at_the_solution_in_pairs(f: Smooth) -> Sides:
    d = f.start - f.minimiser
    suppose("at the solution", equal((f.start, f.minimiser)))
    return at_most(d @ d, bound=0)


def a_line_at_the_solution(f: Smooth) -> Any:
    d = f.start - f.minimiser
    return given("at the solution", f.start == f.minimiser, lambda: at_most(d @ d, bound=0))


def at_the_solution_and_away(f: Smooth) -> Sides:
    d = f.start - f.minimiser
    suppose("at the solution", f.start == f.minimiser)
    suppose("away", d @ d >= 1)
    return at_most(0, bound=1)


def settings(**multipliers: Any) -> list[Any]:
    return [{"setting": {}, "paths": [[{"multipliers": multipliers}]]}]


WITNESSES = [listed(0, (0, 0, 0)), listed(1, (0, 0, 0), (1, 1, "1/2")), listed(2, (0, 0, 0), (2, 0, 0))]


@pytest.mark.parametrize("witness", [{}, *({"witness": {"f": each}} for each in WITNESSES)])
@pytest.mark.parametrize(
    ("function", "multipliers"),
    [
        # -1 = (d^2 <= 1) + (d^2 >= 2)
        (nearer_and_farther, {"hypothesis 0": 1, "hypothesis 1": 1}),
        # -1 = f(x0) - f* >= 0
        (below_the_least, {"0:1,0:0": 1, "hypothesis 0": -1}),
    ],
)
def test_hypotheses_that_no_function_meets_certify_nothing(
    function: Any, multipliers: Any, witness: Any
) -> None:
    said = shown(function, "dual", settings=settings(**multipliers), **witness)
    assert said.word is OPEN
    assert (
        "hypothesis" in said.why if witness else "witness" in said.why
    )  # the multipliers are not what fails


def test_a_witness_meets_hypotheses_about_points() -> None:
    for each in WITNESSES[1:]:
        said = shown(at_the_solution_and_away, "dual", settings=settings(**{"1": 1}), witness={"f": each})
        assert said.word is OPEN


@pytest.mark.parametrize("function", [at_the_solution, at_the_solution_in_pairs, a_line_at_the_solution])
def test_a_hypothesis_about_points_is_decided_at_an_instance(function: Any) -> None:
    for start in (1, 2):
        code = listed(start, (0, 0, 0), (start, 0, 0))
        assert shown(function, "instance", instance={"f": code}).word is OPEN


# ---- evidence that is no evidence


@pytest.mark.parametrize("rule", [None, "", "induction", 1, [], {}])
def test_a_rule_that_is_none_is_refused(rule: Any) -> None:
    assert shown(STATEMENTS["below_the_square"], rule).word is OPEN


@pytest.mark.parametrize("line", [None, "other", 1, [], {}, pytest.param(10**5000, id="5000 digits")])
def test_a_line_that_is_none_is_refused(line: Any) -> None:
    assert shown(STATEMENTS["below_the_square"], "exhausted", line).word is OPEN


@pytest.mark.parametrize("evidence", [None, [], "evidence", 0])
def test_what_is_no_record_shows_nothing(evidence: Any) -> None:
    assert replayed(in_language(STATEMENTS["one_over"]), evidence).word is OPEN


def test_a_field_that_is_missing_is_named() -> None:
    assert "witness" in shown(STATEMENTS["one_over"], "signs").why


# ---- fuel


Clients = Annotated[int, integers(1, 2, upwards=True)]


def clients(n: Clients) -> Sides:
    return at_most(sum([Fraction(1, n) for _ in range(n)]), bound=0)


def test_an_instance_of_many_clients_is_stopped() -> None:
    assert shown(clients, "instance", instance={"n": 3}).word is Word.VIOLATED
    assert shown(clients, "instance", instance={"n": 10**30}).word is OPEN
