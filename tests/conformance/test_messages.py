"""What is said of an implementation: where it starts, what it prints, where it differs."""

import io
import sys
import warnings
from typing import Any

import pytest

from clusterproof.conformance import DEFINITIONS, conform
from clusterproof.conformance.observation import undisturbed
from clusterproof.conformance.tolerance import Difference


@pytest.mark.parametrize(("algorithm", "place"), [("fedavg", "task.start"), ("ifca", "task.starts")])
def test_another_start_is_told_with_the_one_to_copy(algorithm: str, place: str) -> None:
    class Moved(DEFINITIONS[algorithm]):  # type: ignore[misc]
        def __init__(self, task: Any, settings: Any) -> None:
            super().__init__(task, settings)
            self.model = self.model + 1.0

    report = conform(Moved, algorithm)
    assert report.verdict == "unusable"
    assert report.sentence.endswith(f", not from {place}; copy {place} into the model")


@pytest.mark.parametrize(
    ("quantity", "index", "words"),
    [
        ("model", (2,), "coordinate 2"),
        ("model", (1, 2), "model 1, coordinate 2"),
        ("controls", (1, 2), "client 1, coordinate 2"),
        ("assignments", (4,), "client 4"),
    ],
)
def test_a_difference_is_told_with_its_place(quantity: str, index: tuple[int, ...], words: str) -> None:
    text = str(Difference(quantity, 3, index, 0.5, 0.25))
    assert text == f"{quantity} after round 3, {words}: observed 0.5, expected 0.25"


def test_what_is_printed_is_kept_and_warnings_are_not_raised(capfd: pytest.CaptureFixture[str]) -> None:
    printed = io.StringIO()
    with undisturbed(printed):  # warnings are errors in these tests
        print("out")
        print("err", file=sys.stderr)
        warnings.warn("nothing", stacklevel=1)
    assert printed.getvalue() == "out\nerr\n"
    assert capfd.readouterr() == ("", "")
