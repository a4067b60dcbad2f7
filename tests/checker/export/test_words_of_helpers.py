"""The words above a theorem quote its helpers' docstrings, and tell names apart that stand for two things."""

from fractions import Fraction

from clusterproof.checker.export.claim_tree import ClaimTree
from clusterproof.checker.export.source_in_words import definitions_of
from clusterproof.checker.export.words_of_helpers import words_of_helpers
from clusterproof.checker.freeze import freeze
from clusterproof.theorem import Q, Sides, at_least, at_most, claim


def shares(x: Fraction) -> Fraction:
    """Return the shares.

    Parameters
    ----------
    x
        Not quoted.
    """
    half = x / 2
    rest = half / 2
    return inner(rest)


def inner(x: Fraction) -> Fraction:
    """Return a quarter's
    quarter.
    """
    return x / 4


def unused(x: Fraction) -> Fraction:
    """Return what no line reads."""
    return x


def unread(x: Fraction) -> Fraction:
    """Return what the other line reads."""
    half = x
    return half


@claim("words/of-helpers")
def of_helpers(x: Fraction = Q[0:]) -> dict[str, Sides]:
    """The title."""
    half = x / 2
    return {
        "upper": at_most(shares(x), half=half, rest=x),
        "lower": at_least(unread(x), zero=0),
    }


TEXT = freeze(of_helpers).text or ""


def test_a_line_quotes_the_helpers_that_it_reaches() -> None:
    assert words_of_helpers(of_helpers, TEXT, "", "upper") == {
        "shares": "Return the shares.",
        "inner": "Return a quarter's quarter.",
    }
    assert list(words_of_helpers(of_helpers, TEXT, "", "lower")) == ["unread"]


def test_a_name_of_two_things_is_told_apart() -> None:
    upper, lower = (definitions_of(ClaimTree(TEXT), "", line, None) for line in ("upper", "lower"))
    assert "half and rest inside shares are other values than outside" in upper, "a value and a term"
    assert not any("than outside" in each for each in lower), "half of the other line is left out"
