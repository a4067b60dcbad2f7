"""The counterexample of ``show``: members of classes under their own names."""

from fractions import Fraction
from typing import Any

import pytest

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.export.latex import of_verdict
from clusterproof.checker.report.decide import decide
from clusterproof.commands.show import Page, _show_counterexample
from clusterproof.theorem import Sides, at_most, claim, functions, operators, sets

TURNING, CONSTRAINED = operators(lipschitz=1), functions(smoothness=1) + sets(diameter=1)


def forward(a: Any = TURNING) -> Sides:
    """|x - 2 A x - x*| <= |x - x*|: false."""
    new, away = a.start - 2 * a(a.start) - a.solution, a.start - a.solution
    return at_most(new @ new, Fraction(1, 2) * (away @ away))


def normal(problem: Any = CONSTRAINED) -> Sides:
    """The projection is the solution: false."""
    away = problem.parts[1].project(problem.start) - problem.solution
    return at_most(away @ away, 0)


@pytest.mark.parametrize(
    ("statement", "words", "absent"),
    [
        (forward, ["a: an operator on R^", "solution (", "image ("], ["minimiser", "minimum", "value"]),
        (
            normal,
            ["problem: functions on R^", "minimiser (", "gradient (", "normal vector (", "part 2"],
            ["image"],
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_each_member_has_the_words_of_its_kind(
    statement: Any, words: list[str], absent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = decide(claim(f"toy/{statement.__name__}")(statement))
    finally:
        REGISTRY.pop(f"toy/{statement.__name__}", None)
    _show_counterexample(found, Page(), 100)
    printed = capsys.readouterr().out
    gradients = r"$\nabla " in of_verdict(Page(), found)
    assert gradients is (statement is normal)
    assert all(each in printed for each in words), printed
    assert not any(each in printed for each in absent), printed
