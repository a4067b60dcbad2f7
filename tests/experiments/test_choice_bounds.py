"""Values at the bounds of a choice, and what is said of a choice at each scale."""

import pytest

from clusterproof.experiments.choices import Choice, Kind, chosen_note, count, counts, number, thresholds

BOUNDS: list[tuple[Kind, list[str], list[str]]] = [
    (number(above=1), ["1.01", "1e300"], ["1", "0.99", "inf", "nan"]),
    (number(at_least=1, below=2), ["1", "1.99"], ["0.99", "2"]),
    (number(at_most=2), ["2", "-5"], ["2.01", "-inf"]),
    (count(5), ["1", "5"], ["0", "6", "-1", "1.5"]),
    (counts(2, 3), ["1,2", "1,2,3", "1,1000000"], ["1", "1,2,3,4", "0,1", "1,1000001", "none"]),
    (counts(0, 1), ["none", "7"], ["", "1,2"]),
    (thresholds(), ["1,1", "0.5,2"], ["0,1", "-1,1", "2,1", "1,inf", "1"]),
]
"""Texts that are values, and texts that are none."""


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, good, _ in BOUNDS for text in good])
def test_what_is_within_the_bounds_is_read(kind: Kind, text: str) -> None:
    value = kind.read(text)
    assert kind.read(kind.show(value)) == value


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, _, bad in BOUNDS for text in bad])
def test_what_is_beyond_the_bounds_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        kind.read(text)


def test_bounds_are_said_as_they_are_meant() -> None:
    assert number(above=0, at_most=1).rule == "a number greater than 0 and at most 1"
    assert number(at_least=0, below=1, nothing="none").rule == "a number at least 0 and below 1, or none"
    assert number().rule == "a number"
    assert count(9, nothing="all").rule == "an integer from 1 to 9, or all"
    assert counts(1, 4).rule.startswith("1 to 4 integers from 1 to 1000000")
    assert counts(2, 2).rule.startswith("2 integers")


def test_only_what_is_not_the_scales_own_default_is_said() -> None:
    """Step 0.1, at the small scale 1."""
    step = Choice("step-size", 0.1, number(above=0), "Not in the paper.", small=1.0)
    other = Choice("rounds", 7, count(), "Not in the paper.")
    assert chosen_note([step, other], {"step-size": 0.1, "rounds": 7}, "full") is None
    assert chosen_note([step, other], {"step-size": 1.0}, "small") is None
    assert chosen_note([step, other], {"step-size": 1.0, "rounds": 7}, "full") == (
        "Chosen in place of the default: step size 1 (0.1)."
    )
    assert chosen_note([step, other], {"step-size": 0.1, "rounds": 8}, "small") == (
        "Chosen in place of the default: step size 0.1 (1); rounds 8 (7)."
    )
