"""Claims about every function of a class: certified, refuted by an explicit function, or not traced and said so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.theorem import (
    ConvexSet,
    Function,
    Operator,
    Sides,
    at_most,
    choice,
    claim,
    equal,
    functions,
    given,
    integers,
    least,
    operators,
    rationals,
    sets,
    suppose,
)
from clusterproof.theory import certificates
from clusterproof.theory.claims.claim import REGISTRY
from clusterproof.theory.kernel import Refused
from clusterproof.theory.kernel import Word as Kind
from clusterproof.theory.report.decide import decide
from clusterproof.theory.report.replay import replay
from clusterproof.theory.report.tables import to_json
from clusterproof.theory.report.verdict import Verdict

Smooth = Annotated[Function, functions(smoothness=1)]
Strong = Annotated[Function, functions(smoothness=1, strong_convexity=Fraction(1, 10))]
Rounds = Annotated[int, integers(1, 3)]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def verdict_on(function: Callable[..., Sides], seed: int = 0, name: str = "toy/claim") -> Verdict:
    """State a function as a claim, and decide it."""
    return decide(claim(name)(function), seed)


def descend(f: Any, rounds: int, step: Any = 1) -> Any:
    x = f.start
    for _ in range(rounds):
        x = x - step * f.gradient(x)
    return x


def with_constant(constant: Callable[[int], Any]) -> Callable[..., Sides]:
    def gradient_descent(f: Smooth, rounds: Rounds) -> Sides:
        """Gradient descent ends at a share of R^2."""
        return at_most(f(descend(f, rounds)) - f.minimum, bound=f.distance**2 / constant(rounds))

    return gradient_descent


# ---- three verdicts


def test_the_known_worst_case_of_gradient_descent_is_certified() -> None:
    verdict = verdict_on(with_constant(lambda rounds: 4 * rounds + 2))  # Drori and Teboulle (2014), restated
    assert (verdict.verdict, verdict.proof) == (Kind.CERTIFIED, "dual")
    assert verdict.worst == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_smaller_bound_is_refuted_by_a_function_whose_conditions_hold(seed: int) -> None:
    verdict = verdict_on(with_constant(lambda rounds: 4 * rounds + 3), seed)
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    found = verdict.counterexample["f"]
    (several,) = found["triplets"]
    triplets = [([*map(Fraction, x)], [*map(Fraction, g)], Fraction(f)) for x, g, f in several]
    minimiser, minimum = [*map(Fraction, found["solution"])], Fraction(found["minimum"])
    assert (minimiser, [0] * len(minimiser), minimum) in triplets
    for x, g, f in triplets:
        for y, h, e in triplets:
            product = sum((b * (c - d) for b, c, d in zip(h, x, y, strict=True)), Fraction(0))
            square = sum(((a - b) ** 2 for a, b in zip(g, h, strict=True)), Fraction(0))
            assert f >= e + product + square / 2
    start = [Fraction(entry) for entry in found["start"]]
    distance = sum(((a - b) ** 2 for a, b in zip(start, minimiser, strict=True)), Fraction(0))
    rounds = verdict.counterexample["rounds"]
    x = start
    for _ in range(rounds):
        (gradient,) = {tuple(g) for at, g, _ in triplets if at == x}
        x = [a - b for a, b in zip(x, gradient, strict=True)]
    (value,) = {f for at, _, f in triplets if at == x}
    assert value - minimum > distance / (4 * rounds + 3)


def test_a_bound_that_is_almost_the_worst_case_is_not_certified() -> None:
    verdict = verdict_on(with_constant(lambda rounds: (4 * rounds + 2) * Fraction(1_000_001, 1_000_000)))
    assert verdict.verdict in (Kind.VIOLATED, Kind.INCONCLUSIVE, Kind.CONSISTENT)
    assert verdict.proof is None


def test_a_bound_that_is_false_by_less_than_a_solver_decides_is_inconclusive() -> None:
    def short(f: Smooth) -> Sides:
        """The worst case of one step is a sixth."""
        share = Fraction(9_999_999, 10_000_000) / 6
        return at_most(f(descend(f, 1)) - f.minimum, bound=share * f.distance**2)

    verdict = verdict_on(short)
    assert verdict.verdict is Kind.INCONCLUSIVE
    assert "no function of the class above the bound by more than 1e-6 of it" in verdict.reason
    assert "a solver exceeds the bound by 1e-07 of it" in verdict.reason


def test_a_loose_bound_is_certified() -> None:
    verdict = verdict_on(with_constant(lambda rounds: 3 * rounds))
    assert (verdict.verdict, verdict.proof) == (Kind.CERTIFIED, "dual")


def test_a_bound_that_may_be_negative_is_not_certified_by_its_ratio() -> None:
    def negative(f: Strong) -> Sides:
        """Three quarters of a negative number are at most it: false."""
        return at_most(-3 * f.distance**2 / 4, bound=-(f.distance**2))

    assert verdict_on(negative).verdict is Kind.VIOLATED


def test_settings_beyond_the_list_are_consistent_only() -> None:
    def step(f: Strong, step: Annotated[Fraction, rationals(0, 1, 4)]) -> Sides:
        """A gradient step does not go away from the minimiser."""
        x = f.start - step * f.gradient(f.start)
        return at_most((x - f.minimiser) @ (x - f.minimiser), bound=f.distance**2)

    def chosen(f: Strong, step: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1))]) -> Sides:
        x = f.start - step * f.gradient(f.start)
        return at_most((x - f.minimiser) @ (x - f.minimiser), bound=f.distance**2)

    verdict = verdict_on(step)
    assert verdict.verdict is Kind.CONSISTENT
    assert "settings of step that were tried; exact multipliers prove the bound at" in verdict.reason
    assert "a range of few values, such as choice(Fraction(1, 2), 1), can be certified" in verdict.reason
    assert verdict_on(chosen, name="toy/chosen").verdict is Kind.CERTIFIED


# ---- sums, sets, operators, hypotheses, paths


def test_a_contraction_of_the_proximal_gradient_method_is_certified_and_less_is_refuted() -> None:
    def of(rate: Fraction) -> Callable[..., Sides]:
        def proximal_gradient(
            p: Annotated[Any, functions(smoothness=1, strong_convexity=Fraction(1, 10)) + functions()],
        ) -> Sides:
            """One step contracts."""
            f, g = p.parts
            x = g.prox(p.start - f.gradient(p.start), 1)
            return at_most((x - p.minimiser) @ (x - p.minimiser), bound=rate * p.distance**2)

        return proximal_gradient

    assert verdict_on(of(Fraction(81, 100))).verdict is Kind.CERTIFIED  # (1 - mu)^2
    assert verdict_on(of(Fraction(80, 100)), name="toy/less").verdict is Kind.VIOLATED


def test_projections_are_nonexpansive_and_no_contractions() -> None:
    def of(rate: Fraction) -> Callable[..., Sides]:
        def projection(c: Annotated[ConvexSet, sets()]) -> Sides:
            """Two projections are no farther apart than the points."""
            x, y = c.start, c.point()
            p, q = c.project(x), c.project(y)
            return at_most((p - q) @ (p - q), bound=rate * ((x - y) @ (x - y)))

        return projection

    assert verdict_on(of(Fraction(1))).verdict is Kind.CERTIFIED
    assert verdict_on(of(Fraction(99, 100)), name="toy/less").verdict is Kind.VIOLATED


def test_operators_of_which_the_conditions_are_only_necessary() -> None:
    def extragradient(
        a: Annotated[Operator, operators(lipschitz=1)], step: Annotated[Any, choice(Fraction(1, 2))]
    ) -> Sides:
        """An extragradient step does not go away from the zero."""
        y = a.start - step * a(a.start)
        z = a.start - step * a(y)
        return at_most((z - a.solution) @ (z - a.solution), bound=a.distance**2)

    assert verdict_on(extragradient).verdict is Kind.CERTIFIED


@pytest.mark.slow(reason="a second or more")
def test_a_hypothesis_on_f_is_used() -> None:
    def of(*, stated: bool) -> Callable[..., Sides]:
        def polyak(f: Strong, step: Annotated[Any, choice(Fraction(3, 2))]) -> Sides:
            """Polyak's step decreases the distance by mu times the step."""
            g = f.gradient(f.start)
            if stated:
                suppose("step |g|^2 = 2 (f - f*)", equal((step * (g @ g), 2 * (f(f.start) - f.minimum))))
            x = f.start - step * g
            return at_most((x - f.minimiser) @ (x - f.minimiser), bound=Fraction(17, 26) * f.distance**2)

        return polyak

    assert verdict_on(of(stated=True)).verdict is Kind.CERTIFIED
    assert verdict_on(of(stated=False), name="toy/without").verdict is Kind.VIOLATED


def of_no_function(f: Smooth, *, number: int) -> Sides:
    """Suppose what no convex function with a minimiser meets, and conclude what is false of all."""
    if number == 0:
        suppose("near", f.distance**2 <= 1)
        suppose("far", f.distance**2 >= 2)
    elif number == 1:
        suppose("below the minimum", equal((f(f.start), f.minimum - 1)))
    else:
        suppose("steeper than L", f.gradient(f.start) @ f.gradient(f.start) >= 2 * f.distance**2 + 1)
    return at_most(f(f.start) - f.minimum, bound=f.distance**2 / 1000)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_holds_of_no_function_is_neither_certified_nor_given_a_certificate(number: int) -> None:
    def empty(f: Smooth) -> Sides:
        """Nothing."""
        return of_no_function(f, number=number)

    verdict = verdict_on(empty)
    assert (verdict.verdict, verdict.proof, verdict.instances) == (Kind.INCONCLUSIVE, None, 0)
    assert "no function was found that meets the hypotheses" in verdict.reason
    found = certificates.certify_claim("toy/claim")
    assert isinstance(found, certificates.NoCertificate)
    assert "no function was found that meets the hypotheses" in found.reason


def test_a_setting_of_no_function_says_nothing_of_the_others() -> None:
    def some(f: Smooth, far: Annotated[int, choice(0, 2)]) -> Sides:
        """Suppose what no function meets at far = 2."""
        suppose("near", f.distance**2 <= 1)
        suppose("far", f.distance**2 >= far)
        return at_most(f(f.start) - f.minimum, bound=f.distance**2 / 2)

    verdict = verdict_on(some)
    assert (verdict.verdict, verdict.proof) == (Kind.CERTIFIED, "dual")
    assert verdict.evidence is not None
    assert verdict.evidence["witness"]["far"] == 0


def test_a_hypothesis_that_only_rest_meets_is_met() -> None:
    def at_rest(f: Smooth) -> Sides:
        """A start at the minimiser has the least value."""
        suppose("at rest", equal((f.start, f.minimiser)))
        return at_most(f(f.start) - f.minimum, nothing=0)

    verdict = verdict_on(at_rest)
    assert (verdict.verdict, verdict.proof, verdict.instances) == (Kind.CERTIFIED, "dual", 1)


def test_the_hypothesis_of_one_line_is_not_one_of_the_others() -> None:
    def lines(f: Smooth) -> dict[str, Any]:
        """The second line is false: it has no hypothesis."""
        value = at_most(f(f.start) - f.minimum, half=Fraction(1, 2))
        return {"near": given("near", f.distance**2 <= 1, lambda: value), "all": value}

    def of_points(f: Smooth) -> dict[str, Any]:
        """An equation forks no path."""
        value = at_most(f(f.start) - f.minimum, bound=f.distance**2 / 2)
        return {"rest": given("at rest", equal((f.start, f.minimiser)), lambda: value), "all": value}

    found = {line.name: line.verdict for line in verdict_on(lines).lines}  # type: ignore[arg-type]  # of two lines
    assert found == {"near": Kind.CERTIFIED, "all": Kind.VIOLATED}
    assert verdict_on(of_points, name="toy/points").verdict is Kind.CERTIFIED  # type: ignore[arg-type]


def test_a_comparison_forks_and_both_halves_must_hold() -> None:
    def of(factor: int) -> Callable[..., Sides]:
        def better(f: Strong) -> Sides:
            """The better of start and first iterate is at most a multiple of the start."""
            x = f.start - f.gradient(f.start)
            best = min(f(x) - f.minimum, factor * (f(f.start) - f.minimum))
            return at_most(best, bound=factor * (f(x) - f.minimum))

        return better

    assert verdict_on(of(1)).verdict is Kind.CERTIFIED
    assert verdict_on(of(0), name="toy/zero").verdict in (Kind.CERTIFIED, Kind.CONSISTENT)


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize(
    ("root", "expected"), [(Fraction(4), Kind.CERTIFIED), (Fraction(17, 4), Kind.VIOLATED)]
)
def test_polyaks_tuning_has_a_cycle_of_three_from_condition_18_on(root: Fraction, expected: Kind) -> None:
    def heavy_ball(f: Any) -> Sides:
        """Three points that follow each other for ever are the minimiser."""
        step, momentum = 4 / (root + 1) ** 2, ((root - 1) / (root + 1)) ** 2
        first, second = before, x = f.start, f.point()
        for _ in range(3):
            before, x = x, x - step * f.gradient(x) + momentum * (x - before)
        suppose("x_3 = x_0", equal((before, first)))
        suppose("x_4 = x_1", equal((x, second)))
        return at_most(f.distance**2, minimiser=0)

    heavy_ball.__annotations__["f"] = Annotated[Function, functions(smoothness=root**2, strong_convexity=1)]
    assert verdict_on(heavy_ball).verdict is expected


def test_the_least_of_several_numbers() -> None:
    def of(rate: Fraction) -> Callable[..., Sides]:
        def subgradient(
            f: Annotated[Function, functions(lipschitz=1, distance=1)], rounds: Annotated[int, choice(3)]
        ) -> Sides:
            """The best of N + 1 iterates with step 1/2 is within 1 / sqrt(N + 1)."""
            x, values = f.start, [f(f.start) - f.minimum]
            for _ in range(rounds):
                x = x - Fraction(1, 2) * f.gradient(x)
                values.append(f(x) - f.minimum)
            return at_most(least(*values), bound=rate)

        return subgradient

    assert verdict_on(of(Fraction(1, 2))).verdict is Kind.CERTIFIED
    assert verdict_on(of(Fraction(49, 100)), name="toy/less").verdict is Kind.VIOLATED


# ---- what is not traced


def adaptive(f: Strong) -> Sides:
    """Divide by a quantity that depends on f."""
    g = f.gradient(f.start)
    suppose("the start is no minimiser", g @ g > 0)
    return at_most(f(f.start - g / (g @ g)) - f.minimum, bound=100 * f.distance**2)


def float_step(f: Strong) -> Sides:
    """Use a float."""
    return at_most(f(f.start - Fraction(0.5) * f.gradient(f.start) * 0.5) - f.minimum, bound=f.distance**2)


def coordinates(f: Strong) -> Sides:
    """Take a coordinate."""
    return at_most(f.gradient(f.start)[0], bound=100 * f.distance**2)


def magnitude(f: Strong) -> Sides:
    """Take an absolute value."""
    return at_most(abs(f(f.start) - f.minimum), bound=f.distance**2)


def endless(f: Strong) -> Sides:
    """Go on until the gradient is short."""
    x = f.start
    while f.gradient(x) @ f.gradient(x) > 1:
        x = x - f.gradient(x)
    return at_most(f.gradient(x) @ f.gradient(x), bound=1)


def of_type(f: Strong) -> Sides:
    """Give a trace another bound."""
    honest = "Point" in type(f.start).__name__
    return at_most(f(f.start) - f.minimum, bound=f.distance**2 / (2 if honest else 1))


CALLS: list[int] = []


def counted(f: Strong) -> Sides:
    """Give another bound at every call."""
    CALLS.append(1)
    return at_most(f(f.start) - f.minimum, bound=f.distance**2 * len(CALLS))


def swallowed(f: Strong) -> Sides:
    """Catch what the trace refuses."""
    try:
        size = abs(f(f.start) - f.minimum)
    except TypeError:
        size = f(f.start) - f.minimum
    return at_most(size, bound=f.distance**2)


def excluded(f: Strong) -> Sides:
    """Exclude the trace by a hypothesis."""
    suppose("it is a vector", "Point" in type(f.start).__name__)
    return at_most(f(f.start) - f.minimum, bound=f.distance**2)


def rooted(f: Strong) -> Sides:
    """Take a root of a square."""
    step = f.start - f.minimiser
    return at_most((step @ step) ** 0.5, bound=(step @ step) ** 0.5)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (rooted, "compare squares"),
        (swallowed, "Try is not of the language"),
        (excluded, "underscore"),
        (adaptive, "division by a quantity that depends on f"),
        (magnitude, "compare squares"),
        (endless, "more than 6 comparisons on one path"),
        (of_type, "underscore"),
        (counted, "a list, which may change"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_traced_is_never_consistent(function: Callable[..., Sides], words: str) -> None:
    if function in (float_step, coordinates):  # points of drawn functions refuse these, too
        with pytest.raises((InvalidArgument, TypeError)):
            verdict_on(function)
        return
    verdict = verdict_on(function)
    assert verdict.verdict in (Kind.INCONCLUSIVE, Kind.VIOLATED)
    if verdict.verdict is Kind.INCONCLUSIVE:
        assert words in verdict.reason


def test_settings_that_the_hypotheses_exclude_are_left_out() -> None:
    def step(f: Strong, step: Annotated[int, choice(1, 2, 3)]) -> Sides:
        """A gradient step of at most 1 does not go away from the minimiser."""
        suppose("step <= 1", step <= 1)
        x = f.start - step * f.gradient(f.start)
        return at_most((x - f.minimiser) @ (x - f.minimiser), bound=f.distance**2)

    assert verdict_on(step).verdict is Kind.CERTIFIED


@pytest.mark.parametrize(
    "make",
    [
        lambda: functions(smoothness=0.5),  # type: ignore[arg-type]  # what is refused
        lambda: functions(smoothness=-1),
        lambda: functions(smoothness=1, strong_convexity=2),
        lambda: functions(convex=False),
        lambda: functions(lipschitz=1, strong_convexity=1),
        lambda: functions(count=0),
        lambda: functions(smoothness=1, convex=False) + functions(),
        lambda: operators(monotone=False),
        lambda: functions(distance=1) + functions(distance=1),
    ],
)
def test_classes_that_contradict_themselves_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgument):
        make()


# ---- counterexamples and certificates from files


def test_an_altered_counterexample_is_refused() -> None:
    verdict = verdict_on(with_constant(lambda rounds: 8 * rounds))
    example = json.loads(to_json(verdict.counterexample))
    assert replay("toy/claim", example).verdict is Kind.VIOLATED
    (triplets,) = example["f"]["triplets"]
    steeper = [[x, [str(2 * Fraction(entry)) for entry in g], f] for x, g, f in triplets]
    changes = {"minimum": "-1", "solution": ["1"] * len(example["f"]["start"]), "triplets": [steeper]}
    for field, value in changes.items():
        with pytest.raises(InvalidArgument):
            replay("toy/claim", {**example, "f": {**example["f"], field: value}})


@pytest.mark.parametrize(
    ("function", "words"), [(float_step, "compute with int and Fraction"), (coordinates, "subscriptable")]
)
def test_what_no_function_of_a_class_answers_is_an_error_with_its_line(
    function: Callable[..., Sides], words: str
) -> None:
    with pytest.raises((Refused, TypeError), match=words) as caught:
        verdict_on(function)
    line = function.__code__.co_firstlineno + 2
    assert f"test_every_function.py, line {line}" in "".join(caught.value.__notes__)
