"""Improved constants: the last that is certified, the next that is violated, and the best factor as a formula."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
from families_by_hand import Curved, Share, Smooth
from kernel_statements import executed, frozen_of

from clusterproof.checker.freeze import freeze
from clusterproof.checker.report.improvement import Checked, Improvement, improve, simplest_between
from clusterproof.checker.report.variants import constant_of, has_one_comparison, stated_ids, variant
from clusterproof.checker.search.best_factor import best_factor
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Function, Sides, Z, at_least, at_most, claim, functions, iterate, suppose

ONE = Fraction(1)


def search(verdict: Callable[[Fraction], str], own: Fraction = ONE) -> Improvement:
    return improve(lambda value: Checked(value, verdict(value), ""), own)


@pytest.mark.parametrize(
    "best", [Fraction(5, 64), Fraction(1, 3), Fraction(7, 8), Fraction(9, 8), Fraction(12)]
)
def test_an_upper_bound_is_lowered_or_repaired(best: Fraction) -> None:
    found = search(lambda value: "certified" if value >= best else "violated")
    assert found.certified is not None
    assert found.violated is not None
    assert found.violated.value < best <= found.certified.value
    assert found.certified.value - found.violated.value <= max(Fraction(1, 32), best / 32)


@pytest.mark.parametrize("best", [Fraction(1, 5), Fraction(5, 4), Fraction(6)])
def test_a_gain_is_raised_or_repaired(best: Fraction) -> None:
    found = search(lambda value: "certified" if value <= best else "violated", Fraction(1, 4))
    assert found.certified is not None
    assert found.violated is not None
    assert found.certified.value <= best < found.violated.value


def test_what_is_undecided_lies_between() -> None:
    def verdict(value: Fraction) -> str:
        return (
            "certified" if value >= Fraction(2, 3) else "violated" if value < Fraction(1, 3) else "consistent"
        )

    found = search(verdict)
    assert found.certified is not None
    assert found.violated is not None
    assert Fraction(2, 3) <= found.certified.value <= Fraction(2, 3) + Fraction(1, 16)
    assert Fraction(1, 3) - Fraction(1, 8) <= found.violated.value < Fraction(1, 3)


@pytest.mark.parametrize("gain", [False, True])
@pytest.mark.parametrize("best", [Fraction(2, 7), Fraction(5, 7), Fraction(1), Fraction(17, 13)])
def test_a_counterexample_that_gives_the_constant_saves_checks(best: Fraction, gain: bool) -> None:
    def check(until: Callable[[Fraction], Fraction | None]) -> Improvement:
        def checked(value: Fraction) -> Checked:
            holds = value <= best if gain else value >= best
            return Checked(value, "certified", "") if holds else Checked(value, "violated", "", until(value))

        return improve(checked, ONE)

    without = check(lambda _: None)
    for until, most in (
        (lambda _: best, 6),
        (lambda value: value + (best - value) / 2, 18),  # a weaker counterexample
        (lambda value: best + (best - value), 18),  # numbers that no counterexample has
    ):
        found = check(until)
        assert found.certified is not None
        assert found.violated is not None
        low, high = sorted((found.certified.value, found.violated.value))
        assert low <= best <= high
        assert high - low <= ONE / 64
        assert len(found.checked) <= most
    assert len(without.checked) > 6


@pytest.mark.parametrize("word", ["certified", "violated", "consistent"])
def test_one_verdict_for_all_numbers_is_said(word: str) -> None:
    found = search(lambda _: word)
    assert (found.certified is None, found.violated is None) == (word != "certified", word != "violated")
    assert Fraction(0) in {each.value for each in found.checked}


def test_the_simplest_number_between_two() -> None:
    for low, high, simplest in (
        ("1/3", "1/2", "1/2"),
        ("3/10", "2/5", "1/3"),
        ("-1/2", "-1/3", "-1/2"),
        ("-1", "1", "0"),
    ):
        found = simplest_between(Fraction(low), Fraction(high))
        assert found == Fraction(simplest), (low, high)


FILE = '''"""Two claims."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theorem import Q, Sides, at_most, claim

GAIN = Fraction(1, 4)


@claim("toy/other")
def other(x: Fraction = Q[0:1:4]) -> Sides:
    """Another one."""
    return at_most(x, 1)


@claim("toy/one", expected="consistent", repaired_by="toy/other")
def one(x: Fraction = Q[0:1:4]) -> Sides:
    """A claim."""
    return at_most(x, start=2 * x, floor=GAIN * x)


@one.line("more")
def more(x: Fraction = Q[0:1:4]) -> Sides:
    """Its line."""
    return at_most(x, start=3 * x)
'''


def sides(of: str, value: Fraction) -> Any:
    made = executed(variant(FILE, "toy/one", of, value, f"toy/of-{of or 'all'}".lower()), "variant")
    stated: Sides = made["one"](Fraction(1, 2))
    assert made["one"].repaired_by == ()
    assert [each.name for each in made["one"].statements] == ["", "more"]
    assert not hasattr(made["other"], "statements")
    return dict(stated.terms)


def test_a_number_is_put_into_a_claim() -> None:
    third = Fraction(1, 3)
    assert sides("start", third) == {"start": third, "floor": Fraction(1, 8)}
    assert sides("GAIN", third) == {"start": 1, "floor": Fraction(1, 6)}
    assert sides("", third) == {"start": third, "floor": Fraction(1, 24)}


def test_a_formula_is_put_into_a_claim() -> None:
    """Of integers, too, a quotient in it is a fraction."""
    text = FILE.replace("x: Fraction = Q[0:1:4]", "x: int = Z[1:3]").replace(
        "theorem import Q", "theorem import Z"
    )
    made = executed(variant(text, "toy/one", "start", "x*(2 + x) / 3", "toy/formula"), "variant")
    found = dict(made["one"](1).terms)["start"]
    assert found == 2
    assert type(found) is Fraction


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return at_most(x, start", "    x = x / 2\n    return at_most(x, start"),
        ("    return at_most(x, start", "    at_most(x, floor=1)\n    return at_most(x, start"),
        ("    return at_most(x, start", "    for x in (1, 2):\n        pass\n    return at_most(x, start"),
        ("start=3 * x)", "floor=3 * x)"),
    ],
)
def test_a_formula_means_the_quantities_of_the_signature(old: str, new: str) -> None:
    assert has_one_comparison(FILE, "toy/one", "floor")
    assert not has_one_comparison(FILE.replace(old, new), "toy/one", "floor")


def test_a_formula_belongs_to_one_comparison() -> None:
    """The line ``more`` has the term ``start``, too."""
    assert not has_one_comparison(FILE, "toy/one", "start")
    assert not has_one_comparison(FILE, "toy/one", "")
    assert has_one_comparison(FILE.partition('@one.line("more")')[0], "toy/one", "")


def test_what_a_file_has_is_known() -> None:
    assert stated_ids(FILE) == ["toy/other", "toy/one"]
    assert constant_of(FILE, "GAIN") == Fraction(1, 4)
    assert constant_of(FILE, "start") is None
    assert constant_of(FILE.replace("Fraction(1, 4)", "-0.5"), "GAIN") == Fraction(-1, 2)


@pytest.mark.parametrize(
    ("file", "claim", "of", "said"),
    [
        (FILE, "toy/two", "start", "toy/other, toy/one"),
        (FILE, "toy/one", "drift", "floor, start, GAIN"),
        ("def (", "toy/one", "", "not a Python file"),
        (FILE.replace("Fraction(1, 4)", "print"), "toy/one", "GAIN", "not a nonzero number"),
    ],
)
def test_a_name_that_a_file_does_not_have_is_refused(file: str, claim: str, of: str, said: str) -> None:
    read = constant_of if said == "not a nonzero number" else variant
    with pytest.raises(InvalidArgument, match=said):
        read(*((file, of) if read is constant_of else (file, claim, of, ONE, "toy/new")))


Strong = Annotated[Function, functions(strong_convexity=lambda mu: mu)]
Rough = Annotated[Function, functions(smoothness=1, convex=False)]
POINTS = [(Fraction(1, 3), Fraction(2, 5)), (Fraction(1, 7), Fraction(9, 10))]


def gradient_step(mu: Share, step: Share, f: Curved) -> Sides:
    """A step contracts by (1 - s mu)^2, s <= 1: as on mu |x|^2 / 2."""
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, f.distance**2)


def proximal_step(mu: Share, step: Share, f: Strong) -> Sides:
    """A proximal step contracts by 1 / (1 + s mu)^2: as on mu |x|^2 / 2."""
    suppose("step > 0", step > 0)
    apart = f.prox(f.start, step) - f.minimiser
    return at_most(apart @ apart, f.distance**2)


def descent(step: Share, f: Rough) -> Sides:
    """f(x - s g) <= f(x) - s (1 - s / 2) |g|^2: s / 4 times 4 - 2 s."""
    g = f.gradient(f.start)
    return at_most(f(f.start - step * g), value=f(f.start), gain=-step / 4 * (g @ g))


def compressed(alpha: Share, step: Share, f: Smooth) -> Sides:
    """|(1 - C)(e + s g)|^2 <= (1 - a / 2)|e|^2 + (1 - a)(2 - a) / a |s g|^2, by Young, where e and g are parallel."""
    suppose("0 < alpha < 1", 0 < alpha < 1)
    error, g, missed = f.point() - f.minimiser, f.gradient(f.start), f.point() - f.minimiser
    v = error + step * g
    suppose("compressor", missed @ missed <= (1 - alpha) * (v @ v))
    memory = (1 - alpha / 2) * (error @ error)
    return at_most(missed @ missed, memory=memory, gradient=step**2 / alpha * (g @ g))


def steep(mu: Share, f: Curved) -> Sides:
    """|grad f(x)|^2 >= mu^2 |x - x*|^2: as on mu |x|^2 / 2."""
    suppose("mu < L", mu < 1)
    return at_least(f.gradient(f.start) @ f.gradient(f.start), f.distance**2)


def every_round(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """The potential and f(x_N) - f* <= |x_N - x*|^2 / 2 together give |x_0 - x*|^2 / (2 (N + 1))."""

    def potential(x: Any, n: Any) -> Any:
        apart = x - f.minimiser
        return n * (f(x) - f.minimum) + apart @ apart / 2 <= f.distance**2 / 2

    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2)


@pytest.mark.parametrize(
    ("statement", "of", "least", "expected"),
    [
        (gradient_step, "", True, lambda mu, step: (1 - step * mu) ** 2),
        (proximal_step, "", True, lambda mu, step: 1 / (1 + step * mu) ** 2),
        (descent, "gain", False, lambda _, step: 4 - 2 * step),
        (compressed, "gradient", True, lambda alpha, _: (1 - alpha) * (2 - alpha)),
        (steep, "", False, lambda mu, _: mu**2),
        (every_round, "", True, lambda rounds, _: 1 / (2 * (rounds + 1))),
    ],
)
def test_the_best_factor_is_known(
    statement: Callable[..., Sides], of: str, least: bool, expected: Callable[..., Fraction]
) -> None:
    formula = best_factor(frozen_of(statement), of, least=least)
    assert formula is not None
    value = executed(f"def value(mu, alpha, rounds, step): return {formula}", "formula")["value"]
    for first, step in POINTS:
        assert value(first, first, first, step) == expected(first, step)


def below(f: Smooth) -> Sides:
    """f(x) - f* <= |x - x*|^2 / 2."""
    return at_most(f(f.start) - f.minimum, distance=f.distance**2 / 2)


def above(step: Share, f: Smooth) -> Sides:
    """s |g|^2 <= 2 s (f(x) - f*)."""
    g = f.gradient(f.start)
    return at_most(step * (g @ g), gap=f(f.start) - f.minimum)


@pytest.mark.usefixtures("registry")
def test_a_term_of_one_line_gets_its_factor() -> None:
    stated = claim("toy/two-lines")(below)
    stated.line("above")(above)
    assert best_factor(freeze(stated, compared=False), "gap", least=True) == "2*step"
    assert best_factor(freeze(stated, compared=False), "", least=True) is None


def attained(mu: Share, f: Curved) -> Sides:
    """Its best factor is 1 for every mu, which is no formula."""
    suppose("mu < L", mu < 1)
    g = f.gradient(f.start)
    return at_most(g @ g, f.distance**2)


def many_rounds(f: Smooth, rounds: int = Z[1:]) -> Sides:
    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=lambda x, n: n >= 0)
    return at_most(f(x) - f.minimum, f.distance**2)


def power_of_a_rate(mu: Share, f: Curved, rounds: int = Z[1:]) -> Sides:
    """Its best factor is (1 - mu)^(2 N), a number of the loop."""
    suppose("mu < L", mu < 1)

    def potential(state: Any, n: Any) -> Any:
        apart = state[0] - f.minimiser
        return state[1] >= 0, apart @ apart <= state[1] * f.distance**2

    start = f.start, 1
    x, _ = iterate(
        lambda s: (s[0] - f.gradient(s[0]), (1 - mu) ** 2 * s[1]), start, rounds, invariant=potential
    )
    return at_most((x - f.minimiser) @ (x - f.minimiser), f.distance**2)


def other_way(mu: Share, f: Curved) -> Sides:
    suppose("mu < L", mu < 1)
    return at_least(f.gradient(f.start) @ f.gradient(f.start), mu**2 * f.distance**2)


def no_bound(f: Smooth) -> Sides:
    return at_most(f.minimum - f(f.start), bound=0 * f.minimum)


@pytest.mark.parametrize("statement", [attained, many_rounds, power_of_a_rate, other_way, no_bound])
def test_no_formula_is_guessed(statement: Callable[..., Sides]) -> None:
    assert best_factor(frozen_of(statement), "", least=True) is None
