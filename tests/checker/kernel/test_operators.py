"""Operators whose pairwise conditions are only necessary, and constants of operators and sets that are symbols."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
from families_by_hand import over
from kernel_statements import in_language, replayed, shown

from clusterproof.checker import kernel
from clusterproof.checker.claims import Operator, Sides, at_most, functions, operators, rationals, sets
from clusterproof.checker.kernel import listed, ranges
from clusterproof.checker.kernel.interpolation import FunctionClass, OperatorClass, SetClass
from clusterproof.checker.kernel.quotients import Quotient

CERTIFIED, VIOLATED, OPEN = kernel.Word.CERTIFIED, kernel.Word.VIOLATED, kernel.Word.OPEN
Short = Annotated[Operator, operators(lipschitz=1)]
Record = dict[str, Any]


def member(start: Any, triplets: Any, matrix: Any = None, solution: Any = None, minimum: Any = 0) -> Record:
    """Return an operator, whose solution is 0 unless it is given."""
    found = {
        "start": start,
        "solution": solution or ["0"] * len(start),
        "minimum": minimum,
        "further": [],
        "triplets": [triplets],
    }
    return found if matrix is None else {**found, "matrices": [matrix]}


def words_of(statement: Callable[..., Sides], *members: Record) -> list[kernel.Word]:
    """Return what each instance shows of a statement about one member."""
    claim = in_language(statement)
    (name,) = claim.statements[""].space.ranges
    head = {"statement": "", "line": "", "rule": "instance"}
    return [replayed(claim, {**head, "instance": {name: each}}).word for each in members]


# ---- members


def smaller(a: Short) -> Sides:
    """|A x| <= |x - x*|: true."""
    image, away = a(a.start), a.start - a.solution
    return at_most(image @ image, away @ away)


def forward(a: Short) -> Sides:
    """|x - A x - x*| <= |x - x*|: false, as the quarter turn shows."""
    new, away = a.start - a(a.start) - a.solution, a.start - a.solution
    return at_most(new @ new, away @ away)


TURN = [[["0", "0"], ["0", "0"], 0], [["1", "0"], ["0", "1"], 0]]


def test_an_affine_operator_with_its_matrix_is_a_counterexample() -> None:
    others: list[Any] = [
        None,  # no function has a rotation as its gradient
        [["0", "-1"], ["1", "1/2"]],  # |A (0, 1)|^2 = 5/4
        [["0", "-1"], ["1", "-1/2"]],  # <A x, x> = -1/2 at x = (0, 1)
        [["0", "-1"], ["0", "0"]],  # other triplets
        [["0", "-1"]],
        [["0"], ["1"]],
        [],
        "turn",
    ]
    matrices = [[["0", "-1"], ["1", "0"]], *others]
    found = words_of(forward, *(member(["1", "0"], TURN, matrix) for matrix in matrices))
    assert found == [VIOLATED, *[OPEN] * len(others)]


def test_the_matrix_must_satisfy_the_conditions_of_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = {"a": member(["1"], [[["0"], ["0"], 0], [["1"], ["2"], 0]], [["2"]])}
    assert shown(smaller, "instance", instance=twice).word is OPEN
    monkeypatch.setattr(listed, "is_positive_semidefinite", lambda matrix: True)
    assert shown(smaller, "instance", instance=twice).word is VIOLATED


def test_the_affine_operator_must_have_the_triplets() -> None:
    other = {"a": member(["1"], [[["0"], ["0"], 0], [["1"], ["2"], 0]], [["1"]])}
    assert shown(smaller, "instance", instance=other).word is OPEN


def test_the_gradient_of_a_function_is_an_operator() -> None:
    """Of Huber's function: A x = x up to 1, and then 1."""

    def affine(a: Short) -> Sides:
        """A x <= x - x* has equality, as |A x|^2 >= |x - x*|^2: false."""
        image, away = a(a.start), a.start - a.solution
        return at_most(away @ away, image @ image)

    up_to_one: list[Any] = [[["0"], ["0"], 0], [["1"], ["1"], "1/2"]]
    several = (member(["2"], [*up_to_one, [["2"], ["1"], value]]) for value in ("3/2", "1", "2"))
    assert words_of(affine, *several) == [VIOLATED, OPEN, OPEN]


LIMITS = {
    "lipschitz": (operators(lipschitz=Fraction(1, 2)), 0, Fraction(1, 2)),
    "cocoercivity": (operators(lipschitz=3, cocoercivity=2), 0, Fraction(1, 2)),
    "both": (operators(lipschitz=Fraction(1, 3), cocoercivity=2), 0, Fraction(1, 3)),
    "strong": (operators(strong_monotonicity=Fraction(1, 4), lipschitz=1), Fraction(1, 4), 1),
    "only strong": (operators(strong_monotonicity=1, cocoercivity=0), 1, None),
}


@pytest.mark.parametrize("name", LIMITS)
def test_functions_have_the_curvatures_that_the_class_allows(name: str) -> None:
    """The gradient k x of k x^2 / 2 belongs to the class for k between two limits."""
    of_class, least, most = LIMITS[name]

    def at_most_zero(a: Annotated[Operator, of_class]) -> Sides:
        """|A x|^2 <= -1: false."""
        image = a(a.start)
        return at_most(image @ image, -1)

    little, largest = Fraction(1, 1000), 7 if most is None else most
    slopes = (least, largest, least - little, largest + little)
    linear = (member(["1"], [[["0"], ["0"], 0], [["1"], [str(k)], str(Fraction(k) / 2)]]) for k in slopes)
    expected = [VIOLATED, VIOLATED, OPEN, VIOLATED if most is None else OPEN]
    assert words_of(at_most_zero, *linear) == expected


def test_values_of_an_operator_are_no_part_of_the_minimum() -> None:
    def least(problem: Annotated[Any, functions(smoothness=1) + operators(lipschitz=1)]) -> Sides:
        """f(x*) is the minimum, as an operator has no value: true."""
        return at_most(problem.parts[0](problem.solution), problem.minimum)

    shifted = member(["1"], [[["0"], ["0"], 0]], minimum=-5)
    shifted["triplets"].append([[["0"], ["0"], -5]])
    found = shown(least, "instance", instance={"problem": shifted})
    assert (found.word, found.why) == (OPEN, "the solution is none")


def test_a_function_or_a_set_has_no_matrix() -> None:
    def flat(f: Annotated[Any, functions(smoothness=1)]) -> Sides:
        """f(x) - f* <= <f'(x), x - x*>: true."""
        return at_most(f(f.start) - f.minimum, f.gradient(f.start) @ (f.start - f.minimiser))

    wrong = member(["1"], [[["0"], ["0"], 0], [["1"], ["0"], 5]], [["0"]])
    assert shown(flat, "instance", instance={"f": wrong}).word is OPEN


# ---- constants that are symbols

Share = Annotated[Fraction, rationals(0, 1, 12)]
Signed = Annotated[Fraction, rationals(-1, 1, 12)]
Double = Annotated[Fraction, rationals(0, 2, 12)]
Cocoercive = Annotated[Operator, operators(cocoercivity=lambda mu: mu)]


def along(mu: Share, a: Cocoercive) -> Sides:
    """|x - mu A x - x*| <= |x - x*|: true."""
    new, away = a.start - mu * a(a.start) - a.solution, a.start - a.solution
    return at_most(new @ new, away @ away)


def too_far(mu: Share, a: Cocoercive) -> Sides:
    """The same with 3 mu: false."""
    new, away = a.start - 3 * mu * a(a.start) - a.solution, a.start - a.solution
    return at_most(new @ new, away @ away)


def record(mu: Any, **multipliers: Any) -> Record:
    """Return evidence whose witness starts at the solution."""
    at_rest = member(["0"], [[["0"], ["0"], 0]])
    return {"proofs": [{"multipliers": multipliers}], "witness": {"mu": mu, "a": at_rest}}


def cocoercive(factor: int) -> Record:
    """Return evidence with 2 factor mu times the cocoercivity at the solution and the start."""
    return record("1/4", **{"0:0,1:1": over([(2 * factor, 1)], [(1, 0)])})


def test_cocoercivity_may_be_a_symbol() -> None:
    assert shown(along, "family", **cocoercive(1)).word is CERTIFIED
    assert shown(too_far, "family", **cocoercive(3)).word is OPEN
    double = {"mu": "1/2", "a": member(["1"], [[["0"], ["0"], 0], [["1"], ["2"], 0]])}
    assert shown(too_far, "instance", instance=double).word is VIOLATED


WITHOUT_A_MEMBER = {
    "L < 0": (Signed, operators(monotone=False, lipschitz=lambda mu: mu)),
    "mu < 0": (Signed, operators(strong_monotonicity=lambda mu: mu)),
    "beta < 0": (Signed, operators(cocoercivity=lambda mu: mu)),
    "mu > L": (Double, operators(strong_monotonicity=lambda mu: mu, lipschitz=1)),
    "L < mu": (Double, operators(strong_monotonicity=1, lipschitz=lambda mu: mu)),
    "mu beta > 1": (Double, operators(strong_monotonicity=lambda mu: mu, cocoercivity=1)),
    "beta mu > 1": (Double, operators(strong_monotonicity=1, cocoercivity=lambda mu: mu)),
    "D < 0": (Signed, sets(diameter=lambda mu: mu) + functions()),
}


@pytest.mark.parametrize("name", WITHOUT_A_MEMBER)
def test_a_class_exists_at_every_value_of_its_symbols(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, of_class = WITHOUT_A_MEMBER[name]

    def stated(mu: values, a: Annotated[Any, of_class]) -> Sides:
        """|x - x*|^2 >= 0."""
        return at_most(0, (a.start - a.solution) @ (a.start - a.solution))

    evidence = record(1)
    evidence["witness"]["a"]["triplets"] *= len(of_class.groups)
    assert shown(stated, "family", **evidence).word is OPEN
    monkeypatch.setattr(ranges, "required", lambda definition: [])
    found = shown(stated, "family", **evidence)
    assert found.word is CERTIFIED, found.why


def test_a_class_of_symbols_is_described_by_letters() -> None:
    x = Quotient.symbol(0, 1)
    assert str(OperatorClass(strong_monotonicity=x, cocoercivity=Fraction(1, 2), lipschitz=x)) == (
        "1/2-cocoercive L-Lipschitz mu-strongly monotone operator"
    )
    assert str(FunctionClass(smoothness=x, strong_convexity=x)) == "L-smooth mu-strongly convex function"
    assert str(SetClass(diameter=x)) == "closed convex set of diameter at most D"
    assert str(OperatorClass()) == "monotone operator"


def test_equal_constants_of_an_operator_are_allowed() -> None:
    """At mu = 1 the class has the translations alone; functions have another condition there."""

    def stated(
        mu: Share,
        a: Annotated[Operator, operators(strong_monotonicity=lambda mu: mu, cocoercivity=1, lipschitz=1)],
    ) -> Sides:
        """|x - x*|^2 >= 0."""
        return at_most(0, (a.start - a.solution) @ (a.start - a.solution))

    assert shown(stated, "family", **record(1)).word is CERTIFIED
