"""The best constant: found between verdicts of any order, and put into a file without touching anything else."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from kernel_statements import executed

from clusterproof.checker.report.improvement import Checked, Improvement, improve, simplest_between
from clusterproof.checker.report.variants import constant_of, has_one_comparison, stated_ids, variant
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Sides

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
