"""The head of a file lists what its theorem omits; the words above the theorem quote the helpers' docstrings."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

import pytest

from clusterproof.checker.claims.claim import REGISTRY, Claim, find_claim
from clusterproof.checker.export.claim_tree import ClaimTree
from clusterproof.checker.export.folder import decided
from clusterproof.checker.export.omitted import omitted, stated_line
from clusterproof.checker.export.source_in_words import definitions_of
from clusterproof.checker.export.words_of_helpers import words_of_helpers
from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel import printed, read
from clusterproof.theorem import Q, Sides, among, at_least, at_most, claim, integers, rationals


@pytest.fixture(scope="module")
def halving() -> Iterator[Claim[..., Any]]:
    """A claim of two lines and a step about numbers."""

    @claim("omitted/halving")
    def halving(
        clusters: Annotated[int, among(2, 4)],
        rounds: Annotated[int, integers(1, 3)],
        pace: Annotated[Fraction, rationals(Fraction(1, 20), Fraction(1, 4), 20)],
        start: Fraction = Q[0:],
    ) -> dict[str, Sides]:
        """The expected error is halved."""
        last = start
        for _ in range(rounds):
            last = last / 2
        return {"upper": at_most(last, start=start), "lower": at_least(last + pace * clusters, zero=0)}

    @halving.step("one")
    def one(start: Fraction = Q[:0]) -> Sides:
        return at_most(start, zero=0)

    yield halving
    dict.pop(REGISTRY, "omitted/halving")


def text_of(of: Claim[..., Any]) -> str:
    """The text of a claim."""
    text = freeze(of).text
    assert text is not None
    return text


def phrases(of: Claim[..., Any], line: str, rule: str = "signs", statement: str = "") -> list[str]:
    """The phrases for a line."""
    return omitted(of, text_of(of), {"statement": statement, "line": line, "rule": rule})


def test_the_phrases_name_what_is_outside(halving: Claim[..., Any]) -> None:
    found = phrases(halving, "upper")
    assert found[:5] == [
        'the claim\'s other line "lower"',
        'the step "one" of the proof',
        "clusters other than 2 and 4",
        "rounds above 3",
        "pace below 1/20 or above 1/4",
    ]
    assert any(each.startswith("functions of a class") for each in found), "the loop is over numbers"
    assert any(each.startswith("random variables") for each in found), "an expected error"
    assert not any(each.startswith("limits") for each in found)


def test_an_instance_is_one_instance(halving: Claim[..., Any]) -> None:
    found = phrases(halving, "lower", rule="instance")
    assert "other values of the quantities: the line is false at one instance" in found
    assert not any("pace" in each for each in found)


def test_a_step_names_the_claim(halving: Claim[..., Any]) -> None:
    found = phrases(halving, "", statement="one")
    assert 'the claim\'s other lines "upper" and "lower"' in found
    assert any("the source has no loop" in each for each in found)
    record = {"statement": "one", "line": "", "rule": "signs"}
    assert stated_line(text_of(halving), record) == 'This file states the claim\'s step "one" of the proof.'


def test_an_ill_posed_line_is_false_and_its_claim_is_not(halving: Claim[..., Any]) -> None:
    text = text_of(halving)
    marked = text.replace("role='statement'", "role='statement', ill_posed=('lower',)", 1)
    assert marked != text
    record = {"statement": "", "line": "lower", "rule": "instance"}
    assert "claim" in stated_line(text, record)
    found = stated_line(marked, record)
    assert 'line "lower" of the check is false at one instance' in found
    assert "claim" not in found
    assert stated_line(marked, record | {"line": "upper"}) == stated_line(text, record | {"line": "upper"})


def test_a_claim_about_functions_names_its_constants() -> None:
    every = find_claim("fedlin/every-gap")
    found = phrases(every, "", rule="dual")
    assert any(each.startswith("functions f with other constants than") for each in found)
    assert not any("computes with numbers" in each for each in found)


def test_every_other_line_is_named() -> None:
    (of, *_) = (each for each in decided(find_claim("cfl-mgd/appendix-a18")) if each.name.endswith("#(A19)"))
    lines = [printed(name, line) for name, each in read(of.text).statements.items() for line in each.lines]
    named = " ".join(omitted(of.claim, of.text, of.record))
    assert len(lines) > 8
    assert all((f'"{name}"' in named) is (name != "(A19)") for name in lines)


# ---- the words above the theorem


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


def of_helpers(x: Fraction = Q[0:]) -> dict[str, Sides]:
    """The title."""
    half = x / 2
    return {
        "upper": at_most(shares(x), half=half, rest=x),
        "lower": at_least(unread(x), zero=0),
    }


@pytest.fixture(scope="module")
def with_helpers() -> Iterator[Claim[..., Any]]:
    yield claim("words/of-helpers")(of_helpers)
    dict.pop(REGISTRY, "words/of-helpers")


def test_a_line_quotes_the_helpers_that_it_reaches(with_helpers: Claim[..., Any]) -> None:
    text = text_of(with_helpers)
    assert words_of_helpers(with_helpers, text, "", "upper") == {
        "shares": "Return the shares.",
        "inner": "Return a quarter's quarter.",
    }
    assert list(words_of_helpers(with_helpers, text, "", "lower")) == ["unread"]


def test_a_name_of_two_things_is_told_apart(with_helpers: Claim[..., Any]) -> None:
    tree = ClaimTree(text_of(with_helpers))
    upper, lower = (definitions_of(tree, "", line, None) for line in ("upper", "lower"))
    assert "half and rest inside shares are other values than outside" in upper, "a value and a term"
    assert not any("than outside" in each for each in lower), "half of the other line is left out"
